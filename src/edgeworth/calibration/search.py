"""The least private parameter that meets a target: few evaluations, and an end on the safe side of the last one.

Parameters are places v = +-log x, with the sign that makes larger v more private. The excess y(v) falls; its root is
predicted from the last readings by a parabola, and readings are placed a hair to either side of the prediction, so that
a good prediction closes the bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Search", "Shape"]

Excess: TypeAlias = Callable[[float], float]

_HAIR = 0.45  # of the tolerance: two readings this far to either side of the root close the bracket
_PATIENCE = 3  # readings that may fail to halve the bracket before it is bisected
_MOST = 200
_FIRST_STEP, _GROWTH = 0.7, 4.0


@dataclass(frozen=True)
class Shape:
    """What is known about y before it is read: its slope, and half its second derivative."""

    slope: float = -1.0
    bend: float = 0.0


@dataclass
class Search:
    """The bracket (bad, good] of the root of a falling y within [low, high], and all readings so far."""

    excess: Excess
    low: float
    high: float
    tolerance: float
    shape: Shape = field(default_factory=Shape)
    snap: Callable[[float, float], float] = lambda v, side: v + side
    """The place nearest to v that can be read, on that side of it."""
    reach: Callable[[float, float], float] = lambda _, place: place
    """The place itself, or the last one before it, seen from inside, that can be read."""
    readings: dict[float, float] = field(default_factory=dict)
    last: float = math.nan
    bad: float = -math.inf
    good: float = math.inf

    def read(self, v: float) -> float:
        """Y at v, remembered."""
        if v not in self.readings:
            self.readings[v] = y = self.excess(v)
            self.last = v
            if y <= 0:
                self.good = min(self.good, v)
            else:
                self.bad = max(self.bad, v)
        return self.readings[v]

    def run(self, start: float) -> None:
        """Read until the bracket is closed, or one end of [low, high] shows that there is no root between them."""
        self.read(min(max(start, self.low), self.high))
        step, width, stale = _FIRST_STEP, math.inf, 0
        for _ in range(_MOST):
            if self.finished():
                return
            root = self.predicted()
            if math.isinf(self.good) or math.isinf(self.bad):
                self.read(self._outward(root, step))
                step *= _GROWTH
                continue
            stale = 0 if self.good - self.bad <= width / 2 else stale + 1
            width = min(width, self.good - self.bad)
            self.read(self._inward(root if stale < _PATIENCE else math.nan))
            stale = 0 if stale >= _PATIENCE else stale

    def finished(self) -> bool:
        """Whether the bracket is closed, or an end of the range is good (or bad) already."""
        if self.good - self.bad <= self.tolerance:
            return True
        return self.good <= self.low or self.bad >= self.high or self._next_to_each_other()

    def _next_to_each_other(self) -> bool:
        if math.isinf(self.good) or math.isinf(self.bad):
            return False
        middle = self.snap((self.good + self.bad) / 2, 0.0)
        return not self.bad < middle < self.good

    def predicted(self) -> float:
        """The root of the parabola through the readings nearest to 0; nan where there is nothing to go by.

        That includes a last reading that was farther from 0 than three before it: the parabola has just been wrong.
        """
        place, y, shape = self.parabola()
        nearest = sorted(map(abs, self.readings.values()))[:3]
        if not shape.slope < 0 or abs(self.readings[self.last]) > nearest[-1]:
            return math.nan
        inner = shape.slope * shape.slope - 4 * shape.bend * y
        return place + (2 * y / (-shape.slope + math.sqrt(inner)) if inner >= 0 else -y / shape.slope)

    def parabola(self) -> tuple[float, float, Shape]:
        """The reading nearest to 0, with the slope there and the bend; what one or two readings leave open is given."""
        finite = sorted((abs(y), v, y) for v, y in self.readings.items() if math.isfinite(y))[:3]
        if not finite:
            return math.nan, math.nan, Shape(slope=math.nan)
        v = [place for _, place, _ in finite]
        y = [reading for _, _, reading in finite]
        slope, bend = self.shape.slope, self.shape.bend
        if len(v) > 1:
            slope = (y[1] - y[0]) / (v[1] - v[0])
            if len(v) > 2:
                bend = ((y[2] - y[1]) / (v[2] - v[1]) - slope) / (v[2] - v[0])
            slope -= bend * (v[1] - v[0])
        return v[0], y[0], Shape(slope, bend)

    def _outward(self, root: float, step: float) -> float:
        """Beyond the only end there is, to the far side of the prediction if it lies there, by at most `step`."""
        end, way = (self.bad, 1.0) if math.isinf(self.good) else (self.good, -1.0)
        ahead = way * (root - end) if math.isfinite(root) else step
        ahead = min(ahead, step) if ahead > 0 else self.tolerance
        place = end
        while place == end:
            place = self.snap(end + way * ahead, way * _HAIR * self.tolerance)
            ahead = 2 * ahead + 1e-16
        place = min(max(place, self.low), self.high)
        reached = self.reach(end, place)
        if reached != place:
            self.low, self.high = (self.low, reached) if way > 0 else (reached, self.high)
        return reached

    def _inward(self, root: float) -> float:
        """A hair on the good side of the prediction, or on the bad side if the good end is there already."""
        middle = self.snap((self.bad + self.good) / 2, 0.0)
        if not self.bad < root < self.good:
            return middle
        hair = _HAIR * self.tolerance
        sides = (-hair, hair) if self.good - root <= 1.2 * hair else (hair, -hair)
        places = [self.snap(root, side) for side in sides]
        return next((place for place in places if self.bad < place < self.good), middle)
