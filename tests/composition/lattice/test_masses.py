"""What atoms have outside a range that ends between two of them, against sums of many digits."""

import math

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.lattice.laws import smoothed_rung
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.plan import Goal, Plan
from edgeworth.losses import TotalLoss, privacy_loss

SCALE, RATE = 3.0, 0.2
LOSS = privacy_loss(ew.PoissonSampled(ew.DiscreteGaussian(scale=SCALE), RATE))


def exact_atoms():
    """Losses and P-masses of a sample of discrete Gaussian noise, of 40 digits."""
    scale, rate = mpmath.mpf(SCALE), mpmath.mpf(RATE)
    weight = {k: mpmath.exp(-(k * k) / (2 * scale**2)) for k in range(-100, 101)}
    whole = mpmath.fsum(weight.values())
    return [
        (mpmath.log(1 - rate + rate * mpmath.exp((2 * k - 1) / (2 * scale**2))), w / whole) for k, w in weight.items()
    ]


def exact_above(atoms, end):
    """P and Q right of an end, and E[(X - e^end)_+]."""
    mine = [(x, p) for x, p in atoms if x > end]
    null, alternative = mpmath.fsum(p for _, p in mine), mpmath.fsum(p * mpmath.exp(x) for x, p in mine)
    return null, alternative, alternative - mpmath.exp(end) * null


def exact_below(atoms, end):
    """P and Q left of an end, and E[(1 - X e^-end)_+]."""
    mine = [(x, p) for x, p in atoms if x < end]
    null, alternative = mpmath.fsum(p for _, p in mine), mpmath.fsum(p * mpmath.exp(x) for x, p in mine)
    return null, alternative, null - mpmath.exp(-end) * alternative


def between(atoms, k, share):
    """A place between atom number k, from the one of 0, and the next."""
    low, high = (float(atoms[100 + k + step][0]) for step in (0, 1))
    return low + share * (high - low)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_what_lies_outside_is_counted_from_the_end_of_the_range(share):
    with mpmath.workdps(40):
        atoms = exact_atoms()
        reach = between(atoms, -9, share), between(atoms, 12, share)
        made = masses(LOSS, reach, 1.5, 10.0)
        assert made.ends == reach
        assert made.place.size == 21
        assert [float(x) for x in exact_above(atoms, reach[1])] == pytest.approx(made.above, rel=1e-11, abs=0)
        assert [float(x) for x in exact_below(atoms, reach[0])] == pytest.approx(made.below, rel=1e-11, abs=0)


def test_the_excess_falls_with_the_end_and_the_masses_stay():
    with mpmath.workdps(40):
        atoms = exact_atoms()
        rows = [masses(LOSS, (-1.0, between(atoms, 12, share)), 1.5, 10.0).above for share in (0.1, 0.5, 0.9)]
    assert len({row[:2] for row in rows}) == 1
    assert rows[0][2] > rows[1][2] > rows[2][2] > 0


def test_a_range_that_ends_on_an_atom_holds_it():
    with mpmath.workdps(40):
        atoms = exact_atoms()
        end = float(atoms[112][0])
        made = masses(LOSS, (-1.0, end), 1.5, 10.0)
        assert made.ends[1] == pytest.approx(end, rel=1e-14)
        assert made.place[-1] == pytest.approx(end, rel=1e-14)
        assert float(exact_above(atoms[113:], end)[2]) == pytest.approx(made.above[2], rel=1e-11)


def test_beyond_the_last_atom_the_range_ends_with_it():
    """Of an endless row e^-700 stands for what is not listed."""
    made = masses(LOSS, (-5.0, 1e3), 1.5, 10.0)
    assert made.ends == (made.place[0], made.place[-1])
    assert made.above == (math.exp(-700.0),) * 3
    assert max(made.below) <= math.exp(-700.0)


def test_a_range_between_two_atoms_holds_the_nearer_one():
    with mpmath.workdps(40):
        atoms = exact_atoms()
        for shares, kept, ends in (((0.1, 0.3), 5, (None, 0.3)), ((0.8, 0.9), 6, (0.8, None))):
            reach = tuple(between(atoms, 5, share) for share in shares)
            made, at = masses(LOSS, reach, 1.5, 10.0), float(atoms[100 + kept][0])
            assert made.place == pytest.approx([at], rel=1e-13)
            wanted = [at if share is None else between(atoms, 5, share) for share in ends]
            assert made.ends == pytest.approx(tuple(wanted), rel=1e-13)
            above = exact_above(atoms[101 + kept :], mpmath.mpf(made.ends[1]))
            below = exact_below(atoms[: 100 + kept], mpmath.mpf(made.ends[0]))
            assert [float(x) for x in above] == pytest.approx(made.above, rel=1e-11, abs=0)
            assert [float(x) for x in below] == pytest.approx(made.below, rel=1e-11, abs=0)


@pytest.mark.parametrize("kind", ["delta", "reverse"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_readings_hold_wherever_a_range_ends(kind, share):
    """Two samples, the range cut where it is felt: the ends enclose the sum over all pairs, and are not wide."""
    total, right = TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(scale=SCALE), RATE) ** 2), kind == "delta"
    t = 0.3 if right else -0.15
    with mpmath.workdps(40):
        atoms = exact_atoms()
        cut = between(atoms, 16 if right else -14, share)
        reach = (float(LOSS.nodes().loss.min()), cut) if right else (cut, float(LOSS.nodes().loss.max()))
        u, some = mpmath.exp(mpmath.mpf(t)), atoms[55:146]
        pairs = [(mpmath.exp(x + y), p * q) for x, p in some for y, q in some]
        truth = mpmath.fsum(p * (max(x - u, 0) if right else max(1 - x / u, 0)) for x, p in pairs)
        goal = Goal(kind, t, t, 4e-7)
        plan = Plan(total.parts, goal, 20.0 if right else -20.0, (-2.0, 3.0), [reach], 0.1, "plainly")
        (lower,), (upper,) = smoothed_rung(plan, 2**14).ends(np.array([t]))
        assert lower <= truth <= upper
        assert upper - lower <= 1e-3 * upper
