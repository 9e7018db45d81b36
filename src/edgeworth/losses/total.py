"""The loss of everything that ran: a sum of independent steps, kept as (law, how often)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss

if TYPE_CHECKING:
    from edgeworth.losses.law import Array, PrivacyLoss
    from edgeworth.mechanisms import Mechanism

__all__ = ["TotalLoss"]

_HUGE = 1e300  # of a largest loss: beyond, sums may be larger than every double


@lru_cache(maxsize=256)
def _cumulants(loss: PrivacyLoss, order: int) -> Cumulants:
    return loss.cumulants(order)


@dataclass(frozen=True, eq=False)
class TotalLoss:
    """T = sum of n_i independent copies of L_i. Costs depend on the number of different steps alone."""

    parts: tuple[tuple[PrivacyLoss, int], ...]
    is_finite: bool = False
    """Whether losses at infinity are left out, as if they could not happen."""

    @cached_property
    def finite(self) -> TotalLoss:
        """The same sum given that it is finite: what an engine composes before the masses at infinity come back."""
        return TotalLoss(self.parts, is_finite=True)

    @classmethod
    def of(cls, mechanism: Mechanism) -> TotalLoss:
        """The total loss of a mechanism, composed or not."""
        return cls(tuple((privacy_loss(step), count) for step, count in mechanism.steps()))

    @cached_property
    def null_only(self) -> float:
        """P[T = -inf] = 1 - prod (1 - a_i)^n_i."""
        return self._at_infinity([loss.null_only for loss, _ in self.parts])

    @cached_property
    def alternative_only(self) -> float:
        """Q[T = +inf] = 1 - prod (1 - b_i)^n_i."""
        return self._at_infinity([loss.alternative_only for loss, _ in self.parts])

    def _at_infinity(self, masses: list[float]) -> float:
        if self.is_finite or not any(masses):
            return 0.0
        return -math.expm1(math.fsum(n * _log1m(mass) for mass, (_, n) in zip(masses, self.parts, strict=True)))

    @cached_property
    def is_exact(self) -> bool:
        """Whether every part's distribution function is a formula."""
        return all(loss.is_exact for loss, _ in self.parts)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether -T under Q is known to have the law of T under P: both directions are one."""
        return all(loss.is_symmetric for loss, _ in self.parts)

    @cached_property
    def support(self) -> tuple[float, float]:
        """The sums of the ends of the parts; of rational ones the nearest doubles."""
        if self.largest is not None and self.largest < _HUGE:
            return 0.0 - float(self.largest), float(self.largest)
        ends = [loss.support for loss, _ in self.parts]
        return (
            math.fsum(n * end[0] for end, (_, n) in zip(ends, self.parts, strict=True)),
            math.fsum(n * end[1] for end, (_, n) in zip(ends, self.parts, strict=True)),
        )

    @cached_property
    def largest(self) -> Fraction | None:
        """The largest loss, and minus the least, as a rational number where every part has one; None elsewhere."""
        total = Fraction(0)
        for loss, n in self.parts:
            if (end := loss.largest) is None:
                return None
            total += n * end
        return total

    @cached_property
    def steepest(self) -> tuple[float, float]:
        """The tilts that every part can afford."""
        limits = [loss.steepest for loss, _ in self.parts]
        return max(limit[0] for limit in limits), min(limit[1] for limit in limits)

    def cumulants(self, order: int) -> Cumulants:
        """K_r = sum_i n_i kappa_r(L_i) under P and under Q."""
        parts = [(_cumulants(loss, order), n) for loss, n in self.parts]
        null = sum((float(n) * c.null for c, n in parts), np.zeros(order))
        alternative = sum((float(n) * c.alternative for c, n in parts), np.zeros(order))
        return Cumulants(null, alternative, max((c.condition for c, _ in parts), default=0.0))

    def tilted(self, tilt: Array, order: int, reach: tuple[float, float]) -> Array:
        """Rows K(c), K'(c), … of the sum at every tilt within `reach`."""
        rows = np.zeros((tilt.size, order + 1))
        for loss, n in self.parts:
            rows += float(n) * loss.tilted(tilt, order, reach)
        return rows


def _log1m(mass: float) -> float:
    return math.log1p(-mass) if mass < 1 else -math.inf
