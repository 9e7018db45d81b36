"""Readings that are asked once: the last question of each kind is kept, and answers what is asked beside it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import AnsweredTradeOff, Ends, Forwarding, is_wide
from edgeworth.composition.neighbours import Known, are_some_ulps_apart, moved
from edgeworth.composition.result import ComposedCurve, with_disclosure
from edgeworth.composition.work import one_reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Direction, End, Question
    from edgeworth.curves import Certificate
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Remembered", "answered"]

_ENDS: tuple[End, ...] = ("lower", "middle", "upper")
_DISCLOSURE_ROUNDING = 4e-15
_UNDERFLOWS = 1e-300  # what stands for masses that underflow is up to some thousand times the smallest number
_LOST = 1e-315  # more than rounding loses where a number underflows, or a factor of it
_GAIN = 1e-9  # relative: what an end has to gain from another reading to be changed


class Remembered(Forwarding):
    """Answers that keep the last question of each kind: the lower end, the value and the upper end ask the same.

    Every question is a reading of its own, which may take so much work and no more.
    """

    def __init__(self, answers: Answers, rough: Answers | None = None) -> None:
        """`rough`: a quick engine, whose upper ends say how far an answer may fall to its neighbours."""
        super().__init__(answers)
        self._rough = rough
        self._last: dict[tuple[Question, Direction], tuple[bytes, Ends]] = {}

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._beside("delta", direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._beside("epsilon", direction, delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._beside("tradeoff", direction, alpha)

    def _beside(self, question: Question, direction: Direction, argument: Array) -> Ends:
        """Ends at arguments that may be some ulps beside the last ones: from what is known there, if nothing is lost.

        What is disclosed asks for three neighbours, and an engine may be slow.
        """
        before, known = self._last.get((question, direction), (b"", None))
        if known is None or len(before) != argument.nbytes or before == argument.tobytes():
            return self._remembered(question, direction, argument)
        last = np.frombuffer(before)
        if not are_some_ulps_apart(question, argument, last):
            return self._remembered(question, direction, argument)
        beside, near = moved(question, Known(last, known), argument, self._roughly(question, direction))
        if not near.any():
            return self._remembered(question, direction, argument)
        if not near.all():
            with one_reading(argument.size):
                beside.lower[~near], beside.upper[~near] = getattr(self._answers, question)(direction, argument[~near])
        return beside

    def _roughly(self, question: Question, direction: Direction) -> Callable[[Array], Ends] | None:
        return partial(getattr(self._rough, question), direction) if self._rough is not None else None

    def _remembered(self, question: Question, direction: Direction, argument: Array) -> Ends:
        key, seen = (question, direction), argument.tobytes()
        if self._last.get(key, (b"",))[0] != seen:
            with one_reading(argument.size):
                ends = getattr(self._answers, question)(direction, argument)
            ends = ends if question == "epsilon" else _outward_where_tiny(ends)
            self._last[key] = seen, _falling(argument, ends)
        return self._last[key][1]


def _outward_where_tiny(ends: Ends) -> Ends:
    """The same, with room for what underflows: numbers below 1e-308 have fewer digits the smaller they are.

    >>> _outward_where_tiny(Ends(np.array([0.0, 0.1]), np.array([1e-310, 0.2]))).upper.tolist()
    [1.00001e-310, 0.2]
    """
    tiny = (ends.upper > 0) & (ends.upper < _UNDERFLOWS)
    if not tiny.any():
        return ends
    lower, upper = np.maximum(ends.lower - _LOST, 0.0), ends.upper + _LOST
    return Ends(np.where(tiny, lower, ends.lower), np.where(tiny, upper, ends.upper))


def _falling(argument: Array, ends: Ends) -> Ends:
    """The ends of a function that does not rise: what holds at one argument bounds it at all others on one side.

    Only what is gained by this is changed: a reading alone has the bits that it has in company.

    >>> low, high = _falling(np.array([1.0, 3.0, 2.0]), Ends(np.array([0.1, 0.3, 0.2]), np.array([0.9, 0.5, 0.4])))
    >>> low.tolist(), high.tolist()
    ([0.3, 0.3, 0.3], [0.9, 0.4, 0.4])
    """
    if argument.size < 2 or not is_wide(ends, _GAIN).any():
        return ends
    order = np.argsort(argument, kind="stable")
    lower, upper = np.empty(argument.size), np.empty(argument.size)
    lower[order] = np.maximum.accumulate(ends.lower[order][::-1])[::-1]
    upper[order] = np.minimum.accumulate(ends.upper[order])
    gains = (lower > ends.lower * (1 + _GAIN)) | (upper < ends.upper * (1 - _GAIN))
    gains &= lower <= upper  # ends that contradict each other are left as they are
    return Ends(np.where(gains, lower, ends.lower), np.where(gains, upper, ends.upper))


def answered(
    answers: Answers, total: TotalLoss, certificate: Certificate, rough: Answers | None = None
) -> ComposedCurve:
    """The composed curve of these answers, with the masses at infinite losses put back; `rough` as for `Remembered`."""
    kept = Remembered(answers, rough)
    lower, value, upper = (AnsweredTradeOff(kept, end, "forward") for end in _ENDS)
    if total.null_only == total.alternative_only == 0:
        return ComposedCurve(value, certificate, lower, upper)
    down, middle, up = (with_disclosure(f, total, lean) for f, lean in ((lower, 1), (value, 0), (upper, -1)))
    return ComposedCurve(middle, certificate, down, up, rounding=_DISCLOSURE_ROUNDING)
