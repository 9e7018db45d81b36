"""The line integrals: what must be true of any curve, over all depths, and of very many steps."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour import answers
from edgeworth.composition.contour.answers import Answers
from edgeworth.composition.contour.engine import prepared
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.losses import LaplaceLoss, TotalLoss


def sgd(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n


def contour(mechanism, direction="both"):
    return ew.account(mechanism, method="contour", direction=direction)


#: across levels of dropped mass, across rungs, and where nothing is dropped at all; and how deep the line goes. For the
#: second the tilted law splits in two from 1e-45 on: there the lattice takes over.
DEEP = [
    (4.0, 3.3e-4, 10_000, 1e-100),
    (2.5, 4.9e-4, 13_500, 1e-44),
    (0.8, 0.00512, 5000, 1e-100),
    (1.0, 0.01, 10_000, 1e-100),
]


@pytest.mark.parametrize(("sigma", "rate", "n", "deepest"), DEEP)
def test_epsilon_grows_steadily_over_a_hundred_decades(sigma, rate, n, deepest):
    delta = np.geomspace(1e-1, deepest, 120)
    bracket = contour(sgd(sigma, rate, n)).epsilon(delta)
    above = bracket.value > 0  # delta(0) may be below the first of them
    assert np.all(bracket.upper[~above] == 0)
    lower, upper = bracket.lower[above], bracket.upper[above]
    assert np.all(lower[1:] > upper[:-1])  # ever less delta, ever more epsilon, beyond all doubt
    assert np.all(upper - lower <= 1e-9 * upper)
    step = np.diff(bracket.value[above])
    assert np.all(step[2:] < 1.5 * step[1:-1])  # no jump from one line, or level, to the next
    assert np.all(step[2:] > 0.6 * step[1:-1])


@pytest.mark.parametrize(("sigma", "rate", "n", "deepest"), DEEP)
def test_delta_at_epsilon_encloses_the_delta_that_was_asked(sigma, rate, n, deepest):
    account, delta = contour(sgd(sigma, rate, n)), np.geomspace(1e-2, deepest, 15)
    epsilon = account.epsilon(delta)
    sure = epsilon.lower > 0
    assert np.all(account.delta(epsilon.lower[sure]).upper >= delta[sure])
    assert np.all(account.delta(epsilon.upper[sure]).lower <= delta[sure])
    read = account.delta(epsilon.value[sure])
    assert np.all(read.upper - read.lower <= 2e-8 * read.upper)
    assert np.all(np.abs(np.log(read.value / delta[sure])) <= 1e-6)


@pytest.mark.parametrize(("sigma", "rate", "n"), [row[:3] for row in DEEP[:2]])
def test_what_is_dropped_moves_an_upper_end_only_within_the_width(sigma, rate, n):
    """The trade-off function down to 1e-10 at both ends, where the levels of dropped mass change."""
    tails = np.geomspace(1e-10, 0.4, 9)
    alpha = np.concatenate([tails, 1 - tails[::-1]])
    for direction in ("forward", "backward", "both"):
        bracket = contour(sgd(sigma, rate, n), direction).tradeoff(alpha)
        assert np.all(bracket.lower <= bracket.upper)
        assert np.all(bracket.upper - bracket.lower <= 1e-6 * bracket.upper)
        assert np.all(bracket.lower[1:] <= bracket.upper[:-1])


def epsilon_of(sigma, rate, n, delta):
    return contour(sgd(sigma, rate, n)).epsilon(delta)


RUNS = {
    "sigma": st.floats(0.7, 5.0),
    "rate": st.floats(1e-3, 0.05),
    "n": st.integers(1000, 20_000),
    "nats": st.floats(5.0, 120.0),
    "more": st.floats(1e-6, 0.5),
}


@given(**RUNS)
@settings(max_examples=10)
def test_more_noise_never_costs_more(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(noise, rate, n, math.exp(-nats)) for noise in (sigma * (1 + more), sigma))
    assert less.lower <= rather.upper


@given(**RUNS)
@settings(max_examples=10)
def test_a_higher_rate_never_costs_less(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(sigma, share, n, math.exp(-nats)) for share in (rate, rate * (1 + more)))
    assert less.lower <= rather.upper


@given(**RUNS)
@settings(max_examples=10)
def test_more_steps_never_cost_less(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(sigma, rate, steps, math.exp(-nats)) for steps in (n, n + 1 + int(more * n)))
    assert less.lower <= rather.upper


def test_brackets_do_not_contradict_monotonicity():
    def epsilon(sigma, rate, n):
        return contour(sgd(sigma, rate, n)).epsilon(1e-6)

    for grid in (
        [epsilon(s, 0.02, 1000) for s in (0.9, 0.9001, 1.0, 1.4)][::-1],
        [epsilon(1.1, p, 1000) for p in (0.01, 0.010001, 0.012, 0.02)],
        [epsilon(1.1, 0.02, n) for n in (500, 501, 700, 1500)],
    ):
        for less, more in itertools.pairwise(grid):
            assert less.lower <= more.upper
            assert less.upper < more.upper


def test_the_same_question_gets_the_same_bits():
    mechanism, delta = sgd(0.9, 0.03, 400), np.array([1e-3, 1e-6, 1e-9])
    account = contour(mechanism)
    first, again = account.epsilon(delta), account.epsilon(delta)
    account.tradeoff(0.3)
    later = account.epsilon(delta)
    prepared.cache_clear()
    fresh = contour(mechanism).epsilon(delta)
    for other in (again, later, fresh):
        assert np.array_equal(first.lower, other.lower)
        assert np.array_equal(first.upper, other.upper)


@pytest.mark.parametrize("reading", ["delta", "tradeoff"])
def test_scalar_and_array_agree_to_the_bit(reading):
    account = contour(sgd(0.9, 0.03, 400))
    arguments = np.array([0.03, 0.2, 0.7])
    together = getattr(account, reading)(arguments)
    for k, argument in enumerate(arguments):
        alone = getattr(account, reading)(float(argument))
        assert (alone.lower, alone.upper) == (together.lower[k], together.upper[k])


def test_scalar_and_array_epsilon_agree_to_the_bit():
    account = contour(sgd(0.9, 0.03, 400))
    together = account.epsilon(np.array([1e-3, 1e-6, 1e-9]))
    for k, delta in enumerate([1e-3, 1e-6, 1e-9]):
        alone = account.epsilon(delta)
        assert (alone.lower, alone.upper) == (together.lower[k], together.upper[k])


def test_the_symmetrised_curve_is_its_own_inverse():
    account = contour(sgd(0.9, 0.05, 300))
    for alpha in (1e-6, 0.01, 0.2, 0.5, 0.9):
        image = account.tradeoff(alpha)
        # f is decreasing: f(upper) <= alpha <= f(lower)
        assert account.tradeoff(image.upper).lower <= alpha * (1 + 1e-12)
        assert account.tradeoff(image.lower).upper >= alpha * (1 - 1e-12)


@pytest.mark.parametrize(
    "run",
    [
        sgd(0.9, 0.05, 300),
        sgd(0.6261344422179698, 0.0017032731381053674, 6),  # few steps: the variance grows fast from the pole on
        sgd(2.0, 0.3, 60) * ew.Gaussian(1.5),
        ew.Gaussian(2.0) * ew.Laplace(3.0) ** 4 * ew.RandomizedResponse(0.4),
        ew.PoissonSampled(ew.Gaussian(1.1), 0.02, adjacency="replace", clipped=True) ** 200,
    ],
)
def test_the_symmetrised_curve_is_no_higher_than_that_of_any_direction(run):
    """It is asked of one direction only, at most alphas: of the lower one."""
    alpha = np.array([0.05, 0.2, 0.4, 0.5, 0.6, 0.75, 0.9])
    forward, backward = (contour(run, way).tradeoff(alpha) for way in ("forward", "backward"))
    both = contour(run).tradeoff(alpha)
    assert np.all(both.lower <= np.minimum(forward.upper, backward.upper))
    assert np.all(both.upper <= np.minimum(forward.upper, backward.upper) * (1 + 1e-7))
    either = (forward.upper - forward.lower) + (backward.upper - backward.lower)
    assert np.all(both.upper - both.lower <= np.maximum(1e-7 * both.upper, either))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_f_is_decreasing_and_convex(direction):
    alpha = np.linspace(0.0, 1.0, 201)
    bracket = contour(sgd(0.9, 0.05, 300), direction).tradeoff(alpha)
    slack = 2 * float(np.max(bracket.upper - bracket.lower)) + 1e-14
    assert slack < 1e-8
    assert np.all(np.diff(bracket.value) <= slack)
    assert np.all(np.diff(bracket.value, 2) >= -2 * slack)
    assert (bracket.value[0], bracket.value[-1]) == (1.0, 0.0)


def test_repeats_are_served_as_long_as_their_number_is_an_exact_double():
    step = ew.PoissonSampled(ew.Gaussian(50.0), 1e-4)
    assert ew.account(step**10**15).certificate.method == "contour"
    assert ew.account(step ** (10**15 + 1)).certificate.method == "recursion"
    assert ew.account(ew.Gaussian(1e6) ** 10**16).certificate.method == "closed-form"


def test_a_million_million_steps_are_read_to_seven_digits():
    """Nearly Gaussian: mu^2 = n p^2 (e^(1/sigma^2) - 1) up to terms of the order of the rate."""
    found = ew.account(ew.PoissonSampled(ew.Gaussian(20.0), 1e-4) ** 10**12).epsilon(1e-7)
    mu = math.sqrt(1e12 * 1e-8 * math.expm1(1 / 400))
    assert found.upper - found.lower < 1e-7 * found.upper
    assert found.value == pytest.approx(ew.account(ew.GaussianDP(mu)).epsilon(1e-7).value, rel=1e-4)


@pytest.mark.parametrize(("scale", "n"), [(2.0, 3 * 10**7), (0.3, 10**9), (30.0, 10**9)])
def test_very_many_equal_steps_of_laplace_noise_have_all_digits(scale, n):
    """Nearly normal: eps is the mean of the loss under Q and some four deviations."""
    account = ew.account(ew.Laplace(scale) ** n)
    found = account.epsilon(1e-5)
    assert account.certificate.method == "contour"
    assert found.upper - found.lower < 1e-11 * found.upper
    read = account.delta(found.value)
    assert read.upper - read.lower < 2e-8 * read.upper
    assert read.lower <= 1e-5 * (1 + 1e-9)
    assert read.upper >= 1e-5 * (1 - 1e-9)
    mean, variance = (n * float(cumulant) for cumulant in LaplaceLoss(1 / scale).cumulants(2).alternative)
    assert 3.9 < (found.value - mean) / math.sqrt(variance) < 4.3


def test_what_is_given_back_after_a_reading_is_made_again_with_the_same_bits(monkeypatch):
    total = TotalLoss.of(sgd(0.5, 1e-3, 12))
    kept, forgetful = Answers(total), Answers(total)
    alpha = np.array([1e-4, 0.3])
    first = [kept.tradeoff("forward", alpha), kept.delta("both", np.array([0.1]))]
    assert sum(made.kept for made in kept._levels.values()) > 0
    monkeypatch.setattr(answers, "_MOST_KEPT", 0)
    for _ in range(2):
        again = [forgetful.tradeoff("forward", alpha), forgetful.delta("both", np.array([0.1]))]
        assert not forgetful._levels
        assert forgetful._jumping.kept == 0
        assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))


def test_log_moments_keep_few_sets_of_nodes_and_give_the_same_bits_from_any():
    moments = LogMoments(Steps.of(TotalLoss.of(sgd(1.0, 0.01, 100)), -math.inf))
    tilts = [1.0 + 2.0**k * moments.width * 30 for k in range(6)]
    first = [moments(np.array([c])).tolist() for c in tilts]
    assert len(moments._sets) == 3
    assert [moments(np.array([c])).tolist() for c in tilts] == first
