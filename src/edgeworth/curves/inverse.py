"""f^-1 for a trade-off function without a closed form of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.curves.dual import DualTradeOff
from edgeworth.curves.search import positive_root
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.profile import Profile

__all__ = ["Inverse"]

_RARE = 1e-3  # below, 1 - f^-1 is read off the profile, which does not subtract from 1


@dataclass(frozen=True)
class Inverse(TradeOff):
    """f^-1(alpha) = inf{t : f(t) <= alpha} = T(Q, P), by a bracketed root to a few ulp of t.

    >>> from edgeworth.curves.gaussian import GaussianTradeOff
    >>> f = GaussianTradeOff(1.0).subsample(0.5)
    >>> round(Inverse(f)(f(0.25)), 14)
    0.25
    """

    base: TradeOff

    def _evaluate(self, alpha: Array) -> Array:
        result = np.zeros(alpha.size)
        (asked,) = np.nonzero(self.base(0.0) > alpha)
        wanted = alpha[asked]
        by_power = wanted > 0.5
        with np.errstate(divide="ignore"):
            target = np.log(np.where(by_power, 1 - wanted, wanted))

        def excess(t: Array, which: NDArray[np.intp]) -> Array:
            """The distance log f(t) - log alpha, in the complements for alpha > 1/2; its sign alone at 0."""
            high = by_power[which]
            value = np.empty(t.size)
            value[high] = self.base._bounded_power(t[high])  # noqa: SLF001 - flat arrays of probabilities
            value[~high] = self.base._bounded_evaluate(t[~high])  # noqa: SLF001
            reached = np.where(high, value >= 1 - wanted[which], value <= wanted[which])
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = np.log(value) - target[which]
            distance = np.where(high, -distance, distance)
            return np.where(np.isfinite(distance), distance, np.where(reached, -1.0, 1.0))

        if asked.size:
            root = positive_root(excess, np.full(asked.size, 0.25), largest=1.0)
            result[asked] = np.minimum(root, 1.0)
        return result

    def _power(self, alpha: Array) -> Array:
        direct = 1 - self._evaluate(alpha)
        rare = alpha < _RARE
        if rare.any():
            direct[rare] = self._dual._power(alpha[rare])  # noqa: SLF001 - the same curve, from the other side
        return direct

    @cached_property
    def _dual(self) -> DualTradeOff:
        return DualTradeOff(self.profile())

    @property
    def kinks(self) -> Array:
        """Images of the kinks of the base."""
        images = np.unique(self.base._bounded_evaluate(self.base.kinks))  # noqa: SLF001
        return images[(images > 0) & (images < 1)]

    def inverse(self) -> TradeOff:
        """The base: inverting twice changes nothing."""
        return self.base

    def symmetrise(self) -> TradeOff:
        """That of the base: both have the same two directions."""
        return self.base.symmetrise()

    def profile(self) -> Profile:
        """The reverse of the profile of the base."""
        return self.base.profile().reverse()
