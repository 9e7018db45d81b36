"""Where the bounds of a group are sharp: slopes of its k steps and the best alpha, read off a table of the base.

A guide only says where to look. What is bounded there holds wherever that is, so the table may be coarse, and any curve
near the base may serve for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from edgeworth.curves.elementwise import times_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.profile import Profile
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["Guide"]

_FIRST = 97  # lines up to the first level
_MORE = 32  # times 2 and the number of the level: lines up to the next one, which lies twice as far out
_LEAST_TOP, _MOST_TOP = 1e-9, 2.0  # half of the first level, whatever the curve
_LARGEST_EPSILON = 740.0
_SMALLEST_DELTA = 1e-290
_LEAST_ALPHA = 1e-300
_WIDEST_GAP = 0.1  # of log alpha along a straight part of f
_BRIDGE = 9  # places along the part of slope -1


class _Lines(NamedTuple):
    """Where supporting lines touch f, steep ones first: their slopes eps >= 0, alphas and powers."""

    slope: Array
    alpha: Array
    power: Array


@dataclass(frozen=True, eq=False)
class _Table:
    """By the slope eps = sum of t_j of the whole, increasing: slopes t_1 … t_k (rows), logit of alpha, log of delta."""

    total: Array
    slopes: Array
    logit: Array
    log_delta: Array
    inside: tuple[float, float]
    """The totals whose steps all lie within the table."""

    def slopes_at(self, epsilon: Array) -> Array:
        """Slopes that add up to eps; what the table does not reach is left to the first step, or to the last."""
        found = np.array([np.interp(epsilon, self.total, row) for row in self.slopes])
        missing = epsilon - found.sum(axis=0)
        found[0] += np.maximum(missing, 0.0)
        found[-1] += np.minimum(missing, 0.0)
        return found


class Guide:
    """The tables of one base for groups of one size, each reaching twice as far out as the one before.

    Which table is read depends on the eps alone, so that an eps gets the same bits in every company; the far ones are
    made when they are first needed.
    """

    def __init__(self, curve: TradeOff, size: int) -> None:
        self._curve, self._size = curve, size
        self._tables: list[_Table] = []

    @cached_property
    def _sides(self) -> tuple[_Side, ...]:
        profile = self._curve.profile()
        return (_Side(profile),) if self._curve.is_symmetric else (_Side(profile), _Side(profile.reverse()))

    def slopes_at(self, epsilon: Array) -> Array:
        """Slopes t_1 … t_k (rows) that add up to eps."""
        slopes = np.empty((self._size, epsilon.size))
        for table, mine in self._split(epsilon):
            slopes[:, mine] = table.slopes_at(epsilon[mine])
        return slopes

    def alpha_at(self, epsilon: Array) -> Array:
        """About the best alpha."""
        alpha = np.empty(epsilon.size)
        for table, mine in self._split(epsilon):
            alpha[mine] = expit(np.interp(epsilon[mine], table.total, table.logit))
        return alpha

    def epsilon_at(self, delta: float) -> float:
        """About the eps with that delta."""
        level, wanted = 0, np.log(max(delta, _SMALLEST_DELTA))
        while not self._is_last(level) and self._log_delta_inside(level) > wanted:
            level += 1
        table = self._table(level)
        return float(np.interp(-wanted, np.maximum.accumulate(-table.log_delta), table.total))

    def _log_delta_inside(self, level: int) -> float:
        table = self._table(level)
        return float(np.interp(table.inside[1], table.total, table.log_delta))

    def _split(self, epsilon: Array) -> list[tuple[_Table, NDArray[np.intp]]]:
        """The first table that every eps lies inside of, or the last one."""
        left, found, level = np.arange(epsilon.size), [], 0
        while left.size:
            table = self._table(level)
            inside = (epsilon[left] >= table.inside[0]) & (epsilon[left] <= table.inside[1]) | self._is_last(level)
            found.append((table, left[inside]))
            left, level = left[~inside], level + 1
        return [(table, mine) for table, mine in found if mine.size]

    def _is_last(self, level: int) -> bool:
        return all(side.ends(level) for side in self._sides)

    def _table(self, level: int) -> _Table:
        while len(self._tables) <= level:
            self._tables.append(self._made(len(self._tables)))
        return self._tables[level]

    def _made(self, level: int) -> _Table:
        """From every point of f follow the steps: the power of one is the alpha of the next."""
        slope, x, power = self._points(level)
        at, slopes, inside = power, [slope], np.ones(x.size, dtype=bool)
        for _ in range(self._size - 1):
            slopes.append(np.interp(at, x, slope))
            inside &= (at >= x[0]) & (at <= x[-1])
            at = np.interp(at, x, power)
        rows = np.array(slopes)[:, ::-1]
        total = np.maximum.accumulate(rows.sum(axis=0))
        logit = x[::-1]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_delta = np.log(np.maximum(expit(at[::-1]) - times_exp(expit(logit), total), _SMALLEST_DELTA))
        kept = total[inside[::-1]]
        return _Table(total, rows, logit, log_delta, (float(kept[0]), float(kept[-1])) if kept.size else (0.0, -1.0))

    def _points(self, level: int) -> tuple[Array, Array, Array]:
        """Slopes, decreasing, and the logits of alpha and of 1 - f(alpha), of both signs of eps.

        For eps < 0 the touching points of the inverse are f and 1 - alpha. Between the two signs f has the slope -1.
        """
        steep = self._sides[0].lines(level)
        flat = self._sides[-1].lines(level)
        bridge = np.linspace(steep.alpha[-1], 1 - flat.power[-1], _BRIDGE + 2)[1:-1]
        level_power = np.clip(steep.power[-1] + (bridge - steep.alpha[-1]), 0.0, 1.0)
        slope = np.concatenate([steep.slope, np.zeros(_BRIDGE), -flat.slope[::-1]])
        x = np.concatenate([_logit(steep.alpha), _logit(bridge), -_logit(flat.power)[::-1]])
        y = np.concatenate([_logit(steep.power), _logit(level_power), -_logit(flat.alpha)[::-1]])
        return slope, np.maximum.accumulate(x), np.maximum.accumulate(y)


class _Side:
    """The supporting lines of eps >= 0, up to the end of each level."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._floor = max(_SMALLEST_DELTA, (1 + 1e-9) * profile.alternative_only)
        half = float(np.clip(1.25 * profile(0.0), _LEAST_TOP, _MOST_TOP))
        self._epsilon = np.linspace(0.0, self._next(half), _FIRST)
        self._delta = profile(self._epsilon)
        self._tops = [_FIRST]

    def _next(self, top: float) -> float:
        """Twice as far, or where nothing is left: the steepest line of a bounded loss is one of its own."""
        end = min(2 * top, _LARGEST_EPSILON)
        if self._profile(end) > self._floor:
            return end
        return max(float(self._profile.epsilon(min(self._floor, 1.0))), _LEAST_TOP)

    def ends(self, level: int) -> bool:
        """Whether nothing is left beyond that level."""
        self._reach(level)
        return level >= len(self._tops) - 1 and self._is_over

    @property
    def _is_over(self) -> bool:
        return bool(self._epsilon[-1] >= _LARGEST_EPSILON or self._delta[-1] <= self._floor)

    def _reach(self, level: int) -> None:
        while len(self._tops) <= level and not self._is_over:
            top = float(self._epsilon[-1])
            end = self._next(top)
            if end <= top:
                end = top * (1 + 1e-9)
            more = np.linspace(top, end, _MORE * (len(self._tops) + 1) + 1)[1:]
            self._epsilon = np.concatenate([self._epsilon, more])
            self._delta = np.concatenate([self._delta, self._profile(more)])
            self._tops.append(self._epsilon.size)

    def lines(self, level: int) -> _Lines:
        """Where the lines touch f, alpha = -e^-eps d delta/d eps = delta e^-eps |d log delta/d eps|.

        log delta is so smooth that three neighbours give its slope. Neighbouring lines meet on either side of that
        alpha, at (delta - delta')/(e^eps' - e^eps), which keeps it in its place where f has a corner.
        """
        self._reach(level)
        count = self._tops[min(level, len(self._tops) - 1)]
        epsilon, delta = self._epsilon[:count][::-1], self._delta[:count][::-1]
        rise = -np.expm1(np.diff(epsilon))
        meet = times_exp(np.maximum(np.diff(delta), 0.0) / rise, -epsilon[:-1])
        log_delta = np.log(np.maximum(delta, _SMALLEST_DELTA))
        fall = -np.gradient(log_delta, epsilon, edge_order=2)
        alpha = np.clip(times_exp(np.maximum(fall, 0.0) * delta, -epsilon), np.append(0.0, meet), np.append(meet, 1.0))
        if delta[0] <= self._floor:
            alpha[0] = meet[0]  # the steepest line of all touches f from here down to alpha = 0
        log_alpha = np.maximum.accumulate(np.log(np.clip(alpha, _LEAST_ALPHA, 1.0)))
        whole = self.ends(level)
        first = 0 if whole else 1  # a line without a neighbour on its far side tells little
        return _filled(epsilon[first:], delta[first:], log_alpha[first:], whole=whole)


