"""f at many alphas from one table of the profile: a slow engine is asked for delta at places that all of them share.

f(alpha) is the supremum of the concave function g of `by_profile`, and the ends of delta at some places are ends of g
for every alpha. Round by round places are added next to the best of each alpha, on ever finer grids, so that
neighbours ask for the same ones. All are narrowed alike, until they are narrow or the reading has taken what it may.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends, Forwarding, is_wide, narrow
from edgeworth.composition.by_profile import gains, profile_at
from edgeworth.composition.concave import greatest
from edgeworth.composition.work import WorkSpent, is_spent

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses.law import Array

__all__ = ["ManyTests"]

_FEW = 16  # alphas, of which each is asked for alone
_MOST_ROUNDS = 24
_AT_ONCE = 16  # places, for which quick engines are asked first
_FARTHEST = 599.0  # of the logarithm of a slope: nothing underflows
_BESIDE = 0.1  # from the outermost places to the next ones, through which lines are drawn
_FIRST = 0.05 * 2.0 ** np.arange(14)  # places of the first round, on either side of 0
_NO_MORE = 3.0  # times the width of the best value, which no place beside it can beat
_NEARER, _FINEST = 0.13, 1e-10  # of the gap beside it: how near new places are, and the least distance, relative


class ManyTests(Forwarding):
    """The answers of engines that take long for a test, with many of f from one table."""

    def __init__(self, answers: Answers, wide: float) -> None:
        super().__init__(answers)
        self._wide = wide

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha): of many from the profile."""
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if inner.size <= _FEW:
            return self._answers.tradeoff(direction, alpha)
        ends = Ends(np.zeros(alpha.size), np.nextafter(1 - alpha, 2.0))
        outer = np.setdiff1d(np.arange(alpha.size), inner)
        narrow(ends, outer, self._answers.tradeoff(direction, alpha[outer]))
        narrow(ends, inner, _Table(self._answers, direction, alpha[inner]).searched(self._wide))
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if 0 < wide.size <= _FEW and not is_spent():
            with suppress(WorkSpent):
                narrow(ends, wide, self._answers.tradeoff(direction, alpha[wide]))
        return ends


class _Table:
    """Ends of the profile at rising places, and what follows from them for every alpha."""

    def __init__(self, answers: Answers, direction: Direction, alpha: Array) -> None:
        self._answers, self._direction, self._alpha = answers, direction, alpha
        self._t, self._profile = np.empty(0), Ends(np.empty(0), np.empty(0))

    def searched(self, wide: float) -> Ends:
        """Ends of f at every alpha, as narrow as that or as the work allows."""
        lower, upper = np.zeros(self._alpha.size), np.nextafter(1 - self._alpha, 2.0)
        asked = self._first()
        for _ in range(_MOST_ROUNDS):
            with suppress(*GIVES_UP, WorkSpent):  # extremes leave nothing
                self._ask(asked)
            if self._t.size < 4:
                break
            wanted = []
            for k in range(self._alpha.size):
                if upper[k] - lower[k] > wide * upper[k]:
                    lower[k], upper[k], more = self._one(float(self._alpha[k]), wide, lower[k], upper[k])
                    wanted.append(more)
            asked = np.unique(np.concatenate([np.empty(0), *wanted]))
            if not asked.size or is_spent():
                break
        return Ends(lower, upper)

    def _first(self) -> Array:
        """Places from the least slope to the greatest, about: those of f are at most 1/alpha and 1/(1 - alpha)."""
        far = 1 - math.log(min(float(self._alpha.min()), float(1 - self._alpha.max())))
        end = min(far, _FARTHEST)
        inside = _FIRST[end > _FIRST]
        return np.unique(np.concatenate([-inside, [0.0], inside, [-end - _BESIDE, -end, end, end + _BESIDE]]))

    def _ask(self, places: Array) -> None:
        """Put some places into the table, few at a time: what is spent is spent."""
        for some in np.array_split(places, -(-places.size // _AT_ONCE)):
            found = profile_at(self._answers, self._direction, some)
            order = np.argsort(t := np.concatenate([self._t, some]), kind="stable")
            self._t = t[order]
            self._profile = Ends(*(np.concatenate(pair)[order] for pair in zip(self._profile, found, strict=True)))
            if is_spent() and self._t.size > _FIRST.size:
                break

    def _one(self, alpha: float, wide: float, lower: float, upper: float) -> tuple[float, float, Array]:
        """Ends of f at one alpha, and where more should be known for it."""
        t, found = self._t, gains(alpha, self._t, self._profile)
        top, place = greatest(t, found)
        lower = max(lower, float(found.lower.max()))
        upper = max(min(upper, top), lower)
        best = min(max(int(np.argmax(found.lower)), 1), t.size - 2)
        open_ = float(found.upper[best] - found.lower[best])
        if upper - lower <= max(wide * upper, _NO_MORE * open_) and math.isfinite(top):
            return lower, upper, np.empty(0)
        if not math.isfinite(top):  # the best may be farther out
            return lower, upper, np.clip(2 * t[[0, -1]], -_FARTHEST, _FARTHEST)[np.abs(t[[0, -1]]) < _FARTHEST]
        widest = float(np.diff(t[best - 1 : best + 2]).max())
        return lower, upper, self._around(place, _NEARER * widest)

    def _around(self, place: float, near: float) -> Array:
        """Three places of a grid about so fine, but for those that are known; of a finer one if all are."""
        finest = _FINEST * (1 + abs(place))
        step = 2.0 ** math.floor(math.log2(max(near, finest)))
        while step >= 0.5 * finest:
            around = step * (round(place / step) + np.array([-1.0, 0.0, 1.0]))
            new = np.min(np.abs(around[:, None] - self._t), axis=1) > 0.25 * step
            if new.any():
                return np.asarray(around[new])
            step *= 0.25
        return np.empty(0)
