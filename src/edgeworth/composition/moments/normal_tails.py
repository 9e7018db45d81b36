"""Bounds on tails and on the profile of a total loss from the moments of one tilted law, the best of some tilts.

With x = T - t and E_c the mean under the law tilted by e^(cT - K(c)),

    P[T > t] = e^(K - c t) E_c[e^(-cx); x > 0],                                    c >= 0,
    Q[T > t] = e^(K - (c-1) t) E_c[e^(-(c-1)x); x > 0],                            c >= 1,
    delta(t) = e^(K - (c-1) t) E_c[e^(-(c-1)x) (1 - e^-x); x > 0],                 c >= 1.

The means on the right are at most the largest value of their function (Chernoff), differ from those of a normal law by
at most the function's total variation times the distance of the distribution functions (Berry–Esseen), and are at
least what lies within some deviations of the mean (Chebyshev). docs/proofs/moments.md has the proofs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr

from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.moments.tilted_moments import Rows
    from edgeworth.losses.law import Array

__all__ = ["LogEnds", "Tail", "log_ends"]

Tail: TypeAlias = Literal["null", "alternative", "profile"]

_UNIT = 2.0**-53
_NORMAL_ERROR = 2e-12  # relative, of one term of a normal mean
_READING = 2.5e3  # units of work
_FAR = -20.0  # erfcx overflows at -26
_DEVIATIONS = (1.2, 1.6, 2.2, 3.5)  # within which Chebyshev's inequality is used


class LogEnds(NamedTuple):
    """Logarithms of a lower and an upper end."""

    lower: Array
    upper: Array


def log_ends(kind: Tail, rows: Rows, t: Array) -> LogEnds:
    """Logarithms of ends at every threshold, the best of the tilts that serve this kind; (-inf, 0) if none does."""
    rows = rows.some((rows.tilt if kind == "null" else rows.excess) >= 0)
    if not rows.tilt.size:
        return LogEnds(np.full(t.size, -math.inf), np.zeros(t.size))
    spend(_READING * t.size)
    rate = (rows.tilt if kind == "null" else rows.excess)[:, None]
    k, mean, deviation, gap, doubt, drift = (column[:, None] for column in rows[2:])
    drift = drift + 2 * _UNIT * (np.abs(mean) + np.abs(t))
    log_least, log_most = _tilted_mean(kind, rate, mean - t, deviation, gap)
    log_least = np.maximum(log_least, _within(kind, rate, mean - t, deviation, drift))
    exponent = k - rate * t
    doubt = doubt + 8 * _UNIT * (np.abs(k) + np.abs(rate * t) + 64)
    lower, upper = exponent + log_least - doubt, exponent + log_most + doubt
    lower, upper = lower - 8 * _UNIT * np.abs(lower - exponent), upper + 8 * _UNIT * np.abs(upper - exponent)
    return LogEnds(np.max(lower, axis=0), np.minimum(np.min(upper, axis=0), 0.0))


def _tilted_mean(kind: Tail, rate: Array, centre: Array, deviation: Array, gap: Array) -> tuple[Array, Array]:
    """Logarithms of ends of E_c of the function: e^(-rate x), or that times 1 - e^-x, for x > 0."""
    log_normal = _log_normal(rate, centre, deviation)
    log_top = np.zeros_like(rate)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        error = _NORMAL_ERROR * np.exp(log_normal)
        normal = np.exp(log_normal)
        if kind == "profile":
            other = np.exp(_log_normal(rate + 1, centre, deviation))
            normal, error = np.maximum(normal - other, 0.0), error + _NORMAL_ERROR * other
            log_top = np.where(rate > 0, rate * np.log(rate) - (rate + 1) * np.log1p(rate), 0.0)
        off = 2 * np.exp(log_top) * gap + error
        least = np.maximum(normal - off, 0.0)
        log_most = np.minimum(np.log(normal + off), log_top)
        return np.log(least), log_most


def _log_normal(rate: Array, centre: Array, deviation: Array) -> Array:
    """The logarithm of E[e^(-rate x); x > 0] for a normal x."""
    z = centre / deviation
    w = rate * deviation - z
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.log(0.5 * erfcx(np.maximum(w, _FAR) / math.sqrt(2))) - 0.5 * z * z
        far = -rate * centre + 0.5 * (rate * deviation) ** 2 + log_ndtr(-w)
    return np.asarray(np.where(w > _FAR, near, far))


def _within(kind: Tail, rate: Array, centre: Array, deviation: Array, drift: Array) -> Array:
    """Log of the least value within some deviations of the mean, times the mass that is there by Chebyshev."""
    best = np.full(np.broadcast(rate, centre).shape, -math.inf)
    for far in _DEVIATIONS:
        low, high = centre - far * deviation - drift, centre + far * deviation + drift
        log_mass = math.log((1 - 1 / (far * far)) * (1 - 1e-9))
        if kind == "profile":
            with np.errstate(divide="ignore"):
                ends = [np.log(-np.expm1(-np.maximum(x, 0.0))) - rate * np.maximum(x, 0.0) for x in (low, high)]
            value = np.minimum(*ends)
        else:
            value = np.where(low > 0, -rate * high, -math.inf)
        best = np.maximum(best, value + log_mass)
    return best
