"""Points for a law with a narrow heap and a far tail: evenly spaced in octaves, so that sums of points are points.

Octave j holds the losses i h_j with a_j <= i < 2 a_j, the first one those with 0 <= i < 2 a_0. From an octave to the
next the step h_j doubles, or it stays and a_j doubles. A sum of two losses that comes to lie between the points of its
octave is spread to both neighbours with its mean of x = e^loss.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeworth.losses.law import Array

__all__ = ["FLOOR", "Graded", "Sums", "product"]

_UNIT = 2.0**-53
FLOOR = 1e-150  # the product of two such masses is still a double
_MERGED, _MOST_MERGED = 6, 0.5  # points that are merged with another one, and what share of them at the most


class Graded:
    """The points: the first step, how many there are in half of the first octave, and which octaves double the step.

    >>> Graded(0.5, 2, [True, False]).ends.tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """

    def __init__(self, step: float, half: int, doubles: Sequence[bool]) -> None:
        self.steps, self.halves = [step], [half]
        self.doubles = [*doubles, True]
        for double in doubles:
            self.steps.append(self.steps[-1] * (2 if double else 1))
            self.halves.append(self.halves[-1] * (1 if double else 2))
        starts = np.cumsum([0, 2 * half, *self.halves[1:]]).tolist()
        self.octaves = [slice(*ends) for ends in pairwise(starts)]

    @cached_property
    def points(self) -> Array:
        """All points in order."""
        numbers = [np.arange(0 if j == 0 else half, 2 * half) for j, half in enumerate(self.halves)]
        return np.concatenate([step * number for step, number in zip(self.steps, numbers, strict=True)])

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
    mass, tents, beyond = np.zeros(one.size), np.zeros(one.size), (0.0, 0.0)
    for j, (half, mine) in enumerate(zip(grid.halves, grid.octaves, strict=True)):
        inside = 2 * half - (half if j else 0)
        sums = _added(a, b, j, 2 * half + inside + 1)
        mass[mine] += sums[:inside]
        over = grid.without_last_gap(j, sums[inside:]) if with_tents else sums[inside:]
        if j + 1 == len(grid.halves):
            places = np.exp(grid.steps[j] * (2 * half + np.arange(over.size)))
            beyond = float(np.sum(over)), float(np.sum(over * places))
        else:
            mass[grid.octaves[j + 1]] += grid.onto_next(j, over)[:-1]
        if with_tents:
            raised = _raised(a, b, j, 2 * half + inside)
            tents[mine] += raised[:inside]
            if j + 1 < len(grid.halves):
                carried = grid.cells_of_next(j, raised[inside:]) + grid.tents(j, over, 2 * half)
                tents[grid.octaves[j + 1]] += carried
    if with_tents and (top := _untouched_top(grid, mass, one, other)) > 0:
        tents[top - 1] = 0.0
    return Sums(mass, tents, beyond)


def _untouched_top(grid: Graded, mass: Array, one: Array, other: Array) -> int:
    """The number of the last point of a product, if it is the sum of those of both factors and has no more mass; or 0.

    Then the cell left of it was not raised: there E[(x - u)_+] is that of this mass alone, which the exact product has.
    """
    last, a, b = (int(np.nonzero(law)[0][-1]) if law.any() else 0 for law in (mass, one, other))
    sums = grid.points[last] == grid.points[a] + grid.points[b]
    return last if sums and mass[last] <= one[a] * other[b] * (1 + 4 * _UNIT) else 0


class _Factor:
    """One factor by octaves, and for each of them all masses of those before it, brought onto its points 0 … a_j."""

    def __init__(self, grid: Graded, mass: Array, *, with_tents: bool) -> None:
        self.mass = [mass[octave] for octave in grid.octaves]
        self.weight = [(mass * grid.x)[octave] for octave in grid.octaves] if with_tents else self.mass
        self.before, self.tents = [np.zeros(1)], [np.zeros(0)]
        for j, (row, half) in enumerate(zip(self.mass[:-1], grid.halves, strict=False)):
            whole = np.append(row, 0.0) if j == 0 else self.whole(j)
            whole = grid.without_last_gap(j, whole) if with_tents else whole
            self.before.append(grid.onto_next(j, whole))
            if with_tents:
                known = np.append(self.tents[-1], np.zeros(2 * half - self.tents[-1].size))
                rose = grid.cells_of_next(j, known) + grid.tents(j, whole, 0)
                self.tents.append(np.where(rose > 0, np.maximum(rose, FLOOR), 0.0))

    def whole(self, j: int, times: int = 1) -> Array:
        """The masses of octave j > 0, and so many times those of all before it, on its points 0 … 2 a_j."""
        before, row = self.before[j], self.mass[j]
        whole = np.zeros(2 * row.size + 1)
        whole[row.size : -1] = row
        whole[: before.size] += times * before
        return whole


def _added(a: _Factor, b: _Factor, j: int, size: int) -> Array:
    """The sums of pairs of which one at least is in octave j and none in a later one, on its points up to 4 a_j."""
    if j == 0:
        return _convolved(a.mass[0], b.mass[0], size)
    if a is b:
        return _convolved(a.mass[j], a.whole(j, times=2), size)
    return _convolved(a.mass[j], b.whole(j), size) + _convolved(b.mass[j], a.before[j], size)


def _raised(a: _Factor, b: _Factor, j: int, size: int) -> Array:
    """How much these rose as the octaves before were brought onto points of octave j, for its cells up to 4 a_j.

    A point y of the other factor carries a cell of u to that of y u, and what was raised there to y times as much.
    """
    if a is b:
        return 2 * _convolved(a.weight[j], a.tents[j], size)
    return _convolved(a.weight[j], b.tents[j], size) + _convolved(b.weight[j], a.tents[j], size)


def _convolved(one: Array, other: Array, size: int) -> Array:
    """The sums of products of terms >= 0, without the zeros at both ends of either factor."""
    sums = np.zeros(size)
    (i,), (k,) = np.nonzero(one), np.nonzero(other)
    if i.size and k.size:
        found = np.convolve(one[i[0] : i[-1] + 1], other[k[0] : k[-1] + 1])
        sums[i[0] + k[0] : i[0] + k[0] + found.size] = found
    return sums


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
