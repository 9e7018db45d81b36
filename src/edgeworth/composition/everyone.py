"""Engines that are asked one after the other, each for a share of the work that a reading may take.

Which of them is the right one for a mix of many kinds of steps nobody can tell from a table alone: an engine that would
take all the work must not keep a quicker one behind it from answering.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends, is_wide, narrow
from edgeworth.composition.work import WorkSpent, at_most, at_once, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses.law import Array

    Ask = Callable[[Answers, Array], Ends]

__all__ = ["Everyone", "Turn"]

_FEW = 4  # readings at a time, for which turns are taken: more are asked of the first engine alone


class Turn(NamedTuple):
    """An engine, and the units of work that it may take for one question."""

    engine: Answers
    work: float


class Everyone:
    """What all engines prove together: each is asked for what those before it left wide, and given up after a while.

    Many readings at a time are those of the first engine.
    """

    def __init__(self, turns: Sequence[Turn], wide: float) -> None:
        self._turns, self._wide = turns, wide

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._ask(epsilon, np.ones(epsilon.size), lambda answers, some: answers.delta(direction, some))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        most = np.full(delta.size, math.inf)
        return self._ask(delta, most, lambda answers, some: answers.epsilon(direction, some))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        most = np.nextafter(1 - alpha, 2.0)
        return self._ask(alpha, most, lambda answers, some: answers.tradeoff(direction, some))

    def bridge(self) -> tuple[float, float]:
        """That of the first engine."""
        return self._turns[0].engine.bridge()

    def _ask(self, argument: Array, most: Array, ask: Ask) -> Ends:
        if max(argument.size, at_once()) > _FEW:
            return ask(self._turns[0].engine, argument)
        ends = Ends(np.zeros(argument.size), most)
        for engine, work in self._turns:
            (wide,) = np.nonzero(is_wide(ends, self._wide))
            if not wide.size or is_spent():
                break
            try:
                with at_most(work):
                    found = ask(engine, argument[wide])
            except (*GIVES_UP, WorkSpent):  # what others have found is not lost with it
                continue
            narrow(ends, wide, found)
        return ends
