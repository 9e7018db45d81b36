"""Certified ends of delta, epsilon and f of a law on a lattice, from Fourier sums at a ladder of tilts.

Between lattice points delta is linear in e^eps and f is linear, so every reading is a formula of readings at points. A
root finder's word is never taken: the point it names is checked with the ends of what is read there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import OPPOSITE, Ends
from edgeworth.composition.both_ways import PerhapsSymmetric
from edgeworth.composition.fourier.tails import LEAST, Tails
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.fourier.lattice_sum import LatticeSum
    from edgeworth.losses.law import Array

__all__ = ["FourierAnswers"]

_ROUNDING = 2.0**-50
_MOST_SEARCH = 200
_LONGEST_STRIDE = 2**60
_LARGEST_EXPONENT = 700.0
_LARGE, _FINE = 0.9, 1e-10  # a delta from which on 1 less it may have more digits, and a width that is narrow enough


class OneWay:
    """Readings of T(P, Q), from the tails of the law and of its mirror image."""

    def __init__(self, tails: Tails, mirror: Tails) -> None:
        self.tails, self.mirror, self.law = tails, mirror, tails.law

    def _loss(self, m: int) -> float:
        return self.law.place(m)

    # --- at points

    def rejected(self, m: int) -> tuple[float, float]:
        """P[T >= T_m]."""
        return _complement(self.accepted(m)) if self.tails.far_left(0.0, m) else self.tails.read("alpha", m)

    def accepted(self, m: int) -> tuple[float, float]:
        """P[T < T_m], a power of the mirrored law."""
        return (
            _complement(self.tails.read("alpha", m))
            if self.mirror.far_left(1.0, 1 - m)
            else self.mirror.read("power", 1 - m)
        )

    def missed(self, m: int) -> tuple[float, float]:
        """Q[T < T_m], a type I error of the mirrored law."""
        if self.mirror.far_left(0.0, 1 - m):
            return _complement(self.tails.read("power", m))
        return self.mirror.read("alpha", 1 - m)

    def weighted(self, m: int) -> tuple[float, float]:
        """e^(T_m) P[T >= T_m], which is at most 1 for T_m >= 0 and e^(T_m) below."""
        if (top := self._near_the_top(m, slope=True)) is not None:
            return top
        if not self.tails.far_left(0.0, m):
            return self.tails.read("weighted", m)
        growth = math.exp(self._loss(m))
        low, high = self.rejected(m)
        return low * growth * (1 - 4 * _ROUNDING), high * growth * (1 + 4 * _ROUNDING)

    def profile(self, m: int) -> tuple[float, float]:
        """delta(T_m): directly, or by 1 - delta where nearly all of Q lies beyond, or most of it and digits are few."""
        if (top := self._near_the_top(m, slope=False)) is not None:
            return top
        if self.tails.far_left(1.0, m):
            return self._one_less(m)
        low, high = self.tails.read("delta", m)
        if low < _LARGE or high - low <= _FINE:
            return low, high
        less, more = self._one_less(m)
        return max(low, less), min(high, more)

    def _one_less(self, m: int) -> tuple[float, float]:
        """delta(T_m) as 1 - Q[T <= T_m] - e^(T_m) P[T > T_m]: of little to the left its errors are little, too."""
        miss, beyond = self.missed(m + 1), self.weighted(m + 1)
        shrink = math.exp(-self.law.step)
        low, high = (1 - miss[side] - shrink * beyond[side] for side in (1, 0))
        return max(low - 4 * _ROUNDING, 0.0), min(high + 4 * _ROUNDING, 1.0)

    def _near_the_top(self, m: int, *, slope: bool) -> tuple[float, float] | None:
        """The same of either from the last atoms, where these are known one by one; exactly 0 beyond them."""
        if self.law.points is None or self.law.top is None:
            return None
        below = self.law.points.number - m
        return (0.0, 0.0) if below < 0 else self.law.top.read(below, slope=slope)

    # --- between them

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Ends of the profile at eps, from the first point T_m beyond it.

        It is the profile at T_m and (1 - e^(eps - T_m)) times e^(T_m) P[T >= T_m].
        """
        if self._is_past(epsilon):
            return 0.0, 0.0
        if epsilon < min(0.0, self.law.support[0] - self.law.doubt(epsilon)):
            return -math.expm1(epsilon) * (1 - _ROUNDING), min(-math.expm1(epsilon) * (1 + _ROUNDING), 1.0)
        m, distance = self.law.first_past(epsilon)
        at, slope = self.profile(m), self.weighted(m)
        share, slack = -math.expm1(-distance), self._slack(m, epsilon, slope[1])
        low, high = ((at[side] + share * slope[side]) for side in (0, 1))
        return max(low * (1 - 4 * _ROUNDING) - slack, 0.0), min(max(high * (1 + 4 * _ROUNDING) + slack, LEAST), 1.0)

    def overlap(self, t: float) -> tuple[float, float]:
        """1 - delta(t) = Q[T < T_m] + e^t P[T >= T_m], T_m the first point beyond t: both terms may be small."""
        if self._is_past(t):
            return 1 - _ROUNDING, 1.0
        m, distance = self.law.first_past(t)
        miss, slope = self.missed(m), self.weighted(m)
        shrink, slack = math.exp(-distance), self._slack(m, t, slope[1])
        low, high = (miss[side] + shrink * slope[side] for side in (0, 1))
        return max(low * (1 - 4 * _ROUNDING) - slack, 0.0), high * (1 + 4 * _ROUNDING) + slack

    def _is_past(self, t: float) -> bool:
        """Whether no loss is larger than t."""
        if self.law.points is not None and self.law.points.is_last:
            return bool(self.law.points.anchor <= t)
        return t >= self.law.support[1] + self.law.doubt(t)

    def _slack(self, m: int, t: float, slope: float) -> float:
        """What rounding of T_m does to a profile of slope at most w = e^(T_m) P[T >= T_m].

        The threshold t may belong to the cell before. Rational points are not rounded.
        """
        if self.law.points is not None:
            return 0.0
        doubt = self.law.doubt(t)
        if t - self._loss(m - 1) < 2 * doubt:
            slope = max(slope, self.weighted(m - 1)[1])
        return doubt * slope

    def epsilon(self, target: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= target."""
        top = self.law.support[1]
        if target == 0:
            return top * (1 - _ROUNDING), top * (1 + _ROUNDING)
        at_zero = self.delta(0.0)
        if target >= 1 or at_zero[1] <= target:
            return 0.0, 0.0
        m = self._crossing(target)
        upper = self._solved(m, target, 1)
        lower = 0.0 if at_zero[0] <= target else self._solved(m, target, 0)
        return max(min(lower, upper), 0.0), max(upper, 0.0)

    def _crossing(self, target: float) -> int:
        """The first point m >= 0 at which delta(T_m) has come down to the target, or one next to it."""
        start = max(self.law.point(0.0), self.law.point(self.tails.place_of(1.0, target)))
        return first_point(self._log_profile, math.log(target), start, self._stride)

    @property
    def _stride(self) -> int:
        return max(1, int(0.02 * self.tails.spread[1.0] / self.law.step))

    def _log_profile(self, m: int) -> float:
        return _log_middle(self.profile(m))

    def _solved(self, m: int, target: float, side: int) -> float:
        """An end of eps in the cell before T_m, or in a neighbouring one where rounding has it there.

        With d = delta(T_m) and w = e^(T_m) P[T >= T_m], delta(eps) = d + (1 - e^(eps - T_m)) w on the cell, and no less
        elsewhere, for the profile is convex in e^eps: with lower ends every cell gives a lower end of eps.
        """
        for _ in range(_MOST_SEARCH):
            at, slope, place = self.profile(m)[side], self.weighted(m)[side], self._loss(m)
            share = (target - at) / slope if slope > 0 else math.inf
            if side == 1 and at > target and place < self.law.support[1]:
                m += 1
            elif side == 0 and not share < -math.expm1(-self.law.step * (1 + 1e-9)):
                m -= 1
            else:
                inside = math.log1p(-share) if share < 1 else -math.inf
                inside = max(min(inside, 0.0), -self.law.step) if side == 1 else min(inside, 0.0)
                doubt = 2 * self.law.doubt(place) + 4 * _ROUNDING * self.law.step
                return place + inside + (doubt if side == 1 else -doubt)
        raise ComputationFailed("no lattice point was found at which the profile passes delta")

    # --- f

    def tradeoff(self, alpha: float) -> tuple[float, float, float]:
        """Ends of f(alpha), and the loss T_m at which alpha is passed: minus the slope of f is e^(T_m)."""
        m = self._test(alpha)
        place = self._loss(m)
        return self._below(alpha, m), self._above(alpha, m), place

    def _type_one(self, m: int, *, small: bool) -> tuple[float, float]:
        """P[T >= T_m], or that less 1, whichever keeps its digits."""
        if small:
            return self.rejected(m)
        low, high = self.accepted(m)
        return -high, -low

    def _below(self, alpha: float, m: int) -> float:
        """The segment of f at T_m, of slope -e^(T_m), is below f wherever it is extended to."""
        place, small = self._loss(m), alpha < 0.5
        gap = self._type_one(m, small=small)[0] - (alpha if small else alpha - 1)
        if place > _LARGEST_EXPONENT and gap < 0:
            return 0.0
        growth = math.exp(min(place, _LARGEST_EXPONENT))
        slack = 4 * growth * (_ROUNDING + self.law.doubt(place)) * (abs(gap) + (alpha if small else 1 - alpha))
        return max(self.missed(m)[0] + growth * gap - slack, 0.0)

    def _above(self, alpha: float, m: int) -> float:
        """The chord between two points above f, the left one surely not right of alpha."""
        small, at = alpha < 0.5, (alpha if alpha < 0.5 else alpha - 1)
        right, left = self._type_one(m, small=small)[1], m + 1
        for _ in range(_MOST_SEARCH):
            start = self._type_one(left, small=small)[1]
            if start <= at:
                chord = _chord((start, right), (self.missed(left)[1], self.missed(m)[1]), at)
                return max(min(chord * (1 + 4 * _ROUNDING), 1.0), LEAST)
            left += 1
        return 1.0

    def _test(self, alpha: float) -> int:
        """The point m with P[T > T_m] <= alpha <= P[T >= T_m], or one next to it."""
        if alpha < 0.5:
            start = self.law.point(self.tails.place_of(0.0, alpha))
            return first_point(lambda m: _log_middle(self.rejected(m)), math.log(alpha), start, self._stride) - 1
        start = self.mirror.law.point(self.mirror.place_of(1.0, 1 - alpha))
        return -first_point(lambda m: _log_middle(self.accepted(-m)), math.log(1 - alpha), start, self._stride)


class FourierAnswers(PerhapsSymmetric):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, law: LatticeSum, *, symmetric: bool) -> None:
        """`symmetric`: whether both directions are known to be the same."""
        self._symmetric = symmetric
        forward, mirror = Tails(law), Tails(law.mirror)
        self._ways: dict[Direction, OneWay] = {"forward": OneWay(forward, mirror), "backward": OneWay(mirror, forward)}

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        ends = [self._delta(direction, x) for x in epsilon.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    def _delta(self, direction: Direction, epsilon: float) -> tuple[float, float]:
        way = self._ways[direction]
        if epsilon >= 0 or epsilon >= 0.5 * (way.tails.mean[0.0] + way.tails.mean[1.0]):
            return way.delta(epsilon)
        # delta(eps) = 1 - e^eps + e^eps delta'(-eps): no cancellation while e^eps is small
        low, high = self._ways[OPPOSITE[direction]].delta(-epsilon)
        base, growth = -math.expm1(epsilon), math.exp(epsilon)
        return (base + growth * low) * (1 - 4 * _ROUNDING), min((base + growth * high) * (1 + 4 * _ROUNDING), 1.0)

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""
        return self._ways[direction].epsilon(delta)

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta in one direction."""
        return self._delta(direction, epsilon)[1] <= delta

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the test with type I error alpha in one direction, and ends of its type II error."""
        lower, upper, place = self._ways[direction].tradeoff(alpha)
        return (place if direction == "forward" else -place), lower, upper

    def overlap(self, t: Array) -> Array:
        """At most E_P[min(e^T, e^t)] = Q[T <= t] + e^t P[T > t]."""
        return np.array([self._ways["forward"].overlap(x)[0] for x in t.tolist()])

    def touching(self, direction: Direction, t: float) -> list[float]:
        """Type I errors of the tests on both sides of the point at t in one direction."""
        way = self._ways[direction]
        m = way.law.point(t)
        return [way.rejected(m)[1], way.rejected(m + 1)[1]]

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order."""
        way = self._ways["forward"]
        m = way.law.point(0.0) + 1
        least, greatest = sorted((way.rejected(m)[1], way.missed(m)[1]))
        return least, greatest


def first_point(log_value: Callable[[int], float], wanted: float, start: int, stride: int) -> int:
    """The first point at which a falling function is at or below `wanted`: out from a guess, then by secants."""
    value = {start: log_value(start)}
    low = high = start
    while value[high] > wanted and stride < _LONGEST_STRIDE:
        low, high, stride = high, high + stride, 4 * stride
        value[high] = log_value(high)
    while value[low] <= wanted and stride < _LONGEST_STRIDE:
        low, high, stride = low - stride, low, 4 * stride
        value[low] = log_value(low)
    for step in range(_MOST_SEARCH):
        if high - low <= 1:
            break
        fall = value[low] - value[high]
        share = (value[low] - wanted) / fall if 0 < fall < math.inf and step % 3 < 2 else 0.5
        middle = min(max(low + round((high - low) * share), low + 1), high - 1)
        value[middle] = log_value(middle)
        low, high = (middle, high) if value[middle] > wanted else (low, middle)
    return high


def _log_middle(ends: tuple[float, float]) -> float:
    middle = 0.5 * (ends[0] + ends[1])
    return math.log(middle) if middle > 0 else -math.inf


def _complement(ends: tuple[float, float]) -> tuple[float, float]:
    return max(1 - ends[1] - _ROUNDING, 0.0), min(1 - ends[0] + _ROUNDING, 1.0)


def _chord(x: tuple[float, float], y: tuple[float, float], at: float) -> float:
    """The line through two points at a place between them, or at the nearer one."""
    if not x[1] > x[0]:
        return max(y)
    at, length = min(max(at, x[0]), x[1]), x[1] - x[0]
    return (x[1] - at) / length * y[0] + (at - x[0]) / length * y[1]  # both weights with their own digits
