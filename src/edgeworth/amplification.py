"""What Poisson sampling at a rate p makes of a loss L: log(1 - p + p e^L); and the way back.

Every form is without cancellation or overflow where it is used: each carries all digits that its argument has.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.exact import TwoDoubles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["above_least", "base_loss", "has_known_end", "sampled_end", "sampled_loss"]

_LARGEST_EXPONENT = 700.0
_LEAST = 1e-280  # of a loss times a rate: far less underflows
_LOW = 0.5  # what 1 - p + p e^L may have lost of 1 before it is added up from its two parts
_RARE, _TERMS = 1e-8, 6  # a rate below which so many terms less one of log(1 - p) leave 40 digits
_DIGITS = 60
_FAR = 40.0  # losses beyond which e^-L is below an ulp


def sampled_loss(base: Array, rate: float) -> Array:
    """log(1 - p + p e^L), the loss of the sample, 0 < p < 1.

    >>> sampled_loss(np.array([-800.0, 0.0, 800.0]), 0.5).tolist()  # doctest: +ELLIPSIS
    [-0.693147180559..., 0.0, 799.306852819...]
    """
    # Up to L = 700 expm1 is finite and carries all digits; beyond, L itself does.
    moderate = base if base.max(initial=-math.inf) <= _LARGEST_EXPONENT else np.minimum(base, _LARGEST_EXPONENT)
    rise = rate * np.expm1(moderate)
    if rate > _LOW:
        low = rise < -_LOW
        loss = np.where(low, np.log((1 - rate) + rate * np.exp(moderate)), np.log1p(np.where(low, 0.0, rise)))
    else:
        loss = np.log1p(rise)
    if moderate is base:
        return np.asarray(loss)
    large = np.maximum(base, _LARGEST_EXPONENT) + math.log(rate)
    return np.where(base <= _LARGEST_EXPONENT, loss, large + np.log1p((1 - rate) * np.exp(-large)))


def base_loss(loss: Array, rate: float) -> Array:
    """The inverse of `sampled_loss`: log(1 + (e^l - 1)/p), -inf below log(1 - p).

    >>> base_loss(np.array([-1.0, 0.0, 799.306852819440]), 0.5).tolist()  # doctest: +ELLIPSIS
    [-inf, 0.0, 799.99999999999...]
    """
    least = math.log1p(-rate)
    near = max(least / 2, -math.log(2))
    rise = np.expm1(np.clip(loss, near, _FAR))
    steep = rise > 1e250 * rate  # the quotient would overflow
    with np.errstate(divide="ignore"):
        moderate = np.log1p(np.where(steep, 0.0, rise) / rate)
        level = np.log(np.where(steep, rise, 1.0)) - math.log(rate)
        low = _low(np.minimum(loss, 0.0), rate)
    big = np.maximum(loss, _FAR)
    large = big - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-big))
    far = np.where(loss > _FAR, large, np.where(steep, level, moderate))
    return np.where(loss < near, low, far)


def _low(loss: Array, rate: float) -> Array:
    """The same for l <= 0: l + log(1 - (1-p)(e^-l - 1)/p), or log((e^(l - log(1-p)) - 1) (1-p)/p) near its end.

    Away from log(1-p) that has the digits of l: those of log(1-p) may be many where p is near 1.
    """
    above = np.maximum(above_least(loss, rate), 0.0)
    gone = np.expm1(-np.where(above > 0, loss, 0.0)) / rate * (1 - rate)
    near = np.log(np.expm1(above) / rate * (1 - rate))
    return np.where((above > 0) & (gone < _LOW), loss + np.log1p(-np.minimum(gone, _LOW)), near)


def above_least(loss: Array, rate: float) -> Array:
    """How far l is above log(1 - p), of which all digits are right however near the two are.

    >>> above_least(np.array([np.log1p(-0.3)]), 0.3).tolist()  # doctest: +ELLIPSIS
    [2.6895...e-17]
    """
    return -_least(rate).less(loss)


@lru_cache(maxsize=1024)
def _least(rate: float) -> TwoDoubles:
    """log(1 - p), the least loss of a sample."""
    p = Fraction(rate)
    if rate < _RARE:
        return TwoDoubles.of(-sum((p**k / k for k in range(1, _TERMS)), Fraction(0)))
    with localcontext(prec=_DIGITS):
        return TwoDoubles.of(Fraction((1 - Decimal(rate)).ln()))


def has_known_end(end: Fraction | None, rate: float) -> bool:
    """Whether `sampled_end` applies to a symmetric base with this largest loss, and exponentials do not overflow."""
    return end is not None and 0 < end < _LARGEST_EXPONENT and float(end) * rate > _LEAST


@lru_cache(maxsize=1024)
def sampled_end(end: Fraction, rate: float) -> Fraction:
    """The loss of the sample at a base loss that is a rational number, to some sixty digits.

    >>> float(sampled_end(Fraction(1, 2), 0.25)) == float(sampled_loss(np.array([0.5]), 0.25)[0])
    True
    """
    lost = math.ceil(-math.log10(min(abs(float(end)), 1.0) * rate))
    with localcontext(prec=_DIGITS + lost):
        base = Decimal(end.numerator) / Decimal(end.denominator)
        return Fraction((1 + Decimal(rate) * (base.exp() - 1)).ln())
