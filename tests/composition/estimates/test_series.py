"""The Edgeworth series and its inverse, against the paper's printed formulas and against themselves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtr

from edgeworth.composition.estimates.cornish_fisher import quantile_polynomial
from edgeworth.composition.estimates.series import EdgeworthSeries, graded_polynomials, standardised

H = np.linspace(-6, 6, 97)
cumulant = st.floats(-2, 2)
lams = st.lists(cumulant, min_size=8, max_size=8).map(np.array)


def phi(h):
    return np.exp(-h * h / 2) / math.sqrt(2 * math.pi)


def close(found, exact):
    """Equal up to 100 roundings of the largest term, which at |h| = 6 is some thousand times phi."""
    assert np.max(np.abs(found - exact) / (1e-300 + ndtr(-np.abs(H)) + phi(H) * (1 + np.abs(H)) ** 9)) < 2e-14


@given(lams)
def test_degree_zero_is_the_normal_law(lam):
    assert np.array_equal(EdgeworthSeries(lam, 0).below(H), ndtr(H))
    assert np.array_equal(EdgeworthSeries(lam, 0).above(H), ndtr(-H))


@given(cumulant, cumulant)
def test_degree_one_is_the_first_term_of_equation_approx_ftilde(k3, k4):
    close(EdgeworthSeries(np.array([k3, k4]), 1).below(H), ndtr(H) - k3 / 6 * (H**2 - 1) * phi(H))


@given(cumulant, cumulant)
def test_degree_two_is_equation_approx_ftilde(k3, k4):
    first = k3 / 6 * (H**2 - 1)
    second = k4 / 24 * (H**3 - 3 * H) + k3**2 / 72 * (H**5 - 10 * H**3 + 15 * H)
    close(EdgeworthSeries(np.array([k3, k4]), 2).below(H), ndtr(H) - (first + second) * phi(H))


@given(cumulant, cumulant, cumulant)
def test_degree_three_has_the_two_terms_that_the_paper_leaves_out(k3, k4, k5):
    he4 = H**4 - 6 * H**2 + 3
    he6 = H**6 - 15 * H**4 + 45 * H**2 - 15
    he8 = H**8 - 28 * H**6 + 210 * H**4 - 420 * H**2 + 105
    third = k5 / 120 * he4 + k3 * k4 / 144 * he6 + k3**3 / 1296 * he8
    lam = np.array([k3, k4, k5])
    close(
        EdgeworthSeries(lam, 3).below(H),
        EdgeworthSeries(lam, 2).below(H) - third * phi(H),
    )


@given(lams, st.integers(0, 8))
def test_the_parts_of_the_exponential_by_multiplying_it_out(lam, degree):
    """Sum of all products lam_r1 … lam_rk z^(r1+…+rk)/(k! r1! … rk!) of order at most d, by powers."""
    size = 3 * degree + 1
    inner = [np.zeros(size) for _ in range(degree + 1)]
    for order in range(1, degree + 1):
        inner[order][order + 2] = lam[order - 1] / math.factorial(order + 2)
    total = [np.zeros(size) for _ in range(degree + 1)]
    total[0][0] = 1.0
    power = [part.copy() for part in total]
    for k in range(1, degree + 1):
        power = [
            sum((np.convolve(power[j - i], inner[i])[:size] for i in range(j + 1)), np.zeros(size)) / k
            for j in range(degree + 1)
        ]
        total = [one + other for one, other in zip(total, power, strict=True)]
    scale = [part + 1e-300 for part in graded_polynomials(np.abs(lam), degree)]
    for found, exact, size_of in zip(graded_polynomials(lam, degree), total, scale, strict=True):
        assert np.all(np.abs(found - exact) <= 1e-14 * size_of)


@given(lams, st.integers(0, 8))
def test_below_and_above_are_complements_and_density_is_the_derivative(lam, degree):
    series = EdgeworthSeries(lam, degree)
    spread = float(np.sum(np.abs(series.coefficients))) * 1e3
    assert np.max(np.abs(series.below(H) + series.above(H) - 1)) < 1e-13 * spread
    # Richardson's central difference: error h^4 F^(5)/30, with F^(5) of the size of the coefficients times He_28
    step = 1e-3
    first = (series.below(H + step) - series.below(H - step)) / (2 * step)
    second = (series.below(H + 2 * step) - series.below(H - 2 * step)) / (4 * step)
    unit = sum(abs(c) * math.sqrt(math.factorial(m + 4)) for m, c in enumerate(series.coefficients))
    assert np.max(np.abs((4 * first - second) / 3 - series.density(H))) < 1e-11 * unit


def test_standardised_cumulants_are_free_of_scale():
    cumulants = np.array([3.0, 4.0, -5.0, 6.0])
    assert np.allclose(standardised(cumulants), [-5 / 8, 6 / 16], rtol=1e-15, atol=0)
    stretched = cumulants * 7.0 ** np.arange(1, 5)
    np.testing.assert_allclose(standardised(stretched), standardised(cumulants), rtol=1e-14, atol=0)


@given(cumulant, cumulant)
def test_cornish_fisher_of_degree_two_is_equation_cornish_fisher(k3, k4):
    z = H
    paper = z + k3 / 6 * (z**2 - 1) + k4 / 24 * (z**3 - 3 * z) - k3**2 / 36 * (2 * z**3 - 5 * z)
    found = quantile_polynomial(np.array([k3, k4]), 2)(z)
    np.testing.assert_allclose(found, paper, rtol=0, atol=1e-13 * (1 + 6**3))


def precise_quantile(series, z):
    """x with F(x) = Phi(z), by Newton's method in 50 digits on the series' own coefficients."""
    x = mpf(z)
    for _ in range(12):
        hermite = [mpf(1), x]
        for m in range(2, len(series.coefficients)):
            hermite.append(x * hermite[-1] - (m - 1) * hermite[-2])
        density = mp.npdf(x)
        value = mp.ncdf(x) - density * sum(
            mpf(float(c)) * he for c, he in zip(series.coefficients[1:], hermite, strict=False)
        )
        slope = density * sum(mpf(float(c)) * he for c, he in zip(series.coefficients, hermite, strict=True))
        x -= (value - mp.ncdf(mpf(z))) / slope
    return x


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_cornish_fisher_inverts_the_series_to_its_order(degree):
    """With lam_r -> lam_r s^(r-2) the quantile of the series of degree 8 differs by O(s^(d+1))."""
    lam = np.array([0.7, 0.5, 0.6, -0.4, 0.3, 0.2, 0.4, -0.3])
    scales = 2.0 ** -np.arange(5, 10)
    gaps = []
    with mp.workdps(50):
        for s in scales:
            scaled = lam * s ** np.arange(1, 9)
            series = EdgeworthSeries(scaled, 8)
            coefficients = quantile_polynomial(scaled, degree).coef
            worst = 0.0
            for z in (-2.0, -1.3, 0.4, 1.9):
                found = sum(mpf(float(c)) * mpf(z) ** k for k, c in enumerate(coefficients))
                worst = max(worst, float(abs(found - precise_quantile(series, z))))
            gaps.append(worst)
    slope = np.polyfit(np.log(scales), np.log(gaps), 1)[0]
    assert slope == pytest.approx(degree + 1, abs=0.1)
