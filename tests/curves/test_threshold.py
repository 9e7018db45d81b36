"""A raw parametric curve becomes a trade-off function, and stays itself where it is one."""

import numpy as np
import pytest
from scipy.special import ndtr

from edgeworth.curves import DualTradeOff, GaussianTradeOff, ThresholdCurve
from edgeworth.curves.normal import tail
from edgeworth.errors import ComputationFailed, InvalidArgument

GRID = np.linspace(-38, 39, 3000)
ALPHA = np.concatenate(
    [10.0 ** np.linspace(-290, -3, 40), np.linspace(0.01, 0.99, 31), 1 - 10.0 ** np.linspace(-15.5, -3, 25)]
)


def gaussian_tests(mu):
    """All four errors, each to a few ulp."""
    return lambda u: (tail(u), tail(mu - u), tail(u - mu), tail(-u))


def skewed_tests(u, skewness=0.9, mu=1.2):
    """An Edgeworth expansion of degree 1: not monotone, outside [0, 1], and not convex."""

    def cdf(h):
        return ndtr(h) - skewness / 6 * (h * h - 1) * np.exp(-h * h / 2) / np.sqrt(2 * np.pi)

    return 1 - cdf(u), cdf(u - mu), 1 - cdf(u - mu)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_a_true_curve_is_left_alone(mu):
    f, g = ThresholdCurve(gaussian_tests(mu), GRID), GaussianTradeOff(mu)
    np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=1e-12, atol=0)
    np.testing.assert_allclose(f.power(ALPHA), g.power(ALPHA), rtol=1e-12, atol=0)
    np.testing.assert_allclose(f.raw(ALPHA), g(ALPHA), rtol=1e-12, atol=0)
    assert (f.repaired, f.largest_repair) == ((), 0.0)
    assert (f(0.0), f(1.0)) == (pytest.approx(1.0, rel=1e-15), 0.0)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_delta_is_that_of_the_smooth_curve_not_of_the_grid(mu):
    f, g = ThresholdCurve(gaussian_tests(mu), GRID[::10]), GaussianTradeOff(mu)
    epsilon = np.linspace(-6, 25, 63) * mu
    np.testing.assert_allclose(f.profile()(epsilon), g.profile()(epsilon), rtol=1e-11, atol=0)
    np.testing.assert_allclose(f.profile().reverse()(epsilon), g.profile()(epsilon), rtol=1e-11, atol=0)
    on_vertices = f.frame.profile()(epsilon)
    assert np.max(on_vertices / g.profile()(epsilon) - 1) <= 1e-12
    assert np.min(on_vertices / g.profile()(epsilon) - 1) < -1e-4


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_epsilon_is_that_of_the_smooth_curve(mu):
    f, g = ThresholdCurve(gaussian_tests(mu), GRID[::10]), GaussianTradeOff(mu)
    delta = 10.0 ** -np.linspace(0.01, 250, 60)
    np.testing.assert_allclose(f.profile().epsilon(delta), g.profile().epsilon(delta), rtol=1e-12, atol=0)
    assert f.profile().epsilon(1.0) == 0.0


def test_symmetrised_expansion_is_dual_to_the_larger_profile(skewed):
    alpha = np.linspace(0.001, 0.9, 60)
    s = skewed.symmetrise()
    np.testing.assert_allclose(s(alpha), DualTradeOff(s.profile())(alpha), rtol=1e-9, atol=1e-13)
    assert np.all(s(alpha) <= np.minimum(skewed(alpha), skewed.inverse()(alpha)) + 1e-15)


def test_inverse_exchanges_the_errors_exactly():
    f = ThresholdCurve(gaussian_tests(1.0), GRID)
    g = GaussianTradeOff(1.0)
    np.testing.assert_allclose(f.inverse()(ALPHA), g(ALPHA), rtol=1e-12, atol=0)
    np.testing.assert_allclose(f.inverse().power(ALPHA), g.power(ALPHA), rtol=1e-12, atol=0)
    assert f.inverse().inverse()(ALPHA).tobytes() == f(ALPHA).tobytes()
    middle = np.linspace(0.001, 0.999, 101)
    h = ThresholdCurve(skewed_tests, np.linspace(-8, 9, 2000))
    reached = h(middle) > 0
    np.testing.assert_allclose(h.inverse()(h(middle[reached])), middle[reached], rtol=1e-10, atol=0)


