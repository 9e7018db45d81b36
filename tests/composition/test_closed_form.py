"""Closed forms read through `account`, against exact rationals, 40 digits, and each other."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.errors import Unsupported

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 30), 1 - np.geomspace(0.4, 1e-6, 20), [1.0]])
EPSILONS = np.linspace(-4, 12, 33)


def inside(bracket, truth, widest=1e-10):
    """The truth, an mpf, within the bracket, and the bracket narrow relative to it."""
    lower, upper = mpf(float(bracket.lower)), mpf(float(bracket.upper))
    assert lower <= truth <= upper
    assert upper - lower <= widest * truth


@pytest.mark.parametrize(
    ("mechanism", "squares"),
    [
        (ew.Gaussian(1.0), "1"),
        (ew.Gaussian(2.0) ** 7, "1.75"),
        (ew.Gaussian(0.5) * ew.Gaussian(4.0) ** 16 * ew.GaussianDP(1.5), "7.25"),
        (ew.PoissonSampled(ew.Gaussian(2.0), 1.0) ** 12 * ew.PoissonSampled(ew.Gaussian(0.1), 0.0) ** 5, "3"),
        (ew.PoissonSampled(ew.Gaussian(2.0) ** 4, 1.0), "1"),
        (ew.Gaussian(1024.0) ** (2**20), "1"),
        (ew.Gaussian(2.0**20) ** (2**40), "1"),
    ],
)
def test_any_composition_of_gaussian_noise(mechanism, squares):
    account = ew.account(mechanism)
    assert account.certificate.method == "closed-form"
    with mp.workdps(60):
        mu = mp.sqrt(mpf(squares))
        for epsilon in (0.0, 0.5, 3.0, 12.0):
            e = mpf(epsilon)
            inside(account.delta(epsilon), mp.ncdf(-e / mu + mu / 2) - mp.exp(e) * mp.ncdf(-e / mu - mu / 2))
        for alpha in (1e-200, 1e-9, 0.1, 0.75):
            quantile = (
                -mp.sqrt(2) * mp.erfinv(2 * mpf(alpha) - 1)
                if alpha > 1e-9
                else mp.findroot(
                    lambda x, a=alpha: mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - mp.log(mpf(a)),
                    mp.sqrt(-2 * mp.log(alpha)) - 1,
                )
            )
            inside(account.tradeoff(alpha), mp.ncdf(quantile - mu))


def exact_response_delta(k_epsilon, n, j):
    """delta(j eps) of n randomized responses with e^eps = k_epsilon, an exact rational."""
    truth = Fraction(k_epsilon, 1 + k_epsilon)
    lie = 1 - truth
    total = Fraction(0)
    for k in range(n + 1):
        alternative, null = truth**k * lie ** (n - k), lie**k * truth ** (n - k)
        total += math.comb(n, k) * max(alternative - Fraction(k_epsilon) ** j * null, Fraction(0))
    return total


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("odds", [2, 3, 20])
def test_randomized_responses_against_exact_rationals(n, odds):
    """eps = log(odds) rounded to a double moves delta by n ulps: the brackets are narrower than 1e-10 and hold it."""
    account = ew.account(ew.RandomizedResponse(math.log(odds)) ** n)
    assert account.certificate.method == ("closed-form" if n == 1 else "fourier")
    for j in range(0, n, max(1, n // 5)):
        exact = exact_response_delta(odds, n, j)
        found = account.delta(j * math.log(odds))
        allowed = 1e-14 * n + 1e-12
        assert found.lower * (1 - allowed) <= exact <= found.upper * (1 + allowed)
        assert found.upper <= found.lower * (1 + 1e-9)


def response_delta(epsilon, n, at):
    """delta(at) of n randomized responses, an mpf."""
    truth = 1 / (1 + mp.exp(-epsilon))
    terms = []
    for k in range(n + 1):
        alternative, null = truth**k * (1 - truth) ** (n - k), (1 - truth) ** k * truth ** (n - k)
        terms.append(mp.binomial(n, k) * max(alternative - mp.exp(at) * null, 0))
    return mp.fsum(terms)


@pytest.mark.parametrize("away", [1e-3, 1e-8, 1e-13])
@pytest.mark.parametrize(("epsilon", "n"), [(0.0012575865443661299, 7), (26.229397542033787, 13), (0.1, 26), (0.5, 1)])
def test_responses_near_their_largest_loss(epsilon, n, away):
    """There delta is a mass times T - eps, and an ulp of T is a large part of it."""
    account, at = ew.account(ew.RandomizedResponse(epsilon) ** n), n * epsilon * (1 - away)
    with mp.workdps(60):
        truth = response_delta(mpf(epsilon), n, mpf(at))
        found = account.delta(at)
        assert found.lower <= truth <= found.upper
        eps = account.epsilon(float(truth))
        assert response_delta(mpf(epsilon), n, mpf(eps.lower)) >= mpf(float(truth))
        assert response_delta(mpf(epsilon), n, mpf(eps.upper)) <= mpf(float(truth))


@pytest.mark.parametrize("away", [1e-2, 1e-7, 1e-12])
@pytest.mark.parametrize(
    ("step", "quotient"),
    [
        (lambda p: ew.PoissonSampled(ew.RandomizedResponse(0.5004165954440704), p), (0.5004165954440704, 1.0)),
        (lambda p: ew.PoissonSampled(ew.Laplace(3.3), p), (1.0, 3.3)),
    ],
    ids=["response", "laplace"],
)
@pytest.mark.parametrize("rate", [0.0013712791992530767, 0.3, 1.0])
def test_one_sample_near_its_largest_loss(step, quotient, rate, away):
    """delta_p(eps) = p delta(log(1 + (e^eps - 1)/p)), and the largest loss of Laplace noise is a quotient."""
    account = ew.account(step(rate), direction="forward")
    with mp.workdps(60):
        p, largest = mpf(rate), mpf(quotient[0]) / mpf(quotient[1])
        end = mp.log1p(p * mp.expm1(largest))
        at = float(end * (1 - mpf(away)))
        inner = mp.log1p(mp.expm1(mpf(at)) / p)
        base = -mp.expm1(inner - largest)
        base = base / (1 + mp.exp(-largest)) if "Response" in repr(step(rate)) else -mp.expm1((inner - largest) / 2)
        found = account.delta(at)
        assert found.lower <= p * base <= found.upper


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("rate", [1e-6, 2e-4, 0.3, 1 - 1e-8, 1 - 1.3e-12])
@pytest.mark.parametrize("loss", [1e-3, 0.7679, 3.3])
def test_one_sample_of_little_loss_keeps_the_digits_of_its_epsilon(loss, rate, direction):
    """Held to 120 digits: sampled rarely its losses are tiny, and their digits count from their own first one."""
    account = ew.account(ew.PoissonSampled(ew.Laplace(1.0, loss), rate), direction=direction)
    sign = 1 if direction == "forward" else -1
    with mp.workdps(120):
        p, theta = mpf(rate), mpf(loss)

        def forward(epsilon):
            inner = mp.log1p(mp.expm1(epsilon) / p)
            return -p * mp.expm1((min(inner, theta) - theta) / 2) if inner > -theta else -mp.expm1(epsilon)

        end = sign * mp.log1p(p * mp.expm1(sign * theta))
        for away in (0.9, 1e-2, 1e-5):
            at = float(end * (1 - mpf(away)))
            truth = forward(mpf(at)) if sign > 0 else 1 - mp.exp(mpf(at)) * (1 - forward(-mpf(at)))
            found = account.delta(at)
            assert found.lower <= truth <= found.upper
            assert found.upper <= found.lower * (1 + 2e-11 / away)
            eps = account.epsilon(float(truth))
            assert eps.lower <= at * (1 + 1e-10)
            assert eps.upper >= at * (1 - 1e-10)
            assert eps.upper <= eps.lower * (1 + 1e-9)


@pytest.mark.parametrize("target", [1e-3, 1e-15, 1e-40, 1e-100])
@pytest.mark.parametrize("rate", [1e-6, 0.05, 0.5, 1 - 1e-8])
@pytest.mark.parametrize("sigma", [0.4, 1.3, 20.0])
def test_one_step_of_noisy_sgd_backward_up_to_its_largest_loss(sigma, rate, target):
    """Held to 400 digits: there -log(1 - p) - eps is all that is left, of which a double has no digit."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate), direction="backward")
    at = account.epsilon(target).value
    with mp.workdps(400):
        mu, p = 1 / mpf(sigma), mpf(rate)
        above = mp.expm1(-mpf(at)) / p
        if above <= -1:
            return
        x = mp.log1p(above) / mu + mu / 2
        truth = mp.ncdf(x) - mp.exp(mpf(at)) * ((1 - p) * mp.ncdf(x) + p * mp.ncdf(x - mu))
        found = account.delta(at)
        assert found.lower <= truth <= found.upper
        assert found.upper <= found.lower * (1 + 1.1e-11)


