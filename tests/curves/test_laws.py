"""Laws that every curve and every profile obeys, whatever its kind."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeworth.curves import (
    ApproxDPTradeOff,
    DualTradeOff,
    GaussianTradeOff,
    Identity,
    Inverse,
    LaplaceTradeOff,
    PiecewiseLinear,
    Rescaled,
    Subsampled,
    pointwise_order,
)

LAW = settings(max_examples=60, deadline=None)
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

symmetric = st.one_of(
    st.builds(Identity),
    st.builds(GaussianTradeOff, st.floats(1e-4, 12)),
    st.builds(LaplaceTradeOff, st.floats(1e-4, 12)),
    st.builds(ApproxDPTradeOff, st.floats(0, 8), st.floats(0, 0.5)),
)
broken_lines = st.lists(st.tuples(st.floats(1e-6, 1 - 1e-6), st.floats(0, 1)), min_size=1, max_size=8).map(
    lambda points: PiecewiseLinear.hull([p[0] for p in points], [p[1] for p in points])
)
sampled = st.builds(Subsampled, symmetric, st.floats(1e-3, 0.999))
rescaled = st.builds(Rescaled, st.one_of(symmetric, sampled), st.floats(0, 0.3), st.floats(0, 0.3))
one_way = st.one_of(sampled, rescaled, broken_lines, st.builds(Inverse, sampled))
curves = st.one_of(symmetric, one_way)
small = st.floats(-250, -0.01).map(lambda x: 10.0**x)
alphas = st.one_of(st.just(0.0), st.just(1.0), small, st.floats(0, 1), small.map(lambda x: 1 - x))
epsilons = st.floats(-40, 40)


@LAW
@given(curves, alphas, alphas)
def test_non_increasing_and_within_bounds(f, a, b):
    low, high = sorted((a, b))
    assert 0 <= f(high) <= f(low) * (1 + 1e-13) <= (1 - low) * (1 + 1e-12)
    assert high <= f.power(high) <= 1
    assert f.power(low) * (1 - 1e-12) <= f.power(high)
    assert f(1.0) == 0.0


@LAW
@given(curves, alphas)
def test_power_is_the_complement(f, alpha):
    assert abs(f(alpha) + f.power(alpha) - 1) < 1e-12


@LAW
@given(curves, st.lists(alphas, min_size=3, max_size=3, unique=True))
def test_convex(f, three):
    a, b, c = sorted(three)
    before, after = (c - b) / (c - a), (b - a) / (c - a)
    assert f(b) <= (before * f(a) + after * f(c)) * (1 + 1e-11)
    assert f.power(b) * (1 + 1e-11) >= before * f.power(a) + after * f.power(c)


@SLOW
@given(st.one_of(sampled, rescaled, broken_lines), st.floats(1e-12, 0.99))
def test_inverting_twice_numerically_gives_f_back(f, alpha):
    twice = Inverse(Inverse(f))
    assert twice(alpha) == pytest.approx(f(alpha), rel=1e-9)


@LAW
@given(curves, st.floats(1e-5, 0.999))
def test_the_inverse_is_the_least_alpha(f, y):
    t = f.inverse()(y)
    assert f(t) <= y * (1 + 1e-9)
    if t > 1e-200:
        assert f(t * (1 - 1e-9)) >= y * (1 - 1e-12)


@LAW
@given(curves, epsilons, epsilons)
def test_profile_is_non_increasing_within_bounds(f, a, b):
    low, high = sorted((a, b))
    delta = f.profile()
    assert max(0.0, -np.expm1(high)) <= delta(high) <= delta(low) * (1 + 1e-11) <= 1 + 1e-11


@LAW
@given(curves, st.lists(st.integers(-800, 800), min_size=3, max_size=3, unique=True))
def test_profile_is_convex_in_e_to_the_epsilon(f, three):
    a, b, c = (one / 100 for one in sorted(three))
    x = np.exp([a, b, c])
    delta = f.profile()
    before, after = (x[2] - x[1]) / (x[2] - x[0]), (x[1] - x[0]) / (x[2] - x[0])
    assert delta(b) <= (before * delta(a) + after * delta(c)) * (1 + 1e-10) + 1e-15


@LAW
@given(curves, alphas, epsilons)
def test_fenchel_young(f, alpha, epsilon):
    """Every line of the profile lies below f: delta(eps) >= 1 - f(alpha) - e^eps alpha."""
    scale = max(1.0, np.exp(epsilon) * alpha)
    assert f.profile()(epsilon) >= f.power(alpha) - np.exp(epsilon) * alpha - 1e-14 * scale
    assert f.profile()(epsilon) >= (f.power(alpha) - np.exp(epsilon) * alpha) * (1 - 1e-9) - 1e-14 * f.power(alpha)


@SLOW
@given(st.one_of(symmetric, sampled, rescaled), st.lists(st.floats(1e-30, 0.999), min_size=1, max_size=20))
def test_the_double_dual_is_f(f, alpha):
    dual = DualTradeOff(f.profile())
    np.testing.assert_allclose(dual(alpha), f(alpha), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(dual.power(alpha), f.power(alpha), rtol=1e-11, atol=0)


@SLOW
@given(curves, st.floats(0, 1), epsilons)
def test_duality_reverses_the_order(f, rate, epsilon):
    higher = f.subsample(rate)
    assert pointwise_order(higher, f) in {"more private", "equal"}
    assert higher.profile()(epsilon) <= f.profile()(epsilon) * (1 + 1e-9) + 1e-15


@LAW
@given(curves, epsilons)
def test_reversing(f, epsilon):
    """delta'(eps) = 1 - e^eps (1 - delta(-eps)), and twice is nothing."""
    delta = f.profile()
    reverse = delta.reverse()
    expected = 1 - np.exp(epsilon) * (1 - delta(-epsilon))
    assert reverse(epsilon) == pytest.approx(expected, rel=1e-9, abs=1e-14 * np.exp(max(epsilon, 0)))
    assert reverse.reverse()(epsilon) == delta(epsilon)
    assert f.inverse().profile()(epsilon) == pytest.approx(reverse(epsilon), rel=1e-10, abs=1e-300)


