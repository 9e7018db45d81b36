"""Sampling and one-sided mass against formulas at 80 digits, in both directions, far into the tail."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from edgeworth.curves import GaussianTradeOff, Identity, Inverse, Profile, Rescaled, Subsampled
from edgeworth.curves.gaussian import GaussianProfile
from edgeworth.curves.rescaled import RescaledProfile


def gaussian_delta(mu, epsilon):
    mu, threshold = mp.mpf(mu), epsilon / mp.mpf(mu)
    upper = mp.erfc((threshold - mp.mpf(mu) / 2) / mp.sqrt(2)) / 2
    return upper - mp.exp(epsilon) * mp.erfc((threshold + mp.mpf(mu) / 2) / mp.sqrt(2)) / 2


def sampled_delta(mu, rate, epsilon):
    rate, epsilon = mp.mpf(rate), mp.mpf(epsilon)
    inner = 1 + (mp.exp(epsilon) - 1) / rate
    return rate * gaussian_delta(mu, mp.log(inner)) if inner > 0 else 1 - mp.exp(epsilon)


def reverse_sampled_delta(mu, rate, epsilon):
    return 1 - mp.exp(mp.mpf(epsilon)) * (1 - sampled_delta(mu, rate, -mp.mpf(epsilon)))


@pytest.mark.parametrize("mu", [0.5, 1.25])
@pytest.mark.parametrize("rate", [1e-6, 0.005, 0.3, 0.9])
def test_sampled_profile_in_both_directions(mu, rate):
    profile = Subsampled(GaussianTradeOff(mu), rate).profile()
    least = np.log1p(-rate)
    for share in (0.999999, 0.9, 0.5, 0.1, 1e-6):
        check(profile, least * share, lambda e: sampled_delta(mu, rate, e))
        check(profile.reverse(), -least * share, lambda e: reverse_sampled_delta(mu, rate, e))
    for epsilon in (-3.0, -1e-9, 0.0, 1e-9, 0.01, 0.5, 0.9999, 1.0, 3.0, 8.0):
        check(profile, epsilon, lambda e: sampled_delta(mu, rate, e))
    for epsilon in (-3.0, -1e-9, 0.0, 1e-9):
        check(profile.reverse(), epsilon, lambda e: reverse_sampled_delta(mu, rate, e))


def check(profile, epsilon, truth):
    with mp.workdps(400):
        exact = truth(float(epsilon))
        if exact < mp.mpf(10) ** -290:
            assert profile.log(float(epsilon)) == pytest.approx(float(mp.log(exact)), rel=1e-9)
            return
        sensitivity = abs(float(mp.log(exact))) + 1  # conditioning of the tail in the threshold
        assert profile(float(epsilon)) == pytest.approx(float(exact), rel=3e-15 * sensitivity**2 + 1e-10)
        assert profile.log(float(epsilon)) == pytest.approx(float(mp.log(exact)), rel=1e-9)


def test_reverse_direction_has_bounded_loss():
    profile = Subsampled(GaussianTradeOff(1.0), 0.1).profile().reverse()
    assert profile(-np.log1p(-0.1)) == 0.0
    assert profile(0.999 * -np.log1p(-0.1)) > 0
    assert profile(700.0) == 0.0
    assert profile.log(700.0) == -np.inf


def test_sampled_profile_does_not_overflow():
    profile = Subsampled(GaussianTradeOff(50.0), 1e-3).profile()
    assert profile(1e4) == 0.0
    assert profile.log(1e4) < -1e4
    assert profile(-1e4) == 1.0
    assert Subsampled(GaussianTradeOff(50.0), 1e-3).profile().epsilon(1e-3) < 5e3


def test_rate_one_collapses_exactly():
    f, g = GaussianTradeOff(1.5), Subsampled(GaussianTradeOff(1.5), 1.0)
    alpha, epsilon = np.linspace(0, 1, 33), np.linspace(-9, 9, 37)
    np.testing.assert_array_equal(f(alpha), g(alpha))
    np.testing.assert_array_equal(f.profile()(epsilon), g.profile()(epsilon))
    np.testing.assert_array_equal(f.profile()(epsilon), g.profile().reverse()(epsilon))
    assert g.is_symmetric


def test_epsilon_tends_to_zero_with_the_rate():
    rates = 10.0 ** -np.arange(1, 13)
    epsilons = [Subsampled(GaussianTradeOff(1.0), rate).profile().epsilon(1e-13) for rate in rates]
    assert np.all(np.diff(epsilons) < 0)
    assert epsilons[-1] < 1e-11


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.2), (0.2, 0.0), (0.1, 0.3), (1e-12, 1e-3)])
def test_rescaled_is_the_trade_off_of_the_mixture(a, b):
    """P = (1-a) P0 + a (elsewhere), Q = (1-b) Q0 + b (elsewhere): delta by splitting the event."""
    base = GaussianTradeOff(1.0)
    f = Rescaled(base, null_only=a, alternative_only=b)
    alpha = np.linspace(0, 1, 101)
    inner = np.minimum(alpha / (1 - a), 1)
    np.testing.assert_allclose(f(alpha), (1 - b) * base(inner), rtol=1e-15, atol=0)
    with mp.workdps(50):
        for epsilon in (-2.0, 0.0, 0.5, 3.0, 20.0):
            shift = mp.log((1 - mp.mpf(a)) / (1 - mp.mpf(b)))
            exact = mp.mpf(b) + (1 - mp.mpf(b)) * gaussian_delta(1.0, mp.mpf(epsilon) + shift)
            assert f.profile()(epsilon) == pytest.approx(float(exact), rel=1e-13)
            assert f.profile().log(epsilon) == pytest.approx(float(mp.log(exact)), rel=1e-13)
            back = 1 - mp.exp(epsilon) * (1 - (mp.mpf(b) + (1 - mp.mpf(b)) * gaussian_delta(1.0, shift - epsilon)))
            assert f.profile().reverse()(epsilon) == pytest.approx(float(back), rel=1e-12)
    assert (f.profile()(np.inf), f.profile().reverse()(np.inf)) == (b, a)
    assert (f(0.0), f.zero_from) == (1 - b, 1 - a)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 0.5), (0.25, 1.0)])
def test_disjoint_laws_have_no_privacy(a, b):
    f = Rescaled(Identity(), null_only=a, alternative_only=b)
    alpha = np.array([0.0, 0.3, 1.0])
    np.testing.assert_array_equal(f(alpha), 0.0)
    np.testing.assert_array_equal(f.power(alpha), 1.0)
    assert f.profile()(50.0) == 1.0
    assert f.profile().epsilon(0.5) == np.inf
    assert (f.mu_star, f.gamma, f.fixed_point) == (np.inf, 0.0, 0.0)


def test_inverse_of_sampled_has_relative_power_in_the_tail():
    f = Inverse(Subsampled(GaussianTradeOff(1.0), 0.1))
    alpha = 10.0 ** -np.linspace(4, 300, 30)
    slope = f.power(alpha) / alpha  # tends to 1/(1 - p), the largest likelihood ratio
    assert np.all(np.diff(slope) >= -1e-12)
    assert slope[-1] == pytest.approx(1 / 0.9, rel=1e-10)


class Asked(GaussianProfile):
    """A base that keeps what it was asked and what it said."""

    def _epsilon(self, delta):
        found = super()._epsilon(delta)
        object.__setattr__(self, "heard", (delta, found))
        return found


@pytest.mark.parametrize(("a", "b"), [(1e-6, 1e-6), (1e-9, 1e-3), (1e-3, 1e-9)])
@pytest.mark.parametrize("lean", [-1, 1])
def test_epsilon_of_an_end_of_a_rescaled_profile_is_one_question_to_its_base_and_leans_as_it_does(a, b, lean):
    delta = np.array([0.9, 0.1, 2e-3, 1.1 * b, b * (1 - 1e-9)])
    base = Asked(1.0)
    rescaled = RescaledProfile(base, a, b, lean)
    found = rescaled.epsilon(delta)
    plain = Profile._epsilon(rescaled, delta)  # by the search over its delta
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-13)
    if a > b:  # where the shift is negative the search over its delta answers
        return
    finite = np.isfinite(found)
    assert list(finite) == [True] * 4 + [False]
    with mp.workdps(50):
        shift = mp.log((1 - mp.mpf(a)) / (1 - mp.mpf(b)))
        for end, target, inner, said in zip(found[finite], delta[finite], *base.heard, strict=True):
            # whatever true end the base gave, this is one: exactly, so that no rounding of the base counts
            assert lean * (Fraction(b) + (1 - Fraction(b)) * Fraction(inner)) <= lean * Fraction(target)
            assert end == 0 or lean * (mp.mpf(end) + shift) >= lean * mp.mpf(said)
