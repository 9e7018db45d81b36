"""The two laws on points: one above the step in convex order, one below it, whatever the tilt."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import closed_form
from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.rounding import _remove_reflex, lowered, raised
from edgeworth.composition.work import spent
from edgeworth.errors import ComputationFailed
from edgeworth.losses import privacy_loss

STEPS = {
    "gaussian": (ew.Gaussian(1.0), 0.01, (-9.0, 10.0)),
    "fine sample": (ew.PoissonSampled(ew.Gaussian(1.0), 0.01), 1e-4, (-1.0, 3.0)),
    "sample with a cliff": (ew.PoissonSampled(ew.Gaussian(5.0), 0.1), 1e-3, (-1.0, 0.6)),
    "strong sample": (ew.PoissonSampled(ew.Gaussian(0.4), 0.5), 0.01, (-1.0, 25.0)),
    "laplace": (ew.Laplace(1.0), 2 / 500, (-9.0, 9.0)),
    "laplace off the points": (ew.Laplace(1.0), 0.0043, (-9.0, 9.0)),
    "sampled laplace": (ew.PoissonSampled(ew.Laplace(1.0), 0.2), 1e-3, (-9.0, 9.0)),
    "response off the points": (ew.RandomizedResponse(0.5), 0.0137, (-9.0, 9.0)),
}


def untilted(law, made, tilt):
    with np.errstate(divide="ignore", under="ignore"):
        return np.exp(np.log(law.mass) + law.log_scale - tilt * made.points)


@pytest.mark.parametrize("tilt", [-6.0, 0.0, 1.5, 20.0])
@pytest.mark.parametrize("name", STEPS)
def test_the_step_lies_between_its_two_laws(name, tilt):
    mechanism, h, reach = STEPS[name]
    loss = privacy_loss(mechanism)
    made = cells(loss, h, reach)
    profile, x = closed_form.one_step(loss).profile(), np.exp(made.points)
    high, low = (untilted(law(made, tilt), made, tilt) for law in (raised, lowered))
    top = made.points[-1]
    for t in np.concatenate([np.linspace(made.points[0], top, 41), made.points[:: made.points.size // 7]]):
        u, forward, backward = math.exp(t), float(profile(t)), float(profile.reverse()(-t))
        room = 1e-11
        assert forward <= (np.sum(high * np.maximum(x - u, 0)) + made.above[2]) * (1 + room)
        moved = float(profile.reverse()(made.slack - t))  # the first point may be log(1 - p), rounded
        assert moved <= (np.sum(high * np.maximum(1 - x / u, 0)) + made.below[2]) * (1 + room) + 1e-300
        assert np.sum(low * np.maximum(x - u, 0)) <= forward * (1 + room)
        assert np.sum(low * np.maximum(1 - x / u, 0)) <= backward * (1 + room) + 1e-300


@pytest.mark.parametrize("name", STEPS)
def test_the_widened_law_has_the_larger_overlap(name):
    mechanism, h, reach = STEPS[name]
    loss = privacy_loss(mechanism)
    made = cells(loss, h, reach)
    profile, x = closed_form.one_step(loss).profile(), np.exp(made.points)
    mass = untilted(lowered(made, 0.5, widened=True), made, 0.5)
    for t in np.linspace(made.points[0], made.points[-1], 41):
        overlap = np.sum(mass * np.minimum(x, math.exp(t))) + math.exp(t) * made.above[0] + made.below[1]
        assert overlap >= (1 - float(profile(t))) * (1 - 1e-15)


@pytest.mark.parametrize(
    ("rate", "cells_left"), [(1e-5, 0.05), (1e-5, 0.3), (1e-5, 8.0), (1e-3, 0.05), (1e-3, 8.0), (0.1, 8.0)]
)
def test_the_free_law_lowers_delta_though_not_its_mean(rate, cells_left):
    loss = privacy_loss(ew.PoissonSampled(ew.Gaussian(1.0), rate))
    h = -math.log1p(-rate) / cells_left
    made = cells(loss, h, (-1.0, 300 * rate))
    profile, x = closed_form.one_step(loss).profile(), np.exp(made.points)
    mass = untilted(lowered(made, 2.0, forward=True), made, 2.0)
    assert np.sum(mass * x) <= 1.0
    for t in np.linspace(made.points[0], made.points[-1], 41):
        assert np.sum(mass * np.maximum(x - math.exp(t), 0)) <= float(profile(t)) * (1 + 1e-11)


def test_the_gap_between_the_laws_goes_as_the_square_of_the_step():
    loss = privacy_loss(ew.PoissonSampled(ew.Gaussian(1.0), 0.1))
    gaps = []
    for h in (0.004, 0.002, 0.001):
        made = cells(loss, h, (-1.0, 6.0))
        x = np.exp(made.points)
        high, low = (untilted(law(made, 1.0), made, 1.0) for law in (raised, lowered))
        gaps.append(float(np.sum((high - low) * np.maximum(x - math.exp(1.0), 0))))
    assert math.log2(gaps[0] / gaps[1]) == pytest.approx(2.0, abs=0.2)
    assert math.log2(gaps[1] / gaps[2]) == pytest.approx(2.0, abs=0.2)


@given(st.lists(st.floats(-1.0, 4.0), min_size=3, max_size=30), st.floats(-3.0, 3.0), st.floats(0.01, 0.5))
def test_leaving_points_out_keeps_mass_and_mean(masses, tilt, h):
    mass = np.array([5.0, *masses, 5.0])
    grow = np.exp(-tilt * h * np.arange(mass.size))
    x = np.exp(h * np.arange(mass.size))
    tilted, before = mass / grow, (np.sum(mass), np.sum(mass * x), np.sum(np.abs(mass) * x))
    held = np.count_nonzero(tilted)
    side, removed = _remove_reflex(tilted, np.abs(tilted), h, tilt, 1000)
    assert np.count_nonzero(tilted) <= held - removed
    after = tilted * grow
    assert np.sum(after) == pytest.approx(before[0], abs=1e-11 * before[2])
    assert np.sum(after * x) == pytest.approx(before[1], abs=1e-11 * before[2])
    assert side is not None or (after >= 0).all()


def test_a_law_on_points_is_not_rounded():
    made = cells(privacy_loss(ew.RandomizedResponse(1.0)), 2.0, (-9.0, 9.0))
    assert (raised(made, 0.7).mass == lowered(made, 0.7).mass).all()


def test_too_few_cells_are_refused():
    made = cells(privacy_loss(ew.Laplace(1.0)), 2.0, (-9.0, 9.0))
    with pytest.raises(
        ComputationFailed, match=r"^too few cells for a law below this one; the lattice needs a smaller"
    ):
        lowered(made, 0.0)


def test_a_law_that_rounding_outweighs_is_refused():
    """Scaled down by more than itself it would have negative masses, which bound nothing."""
    made = cells(privacy_loss(ew.PoissonSampled(ew.Gaussian(1.0), 1e-5)), 0.0203015877861495, (-1.0, 9.68))
    message = "rounding outweighs the law below this one; the lattice needs another step or tilt"
    with pytest.raises(ComputationFailed, match=f"^{message}$"):
        lowered(made, 23.79865957390592, forward=True)


def test_points_are_left_out_up_to_a_number_and_counted_as_work():
    bumps = np.tile([1.0, -0.5], 500)[:-1]
    assert _remove_reflex(bumps.copy(), np.abs(bumps), 1e-3, 0.0, 499) == (None, 499)
    before = spent()
    with pytest.raises(ComputationFailed) as error:
        _remove_reflex(bumps, np.abs(bumps), 1e-3, 0.0, 498)
    assert str(error.value) == "no polygon below this law was found; the lattice needs a smaller step"
    assert spent() - before == 40 * 498
