"""A first guess of delta(eps) in a few milliseconds, to start a certified search close to its end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from scipy.special import erfcx

from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["log_delta"]

_NEWTON_STEPS = 40
_CLOSE = 1e-8  # of the saddle, in widths of the law: slopes are taken of these guesses
_TINY = 1e-300
_LEAST = 1e-3  # of delta where the loss exceeds eps more often than not
_SEPARATED = 1e3
_LONGEST = 50.0  # a step of the tilt, relative


def log_delta(total: TotalLoss, epsilon: float) -> float:
    """The leading saddle-point term of log delta(eps), eps >= 0, forward; -inf or 0 where the saddle is out of reach.

    At the tilt c with K'(c) = eps the tilted law is taken for a normal one of variance s^2 = K''(c). With
    E = K(c) + (1 - c) eps and R(x) = erfcx(x/sqrt 2), delta = e^E (R((c-1) s) - R(c s))/2 for c > 1, and
    delta = 1 - e^E (R((1-c) s) + R(c s))/2 for 0 < c < 1.
    """
    if epsilon >= total.support[1]:
        return -math.inf
    seen = math.fsum(n * math.log1p(-loss.rate) for loss, n in total.parts if _separates(loss))
    if seen < 0:
        return math.log(-math.expm1(seen))
    found = _saddle(total, epsilon)
    if isinstance(found, float):
        return found
    c, k, variance = found
    s, front = math.sqrt(variance / 2), k + (1 - c) * epsilon
    if c > 1:
        return front + math.log(max(float(erfcx((c - 1) * s) - erfcx(c * s)) / 2, _TINY))
    rest = math.exp(min(front, 0.0)) * float(erfcx((1 - c) * s) + erfcx(max(c, 0.0) * s)) / 2
    return math.log1p(-min(rest, 1 - _LEAST))


def _separates(loss: PrivacyLoss) -> TypeGuard[SampledLoss]:
    """Whether noise is so small that a record is seen whenever it is sampled, and nodes would be too many."""
    return isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss) and loss.base.mu > _SEPARATED


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