def _filled(epsilon: Array, delta: Array, log_alpha: Array, *, whole: bool) -> _Lines:
    """The touching points; where f is straight alphas are far apart, and the places between are filled in."""
    row = np.arange(epsilon.size, dtype=np.float64)
    if whole:
        row, log_alpha = np.append(0.0, row), np.append(np.log(_LEAST_ALPHA), log_alpha)
    parts = _parts(np.diff(log_alpha))
    place = np.concatenate([*(k + np.arange(n) / n for k, n in enumerate(parts)), [row.size - 1.0]])
    numbers = np.arange(row.size)
    alpha = np.exp(np.interp(place, numbers, log_alpha))
    row = np.interp(place, numbers, row)
    sides = np.floor(row).astype(np.intp), np.ceil(row).astype(np.intp)
    powers = [delta[side] + times_exp(alpha, epsilon[side]) for side in sides]
    return _Lines(np.interp(row, np.arange(epsilon.size), epsilon), alpha, np.minimum(np.minimum(*powers), 1.0))


def _parts(gap: Array) -> NDArray[np.intp]:
    """Into how many parts each gap of log alpha is divided: one, unless it is far wider than the gaps two away."""
    around = np.minimum(np.pad(gap, (2, 0))[:-2], np.pad(gap, (0, 2))[2:])
    return np.where(gap > 4 * around + _WIDEST_GAP, np.ceil(gap / _WIDEST_GAP), 1).astype(np.intp)


def _logit(p: Array) -> Array:
    inner = np.clip(p, _LEAST_ALPHA, 1 - 1e-16)
    return np.asarray(np.log(inner) - np.log1p(-inner))