@pytest.fixture(scope="module")
def skewed():
    return ThresholdCurve(skewed_tests, np.linspace(-8, 9, 2000))


def test_a_broken_curve_becomes_a_trade_off_function(skewed):
    alpha = np.linspace(0, 1, 200_001)
    values = skewed(alpha)
    assert np.all(np.diff(values) <= 0)
    assert np.all(np.diff(values, 2) >= -1e-15)
    assert np.all((values >= 0) & (values <= 1 - alpha))
    assert values[-1] == 0.0


@pytest.mark.parametrize("points", [30, 60, 120, 250])
def test_joints_are_convex_on_coarse_grids_too(points):
    f = ThresholdCurve(skewed_tests, np.linspace(-8, 9, points))
    alpha = np.linspace(0, 1, 100_001)
    assert np.all(np.diff(f(alpha), 2) >= -2e-15)


def test_what_was_changed_is_said(skewed):
    alpha = np.linspace(1e-6, 1 - 1e-6, 20_001)
    change = np.abs(skewed(alpha) - skewed.raw(alpha))
    change[np.isnan(change)] = 0
    inside = np.zeros(alpha.size, dtype=bool)
    for low, high in skewed.repaired:
        assert 0 < low < high < 1
        inside |= (alpha >= low) & (alpha <= high)
    assert len(skewed.repaired) == 2
    assert np.max(change[~inside]) < 1e-11
    assert np.max(change[inside]) > 1e-3
    assert skewed.largest_repair == pytest.approx(np.max(change), rel=0.02)


def test_where_nothing_was_changed_the_raw_curve_is_met(skewed):
    alpha = np.linspace(0.2, 0.7, 101)
    np.testing.assert_allclose(skewed(alpha), skewed.raw(alpha), rtol=1e-13, atol=0)


def test_raw_is_nan_off_the_branch():
    f = ThresholdCurve(gaussian_tests(1.0), np.linspace(-2, 2, 100))
    assert np.isnan(f.raw(1e-9))
    assert np.isnan(f.raw(np.array([0.999]))[0])
    assert f.raw(0.5) == pytest.approx(GaussianTradeOff(1.0)(0.5), rel=1e-14)


def test_profile_and_curve_are_dual(skewed):
    alpha = np.linspace(0.001, 0.999, 301)
    np.testing.assert_allclose(DualTradeOff(skewed.profile())(alpha), skewed(alpha), rtol=1e-8, atol=1e-13)


def test_clipping_against_the_diagonal():
    """Anti-tests: beta above 1 - alpha everywhere. Nothing better than guessing is left."""
    f = ThresholdCurve(lambda u: (ndtr(-u), ndtr(u + 0.5), ndtr(-u - 0.5)), np.linspace(-8, 8, 200))
    alpha = np.linspace(0, 1, 50)
    np.testing.assert_allclose(f(alpha), 1 - alpha, rtol=1e-12, atol=1e-15)
    assert f.largest_repair == pytest.approx(2 * ndtr(0.25) - 1, rel=1e-3)


@pytest.mark.parametrize("u", [[0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0, np.inf], [[0.0, 1.0, 2.0, 3.0]]])
def test_bad_grids_are_refused(u):
    with pytest.raises(InvalidArgument, match=r"^u has shape \(.*\); give at least 4 finite increasing numbers$"):
        ThresholdCurve(gaussian_tests(1.0), u)


def test_a_curve_with_no_tests_is_a_failure():
    with pytest.raises(ComputationFailed, match=r"^no test on the grid has a type I error within \[0, 1\]$"):
        ThresholdCurve(lambda u: (u + np.nan, u, u), np.linspace(0, 1, 9))
