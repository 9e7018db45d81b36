"""Certified ends of delta, epsilon and f from the rungs of a ladder of thresholds.

The ladder is fixed by the law alone, so one argument gives the same bits in every company; rungs are prepared when they
are first asked for and kept. Rough rungs find the place of a root, and one fine rung encloses it. A root finder's word
is never taken: an end of epsilon is an epsilon at which the matching end of delta lies on the right side of the target.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.lattice_rung import Goal, Rung, common_step, prepare, refined
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.tilted_lattice import Kind
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FINE", "LatticeAnswers"]

_GROWTH = 0.15  # rungs are a standard deviation long in the middle, and 16 % of the distance from it far out
FINE, _FINE_OVERLAP = 4e-7, 1e-7  # the relative widths that rungs aim at; f is a difference of overlaps
_ROUNDING = 1e-15
_GRID, _ROUNDS = 33, 9  # thresholds tried at a time in the search for a root: 32^-9 of a rung is left
_NEARER = 0.2  # of the distance to the end of the support, the longest rung there
_MOST_RUNGS = 120  # on either side of the middle: up to 2e8 standard deviations from it, or 2e-12 of the way to an end
_MOST_MOVES = 3
_LONGEST_STRIDE = 8  # rungs: three times the distance from the middle, or a sixth of that from an end
_MOST_KEPT = 40  # rungs, rough and fine
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


def _keep(kept: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Remember a value, and forget the oldest when there are too many: a fine rung takes some megabytes."""
    while len(kept) >= most:
        del kept[next(iter(kept))]
    kept[key] = value


class Polygon(NamedTuple):
    """A concave polygon, value - z rest, whose maximum bounds f: places z, value, ends of its slope right of each."""

    z: Array
    value: Array
    slope_low: Array
    slope_high: Array

    def maximum(self, rest: float) -> tuple[float, float] | None:
        """Where the polygon is greatest, roughly, and at least its maximum; None where that is not on this rung."""
        falling = np.flatnonzero(self.slope_high <= rest)
        if not falling.size:
            return None
        last = int(falling[0])
        rising = np.flatnonzero(self.slope_low[:last] >= rest)
        if not rising.size:
            return None
        first = int(rising[-1])
        start = float(self.value[first] - self.z[first] * rest)
        most = start + float(self.slope_high[first] - rest) * float(self.z[last] - self.z[first])
        return float(self.z[last]), most + 4 * _ROUNDING * abs(float(self.z[last]) * rest)