@pytest.mark.parametrize("n", [1, 3, 20])
@pytest.mark.parametrize("leak", [Fraction(1, 1000), Fraction(1, 4)])
def test_approximate_dp_composes_as_the_exact_rational_says(n, leak):
    """ApproxDP(log 2, leak)^n: disclosure with 1 - (1-leak)^n, randomized responses otherwise."""
    account = ew.account(ew.ApproxDP(math.log(2), float(leak)) ** n)
    exact_leak = Fraction(float(leak))
    kept = (1 - exact_leak) ** n
    for j in (0, 1, n // 2):
        exact = (1 - kept) + kept * exact_response_delta(2, n, j)
        assert account.delta(j * math.log(2)).value == pytest.approx(float(exact), rel=1e-12)
    beyond = account.delta((n + 1) * math.log(2))
    assert beyond.lower <= float(1 - kept) * (1 + 1e-15)
    assert beyond.value == pytest.approx(float(1 - kept), rel=1e-13)


@pytest.mark.parametrize("theta", [0.01, 0.5, 3.0, 20.0])
def test_one_laplace_release(theta):
    """f = max{1 - e^theta alpha, e^-theta/(4 alpha), e^-theta (1-alpha)}; delta = 1 - e^((eps-theta)/2) below theta."""
    account = ew.account(ew.Laplace(1.0, theta))
    alpha = ALPHAS[1:-1]
    first = 1 - math.exp(theta) * alpha
    middle = np.where((alpha >= math.exp(-theta) / 2) & (alpha <= 0.5), math.exp(-theta) / (4 * alpha), 0.0)
    exact = np.where(
        alpha < math.exp(-theta) / 2, first, np.where(alpha <= 0.5, middle, math.exp(-theta) * (1 - alpha))
    )
    np.testing.assert_allclose(account.tradeoff(alpha).value, exact, rtol=1e-12, atol=0)
    epsilon = theta * np.array([0.0, 0.3, 0.99])
    np.testing.assert_allclose(account.delta(epsilon).value, -np.expm1((epsilon - theta) / 2), rtol=1e-12, atol=0)
    assert np.all(account.delta(theta * np.array([1.0, 1.5])).upper == 0.0)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99])
