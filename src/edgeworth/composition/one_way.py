"""Answers of a sum whose two directions are one: a question about either, or about both, is asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition.answered import Forwarding

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.losses.law import Array

__all__ = ["OneWay"]


class OneWay(Forwarding):
    """The forward answers: where -T under Q has the law of T under P, f is its own inverse."""

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        del direction
        return self._answers.delta("forward", epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        del direction
        return self._answers.epsilon("forward", delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        del direction
        return self._answers.tradeoff("forward", alpha)
