"""The profile of what ran beside the samples, at very many places at once: from its values at some.

It is convex in u = e^t: below its chords, and above them prolonged. Where all that ran has atoms alone it is straight
between them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition import fourier, lattice, residues
from edgeworth.composition.answered import Ends
from edgeworth.composition.work import spend
from edgeworth.losses import LaplaceLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Kinks", "Known", "Rest", "Sides", "engine_of", "kinks_of", "known_lower", "known_upper"]

_ROOM = 16 * 2.0**-53  # relative, for the rounding of a handful of operations
_MOST_KINKS = 4_000
_PLACES = 6_000  # evenly spaced, of a profile with a density
_BESIDE, _FASTER = 1e-12, 4.0  # the nearest place beside a kink, relative, and how distances grow
_CLOSE = 1e-13  # relative to the largest loss: atoms that are taken for one
_MOST_BESIDE, _MOST_PLACES = 16, 8_000
_PLACE = 50.0  # units of work for every place at which another engine is asked
_LITTLE = 1e-8  # of a reading: what a table may leave open of it where the engine is asked itself
_MOST_ASKED = 30_000  # places at a time


class Known(NamedTuple):
    """Rising places, ends of the profile there, and whether it is straight in u right of each."""

    place: Array
    ends: Ends
    straight: NDArray[np.bool_]


class Sides(NamedTuple):
    """A profile from either side, as functions of t: seldom are both ends asked for at the same places."""

    lower: Callable[[Array], Array]
    upper: Callable[[Array], Array]

    def closely(self, ask: Callable[[Array], Ends], weight: Array) -> Sides:
        """The same, but for places with these weights: their engine is asked where a share that counts is open."""
        return Sides(
            partial(_closely, self, ask, weight, upper=False), partial(_closely, self, ask, weight, upper=True)
        )


def _closely(known: Sides, ask: Callable[[Array], Ends], weight: Array, t: Array, *, upper: bool) -> Array:
    """One end at every t; what is asked for of the engine is where most is open."""
    low, high = known.lower(t), known.upper(t)
    open_, end = weight * (high - low), high if upper else low
    (wide,) = np.nonzero(open_ * t.size > _LITTLE * float(np.sum(weight * high)))
    if wide.size > _MOST_ASKED:
        wide = wide[np.argpartition(open_[wide], -_MOST_ASKED)[-_MOST_ASKED:]]
    if wide.size:
        spend(_PLACE * wide.size)
        found = ask(t[wide])
        end[wide] = np.minimum(high[wide], found.upper) if upper else np.maximum(low[wide], found.lower)
    return end


class Rest:
    """Ends of the profile of the rest in each direction."""

    def __init__(self, total: TotalLoss, answers: Answers, kinks: Kinks) -> None:
        self._answers, self._kinks = answers, kinks
        self._atomic = all(loss.is_atomic for loss, _ in total.parts)
        self._tables: dict[Direction, Known] = {}

    def ends(self, direction: Direction, t: Array) -> Ends:
        """Ends at every t, by its engine."""
        return self._answers.delta(direction, t)

    def around(self, direction: Direction, near: Array) -> Sides:
        """The profile everywhere, from what is known there, and near some places, which need no order."""
        table = self._around(direction, near)
        return Sides(partial(known_lower, table), partial(known_upper, table))

    def _around(self, direction: Direction, near: Array) -> Known:
        table = self._table(direction)
        if self._atomic:
            return table
        fresh = np.unique(near[(near > table.place[0]) & (near < table.place[-1])])
        place = np.concatenate([table.place, fresh])
        order = np.argsort(place, kind="stable")
        spend(_PLACE * fresh.size)
        found = self.ends(direction, fresh)
        ends = Ends(*(np.concatenate(pair)[order] for pair in zip(table.ends, found, strict=True)))
        return Known(place[order], ends, np.zeros(place.size, dtype=bool))

    def _table(self, direction: Direction) -> Known:
        if direction not in self._tables:
            place, room = self._kinks
            kinks = Kinks(place if direction == "forward" else -place[::-1], room)
            place = _beside(kinks) if self._atomic else _places(kinks.place)
            straight = np.arange(place.size) % 2 == 1 if self._atomic else np.zeros(place.size, dtype=bool)
            self._tables[direction] = Known(place, self.ends(direction, place), straight)
        return self._tables[direction]


def engine_of(total: TotalLoss) -> Answers | None:
    """The engine that has all digits of the rest, if one has."""
    if fourier.applies(total):
        return fourier.prepared(total)
    if residues.answers_well(total):
        return residues.prepared(total)
    if lattice.applies(total) and (found := lattice.prepared(total)).exact:
        return found
    return None


class Kinks(NamedTuple):
    """Where the profile has kinks, rising, and how far off these places may be."""

    place: Array
    room: float


def kinks_of(total: TotalLoss) -> Kinks | None:
    """The sums of the atoms of all steps, those that are close taken for one; None if they are too many.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> kinks_of(TotalLoss.of(ew.Laplace(scale=2.0) ** 2 * ew.RandomizedResponse(0.5))).place.round(9).tolist()
    [-1.5, -0.5, 0.5, 1.5]
    """
    close = _CLOSE * (1 + math.fsum(n * max(-loss.support[0], loss.support[1]) for loss, n in total.parts))
    steps, found = sum(n for _, n in total.parts), np.zeros(1)
    if not steps <= _MOST_KINKS or not math.isfinite(close):
        return None
    for loss, n in total.parts:
        atoms = _atoms(loss)
        if atoms is None:
            return None
        for _ in range(n):
            found = np.unique(np.round(np.add.outer(found, atoms) / close)) * close
            if found.size > _MOST_KINKS:
                return None
    return Kinks(found, (steps + 4) * close)


def _atoms(loss: PrivacyLoss) -> Array | None:
    if isinstance(loss, LaplaceLoss):
        return np.array([-loss.theta, loss.theta])
    return loss.atoms.loss if loss.atoms is not None and loss.atoms.loss.size <= _MOST_KINKS else None


def _beside(kinks: Kinks) -> Array:
    """A place on either side of every kink, or of several that are close."""
    place, room = kinks
    first = np.append(True, np.diff(place) > 4 * room)
    last = np.append(first[1:], True)
    return np.column_stack([place[first] - room, place[last] + room]).ravel()


def _places(kinks: Array) -> Array:
    """Even ones, and some at growing distances on either side of every kink."""
    low, high = float(kinks[0]), float(kinks[-1])
    even = np.linspace(low, high, _PLACES)
    sides = min(max(_MOST_PLACES // (2 * kinks.size), 3), _MOST_BESIDE)
    distance = _BESIDE * (1 + high - low) * _FASTER ** np.arange(sides)
    near = np.concatenate([kinks, *(kinks + side * step for side in (-1, 1) for step in distance.tolist())])
    return np.asarray(np.unique(np.concatenate([even, near])))


class _Between(NamedTuple):
    """Cells, how far from either end of each a place is in u, relative to u there, and its shares of both ends."""

    cell: NDArray[np.intp]
    rise: Array
    fall: Array
    to_left: Array
    to_right: Array

    @classmethod
    def of(cls, place: Array, t: Array) -> _Between:
        inside = np.clip(t, place[0], place[-1])
        cell = np.clip(np.searchsorted(place, inside, side="right") - 1, 0, place.size - 2)
        gap = np.expm1(np.diff(place))[cell]  # over u at its left end
        rise, fall = np.expm1(inside - place[cell]), -np.expm1(inside - place[cell + 1])
        return cls(cell, rise, fall, fall * (gap + 1) / gap, rise / gap)


def known_upper(table: Known, t: Array) -> Array:
    """At least a profile at every t, from what is known of it at some places.

    Between two places it is below the chord. It is 1 at u = 0, and does not rise.
    """
    place, (_, high), _ = table
    cell, _, _, to_left, to_right = _Between.of(place, t)
    upper = high[cell] * to_left + high[cell + 1] * to_right
    ratio = np.exp(np.minimum(t - place[0], 0.0))
    upper = np.where(t < place[0], (1 - ratio) + ratio * high[0], np.where(t > place[-1], high[-1], upper))
    return np.asarray(upper * (1 + _ROOM))


def known_lower(table: Known, t: Array) -> Array:
    """At most a profile at every t, from what is known of it at some places.

    Between two places it is above the chords of the cells on either side, prolonged, and above the chord itself where
    it is straight. It is at least 1 - u and 0.
    """
    place, (low, _), straight = table
    cell, rise, fall, to_left, to_right = _Between.of(place, t)
    lower = np.where(straight[cell], low[cell] * to_left + low[cell + 1] * to_right, low[cell + 1])
    lower = np.maximum(lower, _prolonged(table, cell, rise, fall))
    lower = np.where((t < place[0]) | (t > place[-1]), 0.0, lower)
    return np.asarray(np.maximum(lower, -np.expm1(np.minimum(t, 0.0))) * (1 - _ROOM))


def _prolonged(table: Known, cell: NDArray[np.intp], rise: Array, fall: Array) -> Array:
    """The higher one of the chords of the two neighbours of each cell, prolonged into it; 0 where there is none."""
    place, (low, high), _ = table
    gap, last = np.expm1(np.diff(place)), place.size - 2
    at, before = cell, np.maximum(cell - 1, 0)
    drop = (high[before] - low[at]) * (rise * ((gap[before] + 1) / gap[before]))
    one = np.where(cell > 0, low[at] - drop - _ROOM * (low[at] + np.abs(drop)), 0.0)
    at, after = cell + 1, np.minimum(cell + 1, last)
    climb = (low[at] - high[after + 1]) * (fall / gap[after])
    other = np.where(cell < last, low[at] + climb - _ROOM * (low[at] + np.abs(climb)), 0.0)
    return np.maximum(one, other)
