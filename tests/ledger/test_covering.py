"""The mu that covers a step: proved from above, exact where it is a formula, never too small."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats

import edgeworth as ew
from edgeworth.errors import Unsupported
from edgeworth.ledger.covering import mu_of_epsilon, mu_squared
from edgeworth.ledger.exact import decimal, root_up, tidied

epsilons = st.floats(min_value=1e-300, max_value=1e6) | st.floats(min_value=1e-3, max_value=50)


def exact_mu(epsilon):
    """-2 Phi^-1(1/(1 + e^epsilon)) = 2 sqrt 2 erfinv(tanh(epsilon/2)), as a root of the tail."""
    if epsilon < 1e-3:
        t = mp.tanh(mpf(epsilon) / 2)
        return 2 * mp.sqrt(2) * mp.erfinv(t)
    log_c = -mp.log1p(mp.exp(mpf(epsilon)))
    start = float(mp.sqrt(-2 * log_c)) if epsilon > 2 else float(epsilon) / 1.6
    return 2 * mp.findroot(
        lambda y: mp.log(mp.erfc(y / mp.sqrt(2)) / 2) - log_c, (start, start * 1.01), tol=mpf(10) ** -50
    )


@pytest.mark.parametrize(
    "epsilon", [5e-324, 1e-300, 1e-20, 1e-8, 1e-4, 0.01, 0.3, 0.999999, 1.0, 1.5, 4.0, 30.0, 300.0, 705.0]
)
def test_pure_privacy_is_covered_from_above_and_tightly(epsilon):
    with mp.workdps(60 + int(epsilon / 2)):
        truth = exact_mu(epsilon)
        found = mpf(mu_of_epsilon(epsilon))
        assert truth <= found <= truth * (1 + mpf(10) ** -12) + mpf(2) ** -1073


@given(epsilons)
def test_the_covering_curve_is_below_that_of_pure_privacy_and_touches_it(epsilon):
    """f >= G_mu at every alpha, and a mu smaller by a millionth fails at the fixed point."""
    f, mu = ew.ApproxDPTradeOff(epsilon), mu_of_epsilon(epsilon)
    alpha = np.concatenate([np.geomspace(1e-300, 0.5, 300), 1 - np.geomspace(1e-15, 0.5, 100)])
    assert np.all(f(alpha) >= ew.GaussianTradeOff(mu)(alpha) * (1 - 1e-10))
    if 1e-3 < epsilon < 600:
        assert ew.GaussianTradeOff(mu * (1 - 1e-6))(f.fixed_point) > f.fixed_point


@given(epsilons)
def test_more_epsilon_needs_more_mu(epsilon):
    assert mu_of_epsilon(epsilon) < mu_of_epsilon(epsilon * (1 + 1e-9)) or epsilon < 1e-310


STEPS = [
    ew.Laplace(3.0),
    ew.Laplace(0.2, 0.5),
    ew.RandomizedResponse(2.0),
    ew.DiscreteLaplace(scale=4.0, sensitivity=3),
    ew.ApproxDP(0.7, 0.0),
    ew.Gaussian(1.3),
    ew.GaussianDP(0.4),
    ew.PoissonSampled(ew.Laplace(1.0), rate=0.1),
    ew.PoissonSampled(ew.Gaussian(1.3), rate=0.2),
    ew.PoissonSampled(ew.Gaussian(1.3), rate=0.2, adjacency="replace"),
    ew.SampledWithoutReplacement(ew.Gaussian(1.3), size=2, population=9),
    ew.SampledWithoutReplacement(ew.RandomizedResponse(1.0), size=2, population=9),
]


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_every_step_is_above_the_gaussian_curve_of_its_charge(step):
    """Certified upper end of f above G_mu, in both directions."""
    mu = root_up(mu_squared(step))
    alpha = np.array([1e-12, 1e-8, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99])
    assert np.all(ew.account(step).tradeoff(alpha).upper >= ew.GaussianTradeOff(mu)(alpha) * (1 - 1e-10))


def test_a_sample_of_pure_privacy_is_charged_less_than_the_whole():
    whole, sampled = ew.RandomizedResponse(2.0), ew.PoissonSampled(ew.RandomizedResponse(2.0), rate=0.1)
    amplified = math.log1p(0.1 * math.expm1(2.0))
    assert mu_squared(sampled) < mu_squared(whole)
    assert math.sqrt(mu_squared(sampled)) == pytest.approx(mu_of_epsilon(amplified), rel=1e-11)


def test_a_sample_of_many_pure_steps_is_charged_the_smaller_of_both_bounds():
    many = ew.Laplace(10.0) ** 30
    assert mu_squared(ew.PoissonSampled(many, rate=0.9)) == mu_squared(many)
    assert mu_squared(ew.PoissonSampled(many, rate=0.001)) < mu_squared(many)


@pytest.mark.parametrize("epsilon", [699.0, 701.0, 1e4])
@pytest.mark.parametrize("rate", [1e-320, 1e-304, 1e-3, 0.5])
def test_a_sample_of_a_very_leaky_step_is_charged_enough(epsilon, rate):
    found = mu_squared(ew.PoissonSampled(ew.ApproxDP(epsilon, 0.0), rate=rate))
    with mp.workdps(700):
        amplified = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
        assert mpf(found.numerator) / found.denominator >= mpf(mu_of_epsilon(float(amplified) * (1 - 1e-15))) ** 2 * (
            1 - mpf(10) ** -12
        )


@pytest.mark.parametrize(
    "step",
    [
        ew.ApproxDP(1.0, 1e-9),
        ew.DiscreteGaussian(2.0),
        ew.DensityPair(stats.norm(), stats.norm(1)),
        ew.PoissonSampled(ew.ApproxDP(1.0, 1e-9), rate=0.5),
        ew.Laplace(1e-300, 1e300),
    ],
    ids=repr,
)
def test_a_step_without_a_known_mu_is_refused(step):
    with pytest.raises(Unsupported, match=r"^no mu is known for which .* is mu-GDP; give GaussianDP\(mu\) with one"):
        mu_squared(step)


def test_ten_tenths_are_one():
    assert mu_squared(ew.GaussianDP(0.6) * ew.GaussianDP(0.8)) == 1
    assert mu_squared(ew.Gaussian(10.0) ** 100) == 1
    assert decimal(0.1) + decimal(0.9) == 1


def test_the_smallest_charge_is_not_lost():
    assert mu_squared(ew.GaussianDP(5e-324)) > 0
    assert mu_squared(ew.Laplace(1e300, 1e-300)) > 0
    assert tidied(Fraction(1) + mu_squared(ew.GaussianDP(5e-324))) > 1


fractions = st.fractions(min_value=0, max_value=10**6)


@given(st.lists(st.floats(1e-3, 1e3), min_size=50, max_size=80))
def test_long_sums_are_rounded_up_by_nothing_that_matters(multipliers):
    exact, kept = Fraction(0), Fraction(0)
    for sigma in multipliers:
        exact += 1 / decimal(sigma) ** 2
        kept = tidied(kept + 1 / decimal(sigma) ** 2)
    assert exact <= kept <= exact + Fraction(80, 2**4096)
    assert kept.denominator.bit_length() <= 4097


@given(fractions)
def test_the_root_is_rounded_up(square):
    root = root_up(square)
    assert decimal(root) ** 2 >= square
    assert not root or decimal(math.nextafter(math.nextafter(root, 0.0), 0.0)) ** 2 < square


def test_the_root_of_the_smallest_and_largest_squares():
    assert root_up(decimal(5e-324) ** 2) == 5e-324
    assert root_up(decimal(1e308) ** 2) == 1e308
