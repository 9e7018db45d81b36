"""Certified ends of delta, epsilon and f for every total loss, from tilted moments alone: any mix, any number of steps.

The relative width of a reading is about that of the Berry–Esseen inequality, 1/sqrt(n): wide for few steps, narrow for
very many, where lattices and lines end. `auto` falls back on these ends wherever an engine leaves more open.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import PerhapsSymmetric
from edgeworth.composition.moments.normal_tails import log_ends
from edgeworth.composition.moments.tilted_moments import TiltedMoments
from edgeworth.composition.moments.top_runs import TopRuns, top_runs
from edgeworth.curves.search import bracketed_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.moments.tilted_moments import Rows
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["MomentAnswers", "prepared"]

_ROUNDING = 1e-15
_LEAST = 5e-324  # what underflows is not 0
_NEAREST = 8  # tilts of the ladder that are tried near a threshold
_LARGEST_EXPONENT = 700.0


class _Test(NamedTuple):
    """Thresholds at which the type I error is surely at least, and surely at most, what is asked for; ends of f."""

    before: float
    after: float
    lower: float
    upper: float


class OneWay:
    """Ends in one direction from some rows, and from the same rows mirrored."""

    def __init__(self, rows: Rows, support: tuple[float, float]) -> None:
        self.rows, self.mirror, self.support = rows, rows.mirror, support

    @property
    def _mirrored(self) -> OneWay:
        return OneWay(self.mirror, (-self.support[1], -self.support[0]))

    def rejected(self, t: float) -> tuple[float, float]:
        """Ends of P[T > t]."""
        direct = _ends(*log_ends("null", self.rows, np.array([t])))
        return _both(direct, _complement(_ends(*log_ends("alternative", self.mirror, np.array([-t])))))

    def missed(self, t: float) -> tuple[float, float]:
        """Ends of Q[T <= t]."""
        direct = _ends(*log_ends("null", self.mirror, np.array([-t])))
        return _both(direct, _complement(_ends(*log_ends("alternative", self.rows, np.array([t])))))

    def overlap(self, t: float) -> tuple[float, float]:
        """Ends of E_P[min(e^T, e^t)] = Q[T <= t] + e^t P[T > t]."""
        log_low, log_high = (float(log[0]) + t for log in log_ends("null", self.rows, np.array([t])))
        low, high = self.missed(t)
        room = 4 * _ROUNDING * (1 + abs(t))
        low += math.exp(min(log_low - room, _LARGEST_EXPONENT))
        high += math.exp(min(log_high + room, _LARGEST_EXPONENT))
        most = math.exp(min(t, 0.0))
        return low * (1 - 4 * _ROUNDING), min(high, most) * (1 + 4 * _ROUNDING)

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Ends of delta(eps)."""
        found = self.tail(epsilon)
        if found[1] > 0.4:
            found = _both(found, _complement(self.overlap(epsilon)))
        if epsilon < 0:
            low, high = self._mirrored.tail(-epsilon)
            base, growth = -math.expm1(epsilon), math.exp(epsilon)
            found = _both(
                found, ((base + growth * low) * (1 - 4 * _ROUNDING), (base + growth * high) * (1 + 4 * _ROUNDING))
            )
        return found

    def tail(self, epsilon: float) -> tuple[float, float]:
        """The same from right tails alone: narrow where delta is small."""
        if epsilon >= self.support[1] * (1 + 8 * _ROUNDING):
            return 0.0, 0.0
        return _ends(*log_ends("profile", self.rows, np.array([epsilon])))

    def tails(self, alpha: float) -> tuple[float, float]:
        """Thresholds with P[T > t] >= alpha and <= alpha for sure."""
        null = self.rows.some(self.rows.tilt > 0)
        right = (null.log + null.doubt - math.log(alpha)) / null.tilt
        greatest = float(np.min(right + 8 * _ROUNDING * np.abs(right), initial=math.inf))
        return -self._mirrored.chernoff(math.log1p(-alpha)), greatest

    def chernoff(self, log_level: float) -> float:
        """A threshold at which delta, and Q[T > t], are below a level for sure; inf if no tilt says so."""
        rows = self.rows.some(self.rows.excess > 0)
        bound = (rows.log + rows.doubt - log_level) / rows.excess
        return float(np.min(bound + 8 * _ROUNDING * np.abs(bound), initial=math.inf))


