"""The same readings closely: points where one reading depends on them, and the rest asked itself where it meets these.

Of a reading far out nearly all hangs on the losses of one octave, between those with which the rest falls short of it
and those that hardly ever happen. What is left of the work is best spent on points there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.spread.answers import MINE, Laws, SpreadAnswers, profile_around, reading
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.spread.resolution import Focus
from edgeworth.errors import ComputationFailed, Unsupported

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.composition.profile_alone import Way
    from edgeworth.composition.spread.law import Side
    from edgeworth.composition.spread.merged import MergedLaw
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["CloseAnswers"]

_WAYS: tuple[Way, Way] = ("forward", "backward")
_NARROW = 1e-7  # a relative width that is left as it is
_MOST_AT_A_TIME = 2  # as many as take all the work that a call may
_SHARES = (1.0, 0.875, 0.75, 0.625)
_NEGLIGIBLE = 1e-10  # of a reading, what lies beyond the last octave


class _MakesLaws(Protocol):
    def __call__(self, side: Side, *, focus: Focus) -> SpreadLaw | MergedLaw | None:
        """The law on one side of the truth on points with this focus."""


class CloseAnswers(ProfileAlone):
    """Ends of delta of what quicker answers leave wide; f is theirs."""

    def __init__(self, total: TotalLoss, quick: SpreadAnswers, law: _MakesLaws) -> None:
        super().__init__(total, quick)
        self._first, self._law = quick, law

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By what is known, by the quicker answers, or by delta itself."""
        return self._first.surely_reached(direction, epsilon, delta) or super().surely_reached(
            direction, epsilon, delta
        )

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at a few eps."""
        _refuse_many(epsilon)
        return super().delta(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta, for a few of these."""
        _refuse_many(delta)
        return super().epsilon(direction, delta)

    def _profiles(self, direction: Direction, epsilon: Array) -> Ends:
        """Of both directions the one that seems larger first: the other may surely be smaller."""
        if direction != "both":
            return super()._profiles(direction, epsilon)
        return one_by_one(epsilon, self._larger, (0.0, 1.0))

    def _larger(self, epsilon: float) -> tuple[float, float]:
        place = np.array([epsilon])
        highest = {way: float(self._first.profile(way, place).upper[0]) for way in _WAYS}
        smaller, larger = sorted(_WAYS, key=highest.__getitem__)
        lower, upper = self._one(larger, epsilon)
        if highest[smaller] <= lower:
            return lower, upper
        low, high = self._one(smaller, epsilon)
        return max(low, lower), max(high, upper)

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at one eps: by the first laws with the rest asked itself, or by those in focus."""
        laws, rest = self._first.laws(side), self._first.rest
        lower, upper = reading(laws, rest, side, epsilon, closely=True)
        if upper - lower <= _NARROW * upper:
            return lower, upper
        focus = self._focus(laws, side, epsilon, upper)
        with suppress(ComputationFailed):  # there may be no such points
            above = self._law("above", focus=focus)
            assert isinstance(above, SpreadLaw)
            low, high = reading(Laws(above, self._law(side, focus=focus)), rest, side, epsilon, closely=True)
            lower, upper = max(low, lower), min(high, upper)
        return lower, upper

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Nothing: f takes many values of delta, each of which would have points of its own."""
        del direction, alpha
        raise Unsupported("f is read from the profile of quicker answers")

    def _focus(self, laws: Laws, side: Way, epsilon: float, upper: float) -> Focus:
        """The octave in which the laws leave most of the reading open, and the last whose mass counts."""
        grid, mass = laws.above.grid, laws.above.mass
        open_ = _open(laws, side, epsilon, self._first)
        shares = [sum(float(np.sum(open_[row])) for _, row in grid.rows(j)) for j in range(len(grid.halves))]
        octave = int(np.argmax(shares))
        share = _best_end(np.abs(grid.points), open_, 2 * grid.halves[octave] * grid.steps[octave])
        weight = mass * grid.x if MINE[side] else mass
        ends = [row.stop for row in grid.octaves]
        beyond = np.array([float(np.sum(weight[end:])) for end in ends])
        last = int(np.argmax(beyond <= _NEGLIGIBLE * upper))  # the last octave has nothing beyond it
        return Focus(octave, min(max(last, octave + 1, grid.below), len(ends) - 1) + (share < 1), share)


def _refuse_many(values: Array) -> None:
    """Each of them would have points of its own."""
    if values.size > _MOST_AT_A_TIME:
        raise Unsupported(f"no more than {_MOST_AT_A_TIME} values at a time are read closely")


def _best_end(place: Array, open_: Array, end: float) -> float:
    """The share of the way to the end of an octave at which steps double best: all are as much shorter, or twice that.

    What is open goes with the square of the step.
    """
    left = [share**2 * float(np.sum(np.where(place < share * end, open_, 4 * open_))) for share in _SHARES]
    return _SHARES[int(np.argmin(left))]


def _open(laws: Laws, side: Way, epsilon: float, first: SpreadAnswers) -> Array:
    """What both laws leave open of a reading, point by point: E[(x - u)_+] of each at u times the bend there.

    The reading is the integral of that against d phi'(u), phi(x) that of a point; backward of E[(u - x)_+].
    """
    law, gaps = laws.above, laws.above.grid.gaps[:-1]
    loss, profile = law.least + law.grid.points, profile_around(law, first.rest, side, epsilon)
    phi = law.grid.x * profile.upper(epsilon - loss) if side == "forward" else profile.upper(epsilon + loss)
    slope = np.diff(phi) / gaps
    bend = np.maximum(np.diff(slope, prepend=slope[0], append=slope[-1]), 0.0)
    room = _excess(law.mass, gaps, side)
    if isinstance(laws.below, SpreadLaw):
        room = np.maximum(room - _excess(laws.below.mass, gaps, side), 0.0)
    return np.asarray(room * bend)


def _excess(mass: Array, gaps: Array, side: Way) -> Array:
    """E[(x - u)_+] at the points, or E[(u - x)_+]."""
    if side == "forward":
        tail = np.cumsum(mass[::-1])[::-1]
        return np.append(np.cumsum((gaps * tail[1:])[::-1])[::-1], 0.0)
    return np.append(0.0, np.cumsum(gaps * np.cumsum(mass)[:-1]))