@LAW
@given(curves, st.floats(1e-250, 1))
def test_epsilon_is_the_least(f, delta):
    profile = f.profile()
    epsilon = profile.epsilon(delta)
    if epsilon == np.inf:
        assert profile.alternative_only > delta
        return
    assert profile(epsilon) <= delta * (1 + 1e-9) + 2e-15 * max(1.0, epsilon)
    if epsilon > 1e-6:
        assert profile(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-12)


@LAW
@given(curves)
def test_subsampling_all_or_none(f):
    alpha = np.linspace(0, 1, 17)
    np.testing.assert_array_equal(f.subsample(1.0)(alpha), f(alpha))
    np.testing.assert_allclose(f.subsample(0.0)(alpha), 1 - alpha, rtol=1e-15, atol=0)
    assert f.convex_hull() is f


@SLOW
@given(curves, st.lists(st.floats(1e-6, 0.99), min_size=1, max_size=20))
def test_symmetrised(f, alpha):
    s = f.symmetrise()
    alpha = np.array(alpha)
    assert s.is_symmetric
    assert s.symmetrise() is s
    assert s.inverse()(alpha) == pytest.approx(s(alpha), rel=0, abs=0)
    smaller = np.minimum(f(alpha), f.inverse()(alpha))
    assert np.all(s(alpha) <= smaller * (1 + 1e-11))
    dual = DualTradeOff(f.profile().maximum(f.profile().reverse()))
    np.testing.assert_allclose(s(alpha), dual(alpha), rtol=1e-9, atol=1e-15)


@SLOW
@given(curves)
def test_gamma_and_mu_star_are_in_range_and_consistent(f):
    assert 0 <= f.gamma <= 0.5
    assert f.mu_star >= 0
    s = f.symmetrise()
    if 0 < f.fixed_point < 0.5:
        assert s(f.fixed_point) == pytest.approx(f.fixed_point, rel=1e-9)
    # a convex symmetric curve through (a*, a*) lies between its supporting line and its chords
    assert 2 * f.fixed_point**2 * (1 - 1e-9) <= f.gamma <= f.fixed_point * (1 + 1e-9)


@LAW
@given(curves, alphas, epsilons)
def test_asking_twice_gives_the_same_bits(f, alpha, epsilon):
    array = np.array([[alpha, 0.5], [0.25, alpha]])
    assert f(array).tobytes() == f(array).tobytes()
    assert f(array).shape == (2, 2)
    assert f.power(array).tobytes() == f.power(array).tobytes()
    assert f.profile()(epsilon) == f.profile()(epsilon)
    assert type(f(alpha)) is float
    assert type(f.profile()(epsilon)) is float
    assert f(np.empty(0)).shape == (0,)
