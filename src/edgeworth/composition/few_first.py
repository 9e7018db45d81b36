"""A quick engine before a slow one: it is asked for a few readings at a time, and the slow one for many of them.

A lattice takes seconds to prepare and then next to nothing for a reading; what comes before it takes its time for each.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends, Forwarding, is_wide, narrow
from edgeworth.composition.combined import Combined
from edgeworth.composition.work import WorkSpent, at_most, is_spent, spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses.law import Array

__all__ = [
    "MIXTURES",
    "MOMENTS",
    "MOMENTS_FOR_TESTS",
    "POINTS",
    "Brief",
    "FarOut",
    "FewFirst",
    "FirstForTests",
    "Limited",
    "Most",
]


class Most(NamedTuple):
    """How many readings at a time are asked of the first engine; more are asked of the second alone."""

    profile: int  # of delta, or of epsilon
    tests: int | None  # of f; None: all of f is asked of the first engine, and none of the second


#: tilted moments take milliseconds for a reading of any kind
MOMENTS = Most(profile=16, tests=16)
#: of so many different steps a lattice has too few points for f: the moments say it, however many are asked for
MOMENTS_FOR_TESTS = Most(profile=16, tests=None)
#: formulas, an integral or a mixture take some milliseconds for one of delta, and f takes many of delta
MIXTURES = Most(profile=64, tests=16)
#: so do graded points, and a lattice for the same steps takes long for each, too, and has fewer digits
POINTS = Most(profile=256, tests=16)

_MOST_FAR_OUT, _MOST_TESTS = 16, 16  # readings at a time


class FewFirst(Combined):
    """A few readings are asked of one engine, and what it leaves wide of another one; many of the latter alone."""

    def __init__(self, first: Answers, second: Callable[[], Answers], wide: float, most: Most) -> None:
        super().__init__(first, second, wide)
        self._most = most

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if epsilon.size > self._most.profile:
            return self._second.delta(direction, epsilon)
        return super().delta(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        if delta.size > self._most.profile:
            return self._second.epsilon(direction, delta)
        return super().epsilon(direction, delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        if self._most.tests is None:
            return self._first.tradeoff(direction, alpha)
        if alpha.size > self._most.tests:
            return self._second.tradeoff(direction, alpha)
        return super().tradeoff(direction, alpha)

    def bridge(self) -> tuple[float, float]:
        """That of the second."""
        return self._second.bridge()


class FarOut(Forwarding):
    """Answers of which those of delta and epsilon that are wide far out are narrowed by another engine."""

    def __init__(self, answers: Answers, other: Callable[[], Answers], wide: float, far: float) -> None:
        super().__init__(answers)
        self._other, self._wide, self._far = other, wide, far

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        ends = self._answers.delta(direction, epsilon)
        return self._narrowed(ends, epsilon, lambda some: self._other().delta(direction, epsilon[some]))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        ends = self._answers.epsilon(direction, delta)
        return self._narrowed(ends, ends.lower, lambda some: self._other().epsilon(direction, delta[some]))

    def _narrowed(self, ends: Ends, epsilon: Array, ask: Callable[[NDArray[np.intp]], Ends]) -> Ends:
        (wide,) = np.nonzero(is_wide(ends, self._wide) & (epsilon > self._far))
        if 0 < wide.size <= _MOST_FAR_OUT and not is_spent():
            with suppress(*GIVES_UP, WorkSpent):
                kept = Ends(ends.lower.copy(), ends.upper.copy())
                narrow(kept, wide, ask(wide))
                return kept
        return ends


class Limited(Forwarding):
    """Answers of an engine that gives up a delta or an epsilon after so much work, with what it has by then."""

    def __init__(self, answers: Answers, most: float) -> None:
        super().__init__(answers)
        self._most = most

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._ask(lambda: self._answers.delta(direction, epsilon))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._ask(lambda: self._answers.epsilon(direction, delta))

    def _ask(self, ask: Callable[[], Ends]) -> Ends:
        try:
            with at_most(self._most):
                return ask()
        except WorkSpent:
            spend(0)  # goes on to break off if it is the whole reading that has taken what it may
        raise ComputationFailed(f"an engine was given up after {self._most:.0e} units of work: others follow")


class Brief(Limited):
    """The same, which gives up a test as well."""

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._ask(lambda: self._answers.tradeoff(direction, alpha))


class FirstForTests(Forwarding):
    """Answers of which a few of f are asked of another engine first, and if it leaves them wide, of the others.

    Backward they are asked of the others alone: lines of tilts to the left are quick.
    """

    def __init__(self, answers: Answers, first: Answers, wide: float) -> None:
        super().__init__(answers)
        self._first, self._wide = first, wide

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if direction == "backward" or not 0 < inner.size <= _MOST_TESTS:
            return self._answers.tradeoff(direction, alpha)
        ends = Ends(np.zeros(alpha.size), np.nextafter(1 - alpha, 2.0))
        with suppress(*GIVES_UP):
            narrow(ends, inner, self._first.tradeoff(direction, alpha[inner]))
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if wide.size and not is_spent():
            narrow(ends, wide, self._answers.tradeoff(direction, alpha[wide]))
        return ends
