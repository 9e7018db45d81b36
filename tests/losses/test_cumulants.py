"""Cumulants of one step against mpmath at 110 digits (truth_cumulants.py) and against closed forms."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import edgeworth as ew
from edgeworth.losses import TotalLoss, privacy_loss

TRUTH = json.loads(Path(__file__).with_name("truth_cumulants.json").read_text(encoding="utf-8"))
ORDER, TILTED_ORDER = TRUTH["order"], TRUTH["tilted_order"]

MECHANISMS = {
    "noisy-sgd": lambda sigma, rate: ew.PoissonSampled(ew.Gaussian(sigma), rate),
    "laplace": lambda theta: ew.Laplace(1.0, sensitivity=theta),
    "response": ew.RandomizedResponse,
    "sampled-laplace": lambda theta, rate: ew.PoissonSampled(ew.Laplace(1.0, sensitivity=theta), rate),
    "sampled-response": lambda epsilon, rate: ew.PoissonSampled(ew.RandomizedResponse(epsilon), rate),
    "sampled-approx-dp": lambda epsilon, leak, rate: ew.PoissonSampled(ew.ApproxDP(epsilon, leak), rate),
}


def loss_of(key):
    name, *arguments = key.split()
    return privacy_loss(MECHANISMS[name.removeprefix("tilted-")](*map(float, arguments)))


def rows_of(key):
    return np.array([float(text) for text in TRUTH["values"][key]])


UNTILTED = [key for key in TRUTH["values"] if not key.startswith("tilted-")]
TILTED = [key for key in TRUTH["values"] if key.startswith("tilted-")]


@pytest.mark.parametrize("key", UNTILTED)
def test_cumulants_to_twelve_digits_under_both_laws(key):
    truth = rows_of(key).reshape(2, ORDER)
    found = loss_of(key).cumulants(ORDER)
    np.testing.assert_allclose(np.array([found.null, found.alternative]), truth, rtol=1e-12, atol=0)


@pytest.mark.parametrize("key", TILTED)
def test_tilted_cumulants_in_units_of_the_tilted_deviation(key):
    """K to 1e-12 of itself, for n K stands in an exponent; kappa_r to 1e-11 of itself or of kappa_2^(r/2)."""
    truth = rows_of(key).reshape(len(TRUTH["tilts"]), TILTED_ORDER + 1)
    tilts = np.array(TRUTH["tilts"])
    found = loss_of(key).tilted(tilts, TILTED_ORDER, (tilts.min(), tilts.max()))
    np.testing.assert_allclose(found[:, 0], truth[:, 0], rtol=1e-12, atol=0)
    unit = np.maximum(np.sqrt(truth[:, 2:3]) ** np.arange(1, TILTED_ORDER + 1), np.abs(truth[:, 1:]))
    assert np.max(np.abs(found[:, 1:] - truth[:, 1:]) / unit) < 1e-11


@pytest.mark.parametrize("key", TILTED)
def test_one_tilt_gives_the_same_bits_in_every_company(key):
    loss, reach = loss_of(key), (-3.0, 12.0)
    together = loss.tilted(np.array([-0.5, 0.25, 4.0]), 4, reach)
    alone = [loss.tilted(np.array([c]), 4, reach)[0] for c in (-0.5, 0.25, 4.0)]
    assert np.array_equal(together, np.array(alone))


@pytest.mark.parametrize("key", [key for key in UNTILTED if "1e-06" not in key])
def test_the_cumulant_function_vanishes_at_zero_and_one(key):
    """K(0) = log P[all] = 0 and K(1) = log Q[all] = 0; the tilted means there are the plain ones."""
    loss = loss_of(key)
    rows = loss.tilted(np.array([0.0, 1.0]), 2, (0.0, 1.0))
    plain = loss.cumulants(2)
    assert np.max(np.abs(rows[:, 0])) <= 4e-16 * max(1.0, plain.alternative[0])
    np.testing.assert_allclose(rows[:, 1], [plain.null[0], plain.alternative[0]], rtol=1e-9, atol=0)
    np.testing.assert_allclose(rows[:, 2], [plain.null[1], plain.alternative[1]], rtol=1e-9, atol=0)


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.0, 5.0, 30.0, 100.0])
def test_at_rate_one_the_cumulants_are_those_of_gaussian_noise_bit_for_bit(sigma):
    sampled = privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), 1.0)).cumulants(ORDER)
    mu = 1 / sigma
    expected = np.zeros(ORDER)
    expected[:2] = [-mu * mu / 2, mu * mu]
    assert np.array_equal(sampled.null, expected)
    expected[0] = mu * mu / 2
    assert np.array_equal(sampled.alternative, expected)


@pytest.mark.parametrize(
    "mechanism", [ew.Gaussian(0.7), ew.Laplace(1.0, 0.4), ew.RandomizedResponse(2.0), ew.ApproxDP(0.5, 0.1)]
)
def test_swapping_a_symmetric_pair_flips_the_odd_cumulants(mechanism):
    found = privacy_loss(mechanism).cumulants(ORDER)
    assert np.array_equal(found.alternative, found.null * (-1.0) ** np.arange(1, ORDER + 1))


@pytest.mark.parametrize("mechanism", [ew.Gaussian(0.7), ew.Laplace(1.0, 0.4), ew.RandomizedResponse(2.0)])
def test_a_sample_at_rate_one_is_its_base(mechanism):
    base, sample = privacy_loss(mechanism), privacy_loss(ew.PoissonSampled(mechanism, 1.0))
    loss = np.linspace(-3, 3, 13)
    assert np.array_equal(base.distribution(loss), sample.distribution(loss))
    assert np.array_equal(base.cumulants(6).null, sample.cumulants(6).null)


@pytest.mark.parametrize("mechanism", [ew.Gaussian(0.7), ew.Laplace(1.0, 0.4), ew.ApproxDP(0.5, 0.1)])
def test_a_sample_at_rate_zero_leaks_nothing(mechanism):
    loss = privacy_loss(ew.PoissonSampled(mechanism, 0.0))
    assert loss.support == (0.0, 0.0)
    assert loss.null_only == loss.alternative_only == 0.0
    assert not loss.cumulants(4).null.any()


NESTED_BASES = [ew.Gaussian(0.8), ew.Laplace(1.0, 2.0), ew.RandomizedResponse(1.0), ew.ApproxDP(1.0, 0.05)]


@pytest.mark.parametrize("base", NESTED_BASES)
@pytest.mark.parametrize(("outer", "inner"), [(0.5, 0.25), (0.1, 0.5), (0.75, 0.01)])
def test_a_sample_of_a_sample_has_the_product_of_the_rates(base, outer, inner):
    nested = privacy_loss(ew.PoissonSampled(ew.PoissonSampled(base, inner), outer))
    once = privacy_loss(ew.PoissonSampled(base, inner * outer))
    for one, other in zip(
        (nested.cumulants(4).null, nested.cumulants(4).alternative),
        (once.cumulants(4).null, once.cumulants(4).alternative),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=0)
    low, high = once.support
    grid = np.linspace(max(low, -0.2), min(high, 3.0), 41)[1:-1] + 1e-4
    np.testing.assert_allclose(nested.distribution(grid), once.distribution(grid), rtol=1e-11, atol=0)
    assert nested.alternative_only == pytest.approx(once.alternative_only, rel=1e-15)


def exponential_pair(ratio):
    """Exp(mean ratio) against Exp(mean 1): L = log ratio + (1/ratio - 1) x, Gamma cumulants in closed form."""
    pair = ew.DensityPair(stats.expon(scale=ratio), stats.expon(scale=1.0))
    orders = np.arange(1, 7)
    factorials = np.array([math.factorial(r - 1) for r in orders], dtype=float)
    null, alternative = (1 - ratio) ** orders * factorials, (1 / ratio - 1) ** orders * factorials
    null[0] += math.log(ratio)
    alternative[0] += math.log(ratio)
    return pair, null, alternative


# At ratio 0.9 the means are 2e-2 of the deviation, at 0.99 2e-3: the digits the subtraction log r + 1 - r leaves.
@pytest.mark.parametrize(("ratio", "digits"), [(0.2, 1e-12), (0.5, 1e-12), (0.9, 1e-11)])
def test_exponential_densities_against_the_gamma_cumulants(ratio, digits):
    pair, null, alternative = exponential_pair(ratio)
    found = privacy_loss(pair).cumulants(6)
    np.testing.assert_allclose(found.null, null, rtol=digits, atol=0)
    np.testing.assert_allclose(found.alternative, alternative, rtol=digits, atol=0)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_normal_densities_are_gaussian_noise(mu):
    found = privacy_loss(ew.DensityPair(stats.norm(0, 1), stats.norm(mu, 1))).cumulants(6)
    np.testing.assert_allclose(found.null[:2], [-mu * mu / 2, mu * mu], rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.alternative[:2], [mu * mu / 2, mu * mu], rtol=1e-12, atol=0)
    assert np.max(np.abs(found.null[2:]) / mu ** np.arange(3, 7)) < 1e-11  # zero, in units of the deviation


@pytest.mark.parametrize("theta", [0.3, 1.0, 3.0])
def test_laplace_densities_are_laplace_noise(theta):
    found = privacy_loss(ew.DensityPair(stats.laplace(0, 1), stats.laplace(theta, 1))).cumulants(6)
    exact = privacy_loss(ew.Laplace(1.0, theta)).cumulants(6)
    np.testing.assert_allclose(found.null, exact.null, rtol=1e-11, atol=0)
    np.testing.assert_allclose(found.alternative, exact.alternative, rtol=1e-11, atol=0)


def test_normal_densities_of_two_widths_against_the_quadratic_form():
    """L = log(1/2) + x^2/2 (1 - 1/4) under x ~ N(0, 1): kappa_r = (3/8)^r 2^(r-1) (r-1)! for r >= 2."""
    found = privacy_loss(ew.DensityPair(stats.norm(0, 1), stats.norm(0, 2))).cumulants(6)
    for law, a in ((found.null, 3 / 8), (found.alternative, 3 / 2)):
        exact = [a + math.log(0.5), *(a**r * 2 ** (r - 1) * math.factorial(r - 1) for r in range(2, 7))]
        np.testing.assert_allclose(law, exact, rtol=1e-12, atol=0)


def test_equal_densities_leak_nothing():
    loss = privacy_loss(ew.DensityPair(stats.norm(1, 2), stats.norm(1, 2)))
    assert loss.support == (0.0, 0.0)


def test_mass_that_only_one_density_has_is_kept_apart():
    loss = privacy_loss(ew.DensityPair(stats.uniform(0, 1), stats.uniform(0.25, 1)))
    assert (loss.null_only, loss.alternative_only) == (0.25, 0.25)
    assert loss.support == (0.0, 0.0)


def test_the_cumulants_of_a_sum_are_the_sums_of_the_cumulants():
    a, b = ew.PoissonSampled(ew.Gaussian(0.8), 0.01), ew.Laplace(2.0)
    total = TotalLoss.of(a**7 * b**3).cumulants(5)
    one, other = privacy_loss(a).cumulants(5), privacy_loss(b).cumulants(5)
    np.testing.assert_allclose(total.null, 7 * one.null + 3 * other.null, rtol=1e-15, atol=0)
    np.testing.assert_allclose(total.alternative, 7 * one.alternative + 3 * other.alternative, rtol=1e-15, atol=0)