class MomentAnswers(PerhapsSymmetric):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self._total = total
        self._symmetric = total.is_symmetric
        self._runs: dict[Direction, TopRuns] = {}

    @cached_property
    def _moments(self) -> TiltedMoments:
        return TiltedMoments(self._total)

    def _top_runs(self, direction: Direction) -> TopRuns:
        if direction not in self._runs:
            self._runs[direction] = top_runs(self._total, direction)
        return self._runs[direction]

    def _way(self, direction: Direction, near: float | None = None) -> OneWay:
        """One direction, from the whole ladder of tilts or from those near a threshold, with two of its own."""
        rows = self._moments.ladder
        if near is not None:
            place = near if direction == "forward" else -near
            nearest = np.argsort(np.abs(rows.mean - place), kind="stable")[:_NEAREST]
            rows = rows.some(nearest).joined(self._moments.near(place))
        least, greatest = self._moments.support
        return OneWay(rows, (least, greatest)) if direction == "forward" else OneWay(rows.mirror, (-greatest, -least))

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        ladder, runs = self._way(direction), self._top_runs(direction)
        ends = [_both(ladder.profile(x), self._way(direction, x).profile(x)) for x in epsilon.tolist()]
        lower = [max(end[0], runs.delta(x)) for end, x in zip(ends, epsilon.tolist(), strict=True)]
        return Ends(np.array(lower), np.array([end[1] for end in ends]))

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""
        ladder = self._way(direction)
        top = max(ladder.support[1], 0.0)
        if delta == 0 or delta >= 1:
            return (top * (1 - 8 * _ROUNDING), top * (1 + 8 * _ROUNDING)) if delta == 0 else (0.0, 0.0)
        rough = _root(ladder, delta)
        if rough[0] == rough[1] or math.isinf(rough[1]):
            return rough
        near = self._way(direction, 0.5 * (rough[0] + rough[1]))
        fine = _root(near, delta, rough[1])
        return max(rough[0], fine[0], self._top_runs(direction).epsilon(delta)), min(rough[1], fine[1])

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta in one direction."""
        return self._way(direction).profile(epsilon)[1] <= delta

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the test with type I error alpha in one direction, and ends of its type II error."""
        rough = _test(self._way(direction), alpha)
        if not -math.inf < rough.before < rough.after < math.inf:
            return math.nan, rough.lower, rough.upper
        place = 0.5 * (rough.before + rough.after)
        fine = _test(self._way(direction, place), alpha, (rough.before, rough.after))
        place = 0.5 * (fine.before + fine.after)
        ends = max(rough.lower, fine.lower), min(rough.upper, fine.upper)
        return (place if direction == "forward" else -place), *ends

    def between(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds of T, in order, between which that of the test of type I error 0 < alpha < 1 surely is."""
        found = _test(self._way(direction), alpha)
        return (found.before, found.after) if direction == "forward" else (-found.after, -found.before)

    def _hull(self, alpha: float, upper: float) -> tuple[float, float]:
        """The lines at the slopes of both directions: where ends are apart anyway, no better slope is looked for."""
        slopes = [self._miss("forward", alpha)[0], -self._miss("backward", alpha)[0]]
        tried = [t for t in slopes if math.isfinite(t)] or [0.0]
        return max(0.0, *(self._common_line(alpha, t) for t in tried)), upper

    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""
        return np.array([self._way("forward", x).overlap(x)[0] for x in t.tolist()])

    def touching(self, direction: Direction, t: float) -> list[float]:
        """Upper ends of the type I error of the test at t in one direction."""
        return [self._way(direction, t).rejected(t)[1]]

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order."""
        way = self._way("forward", 0.0)
        least, greatest = sorted((way.rejected(0.0)[1], way.missed(0.0)[1]))
        return least, greatest


@lru_cache(maxsize=8)
def prepared(total: TotalLoss) -> MomentAnswers:
    """The answers of a total loss; the last few are kept."""
    return MomentAnswers(total)


def _root(way: OneWay, delta: float, most: float = math.inf) -> tuple[float, float]:
    """Ends of eps: each is an eps at which the matching end of delta lies on the right side of the target."""
    less, more = _logs_around(delta)
    upper = max(min(way.chernoff(less), way.support[1] * (1 + 8 * _ROUNDING), most), 0.0)
    at_zero = way.profile(0.0)
    if upper == 0 or at_zero[1] <= delta:
        return 0.0, 0.0
    if math.isinf(upper):
        return 0.0, upper
    upper = _first(lambda x: _log(way.profile(x)[1]) - less, 0.0, upper)
    if not at_zero[0] > delta:
        return 0.0, upper
    return -_first(lambda x: more - _log(way.profile(-x)[0]), -upper, 0.0), upper


def _test(way: OneWay, alpha: float, within: tuple[float, float] | None = None) -> _Test:
    """A test whose type I error is near alpha, and ends of f(alpha).

    P[T > t] <= alpha gives f(alpha) <= Q[T <= t], and P[T > t] >= alpha the reverse. Below f lies every line
    Q[T <= s] + e^s (P[T > s] - alpha) as well.
    """
    less, more = _logs_around(alpha)
    left, right = within or way.tails(alpha)
    if not -math.inf < left < right < math.inf:
        return _Test(left, right, 0.0, 1 - alpha)
    after = _first(lambda t: _log(way.rejected(t)[1]) - less, left, right)
    before = -_first(lambda t: more - _log(way.rejected(-t)[0]), -after, -left)
    lines = [0.0, way.missed(before)[0] if _log(way.rejected(before)[0]) >= more else 0.0]
    for t in (before, 0.5 * (before + after), after):
        low, most = way.overlap(t)[0], math.exp(min(t, _LARGEST_EXPONENT)) * alpha
        lines.append((low - most) - 4 * _ROUNDING * (low + most))
    high = way.missed(after)[1] if _log(way.rejected(after)[1]) <= less else 1.0
    return _Test(before, after, max(lines), max(min(high, float(np.nextafter(1 - alpha, 2.0))), _LEAST))


def _first(g: Callable[[float], float], low: float, high: float) -> float:
    """The least place with g <= 0, of a g that falls, where g <= 0 holds; the high end if it does not even there."""
    if not g(high) <= 0:
        return high
    if not g(low) > 0:
        return low
    found = bracketed_root(lambda x, _: np.array([g(float(x[0]))]), np.array([low]), np.array([high]))
    return float(found[0])


def _logs_around(value: float) -> tuple[float, float]:
    """Logarithms that are surely not above and not below that of a value."""
    log = math.log(value)
    room = _ROUNDING * (1 + abs(log))
    return log - room, log + room


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _ends(lower: Array, upper: Array) -> tuple[float, float]:
    """From logarithms: rounded outwards, and what underflows is not 0."""
    low, high = (float(log[0]) for log in (lower, upper))
    return math.exp(min(low, 0.0)) * (1 - 4 * _ROUNDING), min(
        max(math.exp(min(high, 0.0)) * (1 + 4 * _ROUNDING), _LEAST), 1.0
    )


def _complement(ends: tuple[float, float]) -> tuple[float, float]:
    return max(1 - ends[1] - _ROUNDING, 0.0), min(1 - ends[0] + _ROUNDING, 1.0)


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Where two enclosures of one number meet."""
    return max(one[0], other[0]), min(one[1], other[1])
