"""Whole-number noise: losses on an exact lattice, with masses to a few ulps each.

Noise k is drawn under P, k + D under Q, with D the sensitivity. Exponents such as k^2/(2 sigma^2) reach 700, where a
relative error of one ulp is 1e-13 in the mass: the factor is carried in two doubles.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.errors import TooLarge
from edgeworth.exact import exact_quotient
from edgeworth.losses.atomic import BinaryLoss, LatticeLoss
from edgeworth.losses.gaussian import GaussianLoss
from edgeworth.losses.law import Lattice, PrivacyLoss
from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import DiscreteGaussian, DiscreteLaplace

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["DiscreteGaussianLoss", "DiscreteLaplaceLoss"]

_MOST_ATOMS = 2**22  # 32 MB an array
_MOST_DECIMALS = 2000  # atoms in decimal arithmetic: a tenth of a second
_REACH = 37.5  # sigmas: the normal tail beyond is below e^-706
_ROOM = 9.5  # sigmas around a peak that hold all but e^-45 of its mass
_LEAST_SCALE = 1e-50  # of smaller scales every mass but the largest is 0, and every loss beyond 1e49
_SELF_DUAL = 0.4  # sigma at which the sum over k and its Poisson transform fall equally fast (1/sqrt(2 pi))
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_SPLIT = 2.0**27 + 1  # halves a double into two factors of 26 bits (Veltkamp)


def _decay(whole: Array, rate: Fraction) -> tuple[Array, Array]:
    """The product whole * rate, and e^-(whole * rate) to some ulps, for whole numbers below 2^53."""
    high = float(rate)
    low = float(rate - Fraction(high))
    product = whole * high
    a, b = _halves(whole), _halves(np.asarray(high))
    error = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]  # Dekker: product + error is exact
    return product, np.exp(-product) * (1 - np.clip(error + whole * low, -0.5, 0.5))


def _halves(x: Array) -> tuple[Array, Array]:
    big = _SPLIT * x
    high = big - (big - x)
    return high, x - high


def _refuse_many(mechanism: str, atoms: int) -> None:
    if atoms > _MOST_ATOMS:
        raise TooLarge(
            f"{mechanism} has {atoms} values that count, more than {_MOST_ATOMS}; release it in coarser units, "
            "that is, divide the query, the scale and the sensitivity by a common factor"
        )


class DiscreteGaussianLoss(LatticeLoss):
    """L = (2k - D) D/(2 sigma^2) with P[k] proportional to e^(-k^2/(2 sigma^2)): all reals in steps of D/sigma^2.

    The atoms kept are those within 37.5 sigma of 0 or D; both laws have less than e^-700 beyond.
    """

    def __init__(self, scale: float, sensitivity: int) -> None:
        sigma = max(scale, _LEAST_SCALE)
        reach = math.ceil(_REACH * min(sigma, 1e300))
        _refuse_many(f"DiscreteGaussian(scale={scale!r}, sensitivity={sensitivity!r})", 2 * reach + sensitivity + 1)
        k = np.arange(-reach, sensitivity + reach + 1, dtype=np.float64)
        exact = Fraction(sigma)
        exponent, decay = _decay(k * k, 1 / (2 * exact * exact))
        whole, log_whole = _theta(sigma)
        spacing = float(sensitivity / (exact * exact))
        lattice = Lattice(spacing, float(-(sensitivity**2) / (2 * exact * exact)), -reach, -exponent - log_whole)
        null = decay / whole
        super().__init__(lattice, (2 * k - sensitivity) * (spacing / 2), null, null[::-1])
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "sensitivity", sensitivity)

    sigma: float
    sensitivity: int

    @property
    def support(self) -> tuple[float, float]:
        """All reals: every whole number can be drawn."""
        return -math.inf, math.inf

    @property
    def steepest(self) -> tuple[float, float]:
        """The tilts whose peak, at k = cD, lies well among the atoms that are kept."""
        most = (_REACH - _ROOM) * self.sigma / self.sensitivity
        return -most, 1 + most

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """The atoms in decimal arithmetic, or fewer nodes where these cannot tell the difference.

        Where the spacing 1/sigma is finer than the trapezoidal rule for continuous noise needs, both sums are the
        integral to 10^-digits, and so each other.
        """
        continuous = GaussianLoss(self.sensitivity / self.sigma)
        if self.sigma * continuous.decimal_step(digits) >= 1:
            return continuous.decimal_nodes(digits)
        reach = math.ceil(self.sigma * math.sqrt(2 * (2.31 * digits + 10))) + 1
        with localcontext() as context:
            context.prec = digits + 10
            rate, shift = 1 / (2 * Decimal(self.sigma) ** 2), self.sensitivity
            numbers = range(-reach, shift + reach + 1)
            weight = [(-rate * k * k).exp() for k in numbers]
            total = sum(weight, Decimal(0))
            return [(2 * k - shift) * shift * rate for k in numbers], [w / total for w in weight]

    def cumulants(self, order: int) -> Cumulants:
        """kappa_1 = -D^2/(2 sigma^2) and kappa_r = (D/sigma^2)^r times that of k; the odd ones of k are 0.

        Those of k are the Taylor coefficients of log A(s), A(s) = 1 + 2 sum_m q^(m^2) cosh(ms), q = e^(-1/(2 sigma^2)),
        or by Poisson summation of sigma^2 s^2/2 + log(1 + 2 sum_m e^(-2 pi^2 sigma^2 m^2) cos(2 pi m sigma^2 s)):
        whichever falls faster. Decimals keep the tiny ones. Under Q the odd cumulants change sign.
        """
        with localcontext() as context:
            context.prec = 100
            variance, step = Decimal(self.sigma) ** 2, self.sensitivity / Decimal(self.sigma) ** 2
            if self.sigma < _SELF_DUAL:
                terms = [(2 * (-m * m / (2 * variance)).exp(), Decimal(m * m)) for m in range(1, 13)]
            else:
                terms = [
                    (2 * (-2 * (_PI * m) ** 2 * variance).exp(), -((2 * _PI * m * variance) ** 2)) for m in range(1, 13)
                ]
            even = _even_cumulants(terms, order // 2)
            if self.sigma >= _SELF_DUAL and even:
                even[0] += variance
            null = np.zeros(order)
            null[0] = float(-self.sensitivity * step / 2)
            for j, kappa in enumerate(even, start=1):
                null[2 * j - 1] = float(kappa * step ** (2 * j))
        return Cumulants(null, null * (-1.0) ** np.arange(1, order + 1))


def _theta(sigma: float) -> tuple[float, float]:
    """The sum of e^(-k^2/(2 sigma^2)) over all whole k, and its logarithm; by Poisson summation for sigma >= 0.4."""
    m = np.arange(1, 13)
    if sigma < _SELF_DUAL:
        rest = 2 * math.fsum(np.exp(-m * m / (2 * sigma * sigma)))
        return 1 + rest, math.log1p(rest)
    rest, front = 2 * math.fsum(np.exp(-2 * (np.pi * m * sigma) ** 2)), sigma * math.sqrt(2 * math.pi)
    return front * (1 + rest), math.log(front) + math.log1p(rest)


def _even_cumulants(terms: list[tuple[Decimal, Decimal]], count: int) -> list[Decimal]:
    """kappa_2, kappa_4, … of log(1 + sum of w cosh(a s)), given as pairs w, a^2.

    With u = s^2 the series is c_0 + c_1 u + …, and j c_j = sum_{i=1}^j i l_i c_(j-i) gives the logarithm's l_j.
    """
    series = [sum((w * square**j for w, square in terms), Decimal(0)) / factorial(2 * j) for j in range(count + 1)]
    series[0] += 1
    logs = [Decimal(0)]
    for j in range(1, count + 1):
        known = sum((i * logs[i] * series[j - i] for i in range(1, j)), Decimal(0)) / j
        logs.append((series[j] - known) / series[0])
    return [logs[j] * factorial(2 * j) for j in range(1, count + 1)]


class DiscreteLaplaceLoss(LatticeLoss):
    """L = (2j - D)/b for j = 0 … D: with q = e^(-1/b), P has the masses 1, (1-q) q^j, …, q^D over 1 + q."""

    def __init__(self, scale: float, sensitivity: int) -> None:
        b = max(scale, _LEAST_SCALE)
        _refuse_many(f"DiscreteLaplace(scale={scale!r}, sensitivity={sensitivity!r})", sensitivity + 1)
        exact = Fraction(b)
        j = np.arange(sensitivity + 1, dtype=np.float64)
        exponent, decay = _decay(j, 1 / exact)
        share = np.full(sensitivity + 1, -math.expm1(-1 / b))
        share[[0, -1]] = 1.0
        whole = 1 + math.exp(-1 / b)
        log_null = -exponent + np.log(share) - math.log1p(math.exp(-1 / b))
        lattice = Lattice(float(2 / exact), float(-sensitivity / exact), 0, log_null)
        null = decay * share / whole
        loss = (2 * j - sensitivity) * (1 / b)
        super().__init__(lattice, loss, null, null[::-1])
        object.__setattr__(self, "scale", b)
        object.__setattr__(self, "sensitivity", sensitivity)

    scale: float
    sensitivity: int

    @property
    def largest(self) -> Fraction:
        """D/b."""
        return self.sensitivity / Fraction(self.scale)

    def decimal_nodes(self, digits: int) -> DecimalNodes | None:
        """The atoms in decimal arithmetic, where there are not too many."""
        if self.sensitivity > _MOST_DECIMALS:
            return None
        with localcontext() as context:
            context.prec = digits + 10
            rate, last = 1 / Decimal(self.scale), self.sensitivity
            q = (-rate).exp()
            weight = [(1 if j in (0, last) else 1 - q) * q**j / (1 + q) for j in range(last + 1)]
            return [(2 * j - last) * rate for j in range(last + 1)], weight

    def cumulants(self, order: int) -> Cumulants:
        """Taylor coefficients of log M(s), (1+q)(1-r) M(s) = e^(-sD/b) (1 - q r + q r^D - r^(D+1)), r = q e^(2s/b).

        A geometric sum, so the cost does not grow with D; decimal arithmetic keeps the digits that cancel when D/b is
        small. Under Q the odd cumulants change sign.
        """
        last = self.sensitivity
        small, fine = max(0.0, math.log10(self.scale / last)), max(0.0, math.log10(self.scale))
        rare = min(1 / self.scale, 2000.0) / math.log(10)  # the digits of q, which the small cumulants start with
        with localcontext() as context:
            context.prec = 60 + math.ceil(order * (4 + 2 * small) + 4 * fine + rare)
            rate = 1 / Decimal(self.scale)
            q = (-rate).exp()
            far = q ** (last + 1)
            exponentials = [(Decimal(1), -last), (-q * q, 2 - last), (far, last), (-far, last + 2)]
            top = [
                sum((weight * ((power * rate) ** k if k else 1) for weight, power in exponentials), Decimal(0))
                / factorial(k)
                for k in range(order + 1)
            ]
            bottom = [(1 - q) * (1 + q), *(-q * (1 + q) * (2 * rate) ** k / factorial(k) for k in range(1, order + 1))]
            moment: list[Decimal] = []
            for k in range(order + 1):
                known = sum((bottom[i] * moment[k - i] for i in range(1, k + 1)), Decimal(0))
                moment.append((top[k] - known) / bottom[0])
            logs = [Decimal(0)]  # k l_k = k m_k - sum_j j l_j m_(k-j)
            for k in range(1, order + 1):
                logs.append(moment[k] - sum((j * logs[j] * moment[k - j] for j in range(1, k)), Decimal(0)) / k)
            null = np.array([float(logs[k] * factorial(k)) for k in range(1, order + 1)])
        return Cumulants(null, null * (-1.0) ** np.arange(1, order + 1))


@privacy_loss.register
def _(mechanism: DiscreteGaussian) -> PrivacyLoss:
    if mechanism.sensitivity == 0:
        return GaussianLoss(0.0)
    return DiscreteGaussianLoss(mechanism.scale, mechanism.sensitivity)


@privacy_loss.register
def _(mechanism: DiscreteLaplace) -> PrivacyLoss:
    """At sensitivity 0 nothing leaks; at 1 it is randomized response."""
    if mechanism.sensitivity <= 1:
        scale = max(mechanism.scale, _LEAST_SCALE)
        return BinaryLoss(mechanism.sensitivity / scale, exact=exact_quotient(mechanism.sensitivity, scale))
    return DiscreteLaplaceLoss(mechanism.scale, mechanism.sensitivity)
