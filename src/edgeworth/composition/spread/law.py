"""The loss of some samples on graded points: a law above it in convex order, and one below.

Spreading to points raises a law, and what it raises E[(x - u)_+] by at the most, the tents, is taken from one below.
`docs/proofs/spread.md` proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.spread.below import below
from edgeworth.composition.spread.graded import FLOOR, Sums, product

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses.law import Array

__all__ = ["LARGEST_LOG", "Outcomes", "Shares", "Side", "SpreadLaw", "Step", "finished", "shared"]

#: a law above, one below for readings forward, E[(x - u)_+], or one for those backward, E[(u - x)_+]
Side: TypeAlias = Literal["above", "forward", "backward"]

_UNIT = 2.0**-53
LARGEST_LOG = 350.0  # of a mass


class Outcomes(NamedTuple):
    """Points, their masses under P, and how much farther out each outcome lies in x, relative to its point."""

    point: Array
    mass: Array
    farther: Array | None


@dataclass(frozen=True, eq=False)
class SpreadLaw:
    """Masses under P on graded points, on one side of the law that they stand for."""

    grid: Graded
    side: Side
    least: float
    """The least loss, from which the points are counted."""
    mass: Array
    left_out: tuple[float, float]
    """At least the masses that an upper one leaves out, under P and under x P."""
    error: float
    """At least the relative error of every mass."""

    @property
    def outcomes(self) -> Outcomes:
        """The points that have mass."""
        (held,) = np.nonzero(self.mass)
        return Outcomes(self.grid.points[held], self.mass[held], None)

    def times(self, other: SpreadLaw) -> SpreadLaw:
        """The law of the sum of two independent losses."""
        grid = self.grid
        sums = product(grid, self.mass, other.mass, with_tents=self.side != "above")
        error = self.error + other.error + (4 * max(grid.halves) + 8 * len(grid.halves) + 32) * _UNIT
        left_out = self.left_out[0] + other.left_out[0], self.left_out[1] + other.left_out[1]
        law = SpreadLaw(grid, self.side, self.least + other.least, sums.mass, left_out, error)
        return finished(law, sums)


class Step(NamedTuple):
    """One sample on points: its sums, the least loss, from which these are counted, and the error of its masses."""

    sums: Sums
    least: float
    error: float


class Shares(NamedTuple):
    """One sample in cells: what both ends of each have of its mass, with its mean, and what lies beyond all cells."""

    left: Array
    right: Array
    beyond: tuple[float, float]
    """At least the masses under P and under x P, x counted from the least loss."""
    least: float
    error: float
    """At least the relative error of every share."""
    densest: Array | float = np.inf
    """At least the mass of each cell if its density were as large everywhere as where it is largest."""

    def step(self, grid: Graded) -> Step:
        """All of it on the ends of the cells; that of the last cell is beyond."""
        last = float(self.right[-1])
        beyond = self.beyond[0] + last, self.beyond[1] + last * math.exp(float(grid.ends[-1]))
        return Step(shared(grid, self.left, self.right, beyond, self.densest), self.least, self.error)


def shared(
    grid: Graded, left: Array, right: Array, beyond: tuple[float, float], densest: Array | float = np.inf
) -> Sums:
    """The masses of the points from the shares of the cells, and what spreading inside these raised.

    `densest`: at least the mass of each cell if its density were as large everywhere as where it is largest.
    """
    mass, both = left.copy(), left + right
    mass[1:] += right[:-1]
    tents = np.where(both > 0, left / np.where(both > 0, both, 1.0) * right, 0.0)
    return Sums(mass, np.minimum(tents, 0.125 * densest) * grid.gaps, beyond)


def finished(law: SpreadLaw, sums: Sums) -> SpreadLaw:
    """The law without its smallest masses; a lower one is below what was spread."""
    mass, left_out = _without_small(law.grid, sums.mass)
    if law.side == "above":
        null, alternative = (sum(parts) for parts in zip(law.left_out, sums.beyond, left_out, strict=True))
        return replace(law, mass=mass, left_out=(null, alternative))
    found = below(law.grid, mass, sums.tents, forward=law.side == "forward")
    return replace(law, mass=_without_small(law.grid, found.mass)[0], error=law.error + found.error)


def _without_small(grid: Graded, mass: Array) -> tuple[Array, tuple[float, float]]:
    """Masses of which products are doubles, and the sums of the others under P and under x P."""
    small = mass < FLOOR
    dropped = np.where(small, mass, 0.0)
    return np.where(small, 0.0, mass), (float(np.sum(dropped)), float(np.sum(dropped * grid.x)))
