"""Readings that end in time: what takes too long is broken off, and the tilted moments say what they can.

They take milliseconds for a reading of any kind, and some of many values enclose the others, which are monotone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends, Forwarding, is_wide, narrow
from edgeworth.composition.work import WorkSpent, breaking_off, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Direction, Question
    from edgeworth.losses.law import Array

__all__ = ["InTime"]

_WIDE = 1e-6  # relative: ends that the moments may narrow
_MOST = 32  # readings at a time, for which they are asked


class InTime(Forwarding):
    """The answers of engines that may take long, and of a quick one for what was left open when the work was spent."""

    def __init__(self, answers: Answers, quick: Callable[[], Answers]) -> None:
        super().__init__(answers)
        self._quick = quick

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._ask("delta", direction, epsilon, 1.0)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._ask("epsilon", direction, delta, math.inf)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._ask("tradeoff", direction, alpha, 1.0)

    def _ask(self, question: Question, direction: Direction, argument: Array, most: float) -> Ends:
        ends: Ends
        try:
            with breaking_off():
                ends = getattr(self._answers, question)(direction, argument)
        except WorkSpent:
            ends = Ends(np.zeros(argument.size), np.full(argument.size, most))
        if not is_spent():
            return ends
        (wide,) = np.nonzero(is_wide(ends, _WIDE))
        wide = wide[np.argsort(argument[wide], kind="stable")]
        some = wide[np.unique(np.linspace(0, max(wide.size - 1, 0), min(wide.size, _MOST), dtype=int))]
        if some.size:
            ends = Ends(ends.lower.copy(), ends.upper.copy())
            narrow(ends, some, getattr(self._quick(), question)(direction, argument[some]))
        return ends
