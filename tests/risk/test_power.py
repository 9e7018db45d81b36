"""True positive rates: relative to themselves where there is a formula, never below the false positive rate."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew

few = settings(max_examples=20, deadline=None)


@few
@given(st.floats(0.05, 5), st.floats(-12, -0.5))
def test_small_rates_of_gaussian_noise(mu, log_alpha):
    alpha = 10**log_alpha
    with mp.workdps(50):
        truth = mp.ncdf(mp.mpf(mu) - mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha)))
    found = ew.account(ew.GaussianDP(mu)).power(alpha)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 4e-12 * float(truth)


@few
@given(st.floats(0.05, 5), st.floats(-12, -1))
def test_small_rates_of_laplace_noise(theta, log_alpha):
    """e^theta alpha, while that is at most 1/2."""
    alpha = min(10**log_alpha, 0.49 * float(np.exp(-theta)))
    with mp.workdps(50):
        truth = mp.exp(mp.mpf(theta)) * mp.mpf(alpha)
    found = ew.account(ew.Laplace(1.0, theta)).power(alpha)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 4e-12 * float(truth)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.PoissonSampled(ew.Gaussian(0.8), 0.005) ** 2000,
        ew.PoissonSampled(ew.Gaussian(1.0), 0.1),
        ew.Laplace(3.0) ** 4,
        ew.RandomizedResponse(0.7) ** 5,
        ew.ApproxDP(1.0, 1e-3),
        ew.Gaussian(1.0) ** 0,
    ],
    ids=str,
)
def test_power_is_one_minus_the_miss_rate(mechanism):
    account = ew.account(mechanism)
    alpha = np.array([0.0, 1e-9, 1e-4, 0.03, 0.5, 0.97, 1.0])
    power, miss = account.power(alpha), account.tradeoff(alpha)
    assert np.all(power.lower >= alpha)
    assert np.all(power.lower <= 1 - miss.lower + 3e-16)
    assert np.all(1 - miss.upper - 3e-16 <= power.upper)
    assert np.all(power.upper <= np.nextafter(1 - miss.lower, 2.0))
    assert np.all(power.value == account.risk.tpr(alpha).value)


def test_where_nothing_ran_both_rates_are_the_same_number():
    alpha = np.array([0.1, 0.3, 0.7])
    found = ew.account(ew.Gaussian(1.0) ** 0).power(alpha)
    assert np.array_equal(found.lower, alpha)
    assert np.array_equal(found.upper, alpha)


def test_an_estimate_stays_one():
    found = ew.account(ew.Gaussian(2.0) ** 3, method="edgeworth").power(0.01)
    assert not found.certified
    assert (found.lower, found.upper) == (0.01, 1.0)
