"""K(c) = log E_P[e^(cL)] of one step from its nodes, with a bound on its rounding error.

Small terms are summed, never 1 + small: E_P[e^L] = 1 is used exactly. docs/proofs/contour.md, section 8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.log_sums import log_sum
from edgeworth.errors import ComputationFailed
from edgeworth.losses.moments import excess

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["NATS", "PANELS", "SUM_ROUNDING", "certified_mean", "certified_moment", "weight_noise"]

_UNIT = 2.0**-53
SUM_ROUNDING = 64 * _UNIT  # of a pairwise sum and its sines, relative to the sum of the terms' sizes
_ADDED = 48 * float(np.finfo(np.longdouble).eps)  # the same of a sum in extended precision, where there is one
NATS = 42.0  # e^-42 = 6e-19: what each error of the quadrature may leave, relative to the peak
PANELS = 10 * _UNIT  # Gauss-Legendre panels are exact but for their weights, which are known to 1e-15
_LARGEST = 600.0  # of an exponent
_NEAR_Q = 0.5  # of the distance of a tilt from 1, below which moments are taken over Q


def weight_noise(loss: Array, log_weight: Array, c: float) -> Array:
    """Relative rounding error of e^(cL + log weight): some ulps of each exponent, and of e^ itself."""
    return np.asarray(_UNIT * (8 + 13 * np.abs(c * loss) + 3 * np.abs(log_weight)))


def certified_moment(
    loss: Array,
    log_weight: Array,
    c: float,
    missing: float = 0.0,
    extra: Array | float = 0.0,
    moved: Array | float = 0.0,
) -> tuple[float, float]:
    """Log E_P[e^(cL)] without the cancellation of 1 + small, and a bound on its rounding error.

    `missing` is what small terms do not have of a law that is not whole, `extra` the noise of its window, and `moved`
    the absolute error of L, besides a relative one.
    """
    tilted = c * loss
    if (tilted + log_weight).max() < _LARGEST and loss.max() < _LARGEST:
        if abs(c - 1) < _NEAR_Q:
            terms, error = _terms_over_q(loss, log_weight, c, extra, moved)
        else:
            terms, error = _terms_over_p(loss, log_weight, c, extra, moved)
        gain = float(np.add.reduce(terms, dtype=np.longdouble) + missing)
        if not gain > -1:
            raise ComputationFailed("rounding outweighs the moment of a step at this tilt")
        return math.log1p(gain), error / (1 + gain) + 2 * _UNIT * abs(math.log1p(gain))
    value = log_sum(tilted + log_weight)
    noise = weight_noise(loss, log_weight, c) + extra + abs(c) * moved
    worst = float(np.max(noise[tilted + log_weight > value - NATS]))
    return value, worst + SUM_ROUNDING + 4 * _UNIT * abs(value)


def certified_mean(
    loss: Array, log_weight: Array, c: float, missing: float, extra: Array | float, moved: Array | float
) -> tuple[float, float]:
    """E_P[L e^(cL)] by terms of second order, L (e^(cL) - 1) - e2(L), as E_P[e^L - 1] is known, and its rounding error.

    `missing` is E_P[e^L - 1] of a law that is not whole; no cL is large.
    """
    weight, length = np.exp(log_weight), np.abs(loss)
    growth = np.expm1(c * loss)
    turned, plain = weight * loss * growth, weight * excess(loss)
    noise = _UNIT * (48 + 13 * (abs(c) + 1) * length + 6 * np.abs(log_weight)) + (2 * extra + _ADDED)
    # As L moves, a term moves by e^(cL) - 1 + cL e^(cL) - (e^L - 1) times as much.
    slope = weight * (np.abs(growth) + abs(c) * length * (1 + growth) + np.abs(np.expm1(loss)))
    mean = float(np.add.reduce(turned - plain, dtype=np.longdouble) + missing)
    return mean, float((noise * (np.abs(turned) + plain) + slope * (13 * _UNIT * length + moved)).sum())


def _terms_over_p(
    loss: Array, log_weight: Array, c: float, extra: Array | float, moved: Array | float
) -> tuple[Array, float]:
    """The terms of E_P[e2(cL) - c e2(L)], e2(z) = e^z - 1 - z, and a bound on their errors."""
    tilted = c * loss
    weight, exponents = np.exp(log_weight), np.empty((2, loss.size))
    np.minimum(tilted, _LARGEST, out=exponents[0])
    exponents[1] = loss
    raised, plain = weight * excess(exponents)
    plain *= c
    if tilted.max() > _LARGEST:  # there e^(cL) overflows, and all else is below its ulps
        steep = tilted > _LARGEST
        raised[steep] = np.exp(tilted[steep] + log_weight[steep])
    size, length = np.abs(raised) + np.abs(plain), np.abs(loss)
    noise = _UNIT * (48 + 13 * (abs(c) + 1) * length + 6 * np.abs(log_weight)) + (2 * extra + _ADDED)
    # As L moves, a term moves by c (e^(cL) - e^L) times as much: at most (|c| + 1) its size, and |c (c-1) L|.
    slope = (abs(c) + 1) * size + abs(c * (c - 1)) * (weight * length)
    return raised - plain, float((noise * size + slope * moved).sum())


def _terms_over_q(
    loss: Array, log_weight: Array, c: float, extra: Array | float, moved: Array | float
) -> tuple[Array, float]:
    """The same terms as E_Q[e2(-sL) - s e2(-L)], s = 1 - c: near c = 1 all of them are of the size of s."""
    s = 1 - c
    weight = np.exp(log_weight + loss)
    raised, plain = weight * excess(np.stack([-s * loss, -loss]))
    plain *= s
    noise = _UNIT * (68 + 13 * (abs(s) + 1) * np.abs(loss) + 7 * np.abs(log_weight)) + (2 * extra + _ADDED)
    slope = abs(c) * weight * np.abs(np.expm1(-s * loss))
    return raised - plain, float((noise * (np.abs(raised) + np.abs(plain)) + slope * moved).sum())
