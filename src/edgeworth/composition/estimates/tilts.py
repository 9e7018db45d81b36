"""The tilts that matter: from the far left tail of P to the far right tail of Q, evenly spaced as the law sees them.

The depth of the tail beyond K'(c) is c K'(c) - K(c) under P and (c-1) K'(c) - K(c) under Q; the signed root of twice
the depth is what a normal law calls the threshold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Tilts"]

_DEEPEST = 745.0  # nats: e^-745 is the smallest double
_FARTHEST = math.sqrt(2 * _DEEPEST)
_SHRUNK = 1e-9  # a variance this much smaller than at the centre: the tilted law has shrunk to the end of its support
_FINEST = 1e-9  # the narrowest cell worth splitting, relative
_MOST_PASSES, _MOST_TILTS = 30, 4000
_LONGEST = 1e5  # in units of the width, for laws that never become deep


class Tilts:
    """A grid of tilts with K, K' and K'' at each."""

    def __init__(self, total: TotalLoss, spacing: float) -> None:
        self.total = total
        self.width = 1 / math.sqrt(float(total.tilted(np.array([0.5]), 2, (0.0, 1.0))[0, 2]))
        self.range = self._farthest(-1.0, 0.0), self._farthest(1.0, 1.0)
        rows = self._refined(self._geometric(), spacing)
        self.tilt, self.k, self.mean, self.variance = rows.T

    def _state(self, c: float) -> tuple[float, float, float]:
        k, mean, variance = self.total.tilted(np.array([c]), 2, (min(c, 0.0), max(c, 1.0)))[0]
        return float(k), float(mean), float(variance)

    def _farthest(self, direction: float, pole: float) -> float:
        """The tilt at which the tail on that side is no double any more, or the law has shrunk to its end."""

        def enough(length: float) -> bool:
            c = pole + direction * length
            k, mean, variance = self._state(c)
            return (c - pole) * mean - k > _DEEPEST or variance * self.width**2 < _SHRUNK

        least, greatest = self.total.steepest
        longest = min(_LONGEST * (1 + self.width), (greatest - 1) if direction > 0 else -least)
        inner, outer = 0.0, min(2 * self.width, longest)
        while not enough(outer) and outer < longest:
            inner, outer = outer, min(2 * outer, longest)
        for _ in range(5):
            middle = 0.5 * (inner + outer)
            inner, outer = (inner, middle) if enough(middle) else (middle, outer)
        return pole + direction * outer

    def _geometric(self) -> Array:
        low, high = self.range
        spread = np.sinh(np.linspace(-1, 1, 121) * math.asinh((high - low) / self.width)) * self.width
        return np.unique(np.clip(0.5 + spread, low, high))

    def _refined(self, tilt: Array, spacing: float) -> Array:
        """Rows (c, K, K', K''): cells are split until neighbours are at most `spacing` apart in the root of the depth.

        A sampled loss can pass from its bulk to its far tail within a sliver of tilts; only splitting finds it.
        """
        rows = self._rows(tilt)
        for _ in range(_MOST_PASSES):
            gap = np.diff(self._place(rows))
            wide = (gap > spacing) & (np.diff(rows[:, 0]) > _FINEST * (self.width + np.abs(rows[1:, 0])))
            if not wide.any() or len(rows) > _MOST_TILTS:
                break
            pieces = np.minimum(np.ceil(gap[wide] / spacing), 6).astype(int)
            left, length = rows[:-1][wide, 0], np.diff(rows[:, 0])[wide]
            parts = [a + l * np.arange(1, n) / n for a, l, n in zip(left, length, pieces, strict=True)]
            rows = np.concatenate([rows, self._rows(np.concatenate(parts))])
            rows = rows[np.argsort(rows[:, 0])]
        return rows

    def _rows(self, tilt: Array) -> Array:
        return np.column_stack([tilt, self.total.tilted(tilt, 2, self.range)])

    @staticmethod
    def _place(rows: Array) -> Array:
        """The signed root of twice the depth under P, and beyond c = 1 that under Q on top of it: increasing in c."""
        c, k, mean = rows[:, 0], rows[:, 1], rows[:, 2]
        null = np.sign(c) * np.sqrt(2 * np.maximum(c * mean - k, 0))
        between = float(np.interp(1.0, c, null))
        alternative = between + np.sqrt(2 * np.maximum((c - 1) * mean - k, 0))
        place = np.where(c <= 1, null, alternative)
        return np.asarray(np.maximum.accumulate(np.clip(place, -_FARTHEST, between + _FARTHEST)))
