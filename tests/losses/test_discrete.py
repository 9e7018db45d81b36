"""Whole-number noise and responses: masses to the last digits, against mpmath and exact fractions."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.errors import TooLarge
from edgeworth.losses import privacy_loss

LOG2, LOG3 = math.log(2), math.log(3)


def delta_of(loss, ratio):
    """delta(log ratio) = Q[L > l] - ratio P[L > l] at l = log ratio, from the distribution functions."""
    _, null_above, _, above = loss.distribution(np.array([math.log(ratio)]))
    return float(above[0]) - float(ratio) * float(null_above[0])


def gaussian_masses(scale, numbers, digits=60):
    """P[k] of the discrete Gaussian at the given k, in mpmath."""
    with mp.workdps(digits):
        rate = 1 / (2 * mpf(scale) ** 2)
        reach = int(math.sqrt(4.8 * digits) * scale) + 3
        total = 1 + 2 * mp.fsum(mp.exp(-rate * k * k) for k in range(1, reach))
        return [mp.exp(-rate * k * k) / total for k in numbers]


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.05, 1), (0.3, 1), (0.4, 3), (1.0, 2), (7.3, 1), (300.0, 5)])
def test_masses_of_the_discrete_gaussian_to_a_few_ulps(scale, sensitivity):
    loss = privacy_loss(ew.DiscreteGaussian(scale, sensitivity))
    chosen = np.unique(np.linspace(0, loss.null.size - 1, 25).astype(int))
    numbers = [loss.lattice.first + int(j) for j in chosen]
    for j, exact in zip(chosen, gaussian_masses(scale, numbers), strict=True):
        assert abs(loss.lattice.log_null[j] - mp.log(exact)) <= 4 * 2**-52 * max(1, abs(mp.log(exact)))
        if exact > 1e-300:
            assert abs(loss.null[j] / exact - 1) < 2e-15
            assert loss.alternative[loss.null.size - 1 - j] == loss.null[j]


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.3, 1), (1.0, 2), (7.3, 1), (40.0, 3)])
def test_one_step_of_the_discrete_gaussian_against_mpmath(scale, sensitivity):
    """delta(eps) = sum of (Q[k] - e^eps P[k])_+ over all k."""
    loss = privacy_loss(ew.DiscreteGaussian(scale, sensitivity))
    numbers = range(-int(38 * scale) - 9, int(38 * scale) + sensitivity + 10)
    null = gaussian_masses(scale, numbers)
    alternative = gaussian_masses(scale, [k - sensitivity for k in numbers])
    for ratio in (0.05, 1.0, 1.5, 12.0, 8000.0):
        with mp.workdps(60):
            exact = mp.fsum(max(q - ratio * p, mpf(0)) for p, q in zip(null, alternative, strict=True))
        largest = float(loss.distribution(np.array([math.log(ratio)]))[3][0])  # the terms that are subtracted
        assert abs(delta_of(loss, ratio) - exact) <= 1e-14 * largest


def cumulants_of(pairs, order):
    """kappa_1 … under the given weights, from central moments in as many digits as mp has."""
    total = mp.fsum(w for _, w in pairs)
    mean = mp.fsum(w * x for x, w in pairs) / total
    moment = [mp.fsum(w * (x - mean) ** r for x, w in pairs) / total for r in range(order + 1)]
    kappa = [mpf(0), mean]
    for r in range(2, order + 1):
        kappa.append(moment[r] - sum(comb(r - 1, j - 1) * kappa[j] * moment[r - j] for j in range(2, r - 1)))
    return kappa[1:]


@pytest.mark.parametrize("scale", [0.01, 0.1, 0.3, 0.39, 0.41, 0.7, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_cumulants_of_the_discrete_gaussian_against_mpmath(scale, sensitivity):
    """At scale 3 kappa_4 is 1e-70 of kappa_2^2: only a formula, or 250 digits, can tell."""
    with mp.workdps(300):
        rate = 1 / (2 * mpf(scale) ** 2)
        numbers = range(-int(40 * scale) - 9, int(40 * scale) + 10)
        pairs = [((2 * k - sensitivity) * sensitivity * rate, mp.exp(-rate * k * k)) for k in numbers]
        exact = cumulants_of(pairs, 10)
    found = privacy_loss(ew.DiscreteGaussian(scale, sensitivity)).cumulants(10)
    for r, truth in enumerate(exact, start=1):
        if r % 2 and r > 1:
            assert found.null[r - 1] == found.alternative[r - 1] == 0
        else:
            assert abs(found.null[r - 1] - truth) <= 1e-13 * abs(truth) + 1e-307
            assert found.alternative[r - 1] == (-1) ** r * found.null[r - 1]


@pytest.mark.parametrize("scale", [30.0, 300.0])
def test_cumulants_of_wide_discrete_noise_are_those_of_gaussian_noise(scale):
    """By Poisson summation they differ by less than e^(-2 pi^2 scale^2) < 1e-7000."""
    found = privacy_loss(ew.DiscreteGaussian(scale, 2)).cumulants(8)
    mu = Fraction(2) / Fraction(scale)
    assert found.null.tolist() == [float(-mu * mu / 2), float(mu * mu), 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("scale", [0.3, 1.0, 25.0])
@pytest.mark.parametrize("rate", [1e-3, 0.2])
def test_cumulants_of_a_sample_of_discrete_noise_against_mpmath(scale, rate):
    with mp.workdps(120):
        spread = 1 / (2 * mpf(scale) ** 2)
        numbers = range(-int(26 * scale) - 9, int(26 * scale) + 12)
        weights = [mp.exp(-spread * k * k) for k in numbers]
        losses = [mp.log(1 + rate * mp.expm1((2 * k - 1) * spread)) for k in numbers]
        under_null = cumulants_of(list(zip(losses, weights, strict=True)), 6)
        growth = [(x, w * mp.exp(x)) for x, w in zip(losses, weights, strict=True)]
        under_alternative = cumulants_of(growth, 6)
    found = privacy_loss(ew.PoissonSampled(ew.DiscreteGaussian(scale), rate)).cumulants(6)
    np.testing.assert_allclose(found.null, [float(x) for x in under_null], rtol=1e-11, atol=0)
    np.testing.assert_allclose(found.alternative, [float(x) for x in under_alternative], rtol=1e-11, atol=0)


def geometric(sensitivity, reach=120):
    """P and Q of the discrete Laplace law with q = 1/2, exactly; what is left out is 2^-120."""
    numbers = range(-reach, reach + sensitivity + 1)
    third = Fraction(1, 3)
    return [(third / 2 ** abs(k), third / 2 ** abs(k - sensitivity)) for k in numbers]


@pytest.mark.parametrize("sensitivity", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(5), Fraction(1000)])
def test_discrete_laplace_noise_against_fractions(sensitivity, ratio):
    """At scale 1/log 2 the masses are powers of two."""
    loss = privacy_loss(ew.DiscreteLaplace(1 / LOG2, sensitivity))
    exact = sum(max(q - ratio * p, 0) for p, q in geometric(sensitivity))
    assert abs(delta_of(loss, ratio) - float(exact)) <= 1e-14 * float(
        loss.distribution(np.array([math.log(ratio)]))[3][0]
    )
    null = [Fraction(2, 3), *(Fraction(1, 3 * 2**j) for j in range(1, sensitivity)), Fraction(2, 3 * 2**sensitivity)]
    np.testing.assert_allclose(loss.null, [float(mass) for mass in null], rtol=2e-14, atol=0)
    np.testing.assert_allclose(loss.alternative, loss.null[::-1], rtol=0, atol=0)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("sensitivity", [2, 5, 300])
def test_cumulants_of_discrete_laplace_noise_against_mpmath(scale, sensitivity):
    with mp.workdps(900):
        q = mp.exp(-1 / mpf(scale))
        inner = [(1 - q) * q**j for j in range(1, sensitivity)]
        weights = [mpf(1), *inner, q**sensitivity]
        exact = cumulants_of([((2 * j - sensitivity) / mpf(scale), w) for j, w in enumerate(weights)], 8)
    found = privacy_loss(ew.DiscreteLaplace(scale, sensitivity)).cumulants(8)
    for r, truth in enumerate(exact, start=1):
        assert abs(found.null[r - 1] - truth) <= 1e-13 * abs(truth) + 1e-307


@pytest.mark.parametrize("categories", [2, 3, 10, 10**6])
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)])
def test_responses_of_many_categories_against_fractions(categories, ratio):
    """The truth with odds 3 to 1 against each other answer."""
    loss = privacy_loss(ew.RandomizedResponse(LOG3, categories))
    lie = Fraction(1, categories + 2)
    exact = max(3 * lie - ratio * lie, 0) + (categories - 2) * max(lie - ratio * lie, 0) + max(lie - ratio * 3 * lie, 0)
    assert delta_of(loss, ratio) == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert loss.support == (-LOG3, LOG3)


def test_cumulants_of_responses_against_mpmath():
    for epsilon, categories in ((1e-3, 4), (1.0, 10), (8.0, 1000), (0.5, 10**12)):
        with mp.workdps(150):
            weights = [mp.exp(epsilon), categories - 2, 1]
            exact = cumulants_of(list(zip([-mpf(epsilon), mpf(0), mpf(epsilon)], weights, strict=True)), 8)
        found = privacy_loss(ew.RandomizedResponse(epsilon, categories)).cumulants(8)
        np.testing.assert_allclose(found.null, [float(x) for x in exact], rtol=1e-12, atol=0)


# --- laws of all of them ----------------------------------------------------------------------------------

discrete = st.one_of(
    st.builds(ew.DiscreteGaussian, st.floats(0.05, 60), st.integers(1, 9)),
    st.builds(ew.DiscreteLaplace, st.floats(0.05, 60), st.integers(1, 60)),
    st.builds(ew.RandomizedResponse, st.floats(1e-3, 30), st.integers(2, 9)),
)


@settings(max_examples=60)
@given(discrete)
def test_both_laws_are_whole_and_mirror_images(step):
    loss = privacy_loss(step)
    nodes = loss.nodes()
    assert abs(math.fsum(loss.null) - 1) < 4e-15
    assert abs(math.fsum(loss.alternative) - 1) < 4e-15
    exponents = 1 + np.max(np.abs(nodes.loss))  # E_P[e^L] goes through these, each an ulp off
    assert abs(math.fsum(np.exp(nodes.log_weight + nodes.loss)) - 1) < 1e-15 * exponents
    assert loss.is_symmetric
    assert np.array_equal(loss.loss, -loss.loss[::-1])
    assert loss.cumulants(5).alternative.tolist() == [(-1) ** r * k for r, k in enumerate(loss.cumulants(5).null, 1)]


@settings(max_examples=60)
@given(discrete)
def test_the_lattice_is_where_the_atoms_are(step):
    loss = privacy_loss(step)
    lattice = loss.lattice
    places = lattice.offset + (lattice.first + np.arange(loss.loss.size)) * lattice.spacing
    largest = abs(lattice.offset) + abs(lattice.first) * lattice.spacing
    assert np.max(np.abs(places - loss.loss)) <= 4e-16 * (largest + np.max(np.abs(loss.loss)))
    usual = loss.null > 1e-300
    np.testing.assert_allclose(np.exp(lattice.log_null[usual]), loss.null[usual], rtol=4e-13, atol=0)


@settings(max_examples=40)
@given(discrete, st.floats(1e-4, 0.999), st.floats(-4, 4))
def test_a_sample_has_the_mixed_masses(step, rate, place):
    """P stays, Q becomes (1-p) P + p Q, and L becomes log(1 - p + p e^L): the events {L > l} are the same."""
    base, sample = privacy_loss(step), privacy_loss(ew.PoissonSampled(step, rate))
    between = np.array([place]) + math.pi * 1e-7  # off the atoms
    null_below, null_above, below, above = base.distribution(between)
    mixed = [null_below, null_above, (1 - rate) * null_below + rate * below, (1 - rate) * null_above + rate * above]
    image = np.log1p(rate * np.expm1(between))
    np.testing.assert_allclose(sample.distribution(image), mixed, rtol=2e-15, atol=0)
    assert sample.is_atomic
    assert abs(math.fsum(sample.atoms.alternative) - 1) < 4e-15


@settings(max_examples=20)
@given(discrete, st.sampled_from(["add-remove", "replace"]))
def test_all_or_nothing(step, adjacency):
    base, whole = privacy_loss(step), privacy_loss(ew.PoissonSampled(step, 1.0, adjacency))
    assert np.array_equal(base.loss, whole.loss)
    assert np.array_equal(base.null, whole.null)
    assert privacy_loss(ew.PoissonSampled(step, 0.0, adjacency)).support == (0.0, 0.0)


@pytest.mark.parametrize("step", [ew.DiscreteGaussian(3.0, 0), ew.DiscreteLaplace(3.0, 0), ew.RandomizedResponse(0, 7)])
def test_what_does_not_depend_on_the_data_leaks_nothing(step):
    assert privacy_loss(step).support == (0.0, 0.0)


def test_two_atoms_are_a_lattice_and_three_images_are_not():
    two = privacy_loss(ew.PoissonSampled(ew.RandomizedResponse(1.0), 0.3))
    assert two.lattice.offset == two.support[0] == pytest.approx(math.log(0.7 + 0.3 * math.exp(-1)), rel=1e-14)
    assert two.lattice.offset + two.lattice.spacing == pytest.approx(two.support[1], rel=1e-14)
    assert privacy_loss(ew.PoissonSampled(ew.RandomizedResponse(1.0, 3), 0.3)).lattice is None
    assert privacy_loss(ew.Laplace(1.0)).lattice is None


def test_the_extremes_have_finite_logarithms():
    for step in (ew.DiscreteGaussian(1e-3), ew.DiscreteLaplace(1e-5, 3), ew.RandomizedResponse(5000.0, 4)):
        loss = privacy_loss(step)
        assert np.isfinite(loss.lattice.log_null).all()
        assert loss.null[0 if not isinstance(step, ew.DiscreteGaussian) else -loss.lattice.first] == 1.0
        rows = loss.tilted(np.array([0.0, 0.5, 1.0]), 2, (0.0, 1.0))
        assert np.abs(rows[[0, 2], 0]).max() <= 1e-12
        assert -np.inf < rows[1, 0] < -100


@pytest.mark.parametrize(
    ("step", "atoms"), [(ew.DiscreteGaussian(1e6), 75_000_002), (ew.DiscreteLaplace(1.0, 10**7), 10**7 + 1)]
)
def test_too_many_values_are_refused_before_any_work(step, atoms):
    with pytest.raises(TooLarge) as refused:
        privacy_loss(step)
    assert str(refused.value) == (
        f"{step!r} has {atoms} values that count, more than 4194304; release it in coarser units, "
        "that is, divide the query, the scale and the sensitivity by a common factor"
    )


@pytest.mark.parametrize("theta", [1e-3, 0.5, 4.0, 25.0])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.9])
def test_a_sample_of_laplace_noise_has_its_atoms_at_its_ends(theta, rate):
    loss = privacy_loss(ew.PoissonSampled(ew.Laplace(1.0, theta), rate))
    low, high = loss.support
    at = np.array([np.nextafter(low, -np.inf), low, np.nextafter(high, 0.0), high])
    null_below, null_above, below, above = loss.distribution(at)
    small = 0.5 * math.exp(-theta)
    np.testing.assert_allclose(null_below, [0, 0.5, 1 - small, 1], rtol=1e-15, atol=0)
    np.testing.assert_allclose(null_above, [1, 0.5, small, 0], rtol=1e-13, atol=0)
    mixed = [(1 - rate) * 0.5 + rate * small, (1 - rate) * small + rate * 0.5]
    np.testing.assert_allclose(below, [0, mixed[0], 1 - mixed[1], 1], rtol=1e-13, atol=0)
    np.testing.assert_allclose(above, [1, 1 - mixed[0], mixed[1], 0], rtol=1e-13, atol=0)
