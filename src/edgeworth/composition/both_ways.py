"""From ends in each direction to ends in both: the larger profile, and the hull of the lower curve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.work import WorkSpent, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.losses.law import Array

__all__ = ["BothWays", "PerhapsSymmetric", "one_by_one"]

_ROUNDING = 1e-15
_NARROW = 1e-6  # a relative width that needs no chord
_SECTIONS = 40
_CROSSED = 1e-12  # of the distance between two slopes
_LEAST = 1e-300
_MOST_KEPT = 200
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


class BothWays(ABC):
    """Answers that are given in one direction at a time."""

    @abstractmethod
    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""

    @abstractmethod
    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""

    @abstractmethod
    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta in one direction, by a reading that takes little time."""

    @abstractmethod
    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the test with type I error 0 < alpha < 1 in one direction, and ends of its type II error."""

    @abstractmethod
    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""

    @abstractmethod
    def touching(self, direction: Direction, t: float) -> list[float]:
        """Type I errors of tests near t in one direction: where a line of slope -e^t touches f, roughly."""

    @abstractmethod
    def bridge(self) -> tuple[float, float]:
        """Two errors, in order, that a test at threshold 0 reaches in one direction: where the slope of f is -1."""

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._profiles(direction, epsilon)

    def _profiles(self, direction: Direction, epsilon: Array) -> Ends:
        """The same, asked by another reading."""
        if direction == "both":
            return _larger(*(self.profile(way, epsilon) for way in _DIRECTIONS))
        return self.profile(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        roots = self._larger_root if direction == "both" else partial(self.root, direction)
        return one_by_one(delta, roots, (0.0, math.inf))

    def _larger_root(self, delta: float) -> tuple[float, float]:
        """The larger eps of both directions; the other one is not asked for where it is surely smaller."""
        lower, upper = self.root("forward", delta)
        if self.surely_reached("backward", lower, delta):
            return lower, upper
        other = self.root("backward", delta)
        return max(lower, other[0]), max(upper, other[1])

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        if direction == "both":
            return self._symmetrised(alpha)
        most = np.nextafter(1 - alpha, 2.0)  # 1 - alpha itself may have been rounded down

        def miss(a: float) -> tuple[float, float]:
            return (1 - a, 1 - a) if a in (0.0, 1.0) else self._miss(direction, a)[1:]

        lower, upper = one_by_one(alpha, miss, (0.0, 1.0))
        return Ends(np.clip(lower, 0.0, 1 - alpha), np.clip(upper, 0.0, most))

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by supporting lines, above by both curves and by chords between them."""

        def hull(a: float) -> tuple[float, float]:
            """After both tests at this alpha, which it asks for again."""
            one, other = (self.tradeoff(way, np.array([a])) for way in _DIRECTIONS)
            top = min(float(one.upper[0]), float(other.upper[0]))
            if a in (0.0, 1.0):
                return 1 - a, top
            try:
                return self._hull(a, top)
            except WorkSpent:
                return 0.0, top

        lower, upper = one_by_one(alpha, hull, (0.0, 1.0))
        upper = np.minimum(upper, np.nextafter(1 - alpha, 2.0))
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def _hull(self, alpha: float, upper: float) -> tuple[float, float]:
        """The highest of some lines below both directions, at alpha, and the lowest of some chords between them.

        Where the best slopes of the two directions differ, that of the hull is between them, and the hull is the chord
        of the two points in which its line touches both.
        """
        slopes = sorted([self._miss("forward", alpha)[0], -self._miss("backward", alpha)[0]])
        tried = [t for t in slopes if math.isfinite(t)] or [0.0]
        lower = max(0.0, *(self._common_line(alpha, t) for t in tried))
        if upper - lower <= _NARROW * upper or len(tried) < 2:
            return lower, upper
        with suppress(WorkSpent):
            best = 0.0 if slopes[0] < 0 < slopes[1] else self._crossing(*slopes)
            lower = max(lower, self._common_line(alpha, best))
            points = [
                [(a, float(self.tradeoff(way, np.array([a])).upper[0])) for a in self.touching(way, best)]
                for way in _DIRECTIONS
            ]
            upper = min([upper, *(_chord(one, other, alpha) for one in points[0] for other in points[1])])
        return lower, upper

    def _crossing(self, low: float, high: float) -> float:
        """Between the best slopes of both directions one line rises and the other falls: where they are the same.

        There the profiles at |t| are the same, as they are at 0.
        """
        from scipy.optimize import brentq  # noqa: PLC0415 - heavy, and few readings need it

        def excess(t: float) -> float:
            """The logarithm of how many times the profile forward is that backward."""
            one, other = (float(self.profile(way, np.array([abs(t)])).upper[0]) for way in _DIRECTIONS)
            return math.log(max(one, _LEAST) / max(other, _LEAST))

        at_low = excess(low)
        if at_low * excess(high) >= 0:
            return low if at_low == 0 else high
        return float(brentq(excess, low, high, xtol=_CROSSED * (high - low), maxiter=_SECTIONS, disp=False))

    def _miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The same as `miss`, with the last few remembered: both directions ask for them again."""
        kept: dict[tuple[Direction, float], tuple[float, float, float]] = self.__dict__.setdefault("_missed", {})
        if (direction, alpha) not in kept:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            kept[direction, alpha] = self.miss(direction, alpha)
        return kept[direction, alpha]

    def _common_line(self, alpha: float, t: float) -> float:
        """The line of slope -e^t that supports the symmetrised curve from below, at alpha: valid for every t.

        With s = |t|, delta that of both directions and w = 1 - delta, w(s) = min{overlap(s), e^s overlap(-s)}, it is
        w(s) - e^s alpha for t >= 0 and, the curve being symmetric, e^-s (w(s) - alpha) for t < 0. Where delta is not
        near 1 the first is 1 - (delta + e^s alpha), and for alpha near 1 the second is e^-s (1 - alpha - delta).
        """
        s = abs(t)
        growth = math.exp(min(s, 700.0))
        delta = float(self._profiles("both", np.array([s])).upper[0])
        if t < 0 and alpha > 0.5:
            return ((1 - alpha) * (1 - _ROUNDING) - delta * (1 + _ROUNDING)) / growth * (1 - 4 * _ROUNDING)
        if t >= 0 and delta < 0.5:
            return 1 - (delta + growth * alpha) * (1 + 4 * _ROUNDING) - _ROUNDING
        there, back = self.overlap(np.array([s, -s]))
        common = min(float(there), growth * float(back)) * (1 - 4 * _ROUNDING)
        if t >= 0:
            return common - growth * alpha * (1 + 4 * _ROUNDING)
        return (common - alpha) / growth * (1 - 4 * _ROUNDING)


class PerhapsSymmetric(BothWays):
    """The same where both directions may be known to be one: then it is read once."""

    _symmetric: bool

    def _meant(self, direction: Direction) -> Direction:
        return "forward" if direction == "both" and self._symmetric else direction

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return super().delta(self._meant(direction), epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return super().epsilon(self._meant(direction), delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return super().tradeoff(self._meant(direction), alpha)


def one_by_one(arguments: Array, ask: Callable[[float], tuple[float, float]], anyway: tuple[float, float]) -> Ends:
    """The ends at every argument: of the least and of the largest first, and then of those between.

    Once the reading has taken what it may, the others are left at what holds anyway: a monotone function is enclosed
    by its values on either side.
    """
    if arguments.size == 1:
        low, high = ask(arguments.item())
        return Ends(np.array([low]), np.array([high]))
    lower, upper = (np.full(arguments.size, end) for end in anyway)
    order = np.argsort(arguments, kind="stable")[_outermost_first(arguments.size)].tolist()
    for k in order[:1]:
        lower[k], upper[k] = ask(float(arguments[k]))
    with suppress(WorkSpent):
        for k in order[1:]:
            if is_spent():
                break
            lower[k], upper[k] = ask(float(arguments[k]))
    return Ends(lower, upper)


def _outermost_first(size: int) -> list[int]:
    """Both ends of a row, and then the middles of what is between, over and over.

    >>> _outermost_first(6)
    [0, 5, 2, 1, 3, 4]
    """
    order, gaps = list(range(size))[:: max(size - 1, 1)], [(0, size - 1)]
    for low, high in gaps:
        if high - low > 1:
            order.append(middle := (low + high) // 2)
            gaps += [(low, middle), (middle, high)]
    return order


def _chord(one: tuple[float, float], other: tuple[float, float], alpha: float) -> float:
    """The chord between two points above the hull, at alpha; 1 where alpha is not between them."""
    (x1, y1), (x2, y2) = sorted([one, other])
    if not x1 < alpha < x2:
        return 1.0
    share = (alpha - x1) / (x2 - x1)
    return (y1 + share * (y2 - y1)) + 8 * _ROUNDING * (y1 + y2)


def _larger(one: Ends, other: Ends) -> Ends:
    return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
