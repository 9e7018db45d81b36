"""1 - delta of steps beside few-valued ones, with digits of its own: a small f is a difference from what is left of 1.

Let r = 1 - delta and r' = 1 - delta', and r_S, r'_S those of the steps beside losses l_j, of masses p_j under P and q_j
under Q. Then

    r(t) = sum of q_j r_S(t - l_j),    r'(t) = sum of p_j r'_S(t + l_j),    r_S(s) = e^s r'_S(-s):

sums of terms >= 0, each of which is 1, or e^s, less what is small on its side of 0.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends, narrow
from edgeworth.composition.mixture.formulas import placed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.composition.mixture.answers import Read
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import MergedValues
    from edgeworth.losses.law import Array

__all__ = ["Remainder", "at_a_glance"]

_UNIT = 2.0**-53
_AIM = 2e-8  # relative: what terms that are not read may leave open
_MOST_ASKED, _AT_A_TIME = 256, 24  # terms that are read, and how many of them together
_NOTHING = 1e-10  # of a profile: a place at which it is less is not read
_LOST = 1e-305  # more than is lost of all terms that underflow
_OTHER: dict[Way, Way] = {"forward": "backward", "backward": "forward"}


class Remainder:
    """Ends of 1 - delta, from the profile of the steps beside the few-valued ones, at a glance or read closely."""

    def __init__(self, atoms: MergedValues, glance: Read, read: Read) -> None:
        self._atoms, self._glance, self._read = atoms, glance, read

    def __call__(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of 1 - delta at finite eps; of both directions that is the smaller one."""
        if direction == "both":
            one, other = self("forward", epsilon), self("backward", epsilon)
            return Ends(np.minimum(one.lower, other.lower), np.minimum(one.upper, other.upper))
        side: Way = "forward" if direction == "forward" else "backward"
        sums = [self._at_a_glance(side, x) for x in epsilon.tolist()]
        open_ = [one.open() for one in sums]
        asked = [one.place[some] for one, some in zip(sums, open_, strict=True)]
        room = [one.room[some] for one, some in zip(sums, open_, strict=True)]
        if any(some.size for some in open_):
            found = self._closely(side, np.concatenate(asked), np.concatenate(room))
            cuts = np.cumsum([some.size for some in open_])[:-1]
            for one, some, *ends in zip(sums, open_, *(np.split(end, cuts) for end in found), strict=True):
                narrow(one.ends, some, Ends(*ends))
        lower, upper = zip(*(self._whole(one, x) for one, x in zip(sums, epsilon.tolist(), strict=True)), strict=True)
        return Ends(np.array(lower), np.array(upper))

    def _at_a_glance(self, side: Way, epsilon: float) -> _Sum:
        place, room, mass = placed(self._atoms, side, epsilon)
        return _Sum(place, room, mass, _left_of_one(self._glance, side, place, room))

    def _closely(self, side: Way, place: Array, room: Array) -> Ends:
        """As many places at a time as engines still answer one by one: many cost little more than few."""
        parts = [np.s_[start : start + _AT_A_TIME] for start in range(0, place.size, _AT_A_TIME)]
        lower, upper = zip(*(_left_of_one(self._read, side, place[part], room[part]) for part in parts), strict=True)
        return Ends(np.concatenate(lower), np.concatenate(upper))

    def _whole(self, one: _Sum, epsilon: float) -> tuple[float, float]:
        """Ends of the sum of all terms."""
        error = self._atoms.error + (one.mass.size + 4) * _UNIT
        low, high = float(one.mass @ one.ends.lower) * (1 - error), float(one.mass @ one.ends.upper) * (1 + error)
        most = math.exp(min(epsilon, 0.0)) * (1 + 4 * _UNIT)
        return max(low - _LOST, 0.0), min(high + self._atoms.lost + _LOST, most)


class _Sum(NamedTuple):
    """The terms of 1 - delta at one eps: their places, how far these may be off, masses, and ends."""

    place: Array
    room: Array
    mass: Array
    ends: Ends

    def open(self) -> NDArray[np.intp]:
        """The terms that leave most open, so many that the others leave next to nothing."""
        gap = self.mass * (self.ends.upper - self.ends.lower)
        order = np.argsort(-gap, kind="stable")
        left = np.cumsum(gap[order][::-1])[::-1]
        needed = int(np.count_nonzero(left > _AIM * float(self.mass @ self.ends.lower)))
        return order[: min(needed, _MOST_ASKED)]


def at_a_glance(others: Answers) -> Read:
    """The profile does not rise: right of 0 it is what it is there, and beyond some eps next to nothing."""
    most = cache(lambda side: float(others.delta(side, np.zeros(1)).upper[0]))
    reach = cache(lambda side: float(others.epsilon(side, np.array([_NOTHING])).upper[0]))

    def read(side: Way, t: Array, room: Array) -> Ends:
        least = t - room * (1 + 4 * _UNIT)
        right = np.where(least >= reach(side), _NOTHING, most(side))
        return Ends(np.zeros(t.size), np.where(least >= 0, right, 1.0))

    return read


def _left_of_one(read: Read, side: Way, place: Array, room: Array) -> Ends:
    """Ends of 1 - delta at all that is within `room` of some places: left of 0 by the profile of the other side."""
    lower, upper = np.empty(place.size), np.empty(place.size)
    left = place < 0
    for some, way in ((left, _OTHER[side]), (~left, side)):
        if some.any():
            ends = read(way, np.abs(place[some]), room[some])
            lower[some], upper[some] = 1 - ends.upper - 2 * _UNIT, 1 - ends.lower + 2 * _UNIT
    exponent, off = np.minimum(place, 0.0), np.where(left, room, 0.0)
    lower = np.maximum(lower, 0.0) * np.exp(exponent - off) * (1 - 4 * _UNIT)
    return Ends(lower, upper * np.exp(exponent + off) * (1 + 4 * _UNIT))
