"""Few samples at tiny rates: the quadrature of K far beyond a sharp cut, and readings that take little work."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

import edgeworth as ew
from edgeworth.composition import spread
from edgeworth.composition.contour import prepared
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.one_far import log_some_far
from edgeworth.composition.contour.rung import K_SLACK, STEP_SLACK
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.composition.work import MOST_WORK, spent
from edgeworth.losses import TotalLoss

SOME_SECONDS = 0.2 * MOST_WORK


def sgd(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n


def summed(step, c):
    """log E_P[chi e^(cL)] by an even sum, ten times finer than the softness of the cut, far beyond it."""
    h = min(step.softness / 10, 0.02)
    x = np.arange(-40.0, max(step.falling_from(c), step.cut) + 20 * step.softness, h)
    return float(logsumexp(c * step.loss(x) + step.log_density(x))) + math.log(h)


@pytest.mark.parametrize(("sigma", "rate", "n"), [(17.331, 2.06e-6, 5), (29.6, 1.23e-6, 118), (2.0, 1e-5, 30)])
def test_nodes_that_end_early_miss_nothing_of_a_moment(sigma, rate, n):
    steps = Steps.of(TotalLoss.of(sgd(sigma, rate, n)), -65.0)
    moments, ((step, _),) = LogMoments(steps), steps.others
    tilts = 1 + moments.width * np.array([-20.0, -3.0, 0.2, 3.0, 8.0, 14.0])
    for c in tilts[(tilts > steps.steepest[0]) & (tilts < steps.steepest[1])].tolist():
        found, expected = float(moments.log(np.array([c]))[0]), n * summed(step, c)
        assert abs(found - expected) <= K_SLACK * (1 + abs(expected)) + STEP_SLACK * n
    assert all(nodes.loss.size < 60_000 for nodes in moments._sets.values())


def test_nodes_of_a_narrow_law_reach_to_one_side():
    moments = LogMoments(Steps.of(TotalLoss.of(sgd(17.331, 2.06e-6, 5)), -65.0))
    left, right = (moments.log(np.array([0.5 + side * moments.width])) for side in (-1, 1))
    assert len(moments._sets) == 3  # and between the poles
    assert np.all(np.isfinite([left, right]))


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "direction", "reading", "argument"),
    [
        (17.331, 2.06e-6, 5, "backward", "tradeoff", 5.96782e-6),
        (29.599, 1.23e-6, 118, "both", "epsilon", 3.487762371427517e-17),
        (57.383, 1.58e-6, 3, "both", "tradeoff", 5.047080958269757e-6),
        (1.299, 2.34e-6, 5, "backward", "tradeoff", 0.0009743589840961742),
        (34.417, 2.51e-6, 188, "forward", "delta", 0.0),
    ],
)
def test_a_reading_takes_little_work(sigma, rate, n, direction, reading, argument):
    prepared.cache_clear()
    before = spent()
    found = getattr(ew.account(sgd(sigma, rate, n), direction=direction), reading)(argument)
    assert spent() - before < SOME_SECONDS
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper


def test_nodes_of_log_moments_are_counted_as_work():
    moments = LogMoments(Steps.of(TotalLoss.of(sgd(1.0, 0.01, 100))))
    for asked in (moments, moments.log):
        before = spent()
        asked(np.array([3.0]))
        first = spent() - before
        asked(np.full(10, 3.0))
        rounding = 1e-13 * spent()  # of a counter that has counted long before
        assert spent() - before == pytest.approx(11 * first, rel=1e-9, abs=rounding)
        assert first > 0


def test_a_line_that_knows_nothing_about_a_root_is_no_error():
    found = ew.account(sgd(0.357, 4.67e-6, 60)).tradeoff(0.007574803574770241)
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "direction"),
    [(1.8944, 1.70014e-6, 3, "both"), (2.2557, 3.393e-6, 16, "forward"), (12.32, 0.006845, 25, "both")],
)
def test_a_tiny_delta_is_looked_for_at_its_depth_at_once(sigma, rate, n, direction):
    """These took five to ten seconds, level by level; epsilon at that delta leads back to where it was read."""
    account, before = ew.account(sgd(sigma, rate, n), direction=direction), spent()
    found = account.delta(0.1)
    assert spent() - before < 0.1 * MOST_WORK
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper < 1e-50
    assert account.epsilon(found.upper).lower <= 0.1 <= account.epsilon(found.lower).upper


def test_some_losses_far_out_make_about_all_of_a_tail():
    """As a guess: within some nats of the truth, and never far above the bound that holds."""
    epsilon = np.array([0.02, 0.1, 0.5])
    for sigma, rate, n in [(1.9, 2e-6, 3), (1.5, 8e-6, 18), (0.6, 1e-4, 9)]:
        total = TotalLoss.of(sgd(sigma, rate, n))
        truth = np.log(spread.prepared_alone(total).delta("forward", epsilon).upper)  # within 1e-4 of a nat
        assert np.all(np.abs(log_some_far(total, "forward", epsilon) - truth) < 0.05 * np.abs(truth) + 8)
