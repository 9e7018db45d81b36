"""Two engines behind one another: what the first leaves wide, or cannot do, the second narrows.

A reading that has taken all the work that it may is left as wide as it is.

Every bracket is true, so their intersection is; should they contradict each other, the answer covers both.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Direction, Ends, Forwarding, all_narrow, is_wide, narrow
from edgeworth.composition.work import WorkSpent, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Question
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.curves import TradeOff
    from edgeworth.losses.law import Array

__all__ = ["Combined", "CurveAnswers", "Instead"]

_WIDE = 1e-6  # a relative width above which the second engine is asked
_MOST_WIDE = 64  # readings at a time for which a slow engine is worth its time behind a quick one


class Combined:
    """The answers of one engine, narrowed by those of another that is prepared when it is first needed."""

    def __init__(self, first: Answers, second: Callable[[], Answers], wide: float = _WIDE) -> None:
        self._first, self._prepare, self._wide = first, second, wide

    @cached_property
    def _second(self) -> Answers:
        return self._prepare()

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._ask("delta", direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._ask("epsilon", direction, delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._ask("tradeoff", direction, alpha)

    def bridge(self) -> tuple[float, float]:
        """That of the first engine, or of the second if the first has none."""
        try:
            return self._first.bridge()
        except GIVES_UP:
            return self._second.bridge()

    def _ask(self, question: Question, direction: Direction, argument: Array) -> Ends:
        ends: Ends
        try:
            ends = getattr(self._first, question)(direction, argument)
        except GIVES_UP:
            ends = getattr(self._second, question)(direction, argument)
            return ends
        if all_narrow(ends, self._wide):
            return ends
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if not 0 < wide.size <= _MOST_WIDE or is_spent():
            return ends
        try:
            other = getattr(self._second, question)(direction, argument[wide])
        except (*GIVES_UP, WorkSpent):
            return ends
        kept = Ends(ends.lower.copy(), ends.upper.copy())
        narrow(kept, wide, other)
        return kept


class Instead(Forwarding):
    """The answers of one engine, but the profile or the tests of another instead."""

    def __init__(self, others: Answers, *, profile: Answers | None = None, tests: Answers | None = None) -> None:
        super().__init__(others)
        self._profile = others if profile is None else profile
        self._tests = others if tests is None else tests

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._profile.delta(direction, epsilon)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._tests.tradeoff(direction, alpha)


class CurveAnswers:
    """The answers of an engine that has curves for its two ends."""

    def __init__(self, composed: ComposedCurve) -> None:
        assert composed.lower is not None
        assert composed.upper is not None
        self._lower, self._upper, self._slack = composed.lower, composed.upper, composed.rounding
        self._kept: dict[Direction, tuple[TradeOff, TradeOff]] = {}

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """A lower end of f is an upper end of delta."""
        lower, upper = self._ends(direction)
        return self._outward(upper.profile()(epsilon), lower.profile()(epsilon))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """And of epsilon."""
        lower, upper = self._ends(direction)
        more, less = np.minimum(delta * (1 + self._slack), 1.0), delta / (1 + self._slack)
        return self._outward(upper.profile().epsilon(more), lower.profile().epsilon(less))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """The curves themselves."""
        lower, upper = self._ends(direction)
        return self._outward(lower(alpha), upper(alpha))

    def _outward(self, lower: Array, upper: Array) -> Ends:
        """Both ends with the rounding of the curves."""
        return Ends(np.asarray(lower * (1 - self._slack)), np.asarray(upper * (1 + self._slack)))

    def bridge(self) -> tuple[float, float]:
        """Where the symmetrised upper end meets the diagonal: an interval of no length."""
        point = self._upper.symmetrise().fixed_point
        return point, point

    def _ends(self, direction: Direction) -> tuple[TradeOff, TradeOff]:
        """Both curves in a direction, made once: a hull of ten thousands of vertices takes half a second."""
        if direction not in self._kept:
            self._kept[direction] = self._made(direction)
        return self._kept[direction]

    def _made(self, direction: Direction) -> tuple[TradeOff, TradeOff]:
        if direction == "both":
            return self._lower.symmetrise(), self._upper.symmetrise()
        if direction == "backward":
            return self._lower.inverse(), self._upper.inverse()
        return self._lower, self._upper
