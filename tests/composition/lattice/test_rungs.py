"""Rungs: the better of two ways, and ranges that end where nothing more weighs beside a known reading."""

from dataclasses import replace

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.composition.lattice.ladder import FINE, Ladder
from edgeworth.composition.lattice.plan import Goal, nats_of_reading, planned
from edgeworth.composition.lattice.reach import reaches
from edgeworth.composition.lattice.refine import _focused, _roughly_smoothed, _rounded, prepare, refined
from edgeworth.losses import TotalLoss

FEW_BESIDE_MANY = (
    ew.PoissonSampled(ew.Gaussian(0.511), 0.0266) ** 2
    * ew.PoissonSampled(ew.DiscreteGaussian(scale=11.0), 0.0109) ** 34
)
T, READING = 7.89, 1.4e-8  # far out on the law of the two, and delta there


def ladder():
    return Ladder(TotalLoss.of(FEW_BESIDE_MANY))


def goal(reading=0.0, kind="delta"):
    t = T if kind == "delta" else -0.05
    return Goal(kind, t, t, FINE, reading=reading)


def at(rung, t):
    lower, upper = rung.ends(np.array([t]))
    return float(lower[0]), float(upper[0])


def meet(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


# --- the best of all that were tried


def test_a_rung_is_the_better_of_two_ways_even_if_the_other_way_meets_the_goal_at_once():
    ends = LatticeAnswers(TotalLoss.of(FEW_BESIDE_MANY)).delta("forward", np.array([T]))
    assert 0 < ends.upper[0] - ends.lower[0] <= 1e-6 * ends.upper[0]


def test_both_ways_agree_with_what_is_made_of_them():
    """Rounding and smoothing are proved apart from each other."""
    rough = prepare(ladder().parts, goal(), ladder().spread)
    fine = refined(rough, FINE)
    assert fine.quality() <= rough.quality()
    assert fine.quality() <= (0, 1e-6)
    for other in (rough, _rounded(rough.plan), _roughly_smoothed(rough.plan)):
        assert meet(at(fine, T), at(other, T))


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize(
    "mechanism",
    [ew.Laplace(1.0) ** 2 * ew.RandomizedResponse(0.9), ew.PoissonSampled(ew.Gaussian(1.0), 0.01) ** 40],
    ids=["rounded", "smoothed"],
)
def test_no_rung_is_worse_than_the_rough_one(mechanism, width):
    made = Ladder(TotalLoss.of(mechanism))
    rough = prepare(made.parts, Goal("delta", 0.5, 0.6, width), made.spread)
    fine = refined(rough, width)
    assert fine.quality() <= rough.quality()
    assert fine.quality() <= (0, 1.5 * width)
    assert meet(at(rough, 0.55), at(fine, 0.55))


# --- ranges


def beyond(loss, n, end, t):
    """What n steps right of an end can add to a reading at t, at the most."""
    _, null_above, _, above = (float(side[0]) for side in loss.distribution(np.array([end])))
    return n * max(above, np.exp(t) * null_above)


WIDE_BESIDE_FAINT = ew.Gaussian(0.3) * ew.PoissonSampled(ew.Gaussian(1.0), 0.01) ** 10


@pytest.mark.parametrize(
    ("mechanism", "t", "reading"), [(WIDE_BESIDE_FAINT, 12.0, 0.01), (FEW_BESIDE_MANY, T, READING)], ids=["wide", "few"]
)
def test_the_range_of_a_part_ends_below_the_threshold_if_the_reading_is_known(mechanism, t, reading):
    made = Ladder(TotalLoss.of(mechanism))
    plain, known = (
        reaches(made.parts, Goal("delta", t, t, FINE, reading=value), made.spread) for value in (0.0, reading)
    )
    steps = [n for _, n in made.parts]
    faint = steps.index(max(steps))
    assert known[faint][1] < min(plain[faint][1], t)
    assert beyond(*made.parts[faint], known[faint][1], t) <= 1e-9 * reading
    assert [one[0] for one in plain] == [one[0] for one in known]


def test_a_range_that_reaches_beyond_the_threshold_is_cut_only_for_a_known_reading():
    made = Ladder(TotalLoss.of(WIDE_BESIDE_FAINT))
    ends = [reaches(made.parts, Goal("delta", 12.0, 12.0, FINE, reading=r), made.spread)[1][1] for r in (0.0, 0.01)]
    assert ends[0] > 12.0 > 2 * ends[1]


def test_a_smaller_reading_needs_a_longer_range():
    parts, spread = ladder().parts, ladder().spread
    number = next(k for k, (_, n) in enumerate(parts) if n == 34)
    ends = [reaches(parts, goal(reading), spread)[number][1] for reading in (1e-4, 1e-8, 1e-12)]
    assert ends == sorted(ends)
    assert ends[0] < ends[-1]


def test_ranges_on_the_left_are_mirrored():
    """A sum of mirror images: the range of the reverse at -t is that of delta at t turned round."""
    made = Ladder(TotalLoss.of(ew.DiscreteGaussian(scale=2.0) ** 3 * ew.Laplace(0.4)))
    right = reaches(made.parts, Goal("delta", 3.0, 3.0, FINE, reading=1e-3), made.spread)
    left = reaches(made.parts, Goal("reverse", -3.0, -3.0, FINE, reading=1e-3), made.spread)
    for one, other in zip(right, left, strict=True):
        assert (-one[1], -one[0]) == pytest.approx(other, rel=1e-12)


def test_the_overlap_has_whole_ranges():
    parts, spread = ladder().parts, ladder().spread
    whole = reaches(parts, Goal("overlap", 0.0, 0.1, FINE), spread)
    assert whole == reaches(parts, Goal("overlap", 0.0, 0.1, FINE, reading=1e-3), spread)


def test_a_focused_rung_has_shorter_ranges_and_agrees():
    rough = prepare(ladder().parts, goal(), ladder().spread)
    focused = _focused(rough)
    assert focused is not None
    lower, upper = at(rough, T)
    assert focused.goal == replace(rough.goal, reading=max(lower, 1e-4 * upper))
    before, after = (sum(end - start for start, end in rung.plan.reach) for rung in (rough, focused))
    assert after < before
    assert meet(at(rough, T), at(focused, T))
    assert meet(at(refined(rough, FINE), T), at(focused, T))


def test_nothing_is_focused_on_an_overlap():
    made = Ladder(TotalLoss.of(ew.Laplace(1.0) ** 2 * ew.RandomizedResponse(0.9)))
    assert _focused(prepare(made.parts, Goal("overlap", 0.0, 0.1, FINE), made.spread)) is None


# --- windows


def test_a_reading_that_is_little_of_the_tilted_law_has_a_longer_window():
    """K of a standard normal loss, c(c-1)/2; a reading that nobody knows asks for nothing."""
    known = Goal("delta", 2.0, 2.0, FINE)
    nats = [nats_of_reading(lambda c: c * (c - 1) / 2, 2.5, replace(known, reading=r)) for r in (0.0, 1e-2, 1e-9)]
    assert nats[0] == 0.0
    assert nats[2] - nats[1] == pytest.approx(7 * np.log(10), rel=1e-12)
    made = Ladder(TotalLoss.of(ew.Gaussian(1.0) ** 3))
    short, long = (planned(made.parts, replace(known, reading=r), made.spread).window for r in (0.0, 1e-30))
    assert short[1] - short[0] < long[1] - long[0]


@pytest.mark.parametrize("kind", ["delta", "reverse"])
def test_nats_are_those_of_the_mirrored_law(kind):
    t = 2.0 if kind == "delta" else -2.0
    tilt = 2.5 if kind == "delta" else -1.5
    nats = nats_of_reading(lambda c: c * (c - 1) / 2, tilt, Goal(kind, t, t, FINE, reading=1e-3))
    assert nats == pytest.approx(18.0 - np.log(1e-3) + 2.5 * 1.5 / 2 - 1.5 * 2.0, rel=1e-12)