def test_one_step_of_noisy_sgd_is_the_mixture(sigma, rate):
    """f = p G_(1/sigma) + (1-p) Id, forward, against 40 digits."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate), direction="forward")
    for alpha in (1e-9, 0.01, 0.3, 0.9):
        with mp.workdps(40):
            quantile = mp.sqrt(2) * mp.erfinv(1 - 2 * mpf(alpha))
            p = mpf(rate)
            inside(account.tradeoff(alpha), p * mp.ncdf(quantile - 1 / mpf(sigma)) + (1 - p) * (1 - mpf(alpha)))


@pytest.mark.parametrize(("sigma", "n"), [(1.0, 1), (1.0, 10), (3.0, 50), (0.8, 20_000)])
def test_at_rate_one_everything_collapses_to_the_gaussian_bit_for_bit(sigma, n):
    sampled = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), 1.0) ** n)
    plain = ew.account(ew.Gaussian(sigma) ** n)
    given = ew.account(ew.GaussianDP(math.sqrt(n) / sigma))
    for reading in (lambda a: a.tradeoff(ALPHAS), lambda a: a.delta(EPSILONS), lambda a: a.epsilon(1e-5)):
        assert np.array_equal(reading(sampled).value, reading(plain).value)
        assert np.array_equal(reading(sampled).upper, reading(plain).upper)
        np.testing.assert_allclose(reading(sampled).value, reading(given).value, rtol=1e-11, atol=0)


@pytest.mark.parametrize(
    "nothing",
    [
        ew.Gaussian(1.0) ** 0,
        ew.Composed(()),
        ew.PoissonSampled(ew.Gaussian(0.1), 0.0) ** 1000,
        ew.PoissonSampled(ew.ApproxDP(1.0, 0.5), 0.0),
        ew.Laplace(1.0, 0.0) ** 3,
        ew.RandomizedResponse(0.0) ** 4,
        ew.GaussianDP(0.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["auto", "clt", "edgeworth", "cornish-fisher", "saddlepoint", "recursion"])
def test_what_leaks_nothing_costs_nothing(nothing, method):
    account = ew.account(nothing, method=method)
    assert np.array_equal(account.tradeoff(ALPHAS).value, 1 - ALPHAS)
    assert np.array_equal(account.delta(np.array([0.0, 1.0, np.inf])).value, [0, 0, 0])
    assert account.epsilon(0.0).value == 0.0


def test_the_disclosed_share_of_approximate_dp_is_seen_even_without_epsilon():
    account = ew.account(ew.ApproxDP(0.0, 0.125) ** 2)
    assert account.delta(5.0).value == pytest.approx(1 - 0.875**2, rel=1e-15)
    assert account.epsilon(0.1).value == math.inf


@pytest.mark.parametrize(
    "mechanism",
    [ew.Laplace(1.0) ** 2, ew.PoissonSampled(ew.Gaussian(1.0), 0.5) ** 2, ew.Gaussian(1.0) * ew.Laplace(1.0)],
)
def test_no_formula_is_said_to_be_missing(mechanism):
    with pytest.raises(
        Unsupported,
        match=r'^method="closed-form" has no formula for this composition; use method="auto", which falls back',
    ):
        ew.account(mechanism, method="closed-form")


@pytest.mark.parametrize("delta", [1e-3, 1e-20, 7.95e-89])
def test_one_sample_with_a_record_replaced_is_the_mixture_symmetrised(delta):
    """For eps >= 0 its profile is that of the sampled step, p delta(log(1 + (e^eps - 1)/p))."""
    sigma, rate = 0.49528, 0.0031338149703526337
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate, adjacency="replace"))
    assert account.certificate.method == "closed-form"
    with mp.workdps(60):
        mu, p = 1 / mpf(sigma), mpf(rate)

        def profile(epsilon):
            inner = mp.log1p(mp.expm1(mpf(epsilon)) / p)
            return p * (mp.ncdf(-inner / mu + mu / 2) - mp.exp(inner) * mp.ncdf(-inner / mu - mu / 2))

        found = account.epsilon(delta)
        assert found.upper <= found.lower * (1 + 1e-9) or found.upper == 0.0
        assert profile(found.lower) >= delta or found.lower == 0.0
        assert profile(found.upper) <= delta
