"""A first guess of delta(eps) in a few milliseconds, to start a certified search close to its end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from edgeworth.losses import GaussianLoss, LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["log_delta"]

_NEWTON_STEPS = 40
_CLOSE = 1e-8  # of the saddle, in widths of the law: slopes are taken of these guesses
_TINY = 1e-300
_LEAST = 1e-3  # of delta where the loss exceeds eps more often than not
_SEPARATED = 1e3
_LONGEST = 50.0  # a step of the tilt, relative
_FAR_FROM_NORMAL = 12.0  # an excess kurtosis


def log_delta(total: TotalLoss, epsilon: float) -> float:
    """The leading saddle-point term of log delta(eps), eps >= 0, forward; -inf or 0 where the saddle is out of reach.

    At the tilt c with K'(c) = eps the tilted law is taken for a normal one of variance s^2 = K''(c), unless it is far
    from one: at tiny rates a single step is what exceeds eps, if anything does. With
    E = K(c) + (1 - c) eps and R(x) = erfcx(x/sqrt 2), delta = e^E (R((c-1) s) - R(c s))/2 for c > 1, and
    delta = 1 - e^E (R((1-c) s) + R(c s))/2 for 0 < c < 1.
    """
    if epsilon >= total.support[1]:
        return -math.inf
    hidden = math.prod((1 - _seen(loss)) ** n for loss, n in total.parts)
    if hidden < 1:
        return math.log1p(-hidden)
    found = _saddle(total, epsilon)
    if isinstance(found, float):
        return found
    c, k, variance = found
    if _kurtosis(total, c) > _FAR_FROM_NORMAL:
        return _one_step_alone(total, epsilon)
    s, front = math.sqrt(variance / 2), k + (1 - c) * epsilon
    if c > 1:
        return front + math.log(max(float(erfcx((c - 1) * s) - erfcx(c * s)) / 2, _TINY))
    rest = math.exp(min(front, 0.0)) * float(erfcx((1 - c) * s) + erfcx(max(c, 0.0) * s)) / 2
    return math.log1p(-min(rest, 1 - _LEAST))


def _seen(loss: PrivacyLoss) -> float:
    """How often noise is so small that the record is seen, and nodes would be too many; 0 where it hides something."""
    if isinstance(loss, SampledLoss):
        separates = isinstance(loss.base, GaussianLoss) and loss.base.mu > _SEPARATED
        return loss.rate * (1.0 if separates else _seen(loss.base))
    return 1.0 if isinstance(loss, LaplaceLoss) and loss.theta > _SEPARATED else 0.0


def _kurtosis(total: TotalLoss, c: float) -> float:
    """The excess kurtosis of the tilted law: large where it is one rare step that decides, and not the sum of all."""
    row = total.tilted(np.array([c]), 4, (min(c, 0.0), max(c, 1.0)))[0]
    return float(row[4] / row[2] ** 2)


def _one_step_alone(total: TotalLoss, epsilon: float) -> float:
    """The logarithm of sum n_i delta_i(eps), delta_i = Q[L > eps] - e^eps P[L > eps]."""
    tails = [(n, *loss.distribution(np.array([epsilon]))[1::2]) for loss, n in total.parts]
    leaked = math.fsum(n * max(float(seen[0]) - math.exp(epsilon) * float(null[0]), 0.0) for n, null, seen in tails)
    return math.log(min(leaked, 1.0)) if leaked > 0 else -math.inf


def _saddle(total: TotalLoss, epsilon: float) -> tuple[float, float, float] | float:
    """c, K(c) and K''(c) with K'(c) = eps; the limit of log delta if no tilt within reach has it.

    K' is convex and grows like an exponential: Newton from the left overshoots, and from the right it is the logarithm
    of K' that takes him back.
    """
    c, mean, (low, high) = 1.0, 0.0, total.steepest
    for _ in range(_NEWTON_STEPS):
        row = total.tilted(np.array([c]), 2, (min(c, 0.0), max(c, 1.0)))[0]
        k, mean, variance = (float(entry) for entry in row)
        if not 0 < variance < math.inf:
            break
        if abs(mean - epsilon) < _CLOSE * math.sqrt(variance):
            return c, k, variance
        low, high = (c, high) if mean < epsilon else (low, c)
        step = (
            epsilon - mean if mean < epsilon or mean <= 0 else mean * math.log(max(epsilon / mean, 1e-9))
        ) / variance
        moved = c + min(max(step, -_LONGEST * (1 + abs(c))), _LONGEST * (1 + abs(c)))
        c = moved if low < moved < high else (max(low, -1e300) / 2 + min(high, 1e300) / 2)
    return -math.inf if mean < epsilon else 0.0
