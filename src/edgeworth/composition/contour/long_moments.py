"""K and the mean of a whole sample in extended precision: of very many steps the ulps of doubles add up.

`docs/proofs/contour.md` proves the bounds, section 8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    from edgeworth.losses.law import Array

    Long = NDArray[Any]

__all__ = ["HAS_MORE_DIGITS", "LongMoments", "long_moments"]

_UNIT = 2.0**-53
_FINE = float(np.finfo(np.longdouble).eps) / 2  # the unit of what is computed here
#: whether there is an extended precision, as on x86: where there is none, doubles are all that there is
HAS_MORE_DIGITS = _FINE < _UNIT / 1000
_ADDED = 96 * _FINE  # of a pairwise sum of at most 60000 terms, relative to the sum of their sizes
_LOW = 0.5  # what 1 - p + p e^b may have lost of 1 before it is added up from its two parts
_LARGEST = 600.0  # of an exponent
_SLACK = 1e-6  # relative to the sizes of its terms, of a sum that is known to far more digits, and for second order
_MORE_OF_PI = 1.2246467991473532e-16 / math.pi  # that pi is more than its double, relative to itself
_NEAR_Q = 0.5  # of the distance of a tilt from 1, below which moments are taken over Q


class LongMoments(NamedTuple):
    """Log E_P[e^(cL)] and E_P[L e^(cL)], each the nearest double or next to it, and bounds on their errors."""

    log_moment: float
    log_moment_error: float
    mean: float
    mean_error: float


def long_moments(step: SampledGaussian, c: float, h: float, x: Array) -> LongMoments | None:
    """Both from the trapezoidal rule at multiples x of h; E_P[e^L] = 1 is used, as its quadrature is bounded, too.

    None where numbers would overflow.

    >>> import edgeworth as ew
    >>> from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    >>> from edgeworth.losses import TotalLoss
    >>> ((sample, _),) = TotalLoss.of(ew.PoissonSampled(ew.Gaussian(1.0), rate=0.5)).parts
    >>> found = long_moments(SampledGaussian(sample, 1.0, 0.5), 2.0, 0.25, 0.25 * np.arange(-60, 61))
    >>> math.isclose(found.log_moment, math.log1p(0.25 * math.expm1(1.0)), rel_tol=4e-16)
    True
    """
    places = np.rint(x / h).astype(np.longdouble) * np.longdouble(h)
    loss, moved = _losses(step, places)
    if not max(abs(c), 1.0) * float(np.abs(loss).max()) < _LARGEST:
        return None
    density = np.exp(-0.5 * places * places) * (np.longdouble(h) / np.sqrt(2 * np.longdouble(math.pi)))
    density *= 1 - np.longdouble(_MORE_OF_PI) / 2
    noise = _FINE * (64 + 2 * np.square(x) + 13 * (abs(c) + 2) * np.abs(loss).astype(float)) + _ADDED
    by_mu = step.mu * step.posterior(x) * (x - step.mu)
    gain, gain_error = _summed(_less_one(density, loss, c), noise, moved, by_mu)
    mean, mean_error = _summed(_mean(density, loss, c), noise, moved, by_mu)
    log_moment = math.log1p(gain)
    error = gain_error / (1 + gain) * (1 + 1e-9) + 2 * _UNIT * abs(log_moment)
    return LongMoments(log_moment, error, mean, mean_error * (1 + 1e-9))


class _Terms(NamedTuple):
    """The terms of a sum, the sum of the sizes of their parts, and their slopes in L, which may be off relatively."""

    term: Long
    size: Long
    slope: Long
    slope_size: Long


def _summed(terms: _Terms, noise: Array, moved: Array, by_mu: Array) -> tuple[float, float]:
    """The nearest double, and a bound on its error: of terms, of each L, and of mu, which has an ulp of a double.

    All losses move with mu together, by mu dL/dmu = mu r (x - mu) times its relative error.
    """
    value = float(np.add.reduce(terms.term))
    with_mu = abs(float((terms.slope * by_mu).sum())) + _SLACK * float((terms.slope_size * np.abs(by_mu)).sum())
    error = float((noise * terms.size + terms.slope_size * moved).sum()) + _UNIT * with_mu
    return value, error + _UNIT * abs(value)


def _losses(step: SampledGaussian, x: Long) -> tuple[Long, Array]:
    """L at every place, for this mu, and how far each may be off."""
    mu, rate = np.longdouble(step.mu), np.longdouble(step.rate)
    base = mu * x - mu * mu / 2
    rise = rate * np.expm1(base)
    low = rise < -_LOW
    loss = np.where(low, np.log((1 - rate) + rate * np.exp(base)), np.log1p(np.where(low, 0.0, rise)))
    near = x.astype(float)
    moved = 8 * _FINE * step.mu * step.posterior(near) * (np.abs(near) + step.mu)
    return loss, moved + 32 * _FINE * np.abs(loss).astype(float)


def _less_one(density: Long, loss: Long, c: float) -> _Terms:
    """E_P[e^(cL)] - 1 = E_P[e^(cL) - 1 - c (e^L - 1)], over P or over Q, where all terms are of the size of 1 - c."""
    near, s = abs(c - 1) < _NEAR_Q, 1 - np.longdouble(c)
    weight: Long = density * np.exp(loss) if near else density
    raised: Long = np.expm1(-s * loss) if near else np.expm1(c * loss)
    plain: Long = s * np.expm1(-loss) if near else c * np.expm1(loss)
    slope: Long = c * weight * (raised if near else raised - np.expm1(loss))
    return _Terms(weight * (raised - plain), weight * (np.abs(raised) + np.abs(plain)), slope, np.abs(slope))


def _mean(density: Long, loss: Long, c: float) -> _Terms:
    """E_P[L e^(cL)] = E_P[L (e^(cL) - 1) - (e^L - 1 - L)]."""
    growth, plain, length = np.expm1(c * loss), np.expm1(loss), np.abs(loss)
    slope: Long = density * (growth + c * loss * (1 + growth) - plain)
    slope_size = density * (np.abs(growth) + abs(c) * length * (1 + growth) + np.abs(plain))
    size = density * (length * np.abs(growth) + np.abs(plain) + length)
    return _Terms(density * (loss * growth - (plain - loss)), size, slope, slope_size)
