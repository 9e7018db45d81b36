"""Epsilon from few readings of delta: where one engine knows about what it is, another says the rest nearby."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Direction, Ends, Forwarding, is_wide
from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.work import to_the_end

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers
    from edgeworth.losses.law import Array

__all__ = ["NearRoot"]

_WAYS: tuple[Direction, ...] = ("forward", "backward")
_ASIDE = 1e-3  # of an epsilon: two places from which the slope of log delta is read
_MARGINS = 2.0, 20.0  # times what the readings leave open: beside the guess the ends are tried
_LEAST = 1e-12  # of an epsilon, such a margin
_MOST_GUESSES = 3
_OPEN = 10.0  # times what a reading leaves open, from which on another guess is worth it


class NearRoot(Forwarding):
    """Answers of delta and epsilon that begin with what rougher ones say, if these do not give up.

    Of both directions only the one is asked that is surely worse, if one is.
    """

    def __init__(self, answers: Answers, rough: Answers, wide: float) -> None:
        super().__init__(answers)
        self._rough, self._wide = rough, wide

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if direction != "both":
            return self._answers.delta(direction, epsilon)
        try:
            worse = self._worse("delta", epsilon)
        except GIVES_UP:
            return self._answers.delta(direction, epsilon)
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        for way in dict.fromkeys(worse):
            some = np.array([one == way for one in worse])
            lower[some], upper[some] = self._answers.delta(way, epsilon[some])
        return Ends(lower, upper)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        try:
            known = self._rough.epsilon(direction, delta)
        except GIVES_UP:
            return self._answers.epsilon(direction, delta)
        if not is_wide(known, self._wide).any():
            return known
        ways = self._worse("epsilon", delta) if direction == "both" else [direction] * delta.size
        table = zip(ways, known.lower.tolist(), known.upper.tolist(), strict=True)
        found = dict(zip(delta.tolist(), table, strict=True))
        return one_by_one(delta, lambda x: self._near(found[x][0], x, found[x][1:]), (0.0, math.inf))

    def _worse(self, what: str, argument: Array) -> list[Direction]:
        """For every argument the direction whose reading is surely the larger one, or both."""
        (low, high), (other_low, other_high) = (getattr(self._rough, what)(way, argument) for way in _WAYS)
        table = zip(low >= other_high, other_low >= high, strict=True)
        return ["forward" if first else "backward" if second else "both" for first, second in table]

    def _near(self, direction: Direction, delta: float, known: tuple[float, float]) -> tuple[float, float]:
        """An eps at which delta(eps) is at most the target is an upper end, and a lower one where it is more."""
        low, high = known
        if not (0 < low < high < math.inf and 0 < delta < 1):
            return known
        read = partial(self._read, direction)
        slope = self._slope(direction, 0.5 * (low + high))
        place, margin = 0.5 * (low + high), 0.0
        for _ in range(_MOST_GUESSES):
            below, above = read(place)
            low, high = (max(low, place) if below > delta else low), (min(high, place) if above <= delta else high)
            if not (0 < below <= above and slope < 0):
                return low, high
            open_, step = math.log(above / below), (math.log(delta) - 0.5 * math.log(above * below)) / slope
            place, margin = min(max(place + step, low), high), open_ / -slope + _LEAST * place
            if abs(step * slope) <= _OPEN * open_:
                break
        for times in _MARGINS:
            left, right = place - times * margin, place + times * margin
            low = left if low < left < high and read(left)[0] > delta else low
            high = right if low < right < high and read(right)[1] <= delta else high
        return low, high

    def _read(self, direction: Direction, epsilon: float) -> tuple[float, float]:
        with to_the_end():
            ends = self._answers.delta(direction, np.array([epsilon]))
        return float(ends.lower[0]), float(ends.upper[0])

    def _slope(self, direction: Direction, epsilon: float) -> float:
        """About that of log delta; 0 where the rough answers do not know it."""
        places = np.array([epsilon * (1 - _ASIDE), epsilon * (1 + _ASIDE)])
        ends = self._rough.delta(direction, places)
        if not np.all(ends.lower > 0):
            return 0.0
        return float(np.diff(0.5 * np.log(ends.lower * ends.upper))[0] / (2 * _ASIDE * epsilon))
