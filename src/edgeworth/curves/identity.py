"""Id: nothing leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.curves.profile import Profile, SymmetricProfile
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["Identity", "IdentityProfile"]


@dataclass(frozen=True)
class Identity(TradeOff):
    """Id(alpha) = 1 - alpha = T(P, P), perfect privacy.

    >>> Identity()(0.25)
    0.75
    """

    def _evaluate(self, alpha: Array) -> Array:
        return 1.0 - alpha

    def _power(self, alpha: Array) -> Array:
        return alpha.copy()

    @property
    def is_symmetric(self) -> bool:
        """Id = Id^-1."""
        return True

    @property
    def gamma(self) -> float:
        """1/2."""
        return 0.5

    def profile(self) -> Profile:
        """delta(eps) = max(0, 1 - e^eps)."""
        return IdentityProfile()


@dataclass(frozen=True)
class IdentityProfile(SymmetricProfile):
    """delta(eps) = max(0, 1 - e^eps)."""

    def _delta(self, epsilon: Array) -> Array:
        return -np.expm1(np.minimum(epsilon, 0.0))

    def tradeoff(self) -> Identity:
        """Id."""
        return Identity()
