"""The loss of some samples on graded points: a law above it in convex order, and one below.

Spreading to points raises a law. What it raises E[(x - u)_+] by, the tents, is at most a share kappa of what that
exceeds E[x] - u and 0 by, so a mixture of the spread law and of a point at its mean lies below.
`docs/proofs/spread.md` proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.spread.graded import FLOOR, Sums, product
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses.law import Array

__all__ = ["LARGEST_LOG", "LeftOut", "Side", "SpreadLaw", "Step", "finished", "power", "shared"]

#: a law above, one below for readings forward, E[(x - u)_+], or one for those backward, E[(u - x)_+]
Side: TypeAlias = Literal["above", "forward", "backward"]

_UNIT = 2.0**-53
_LEAST_SHARE, _MOST_SHARE, _HALVINGS = 1e-9, 0.5, 10
LARGEST_LOG = 350.0  # of a mass
_MORE = 1.001  # for the rounding of tents and of what they are shares of
_TOO_FEW = "the points are too few for the loss of these samples"


class LeftOut(NamedTuple):
    """What a law leaves out."""

    kappa: float = 0.0
    """The share that a lower law has at the mean, and not on points."""
    share: float = 0.0
    """A share of every reading."""
    masses: tuple[float, float] = (0.0, 0.0)
    """At least the masses besides, under P and under x P."""

    def joined(self, other: LeftOut) -> LeftOut:
        """That of a product."""
        masses = self.masses[0] + other.masses[0], self.masses[1] + other.masses[1]
        return LeftOut(1 - (1 - self.kappa) * (1 - other.kappa), self.share + other.share, masses)


@dataclass(frozen=True, eq=False)
class SpreadLaw:
    """Masses under P on graded points, on one side of the law that they stand for."""

    grid: Graded
    side: Side
    allowed: float
    """The share of a reading that this spreading may leave out of a lower law: so much for each sample in it."""
    least: float
    """The least loss, from which the points are counted."""
    mass: Array
    left_out: LeftOut
    error: float
    """At least the relative error of every mass."""

    def times(self, other: SpreadLaw) -> SpreadLaw:
        """The law of the sum of two independent losses."""
        grid = self.grid
        sums = product(grid, self.mass, other.mass, with_tents=self.side != "above")
        error = self.error + other.error + (2 * max(grid.halves) + 8 * len(grid.halves) + 32) * _UNIT
        left_out, allowed = self.left_out.joined(other.left_out), self.allowed + other.allowed
        law = SpreadLaw(grid, self.side, allowed, self.least + other.least, sums.mass, left_out, error)
        return finished(law, sums)


class Step(NamedTuple):
    """One sample on points: its sums, the least loss, from which these are counted, and the error of its masses."""

    sums: Sums
    least: float
    error: float


def shared(grid: Graded, left: Array, right: Array, beyond: tuple[float, float]) -> Sums:
    """The masses of the points from the shares of the cells, and what spreading inside these raised."""
    mass, both = left.copy(), left + right
    mass[1:] += right[:-1]
    tents = np.where(both > 0, left / np.where(both > 0, both, 1.0) * right, 0.0) * grid.gaps
    return Sums(mass, tents, beyond)


def power(law: SpreadLaw, n: int) -> SpreadLaw:
    """The law of n independent losses, by squares."""
    found: SpreadLaw | None = None
    while n:
        if n % 2:
            found = law if found is None else found.times(law)
        n //= 2
        if n:
            law = law.times(law)
    assert found is not None
    return found


def finished(law: SpreadLaw, sums: Sums) -> SpreadLaw:
    """The law without its smallest masses; a lower one is weighted so that it is below what was spread."""
    grid, mass, left_out = law.grid, sums.mass, law.left_out.joined(LeftOut(masses=sums.beyond))
    if law.side != "above":
        weight, found = _weights(grid, law.side, law.allowed, sums)
        left_out = left_out.joined(found).joined(LeftOut(masses=_masses(grid, mass * ((1 - found.kappa) - weight))))
        mass = mass * weight
    small = mass < FLOOR
    left_out = left_out.joined(LeftOut(masses=_masses(grid, np.where(small, mass, 0.0))))
    if max(left_out.kappa, left_out.share) > _MOST_SHARE:
        raise ComputationFailed(_TOO_FEW)
    return replace(law, mass=np.where(small, 0.0, mass), left_out=left_out)


def _weights(grid: Graded, side: Side, allowed: float, sums: Sums) -> tuple[Array, LeftOut]:
    """What every point keeps, and what is left out: with the least kappa for which that is next to nothing."""
    less, more = _sides(grid, sums.mass)
    excess, tents = np.minimum(less[:-1], more[1:]), sums.tents * _MORE
    share = np.where(tents > 0, 1.0, 0.0)
    np.divide(tents, excess, out=share, where=excess > 0)
    outer = less[:-1] > _MORE * more[:-1] if side == "forward" else more[1:] > _MORE * less[1:]
    spread = _Spread(grid, sums.mass, tents, share, outer)
    low, high = _LEAST_SHARE, _MOST_SHARE
    best = spread.weights(side, high)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        tried = spread.weights(side, middle)
        low, high, best = (low, middle, tried) if tried.cost <= allowed else (middle, high, best)
    if best.cost > allowed:
        raise ComputationFailed(_TOO_FEW)
    return best.weight, LeftOut(best.kappa, best.share)


class _Weights(NamedTuple):
    kappa: float
    weight: Array
    share: float
    cost: float


class _Spread(NamedTuple):
    """A spread law with its tents, as such and as shares, and which cells lie beyond the mean on the outer side."""

    grid: Graded
    mass: Array
    tents: Array
    share: Array
    outer: NDArray[np.bool_]

    def weights(self, side: Side, kappa: float) -> _Weights:
        """What every point keeps if the share near the heap is kappa, and what is left out of a reading at the most.

        Where the tents are a larger share, on the outer side, points farther out keep as much less; on the other side
        what is more than kappa is a share of the whole reading.
        """
        more = np.clip(self.share - kappa, 0.0, 1 - kappa)
        out = np.where(self.outer, more, 0.0)
        if side == "forward":
            grown = np.append(0.0, np.maximum.accumulate(out)[:-1])  # of a point: that of the cells left of it
            lost = float(np.sum(self.mass * self.grid.x * grown))
        else:
            grown = np.maximum.accumulate(out[::-1])[::-1]
            lost = float(np.sum(self.mass * grown))
        weight = (1 - kappa) - grown
        less, most = _sides(self.grid, self.mass * weight)
        whole = most[1:] if side == "forward" else less[:-1]
        inner = (more > 0) & ~self.outer
        share = 0.0
        if inner.any():
            share = float(np.max(self.tents[inner] / whole[inner])) if np.min(whole[inner]) > 0 else math.inf
        return _Weights(kappa, weight, share, max(share, lost))


def _sides(grid: Graded, mass: Array) -> tuple[Array, Array]:
    """E[(u - x)_+] and E[(x - u)_+] at all points u and at the end of the last cell: sums of positive terms."""
    head, tail = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    less = np.append(0.0, np.cumsum(grid.gaps * head))
    more = np.cumsum((grid.gaps[:-1] * tail[1:])[::-1])[::-1]
    return less, np.append(more, [0.0, 0.0])


def _masses(grid: Graded, mass: Array) -> tuple[float, float]:
    """Sums under P and under x P."""
    return float(np.sum(mass)), float(np.sum(mass * grid.x))
