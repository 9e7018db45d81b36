"""The rungs: tilts at which lines are prepared, a standard deviation of the tilted law apart, from the poles outward.

Three ladders: right of the pole at 1, left of the pole at 0, between the poles where there is room. Each is extended
only as far as a reading asks, always by the same rule, so that one argument meets the same rung in every company.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

if TYPE_CHECKING:
    from edgeworth.composition.log_moments import LogMoments
    from edgeworth.losses.law import Array

__all__ = ["Ladder", "Side", "joined"]

Side: TypeAlias = Literal["left", "middle", "right"]

_CLOSEST = 0.15  # of the first rung to its pole, in units of 1/std
_APART = 2.0  # of neighbouring rungs, in standard deviations of the tilted law …
_RATIO = 0.8  # … and relative to the distance from the pole …
_NEAR = 2.5  # … within a standard deviation of it: there the integrand loses half a digit at most between rungs
_FARTHEST = 2.5  # nats that the integrand of a threshold may lose from one rung to the next
_MOST_HALVINGS = 40
_ROOM = 0.5  # 1/std below which lines fit between the poles
_DEEPEST = 745.0  # nats: e^-745 is the smallest double
_SHRUNK = 1e-9  # a variance this much smaller than at the centre: the tilted law has shrunk to the end of its support
_MOST_RUNGS = 400
_POINTS = 16  # between neighbouring rungs


class Ladder:
    """The rungs of one side, as columns: tilt, K, K' and K'' there."""

    def __init__(self, moments: LogMoments, side: Side) -> None:
        self.side, self._moments = side, moments
        self.outward = -1.0 if side == "left" else 1.0
        closest = _CLOSEST * moments.width
        self._rows: list[tuple[float, float, float, float]] = []
        self._table: Array = np.empty((0, 4))
        self._joined, self._by_depth = 0, (np.zeros(1), np.zeros(1))
        self.ended = side == "middle" and moments.width > _ROOM
        if not self.ended:
            pole = 1.0 if side == "right" else 0.0
            mean = moments.mean_under_q if side == "right" else moments.mean_under_p
            self._append_after(pole, 0.0, mean, pole + self.outward * closest)

    @property
    def table(self) -> Array:
        """Rows (c, K, K', K'') from the pole outward."""
        if len(self._table) != len(self._rows):
            self._table = np.array(self._rows)
        return self._table

    def _append(self, c: float) -> None:
        k, mean, variance = self._moments(np.array([c]))[0].tolist()
        self._rows.append((c, k, mean, variance))

    def _distance(self, c: float) -> float:
        return {"left": -c, "middle": min(c, 1 - c), "right": c - 1}[self.side]

    def climb(self) -> bool:
        """One more rung; False when there is none."""
        if self.ended:
            return False
        c, k, mean, variance = self._rows[-1]
        pole = 0.0 if self.side == "left" else 1.0
        distance = self._distance(c)
        ratio = _RATIO + (_NEAR - _RATIO) / (1 + (distance * self._moments.spread) ** 2)
        step = 1 / (math.sqrt(variance) / _APART + 1 / (ratio * distance))
        following = c + self.outward * step
        least, greatest = self._moments.steepest
        deep = self.side != "middle" and (c - pole) * mean - k > _DEEPEST
        shrunk = variance * self._moments.width**2 < _SHRUNK
        beyond = following > 1 - _CLOSEST * self._moments.width if self.side == "middle" else False
        if deep or shrunk or beyond or not least < following < greatest or len(self._rows) > _MOST_RUNGS:
            self.ended = True
            return False
        self._append_after(c, k, mean, following)
        if not math.isfinite(self._rows[-1][1]):  # the nodes do not reach that far
            self._rows.pop()
            self.ended = True
        return not self.ended

    def _append_after(self, c: float, k: float, mean: float, following: float) -> None:
        """A rung that follows the tilt c, not too far from it.

        At a tiny rate the tilted law can pass from its bulk to its far tail within a sliver of tilts: K says when.
        """
        for _ in range(_MOST_HALVINGS):
            self._append(following)
            gap = self._rows[-1][1] - k - (following - c) * mean
            if gap < _FARTHEST or not math.isfinite(gap) or abs(following - c) < 1e-9 * abs(c):
                break
            self._rows.pop()
            following = c + (following - c) / 2

    def reach(self, threshold: float) -> None:
        """Climb until the saddle point of the threshold lies between two rungs, poles included, or the ladder ends.

        One rung more than that: which rung serves a threshold must not depend on how far others have climbed.
        """
        while not self.ended and self._centre(*self._rows[-1][:3]) <= self.outward * threshold:
            self.climb()
        if not self.ended and (len(self._rows) < 2 or self._centre(*self._rows[-2][:3]) <= self.outward * threshold):
            self.climb()

    def _centre(self, c: float, _: float, mean: float) -> float:
        """The threshold, outward, whose integrand has its saddle point at c when both poles count."""
        return self.outward * mean - 1 / abs(c) - 1 / abs(c - 1)

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
            if self._joined != len(self._rows):
                self._joined, self._by_depth = len(self._rows), joined(*self.depths())
        return np.asarray(np.interp(-log_profile, *self._by_depth))

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


def joined(x: Array, y: Array, slope: Array) -> tuple[Array, Array]:
    """Points on the cubics through (x, y) with these slopes, close enough to be joined by lines."""
    part = np.arange(_POINTS) / _POINTS
    length, rise = np.diff(x)[:, None], np.diff(y)[:, None]
    start, end = slope[:-1, None] * length, slope[1:, None] * length
    cubic = y[:-1, None] + part * (start + part * (3 * rise - 2 * start - end + part * (start + end - 2 * rise)))
    return np.append(x[:-1, None] + part * length, x[-1]), np.append(cubic, y[-1])
