"""The Laplace pair against integrals of its densities, and the (epsilon, delta) curve against its lines."""

import mpmath as mp
import numpy as np
import pytest

from edgeworth.curves import ApproxDPTradeOff, Identity, LaplaceTradeOff
from edgeworth.curves.interpret import area_by_quadrature, fixed_point_by_duality


def integral_delta(theta, epsilon):
    """Integral of (q - e^eps p)_+ with p = Lap(0, 1), q = Lap(theta, 1), split at the corners."""
    theta, factor = mp.mpf(theta), mp.exp(mp.mpf(epsilon))
    corner = (mp.mpf(epsilon) + theta) / 2

    def excess(x):
        return max(mp.exp(-abs(x - theta)) / 2 - factor * mp.exp(-abs(x)) / 2, mp.mpf(0))

    cuts = sorted({-mp.inf, mp.mpf(0), theta, corner, mp.inf})
    return mp.quad(excess, cuts)


@pytest.mark.parametrize("theta", [0.01, 0.5, 1.0, 4.0])
def test_delta_is_the_integral(theta):
    profile = LaplaceTradeOff(theta).profile()
    with mp.workdps(30):
        for epsilon in (-1.5 * theta, -0.5 * theta, 0.0, 0.25 * theta, 0.9 * theta):
            assert profile(epsilon) == pytest.approx(float(integral_delta(theta, epsilon)), rel=1e-13)


@pytest.mark.parametrize("theta", [0.01, 0.5, 1.0, 4.0])
def test_f_is_the_error_of_the_threshold_test(theta):
    with mp.workdps(30):

        def cdf(x):
            return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

        for alpha in (1e-12, 1e-3, 0.1, 0.4, 0.5, 0.7, 0.999):
            a = mp.mpf(alpha)
            threshold = -mp.log(2 * a) if a < 0.5 else mp.log(2 * (1 - a))
            assert LaplaceTradeOff(theta)(alpha) == pytest.approx(float(cdf(threshold - mp.mpf(theta))), rel=1e-14)
            power = float(1 - cdf(threshold - mp.mpf(theta)))
            assert LaplaceTradeOff(theta).power(alpha) == pytest.approx(power, rel=1e-14)


def test_power_is_relative_in_the_tail():
    assert LaplaceTradeOff(2.0).power(1e-250) == pytest.approx(1e-250 * np.exp(2.0), rel=1e-15)
    assert LaplaceTradeOff(900.0)(1e-300) == pytest.approx(float(mp.exp(-900) / 4 * mp.mpf("1e300")), rel=1e-12)
    assert LaplaceTradeOff(900.0)(0.5) == 0.0


def test_no_loss_beyond_theta():
    profile = LaplaceTradeOff(1.5).profile()
    assert profile(1.5) == 0.0
    assert profile.epsilon(0.0) == 1.5
    assert profile(np.nextafter(1.5, 0)) > 0
    assert profile.epsilon(1.0) == 0.0


@pytest.mark.parametrize("theta", [0.0, 0.1, 2.0, 30.0])
def test_closed_forms_agree_with_the_generic_ones(theta):
    f = LaplaceTradeOff(theta)
    assert area_by_quadrature(f) == pytest.approx(f.gamma, rel=1e-11)
    assert fixed_point_by_duality(f) == pytest.approx(f.fixed_point, rel=1e-13)


def test_theta_zero_is_the_identity():
    alpha, epsilon = np.linspace(0, 1, 64), np.linspace(-3, 3, 25)
    np.testing.assert_allclose(LaplaceTradeOff(0.0)(alpha), Identity()(alpha), rtol=1e-15, atol=0)
    np.testing.assert_array_equal(LaplaceTradeOff(0.0).profile()(epsilon), Identity().profile()(epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.5, 1e-6), (3.0, 0.25), (300.0, 1e-9), (2.0, 1.0)])
def test_approx_dp_profile_is_the_sup_over_its_vertices(epsilon, delta):
    f = ApproxDPTradeOff(epsilon, delta)
    vertices = np.array([0.0, f.fixed_point, 1 - delta])
    for t in (-epsilon - 1, -epsilon, -epsilon / 2, 0.0, epsilon / 2, epsilon, epsilon + 1):
        with mp.workdps(300):
            best = max(1 - mp.mpf(f(float(v))) - mp.exp(mp.mpf(t)) * mp.mpf(float(v)) for v in vertices)
        assert f.profile()(t) == pytest.approx(float(max(best, mp.mpf(0))), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 0.25), (10.0, 0.0)])
def test_approx_dp_gives_its_epsilon_back(epsilon, delta):
    profile = ApproxDPTradeOff(epsilon, delta).profile()
    assert profile.epsilon(delta) == epsilon
    assert profile.epsilon(1.0) == 0.0
    assert profile(np.inf) == delta
    if delta > 0:
        assert profile.epsilon(delta / 2) == np.inf
    half = profile.epsilon(profile(epsilon / 2))
    assert half == pytest.approx(epsilon / 2, rel=1e-12)
    assert area_by_quadrature(ApproxDPTradeOff(epsilon, delta)) == pytest.approx(
        ApproxDPTradeOff(epsilon, delta).gamma, rel=1e-12
    )
