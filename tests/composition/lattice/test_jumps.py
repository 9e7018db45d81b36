"""Runs with a jump apart from those without one: the measure J, its line, where samples are split, and what is read."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import edgeworth as ew
from edgeworth.composition import lattice
from edgeworth.composition.lattice.jump_line import JumpLine, _log1p, log_rest
from edgeworth.composition.lattice.ladder import Ladder
from edgeworth.composition.lattice.laws import _line, _transformed, smoothed_rung
from edgeworth.composition.lattice.plan import Goal, planned
from edgeworth.composition.lattice.split import split
from edgeworth.losses import TotalLoss

GAP = (
    ew.PoissonSampled(ew.DiscreteGaussian(1.2), 0.001) ** 3 * ew.RandomizedResponse(0.5) ** 2
)  # all but jumps ends at 1


def plan_of(mechanism, epsilon, reading):
    made = Ladder(TotalLoss.of(mechanism).finite, patient=True)
    return planned(made.parts, Goal("delta", epsilon, epsilon, 4e-7, patient=True, reading=reading), made.spread)


def exact_delta(epsilon, cut=math.inf):
    """Of GAP, in 40 digits: the sum over all atoms of three samples, none of them above the cut, and two responses."""
    sigma, p, u = mp.mpf(1.2), mp.mpf(0.001), mpmath.exp(mp.mpf(epsilon))
    weight = {k: mpmath.exp(-(mp.mpf(k) ** 2) / (2 * sigma**2)) for k in range(-25, 27)}
    norm = mpmath.fsum(weight.values())
    one = [(1 - p + p * mpmath.exp((2 * k - 1) / (2 * sigma**2)), w / norm) for k, w in weight.items()]
    one = [(x, a) for x, a in one if x <= mpmath.exp(cut)]
    heads = mpmath.exp(mp.mpf("0.5"))
    coin = [(heads, 1 / (1 + heads)), (1 / heads, heads / (1 + heads))]
    two = [(x * y, a * b) for x, a in one for y, b in one]
    far = [(x * y * z, a * b * c) for x, a in one for y, b in coin for z, c in coin]
    return mpmath.fsum(a * b * (x * y - u) for x, a in far for y, b in two if x * y > u)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50), st.integers(1, 6)), min_size=1, max_size=4).filter(
        lambda steps: any(b for _, b, _ in steps)
    )
)
def test_the_rest_is_that_of_fractions(steps):
    with_jumps, without = Fraction(1), Fraction(1)
    for a, b, n in steps:
        with_jumps, without = with_jumps * Fraction(a + b, 100) ** n, without * Fraction(a, 100) ** n
    logs = [(math.log(a / 100), math.log(b / 100) if b else -math.inf, n) for a, b, n in steps]
    assert math.exp(log_rest(logs)) == pytest.approx(float(with_jumps - without), rel=1e-12)


def test_the_rest_of_steps_that_do_not_jump_is_nothing():
    assert log_rest([(0.0, -math.inf, 3), (-1.0, -math.inf, 2)]) == -math.inf


@pytest.mark.parametrize("depth", [30.0, 37.0, 400.0, 2000.0])
def test_the_rest_of_very_rare_jumps_does_not_underflow(depth):
    with mpmath.workdps(40):
        rest = (1 + mpmath.exp(-depth)) ** 5 * (2 + mpmath.exp(-depth - 1)) ** 3 - 8
        found = log_rest([(0.0, -depth, 5), (math.log(2.0), -depth - 1, 3)])
        assert (
            abs(found - mpmath.log(rest)) < 1e-13 * depth
            if depth < 60
            else found == pytest.approx(-depth + math.log(40 + 12 / math.e), rel=1e-14)
        )


@given(st.floats(-12, 3), st.floats(-math.pi, math.pi))
def test_the_logarithm_of_one_and_a_little_is_right_relative_to_it(size, angle):
    z = 10**size * complex(math.cos(angle), math.sin(angle))
    found = complex(_log1p(np.array([z]))[0])
    with mpmath.workdps(40):
        exact = mpmath.log(1 + mpmath.mpc(z))
        assert abs(mpmath.exp(mpmath.mpc(found)) - mpmath.exp(exact)) <= 4e-15 * min(abs(z), 1 + abs(z))


def lines(mechanism, epsilon, cut, h=0.01, size=4096):
    """The line of runs with a jump, its plan, and the masses of the steps on either side of the cut."""
    plan = replace(plan_of(mechanism, epsilon, 0.0), cut=cut, tilt=3.0)
    made = [_transformed(plan, number, h, size) for number in range(len(plan.parts))]
    return plan, _line(plan, [one.low for one in made], h, size)


@pytest.mark.parametrize("cut", [0.002, 0.05, 0.8])
def test_the_transform_of_runs_with_a_jump_is_within_its_error(cut):
    plan, line = lines(GAP, 1.3, cut)
    assert isinstance(line, JumpLine)
    run = slice(0, 2000)
    value, doubt = line.power(run)
    for j in (0, 1, 7, 100, 400):
        with mpmath.workdps(40):
            s, phase, both, base = mp.mpf(plan.tilt), 2 * mp.pi * j / (line.size * mp.mpf(line.h)), mp.mpf(1), mp.mpf(1)
            for (loss, n), reach in zip(plan.parts, plan.reach, strict=True):
                place, log_mass = loss.nodes().held()
                held = [(mp.mpf(x), mp.mpf(m)) for x, m in zip(place.tolist(), log_mass.tolist(), strict=True)]
                held = [(x, m) for x, m in held if reach[0] - 1e-12 <= x <= reach[1] + 1e-12]
                terms = [(x, mpmath.exp(s * x + m - 1j * phase * x)) for x, m in held]
                low = mpmath.fsum(t for x, t in terms if x <= cut or n == 2)
                both, base = both * mpmath.fsum(t for _, t in terms) ** n, base * low**n
            origin = sum(n * step.first for step, n in line.steps)
            scale = mpmath.exp(line.scale - line.variance * plan.tilt * (plan.tilt - 1) / 2)
            exact = (both - base) / scale * mpmath.exp(1j * phase * origin * line.h)
            assert abs(exact - mpmath.mpc(complex(value[j]))) <= doubt[j]
        assert doubt[j] < 1e-11


def test_runs_without_a_jump_add_less_than_is_said():
    _, line = lines(GAP, 1.3, 0.05)
    places = [1.0005, 1.01, 1.03]
    most = np.exp(line.besides(np.array(places)))
    with mpmath.workdps(40):
        exact = [float(exact_delta(x, 0.05)) for x in places]
    assert all(0 < truth <= bound for truth, bound in zip(exact, most.tolist(), strict=True))
    assert most[2] < 1e-2 * most[1] < 1e-2 * most[0]
    assert line.besides(np.array([1.3]))[0] < -700  # three steps of at most 0.05 each do not reach it


@pytest.mark.parametrize("epsilon", [1.02, 1.3, 2.5])
def test_what_is_read_of_runs_with_a_jump_encloses_the_truth(epsilon):
    with mpmath.workdps(40):
        truth = exact_delta(epsilon)
    plan = split(plan_of(GAP, epsilon, float(truth)))
    assert plan is not None
    assert plan.cut is not None
    assert 0 < plan.cut < epsilon
    lower, upper = (float(end[0]) for end in smoothed_rung(plan, 2**18).ends(np.array([epsilon])))
    assert lower <= truth <= upper
    assert upper - lower < 1e-5 * upper


def test_bounds_of_rare_jumps_at_steep_tilts_are_no_zeros():
    """Of runs with one rare jump: all that is left of the sum without it was bounded by e^-inf."""
    mechanism = ew.PoissonSampled(ew.DiscreteGaussian(2.21), 0.000604) ** 2
    mechanism = mechanism * ew.Laplace(0.944) * ew.RandomizedResponse(0.183) ** 3
    truth = ew.account(mechanism, direction="forward").delta(1.76)
    (low,), (high,) = lattice.CloseUp(TotalLoss.of(mechanism)).delta("forward", np.array([1.76]))
    assert low <= truth.upper
    assert truth.lower <= high


def test_samples_of_gaussian_noise_are_split_between_two_nodes_of_one_density():
    """Against a mixture over the responses, each with a formula for one sample."""
    mechanism = ew.PoissonSampled(ew.Gaussian(1.0), 1e-4) * ew.RandomizedResponse(0.5) ** 2
    truth = ew.account(mechanism, direction="forward").delta(1.2)
    plan = split(plan_of(mechanism, 1.2, truth.upper))
    lower, upper = (float(end[0]) for end in smoothed_rung(plan, 2**18).ends(np.array([1.2])))
    assert lower <= truth.upper
    assert truth.lower <= upper
    assert upper - lower < 2e-6 * upper


@pytest.mark.parametrize(
    ("goal", "mechanism"),
    [
        (Goal("reverse", -1.3, -1.3, 4e-7, reading=1e-6), GAP),
        (Goal("delta", 1.3, 1.3, 4e-7), GAP),
        (Goal("delta", -0.1, -0.1, 4e-7, reading=0.1), GAP),
        (Goal("delta", 1.3, 1.3, 4e-7, reading=1e-6), ew.RandomizedResponse(0.5) ** 2 * ew.Laplace(1.0)),
        (Goal("delta", 0.01, 0.01, 4e-7, reading=0.2), GAP),
    ],
    ids=["backward", "no reading", "left of 0", "no samples", "where runs without a jump count"],
)
def test_nothing_is_split_in_vain(goal, mechanism):
    made = Ladder(TotalLoss.of(mechanism).finite)
    assert split(planned(made.parts, goal, made.spread)) is None
