"""Where lines stand and what K is there: against mpmath, and rungs that climb in order."""

import itertools
import math
import runpy
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import acb
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.ladder import Ladder
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.rung import Rung
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.losses import BinaryLoss, GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss

moment = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))["moment"]
SLACK, STEP_SLACK = 1e-9, 1e-14  # what the bounds on aliases assume of K: relative, and of every step


def sgd(sigma, rate, n):
    return TotalLoss(((SampledLoss(GaussianLoss(1 / sigma), rate), n),))


def truth(mu, rate, n, c, cut):
    return n * float(moment(mu, rate, acb(c), None if math.isinf(cut) else cut).real.log().mid())


@pytest.mark.parametrize("log_dropped", [-math.inf, -60.0])
@pytest.mark.parametrize(
    ("sigma", "rate", "n"),
    [(0.8, 0.00512, 5000), (4.0, 3.3e-4, 10_000), (3.0, 0.2, 50), (1.0, 1e-4, 10**8), (0.3, 0.05, 200)],
)
def test_log_moments_are_within_what_the_bounds_assume_of_them(sigma, rate, n, log_dropped):
    steps = Steps.of(sgd(sigma, rate, n), log_dropped)
    moments, cut = LogMoments(steps), steps.others[0][0].cut
    width = moments.width
    tilts = np.array([-30 * width, -3 * width, -0.15 * width, 0.5, 1 + 0.15 * width, 1 + 3 * width, 1 + 20 * width])
    tilts = tilts[(tilts > steps.steepest[0]) & (tilts < steps.steepest[1])]
    for c in tilts.tolist():
        found = float(moments(np.array([c]))[0, 0])
        expected = truth(1 / sigma, rate, n, c, cut)
        assert abs(found - expected) <= SLACK * (1 + abs(expected)) + STEP_SLACK * n or math.isinf(found)
    assert np.all(np.isfinite(moments(tilts[1:-1])))


@pytest.mark.parametrize("c", [-7.0, -0.3, 0.5, 1.4, 9.0])
def test_log_moments_of_a_mix_add_up(c):
    theta, mu, epsilon = 0.7, 0.4, 1.2
    parts = ((LaplaceLoss(theta), 3), (GaussianLoss(mu), 2), (BinaryLoss(epsilon), 5))
    k, mean, variance = LogMoments(Steps.of(TotalLoss(parts)))(np.array([c]))[0]

    def log_moment(s):
        laplace = ((s - 1) * mpmath.exp(-s * theta) + s * mpmath.exp((s - 1) * theta)) / (2 * s - 1)
        response = (mpmath.exp(-s * epsilon) * mpmath.exp(epsilon) + mpmath.exp(s * epsilon)) / (
            1 + mpmath.exp(epsilon)
        )
        return 3 * mpmath.log(laplace) + mpmath.mpf(mu) ** 2 * s * (s - 1) + 5 * mpmath.log(response)

    with mpmath.workdps(40):
        at = mpmath.mpf(c) + mpmath.mpf(10) ** -12  # off the removable point s = 1/2 of Laplace noise
        assert float(k) == pytest.approx(float(log_moment(at)), rel=1e-9, abs=1e-9)
        assert float(mean) == pytest.approx(float(mpmath.diff(log_moment, at)), rel=1e-9, abs=1e-9)
        assert float(variance) == pytest.approx(float(mpmath.diff(log_moment, at, 2)), rel=1e-6)


def test_log_moments_say_where_their_nodes_do_not_reach():
    steps = Steps.of(sgd(0.05, 0.01, 100))
    rows = LogMoments(steps)(np.array([1.5, 2000.0, 1e6]))
    assert np.isfinite(rows[0, 0])
    assert np.isinf(rows[-1, 0])


