"""Less noise, a higher rate or more steps never cost less, also where one engine hands over to the next."""

import numpy as np
import pytest

import edgeworth as ew


def sampled(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate)


def sampled_laplace(rate):
    return ew.PoissonSampled(ew.Laplace(2.0), rate)


#: runs from the most to the least private
ACROSS = {
    "steps at a large rate": [sampled(1.0, 0.1) ** n for n in (1, 2, 3, 4, 50, 51)],
    "steps at a small rate": [sampled(0.7, 0.02) ** n for n in (1, 3, 4, 49, 50, 51, 10**8)],
    "steps of Laplace noise": [ew.Laplace(2.0) ** n for n in (1, 2, 3, 1_999, 2_000, 10_000)],
    "steps of sampled Laplace noise": [sampled_laplace(0.05) ** n for n in (1, 2, 30, 100)],
    "steps of discrete noise": [ew.DiscreteGaussian(2.0) ** n for n in (1, 2, 40, 41, 10**6)],
    "steps of noise beside a response": [
        ew.Gaussian(90.0) ** n * ew.RandomizedResponse(0.5) for n in (0, 400, 410, 10**6)
    ],
    "sigma of a few samples": [sampled(sigma, 0.02) ** 6 for sigma in (90.0, 3.0, 1.0, 0.99, 0.6)],
    "scale of much Laplace noise": [ew.Laplace(scale) ** 1_000 for scale in (300.0, 3.0, 2.0, 1.0, 0.5)],
    "rate of a few samples": [sampled(0.4, rate) ** 3 for rate in (0.1, 0.3, 0.32, 0.9, 1.0)],
    "rate of many samples": [sampled(1.0, rate) ** 60 for rate in (1e-3, 0.004, 0.0041, 0.029, 0.031, 0.3, 1.0)],
    "rate of sampled Laplace noise": [sampled_laplace(rate) ** 30 for rate in (0.1, 0.11, 0.9, 1.0)],
}


@pytest.fixture(params=ACROSS, scope="module")
def accounts(request):
    return [ew.account(run) for run in ACROSS[request.param]]


@pytest.mark.parametrize(("reading", "at", "sign"), [("epsilon", 1e-9, 1), ("delta", 0.3, 1), ("tradeoff", 0.1, -1)])
def test_values_and_ends_are_in_order(accounts, reading, at, sign):
    """Every value is on its side of the one before, and no end contradicts the end of a run that leaks less."""
    found = [getattr(account, reading)(at) for account in accounts]
    ends = [sign * np.array([getattr(one, name) for one in found]) for name in ("lower", "value", "upper")]
    lower, value, upper = ends[::sign]
    assert np.all(np.diff(value) >= 0)
    assert np.all(upper[1:] >= np.maximum.accumulate(lower)[:-1])


def test_the_runs_pass_through_all_engines_that_auto_takes():
    methods = {ew.account(run).certificate.method for runs in ACROSS.values() for run in runs}
    assert methods == {"closed-form", "fourier", "residues", "contour", "lattice"}
