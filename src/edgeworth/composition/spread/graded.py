"""Points for a law with a narrow heap and far tails: evenly spaced in octaves, so that sums of points are points.

Octave j holds the losses i h_j with a_j <= i < 2 a_j, the first one those with 0 <= i < 2 a_0; the first few octaves
hold the same below 0, too. From an octave to the next the step h_j doubles, or it stays and a_j doubles. A sum of two
losses that comes to lie between the points of its octave is spread to both neighbours with its mean of x = e^loss.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.one_thread import convolution
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeworth.losses.law import Array

__all__ = ["FLOOR", "Graded", "Run", "Sums", "convolved", "product", "put"]

_UNIT = 2.0**-53
_PRODUCTS = 500.0  # that are one unit of work
FLOOR = 1e-150  # the product of two such masses is still a double
_MERGED, _MOST_MERGED = 6, 0.5  # points that are merged with another one, and what share of them at the most


class Graded:
    """The points: the first step, how many there are in half of the first octave, and which octaves double the step.

    So many octaves as `below` says have points below 0, too.

    >>> Graded(0.5, 2, [True, False]).ends.tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    >>> Graded(0.5, 2, [True], below=1).points.tolist()
    [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    """

    def __init__(self, step: float, half: int, doubles: Sequence[bool], below: int = 0) -> None:
        self.steps, self.halves, self.below = [step], [half], below
        self.doubles = [*doubles, True]
        for double in doubles:
            self.steps.append(self.steps[-1] * (2 if double else 1))
            self.halves.append(self.halves[-1] * (1 if double else 2))
        starts = np.cumsum([0, 2 * half, *self.halves[1:]]).tolist()
        zero = starts[below] - 1 if below else 0
        self.octaves = [slice(zero + left, zero + right) for left, right in pairwise(starts)]
        self.mirrored = [slice(zero + 1 - right, zero + 1 - left) for left, right in pairwise(starts[: below + 1])]
        if below:
            self.mirrored[0] = slice(self.mirrored[0].start, zero)  # without 0 itself

    @cached_property
    def points(self) -> Array:
        """All points in order."""
        numbers = [np.arange(0 if j == 0 else half, 2 * half) for j, half in enumerate(self.halves)]
        above = np.concatenate([step * number for step, number in zip(self.steps, numbers, strict=True)])
        return np.concatenate([-above[self.octaves[0].start : 0 : -1], above])

    @cached_property
    def x(self) -> Array:
        """The same as x = e^loss."""
        return np.exp(self.points)

    @cached_property
    def ends(self) -> Array:
        """The points, and the end of the last cell."""
        return np.append(self.points, 2 * self.halves[-1] * self.steps[-1])

    @cached_property
    def gaps(self) -> Array:
        """The lengths in x of the cells, one right of each point."""
        return np.asarray(self.x * np.expm1(np.diff(self.ends)))

    @cached_property
    def inside(self) -> list[NDArray[np.intp]]:
        """For each octave which of all points, or the end, are those on its lattice up to its end."""
        numbers = [np.arange(1 - 2 * half if j < self.below else 0, 2 * half + 1) for j, half in enumerate(self.halves)]
        return [np.searchsorted(self.points, step * some) for step, some in zip(self.steps, numbers, strict=True)]

    def rows(self, octave: int) -> list[tuple[int, slice]]:
        """The points of an octave above and below 0: the number of the first on its lattice, and which they are."""
        found = [(self.halves[octave] if octave else 0, self.octaves[octave])]
        return [*found, (1 - 2 * self.halves[octave], self.mirrored[octave])] if octave < self.below else found

    def onto_next(self, octave: int, mass: Array) -> Array:
        """Masses on evenly spaced points of an octave, the first an even one, brought onto those of the next."""
        return _coarser(mass, self.steps[octave]) if self.doubles[octave] else mass

    def without_last_gap(self, octave: int, mass: Array) -> Array:
        """The same masses, or merged ones, of which bringing them onto the points of the next adds none to the last."""
        return _last_merged(mass, self.steps[octave]) if self.doubles[octave] else mass

    def cells_of_next(self, octave: int, cells: Array) -> Array:
        """A number for each cell of an octave, the larger one of both for every cell of the next."""
        return np.maximum(cells[::2], cells[1::2]) if self.doubles[octave] else cells

    def tents(self, octave: int, mass: Array, first: int) -> Array:
        """How much E[(x - u)_+] rises at the most in each cell of the next octave if masses are brought onto it."""
        if not self.doubles[octave]:
            return np.zeros(mass.size - 1)
        return _tents(mass, self.steps[octave], first)


class Sums(NamedTuple):
    """The law of a sum on the points, how much it rose, and what came to lie beyond, under P and under x P."""

    mass: Array
    tents: Array
    """For each cell at least how much more E[(x - u)_+] is for the u in it than for the sum itself."""
    beyond: tuple[float, float]


def product(grid: Graded, one: Array, other: Array, *, with_tents: bool) -> Sums:
    """The law of the sum of two independent losses: every pair is added on the points of the later octave of both."""
    a = _Factor(grid, one, with_tents=with_tents)
    b = a if other is one else _Factor(grid, other, with_tents=with_tents)
    made = _Made(grid, with_tents=with_tents)
    for j in range(len(grid.halves)):
        made.add(j, _added(a, b, j), _raised(a, b, j) if with_tents else None)
    if with_tents and (top := _untouched_top(grid, made.mass, one, other)) > 0:
        made.tents[top - 1] = 0.0
    return Sums(made.mass, made.tents, made.beyond)


class Run(NamedTuple):
    """Values at neighbouring points of a lattice, or in neighbouring cells, and the number of the first one."""

    first: int
    values: Array


class _Made:
    """Where the sums of an octave go: those inside of its end stay where they are, the others go to the next one."""

    def __init__(self, grid: Graded, *, with_tents: bool) -> None:
        self.grid, self._with_tents = grid, with_tents
        self.mass, self.tents, self.beyond = np.zeros(grid.points.size), np.zeros(grid.points.size), (0.0, 0.0)

    def add(self, j: int, sums: Run, raised: Run | None) -> None:
        """The sums of octave j, of twice its numbers, and how much they rose in its cells."""
        grid, half = self.grid, self.grid.halves[j]
        end, least = 2 * half - sums.first, (1 - 2 * half if j < grid.below else 0) - sums.first
        place = grid.inside[j]
        self.mass[place[:-1]] += sums.values[least:end]
        over = grid.without_last_gap(j, sums.values[end:]) if self._with_tents else sums.values[end:]
        if j + 1 == len(grid.halves):
            (held,) = np.nonzero(over)
            with np.errstate(over="ignore"):  # what no double holds is more than any reading
                places = np.exp(grid.steps[j] * (2 * half + held))
            self.beyond = float(np.sum(over)), float(np.sum(over[held] * places))
        else:
            self.mass[grid.octaves[j + 1]] += grid.onto_next(j, over)[:-1]
        if raised is not None:
            self.tents[place[0] : place[-1]] += np.repeat(raised.values[least:end], np.diff(place))
            if j + 1 < len(grid.halves):
                self.tents[grid.octaves[j + 1]] += self._carried(j, raised.values[end:], over, 2 * half)
        if j < grid.below:
            self._add_below(j, sums.values[:least], raised)

    def _add_below(self, j: int, under: Array, raised: Run | None) -> None:
        """The sums that are not above the end of the octave below 0; nothing may lie below the last one."""
        grid = self.grid
        if j + 1 == grid.below:
            if under.any():
                raise ComputationFailed("the points end above the least loss of these samples")
            return
        row = grid.mirrored[j + 1]
        self.mass[row] += grid.onto_next(j, under)[1:]
        if raised is not None:
            cells = raised.values[: under.size]
            self.tents[row.stop - 1] += cells[-1]  # from the end of this octave to its next point
            carried = self._carried(j, cells[:-1], under, -4 * grid.halves[j])
            self.tents[row.start : row.stop - 1] += carried[1:]
            if row.start > 0:
                self.tents[row.start - 1] += carried[0]

    def _carried(self, j: int, cells: Array, mass: Array, first: int) -> Array:
        return self.grid.cells_of_next(j, cells) + self.grid.tents(j, mass, first)


def _untouched_top(grid: Graded, mass: Array, one: Array, other: Array) -> int:
    """The number of the last point of a product, if it is the sum of those of both factors and has no more mass; or 0.

    Then the cell left of it was not raised: there E[(x - u)_+] is that of this mass alone, which the exact product has.
    """
    last, a, b = (int(np.nonzero(law)[0][-1]) if law.any() else 0 for law in (mass, one, other))
    sums = grid.points[last] == grid.points[a] + grid.points[b]
    return last if sums and mass[last] <= one[a] * other[b] * (1 + 4 * _UNIT) else 0


class _Factor:
    """One factor by octaves, and for each of them all masses of those before it, brought onto its lattice."""

    def __init__(self, grid: Graded, mass: Array, *, with_tents: bool) -> None:
        self.grid, octaves = grid, range(len(grid.halves))
        self.mass = [[Run(first, mass[row]) for first, row in grid.rows(j)] for j in octaves]
        weight = mass * grid.x if with_tents else mass
        self.weight = [[Run(first, weight[row]) for first, row in grid.rows(j)] for j in octaves]
        self.before, self.tents = [Run(0, np.zeros(1))], [Run(0, np.zeros(0))]
        for j in octaves[:-1]:
            whole = self.whole(j)
            masses = grid.without_last_gap(j, whole.values) if with_tents else whole.values
            first = whole.first // (2 if grid.doubles[j] else 1)
            self.before.append(Run(first, grid.onto_next(j, masses)))
            if with_tents:
                known = np.zeros(masses.size - 1)
                put(known, whole.first, self.tents[-1])
                rose = grid.cells_of_next(j, known) + grid.tents(j, masses, whole.first)
                self.tents.append(Run(first, np.where(rose > 0, np.maximum(rose, FLOOR), 0.0)))

    def whole(self, j: int, times: int = 1) -> Run:
        """The masses of octave j, and so many times those of all before it, from an even number on up to 2 a_j."""
        before, end = self.before[j], 2 * self.grid.halves[j]
        first = -end if j < self.grid.below else 2 * (before.first // 2)
        whole = np.zeros(end - first + 1)
        put(whole, first, Run(before.first, times * before.values))
        for row in self.mass[j]:
            put(whole, first, row)
        return Run(first, whole)


def put(values: Array, first: int, run: Run) -> None:
    """Add a run to values that begin with number `first`."""
    values[run.first - first : run.first - first + run.values.size] += run.values


def _added(a: _Factor, b: _Factor, j: int) -> Run:
    """The sums of pairs of which one at least is in octave j and none in a later one, on its points up to 4 a_j."""
    pairs = [(row, b.whole(j, times=2 if a is b else 1)) for row in a.mass[j]]
    if a is not b:
        pairs += [(row, a.before[j]) for row in b.mass[j]]
    return convolved(a.grid, j, pairs, 1)


def _raised(a: _Factor, b: _Factor, j: int) -> Run:
    """How much these rose as the octaves before were brought onto points of octave j, for its cells up to 4 a_j.

    A point y of the other factor carries a cell of u to that of y u, and what was raised there to y times as much.
    """
    pairs = [(row, b.tents[j]) for row in a.weight[j]]
    if a is not b:
        pairs += [(row, a.tents[j]) for row in b.weight[j]]
    found = convolved(a.grid, j, pairs, 0)
    return Run(found.first, 2 * found.values) if a is b else found


def convolved(grid: Graded, j: int, pairs: list[tuple[Run, Run]], more: int) -> Run:
    """The sums of products of terms >= 0, without the zeros at both ends of either factor; there is a point `more`."""
    first = -4 * grid.halves[j] if j < grid.below else 0
    sums = np.zeros(4 * grid.halves[j] - first + more)
    for one, other in pairs:
        (i,), (k,) = np.nonzero(one.values), np.nonzero(other.values)
        if i.size and k.size:
            spend(float(i[-1] + 1 - i[0]) * float(k[-1] + 1 - k[0]) / _PRODUCTS)
            found = convolution(one.values[i[0] : i[-1] + 1], other.values[k[0] : k[-1] + 1])
            put(sums, first, Run(one.first + int(i[0]) + other.first + int(k[0]), found))
    return Run(first, sums)


def _coarser(mass: Array, step: float) -> Array:
    """Every other point is spread to its neighbours: x is 1/(1 + e^h) of the way from x e^-h to x e^h.

    >>> _coarser(np.array([0.0, 1.0, 0.0]), math.log(2.0)).round(12).tolist()
    [0.666666666667, 0.333333333333]
    """
    right = 1 / (1 + math.exp(step))
    kept = mass[::2].copy()
    kept[:-1] += mass[1::2] * (1 - right)
    kept[1:] += mass[1::2] * right
    return kept


def _last_merged(mass: Array, step: float) -> Array:
    """The last but one point, if it would be spread to the last, merged with some before it: at x of the next one.

    >>> _last_merged(np.array([0.0, 0.0, 0.0, 0.0, 3.0, 6.0, 1.0, 1.0, 9.0]), math.log(2.0)).round(12).tolist()
    [0.0, 0.0, 0.0, 0.0, 2.428571428571, 4.857142857143, 3.714285714286, 0.0, 9.0]
    """
    (held,) = np.nonzero(mass)
    last = int(held[-1]) if held.size else 0
    if last % 2 == 1 or last < _MERGED + 2 or mass[last - 1] == 0:
        return mass
    some = slice(last - 2 - _MERGED, last - 2)
    short = -float(mass[some] @ np.expm1(-step * np.arange(_MERGED, 0, -1)))
    share = float(mass[last - 1]) * math.expm1(step) / short if short > 0 else math.inf
    if share > _MOST_MERGED:
        return mass
    merged = mass.copy()
    merged[some] *= 1 - share
    merged[last - 2] += mass[last - 1] + share * np.sum(mass[some])
    merged[last - 1] = 0.0
    return merged


def _tents(mass: Array, step: float, first: int) -> Array:
    """How much E[(x - u)_+] rises by that, at the point that is spread; the masses begin `first` steps from 0.

    >>> _tents(np.array([0.0, 1.0, 0.0]), math.log(2.0), 0).round(12).tolist()  # 1/3 of 4 - 2
    [0.666666666667]
    """
    right = 1 / (1 + math.exp(step))
    place = np.exp(step * (first + 1 + 2 * np.arange(mass.size // 2)))
    return np.asarray(mass[1::2] * place * (2 * math.sinh(step) * right * (1 - right)))
