"""Certified ends of delta and epsilon in one direction, from the rungs of the ladder.

A root finder's word is never taken: an end of epsilon is an epsilon at which the matching end of delta lies on the
right side of the target.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.lattice.ladder import LONGEST_STRIDE, ROUNDING, Ladder

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses.law import Array

__all__ = ["LatticeProfile"]

_GRID, _ROUNDS = 33, 9  # thresholds tried at a time in the search for a root: 32^-9 of a rung is left
_MOST_MOVES = 3


class LatticeProfile:
    """Ends of delta and epsilon, forward or backward."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder

    # --- delta

    def delta(self, direction: Direction, epsilon: Array, *, rough: bool = False) -> Ends:
        """Ends of the profile at eps in one direction."""
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        t = epsilon if direction == "forward" else -epsilon
        direct = (t >= self.ladder.middle) if direction == "forward" else (t < self.ladder.middle)
        for mine, read in ((direct, self._direct), (~direct, self._indirect)):
            if mine.any():
                lower[mine], upper[mine] = read(direction, epsilon[mine], rough=rough)
        return Ends(lower, upper)

    def _direct(self, direction: Direction, epsilon: Array, number: int | None = None, *, rough: bool) -> Ends:
        kind: Kind = "delta" if direction == "forward" else "reverse"
        t = epsilon if direction == "forward" else -epsilon
        ends = (
            self.ladder.read(kind, t, None if rough else self.ladder.fine)
            if number is None
            else self._on(kind, number, t, rough=rough)
        )
        least, greatest = self.ladder.total.support
        top = greatest if direction == "forward" else -least
        top += 4 * ROUNDING * (abs(top) + self.ladder.spread)
        upper = np.minimum(ends.upper, -np.expm1(np.minimum(epsilon - top, 0.0)))  # (1 - e^(eps - L))+ <= this
        return Ends(np.minimum(ends.lower, upper), upper)

    def _on(self, kind: Kind, number: int, t: Array, *, rough: bool) -> Ends:
        return Ends(*self.ladder.rung(kind, number, None if rough else self.ladder.fine).ends(t))

    def _indirect(self, direction: Direction, epsilon: Array, number: int | None = None, *, rough: bool) -> Ends:
        """delta(eps) = 1 - e^eps + e^eps delta'(-eps), with no cancellation while e^eps is small."""
        ends = self._direct("backward" if direction == "forward" else "forward", -epsilon, number, rough=rough)
        with np.errstate(over="ignore", invalid="ignore"):
            base, growth = -np.expm1(epsilon), np.exp(epsilon)
            lower = np.clip(base + growth * ends.lower - ROUNDING * (1 + growth), np.maximum(base, 0.0), 1.0)
            upper = np.clip(base + growth * ends.upper + ROUNDING * (1 + growth), 0.0, 1.0)
        return Ends(lower * (1 - ROUNDING), upper)

    # --- epsilon

    def root(self, direction: Direction, target: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= target, in one direction."""
        self.ladder.refill()
        least, greatest = self.ladder.total.support
        top = greatest if direction == "forward" else -least
        if target == 0:
            return max(0.0, top * (1 - 4 * ROUNDING)), top * (1 + 4 * ROUNDING)
        if target >= 1:
            return 0.0, 0.0
        known = self.ladder.moments.root(direction, target)
        if not known[0] > 0:
            at_zero = self.delta(direction, np.zeros(1), rough=True)
            if at_zero.lower[0] <= target <= at_zero.upper[0]:
                at_zero = self.delta(direction, np.zeros(1))
            if at_zero.upper[0] <= target:
                return 0.0, 0.0
        number = self._rung_of_root(direction, target, known)
        lower = 0.0 if known[0] == 0 and at_zero.lower[0] < target else self._end(direction, target, number, -1)
        upper = min(self._end(direction, target, number, 1), max(top, 0.0) * (1 + 4 * ROUNDING))
        return max(min(known[0], upper), lower), min(max(known[1], lower), upper)

    def _on_rung(self, direction: Direction, number: int, epsilon: Array, *, rough: bool) -> Ends:
        """Delta read on one rung; rungs from 0 on lie right of the middle."""
        right = number >= 0
        direct = right if direction == "forward" else not right
        return (self._direct if direct else self._indirect)(direction, epsilon, number, rough=rough)

    def _interval(self, direction: Direction, number: int) -> tuple[float, float]:
        """The eps of a rung, from 0 on."""
        ends = self.ladder.threshold(number), self.ladder.threshold(number + 1)
        low, high = ends if direction == "forward" else (-ends[1], -ends[0])
        return max(low, 0.0), max(high, 0.0)

    def _rung_of_root(self, direction: Direction, target: float, known: tuple[float, float]) -> int:
        """The number of the rung on which delta passes the target, by bisection with rough rungs.

        The tilted moments enclose the root in milliseconds, often on one rung.
        """

        def passed(number: int) -> bool:
            """Whether delta is below the target at the far end of the rung."""
            end = self._interval(direction, number)[1]
            ends = self._on_rung(direction, number, np.array([end]), rough=True)
            return bool(math.sqrt(float(max(ends.lower[0], 0.25 * ends.upper[0]) * ends.upper[0])) <= target)

        sign = 1 if direction == "forward" else -1
        low, high = (self.ladder.number(sign * end) for end in known)
        if direction == "backward" and self.ladder.threshold(low) == 0.0:
            low -= 1
        high = sign * max(sign * low, sign * high)
        while abs(high - low) > 1:
            half = (low + high) // 2
            low, high = (low, half) if passed(half) else (half, high)
        return low if low == high or passed(low) else high

    def _end(self, direction: Direction, target: float, number: int, side: int) -> float:
        """The least eps seen with delta's upper end below the target, or the greatest with its lower end above."""
        step = 1 if direction == "forward" else -1
        for _ in range(_MOST_MOVES):
            if not self.ladder.has(number):
                break
            low, high = self._interval(direction, number)
            read = partial(self._on_rung, direction, number, rough=False)
            at_ends = read(np.array([low, high]))
            if side > 0 and not at_ends.upper[1] <= target:
                number += step
            elif side < 0 and not at_ends.lower[0] >= target:
                if low == 0:
                    return 0.0
                number -= step
            else:
                return self.narrowed(read, target, low, high, side)
        return math.inf if side > 0 else self._surely_before(direction, target, number)

    def _surely_before(self, direction: Direction, target: float, number: int) -> float:
        """An eps with delta's lower end above the target where the root itself is too near the end of the support."""
        step, stride = (1 if direction == "forward" else -1), 1
        while self.ladder.has(number):
            low = self._interval(direction, number)[0]
            if low == 0:
                break
            if self._on_rung(direction, number, np.array([low]), rough=True).lower[0] >= target:
                return low
            number, stride = number - step * stride, min(2 * stride, LONGEST_STRIDE)
        return 0.0

    @staticmethod
    def narrowed(read: Callable[[Array], Ends], target: float, low: float, high: float, side: int) -> float:
        """Grids within grids; what is returned was itself read to be on the right side."""
        for _ in range(_ROUNDS):
            grid = np.linspace(low, high, _GRID)
            ends = read(grid)
            good = np.flatnonzero(ends.upper <= target) if side > 0 else np.flatnonzero(ends.lower >= target)
            if side > 0:
                at = int(good[0]) if good.size else _GRID - 1
                low, high = float(grid[max(at - 1, 0)]), float(grid[at])
            else:
                at = int(good[-1]) if good.size else 0
                low, high = float(grid[at]), float(grid[min(at + 1, _GRID - 1)])
            if high - low <= 1e-15 * high:
                break
        return high if side > 0 else low
