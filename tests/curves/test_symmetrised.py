"""min{f, f^-1}** for smooth curves, with one bridge and with several."""

import numpy as np
import pytest

from edgeworth.curves import (
    DualTradeOff,
    GaussianTradeOff,
    LaplaceTradeOff,
    PiecewiseLinear,
    Rescaled,
    Subsampled,
    Symmetrised,
)

SAMPLED = Subsampled(GaussianTradeOff(1.0), 0.1)
CROSSED = Rescaled(Subsampled(LaplaceTradeOff(1.0), 0.3), null_only=0.02, alternative_only=0.001)
MIDDLE = np.linspace(0.001, 0.97, 400)


@pytest.mark.parametrize("f", [SAMPLED, CROSSED, Subsampled(GaussianTradeOff(8.0), 0.9)])
def test_it_is_a_symmetric_trade_off_function(f):
    s = Symmetrised(f)
    alpha = np.linspace(0, 1, 20_001)
    values = s(alpha)
    assert np.all(np.diff(values) <= 0)
    assert np.all(np.diff(values, 2) >= -4e-16)
    positive = (MIDDLE > 0) & (s(MIDDLE) > 1e-6)
    np.testing.assert_allclose(s(s(MIDDLE[positive])), MIDDLE[positive], rtol=1e-9, atol=0)


@pytest.mark.parametrize("f", [SAMPLED, CROSSED])
def test_it_agrees_with_the_dual_of_the_larger_profile(f):
    s = Symmetrised(f)
    np.testing.assert_allclose(s(MIDDLE), DualTradeOff(s.profile())(MIDDLE), rtol=1e-11, atol=0)
    tiny = 10.0 ** -np.linspace(3, 250, 40)
    np.testing.assert_allclose(s.power(tiny), DualTradeOff(s.profile()).power(tiny), rtol=1e-11, atol=0)


def test_away_from_the_bridge_it_is_one_of_the_two_directions():
    s = Symmetrised(SAMPLED)
    left, right = 10.0 ** -np.linspace(0.7, 200, 50), np.linspace(0.75, 0.9999, 50)
    np.testing.assert_array_equal(s(left), SAMPLED(left))
    np.testing.assert_array_equal(s.power(left), SAMPLED.power(left))
    np.testing.assert_array_equal(s(right), SAMPLED.inverse()(right))


def test_the_bridge_is_the_line_of_the_total_variation():
    s = Symmetrised(SAMPLED)
    low, high = s.kinks[0], s.kinks[-1]
    alpha = np.linspace(low, high, 11)
    np.testing.assert_allclose(s(alpha), 1 - s.profile()(0.0) - alpha, rtol=1e-14, atol=0)
    assert s(low) == pytest.approx(SAMPLED(low), rel=1e-14)
    assert s(high) == pytest.approx(SAMPLED.inverse()(high), rel=1e-13)
    assert high - low > 0.1


def test_two_crossings_make_three_bridges():
    s = Symmetrised(CROSSED)
    forward, backward = CROSSED.profile(), CROSSED.profile().reverse()
    epsilon = np.linspace(0.01, 1.2, 60)
    signs = np.unique(np.sign(forward(epsilon) - backward(epsilon)))
    assert set(signs) == {-1.0, 1.0}
    exact = CROSSED.piecewise_linear(points=20_001).symmetrise()
    np.testing.assert_allclose(s(MIDDLE), exact(MIDDLE), rtol=0, atol=1e-7)
    assert s.gamma == pytest.approx(exact.gamma, rel=1e-7)
    assert s.mu_star == pytest.approx(exact.mu_star, rel=1e-6)


def test_piecewise_linear_curves_agree_with_their_exact_hull():
    f = PiecewiseLinear.hull([0.01, 0.1, 0.4], [0.85, 0.6, 0.35])
    np.testing.assert_allclose(Symmetrised(f)(MIDDLE), f.symmetrise()(MIDDLE), rtol=1e-13, atol=1e-15)
    assert Symmetrised(f).gamma == pytest.approx(f.gamma, rel=1e-12)


@pytest.mark.parametrize("f", [GaussianTradeOff(1.0), LaplaceTradeOff(2.0)])
def test_a_symmetric_curve_symmetrised_by_force_is_itself(f):
    np.testing.assert_allclose(Symmetrised(f)(MIDDLE), f(MIDDLE), rtol=1e-13, atol=0)
    assert f.symmetrise() is f


def test_profile_is_the_larger_of_the_two_exactly():
    epsilon = np.linspace(-3, 3, 41)
    both = np.maximum(SAMPLED.profile()(epsilon), SAMPLED.profile().reverse()(epsilon))
    np.testing.assert_array_equal(Symmetrised(SAMPLED).profile()(epsilon), both)
