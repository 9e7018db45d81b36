"""Rényi divergences and zCDP against closed forms and 40-digit sums."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import edgeworth as ew
from edgeworth.errors import Unsupported

few = settings(max_examples=12, deadline=None)
orders = st.floats(1.001, 60)


def contains(bracket, truth):
    return bracket.lower <= truth <= bracket.upper


@few
@given(st.floats(0.05, 50), st.integers(1, 10**6), orders)
def test_gaussian_noise(sigma, n, order):
    risk = ew.account(ew.Gaussian(sigma) ** n).risk
    rho = n / (2 * mp.mpf(sigma) ** 2)
    assert contains(risk.rdp(order), rho * mp.mpf(order))
    assert contains(risk.rdp(1.0), rho)
    for largest in (4.0, math.inf):
        assert contains(risk.zcdp(largest), rho)


@few
@given(st.floats(0.01, 8), orders)
def test_randomized_response(epsilon, order):
    """E_P[e^(aL)] = truth^a lie^(1-a) + lie^a truth^(1-a)."""
    with mp.workdps(40):
        truth = 1 / (1 + mp.e ** -mp.mpf(epsilon))
        lie, a = 1 - truth, mp.mpf(order)
        expected = mp.log(truth**a * lie ** (1 - a) + lie**a * truth ** (1 - a)) / (a - 1)
    risk = ew.account(ew.RandomizedResponse(epsilon) ** 3).risk
    assert contains(risk.rdp(order), 3 * expected)
    assert risk.rdp(math.inf).value == pytest.approx(3 * epsilon, rel=1e-12)


@few
@given(st.floats(0.01, 8), orders)
def test_laplace_noise(theta, order):
    with mp.workdps(40):
        t, a = mp.mpf(theta), mp.mpf(order)
        inner = a / (2 * a - 1) * mp.e ** ((a - 1) * t) + (a - 1) / (2 * a - 1) * mp.e ** (-a * t)
        expected = mp.log(inner) / (a - 1)
    assert contains(ew.account(ew.Laplace(1.0, theta)).risk.rdp(order), expected)


@few
@given(st.floats(0.4, 20), st.floats(1e-4, 0.9), st.integers(2, 24))
def test_sampled_gaussian_at_whole_orders(sigma, rate, order):
    """E_P[((1-p) + p e^L)^a] = sum C(a, k) (1-p)^(a-k) p^k e^(k(k-1)/(2 sigma^2)), forward; which rules."""
    with mp.workdps(60):
        p, s = mp.mpf(rate), mp.mpf(sigma)
        moment = mp.fsum(
            mp.binomial(order, k) * (1 - p) ** (order - k) * p**k * mp.exp(k * (k - 1) / (2 * s * s))
            for k in range(order + 1)
        )
        expected = mp.log(moment) / (order - 1)
    found = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** 10, method="clt").risk.rdp(order)
    assert found.upper >= 10 * expected
    assert found.value == pytest.approx(float(10 * expected), rel=1e-9)


@pytest.mark.parametrize(("sigma", "rate", "order"), [(1.0, 0.2, 3.5), (0.7, 0.01, 1.2), (2.0, 0.5, 12.0)])
def test_sampled_gaussian_both_directions(sigma, rate, order):
    with mp.workdps(30):
        s, p, a = mp.mpf(sigma), mp.mpf(rate), mp.mpf(order)

        def ratio(x):
            return 1 - p + p * mp.exp(x / s - 1 / (2 * s * s))

        sides = [mp.quad(lambda x, c=c: mp.npdf(x) * ratio(x) ** c, mp.linspace(-14, 30, 23)) for c in (a, 1 - a)]
        expected = max(mp.log(side) for side in sides) / (a - 1)
    assert contains(ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate)).risk.rdp(order), expected)


@pytest.mark.parametrize(
    "mechanism",
    [ew.PoissonSampled(ew.Gaussian(0.8), 0.005) ** 5000, ew.Laplace(2.0) ** 4, ew.RandomizedResponse(0.5)],
    ids=str,
)
def test_the_curve_grows_from_the_mean_to_the_largest_loss(mechanism):
    risk = ew.account(mechanism).risk
    grid = np.concatenate([[1.0, 1 + 1e-9, 1 + 1e-5], 1 + np.geomspace(1e-4, 200, 60), [1e5, math.inf]])
    found = risk.rdp(grid)
    assert np.all(np.diff(found.value) >= -1e-9 * found.value[1:])
    assert np.all(found.lower[:-1] <= found.upper[1:])
    assert risk.rdp(1.0).value == pytest.approx(risk.rdp(1 + 1e-4).value, rel=1e-3)
    for largest in (8.0, 64.0):
        inside = grid[(grid > 1) & (grid <= largest)]
        rho = risk.zcdp(largest)
        assert np.max(np.asarray(risk.rdp(inside).lower) / inside) <= rho.upper
        assert rho.width <= 2e-3 * rho.value


def test_sampling_does_not_help_at_large_orders():
    """As for mu, zCDP over all orders is that of no sampling: n/(2 sigma^2)."""
    rho = ew.account(ew.PoissonSampled(ew.Gaussian(2.0), 0.01) ** 100).risk.zcdp()
    assert contains(rho, 12.5)
    assert rho.width <= 1e-9 * rho.value


def test_what_is_disclosed_has_no_finite_divergence():
    risk = ew.account(ew.ApproxDP(1.0, 1e-9)).risk
    assert risk.rdp(2.0).lower == math.inf == risk.zcdp().lower


def test_nothing_that_ran_diverges_by_nothing():
    risk = ew.account(ew.Composed(())).risk
    assert risk.rdp([1.0, 2.0, math.inf]).upper.tolist() == [0.0, 0.0, 0.0]
    assert risk.zcdp().upper == 0.0


def test_densities_that_are_black_boxes_give_estimates():
    pair = ew.DensityPair(stats.norm(0, 1), stats.norm(0.5, 1))
    found = ew.account(pair, method="clt").risk.rdp(2.0)
    assert not found.certified
    assert (found.lower, found.upper) == (0.0, math.inf)
    assert found.value == pytest.approx(0.25, rel=1e-6)


def test_groups_are_refused():
    with pytest.raises(Unsupported, match=r"^a Rényi divergence for groups of 3 records is not computed; read epsilon"):
        ew.account(ew.Gaussian(1.0)).group(3).risk.rdp(2.0)
