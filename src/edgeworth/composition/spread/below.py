"""A law on points below one that was spread to them, whose E[(x - u)_+] rose by no more than known tents.

F(u) = E[(x - u)_+] less the tents is at most what it was before; the largest convex function below that at the points
belongs to a law below. Backward the same is said of E[(u - x)_+]. `docs/proofs/spread.md` proves it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses.law import Array

__all__ = ["Below", "below"]

_UNIT = 2.0**-53
_LITTLE = 4e-15  # of F, which is taken everywhere: where the tents are less they need no corners of their own
_MORE = 1.001  # for the rounding of tents and of what they are taken from


class Below(NamedTuple):
    """Masses, and at least the relative error of a reading that their rounding makes."""

    mass: Array
    error: float


def below(grid: Graded, mass: Array, tents: Array, *, forward: bool) -> Below:
    """The law below for readings forward, E[(x - u)_+], or backward, E[(u - x)_+], with the points seen from behind.

    Readings forward are 0 at x = 0, and readings backward at infinity: mass that comes to lie there is worth nothing.
    """
    gaps, raised = grid.gaps[:-1], tents[:-1] * _MORE
    if forward:
        return _below(mass, gaps, raised, float(grid.x[0]))
    raised[-1] = max(raised[-1], tents[-1] * _MORE)  # beyond the last point, where as much is taken as at it
    found = _below(mass[::-1], gaps[::-1], raised[::-1], math.inf)
    return Below(found.mass[::-1], found.error)


def _below(mass: Array, gaps: Array, tents: Array, room: float) -> Below:
    """With F(u) = E[(x - u)_+], `gaps` between the points, and `room` from the first of these to where nothing counts.

    Where the tents are more than F at the right end of a cell, nothing is claimed from the left end on.

    >>> mass, tents = np.array([1, 2, 4, 2, 1, 0]) / 10, np.array([1, 2, 2, 1, 0]) / 100
    >>> _below(mass, np.ones(5), tents, room=1.0).mass.round(3).tolist()
    [0.09, 0.21, 0.32, 0.38, 0.0, 0.0]
    """
    last = int(np.nonzero(mass)[0][-1]) if mass.any() else 0
    tail = np.cumsum(mass[::-1])[::-1]
    whole = np.append(np.cumsum((gaps[:last] * tail[1 : last + 1])[::-1])[::-1], 0.0)  # F at the points
    over = np.nonzero(tents[:last] > whole[1:])[0]
    end = int(over[0]) if over.size else last
    if end == 0:
        raise ComputationFailed("the points are too few for the loss of these samples")
    both = np.append(np.maximum(tents[:end], np.append(0.0, tents[: end - 1])), whole[end])
    taken = np.maximum(both - _LITTLE * whole[: end + 1], 0.0)
    slope = np.diff(taken) / gaps[:end]
    kept = (1 - _LITTLE) * np.append(mass[:end], tail[end]) + np.append(0.0, slope) - np.append(slope, 0.0)
    found = np.zeros(mass.size)
    found[: end + 1], moves = _convex(kept, gaps[:end], room)
    return Below(found, (64 + 8 * moves) * _UNIT * (1 + _roughness(whole, taken, gaps[:end])))


def _convex(mass: Array, gaps: Array, room: float) -> tuple[Array, int]:
    """Masses some of which are below 0, without these: each goes to both points next to it, with its mean.

    Those are the masses of the largest convex function below one that has corners at the points. The second is how
    often one went at the most.

    >>> _convex(np.array([1.0, -0.3, 0.5, 1.0]), np.array([1.0, 2.0, 1.0]), room=1.0)[0].tolist()
    [0.8, 0.0, 0.4, 1.0]
    """
    (negative,) = np.nonzero(mass < 0)
    if negative.size == 0:
        return mass, 0
    found, wait, moves = mass.tolist(), negative.tolist(), [0] * mass.size
    left, right = [room, *gaps.tolist()], [*gaps.tolist(), math.inf]  # how far it is to the next one
    before, after = list(range(-1, mass.size - 1)), list(range(1, mass.size + 1))
    while wait:
        at = wait.pop()
        amount, i, k = found[at], before[at], after[at]
        if amount >= 0:
            continue
        found[at] = 0.0
        if k == mass.size:  # the end, below 0 by rounding alone
            continue
        ratio = right[at] / left[at]
        found[k] += amount / (1 + ratio)
        before[k], left[k], moves[k] = i, left[at] + right[at], max(moves[k], moves[at] + 1)
        if i >= 0:
            found[i] += amount * ratio / (1 + ratio)
            after[i], right[i], moves[i] = k, left[k], max(moves[i], moves[at] + 1)
        wait += [place for place in (i, k) if place >= 0 and found[place] < 0]
    return np.array(found), max(moves)


def _roughness(whole: Array, taken: Array, gaps: Array) -> float:
    """How many times F, `whole`, the sizes of all slopes of what is taken amount to: each is rounded to its own."""
    steep = (taken[:-1] + taken[1:]) / gaps
    tail = np.cumsum((np.append(steep, 0.0) + np.append(0.0, steep))[::-1])[::-1]
    sums = np.cumsum((gaps * tail[1:])[::-1])[::-1]
    return float(np.max(sums / whole[: taken.size - 1]))
