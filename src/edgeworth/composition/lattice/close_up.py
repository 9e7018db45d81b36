"""Readings on rungs of their own: the tilt and the ranges are those of one threshold, and more points are at hand.

A rung of the ladder serves all thresholds between its ends, with a tilt that is right for the one in the middle. Next
to the end of a support, or between two heaps of the law, that tilt is wrong for most of them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Direction, Ends, Forwarding, is_wide
from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.composition.lattice.ladder import FINE, Ladder
from edgeworth.composition.lattice.plan import Goal
from edgeworth.composition.lattice.profile import LatticeProfile
from edgeworth.composition.lattice.refine import prepare, refined
from edgeworth.composition.work import is_spent
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from edgeworth.composition.lattice.rung import Rung
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["CloseUp"]

_WAYS: tuple[Direction, ...] = ("forward", "backward")
_MOST_AT_A_TIME = 4  # readings, each of which takes a second or two
_ROUNDS = (True, False, False)  # whether a rung is rough, in the rounds in which ends of epsilon come nearer


class _OneRung(Ladder):
    """A ladder of one rung, between the two losses that are of interest."""

    def __init__(self, total: TotalLoss, fine: float, least: float, greatest: float) -> None:
        super().__init__(total, fine, patient=True)
        self._between = least, greatest
        self._made: dict[tuple[Kind, float | None], Rung] = {}

    def read(self, kind: Kind, t: Array, width: float | None) -> Ends:
        """Ends of one kind of reading at every t."""
        if (kind, None) not in self._made:
            goal = Goal(kind, *self._between, self.fine, patient=True)
            self._made[kind, None] = prepare(self.parts, goal, self.spread)
        if (kind, width) not in self._made:
            self._made[kind, width] = refined(self._made[kind, None], self.fine)
        return Ends(*self._made[kind, width].ends(t))


class CloseUp(Forwarding):
    """Ends of delta on a rung for this threshold, and of epsilon on rungs between ends that come nearer and nearer.

    In both directions the one that is surely smaller is left out.
    """

    def __init__(self, total: TotalLoss, fine: float = FINE) -> None:
        self._ladder = LatticeAnswers(total, fine, patient=True)
        super().__init__(self._ladder)
        self._moments = moments.prepared(total)
        self._total, self._fine = total, fine

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        _refuse_many(epsilon)
        return one_by_one(epsilon, partial(self._delta, direction), (0.0, 1.0))

    def _delta(self, direction: Direction, epsilon: float) -> tuple[float, float]:
        if direction != "both":
            return self._at(direction, epsilon)
        low, high = self._at("forward", epsilon)
        other_low, other_high = self._at("backward", epsilon, surely=low)
        return max(low, other_low), max(high, other_high)

    def _at(self, direction: Direction, epsilon: float, surely: float = 0.0) -> tuple[float, float]:
        """Ends of delta in one direction; rough ones where these are at most what another direction surely has."""
        profile, place = self._profile(direction, epsilon, epsilon), np.array([epsilon])
        (low,), (high,) = profile.delta(direction, place, rough=True)
        if not high <= surely:
            (low,), (high,) = profile.delta(direction, place)
        return float(low), float(high)

    def _profile(self, direction: Direction, least: float, greatest: float) -> LatticeProfile:
        ends = (least, greatest) if direction == "forward" else (-greatest, -least)
        return LatticeProfile(_OneRung(self._total, self._fine, *ends))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        _refuse_many(delta)
        return one_by_one(delta, partial(self._epsilon, direction), (0.0, math.inf))

    def _epsilon(self, direction: Direction, delta: float) -> tuple[float, float]:
        ways = _WAYS if direction == "both" else (direction,)
        known = {way: self._begun(way, delta) for way in ways}
        for rough in _ROUNDS:
            largest = max(low for low, _ in known.values())
            known = {way: ends for way, ends in known.items() if ends[1] >= largest}
            known = {way: self._nearer(way, delta, ends, rough=rough) for way, ends in known.items()}
        return max(low for low, _ in known.values()), max(high for _, high in known.values())

    def _begun(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of epsilon by the tilted moments, which are quick, or by the ladder where these say next to nothing."""
        low, high = self._moments.root(direction, delta)
        return (low, high) if 0 < low <= high < math.inf else self._ladder.root(direction, delta)

    def _nearer(
        self, direction: Direction, delta: float, known: tuple[float, float], *, rough: bool
    ) -> tuple[float, float]:
        """The same ends nearer to each other, by a rung between them."""
        low, high = known
        is_open = is_wide(Ends(np.array([low]), np.array([high])), self._fine)[0]
        if not (is_open and 0 < low < high < math.inf and 0 < delta < 1) or is_spent():
            return known
        read = partial(self._profile(direction, low, high).delta, direction, rough=rough)
        at_ends = read(np.array([low, high]))
        if at_ends.lower[0] >= delta:
            low = LatticeProfile.narrowed(read, delta, low, high, -1)
        if at_ends.upper[1] <= delta:
            high = LatticeProfile.narrowed(read, delta, low, high, 1)
        return low, high


def _refuse_many(argument: Array) -> None:
    if argument.size > _MOST_AT_A_TIME:
        raise Unsupported(f"{argument.size} readings at a time are too many for rungs of their own: use the ladder")
