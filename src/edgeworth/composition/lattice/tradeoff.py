"""Certified ends of f in one direction, from the rungs of the ladder.

f(alpha) = sup over t of a line in alpha, so any t gives a lower end. The upper end is the maximum of a concave function
whose slopes are known on both sides of it. Which reading that function is made of depends on what is small:

| forward                              | backward                            | where               |
|---|---|---|
| 1 - delta(t) - u alpha               | 1 - reverse(t) - alpha/u            | f is not small      |
| overlap(t) - u alpha                 | (overlap(t) - alpha)/u              | f is small          |
| u (1 - alpha - reverse(t))           | (1 - alpha - delta(t))/u            | 1 - alpha is small  |
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.lattice.ladder import ROUNDING, Ladder, keep
from edgeworth.composition.lattice.smoothed import SmoothTail
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.rung import Rung
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses.law import Array

__all__ = ["LatticeTests", "Polygon", "polygon"]

_STRIDES = (3, 12, 48, 192, 768)  # points between which slopes are taken
_SMALL = 0.7  # an f below it is a difference of overlaps
_MOST_KEPT = 8
_LARGEST_EXPONENT = 700.0
_LARGEST_LOSS = 500.0  # whose exponential, and that of what lies on its rung, is a double
_TAIL: dict[Direction, Kind] = {"forward": "delta", "backward": "reverse"}
_HEAD: dict[Direction, Kind] = {"forward": "reverse", "backward": "delta"}


class Polygon(NamedTuple):
    """A concave function, value - z rest, whose maximum bounds f: places z, value, ends of its slope right of each."""

    z: Array
    value: Array
    slope_low: Array
    slope_high: Array

    def slope(self, z: float) -> float:
        """About the slope at z: the mean of its ends, one of them where the other is not known, or 0."""
        at = min(int(np.searchsorted(self.z, z)), self.z.size - 1)
        known = [float(end[at]) for end in (self.slope_low, self.slope_high) if math.isfinite(end[at])]
        return sum(known) / max(len(known), 1)

    def maximum(self, rest: float) -> tuple[float, float] | None:
        """Where the function is greatest, roughly, and at least its maximum; None where that is not on this rung."""
        falling = np.flatnonzero(self.slope_high <= rest)
        if not falling.size:
            return None
        last = int(falling[0])
        rising = np.flatnonzero(self.slope_low[:last] >= rest)
        if not rising.size:
            return None
        first = int(rising[-1])
        length = float(self.z[last] - self.z[first])
        start, stop = (float(self.value[k] - self.z[k] * rest) for k in (first, last))
        rise, fall = float(self.slope_high[first] - rest), max(rest - float(self.slope_low[last]), 0.0)
        most = start + rise * length  # it is below this line, and below the one that leaves the last place to the left
        if fall > 0:
            most = min(most, (stop * rise + start * fall + rise * fall * length) / (rise + fall))
        most = max(most, start, stop)
        return float(self.z[last]), most + 8 * ROUNDING * (abs(most) + abs(float(self.z[last]) * rest))


class LatticeTests:
    """Ends of f, forward or backward, with the threshold of the test."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self._polygons: dict[tuple[Direction, Kind, int, float | None], Polygon] = {}

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the test with type I error alpha, and ends of its type II error."""
        self.ladder.refill()
        if alpha > 0.5:
            return self._enclosed(direction, _HEAD[direction], alpha)
        if self._beyond_middle(direction, alpha):
            found = self._enclosed(direction, _TAIL[direction], alpha)
            if found[1] > _SMALL:
                return found
        return self._enclosed(direction, "overlap", alpha)

    def _beyond_middle(self, direction: Direction, alpha: float) -> bool:
        """Whether the test at the middle of the law has a larger type I error, roughly."""
        middle = self.ladder.middle * (1 if direction == "forward" else -1)
        made = self._polygon(direction, "overlap", 0, None)
        return made.slope(math.exp(middle)) > alpha

    def _enclosed(self, direction: Direction, kind: Kind, alpha: float) -> tuple[float, float, float]:
        number = self._rung_of_test(direction, kind, alpha)
        width = self.ladder.fine if kind == _TAIL[direction] else self.ladder.fine_test
        for near in filter(self.ladder.has, (number + move for move in (0, 1, -1, 2, -2))):
            rung = self.ladder.rung(kind, near, width)
            rest, bottom = _rest(rung, direction, alpha)
            found = self._polygon(direction, kind, near, width).maximum(rest)
            if found is not None:
                t = math.log(found[0]) if direction == "forward" else -math.log(found[0])
                lower = max(_line(direction, rung, t + d * rung.slack, alpha) for d in (-2, 0, 2))
                most = max(found[1] * math.exp(rung.slack), found[1] * math.exp(-rung.slack))
                return t, lower, most + bottom * (1 + 2 * ROUNDING)
        return math.nan, 0.0, 1 - alpha

    def _polygon(self, direction: Direction, kind: Kind, number: int, width: float | None) -> Polygon:
        key = direction, kind, number, width
        if key not in self._polygons:
            keep(self._polygons, key, polygon(self.ladder.rung(kind, number, width), direction), _MOST_KEPT)
        return self._polygons[key]

    def _rung_of_test(self, direction: Direction, kind: Kind, alpha: float) -> int:
        """The number of the rung on which the type I error passes alpha, by bisection with rough rungs."""

        def slope(number: int) -> float:
            """The slope of the polygon at the start of the rung: positive left of the maximum in e^t."""
            made = self._polygon(direction, kind, number, None)
            start = self.ladder.threshold(number) * (1 if direction == "forward" else -1)
            found = made.slope(math.exp(start)) - _rest(self.ladder.rung(kind, number, None), direction, alpha)[0]
            return found if direction == "forward" else -found

        least, greatest = (self.ladder.number(end) for end in (-_LARGEST_LOSS, _LARGEST_LOSS))
        places = self.ladder.moments.between(direction, alpha)
        low, high = (min(max(self.ladder.number(place), least), greatest) for place in places)
        high += 1
        while high - low > 1:
            half = (low + high) // 2
            low, high = (half, high) if slope(half) > 0 else (low, half)
        return low


def _line(direction: Direction, rung: Rung, t: float, alpha: float) -> float:
    """The line that supports f at the slope of t, at alpha: below f for every t; at least 0. See the table above."""
    kind, forward = rung.goal.kind, direction == "forward"
    lower, upper = (float(end[0]) for end in rung.ends(np.array([t])))
    growth = math.exp(t)
    if kind == "overlap":
        line = lower - (growth if forward else 1.0) * alpha * (1 + ROUNDING)
        return max(line * (1 - ROUNDING) / (1.0 if forward else growth), 0.0)
    if kind == _TAIL[direction]:
        return max(1 - (upper + (growth if forward else 1 / growth) * alpha) * (1 + 4 * ROUNDING) - ROUNDING, 0.0)
    line = (1 - alpha) * (1 - ROUNDING) - upper
    return max(line * (1 - ROUNDING) * (growth if forward else 1 / growth), 0.0)


def _rest(rung: Rung, direction: Direction, alpha: float) -> tuple[float, float]:
    """The slope that is taken from the polygon, and what is added to its maximum: alpha less what is outside.

    Near alpha = 1 the polygon falls and 1 - alpha is added to its slope.
    """
    kind, forward = rung.goal.kind, direction == "forward"
    taken, bottom = rung.outside(direction)
    if kind == "overlap" or kind == _TAIL[direction]:
        return (alpha - taken) * (1.0 if forward else 1 - 2 * rung.slack), bottom
    return -(1 - alpha - taken) * (1.0 if forward else 1 + 2 * rung.slack), bottom


def polygon(rung: Rung, direction: Direction) -> Polygon:
    """The concave function of the lowered law that bounds f from above, without the constants of `_rest`.

    Forward, in z = u: overlap, -delta or -z reverse. Backward, in z = 1/u: z overlap, -reverse or -z delta. Their
    slopes are the tails P[T > t] and -P[T <= t], Q[T < t] and -Q[T >= t].
    """
    low, kind, forward = rung.low, rung.goal.kind, direction == "forward"
    if np.max(np.abs(low.points)) > _LARGEST_EXPONENT:
        raise ComputationFailed("a slope of f, e^loss, leaves the range of doubles; use another method")
    if isinstance(low, SmoothTail):
        return _bounded(*low.concave(backward=not forward))
    index = np.arange(1, low.window.size - 1, dtype=np.int64)
    value = low.at_points(index)
    z = np.exp(low.points[index])
    z = z if forward else 1 / z
    if kind == "overlap":
        tail = low.side_ends(index) if forward else low.side_ends(index - 1, other=True)
        top = value[1] if forward else z * value[1]
    elif kind == _TAIL[direction]:
        tail = low.side_ends(index) if forward else low.acceptance_ends(index)
        top = -value[0]
    else:
        falling = low.side_ends(index + 1) if forward else low.power_ends(index - 1)
        tail, top = (-falling[1], -falling[0]), -z * value[0]
    order = slice(None) if forward else slice(None, None, -1)
    return Polygon(z[order], top[order], tail[0][order], tail[1][order])


def _bounded(z: Array, low: Array, high: Array) -> Polygon:
    """The slopes of a concave function right of places, from its ends at places on both sides.

    Chords to near places bend less, those to far ones are less blurred by what the ends leave open: the best counts.
    """
    inner = slice(_STRIDES[0], -_STRIDES[0])
    slope_low, slope_high = np.full(z.size, -np.inf), np.full(z.size, np.inf)
    for s in _STRIDES:
        if 2 * s >= z.size:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            right = (low[s:] - high[:-s]) / (z[s:] - z[:-s])
            left = (high[s:] - low[:-s]) / (z[s:] - z[:-s])
            slope_low[:-s] = np.fmax(slope_low[:-s], right - 4 * ROUNDING * np.abs(right))
            slope_high[s:] = np.fmin(slope_high[s:], left + 4 * ROUNDING * np.abs(left))
    return Polygon(z[inner], high[inner], slope_low[inner], slope_high[inner])