@pytest.mark.parametrize("log_dropped", [-math.inf, -60.0])
@pytest.mark.parametrize("total", [sgd(0.8, 0.00512, 5000), sgd(4.0, 3.3e-4, 10_000), sgd(3.0, 0.2, 50)])
def test_rungs_climb_in_order(total, log_dropped):
    """Outward, tilts and means move one way, K stays above its tangents, the profile falls."""
    steps = Steps.of(total, log_dropped)
    for side in ("left", "right"):
        ladder = Ladder(LogMoments(steps), side)
        for _ in range(40):
            ladder.climb()
        c, k, mean, variance = ladder.table.T
        assert len(c) > 5
        assert np.all(ladder.outward * np.diff(c) > 0)
        assert np.all(ladder.outward * np.diff(mean) > 0)
        assert np.all(variance > 0)
        assert np.all(np.diff(k) - np.diff(c) * mean[:-1] >= -1e-12 * (1 + np.abs(k[1:])))
        assert np.all(np.diff(ladder.depths()[0]) > 0)
        assert np.all(c > 1 if side == "right" else c < 0)


def test_between_the_poles_rungs_stand_only_where_there_is_room():
    narrow, wide = (Ladder(LogMoments(Steps.of(TotalLoss(((GaussianLoss(mu), 1),)))), "middle") for mu in (8.0, 1.0))
    while narrow.climb():
        pass
    assert np.all((narrow.table[:, 0] > 0) & (narrow.table[:, 0] < 1))
    assert len(narrow.table) > 2
    assert not wide.climb()
    assert not len(wide.table)


@given(thresholds=st.lists(st.floats(0.0, 12.0), min_size=1, max_size=6))
@settings(max_examples=20)
def test_one_threshold_meets_the_same_rung_in_every_company(thresholds):
    together = Integrals(Steps.of(sgd(0.8, 0.00512, 5000)))
    at = np.array(thresholds)
    owned = {float(t): rung.c for rung, here in together.owners("delta", at) for t in at[here]}
    for t in thresholds:
        ((alone, _),) = Integrals(Steps.of(sgd(0.8, 0.00512, 5000))).owners("delta", np.array([t]))
        assert alone.c == owned[t]


def gaussian_delta(mu, epsilon):
    p, q = epsilon / mu + mu / 2, epsilon / mu - mu / 2
    return mpmath.ncdf(-q) - mpmath.exp(epsilon) * mpmath.ncdf(-p)


@given(mu=st.floats(0.05, 6), share=st.floats(-2, 12), fine=st.booleans())
@settings(max_examples=60)
def test_the_ceiling_of_the_backward_profile_is_above_that_of_a_gaussian(mu, share, fine):
    answers = LineAnswers(TotalLoss(((GaussianLoss(mu), 1),)), 0)
    epsilon = share * mu
    with mpmath.workdps(40):
        exact = gaussian_delta(mpmath.mpf(mu), mpmath.mpf(epsilon))
        assert exact <= float(answers._backward_ceiling(np.array([epsilon]), fine=fine)[0])


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("level", [0, 5])
@pytest.mark.parametrize(
    ("sigma", "rate", "n"), [(0.8, 0.00512, 5000), (4.0, 3.3e-4, 10_000), (3.0, 0.2, 50), (1.0, 1e-4, 10**8)]
)
def test_the_ceiling_of_the_backward_profile_is_above_that_of_noisy_sgd(sigma, rate, n, level, fine):
    answers = LineAnswers(sgd(sigma, rate, n), level)
    epsilon = answers.integrals.spread * np.linspace(0, 6, 13)
    ceiling = answers._backward_ceiling(epsilon, fine=fine)
    assert np.all(answers._delta_by_lines("backward", epsilon).lower <= ceiling)
    assert np.all(np.diff(ceiling) <= 0)
    assert np.all(ceiling <= 1 + answers.steps.dropped[0])


