"""The covering mu and its fit: closed forms, brute force over alpha, ranges, containment."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import edgeworth as ew
from edgeworth.risk.supporting import Polygon, separation

SGD = ew.PoissonSampled(ew.Gaussian(0.8), 256 / 50_000) ** 5000
few = settings(max_examples=12, deadline=None)


@few
@given(st.floats(1e-3, 1e3), st.integers(1, 50))
def test_gaussian_noise_has_its_own_mu_over_all_tests(sigma, n):
    fit = ew.account(ew.Gaussian(sigma) ** n).risk.mu
    truth = mp.sqrt(n) / mp.mpf(sigma)
    assert fit.mu.lower <= truth <= fit.mu.upper
    assert fit.mu.width <= 3e-12 * fit.mu.value
    assert fit.distance.upper <= 1e-11
    assert fit.shortfall.upper == 0.0


@few
@given(st.floats(0.01, 10))
def test_randomized_response_is_covered_at_its_corner(epsilon):
    """The corner is at alpha = beta = 1/(1 + e^eps)."""
    fit = ew.account(ew.RandomizedResponse(epsilon)).risk.mu
    with mp.workdps(40):
        corner = 1 / (1 + mp.e ** mp.mpf(epsilon))
        truth = 2 * mp.sqrt(2) * mp.erfinv(1 - 2 * corner)
    assert fit.mu.lower <= truth <= fit.mu.upper
    assert fit.mu.width <= 1e-8 * fit.mu.value


@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
def test_a_leak_is_covered_where_the_range_begins(delta):
    """f(start) = 1 - delta - e^eps start: a mu that says how likely the leak is, not the epsilon."""
    fit = ew.account(ew.ApproxDP(0.1, delta)).risk.mu
    start = 1e-10
    truth = ndtri(delta + math.exp(0.1) * start) - ndtri(start)
    assert fit.mu.lower <= truth * (1 + 1e-12)
    assert truth <= fit.mu.upper * (1 + 1e-12)
    assert fit.mu.width <= 1e-4 * fit.mu.value  # the formula rounds f, near 1, by 1e-12
    assert fit.shortfall.upper == pytest.approx(delta, rel=1e-1)


@pytest.mark.parametrize(
    "mechanism",
    [
        SGD,
        ew.PoissonSampled(ew.Gaussian(2.0), 0.1) ** 500,
        ew.PoissonSampled(ew.Gaussian(50.0), 0.001) ** 1000,
        ew.PoissonSampled(ew.Gaussian(1.0), 0.05),
        ew.Laplace(2.0),
        ew.PoissonSampled(ew.Laplace(0.7), 0.4),
    ],
    ids=str,
)
def test_f_lies_above_the_covering_curve_and_touches_it(mechanism):
    account = ew.account(mechanism)
    fit = account.risk.mu
    assert fit.mu.width <= 2e-4 * fit.mu.value
    alpha = np.union1d(np.geomspace(fit.smallest_error, 0.4, 60), np.linspace(0.01, 0.45, 221))
    f = account.tradeoff(alpha)
    covering = ew.GaussianTradeOff(fit.mu.upper)(alpha)
    both_errors = np.asarray(f.upper) >= fit.smallest_error
    assert np.all((f.upper >= covering * (1 - 1e-12))[both_errors])
    seen = separation(alpha, 1 - np.asarray(f.value), np.asarray(f.value), rounded=0.0)
    assert np.max(seen) == pytest.approx(fit.mu.value, rel=2e-3)


def test_the_range_belongs_to_the_figure():
    """Over all tests the covering mu of this run is sqrt(5000)/0.8 = 88; over tests that can be run it is about 0.8."""
    risk = ew.account(SGD).risk
    mus = [risk.gaussian(smallest_error=error).mu.value for error in (1e-3, 1e-6, 1e-10, 1e-14)]
    assert mus == sorted(mus)
    assert 0.6 < mus[0] < mus[2] < 0.9
    assert str(risk.gaussian()).endswith("(tests with both errors >= 1e-10)")


@pytest.mark.parametrize("mechanism", [SGD, ew.Laplace(2.0), ew.RandomizedResponse(1.0)], ids=str)
def test_the_distance_is_the_same_in_f_and_in_delta(mechanism):
    account = ew.account(mechanism)
    fit = account.risk.mu
    g = ew.GaussianTradeOff(fit.mu.upper)
    alpha, epsilon = np.linspace(0, 1, 801), np.linspace(0, 6, 1201)
    in_f = np.max(np.abs(np.asarray(account.tradeoff(alpha).value) - g(alpha)))
    in_delta = np.max(np.abs(np.asarray(account.delta(epsilon).value) - g.profile()(epsilon)))
    found = fit.distance
    assert in_f == pytest.approx(in_delta, rel=1e-2)
    assert max(in_f, in_delta) <= found.upper
    assert found.lower <= in_delta * (1 + 1e-3)
    assert found.width <= 0.05 * found.value


@pytest.mark.parametrize("mechanism", [SGD, ew.ApproxDP(0.5, 1e-4)], ids=str)
def test_the_shortfall_makes_it_a_statement_about_all_tests(mechanism):
    account = ew.account(mechanism)
    fit = account.risk.mu
    epsilon = np.linspace(0, 40, 400)
    beyond = np.asarray(account.delta(epsilon).lower) - ew.GaussianTradeOff(fit.mu.upper).profile()(epsilon)
    assert 0 < np.max(beyond) <= fit.shortfall.upper


def test_no_privacy_and_perfect_privacy():
    nothing = ew.account(ew.Composed(())).risk.mu
    assert (nothing.mu.lower, nothing.mu.upper, nothing.shortfall.upper) == (0.0, 0.0, 0.0)
    everything = ew.account(ew.ApproxDP(0.0, 1.0)).risk.mu
    assert everything.mu.upper == math.inf
    assert everything.mu.lower > 12
    assert everything.distance.upper == 1.0


@few
@given(st.floats(0.1, 4), st.lists(st.floats(0, 6), min_size=2, max_size=12, unique=True))
def test_a_polygon_of_supporting_lines_lies_below_f(theta, slopes):
    f = ew.LaplaceTradeOff(theta)
    epsilon = np.unique([0.0, *slopes])
    polygon = Polygon.of(epsilon, f.profile()(epsilon), 1e-9)
    assert np.all(polygon.beta <= f(polygon.alpha) * (1 + 1e-12) + 1e-15)
    assert np.all(np.diff(polygon.alpha) >= 0)


@few
@given(st.floats(-300, -0.4), st.floats(1e-6, 30))
def test_separations_are_rounded_outward(log_alpha, mu):
    with mp.workdps(60):
        alpha = 10.0**log_alpha
        z = mp.findroot(lambda x: mp.log(mp.ncdf(-x)) - mp.log(mp.mpf(alpha)), -float(ndtri(alpha)))
        power, beta = mp.ncdf(mp.mpf(mu) - z), mp.ncdf(z - mp.mpf(mu))
    point = np.array([alpha]), np.array([float(power)]), np.array([float(beta)])
    low, high = (float(separation(*point, rounded=way)[0]) for way in (-1.0, 1.0))
    assert low <= mu <= high
    assert high - low <= 1e-13 * (1 + mu + abs(float(z)))
