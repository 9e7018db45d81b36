"""The loss of some samples with outcomes merged: a law below it in convex order, however lumpy it is.

All outcomes of a cell are one, at their mean of x = e^loss: a mass m at the left end x_k of the cell, and an excess e
with which their mean is x_k (1 + e/m). The excess of a product is

    sum of m_i m'_k ((1 + e_i/m_i)(1 + e'_k/m'_k) - 1) = sum of m_i e'_k + e_i (m'_k + e'_k),

and to a point that is d before its own an outcome goes with e^d e + (e^d - 1) m: sums of positive terms throughout.
`docs/proofs/spread.md` proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.spread.graded import FLOOR, Run, convolved, put
from edgeworth.composition.spread.law import Outcomes
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.composition.spread.law import Shares
    from edgeworth.losses.law import Array

__all__ = ["MergedLaw"]

_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class MergedLaw:
    """Masses under P and excesses on graded points, below the law that they stand for."""

    grid: Graded
    least: float
    """The least loss, from which the points are counted."""
    mass: Array
    excess: Array
    error: float
    """At least the relative error of every mass, and of every excess."""

    @classmethod
    def of(cls, grid: Graded, shares: Shares) -> MergedLaw:
        """One sample, from the shares of both ends of every cell."""
        mass, excess = shares.left + shares.right, shares.right * np.expm1(np.diff(grid.ends))
        return _without_small(cls(grid, shares.least, mass, excess, shares.error + 8 * _UNIT))

    @property
    def outcomes(self) -> Outcomes:
        """The points that have mass, and where the outcomes are."""
        (held,) = np.nonzero(self.mass)
        return Outcomes(self.grid.points[held], self.mass[held], self.excess[held] / self.mass[held])

    def times(self, other: MergedLaw) -> MergedLaw:
        """The law of the sum of two independent losses."""
        grid, a = self.grid, _Factor(self)
        b = a if other is self else _Factor(other)
        mass, excess = np.zeros(grid.points.size), np.zeros(grid.points.size)
        for j in range(len(grid.halves)):
            _add(grid, j, _added(a, b, j), (mass, excess))
        error = self.error + other.error + (8 * max(grid.halves) + 16 * len(grid.halves) + 64) * _UNIT
        return _without_small(MergedLaw(grid, self.least + other.least, mass, excess, error))


def _without_small(law: MergedLaw) -> MergedLaw:
    """Without masses whose products would be no doubles."""
    kept = law.mass >= FLOOR
    mass, excess = np.where(kept, law.mass, 0.0), np.where(kept, law.excess, 0.0)
    return MergedLaw(law.grid, law.least, mass, excess, law.error)


class _Pair(NamedTuple):
    """Masses and excesses at neighbouring points of a lattice, and the number of the first one."""

    first: int
    mass: Array
    excess: Array


class _Factor:
    """One factor by octaves, and for each of them all of those before it, merged onto its lattice."""

    def __init__(self, law: MergedLaw) -> None:
        self.grid = grid = law.grid
        octaves = range(len(grid.halves))
        self.rows = [[_Pair(first, law.mass[row], law.excess[row]) for first, row in grid.rows(j)] for j in octaves]
        self.before = [_Pair(0, np.zeros(1), np.zeros(1))]
        for j in octaves[:-1]:
            whole = self.whole(j)
            first = whole.first // (2 if grid.doubles[j] else 1)
            self.before.append(_Pair(first, *_onto_next(grid, j, whole.mass, whole.excess)))

    def whole(self, j: int, times: int = 1) -> _Pair:
        """Octave j, and so many times all before it, from an even number on up to 2 a_j."""
        before, end = self.before[j], 2 * self.grid.halves[j]
        first = -end if j < self.grid.below else 2 * (before.first // 2)
        mass, excess = np.zeros(end - first + 1), np.zeros(end - first + 1)
        for number, run in ((times, before), *((1, row) for row in self.rows[j])):
            put(mass, first, Run(run.first, number * run.mass))
            put(excess, first, Run(run.first, number * run.excess))
        return _Pair(first, mass, excess)


def _onto_next(grid: Graded, octave: int, mass: Array, excess: Array) -> tuple[Array, Array]:
    """Masses and excesses of an octave, the first point an even one, on those of the next: odd ones go to the left."""
    if not grid.doubles[octave]:
        return mass, excess
    step = grid.steps[octave]
    kept, more = mass[::2].copy(), excess[::2].copy()
    kept[:-1] += mass[1::2]
    more[:-1] += math.exp(step) * excess[1::2] + math.expm1(step) * mass[1::2]
    return kept, more


def _added(a: _Factor, b: _Factor, j: int) -> _Pair:
    """The sums of pairs of which one at least is in octave j and none in a later one, on its points up to 4 a_j."""
    pairs = [(row, b.whole(j, times=2 if a is b else 1)) for row in a.rows[j]]
    if a is not b:
        pairs += [(row, a.before[j]) for row in b.rows[j]]
    masses, excesses = [], []
    for one, other in pairs:
        mass = Run(one.first, one.mass)
        masses.append((mass, Run(other.first, other.mass)))
        excesses.append((mass, Run(other.first, other.excess)))
        excesses.append((Run(one.first, one.excess), Run(other.first, other.mass + other.excess)))
    found = convolved(a.grid, j, masses, 1)
    return _Pair(found.first, found.values, convolved(a.grid, j, excesses, 1).values)


def _add(grid: Graded, j: int, sums: _Pair, found: tuple[Array, Array]) -> None:
    """The sums inside of the end of octave j stay where they are, the others go to the next one, or are left out."""
    half, place = grid.halves[j], grid.inside[j]
    end, least = 2 * half - sums.first, (1 - 2 * half if j < grid.below else 0) - sums.first
    for values, some in zip(found, sums[1:], strict=True):
        values[place[:-1]] += some[least:end]
    if j + 1 < len(grid.halves):
        over = _onto_next(grid, j, sums.mass[end:], sums.excess[end:])
        for values, some in zip(found, over, strict=True):
            values[grid.octaves[j + 1]] += some[:-1]
    if j < grid.below:
        if j + 1 < grid.below:
            under = _onto_next(grid, j, sums.mass[:least], sums.excess[:least])
            for values, some in zip(found, under, strict=True):
                values[grid.mirrored[j + 1]] += some[1:]
        elif sums.mass[:least].any():
            raise ComputationFailed("the points end above the least loss of these samples")
