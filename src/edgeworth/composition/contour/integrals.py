"""Certified values of delta, alpha and beta from ladders of vertical lines.

Every reading goes to the rung whose integrand is smallest; a rung's line is prepared when it is first needed and then
serves every kind of reading near it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.contour.ladder import Ladder, Side, has_room
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.roots import Roots
from edgeworth.composition.contour.rung import K_SLACK, SHAPES, STEP_SLACK, Kind, Rung
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["Integrals"]

_NEARER = 2.0 ** -np.arange(1.0, 11.0)  # of the distance of the first rung from its pole
_MOST_CHOICES = 8
_CLIMB = 2.5e4  # units of work for a ladder
_ABOUT_AS_GOOD = 0.5  # nats of an integrand


class Integrals:
    """All readings of one sum of steps by line integrals."""

    def __init__(self, steps: Steps, choices: int = _MOST_CHOICES) -> None:
        """Prepare; a threshold tries this many rungs at most, should their lines not be had."""
        self.steps, self._choices = steps, choices
        self.moments = LogMoments(steps)
        self._ladders: dict[Side, Ladder] = {}
        self.spread, self.middle = self.moments.spread, self.moments.middle
        self.mean_under_p, self.mean_under_q = self.moments.mean_under_p, self.moments.mean_under_q
        self._near: dict[Side, Array] = {}
        self._built: dict[tuple[Side, int], Rung] = {}
        self._last: dict[Kind, Rung] = {}
        self._sizes: dict[Kind, tuple[list[int], list[tuple[Side, int]], Array, Array]] = {}

    @property
    def kept(self) -> int:
        """How many nodes its lines hold in memory."""
        return sum(rung.line.t.size for rung in self._built.values() if rung.line is not None)

    def ladder(self, side: Side) -> Ladder:
        """The rungs of one side."""
        if side not in self._ladders:
            spend(_CLIMB)
            self._ladders[side] = Ladder(self.moments, side)
        return self._ladders[side]

    def __call__(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of the kind's value at every threshold t (for "reverse", at eps' = -t)."""
        owners = self.owners(kind, threshold)
        if len(owners) == 1:
            return owners[0][0].ends(kind, threshold)
        lower, upper = np.empty(threshold.size), np.empty(threshold.size)
        for rung, here in owners:
            lower[here], upper[here] = rung.ends(kind, threshold[here])
        return Ends(lower, upper)

    def log_ceiling(self, kind: Kind, threshold: Array) -> Array:
        """At least the logarithm of the value at every threshold: the best of Chernoff's bounds at the rungs.

        And at tilts nearer to the pole than any rung: of a narrow bulk the first may be far beyond what a jump wants.
        """
        shape = SHAPES[kind]
        self._reach(kind, threshold)
        outer: Side = next((side for side in shape.sides if side != "middle"), "middle")
        tables = [self.ladder(side).table for side in shape.sides]
        c, k = np.concatenate([self._nearer(outer), *tables])[:, :2].T
        slack = K_SLACK * (1 + np.abs(k)) + STEP_SLACK * (sum(n for _, n in self.steps.others) + 1)
        return np.asarray(np.min((k + slack)[:, None] + (shape.pole - c)[:, None] * threshold, axis=0))

    def _nearer(self, side: Side) -> Array:
        """Tilts between the pole and the first rung, and K there."""
        if side not in self._near:
            pole, table = self.ladder(side).pole, self.ladder(side).table
            if not len(table):
                raise ComputationFailed("no line is left: next to the pole the moments of this law are no doubles")
            c = pole + (table[0, 0] - pole) * _NEARER
            self._near[side] = np.column_stack([c, self.moments(c)])
        return self._near[side]

    def _reach(self, kind: Kind, threshold: Array) -> None:
        """Climb as far as the thresholds ask."""
        for side in SHAPES[kind].sides:
            ladder = self.ladder(side)
            if side == "middle" and kind != "reverse overlap":
                ladder.climb_to_the_end()
            else:
                ladder.reach(float((ladder.outward * threshold).max()) * ladder.outward)

    def owners(self, kind: Kind, threshold: Array) -> list[tuple[Rung, Any]]:
        """The rungs that serve these thresholds, each with the index of its own: the smallest integrand wins.

        Often all of them are served by the rung that was asked last.
        """
        last = self._last.get(kind)
        if last is not None and last.serves(kind, threshold):
            return [(last, slice(None))]
        self._reach(kind, threshold)
        names, c, log_size = self._integrands(kind)
        size = log_size + (SHAPES[kind].pole - c) * threshold
        column = size.ravel().tolist()
        nearest = [column.index(min(column))] if threshold.size == 1 else size.argmin(axis=0).tolist()
        if len(set(nearest)) == 1 and self._rung(*names[nearest[0]]).line is not None:
            self._last[kind] = self._rung(*names[nearest[0]])
            return [(self._last[kind], slice(None))]
        best = self._living(names, size)
        return [(self._rung(*names[number]), best == number) for number in sorted(set(best.tolist()))]

    def _integrands(self, kind: Kind) -> tuple[list[tuple[Side, int]], Array, Array]:
        """The rungs that may serve a kind; their tilts, and the log of the integrand's size at t = 0, as columns."""
        shape, tables = SHAPES[kind], [self.ladder(side).table for side in SHAPES[kind].sides]
        heights = [len(table) for table in tables]
        if self._sizes.get(kind, ([],))[0] != heights:
            starts = [0] * (len(tables) - 1) + [self._start(kind)]
            names = [
                (side, number)
                for side, start, height in zip(shape.sides, starts, heights, strict=True)
                for number in range(start, height)
            ]
            c, k = np.concatenate([table[start:] for table, start in zip(tables, starts, strict=True)])[:, :2].T
            log_size = k - sum(np.log(np.abs(c - pole)) for pole in shape.poles)
            self._sizes[kind] = heights, names, c[:, None], log_size[:, None]
        return self._sizes[kind][1:]

    def _start(self, kind: Kind) -> int:
        """The first rung of its last ladder that a kind needs.

        Rungs stand close together, and their lines have many nodes, next to a pole: a tail that lacks this pole can do
        without the first if no other ladder comes before, and the second is about as good at the tail's median.
        """
        shape, ladder = SHAPES[kind], self.ladder(SHAPES[kind].sides[-1])
        if ladder.pole in shape.poles or has_room(self.moments) or len(ladder.table) < 2:
            return 0
        c, k = ladder.table[:2, :2].T
        mean = self.mean_under_q if shape.pole else self.mean_under_p
        first, second = k - np.log(np.abs(c - shape.pole)) - c * mean
        return int(second - first < _ABOUT_AS_GOOD)

    def root(self, kind: Kind, rung: Rung, guess: Array, log_target: Array) -> tuple[Array, Array]:
        """Thresholds at which the kind has these logarithms, and the width that its errors leave open around each."""
        return self._roots(kind, rung)(guess, log_target, self.spread)

    def root_on_last_line(self, kind: Kind, log_target: Array) -> tuple[Rung, Array, Array] | None:
        """The same without a guess, after its rung, where the one that was asked last serves all of these roots."""
        rung = self._last.get(kind)
        found = None if rung is None else self._roots(kind, rung).by_interpolation(log_target)
        return None if rung is None or found is None else (rung, *found)

    def _roots(self, kind: Kind, rung: Rung) -> Roots:
        if kind not in rung.roots:
            rung.roots[kind] = Roots(rung, kind, *self._domain(kind, rung))
        return rung.roots[kind]

    def _domain(self, kind: Kind, rung: Rung) -> tuple[float, float]:
        """The thresholds at which no other rung has a smaller integrand, from the inner end outward.

        Not beyond the median of a tail, about, nor beyond epsilon = 0; nor far where no rung follows.
        """
        _, tilts, log_sizes = self._integrands(kind)
        shape, outward = SHAPES[kind], rung.outward(kind)
        places = [(outward * (c - rung.c), size) for c, size in zip(tilts.flat, log_sizes.flat, strict=True)]
        own = next(size for away, size in places if away == 0)
        mean = self.mean_under_q if shape.pole else self.mean_under_p
        inner = outward * mean - 0.1 * self.spread if len(shape.poles) == 1 else 0.0
        inner = max([inner, *((size - own) / away for away, size in places if away < 0)])
        outer = outward * rung.centre + 2 * math.sqrt(rung.variance)
        outer = min([outer, *((size - own) / away for away, size in places if away > 0)])
        outer = max(outer, inner + 0.1 * self.spread)
        return outward * inner, outward * outer

    def _living(self, names: list[tuple[Side, int]], size: Array) -> NDArray[np.intp]:
        """The number of the smallest integrand whose line can be had, for each threshold; after some, the smallest."""
        first_choice: NDArray[np.intp] = np.argmin(size, axis=0)
        nearest = first_choice
        for _ in range(self._choices):
            dead = [number for number in set(nearest.tolist()) if self._rung(*names[number]).line is None]
            if not dead:
                return nearest
            size[dead] = math.inf  # these lines cannot be had: the next smallest integrand serves
            nearest = np.argmin(size, axis=0)
        dead = [number for number in set(nearest.tolist()) if self._rung(*names[number]).line is None]
        return np.where(np.isin(nearest, dead), first_choice, nearest)

    def _rung(self, side: Side, number: int) -> Rung:
        if (side, number) not in self._built:
            self._built[side, number] = Rung(self, side, *self.ladder(side).table[number].tolist())
        return self._built[side, number]
