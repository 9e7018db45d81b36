"""The standard normal law to a few ulp over the whole range of doubles, and two-term sums to feed it.

phi(y) is the density, Phi the distribution function, R(y) = Phi(-y)/phi(y) the Mills ratio. An argument may
come as an unevaluated sum high + low: at y = 37 one rounding of y alone moves phi(y) by 1e-13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, ndtr, ndtri

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["density", "mills", "mills_drop", "quotient", "tail", "two_sum", "upper_quantile"]

_SQRT_HALF = np.sqrt(0.5)
_SQRT_HALF_PI = np.sqrt(np.pi / 2)
_INV_SQRT_TWO_PI = 1 / np.sqrt(2 * np.pi)
_BEYOND_DENSITY = 1e3  # phi underflows from 38.6 on
_SERIES_FROM = 10.0  # 26 terms of the asymptotic series of R' are exact to 3e-17 here and beyond
_SERIES = np.array([(-1.0) ** k * float(np.prod(np.arange(1.0, 2 * k + 2, 2))) for k in range(26)])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)  # error 5.8**-40 while R does not halve
_TINY_NORMAL = 1e-305  # below, the density is subnormal and cannot refine a quantile


def two_sum(a: Array | float, b: Array | float) -> tuple[Array, Array]:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly (Knuth)."""
    s = np.asarray(a + b, dtype=np.float64)
    shifted = s - a
    return s, np.asarray((a - (s - shifted)) + (b - shifted))


def quotient(a: Array, b: float) -> tuple[Array, Array]:
    """(q, e) with q = fl(a / b) and q + e = a / b to twice the precision of a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        q = a / b
        splittable = (np.abs(q) < 1e100) & (np.abs(q) > 1e-100) & (1e-100 < b < 1e100)
        q_high, q_low = _halves(np.where(splittable, q, 1.0))
        b_high, b_low = _halves(np.asarray(b if 1e-100 < b < 1e100 else 1.0))
        product = q * b
        lost = ((q_high * b_high - product) + q_high * b_low + q_low * b_high) + q_low * b_low
        return q, np.where(splittable, ((a - product) - lost) / b, 0.0)


def _halves(a: Array) -> tuple[Array, Array]:
    """The number a as a sum of two numbers of at most 26 bits (Dekker)."""
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def density(y: Array) -> Array:
    """phi(y) = e^(-y^2/2) / sqrt(2 pi) to 3 ulp: the square is split so that nothing is lost in it."""
    y = np.minimum(np.abs(y), _BEYOND_DENSITY)
    coarse = np.round(16 * y) / 16
    square, rest = coarse * coarse, (y - coarse) * (y + coarse)
    return np.asarray(np.exp(-square / 2) * np.exp(-rest / 2) * _INV_SQRT_TWO_PI)


def mills(y: Array) -> Array:
    """R(y) = Phi(-y)/phi(y); inf below about -37."""
    return np.asarray(_SQRT_HALF_PI * erfcx(y * _SQRT_HALF))


def mills_drop(x: Array, step: float) -> Array:
    """R(x) - R(x + step) > 0 for x >= -1 and step > 0, to a relative 3e-14.

    By subtraction while R halves over the step, else the integral of -R'(y) = 1 - y R(y) (Gauss-Legendre), its
    terms added in one order however many x there are: a number has the bits that it has in an array.
    """
    before, after = mills(x), mills(x + step)
    halved = after < before / 2
    if halved.all():
        return np.asarray(before - after)
    y = x + step * (_NODES[:, None] + 1) / 2
    integral = step / 2 * np.cumsum(_WEIGHTS[:, None] * _mills_slope(y), axis=0)[-1]
    return np.where(halved, before - after, integral)


def _mills_slope(y: Array) -> Array:
    """-R'(y) = 1 - y R(y) = 1/y^2 - 3/y^4 + 15/y^6 - ..."""
    far = y > _SERIES_FROM
    near = 1 - y * mills(np.where(far, 0.0, y))
    if not far.any():
        return np.asarray(near)
    inverse_square = 1 / np.square(np.where(far, np.minimum(y, 1e150), _SERIES_FROM))
    series = inverse_square * np.polynomial.polynomial.polyval(inverse_square, _SERIES)
    return np.where(far, series, near)


def tail(y: Array, y_low: Array | float = 0.0) -> Array:
    """Phi(-(y + y_low)) to a few ulp, for |y_low| of the order of an ulp of y."""
    upper = density(y) * mills(np.maximum(y, 0.0))
    return np.where(y > 0, upper, ndtr(-y)) - density(y) * y_low


def upper_quantile(alpha: Array) -> tuple[Array, Array]:
    """(z, z_low) with Phi(-(z + z_low)) = alpha, 0 < alpha < 1: one Newton step on ndtri, kept apart."""
    left = alpha <= 0.5
    rarer = np.where(left, alpha, 1 - alpha)
    z = -ndtri(rarer)
    refined = rarer > _TINY_NORMAL
    z_low = np.where(refined, (tail(z) - rarer) / density(np.where(refined, z, 0.0)), 0.0)
    return np.where(left, z, -z), np.where(left, z_low, -z_low)
