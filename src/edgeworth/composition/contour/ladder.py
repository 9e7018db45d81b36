"""The rungs: tilts at which lines are prepared, a standard deviation of the tilted law apart, from the poles outward.

Four ladders: right of the pole at 1, left of the pole at 0, and two between the poles where there is room, one from the
pole at 0 (the middle one) and one from the pole at 1 (the inner one). Each is extended only as far as a reading asks,
always by the same rule, so that one argument meets the same rung in every company.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

if TYPE_CHECKING:
    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.losses.law import Array

__all__ = ["Ladder", "Side", "by_cubics", "has_room"]

Side: TypeAlias = Literal["left", "middle", "inner", "right"]
_Row: TypeAlias = tuple[float, float, float, float]

_CLOSEST = 0.15  # of the first rung to its pole, in units of 1/std
_APART, _FEW_APART = 4.0, 2.0  # of neighbouring rungs, in standard deviations of the tilted law, of few steps …
_RATIO = 0.8  # … and relative to the distance from the pole …
_NEAR = 2.5  # … within a standard deviation of it: there the integrand loses half a digit at most between rungs
_FARTHEST, _FEW_FARTHEST = 5.0, 2.5  # nats that the integrand of a threshold may lose from one rung to the next
_FEW = 50  # steps, whose law is not nearly normal
_MOST_HALVINGS = 40
_AT_FIRST, _AT_A_TIME = 6, 3  # rungs whose moments are taken together, beyond the first and later on …
_STEADY = 1.5  # … while the variance stays within this factor
_MOST_GROWTH = 20.0  # nats
_ROOM = 0.5  # 1/std below which lines fit between the poles
_DEEPEST = 745.0  # nats: e^-745 is the smallest double
_SHRUNK = 1e-14  # a variance this much smaller than at the centre: the tilted law has shrunk to the end of its support
_MOST_RUNGS = 400
_SHORTEST = 1e-300


class Ladder:
    """The rungs of one side, as columns: tilt, K, K' and K'' there."""

    def __init__(self, moments: LogMoments, side: Side) -> None:
        self.side, self._moments = side, moments
        few = 0 < moments.steps < _FEW
        self._apart, self._farthest = (_FEW_APART, _FEW_FARTHEST) if few else (_APART, _FARTHEST)
        self.outward = 1.0 if side in ("middle", "right") else -1.0
        self.pole = 1.0 if side in ("inner", "right") else 0.0
        self._between = side in ("middle", "inner")
        closest = _CLOSEST * moments.width
        mean = moments.mean_under_q if self.pole else moments.mean_under_p
        self._start: _Row = (self.pole, moments.log_mass[self.pole], mean, moments.spread**2)
        self._rows: list[_Row] = []
        self._table: Array = np.empty((0, 4))
        self._by_depth: tuple[Array, Array, Array] = (np.zeros(1), np.zeros(1), np.zeros(1))
        self.ended = self._between and not has_room(moments)
        if not self.ended:
            first, (variance, growth, count) = self.pole + self.outward * closest, self._beginning()
            self._extend([first, *self._ahead(first, variance, growth, count)], variance, growth)

    @property
    def table(self) -> Array:
        """Rows (c, K, K', K'') from the pole outward."""
        if len(self._table) != len(self._rows):
            self._table = np.array(self._rows)
        return self._table

    def _beginning(self) -> tuple[float, float, int]:
        """The variance at the pole, how its logarithm grows, and how many rungs this is good for.

        It is known at 1/2 and at the pole. Where it hardly grows from there on, the law is nearly normal.
        """
        moments = self._moments
        there, middle = moments.variance_under_q if self.pole else moments.variance_under_p, moments.spread**2
        if self._between or moments.steps < _FEW or not middle / _STEADY < there < middle * _STEADY:
            return middle, 0.0, _AT_A_TIME
        return there, 2 * max(math.log(there / middle), 0.0), _AT_FIRST

    def climb(self) -> bool:
        """Some rungs more; False when there is none."""
        if self.ended:
            return False
        c, k, mean, variance = self._rows[-1]
        before = self._rows[-2] if len(self._rows) > 1 else self._start
        growth = math.log(variance / before[3]) / abs(c - before[0]) if variance > before[3] > 0 else 0.0
        tilts = self._ahead(c, variance, growth)
        deep = not self._between and (c - self._start[0]) * mean - k > _DEEPEST
        shrunk = variance * self._moments.width**2 < _SHRUNK
        self.ended = deep or shrunk or not tilts or len(self._rows) > _MOST_RUNGS
        if not self.ended:
            self._extend(tilts, variance, growth)
        return not self.ended

    def _ahead(self, c: float, variance: float, growth: float, count: int = _AT_A_TIME) -> list[float]:
        """The tilts that follow, some at a time, as if the logarithm of the variance went on to grow as it does."""
        least, greatest = self._moments.steepest
        if self._between:
            least, greatest = _CLOSEST * self._moments.width, 1 - _CLOSEST * self._moments.width
        tilts: list[float] = []
        while len(tilts) < count:
            distance = c - 1 if self.side == "right" else -c if self.side == "left" else min(c, 1 - c)
            ratio = _RATIO + (_NEAR - _RATIO) / (1 + (distance * self._moments.spread) ** 2)
            step = longest = 1 / (math.sqrt(variance) / self._apart + 1 / (ratio * distance))
            if growth:
                shorter = 1 / (math.sqrt(_grown(variance, growth * longest)) / self._apart + 1 / (ratio * distance))
                step = max(shorter, min(longest, 0.5 / growth))
            c, variance = c + self.outward * step, _grown(variance, growth * step)
            if not least < c < greatest:
                break
            tilts.append(c)
        return tilts

    def _extend(self, tilts: list[float], variance: float, growth: float) -> None:
        """Rungs at these tilts as far as the variance is about what they were made for, and none is too far off.

        At a tiny rate the tilted law can pass from its bulk to its far tail within a sliver of tilts: K says when.
        """
        before, start = len(self._rows), self._last[0]
        for row in self._rows_at(tilts):
            if not self._rise(row) < self._farthest:
                if len(self._rows) == before:
                    self._approach(row)
                return
            self._rows.append(row)
            expected = _grown(variance, growth * abs(row[0] - start))
            if not expected / _STEADY < row[3] < expected * _STEADY:
                return

    def _approach(self, row: _Row) -> None:
        """One rung so near that the integrand does not lose too much; none where the nodes do not reach.

        But a first one there must be.
        """
        last = self._last[0]
        for _ in range(_MOST_HALVINGS):
            rise = self._rise(row)
            unreached = not math.isfinite(rise) and bool(self._rows)
            if rise < self._farthest or unreached or abs(row[0] - last) < 1e-9 * abs(row[0]):
                break
            (row,) = self._rows_at([last + (row[0] - last) / 2])
        if math.isfinite(row[1]):
            self._rows.append(row)
        else:
            self.ended = True

    def _rows_at(self, tilts: list[float]) -> list[_Row]:
        return [(c, *row) for c, row in zip(tilts, self._moments(np.array(tilts)).tolist(), strict=True)]

    @property
    def _last(self) -> _Row:
        """The last rung, or the pole from which the ladder starts."""
        return self._rows[-1] if self._rows else self._start

    def _rise(self, row: _Row) -> float:
        """How far K lies above its tangent at the last rung."""
        c, k, mean, _ = self._last
        return row[1] - k - (row[0] - c) * mean

    def reach(self, threshold: float) -> None:
        """Climb until the last rung but one serves the threshold better than the last one, or the ladder ends.

        The integrand is log-convex along the real line: no rung farther out does better then, however far others climb.
        """
        far = self.outward * threshold
        while not self.ended and (len(self._rows) < 2 or self._meet(self._rows[-2], self._rows[-1]) <= far):
            self.climb()

    def _meet(self, near: _Row, far: _Row) -> float:
        """The threshold, outward, at which two rungs' integrands e^(K(c) - ct)/|c (c - 1)| are of one size.

        Those of tails, which lack one of the poles, meet farther out.
        """
        inner, outer = (k - math.log(abs(c * (c - 1))) for c, k, _, _ in (near, far))
        return (outer - inner) / abs(far[0] - near[0])

    def climb_to_the_end(self) -> None:
        """All rungs."""
        while self.climb():
            pass

    def threshold(self, log_profile: Array) -> Array:
        """About the threshold, outward, at which delta (delta' on the left) has these logarithms.

        From the leading saddle-point term at the rungs; between them by cubics with the right slopes.
        """
        deepest = -float(log_profile.min())
        if not self._by_depth[0][-1] > deepest:
            self.reach_depth(deepest)
            if self._by_depth[0].size != len(self._rows):
                self._by_depth = self.depths()
        return by_cubics(-log_profile, *self._by_depth)

    def reach_depth(self, depth: float) -> None:
        """Climb until -log delta at the last rung's own threshold is above this depth, or the ladder ends."""
        while not self.ended and -self._log_profile_at(*self._rows[-1])[0] <= depth:
            self.climb()

    def depths(self) -> tuple[Array, Array, Array]:
        """-log delta(K'(c)) at the rungs, the threshold K'(c) outward, and its slope against the depth."""
        log_profile, steepness = np.array([self._log_profile_at(*row) for row in self._rows]).T
        return -log_profile, self.outward * self.table[:, 2], 1 / steepness

    def _log_profile_at(self, c: float, k: float, mean: float, variance: float) -> tuple[float, float]:
        """Log delta(K'(c)) (backward on the left: log delta'(-K'(c))) and minus its slope, by the leading term.

        Delta is the difference of two normal tails, tilted by c - 1 and by c, and its slope is minus the second.
        """
        spread = math.sqrt(variance / 2)
        near, far = (c - 1, c) if self.side == "right" else (-c, 1 - c)
        log_front = k + (1 - c) * mean if self.side == "right" else k - c * mean
        rejected = max(0.5 * float(erfcx(far * spread)), 1e-300)
        gap = max(0.5 * float(erfcx(near * spread)) - rejected, 1e-300)
        return log_front + math.log(gap), rejected / gap


def has_room(moments: LogMoments) -> bool:
    """Whether lines fit between the poles."""
    return moments.width <= _ROOM


def _grown(variance: float, nats: float) -> float:
    """What a variance becomes that grows by so many nats, 20 at most."""
    return variance * math.exp(min(nats, _MOST_GROWTH))


def by_cubics(at: Array, x: Array, y: Array, slope: Array) -> Array:
    """The cubics through the points (x, y), x in order, with these slopes; beyond the first or the last its y.

    >>> by_cubics(np.array([-1.0, 0.5, 1.5, 9.0]), np.arange(3.0), np.arange(3.0) ** 2, 2 * np.arange(3.0)).tolist()
    [0.0, 0.25, 2.25, 4.0]
    """
    if x.size == 1:
        return np.full(at.shape, y[0])
    left = np.add.reduce(x[1:-1] < at[..., None], axis=-1)
    right = left + 1
    length, rise = x[right] - x[left], y[right] - y[left]
    part = np.minimum(np.maximum((at - x[left]) / np.maximum(length, _SHORTEST), 0.0), 1.0)
    start, end = slope[left] * length - rise, slope[right] * length - rise  # of what is left of a line
    return np.asarray(y[left] + part * (rise + (1 - part) * (start - part * (start + end))))
