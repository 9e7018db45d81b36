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
    AskWay = Callable[[Answers, Direction, Array], Ends]

__all__ = ["Everyone", "Turn"]

_WAYS: tuple[Direction, ...] = ("forward", "backward")
_FEW = 4  # readings at a time, for which turns are taken: more are asked of the first engine alone


class Turn(NamedTuple):
    """An engine, and the units of work that it may take for one question."""

    engine: Answers
    work: float


class Everyone:
    """What all engines prove together: each is asked for what those before it left wide, and given up after a while.

    Many readings at a time are those of the first engine. What that leaves wide of both directions is asked of one
    alone where a rough engine knows the other to be less: it may be so much less that it has no digits.
    """

    def __init__(self, turns: Sequence[Turn], wide: float, rough: Callable[[], Answers] | None = None) -> None:
        self._turns, self._wide, self._rough = turns, wide, rough

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        most = np.ones(epsilon.size)
        return self._larger(direction, epsilon, most, lambda answers, way, some: answers.delta(way, some))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        most = np.full(delta.size, math.inf)
        return self._larger(direction, delta, most, lambda answers, way, some: answers.epsilon(way, some))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        most = np.nextafter(1 - alpha, 2.0)
        return self._ask(self._turns, alpha, most, lambda answers, some: answers.tradeoff(direction, some))

    def bridge(self) -> tuple[float, float]:
        """That of the first engine."""
        return self._turns[0].engine.bridge()

    def _larger(self, direction: Direction, argument: Array, most: Array, ask: AskWay) -> Ends:
        """A reading of which that of both directions is the larger one."""
        if direction != "both" or self._rough is None or max(argument.size, at_once()) > _FEW:
            return self._ask(self._turns, argument, most, lambda answers, some: ask(answers, direction, some))
        ends = self._ask(self._turns[:1], argument, most, lambda answers, some: ask(answers, direction, some))
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if wide.size and not is_spent():
            way, (first, *turns) = _larger_way(self._rough(), argument[wide], ask), self._turns
            if way != "both":  # the first is asked again, the last of all where it found nothing in its time
                nothing = np.all(ends.lower[wide] == 0) and np.all(ends.upper[wide] == most[wide])
                turns = [*turns, first] if nothing else [first, *turns]
            others = self._ask(turns, argument[wide], most[wide], lambda answers, some: ask(answers, way, some))
            narrow(ends, wide, others)
        return ends

    def _ask(self, turns: Sequence[Turn], argument: Array, most: Array, ask: Ask) -> Ends:
        if max(argument.size, at_once()) > _FEW:
            return ask(turns[0].engine, argument)
        ends = Ends(np.zeros(argument.size), most)
        for engine, work in turns:
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


def _larger_way(rough: Answers, argument: Array, ask: AskWay) -> Direction:
    """The direction that is the larger one everywhere, or both where that is not known."""
    try:
        forward, backward = (ask(rough, way, argument) for way in _WAYS)
    except GIVES_UP:
        return "both"
    if np.all(backward.upper <= forward.lower):
        return "forward"
    return "backward" if np.all(forward.upper <= backward.lower) else "both"
