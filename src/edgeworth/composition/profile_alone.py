"""Answers of an engine that has ends of delta in each direction and nothing else."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends, narrow
from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.searched import SearchedAnswers
from edgeworth.composition.work import going_on, is_spent
from edgeworth.errors import EdgeworthError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.composition.searched import Places, Proved
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["ProfileAlone", "Way"]

#: one direction
Way: TypeAlias = Literal["forward", "backward"]

_WIDE = 1e-6  # relative: up to here f is searched for in quicker answers
_UNIT = 2.0**-53
_MOST_SECANTS = 40
_MOST_LEFT = 32  # values of a call that has spent its work, for which the moments are asked
_ULPS = 64 * _UNIT  # of the largest loss, which is a sum of some


class ProfileAlone(SearchedAnswers):
    """Ends of delta, and of epsilon by a search; of f no more than what others say, or that it is at most 1 - alpha.

    The search begins with what quicker answers say, if there are some, or else the tilted moments.
    """

    CLOSE = 1e-9  #: relative to the target: a delta that needs no other secant
    remainder: Callable[[Direction, Array], Ends] | None = None  #: 1 - delta, where it has digits of its own

    def __init__(self, total: TotalLoss, quick: ProfileAlone | None = None) -> None:
        self._moments, self._quick = moments.prepared(total), quick
        super().__init__(self._moments if quick is None else _Tried(quick, self._moments), 0.0, symmetric=False)
        self._largest = {"forward": total.support[1], "backward": -total.support[0]}

    @abstractmethod
    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at a finite eps that is not beyond the largest loss."""

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        side: Way = "forward" if direction == "forward" else "backward"
        ends = one_by_one(epsilon, partial(self._one, side), (0.0, 1.0))
        if epsilon.size > 1 and is_spent():
            left = np.flatnonzero((ends.lower == 0) & (ends.upper == 1))[:_MOST_LEFT]
            with going_on():
                narrow(ends, left, self._moments.delta(side, epsilon[left]))
        return ends

    def _one(self, side: Way, epsilon: float) -> tuple[float, float]:
        if epsilon == math.inf or epsilon > self._largest[side] * (1 + _ULPS):
            return 0.0, 0.0
        return (1.0, 1.0) if epsilon == -math.inf else self.at(side, epsilon)

    def _guess(self, direction: Direction, proved: Proved) -> tuple[float, float]:
        """Where delta is about the target, by secants of its logarithm, and what is left open there.

        A reading may take long, and few secants are enough; where they leave what is known, the middle is tried.
        """
        left, right = proved.ends
        last, before = self._height(direction, right, proved), self._height(direction, left, proved)
        place, other = right, left
        for _ in range(_MOST_SECANTS):
            step = last[0] - before[0]
            place, other, before = place - last[0] * (place - other) / step if step else left, place, last
            if not left < place < right:
                place = 0.5 * (left + right)
            last = self._height(direction, place, proved)
            left, right = (place, right) if last[0] > 0 else (left, place)
            if abs(last[0]) <= max(0.1 * min(last[1], 1.0), self.CLOSE) or right - left <= 4 * _UNIT * right:
                break
        slope = (last[0] - before[0]) / (place - other) if place != other else 0.0
        margin = 2 * (min(last[1], 1.0) + abs(last[0])) / max(-slope, 1e-300)
        return place, min(margin, 1e-3 * place) + 8 * _UNIT * place

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Nothing of its own, f is read from the profile: that of the quicker answers, if these can say it."""
        if self._quick is not None:
            with suppress(EdgeworthError):
                return ByProfile(self._quick, _WIDE).tradeoff(direction, alpha)
        return Ends(np.where((alpha == 0) | (alpha == 1), 1 - alpha, 0.0), np.nextafter(1 - alpha, 2.0))

    def places(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds in order, backward those of -T, between which that of a test is, by the tilted moments."""
        before, after = self._moments.between(direction, alpha)
        return (before, after) if direction == "forward" else (-after, -before)

    def bridge(self) -> tuple[float, float]:
        """That of the tilted moments."""
        return self._moments.bridge()

    def read(self, kind: Kind, t: Array) -> Ends:
        """Delta forward, and backward; the overlap is not read."""
        if kind == "overlap":
            raise Unsupported("the overlap is not read here; f follows from the profile")
        return self.profile("forward", t) if kind == "delta" else self.profile("backward", -t)


class _Tried:
    """What quicker answers say, or the moments where they give up."""

    def __init__(self, quick: ProfileAlone, known: Places) -> None:
        self._quick, self._known = quick, known

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""
        try:
            return self._quick.root(direction, delta)
        except EdgeworthError:
            return self._known.root(direction, delta)

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta in one direction."""
        return self._known.surely_reached(direction, epsilon, delta)

    def between(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds between which that of a test is."""
        return self._known.between(direction, alpha)
