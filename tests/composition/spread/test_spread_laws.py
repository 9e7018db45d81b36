"""Laws on graded points: what products, envelopes and centred points give up, against exact sums and one sample."""

import math

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.composition.spread.examples import DIRECTIONS, NEARLY, above, normal

import edgeworth as ew
from edgeworth.composition.by_squares import power
from edgeworth.composition.spread.below import below
from edgeworth.composition.spread.graded import Graded, product
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.spread.resolution import centred_for, graded_for
from edgeworth.composition.spread.steps import one_step
from edgeworth.errors import ComputationFailed
from edgeworth.losses import privacy_loss

# --- the bounds themselves


@settings(max_examples=60, deadline=None)
@given(
    doubles=st.lists(st.booleans(), min_size=1, max_size=4),
    octaves=st.integers(0, 5),
    seed=st.integers(0, 10**6),
    same=st.booleans(),
)
def test_a_product_rises_by_no_more_than_its_tents(doubles, octaves, seed, same):
    rng = np.random.default_rng(seed)
    grid = Graded(0.05, 4, doubles, below=min(octaves, len(doubles) + 1))
    inside = grid.points > 0.45 * grid.points[0] if octaves else True  # no sum is below the least point
    one = rng.random(grid.points.size) ** 4 * inside
    other = one if same else rng.random(grid.points.size) ** 4 * (rng.random(grid.points.size) < 0.5) * inside
    sums = product(grid, one, other, with_tents=True)
    exact = np.add.outer(grid.points, grid.points).ravel(), np.multiply.outer(one, other).ravel()
    last = float(grid.ends[-1])
    beyond = (exact[0] >= last - 1e-9) * exact[1]
    # what is beyond is spread there, and nothing else is lost
    assert np.sum(sums.mass) + sums.beyond[0] == pytest.approx(np.sum(exact[1]), rel=1e-12)
    assert sums.beyond[0] >= np.sum(beyond) * (1 - 1e-12)
    mean = np.sum(sums.mass * grid.x) + sums.beyond[1]
    assert mean == pytest.approx(np.sum(exact[1] * np.exp(exact[0])), rel=1e-12)
    share = rng.random(grid.points.size)
    v = grid.x + share * grid.gaps
    held = exact[0] < last - 1e-9
    rise = above(grid.x, sums.mass, v) - above(np.exp(exact[0][held]), exact[1][held], v)
    room = 1e-11 * float(np.sum(exact[1] * np.exp(exact[0])))
    assert np.all(rise <= sums.tents + room)
    if held.all():  # what is not merged is raised
        spread_alone = product(grid, one, other, with_tents=False).mass
        assert np.all(above(grid.x, spread_alone, v) - above(np.exp(exact[0]), exact[1], v) >= -room)


@pytest.mark.parametrize(("sigma", "rate"), [(0.5, 1e-4), (1.5, 0.02), (20.0, 1e-3)])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("side", DIRECTIONS)
@pytest.mark.parametrize("points", [graded_for, centred_for])
def test_the_lower_law_is_below_the_truth_and_the_upper_one(sigma, rate, n, side, points):
    """Both against the profile of one sample, and the lower against the upper one of five."""
    loss = privacy_loss(normal(sigma, rate))
    grid = points(((loss, n),), 0.2)
    low, high = (power(one_step(grid, loss, n, way), n, SpreadLaw.times) for way in (side, "above"))
    assert low.least == high.least >= n * math.log1p(-rate) * (1 + 1e-12)
    x, v = np.exp(low.least + grid.points), np.exp(low.least + grid.points[9 :: grid.points.size // 300] * 1.003)
    sign = 1 if side == "forward" else -1
    values = [np.sum(law.mass * np.maximum(sign * (x - v[:, None]), 0.0), axis=1) for law in (low, high)]
    lower = values[0] * (1 - 2 * low.error)
    assert np.all(lower <= values[1] * NEARLY + 1e-140)
    assert np.sum(values[0]) >= 0.99 * np.sum(values[1])
    if n == 1:
        profile = ew.account(normal(sigma, rate), direction=side)
        truth = profile.delta(np.log(v) * sign)
        scale = 1.0 if side == "forward" else v
        assert np.all(lower <= np.asarray(truth.upper) * scale * (1 + 1e-11) + 1e-140)
        most = values[1] * (1 + 1e-11) + high.left_out[1 if side == "forward" else 0] * np.maximum(v, 1.0)
        assert np.all(np.asarray(truth.lower) * scale <= most)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    octaves=st.integers(0, 2),
    height=st.floats(1e-6, 3.0),
    forward=st.booleans(),
    smooth=st.booleans(),
)
def test_what_is_taken_from_a_law_is_at_least_its_tents(seed, octaves, height, forward, smooth):
    """At every u either nothing is claimed or E[(x - u)_+], or E[(u - x)_+], is lower by the tent of the cell."""
    rng = np.random.default_rng(seed)
    grid = Graded(0.1, 8, [True, False], below=octaves)
    mass = np.exp(-(grid.points**2)) if smooth else rng.random(grid.points.size) ** 3
    tents = height * grid.gaps * mass * (0.1 if smooth else rng.random(grid.points.size))
    try:
        found = below(grid, mass, tents, forward=forward)
    except ComputationFailed:
        reject()
    assert np.all(found.mass >= 0)
    assert found.error < 1e-10
    v = grid.x + rng.random(grid.points.size) * grid.gaps
    sign = 1 if forward else -1
    before, after = (
        np.sum(part * np.maximum(sign * (grid.x - v[:, None]), 0.0), axis=1) for part in (mass, found.mass)
    )
    assert np.all(after * (1 - found.error) <= np.maximum(before - tents, 0.0) + 1e-14 * before)
