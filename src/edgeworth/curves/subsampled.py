"""Poisson sampling, one direction: rate f + (1 - rate) Id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.amplification import above_least, base_loss
from edgeworth.curves.profile import Profile
from edgeworth.curves.tradeoff import TradeOff
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["Subsampled", "SubsampledProfile"]


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
        return np.where(inside, amplified, -np.expm1(np.minimum(epsilon, 0.0)))

    def _log_delta(self, epsilon: Array) -> Array:
        inside = epsilon > self._least
        amplified = self.base._log_delta(self._amplified(np.where(inside, epsilon, 0.0)))  # noqa: SLF001
        with np.errstate(divide="ignore"):
            outside = np.log(-np.expm1(np.minimum(epsilon, 0.0)))
        return np.where(inside, np.log(self.rate) + amplified, outside)

    def _reverse_delta(self, epsilon: Array) -> Array:
        left = self._left(epsilon)
        reached = np.where(left > 0, epsilon, 0.0)
        return np.asarray(-np.expm1(-left) * self.base._reverse_delta(-self._amplified(-reached)))  # noqa: SLF001

    def _log_reverse(self, epsilon: Array) -> Array:
        left = self._left(epsilon)
        reached = np.where(left > 0, epsilon, 0.0)
        with np.errstate(divide="ignore"):
            factor = np.log(-np.expm1(-left))
        return np.asarray(factor + self.base._log_reverse(-self._amplified(-reached)))  # noqa: SLF001

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
