"""Piecewise-linear curves: exact operations, checked with fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeworth.curves import GaussianTradeOff, PiecewiseLinear, from_points

EXACT = settings(max_examples=60, deadline=None)


@st.composite
def convex_vertices(draw):
    """Vertices with coordinates that are multiples of 2^-20: every sum and difference is exact."""
    scale = 2**20
    inner = draw(st.lists(st.tuples(st.integers(1, scale - 1), st.integers(0, scale - 1)), max_size=12))
    points = sorted((x, min(y, scale - x)) for x, y in inner)
    start = draw(st.integers(1, scale))
    chain = []
    for point in [(0, start), *points, (scale, 0)]:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        if chain and chain[-1][0] == point[0]:
            continue
        chain.append(point)
    return [x / scale for x, _ in chain], [y / scale for _, y in chain]


def _turn(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def exact_value(alpha, beta, x):
    for a0, b0, a1, b1 in zip(alpha, beta, alpha[1:], beta[1:], strict=False):
        if a0 <= x <= a1:
            t = (Fraction(x) - Fraction(a0)) / (Fraction(a1) - Fraction(a0))
            return (1 - t) * Fraction(b0) + t * Fraction(b1)
    raise AssertionError


def close(value, exact, ulps=4):
    return abs(Fraction(value) - exact) <= ulps * Fraction(2) ** -52 * exact


def same_bits(f, g):
    names = ("alpha", "beta", "vertex_power", "acceptance")
    return all(getattr(f, name).tobytes() == getattr(g, name).tobytes() for name in names)


@EXACT
@given(convex_vertices(), st.floats(0, 1))
def test_values_are_the_rational_ones(vertices, x):
    alpha, beta = vertices
    assert close(PiecewiseLinear(alpha, beta)(x), exact_value(alpha, beta, x))


@EXACT
@given(convex_vertices())
def test_vertices_are_met_exactly(vertices):
    f = PiecewiseLinear(*vertices)
    np.testing.assert_array_equal(f(f.alpha), f.beta)
    np.testing.assert_array_equal(f.power(f.alpha), f.vertex_power)


@EXACT
@given(convex_vertices())
def test_round_trip_through_the_profile_is_bit_exact(vertices):
    f = PiecewiseLinear(*vertices)
    assert same_bits(f, f.profile().tradeoff())
    assert same_bits(f, f.profile().reverse().tradeoff().inverse())


@EXACT
@given(convex_vertices())
def test_inverse_is_an_exact_involution(vertices):
    f = PiecewiseLinear(*vertices)
    assert same_bits(f, f.inverse().inverse())


@EXACT
@given(convex_vertices(), st.floats(0, 1))
def test_inverse_is_the_least_alpha(vertices, y):
    f = PiecewiseLinear(*vertices)
    t = f.inverse()(y)
    assert f(t) <= y + 4e-16
    below = np.nextafter(t * (1 - 1e-12), 0)
    if t > 1e-300:
        assert exact_value(f.alpha, f.beta, below) > Fraction(y) * (1 - Fraction(1, 10**14))


@EXACT
@given(convex_vertices())
def test_delta_at_zero_is_the_rational_total_variation(vertices):
    f = PiecewiseLinear(*vertices)
    exact = max(1 - Fraction(b) - Fraction(a) for a, b in zip(*vertices, strict=True))
    assert Fraction(f.profile()(0.0)) == exact


@EXACT
@given(convex_vertices(), st.floats(-30, 30))
def test_delta_is_the_best_line_through_a_vertex(vertices, epsilon):
    f = PiecewiseLinear(*vertices)
    slope = Fraction(float(np.exp(epsilon / 2))) ** 2
    exact = max(1 - Fraction(b) - slope * Fraction(a) for a, b in zip(f.alpha, f.beta, strict=True))
    power = max(1 - Fraction(b) for b in f.beta)
    assert abs(Fraction(f.profile()(epsilon)) - max(exact, 0)) <= Fraction(1, 10**15) * power


@EXACT
@given(convex_vertices(), st.floats(1e-9, 1))
def test_epsilon_of_delta_is_the_last_line_to_come_down(vertices, delta):
    f = PiecewiseLinear(*vertices)
    epsilon = f.profile().epsilon(delta)
    lines = [
        np.log(float((1 - Fraction(b) - Fraction(delta)) / Fraction(a))) if a > 0 else np.inf
        for a, b in zip(f.alpha, f.beta, strict=True)
        if 1 - Fraction(b) > Fraction(delta)
    ]
    truth = max([0.0, *lines])
    assert epsilon == truth or abs(epsilon - truth) <= 1e-15 * max(1.0, 1 / delta) + 1e-14 * truth


@EXACT
@given(convex_vertices())
def test_gamma_and_fixed_point_are_rational(vertices):
    f = PiecewiseLinear(*vertices).symmetrise()
    points = list(zip(map(Fraction, f.alpha), map(Fraction, f.beta), strict=True))
    area = sum(
        ((a1 - a0) * (b0 + b1) / 2 for (a0, b0), (a1, b1) in pairwise(points)),
        Fraction(0),
    )
    assert close(f.gamma, area, ulps=64)
    variation = max(1 - b - a for a, b in points)
    assert close(f.fixed_point, (1 - variation) / 2, ulps=8)


@EXACT
@given(convex_vertices())
def test_symmetrise_is_the_largest_convex_function_below_both(vertices):
    f = PiecewiseLinear(*vertices)
    s = f.symmetrise()
    assert s.is_symmetric
    assert same_bits(s, s.inverse())
    assert same_bits(s, s.symmetrise())
    points = np.unique(np.concatenate([f.alpha, f.inverse().alpha]))
    assert np.all(s(points) <= np.minimum(f(points), f.inverse()(points)) * (1 + 1e-14) + 1e-300)
    touching = np.minimum(f(s.alpha), f.inverse()(s.alpha))
    np.testing.assert_allclose(s.beta, touching, rtol=1e-14, atol=0)


@EXACT
@given(convex_vertices())
def test_profile_of_the_symmetrised_is_the_larger_of_both(vertices):
    f = PiecewiseLinear(*vertices)
    epsilon = np.linspace(-8, 8, 33)
    both = f.profile().maximum(f.profile().reverse())
    np.testing.assert_allclose(f.symmetrise().profile()(epsilon), both(epsilon), rtol=1e-14, atol=1e-15)


@EXACT
@given(convex_vertices(), st.integers(0, 16))
def test_subsample_mixes_the_vertices(vertices, sixteenths):
    f, rate = PiecewiseLinear(*vertices), sixteenths / 16
    g = f.subsample(rate)
    np.testing.assert_array_equal(g(f.alpha), rate * f.beta + (1 - rate) * (1 - f.alpha))
    if rate == 1:
        assert same_bits(f, g)


@EXACT
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-0.5, 1.5)), max_size=30))
def test_hull_is_convex_below_the_points_and_touches_them(points):
    alpha, beta = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    f = PiecewiseLinear.hull(alpha, beta)
    clipped = np.clip(beta, 0, 1 - alpha)
    assert np.all(f(alpha) <= clipped * (1 + 1e-14) + 1e-300)
    allowed = {(0.0, 1.0), (1.0, 0.0), *zip(alpha, clipped, strict=True)}
    assert {(a, b) for a, b in zip(f.alpha, f.beta, strict=True)} <= allowed
    again = PiecewiseLinear.hull(f.alpha, f.beta)
    np.testing.assert_allclose(again(alpha), f(alpha), rtol=1e-14, atol=1e-300)


def test_of_two_points_at_one_alpha_the_lower_counts():
    for order in ([0.0, 1e-148], [1e-148, 0.0]):
        np.testing.assert_array_equal(PiecewiseLinear.hull([0.0, 0.0], order).beta, [0.0, 0.0])


def test_hull_keeps_the_tail_with_relative_precision():
    f = GaussianTradeOff(1.0)
    alpha = 10.0 ** -np.linspace(300, 1, 600)
    g = PiecewiseLinear.hull(alpha, f(alpha), power=f.power(alpha))
    assert g.alpha.size == alpha.size + 2
    np.testing.assert_allclose(g.power(alpha), f.power(alpha), rtol=1e-13, atol=0)
    np.testing.assert_allclose(g.inverse().inverse().power(alpha), f.power(alpha), rtol=1e-13, atol=0)
    assert np.all(g.profile()(np.linspace(1, 36, 50)) > 0)


def test_chords_of_a_convex_curve_lie_above_it():
    f = GaussianTradeOff(1.0).subsample(0.25)
    g = f.piecewise_linear(points=101)
    alpha = np.linspace(0, 1, 5001)
    assert np.all(g(alpha) >= f(alpha) * (1 - 1e-14))
    assert np.max(g(alpha) - f(alpha)) > 1e-6
    np.testing.assert_allclose(g(g.alpha), f(g.alpha), rtol=1e-15, atol=0)
    np.testing.assert_array_less(np.max(f.piecewise_linear(points=1001)(alpha) - f(alpha)), 1e-5)


@pytest.mark.parametrize("symmetric", [True, False])
def test_points_of_a_profile_give_the_sup_of_their_lines(symmetric):
    epsilons, deltas = np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.3, 0.15, 0.05, 0.001])
    f = from_points(epsilons, deltas, symmetric=symmetric)
    alpha = np.linspace(0, 1, 1001)
    steep = 1 - deltas[:, None] - np.exp(epsilons[:, None]) * alpha
    flat = np.exp(-epsilons[:, None]) * (1 - deltas[:, None] - alpha) if symmetric else steep
    expected = np.maximum(np.maximum(steep, flat).max(axis=0), 0)
    np.testing.assert_allclose(f(alpha), expected, rtol=1e-13, atol=1e-15)
    assert f.is_symmetric == symmetric


def test_points_of_a_true_profile_give_a_lower_curve():
    f = GaussianTradeOff(1.0).subsample(0.1)
    epsilons = np.linspace(-0.1, 20, 400)
    lower = from_points(epsilons, f.profile()(epsilons), symmetric=False)
    alpha = np.concatenate([10.0 ** -np.linspace(1, 60, 100), np.linspace(0, 1, 301)])
    assert np.all(lower(alpha) <= f(alpha) * (1 + 1e-14) + 1e-15)
    assert np.all(lower.power(alpha) >= f.power(alpha) * (1 - 1e-13))
    assert 0 < np.max(f(alpha) - lower(alpha)) < 5e-3


def test_vertices_that_say_nothing_are_dropped():
    f = PiecewiseLinear([0.0, 0.0, 0.5, 0.75, 1.0], [1.0, 0.5, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(f.alpha, [0.0, 0.5, 1.0])
    assert (f(0.0), f.zero_from, f.profile().alternative_only, f.profile().null_only) == (0.5, 0.5, 0.5, 0.5)