@pytest.mark.parametrize("steps", [10**4, 10**6, 10**8])
def test_the_finer_ceiling_comes_down_to_the_profile_as_steps_grow(steps):
    """By Berry and Esseen its excess falls with 1/sqrt(n), at one n p^2, until the tilts are the larger part."""
    answers = LineAnswers(sgd(1.0, 1 / math.sqrt(steps), steps), 0)
    epsilon = answers.integrals.spread * np.array([2.0, 4.0])
    truth = answers._delta_by_lines("backward", epsilon).lower
    excess = answers._backward_ceiling(epsilon, fine=True) / truth - 1
    assert np.all(excess > 0)
    assert np.all(excess < 0.1 + 150 / math.sqrt(steps))


def test_both_directions_are_the_larger_of_the_two():
    """Settled by the ceiling or read from the lines: never less than either direction."""
    for mechanism in (
        ew.PoissonSampled(ew.Gaussian(0.7), 0.004) ** 3000 * ew.Laplace(1.0),
        ew.PoissonSampled(ew.Gaussian(0.8), 0.00512) ** 5000,
    ):
        answers = LineAnswers(TotalLoss.of(mechanism), 0)
        epsilon = np.linspace(0.0, 4.0, 17)
        both, one, other = (answers.delta(direction, epsilon) for direction in ("both", "forward", "backward"))
        assert np.all(both.upper >= np.maximum(one.lower, other.lower))
        assert np.all(both.lower <= np.maximum(one.upper, other.upper))
        assert np.all(both.lower >= np.maximum(one.lower, other.lower) * (1 - 1e-9))
        assert np.all(both.upper <= np.maximum(one.upper, other.upper) * (1 + 1e-9))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_profile_far_left_is_one_less_its_complement(direction):
    """Where delta is all but one: the enclosure against a Gaussian's, and monotone across the change of formula."""
    mu = 9.0
    answers = LineAnswers(TotalLoss(((GaussianLoss(mu), 1),)), 0)
    epsilon = np.linspace(-60.0, 60.0, 61)
    lower, upper = answers.delta(direction, epsilon)
    with mpmath.workdps(40):
        for e, low, high in zip(epsilon.tolist(), lower, upper, strict=True):
            assert low <= gaussian_delta(mpmath.mpf(mu), mpmath.mpf(e)) <= high
    assert np.all(upper - lower <= 1e-9)
    for less, more in itertools.pairwise(range(epsilon.size)):
        assert lower[more] <= upper[less]


@pytest.mark.parametrize(("kind", "side"), [("alpha", "right"), ("beta", "left")])
def test_a_tail_does_without_the_rung_beside_a_pole_that_it_lacks(kind, side):
    integrals = Integrals(Steps.of(sgd(0.8, 0.00512, 5000)))
    median = np.array([integrals.mean_under_p if kind == "alpha" else integrals.mean_under_q])
    ((rung, _),) = integrals.owners(kind, median)
    assert rung.c == integrals.ladder(side).table[1, 0]
    left_out = integrals._rung(side, 0)
    mine, theirs = rung.ends(kind, median), left_out.ends(kind, median)
    assert mine.lower <= theirs.upper
    assert theirs.lower <= mine.upper
    assert mine.upper - mine.lower < 1e-11
    assert left_out.line.t.size > 2 * rung.line.t.size


def test_a_profile_and_a_tail_of_that_pole_have_the_rung_beside_it():
    integrals = Integrals(Steps.of(sgd(0.8, 0.00512, 5000)))
    for kind in ("delta", "power"):
        integrals.owners(kind, np.array([integrals.mean_under_q]))
        assert integrals._integrands(kind)[0][0] == ("right", 0)


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(0.8, 256 / 50_000, 5000), (0.8, 256 / 50_000, 1000)])
def test_second_readings_of_usual_deltas_share_the_line_of_the_first(monkeypatch, sigma, rate, steps):
    """No deeper cut of what hardly ever happens is made for them: its lines would be the same, and take their time."""
    made, prepare = [], Rung.__init__
    monkeypatch.setattr(Rung, "__init__", lambda self, *given: made.append(given) or prepare(self, *given))
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps)
    account.epsilon(1e-5)
    before = len(made)
    found = account.epsilon(1e-8)
    assert len(made) == before > 0
    assert found.upper - found.lower <= 1e-9 * found.upper
