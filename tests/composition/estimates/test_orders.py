"""Observed orders: every expansion is regressed on n against the exponential pair, whose composition is closed-form.

P = Exp(mean a), Q = Exp(mean 1): n-fold composition is Gamma(n) under both, f_n(alpha) = gammainc(n, a gammainccinv(n,
alpha)). With a = 1 - 1/sqrt(n) the limit is G_1; the law is continuous and skewed, so every term of the series matters.
"""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from edgeworth.composition.estimates import cornish_fisher, edgeworth, saddlepoint
from edgeworth.composition.estimates.saddlepoint import TiltedExpansion
from edgeworth.losses import Cumulants, PrivacyLoss, TotalLoss

ALPHAS = np.linspace(0.02, 0.98, 97)
STEPS = 2 ** np.arange(6, 13)


class ExponentialLoss(PrivacyLoss):
    """L = log a + (1/a - 1) x, x ~ Exp(mean a) under P and Exp(mean 1) under Q: Gamma cumulants, exactly."""

    def __init__(self, a):
        self.a = a

    @property
    def support(self):
        return math.log(self.a), math.inf

    def distribution(self, loss):
        x = np.maximum(loss - math.log(self.a), 0.0) / (1 / self.a - 1)
        return -np.expm1(-x / self.a), np.exp(-x / self.a), -np.expm1(-x), np.exp(-x)

    def nodes(self, tilt=(0.0, 1.0)):
        raise AssertionError(f"K is a formula here; nobody needs nodes for {tilt}")

    def cumulants(self, order):
        rows = self.tilted(np.array([0.0, 1.0]), order, (0.0, 1.0))
        return Cumulants(rows[0, 1:], rows[1, 1:])

    def tilted(self, tilt, order, reach):  # noqa: ARG002
        """K(c) = c log a - log(1 - c(1-a)), up to where 1 - c(1-a) = 1e-3; a parabola beyond, where no test reads."""
        last = (1 - 1e-3) / (1 - self.a)
        c = np.ravel(tilt)
        beyond = np.maximum(c - last, 0.0)
        rest = 1 - np.minimum(c, last) * (1 - self.a)
        rows = np.empty((c.size, order + 1))
        rows[:, 0] = np.minimum(c, last) * math.log(self.a) - np.log(rest)
        for r in range(1, order + 1):
            rows[:, r] = math.factorial(r - 1) * ((1 - self.a) / rest) ** r
        rows[:, 1] += math.log(self.a)
        rows[:, 0] += rows[:, 1] * beyond + rows[:, 2] * beyond**2 / 2 if order > 1 else 0.0
        rows[:, 1] += rows[:, 2] * beyond if order > 1 else 0.0
        return rows


def composed(n):
    return TotalLoss(((ExponentialLoss(1 - 1 / math.sqrt(n)), int(n)),))


def exact_tradeoff(n, alpha):
    a = 1 - 1 / math.sqrt(n)
    return gammainc(n, a * gammainccinv(n, alpha))


def slope_of(errors, steps=STEPS):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def test_the_oracle_is_the_composition_of_its_cumulants():
    """The closed form's own mean and variance, by the trapezoidal rule on its distribution function."""
    n, a = 3, 0.4
    x = np.linspace(0, 60, 600_001)
    mean = np.trapezoid(gammaincc(n, x / a), x)
    loss = ExponentialLoss(a)
    assert n * loss.cumulants(1).null[0] == pytest.approx(n * math.log(a) + (1 / a - 1) * mean, rel=1e-8)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_observed_order_of_edgeworth(degree):
    errors = [
        np.max(np.abs(edgeworth.compose(composed(n), degree=degree).value(ALPHAS) - exact_tradeoff(n, ALPHAS)))
        for n in STEPS
    ]
    assert slope_of(errors) == pytest.approx(-(degree + 1) / 2, abs=0.1)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_observed_order_of_cornish_fisher(degree):
    errors = [
        np.max(np.abs(cornish_fisher.compose(composed(n), degree=degree).value(ALPHAS) - exact_tradeoff(n, ALPHAS)))
        for n in STEPS
    ]
    assert slope_of(errors) == pytest.approx(-(degree + 1) / 2, abs=0.1)


def right_threshold(n, alpha):
    """t with P[T > t] near alpha."""
    a = 1 - 1 / math.sqrt(n)
    return n * math.log(a) + (1 / a - 1) * a * gammainccinv(n, alpha)


def left_threshold(n, beta):
    """t with Q[T <= t] near beta."""
    a = 1 - 1 / math.sqrt(n)
    return n * math.log(a) + (1 / a - 1) * gammaincinv(n, beta)


def exact_tails(n, t):
    """P[T > t], Q[T <= t] and delta(t) to 40 digits, at the very double t."""
    with mp.workdps(60):
        a = mpf(1 - 1 / math.sqrt(n))
        x = (mpf(float(t)) - int(n) * mp.log(a)) / (1 / a - 1)
        alpha = mp.gammainc(int(n), x / a, mp.inf, regularized=True)
        beta = mp.gammainc(int(n), 0, x, regularized=True)
        power = mp.gammainc(int(n), x, mp.inf, regularized=True)
        return alpha, beta, power - mp.exp(mpf(float(t))) * alpha


def relative(found, exact):
    return abs(float(mpf(float(found)) / exact - 1))


TAILS = (1e-1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-60)
TAIL_STEPS = 2 ** np.arange(7, 13)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_observed_order_of_the_saddlepoint_is_relative_and_uniform_in_the_tails(degree):
    """The worst relative error over tails from 1e-1 to 1e-60 falls like n^-(d+1)/2, for alpha, beta and delta."""
    worst = []
    for n in TAIL_STEPS:
        expansion = TiltedExpansion(composed(n), degree)
        right = np.array([right_threshold(n, tail) for tail in TAILS])
        left = np.array([left_threshold(n, tail) for tail in TAILS])
        truth_right, truth_left = [exact_tails(n, t) for t in right], [exact_tails(n, t) for t in left]
        worst.append(
            [
                max(relative(one, two[0]) for one, two in zip(expansion.alpha(right), truth_right, strict=True)),
                max(relative(one, two[1]) for one, two in zip(expansion.beta(left), truth_left, strict=True)),
                max(relative(one, two[2]) for one, two in zip(expansion.delta(right), truth_right, strict=True)),
            ]
        )
    for errors in np.transpose(worst):
        assert slope_of(errors, TAIL_STEPS) == pytest.approx(-(degree + 1) / 2, abs=0.1)


def test_the_saddlepoint_curve_keeps_the_relative_error_of_its_tests():
    """f(alpha) and 1 - f(alpha) from the composed curve, alpha down to 1e-12: the hull and the search add nothing."""
    n = 256
    curve = saddlepoint.compose(composed(n), degree=4).value
    for tail in (1e-1, 1e-3, 1e-6, 1e-12):
        alpha, _, delta = exact_tails(n, right_threshold(n, tail))
        power = delta + mp.exp(mpf(float(right_threshold(n, tail)))) * alpha
        assert relative(curve.power(float(alpha)), power) < 1e-6
        _, beta, _ = exact_tails(n, left_threshold(n, tail))
        alpha = exact_tails(n, left_threshold(n, tail))[0]
        if float(alpha) < 1:
            assert curve.inverse()(float(beta)) == pytest.approx(float(alpha), rel=1e-6)
