"""(mu*, gamma) and the two orders."""

import numpy as np
import pytest
from scipy.special import ndtri

from edgeworth.curves import (
    ApproxDPTradeOff,
    GaussianTradeOff,
    Identity,
    LaplaceTradeOff,
    PiecewiseLinear,
    Subsampled,
    compare,
    gamma,
    mu_star,
    pointwise_order,
)


def test_mu_star_is_read_at_the_fixed_point():
    for f in (LaplaceTradeOff(1.5), ApproxDPTradeOff(1.0, 0.01), Subsampled(GaussianTradeOff(1.0), 0.3)):
        a = f.fixed_point
        assert f.symmetrise()(a) == pytest.approx(a, rel=1e-13)
        assert mu_star(f) == pytest.approx(-2 * ndtri(a), rel=1e-12)


def test_mu_star_keeps_relative_precision_when_small():
    f = Subsampled(GaussianTradeOff(1e-3), 1e-6)
    variation = 1e-6 * GaussianTradeOff(1e-3).profile()(0.0)
    assert mu_star(f) == pytest.approx(variation * np.sqrt(2 * np.pi), rel=1e-12)


def test_known_areas():
    assert gamma(Identity()) == 0.5
    assert gamma(PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])) == 0.25
    assert gamma(ApproxDPTradeOff(0.0, 0.5)) == 0.125
    triangle = PiecewiseLinear([0, 0.5, 1], [1, 0, 0])  # symmetrised: the hull with (0, 0.5): x + y = 1/2
    assert gamma(triangle) == 0.125


def test_gamma_of_a_sampled_curve_against_its_chords():
    f = Subsampled(GaussianTradeOff(2.0), 0.2)
    chords = f.piecewise_linear(points=20_001)
    assert gamma(f) == pytest.approx(gamma(chords), rel=1e-7)
    assert gamma(f) <= gamma(chords)


@pytest.mark.parametrize(
    ("f", "g", "expected"),
    [
        (GaussianTradeOff(0.5), GaussianTradeOff(1.0), "more private"),
        (GaussianTradeOff(1.0), GaussianTradeOff(0.5), "less private"),
        (GaussianTradeOff(1.0), GaussianTradeOff(1.0), "equal"),
        (GaussianTradeOff(1.0), LaplaceTradeOff(1.0), "not comparable"),
        (Identity(), LaplaceTradeOff(1e-9), "more private"),
        (ApproxDPTradeOff(1.0), LaplaceTradeOff(1.0), "less private"),
        (GaussianTradeOff(1.0), ApproxDPTradeOff(1.0, GaussianTradeOff(1.0).profile()(1.0)), "more private"),
    ],
)
def test_pointwise_order(f, g, expected):
    assert pointwise_order(f, g) == expected
    swapped = {"more private": "less private", "less private": "more private"}
    assert pointwise_order(g, f) == swapped.get(expected, expected)
    assert compare(f, g).pointwise == expected


def test_a_difference_far_in_the_tail_is_seen():
    base = GaussianTradeOff(1.0)
    worse = PiecewiseLinear([0.0, 1.0], [1 - 1e-40, 0.0], power=[1e-40, 1.0])
    assert pointwise_order(Identity(), worse) == "more private"
    assert pointwise_order(base, worse) == "not comparable"


def test_pointwise_decides_the_parameters():
    rng = np.random.default_rng(5)
    for _ in range(20):
        f = Subsampled(GaussianTradeOff(rng.uniform(0.1, 3)), rng.uniform(0.01, 0.9))
        g = Subsampled(f, rng.uniform(0.1, 0.9))
        result = compare(g, f)
        assert (result.pointwise, result.by_parameters) == ("more private", "more private")


def test_parameters_may_order_what_is_not_ordered_pointwise():
    result = compare(GaussianTradeOff(1.0), ApproxDPTradeOff(1.0, 0.1))
    assert (result.by_parameters, result.pointwise) == ("more private", "not comparable")
    assert str(result) == (
        "pointwise: not comparable\nby parameters: more private (mu* 1 against 1.399, gamma 0.2398 against 0.2178)"
    )


def test_parameters_of_crossing_curves():
    result = compare(GaussianTradeOff(1.0), LaplaceTradeOff(1.0))
    assert result.by_parameters == "not comparable"
    assert result.mu_star[0] < result.mu_star[1]
    assert result.gamma[0] < result.gamma[1]
