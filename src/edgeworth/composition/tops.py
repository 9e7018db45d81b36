"""The largest loss of one step: to many digits, its mass, and what lies next below it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gamma

from edgeworth.amplification import has_known_end, sampled_end, sampled_loss
from edgeworth.losses import LaplaceLoss, PrivacyLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from fractions import Fraction

    from edgeworth.composition.answered import Direction
    from edgeworth.losses.law import Array

__all__ = ["Top", "top"]

_LOG_HALF = -math.log(2.0)


class Top(NamedTuple):
    """The largest loss, the logarithm of its mass under Q, and the distance of the next atom.

    `slope` is that of e^(base loss) against e^loss at the top of Laplace noise, 1 without sampling, negative forward;
    0 of a step that has nothing but atoms.
    """

    largest: Fraction
    log_mass: float
    distance: float
    slope: float = 0.0

    def density(self, scale: float, terms: int) -> Array:
        """Its derivatives j = 0, 1, … at the top, times scale^(j+1): of the density over the mass of the atom there.

        That is k/2 e^w (1 + k (e^w - 1))^(-3/2) so far w below the top, forward k/2 e^(-2w) (1 - k (1 - e^-w))^(-3/2).
        """
        k, sign = abs(self.slope), -1.0 if self.slope < 0 else 1.0
        order = np.arange(terms)
        factorial = gamma(order + 1.0)
        growth = ((-2.0 if self.slope < 0 else 1.0) * scale) ** order / factorial
        base = k * (sign * scale) ** order / factorial  # 1 - k + k e^(+-w)
        base[0] = 1.0
        power = np.zeros(terms)
        power[0] = 1.0
        for j in range(1, terms):  # of base^(-3/2): j p_j = sum over i of (-3i/2 - (j - i)) b_i p_(j-i)
            i = np.arange(1, j + 1)
            power[j] = float(np.sum((-0.5 * i - j) * base[i] * power[j - i])) / j
        return np.asarray(scale * k / 2 * np.convolve(growth, power)[:terms] * factorial)

    def most(self, y: float) -> float:
        """At least the sum of the moduli of the terms of the Taylor series of that density at y."""
        k = abs(self.slope)
        return k / 2 * math.exp(2 * y - 1.5 * math.log1p(-k * math.expm1(y)))

    def rise(self, y: float) -> float:
        """The slope of the logarithm of that."""
        k = abs(self.slope)
        return 2 + 1.5 * k * math.exp(y) / (1 - k * math.expm1(y))


@lru_cache(maxsize=256)
def top(loss: PrivacyLoss, direction: Direction) -> Top | None:
    """What is known of the largest loss of a step, given that its loss is finite."""
    base, rate = loss, 1.0
    if isinstance(loss, SampledLoss | ReplacedLoss):
        base, rate = loss.base, loss.rate
        if base.null_only > 0 or base.alternative_only > 0 or not has_known_end(base.largest, rate):
            return None
    if (end := base.largest) is None:
        return None
    if isinstance(base, LaplaceLoss):
        mass, gap = _LOG_HALF, 2 * float(end)  # Q[L = theta]; the other atom is at -theta
    elif base.lattice is not None and base.lattice.log_null.size > 1:
        mass, gap = float(base.lattice.log_null[0]), base.lattice.spacing
    else:
        return None
    if not isinstance(loss, SampledLoss | ReplacedLoss):
        return Top(end, mass, gap, -1.0 if isinstance(base, LaplaceLoss) else 0.0)
    backward = direction == "backward" and isinstance(loss, SampledLoss)
    least_or_most = sampled_end(-end if backward else end, rate)
    distance = _distance(loss, float(end), gap, backward=backward)
    moved = float(least_or_most + end if backward else least_or_most - end)  # of the loss, by sampling
    slope = math.exp(moved) / rate if isinstance(base, LaplaceLoss) else 0.0
    # Backward the top is -log(1 - p + p e^-end), and P has the mass there that Q has at the end of the base.
    if backward:
        return Top(-least_or_most, mass, distance, slope)
    return Top(least_or_most, mass + moved, distance, -slope)


def _distance(loss: SampledLoss | ReplacedLoss, end: float, gap: float, *, backward: bool) -> float:
    """From the top of a sample to the image of the next atom of the base; of a replaced record, to the one at 0."""
    if backward:
        ends = sampled_loss(np.array([-end, min(gap - end, end)]), loss.rate)
        return float(ends[1] - ends[0])
    ends = sampled_loss(np.array([end, max(end - gap, -end)]), loss.rate)
    return float(min(ends[0] - ends[1], ends[0]) if isinstance(loss, ReplacedLoss) else ends[0] - ends[1])