class LatticeAnswers:
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self.total = total
        self.parts = tuple((loss, n) for loss, n in total.parts if loss.support != (0.0, 0.0) and n > 0)
        cumulants = total.cumulants(2)
        self.spread = math.sqrt(max(float(cumulants.null[1]), 1e-300))
        self.middle = 0.5 * float(cumulants.null[0] + cumulants.alternative[0])
        smooth = any(isinstance(loss, SampledLoss) and not loss.is_atomic for loss, _ in self.parts)
        left, right = self._side(-1.0, total.support[0] if smooth else -math.inf), self._side(1.0, math.inf)
        self._ladder = np.array([*left[:0:-1], *right])
        self.exact = common_step(self.parts)[1]
        self._rungs: dict[tuple[Kind, int, bool], Rung] = {}
        self._polygons: dict[tuple[Direction, Kind, int, bool], Polygon] = {}

    # --- the ladder

    def _side(self, sign: float, end: float) -> list[float]:
        """Thresholds from the middle outwards: a standard deviation apart at first, then in geometric steps.

        The steps grow away from the middle, and shrink towards an end of the support that is no atom.
        """
        made = [self.middle]
        for number in range(_MOST_RUNGS):
            step = self.spread * (math.sinh(_GROWTH * (number + 1)) - math.sinh(_GROWTH * number)) / _GROWTH
            made.append(made[-1] + sign * min(step, _NEARER * abs(end - made[-1])))
        return made

    def _threshold(self, number: int) -> float:
        return float(self._ladder[number + _MOST_RUNGS])

    def _number(self, t: float) -> int:
        place = int(np.searchsorted(self._ladder, t, side="right")) - 1 - _MOST_RUNGS
        return max(-_MOST_RUNGS, min(_MOST_RUNGS - 1, place))

    def rung(self, kind: Kind, number: int, *, rough: bool = False) -> Rung:
        """The rung of that number, prepared when it is first asked for; a rough one tells where a root is."""
        key = kind, number, rough
        if key not in self._rungs:
            goal = Goal(
                kind, self._threshold(number), self._threshold(number + 1), _FINE_OVERLAP if kind == "overlap" else FINE
            )
            made = prepare(self.parts, goal, self.spread) if rough else refined(self.rung(kind, number, rough=True))
            _keep(self._rungs, key, made, _MOST_KEPT)
        return self._rungs[key]

    def _read(self, kind: Kind, t: Array, *, rough: bool) -> Ends:
        """Ends of one kind of reading at every t, rung by rung."""
        numbers = np.array([self._number(x) for x in t.tolist()], dtype=int)
        lower, upper = np.empty(t.size), np.empty(t.size)
        for number in np.unique(numbers):
            mine = numbers == number
            lower[mine], upper[mine] = self.rung(kind, int(number), rough=rough).ends(t[mine])
        return Ends(lower, upper)

    # --- delta

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._delta(direction, epsilon)

    def _delta(self, direction: Direction, epsilon: Array, *, rough: bool = False) -> Ends:
        if direction == "both":
            one, other = (self._delta(way, epsilon, rough=rough) for way in _DIRECTIONS)
            return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        t = epsilon if direction == "forward" else -epsilon
        direct = (t >= self.middle) if direction == "forward" else (t < self.middle)
        for mine, read in ((direct, self._direct), (~direct, self._indirect)):
            if mine.any():
                lower[mine], upper[mine] = read(direction, epsilon[mine], rough=rough)
        return Ends(lower, upper)

    def _direct(self, direction: Direction, epsilon: Array, number: int | None = None, *, rough: bool) -> Ends:
        kind: Kind = "delta" if direction == "forward" else "reverse"
        t = epsilon if direction == "forward" else -epsilon
        ends = self._read(kind, t, rough=rough) if number is None else self._on(kind, number, t, rough=rough)
        least, greatest = self.total.support
        top = greatest if direction == "forward" else -least
        beyond = epsilon >= top + 4 * _ROUNDING * (abs(top) + self.spread)  # delta is 0 there
        upper = np.where(beyond, 0.0, np.minimum(ends.upper, 1.0))
        return Ends(np.minimum(ends.lower, upper), upper)

    def _on(self, kind: Kind, number: int, t: Array, *, rough: bool) -> Ends:
        return Ends(*self.rung(kind, number, rough=rough).ends(t))

    def _indirect(self, direction: Direction, epsilon: Array, number: int | None = None, *, rough: bool) -> Ends:
        """delta(eps) = 1 - e^eps + e^eps delta'(-eps), with no cancellation while e^eps is small."""
        ends = self._direct("backward" if direction == "forward" else "forward", -epsilon, number, rough=rough)
        with np.errstate(over="ignore", invalid="ignore"):
            base, growth = -np.expm1(epsilon), np.exp(epsilon)
            lower = np.clip(base + growth * ends.lower - _ROUNDING * (1 + growth), np.maximum(base, 0.0), 1.0)
            upper = np.clip(base + growth * ends.upper + _ROUNDING * (1 + growth), 0.0, 1.0)
        return Ends(lower * (1 - _ROUNDING), upper)

    # --- epsilon

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._epsilon(direction, delta)

    def _epsilon(self, direction: Direction, delta: Array) -> Ends:
        if direction == "both":
            one, other = (self._epsilon(way, delta) for way in _DIRECTIONS)
            return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
        ends = [self._root(direction, target) for target in delta.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    def _root(self, direction: Direction, target: float) -> tuple[float, float]:
        least, greatest = self.total.support
        top = greatest if direction == "forward" else -least
        if target == 0:
            return max(0.0, top * (1 - 4 * _ROUNDING)), top * (1 + 4 * _ROUNDING)
        if target >= 1:
            return 0.0, 0.0
        at_zero = self._delta(direction, np.zeros(1), rough=True)
        if at_zero.lower[0] <= target <= at_zero.upper[0]:
            at_zero = self._delta(direction, np.zeros(1))
        if at_zero.upper[0] <= target:
            return 0.0, 0.0
        number = self._rung_of_root(direction, target)
        lower = 0.0 if at_zero.lower[0] < target else self._end(direction, target, number, -1)
        return lower, min(self._end(direction, target, number, 1), max(top, 0.0) * (1 + 4 * _ROUNDING))

    def _on_rung(self, direction: Direction, number: int, epsilon: Array, *, rough: bool) -> Ends:
        """Delta read on one rung; rungs from 0 on lie right of the middle."""
        right = number >= 0
        direct = right if direction == "forward" else not right
        return (self._direct if direct else self._indirect)(direction, epsilon, number, rough=rough)

    def _interval(self, direction: Direction, number: int) -> tuple[float, float]:
        """The eps of a rung, from 0 on."""
        ends = self._threshold(number), self._threshold(number + 1)
        low, high = ends if direction == "forward" else (-ends[1], -ends[0])
        return max(low, 0.0), max(high, 0.0)

    def _rung_of_root(self, direction: Direction, target: float) -> int:
        """The number of the rung on which delta passes the target, by bisection with rough rungs."""
        step = 1 if direction == "forward" else -1

        def passed(number: int) -> bool:
            """Whether delta is below the target at the far end of the rung."""
            end = self._interval(direction, number)[1]
            ends = self._on_rung(direction, number, np.array([end]), rough=True)
            return bool(math.sqrt(float(max(ends.lower[0], 0.25 * ends.upper[0]) * ends.upper[0])) <= target)

        number = first = self._number(0.0)
        if direction == "backward" and self._threshold(first) == 0.0:
            number = first = first - 1
        stride = 1
        while not passed(number) and -_MOST_RUNGS < number < _MOST_RUNGS - 1:
            first, number = number, max(-_MOST_RUNGS, min(_MOST_RUNGS - 1, number + step * stride))
            stride = min(2 * stride, _LONGEST_STRIDE)
        low, high = first, number
        while abs(high - low) > 1:
            half = (low + high) // 2
            low, high = (low, half) if passed(half) else (half, high)
        return low if low == high or passed(low) else high

    def _end(self, direction: Direction, target: float, number: int, side: int) -> float:
        """The least eps seen with delta's upper end below the target, or the greatest with its lower end above."""
        step = 1 if direction == "forward" else -1
        for _ in range(_MOST_MOVES):
            if not -_MOST_RUNGS <= number < _MOST_RUNGS:
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
                return self._narrowed(read, target, low, high, side)
        return math.inf if side > 0 else self._surely_before(direction, target, number)

    def _surely_before(self, direction: Direction, target: float, number: int) -> float:
        """An eps with delta's lower end above the target where the root itself is too near the end of the support."""
        step, stride = (1 if direction == "forward" else -1), 1
        while -_MOST_RUNGS <= number < _MOST_RUNGS:
            low = self._interval(direction, number)[0]
            if low == 0:
                break
            if self._on_rung(direction, number, np.array([low]), rough=True).lower[0] >= target:
                return low
            number, stride = number - step * stride, min(2 * stride, _LONGEST_STRIDE)
        return 0.0

    @staticmethod
    def _narrowed(read: Callable[[Array], Ends], target: float, low: float, high: float, side: int) -> float:
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

    # --- f

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._tradeoff(direction, alpha)

    def _tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        if direction == "both":
            return self._symmetrised(alpha)
        most = np.nextafter(1 - alpha, 2.0)  # 1 - alpha itself may have been rounded down
        ends = [(1 - a, 1 - a) if a in (0.0, 1.0) else self._miss(direction, a)[1:] for a in alpha.tolist()]
        lower, upper = (np.array([end[side] for end in ends]) for side in (0, 1))
        return Ends(np.clip(lower, 0.0, 1 - alpha), np.clip(upper, 0.0, most))

    def _miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the test with type I error alpha, and ends of its type II error."""
        kind: Kind = "overlap" if alpha <= 0.5 else ("reverse" if direction == "forward" else "delta")
        number = self._rung_of_test(direction, kind, alpha)
        for move in (0, 1, -1, 2, -2):
            rung = self.rung(kind, number + move)
            rest, bottom = _rest(rung, direction, alpha)
            found = self._polygon(direction, kind, number + move).maximum(rest)
            if found is not None:
                t = math.log(found[0]) if direction == "forward" else -math.log(found[0])
                lower = max(self._line(direction, kind, rung, t + d * rung.slack, alpha) for d in (-2, 0, 2))
                return t, lower, math.exp(rung.slack) * found[1] + bottom
        return math.nan, 0.0, 1 - alpha

    def _polygon(self, direction: Direction, kind: Kind, number: int, *, rough: bool = False) -> Polygon:
        key = direction, kind, number, rough
        if key not in self._polygons:
            _keep(self._polygons, key, _polygon(self.rung(kind, number, rough=rough), direction), _MOST_KEPT // 2)
        return self._polygons[key]

    @staticmethod
    def _line(direction: Direction, kind: Kind, rung: Rung, t: float, alpha: float) -> float:
        """The line that supports f at the slope of t, at alpha: below f for every t; at least 0.

        overlap(t) - e^t alpha; for alpha near 1 e^t (1 - alpha - reverse(t)). Backward, the mirror images.
        """
        lower, upper = (float(end[0]) for end in rung.ends(np.array([t])))
        growth = math.exp(t)
        if kind == "overlap":
            line = lower - (growth if direction == "forward" else 1.0) * alpha * (1 + _ROUNDING)
            return max(line * (1 - _ROUNDING) / (1.0 if direction == "forward" else growth), 0.0)
        line = (1 - alpha) * (1 - _ROUNDING) - upper
        return max(line * (1 - _ROUNDING) * (growth if direction == "forward" else 1 / growth), 0.0)

    def _rung_of_test(self, direction: Direction, kind: Kind, alpha: float) -> int:
        """The number of the rung on which the type I error passes alpha, by bisection with rough rungs."""

        def slope(number: int) -> float:
            """The slope of the polygon at the start of the rung: positive left of the maximum in e^t."""
            polygon = self._polygon(direction, kind, number, rough=True)
            start = self._threshold(number) * (1 if direction == "forward" else -1)
            at = min(int(np.searchsorted(polygon.z, math.exp(start))), polygon.z.size - 1)
            middle = 0.5 * float(polygon.slope_low[at] + polygon.slope_high[at])
            middle -= _rest(self.rung(kind, number, rough=True), direction, alpha)[0]
            return middle if direction == "forward" else -middle

        low, high, stride = -1, 1, 1
        while slope(low) < 0 and low > -_MOST_RUNGS:
            low, stride = max(low - stride, -_MOST_RUNGS), min(2 * stride, _LONGEST_STRIDE)
        stride = 1
        while slope(high) > 0 and high < _MOST_RUNGS - 1:
            high, stride = min(high + stride, _MOST_RUNGS - 1), min(2 * stride, _LONGEST_STRIDE)
        while high - low > 1:
            half = (low + high) // 2
            low, high = (half, high) if slope(half) > 0 else (low, half)
        return low

    # --- both directions at once

    def bridge(self) -> tuple[float, float]:
        """Two errors, in order, that a test at threshold 0 reaches in one direction: where the slope of f is -1."""
        rung = self.rung("overlap", self._number(0.0))
        index = rung.low.window.place(np.zeros(1))[0]
        alpha = min(max(float(rung.low.side_ends(index)[1][0]), 1e-300), 1.0)
        beta = float(self._tradeoff("forward", np.array([alpha])).upper[0])
        return min(alpha, beta), max(alpha, beta)

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by supporting lines, above by both curves and the chord of slope -1 between them."""
        one, other = (self._tradeoff(way, alpha) for way in _DIRECTIONS)
        corner = self.bridge()
        bridge = np.where((alpha >= corner[0]) & (alpha <= corner[1]), math.fsum(corner) * (1 + _ROUNDING) - alpha, 1.0)
        upper = np.minimum(np.minimum(one.upper, other.upper), bridge)
        lower = np.array([1 - a if a in (0.0, 1.0) else self._supported(a) for a in alpha.tolist()])
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def _supported(self, alpha: float) -> float:
        """The highest of some lines below both directions, at alpha."""
        slopes = {0.0, self._miss("forward", alpha)[0], -self._miss("backward", alpha)[0]}
        return max(0.0, *(self._common_line(alpha, t) for t in slopes if math.isfinite(t)))

    def _common_line(self, alpha: float, t: float) -> float:
        """The line of slope -e^t that supports the symmetrised curve from below, at alpha: valid for every t.

        With s = |t| and w = 1 - delta for delta that of both directions, w(s) = min{overlap(s), e^s overlap(-s)}, it is
        w(s) - e^s alpha for t >= 0 and, the curve being symmetric, e^-s (w(s) - alpha) for t < 0. For alpha near 1
        w(s) - alpha is 1 - alpha - delta(s).
        """
        s = abs(t)
        growth = math.exp(min(s, 700.0))
        if t < 0 and alpha > 0.5:
            delta = float(self._delta("both", np.array([s])).upper[0])
            return ((1 - alpha) * (1 - _ROUNDING) - delta * (1 + _ROUNDING)) / growth * (1 - 4 * _ROUNDING)
        there, back = self._read("overlap", np.array([s, -s]), rough=False).lower
        common = min(float(there), growth * float(back)) * (1 - 4 * _ROUNDING)
        if t >= 0:
            return common - growth * alpha * (1 + 4 * _ROUNDING)
        return (common - alpha) / growth * (1 - 4 * _ROUNDING)


def _rest(rung: Rung, direction: Direction, alpha: float) -> tuple[float, float]:
    """The slope that is taken from the polygon, and what is added to its maximum: alpha less what is outside.

    Near alpha = 1 the polygon falls and 1 - alpha is added to its slope.
    """
    taken, bottom = rung.outside(direction)
    if rung.goal.kind == "overlap":
        return (alpha - taken) * (1.0 if direction == "forward" else 1 - 2 * rung.slack), bottom
    return -(1 - alpha - taken) * (1.0 if direction == "forward" else 1 + 2 * rung.slack), bottom


def _polygon(rung: Rung, direction: Direction) -> Polygon:
    """Forward, in z = e^t: overlap or -z reverse. Backward, in z = e^-t: z overlap or -z delta. All of the lowered law.

    Their slopes are its tails P[T > t], -P[T <= t], Q[T < t] and -Q[T >= t].
    """
    low, overlap = rung.low, rung.goal.kind == "overlap"
    index = np.arange(1, low.window.size - 1, dtype=np.int64)
    value = low.at_points(index)
    z = np.exp(low.points[index])
    if direction == "forward":
        if overlap:
            return Polygon(z, value[1], *low.side_ends(index))
        tail = low.side_ends(index + 1)
        return Polygon(z, -z * value[0], -tail[1], -tail[0])
    z, order = 1 / z, slice(None, None, -1)
    if overlap:
        columns = z, z * value[1], *low.side_ends(index - 1, other=True)
    else:
        tail = low.power_ends(index - 1)
        columns = z, -z * value[0], -tail[1], -tail[0]
    return Polygon(*(column[order] for column in columns))
