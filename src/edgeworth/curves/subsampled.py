"""Poisson sampling, one direction: rate f + (1 - rate) Id."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth import validation
from edgeworth.amplification import above_least, base_loss, has_known_end, sampled_end
from edgeworth.curves.bounded_profile import BoundedProfile
from edgeworth.curves.profile import Profile
from edgeworth.curves.tradeoff import TradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.exact import TwoDoubles

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["Subsampled", "SubsampledProfile"]

_NEAR = 0.5  # what e^(base loss) may have changed by from its end, to ask from there


@dataclass(frozen=True)
class Subsampled(TradeOff):
    """f_p = p f + (1 - p) Id = T(P, (1 - p) P + p Q), 0 < p <= 1. Not symmetric, unless p = 1 or f = Id.

    >>> from edgeworth.curves.gaussian import GaussianTradeOff
    >>> round(Subsampled(GaussianTradeOff(1.0), rate=0.5)(0.05), 12)
    0.845244488579
    """

    base: TradeOff
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _positive_rate(self.rate))

    def _evaluate(self, alpha: Array) -> Array:
        return self.rate * self.base._bounded_evaluate(alpha) + (1 - self.rate) * (1 - alpha)  # noqa: SLF001

    def _power(self, alpha: Array) -> Array:
        return self.rate * self.base._bounded_power(alpha) + (1 - self.rate) * alpha  # noqa: SLF001

    @property
    def is_symmetric(self) -> bool:
        """Only when nothing is left out."""
        return self.rate == 1 and self.base.is_symmetric

    @property
    def kinks(self) -> Array:
        """Those of the base."""
        return self.base.kinks

    def profile(self) -> Profile:
        """The amplified p delta(log(1 + (e^eps - 1)/p))."""
        return SubsampledProfile(self.base.profile(), self.rate)


class _End(NamedTuple):
    """The largest loss T of a direction, and the slope k of e^(base loss) against e^loss there, minus it forward.

    From e^l = 1 - p + p e^L: a loss that is g below T has a base loss that is log(1 + k (e^g - 1)) from its end, or
    -log(1 - k (1 - e^-g)) forward.
    """

    base: BoundedProfile
    largest: TwoDoubles
    slope: float

    def delta(self, epsilon: Array, factor: Array | float, elsewhere: Array) -> Array:
        """So many times that of the base next to T and beyond it, from the digits of the gap, which eps' has not."""
        gap = np.maximum(self.largest.less(epsilon), 0.0)
        rise = self.slope * np.expm1(np.minimum(gap, 1.0)) if self.slope > 0 else -self.slope * np.expm1(-gap)
        of_base = np.abs(np.log1p(np.clip(rise, -_NEAR, _NEAR)))
        near = (np.abs(rise) <= _NEAR) & (of_base <= float(self.base.largest))
        return np.where(near, factor * self.base._delta_below(of_base), elsewhere)  # noqa: SLF001


@dataclass(frozen=True)
class SubsampledProfile(Profile):
    """delta_p(eps) = p delta(log(1 + (e^eps - 1)/p)) where e^eps > 1 - p, else 1 - e^eps.

    Reverse: delta'_p(eps) = (1 - (1-p) e^eps) delta'(-log(1 + (e^-eps - 1)/p)) where e^-eps > 1 - p, else 0.
    """

    base: Profile
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _positive_rate(self.rate))

    def _delta(self, epsilon: Array) -> Array:
        inside = epsilon > self._least
        amplified = self.rate * self.base._delta(self._amplified(np.where(inside, epsilon, 0.0)))  # noqa: SLF001
        elsewhere = np.where(inside, amplified, -np.expm1(np.minimum(epsilon, 0.0)))
        return elsewhere if self._ends is None else self._ends[0].delta(epsilon, self.rate, elsewhere)

    def _log_delta(self, epsilon: Array) -> Array:
        if self._ends is not None:
            return super()._log_delta(epsilon)
        inside = epsilon > self._least
        amplified = self.base._log_delta(self._amplified(np.where(inside, epsilon, 0.0)))  # noqa: SLF001
        with np.errstate(divide="ignore"):
            outside = np.log(-np.expm1(np.minimum(epsilon, 0.0)))
        return np.where(inside, np.log(self.rate) + amplified, outside)

    def _reverse_delta(self, epsilon: Array) -> Array:
        left = self._left(epsilon)
        reached, factor = np.where(left > 0, epsilon, 0.0), -np.expm1(-left)
        elsewhere = np.asarray(factor * self.base._reverse_delta(-self._amplified(-reached)))  # noqa: SLF001
        return elsewhere if self._ends is None else self._ends[1].delta(epsilon, factor, elsewhere)

    def _log_reverse(self, epsilon: Array) -> Array:
        if self._ends is not None:
            return super()._log_reverse(epsilon)
        left = self._left(epsilon)
        reached = np.where(left > 0, epsilon, 0.0)
        with np.errstate(divide="ignore"):
            factor = np.log(-np.expm1(-left))
        return np.asarray(factor + self.base._log_reverse(-self._amplified(-reached)))  # noqa: SLF001

    @cached_property
    def _ends(self) -> tuple[_End, _End] | None:
        """The largest losses forward and backward, where that of the base is a rational number."""
        base, p = self.base, self.rate
        if p == 1 or not isinstance(base, BoundedProfile) or not has_known_end(base.largest, p):
            return None
        end = base.largest
        greatest, least = sampled_end(end, p), sampled_end(-end, p)
        forward, backward = -math.exp(float(greatest - end)) / p, math.exp(float(least + end)) / p
        return _End(base, TwoDoubles.of(greatest), forward), _End(base, TwoDoubles.of(-least), backward)

    def _left(self, epsilon: Array) -> Array:
        """-log(1 - p) - eps where that is positive, else 0: how far it is to the largest loss of this direction."""
        return np.maximum(above_least(-epsilon, self.rate), 0.0) if self.rate < 1 else np.full(epsilon.shape, np.inf)

    @property
    def _least(self) -> float:
        """log(1 - p), the least loss a sampled step can have."""
        return float(np.log1p(-self.rate)) if self.rate < 1 else -np.inf

    def _amplified(self, epsilon: Array) -> Array:
        """log(1 + (e^eps - 1)/p) for eps > log(1 - p)."""
        return epsilon if self.rate == 1 else base_loss(epsilon, self.rate)

    @property
    def alternative_only(self) -> float:
        """The share p times that of the base."""
        return self.rate * self.base.alternative_only

    @property
    def null_only(self) -> float:
        """0 for p < 1: the sampled Q contains P."""
        return self.base.null_only if self.rate == 1 else 0.0

    def tradeoff(self) -> TradeOff:
        """The mixture p f + (1 - p) Id."""
        return Subsampled(self.base.tradeoff(), self.rate)


def _positive_rate(rate: float) -> float:
    rate = validation.probability(rate=rate)
    if not rate > 0:
        raise InvalidArgument("rate=0.0 is out of range; a curve sampled at rate 0 is Identity()")
    return rate
