"""Where a lattice has no room left it says so and the tilted moments answer: nothing else is raised, not a warning."""

import math
from dataclasses import replace

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import moments
from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.plan import Goal
from edgeworth.composition.lattice.refine import prepare
from edgeworth.composition.lattice.rounding import lowered, raised
from edgeworth.composition.lattice.smoothed import Line, smoothed
from edgeworth.composition.lattice.tilted_lattice import Tail, Window, convolved
from edgeworth.composition.lattice.tradeoff import Polygon, polygon
from edgeworth.composition.lattice.transforms import transform
from edgeworth.errors import ComputationFailed
from edgeworth.losses import GaussianLoss, privacy_loss

STEEP = ew.PoissonSampled(ew.Gaussian(0.4459154049525716), 0.2762884469572789) ** 30596


@pytest.mark.parametrize("alpha", [1e-6, 0.9])
def test_tests_of_losses_beyond_doubles_are_answered_by_moments(alpha):
    account = ew.account(STEEP, method="lattice", direction="backward")
    test = account.tradeoff(alpha)
    known = moments.prepared(account.total).tradeoff("backward", np.array([alpha]))
    assert 0.0 <= test.lower <= test.upper <= known.upper[0] + 2e-315  # what may be lost below 1e-308


@pytest.mark.parametrize("tilt", [-400.0, 400.0])
def test_a_step_too_long_for_a_tilt_is_refused_below_and_right_above(tilt):
    law = cells(privacy_loss(ew.Gaussian(1.0)), 1.0, (-30.0, 30.0))
    with pytest.raises(ComputationFailed) as error:
        lowered(law, tilt)
    assert str(error.value) == f"a step of 1 is too long for a tilt of {tilt:g}; the lattice needs another"
    made = raised(law, tilt)
    exact = np.logaddexp.reduce(
        np.concatenate([law.log_left + tilt * law.points[:-1], law.log_right + tilt * law.points[1:]])
    )
    with np.errstate(divide="ignore"):
        ends = np.log([law.below[1] * math.exp(-law.points[0]), law.above[0]]) + tilt * law.points[[0, -1]]
    exact = np.logaddexp.reduce([exact, *ends])
    assert math.log(float(np.sum(made.mass))) + made.log_scale == pytest.approx(exact, rel=1e-13)


def test_a_range_beyond_all_doubles_is_refused():
    with pytest.raises(ComputationFailed) as error:
        masses(privacy_loss(ew.PoissonSampled(ew.Gaussian(31.0), 1e-6)), (1.0, 2.0), 3.0, 100.0)
    assert str(error.value) == "no mass that doubles can hold lies in the range of a step"


def test_a_polygon_beyond_doubles_is_refused():
    rung = prepare(((GaussianLoss(20.0), 4),), Goal("overlap", 750.0, 760.0, 1e-6), 40.0)
    with pytest.raises(ComputationFailed) as error:
        polygon(rung, "forward")
    assert str(error.value) == "a slope of f, e^loss, leaves the range of doubles; use another method"


def test_slopes_that_are_half_known():
    inf = math.inf
    made = Polygon(np.arange(4.0), np.zeros(4), np.array([1.0, -inf, 2.0, -inf]), np.array([3.0, inf, inf, 5.0]))
    assert [made.slope(z) for z in (0.0, 1.0, 2.0, 3.0, 9.0)] == [2.0, 0.0, 2.0, 5.0, 5.0]


@pytest.mark.parametrize(("kind", "tilt"), [("delta", 1.001), ("reverse", -0.001), ("overlap", 0.5)])
def test_upper_ends_are_at_most_those_of_any_law(kind, tilt):
    made = transform(masses(GaussianLoss(0.5), (-4.0, 4.0), tilt, 300.0), tilt, 0.01, 1000)
    ends = smoothed(Line(kind, [(made, 2)], tilt, 0.01, 1000), (-4.0, 4.0))
    most = {"delta": 0.0, "reverse": ends.points, "overlap": np.minimum(ends.points, 0.0)}[kind]
    assert np.all(ends.log_high <= most + 1.0001e-9)
    assert np.all(ends.log_low <= ends.log_high)


def test_endless_atoms_far_apart_raise_no_warning():
    release = ew.DiscreteGaussian(0.16347450559496612, 4) ** 5 * ew.ApproxDP(0.0239, 7.2e-12) ** 3
    found = ew.account(release).epsilon(0.1)
    assert 0 < found.lower <= found.upper < math.inf


@pytest.mark.parametrize(("kind", "tilt", "ends"), [("reverse", -3.0, (-2.0, -1.0)), ("delta", 4.0, (1.0, 2.0))])
def test_a_threshold_beyond_a_law_that_was_cut_is_read_where_it_is(kind, tilt, ends):
    law = raised(cells(GaussianLoss(1.0), 0.01, ends), tilt)
    points = 0.01 * (law.first + np.arange(law.mass.size))
    masses_there = law.mass * np.exp(law.log_scale - tilt * points)
    exact = float(np.sum(masses_there * np.abs(-np.expm1(points))))
    tail = convolved([(law, 1)], tilt, 0.01, 0.0, (-2.5, 2.5)).tail(kind, -0.1, 0.1)
    lower, upper = (float(end[0]) for end in tail.ends(np.zeros(1)))
    assert lower <= exact <= upper
    assert upper - lower < 1e-9 * exact


@pytest.mark.parametrize(
    ("kind", "tilt", "refused"),
    [("reverse", -1.0, 1e6), ("delta", 2.0, -1e6), ("overlap", 0.5, 1e6), ("overlap", 0.5, -1e6)],
)
def test_a_threshold_too_far_outside_a_law_is_refused(kind, tilt, refused):
    law = raised(cells(GaussianLoss(1.0), 0.01, (-2.0, 2.0)), tilt)
    total = convolved([(law, 1)], tilt, 0.01, 0.0, (min(refused, -2.5), max(refused, 2.5)))
    assert total.window.size < 1000
    with pytest.raises(ComputationFailed) as error:
        total.tail(kind, refused, refused)
    assert str(error.value) == "a threshold lies too far outside the law for the lattice; use another method"
    assert total.tail(kind, 0.0, 0.1).ends(np.zeros(1))[1][0] > 0


def test_of_what_is_0_where_its_scale_overflows_nothing_is_known():
    nothing = np.zeros(3)
    tail = Tail("delta", Window(0.1, 0.0, 0, 3), -800.0, 0.0, nothing, nothing, None, [0.0, 0.0], 1e-16)
    points = np.array([0, 2])
    lower, upper = tail.at_points(points + 0)  # e^0 and e^160 times 0
    assert lower.tolist() == upper.tolist() == [0.0, 0.0]
    steep = replace(tail, log_scale=750.0)
    for ends in (steep.at_points(points), steep.side_ends(points), steep.ends(np.array([0.05]))):
        assert (ends[0] == 0).all()
        assert np.isposinf(ends[1]).all()
