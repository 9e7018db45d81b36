"""The tilted expansion: exact for Gaussian noise, relative in the tail for the rest."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.composition.estimates import saddlepoint
from edgeworth.composition.estimates.saddlepoint import TiltedExpansion, laplace_hermite
from edgeworth.losses import TotalLoss


def expansion_of(mechanism, degree=2):
    return TiltedExpansion(TotalLoss.of(mechanism), degree)


def log_normal_tail(x):
    """log Phi(-x), for mpf x."""
    return mp.log(mp.erfc(x / mp.sqrt(2)) / 2)


def log_ratio(found, exact):
    """|log found - log exact|, the relative error of a number of any size."""
    return float(abs(mp.log(mpf(float(found))) - exact))


GAUSSIANS = [
    (ew.Gaussian(1.0), 1.0),
    (ew.Gaussian(20.0) ** 100, 0.5),
    (ew.Gaussian(0.4) * ew.Gaussian(1.0) ** 3 * ew.GaussianDP(0.5), math.sqrt(6.25 + 3 + 0.25)),
    (ew.Gaussian(1000.0) ** 10_000, 0.1),
]


@pytest.mark.parametrize(("mechanism", "mu"), GAUSSIANS)
@pytest.mark.parametrize("degree", [0, 2, 5])
def test_gaussian_tails_are_exact_over_300_decades(mechanism, mu, degree):
    """alpha(t) = Phi(-t/mu - mu/2) and beta(t) = Phi(t/mu - mu/2) to 1e-11 in the logarithm."""
    expansion = expansion_of(mechanism, degree)
    depths = np.array([0.3, 1.0, 3.0, 7.0, 12.0, 20.0, 29.0, 37.0])
    right, left = mu * (depths - mu / 2), -mu * (depths - mu / 2)
    for found, t in zip(expansion.alpha(right), right, strict=True):
        with mp.workdps(40):
            assert log_ratio(found, log_normal_tail(mpf(t) / mpf(mu) + mpf(mu) / 2)) < 1e-11
    for found, t in zip(expansion.beta(left), left, strict=True):
        with mp.workdps(40):
            assert log_ratio(found, log_normal_tail(mpf(mu) / 2 - mpf(t) / mpf(mu))) < 1e-11


@pytest.mark.parametrize(("mechanism", "mu"), GAUSSIANS)
def test_gaussian_profile_is_exact_over_300_decades(mechanism, mu):
    """delta(eps) to 1e-11 in the logarithm, from 1e-1 to 1e-300."""
    expansion = expansion_of(mechanism)
    epsilon = mu * (np.array([0.5, 1.0, 3.0, 7.0, 12.0, 20.0, 29.0, 36.0]) + mu / 2)
    for found, e in zip(expansion.delta(epsilon), epsilon, strict=True):
        with mp.workdps(400):
            m, x = mpf(mu), mpf(e)
            exact = mp.erfc((x / m - m / 2) / mp.sqrt(2)) / 2 - mp.exp(x) * mp.erfc((x / m + m / 2) / mp.sqrt(2)) / 2
            exact = mp.log(exact)
        with mp.workdps(40):
            assert log_ratio(found, exact) < 1e-11


@pytest.mark.parametrize(("mechanism", "mu"), GAUSSIANS)
def test_the_gaussian_estimate_is_the_formula_along_the_whole_curve(mechanism, mu):
    estimate = ew.account(mechanism, method="saddlepoint")
    exact = ew.account(mechanism, method="closed-form")
    alpha = np.array([1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.1, 0.5])
    found, truth = estimate.forward.value.power(alpha), exact.forward.value.power(alpha)
    np.testing.assert_allclose(np.log(found), np.log(truth), rtol=0, atol=1e-11)
    epsilon = mu * (np.array([0.5, 3.0, 12.0, 29.0]) + mu / 2)
    np.testing.assert_allclose(
        np.log(estimate.delta(epsilon).value), np.log(exact.delta(epsilon).value), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("epsilon", [-3.0, -0.5, 0.0, 0.1])
def test_delta_where_it_is_not_small(epsilon):
    """The branches 0 <= c < 1 and c < 0 of the profile, which add residues: against the Gaussian formula."""
    mu = 1.5
    found = float(expansion_of(ew.GaussianDP(mu)).delta(np.array([epsilon]))[0])
    with mp.workdps(40):
        m, x = mpf(mu), mpf(epsilon)
        exact = mp.ncdf(-x / m + m / 2) - mp.exp(x) * mp.ncdf(-x / m - m / 2)
    assert found == pytest.approx(float(exact), rel=1e-13)


def line_integral(sigma, rate, n, epsilon, c, *, spacing, length):
    """delta(eps) = 1/(2 pi) * integral of e^(K(s) + eps(1-s))/(s(s-1)) along s = c + iy, by the trapezoidal rule."""
    mu = 1 / sigma
    x = np.arange(-12, 12 + 14 * mu, spacing)
    loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    weight = spacing * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    y = np.arange(0.0, length, spacing / 4)
    s = (c + 1j * y)[:, None]
    moment = np.sum(weight * np.expm1(s * loss), axis=1)
    values = np.exp(n * np.log1p(moment) + epsilon * (1 - s[:, 0])) / (s[:, 0] * (s[:, 0] - 1))
    values[0] /= 2
    return float(values.real.sum() * spacing / 4 / math.pi)


def test_noisy_sgd_against_the_line_integral_in_the_far_tail():
    """Each degree gains two digits on the one before, down to delta = 1e-9 and less."""
    mechanism = ew.PoissonSampled(ew.Gaussian(1.0), 0.05) ** 2000
    epsilon, saddles = np.array([8.0, 14.0, 22.0, 35.0]), (1.3, 1.8, 2.4, 3.0)
    rules = ({"spacing": 1 / 16, "length": 4.0}, {"spacing": 1 / 22, "length": 5.0})
    coarse, exact = (
        np.array([line_integral(1.0, 0.05, 2000, e, c, **rule) for e, c in zip(epsilon, saddles, strict=True)])
        for rule in rules
    )
    np.testing.assert_allclose(coarse, exact, rtol=1e-9, atol=0)  # the rule has converged, spacing and length
    assert exact[-1] < 1e-9
    worst = [np.max(np.abs(np.log(expansion_of(mechanism, degree).delta(epsilon) / exact))) for degree in (0, 2, 4)]
    assert worst[0] < 5e-2
    assert worst[1] < worst[0] / 20
    assert worst[2] < worst[1] / 20


def hermite_transforms(x, count):
    """B_m(x) by the recurrence B_m = He_(m-1)(0) phi(0) - x B_(m-1) in 400 digits, where it loses 130 at most."""
    x = mpf(x)
    rows = [mp.erfc(x / mp.sqrt(2)) * mp.exp(x * x / 2) / 2]
    at_zero = [mpf(1), mpf(0)]
    for m in range(2, count):
        at_zero.append(-(m - 1) * at_zero[m - 2])
    for m in range(1, count):
        rows.append(at_zero[m - 1] / mp.sqrt(2 * mp.pi) - x * rows[-1])
    return rows


def test_the_recurrence_is_the_integral():
    with mp.workdps(30):
        for m, poly in ((0, lambda y: y**0), (3, lambda y: y**3 - 3 * y), (4, lambda y: y**4 - 6 * y**2 + 3)):
            integral = mp.quad(lambda y, he=poly: mp.exp(-2 * y) * he(y) * mp.npdf(y), [0, 1, 3, 9])
            assert float(abs(hermite_transforms(2, 5)[m] - integral)) < 1e-15


@pytest.mark.parametrize("x", [0.0, 1e-8, 0.3, 1.0, 3.9, 4.0, 4.1, 10.0, 300.0, 1e4])
def test_laplace_transforms_of_hermite_polynomials(x):
    """B_m(x) to 1e-11 of its size sqrt(m!) B_0(x), which bounds it up to a small factor, for m <= 12."""
    found = laplace_hermite(np.array([x]), 13)[:, 0]
    with mp.workdps(400):
        exact = hermite_transforms(x, 13)
        errors = [float(abs(mpf(found[m]) - exact[m]) / (mp.sqrt(mp.factorial(m)) * exact[0])) for m in range(13)]
    assert max(errors) < 1e-11


def test_the_saddle_solves_its_equation():
    expansion = expansion_of(ew.PoissonSampled(ew.Gaussian(0.8), 0.01) ** 3000)
    t = np.array([-2.0, -0.3, 0.0, 0.4, 3.0, 10.0])
    c = expansion.saddle(t)
    rows = expansion.total.tilted(c, 2, (min(0.0, c.min()), max(1.0, c.max())))
    assert np.max(np.abs(rows[:, 1] - t) / np.sqrt(rows[:, 2])) < 1e-12


def test_asking_twice_gives_the_same_bits():
    total = TotalLoss.of(ew.PoissonSampled(ew.Gaussian(0.8), 0.01) ** 300 * ew.Laplace(3.0) ** 4)
    alpha = np.geomspace(1e-12, 1, 50)
    one, two = (saddlepoint.compose(total, degree=3).value(alpha) for _ in range(2))
    assert np.array_equal(one, two)
