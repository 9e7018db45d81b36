"""What only proposes where a line goes: ends of windows, where bounds are deep enough, K at tilts beside the centre."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour import log_moments
from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian, Steps
from edgeworth.composition.contour.tail import ENOUGH
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.composition.contour.window import window_of
from edgeworth.losses import TotalLoss
from edgeworth.losses.of import privacy_loss


def sample(sigma, rate, cut=math.inf):
    return SampledGaussian(privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate)), 1 / sigma, rate, cut)


@given(
    sigma=st.floats(0.15, 30.0),
    log_rate=st.floats(math.log(1e-6), math.log(0.9)),
    c=st.floats(0.0, 60.0),
    cut=st.one_of(st.just(math.inf), st.floats(4.0, 12.0)),
)
def test_a_window_ends_where_the_law_has_fallen_and_not_far_beyond(sigma, log_rate, c, cut):
    step, tilt = sample(sigma, math.exp(log_rate), cut), max(1.0, c)
    left, right = window_of(step, c)
    x = np.linspace(left, max(tilt * step.mu, right) + 12, 4001)
    log_height = tilt * step.loss(x) + step.log_density(x)
    assert np.all(log_height[x >= right] < log_height.max() - NATS)
    assert right > step.falling_from(tilt) + 0.99
    earlier = x[log_height > log_height.max() - NATS - 12]
    assert right < max(earlier[-1] + 1.5, step.falling_from(tilt) + 2.5)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "c"), [(0.8, 0.00512, 5_000, 4.7), (1.0, 1e-4, 10**8, 5.0), (3.0, 0.2, 50, 20.0)]
)
def test_bounds_are_as_deep_as_the_formula_says_where_it_is_sure(sigma, rate, steps, c):
    """Against the bounds themselves: the formula is some percent off at most."""
    total = Steps.of(TotalLoss.of(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps))
    moments = LogMoments(total)
    guess = moments.falls_from(c, float(moments(np.array([c]))[0, 2]), NATS)
    assert guess.is_sure
    part = tilt_part(total.others[0][0], steps, c, 1.3 * guess.frequency)
    depth = -steps * part.log_far_bound(guess.frequency * np.array([0.9, 1.13]))
    assert depth[0] < NATS - ENOUGH < depth[1]


@pytest.mark.parametrize("mix", [False, True])
def test_tilts_left_of_0_have_the_moments_that_are_computed_for_them_alone(mix):
    run = ew.PoissonSampled(ew.Gaussian(0.9), 0.01) ** 1_000
    moments = LogMoments(Steps.of(TotalLoss.of(run * ew.Gaussian(4.0) if mix else run)))
    tilts, k = moments.left_of_0()
    assert np.all(tilts < 0)
    alone = [float(moments.log(np.array([tilt]))[0]) for tilt in tilts]
    np.testing.assert_allclose(k, alone, rtol=1e-13)


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 0.01, 10_000), (2.0, 0.05, 3_000), (1.0, 1e-4, 10**8)])
@pytest.mark.parametrize("delta", [1e-5, 1e-12])
def test_moments_of_a_nearly_normal_run_are_taken_twice(monkeypatch, sigma, rate, steps, delta):
    """Once at the centre, and once at all rungs that the reading needs."""
    asked, rows = [], log_moments.LogMoments._rows
    monkeypatch.setattr(LogMoments, "_rows", lambda self, *tilts: asked.append(tilts) or rows(self, *tilts))
    ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps).epsilon(delta)
    assert len(asked) == 2
