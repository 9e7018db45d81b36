"""Mass that only one of the two laws has: losses at -inf and +inf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves.profile import Profile
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["Rescaled", "RescaledProfile"]

_ULPS = 2.0**-50  # of a stretched alpha and of a shifted epsilon


@dataclass(frozen=True)
class Rescaled(TradeOff):
    """f(alpha) = (1 - b) base(alpha/(1 - a)) up to alpha = 1 - a, then 0.

    P has mass a = ``null_only`` where Q has none, Q mass b = ``alternative_only`` where P has none. Either
    equal to 1 means that the two laws share nothing: f = 0. A curve that is a bound says with `lean` on which side its
    argument is rounded: 1 to the right for a lower end, -1 to the left for an upper one.

    >>> from edgeworth.curves.identity import Identity
    >>> Rescaled(Identity(), null_only=0.25, alternative_only=0.5)(0.375)
    0.25
    """

    base: TradeOff
    null_only: float = 0.0
    alternative_only: float = 0.0
    lean: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "null_only", validation.probability(null_only=self.null_only))
        checked = validation.probability(alternative_only=self.alternative_only)
        object.__setattr__(self, "alternative_only", checked)

    @property
    def _disjoint(self) -> bool:
        return self.null_only == 1 or self.alternative_only == 1

    def _stretched(self, alpha: Array) -> Array:
        if self._disjoint:
            return np.ones(alpha.shape)
        room = 1 + self.lean * _ULPS / (1 - self.null_only) if self.null_only else 1.0
        return np.minimum(alpha / (1 - self.null_only) * room, 1.0)

    def _evaluate(self, alpha: Array) -> Array:
        return (1 - self.alternative_only) * self.base._bounded_evaluate(self._stretched(alpha))  # noqa: SLF001

    def _power(self, alpha: Array) -> Array:
        share = self.alternative_only
        return share + (1 - share) * self.base._bounded_power(self._stretched(alpha))  # noqa: SLF001

    @property
    def is_symmetric(self) -> bool:
        """When the base is and both masses are equal."""
        return self._disjoint or (self.base.is_symmetric and self.null_only == self.alternative_only)

    @property
    def kinks(self) -> Array:
        """Those of the base, shrunk, and 1 - a where f reaches 0."""
        places = np.unique(np.append(self.base.kinks * (1 - self.null_only), 1 - self.null_only))
        return places[(places > 0) & (places < 1)]

    def symmetrise(self) -> TradeOff:
        """min{f, f^-1}**; with equal masses on both sides, that of the base rescaled, since all commute."""
        if not self.is_symmetric and self.null_only == self.alternative_only:
            return Rescaled(self.base.symmetrise(), self.null_only, self.alternative_only, self.lean)
        return super().symmetrise()

    def inverse(self) -> TradeOff:
        """The same with the two masses exchanged and the base inverted."""
        return Rescaled(self.base.inverse(), self.alternative_only, self.null_only, self.lean)

    def profile(self) -> Profile:
        """The profile b + (1 - b) delta(eps + log((1 - a)/(1 - b)))."""
        return RescaledProfile(self.base.profile(), self.null_only, self.alternative_only, self.lean)


@dataclass(frozen=True)
class RescaledProfile(Profile):
    """delta(eps) = b + (1 - b) base(eps + log((1 - a)/(1 - b))); 1 if either mass is 1.

    It leans as its f does: the profile of a lower end is an upper one, and its argument is rounded down.
    """

    base: Profile
    null_share: float = 0.0
    alternative_share: float = 0.0
    lean: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "null_share", validation.probability(null_share=self.null_share))
        checked = validation.probability(alternative_share=self.alternative_share)
        object.__setattr__(self, "alternative_share", checked)

    @property
    def _disjoint(self) -> bool:
        return self.null_share == 1 or self.alternative_share == 1

    @property
    def _shift(self) -> float:
        return float(np.log1p(-self.null_share) - np.log1p(-self.alternative_share))

    def _doubt(self, epsilon: Array) -> Array:
        """Of a shifted argument; equal masses shift nothing."""
        a, b = self.null_share, self.alternative_share
        if a == b:
            return np.zeros(epsilon.shape)
        return np.asarray(_ULPS * (np.abs(epsilon) + abs(self._shift) + a / (1 - a) + b / (1 - b)))

    def _shifted(self, epsilon: Array) -> Array:
        doubt = self._doubt(epsilon) if self.lean else 0.0
        return np.asarray(epsilon + self._shift - self.lean * doubt)

    def _delta(self, epsilon: Array) -> Array:
        if self._disjoint:
            return np.ones(epsilon.shape)
        b = self.alternative_share
        return b + (1 - b) * self.base._bounded_delta(self._shifted(epsilon))  # noqa: SLF001

    def _log_delta(self, epsilon: Array) -> Array:
        if self._disjoint:
            return np.zeros(epsilon.shape)
        b = self.alternative_share
        inner = np.log1p(-b) + self.base._bounded_log(self._shifted(epsilon))  # noqa: SLF001
        return np.asarray(np.logaddexp(np.log(b), inner)) if b > 0 else inner

    def _epsilon(self, delta: Array) -> Array:
        """Of an end, one question to the base, at (delta - b)/(1 - b), where eps >= 0 is asked of it."""
        b = self.alternative_share
        if not self.lean or self._disjoint or self._shift < 0:
            return super()._epsilon(delta)
        inner = np.minimum((delta - b) / (1 - b) * (1 - 4 * self.lean * _ULPS), 1.0)
        found = np.full(delta.shape, np.inf)
        asked = inner >= 0
        if asked.any():
            found[asked] = self.base._epsilon(inner[asked]) - self._shift  # noqa: SLF001
        known = np.isfinite(found)
        found[known] = np.maximum(found[known] + 2 * self.lean * self._doubt(found[known]), 0.0)
        return found

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self.reverse()._delta(epsilon)  # noqa: SLF001

    def _log_reverse(self, epsilon: Array) -> Array:
        return self.reverse()._log_delta(epsilon)  # noqa: SLF001

    @property
    def alternative_only(self) -> float:
        """The mass b + (1 - b) times that of the base."""
        b = self.alternative_share
        return 1.0 if self._disjoint else b + (1 - b) * self.base.alternative_only

    @property
    def null_only(self) -> float:
        """The mass a + (1 - a) times that of the base."""
        a = self.null_share
        return 1.0 if self._disjoint else a + (1 - a) * self.base.null_only

    def reverse(self) -> Profile:
        """The same with the two masses exchanged and the base reversed."""
        return RescaledProfile(self.base.reverse(), self.alternative_share, self.null_share, self.lean)

    def tradeoff(self) -> TradeOff:
        """(1 - b) f(alpha/(1 - a))."""
        return Rescaled(self.base.tradeoff(), self.null_share, self.alternative_share, self.lean)
