"""One rung of the ladder: two enclosing laws of the sum, prepared for the readings between two thresholds.

Few steps are enclosed by two laws on the points of a lattice (`rounding`), whose width grows with the number of steps.
Many are smoothed by a little noise (`smoothed`), whose width does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.outside import TAIL_ERROR, gain, log_none
from edgeworth.composition.lattice.smoothed import SmoothTail

if TYPE_CHECKING:
    from edgeworth.composition.lattice.plan import Goal, Plan
    from edgeworth.composition.lattice.tilted_lattice import Tail
    from edgeworth.losses.law import Array

__all__ = ["TRIED", "Rung"]

TRIED = 21  # thresholds at which a rung is judged
_HOPELESS = 0.3  # a relative width that a rough rung has only near the end of the support, or far outside
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class Rung:
    """Ends of one kind of reading between two thresholds, from the raised and the lowered law."""

    plan: Plan
    high: Tail | SmoothTail
    low: Tail | SmoothTail
    slack: float
    above: Array  # a row for each part: n, mass right of its range under P and Q, the excess of Q, the last point
    below: Array  # the same on the left, with the excess of P and the first point

    @property
    def goal(self) -> Goal:
        """What it is for."""
        return self.plan.goal

    def ends(self, t: Array) -> tuple[Array, Array]:
        """Lower and upper end of E[(X-u)_+], E[(1-X/u)_+] or E[min(X, u)] at u = e^t."""
        if self.goal.kind == "delta":
            return self._delta(t)
        return self._reverse(t) if self.goal.kind == "reverse" else self._overlap(t)

    def outside(self, direction: str) -> tuple[float, float]:
        """What the masses outside the ranges take from alpha or 1 - alpha, and what is added to f for them at the most.

        Of the overlap, steps right of their ranges have at most u P of it and those on the left Q. To the reverse those
        on the left add P - Q/u, to delta those on the right Q - u P.
        """
        right = [-math.expm1(log_none(self.above, column)) for column in (1, 2)]
        left = [-math.expm1(log_none(self.below, column)) for column in (1, 2)]
        more, less, forward = 1 + 8 * TAIL_ERROR, 1 - 8 * TAIL_ERROR, direction == "forward"
        if self.goal.kind == "overlap":
            ends = right[0] * more, left[1] * more
            return ends if forward else (ends[1], ends[0])
        weak, strong = (left[1], left[0]) if self.goal.kind == "reverse" else (right[0], right[1])
        if forward == (self.goal.kind == "delta"):
            return weak * more, 1 - strong * less
        return strong * less, weak * more

    def width(self) -> float:
        """The largest relative width at some thresholds within the goal, of those where it is not hopeless."""
        return self.quality()[1]

    def quality(self) -> tuple[int, float]:
        """At how many of some thresholds it is hopeless, and the largest relative width at the others."""
        lower, upper = self.ends(np.linspace(self.goal.least, self.goal.greatest, TRIED))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(upper > 0, (upper - lower) / upper, 0.0)
        hopeful = ratio[ratio < _HOPELESS]
        return ratio.size - hopeful.size, float(np.max(hopeful if hopeful.size else ratio))

    @property
    def is_smooth(self) -> bool:
        """Whether the laws are smoothed, not rounded."""
        return isinstance(self.high, SmoothTail)

    @property
    def step(self) -> float:
        """The distance of two points."""
        return self.high.window.h

    def _delta(self, t: Array) -> tuple[Array, Array]:
        lower = math.exp(-self.slack) * _ends(self.low, t + self.slack)[0] + self._one_step_above(t)
        upper = math.exp(self.slack) * _ends(self.high, t - self.slack)[1] + self._infinite(self.above)
        return lower, upper

    def _reverse(self, t: Array) -> tuple[Array, Array]:
        lower = _ends(self.low, t - self.slack)[0] + self._one_step_below(t)
        return lower, _ends(self.high, t + self.slack)[1] + self._infinite(self.below)

    def _overlap(self, t: Array) -> tuple[Array, Array]:
        rest = np.exp(np.minimum(t, _LARGEST_EXPONENT)) * float(np.sum(self.above[:, 0] * self.above[:, 1]))
        rest = (rest + float(np.sum(self.below[:, 0] * self.below[:, 2]))) * (1 + TAIL_ERROR)
        lower = math.exp(-self.slack) * _ends(self.high, t + self.slack)[0]
        return lower, math.exp(self.slack) * _ends(self.low, t - self.slack)[1] + rest

    @staticmethod
    def _infinite(rows: Array) -> float:
        """What the raised law has at +inf, D = Q - e^B P for one step, 1 - prod (1 - D)^n for all; mirrored at -inf."""
        return float(-np.expm1(log_none(rows, 3))) * (1 + 8 * TAIL_ERROR)

    def _one_step_above(self, t: Array) -> Array:
        """What outcomes E add of which a step is right of its range, at the least: Q[E] - u P[E].

        Q[E] - P[E] - (u-1) P[E], with Q - P = P (e^B - 1) + D for each step; less where e^B is no double.
        """
        rise = self.above[:, 1] * np.expm1(np.minimum(self.above[:, 4], _LARGEST_EXPONENT)) + self.above[:, 3]
        return gain(self.above[:, 0], self.above[:, 1], rise, t)

    def _one_step_below(self, t: Array) -> Array:
        rise = self.below[:, 2] * np.expm1(np.minimum(-self.below[:, 4], _LARGEST_EXPONENT)) + self.below[:, 3]
        return gain(self.below[:, 0], self.below[:, 2], rise, -t)


def _ends(tail: Tail | SmoothTail, t: Array) -> tuple[Array, Array]:
    """The ends of the tail at t; outside its points, what the nearest of them proves.

    E[(X-u)_+] falls and E[(u-X)_+] rises with u, neither faster than u; E[min(X, u)] rises and is concave from 0 on.
    """
    first, last = tail.reach
    inner = np.clip(t, first, last)
    lower, upper = tail.ends(inner)
    away = t - inner
    if not away.any():
        return lower, upper
    before, behind = np.minimum(away, 0.0), np.maximum(away, 0.0)
    if tail.kind == "overlap":
        return lower * np.exp(before), upper * np.exp(np.minimum(behind, _LARGEST_EXPONENT))
    if tail.kind == "reverse":
        return np.where(before < 0, 0.0, lower), upper - np.expm1(-behind)
    more = math.exp(min(first, _LARGEST_EXPONENT)) * -np.expm1(before) if first < _LARGEST_EXPONENT else math.inf
    return np.where(behind > 0, 0.0, lower), upper + np.where(before < 0, more, 0.0)
