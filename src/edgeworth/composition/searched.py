"""Ends of epsilon and f from ends of three profiles alone: for engines that read nothing else of a law.

Both are found by search and then verified: an end of epsilon is an epsilon at which the matching end of delta lies on
the right side of the target, and f is the maximum of a concave function, which values at some places enclose.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import PerhapsSymmetric
from edgeworth.composition.concave import greatest
from edgeworth.composition.work import WorkSpent, is_spent
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses.law import Array

__all__ = ["Places", "Proved", "SearchedAnswers"]

_ROUNDING = 1e-15
_MOST_STEPS, _MOST_WIDENINGS = 40, 12
_GRID, _ROUNDS = 9, 14  # places tried at a time in the search for a maximum: 4^-14 of the first interval is left
_ENOUGH = 1e-11  # relative: a maximum that is known to this is searched no more
_NO_GAIN, _MOST_IDLE = 0.99, 3  # of what is open, after a round that was of no use; and how many of these in a row
_SMALL = 0.5  # an f below it is a difference of overlaps, and a delta above it 1 less an overlap
_NARROW = 1e-8  # a delta that is known to this is asked for once
_NARROW_TEST = 1e-7  # an f that is known to this is not sought in another way
_LARGEST_EXPONENT = 700.0
_STEP = 1e-3


class Places(Protocol):
    """Where readings surely are, roughly: what a search begins with."""

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta in one direction, by a reading that takes little time."""

    def between(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds of T, in order, between which that of the test of type I error 0 < alpha < 1 is."""


class Proved:
    """Ends of an eps by all that was read on the way to it: what is broken off keeps them."""

    def __init__(self, delta: float, known: tuple[float, float]) -> None:
        self.delta = delta
        self.lower, self.upper = known

    def note(self, epsilon: float, low: float, high: float) -> None:
        """Take the ends of delta at an eps."""
        if low >= self.delta:
            self.lower = max(self.lower, epsilon)
        if high <= self.delta:
            self.upper = min(self.upper, epsilon)

    @property
    def ends(self) -> tuple[float, float]:
        """In order, whatever was read."""
        return self.lower, max(self.lower, self.upper)


class SearchedAnswers(PerhapsSymmetric):
    """Answers from `read`, the ends of E[(X - u)_+], E[(1 - X/u)_+] and E[min(X, u)] at u = e^t."""

    def __init__(self, places: Places, middle: float, *, symmetric: bool) -> None:
        self._places, self._middle, self._symmetric = places, middle, symmetric

    @abstractmethod
    def read(self, kind: Kind, t: Array) -> Ends:
        """Ends of one kind at every t."""

    # --- in one direction, t standing for -t where that is backward

    def _tail(self, direction: Direction, t: Array) -> Ends:
        return self.read("delta", t) if direction == "forward" else self.read("reverse", -t)

    def _head(self, direction: Direction, t: Array) -> Ends:
        return self.read("reverse", t) if direction == "forward" else self.read("delta", -t)

    def _overlap(self, direction: Direction, t: Array) -> Ends:
        if direction == "forward":
            return self.read("overlap", t)
        low, high = self.read("overlap", -t)
        growth, known = np.exp(np.minimum(t, _LARGEST_EXPONENT)), t <= _LARGEST_EXPONENT  # beyond, the ends underflow
        lower, upper = growth * low * (1 - 4 * _ROUNDING), growth * high * (1 + 4 * _ROUNDING)
        return Ends(np.where(known, lower, 0.0), np.where(known, upper, math.inf))

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta: left of the middle of the law 1 - e^eps + e^eps delta'(-eps), or 1 - overlap where large."""
        direct = epsilon >= (self._middle if direction == "forward" else -self._middle)
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        if direct.any():
            lower[direct], upper[direct] = self._tail(direction, epsilon[direct])
        if not direct.all():
            left = epsilon[~direct]
            ends, growth = self._head(direction, left), np.exp(np.minimum(left, _LARGEST_EXPONENT))
            base, room = -np.expm1(np.minimum(left, _LARGEST_EXPONENT)), 4 * _ROUNDING * (1 + growth)
            lower[~direct] = np.maximum(base + growth * ends.lower - room, base * (1 - _ROUNDING))
            upper[~direct] = base + growth * ends.upper + room
        large = (upper > _SMALL) & (np.minimum(upper, 1.0) - lower > _NARROW)
        if large.any():
            ends = self._overlap(direction, epsilon[large])
            lower[large] = np.maximum(lower[large], 1 - ends.upper - _ROUNDING)
            upper[large] = np.minimum(upper[large], 1 - ends.lower + _ROUNDING)
        return Ends(np.clip(lower, 0.0, 1.0), np.minimum(upper, 1.0))

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By what is known, or by delta itself."""
        if self._places.surely_reached(direction, epsilon, delta):
            return True
        return bool(self.profile(direction, np.array([epsilon])).upper[0] <= delta)

    # --- epsilon

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of eps, between those that are known."""
        known = self._places.root(direction, delta)
        if known[0] == known[1] or not 0 < delta < 1 or math.isinf(known[1]):
            return known
        proved = Proved(delta, known)
        with suppress(WorkSpent):
            self._search_root(direction, proved)
        return proved.ends

    def _search_root(self, direction: Direction, proved: Proved) -> None:
        known = proved.ends
        if known[0] == 0:
            low, high = self._noted(direction, 0.0, proved)
            if high <= proved.delta:
                return
            if low <= proved.delta:
                self._end(direction, proved, 0.0, 1e-3 * known[1], known[1])
                return
        guess, margin = self._guess(direction, proved)
        self._end(direction, proved, guess, -margin, known[0])
        self._end(direction, proved, guess, margin, known[1])

    def _noted(self, direction: Direction, epsilon: float, proved: Proved) -> tuple[float, float]:
        """Ends of delta at one eps, which are ends of the one that is searched for, too."""
        low, high = (float(end[0]) for end in self.profile(direction, np.array([epsilon])))
        proved.note(epsilon, low, high)
        return low, high

    def _height(self, direction: Direction, epsilon: float, proved: Proved) -> tuple[float, float]:
        """The logarithm of delta(eps) over the target, and the relative width of its ends."""
        low, high = self._noted(direction, epsilon, proved)
        value = 0.5 * (low + high)
        return (math.log(value / proved.delta) if value > 0 else -1e3), (high - low) / max(value, 1e-300)

    def _guess(self, direction: Direction, proved: Proved) -> tuple[float, float]:
        """Where delta is about the target, by false position in its logarithm, and what its ends leave open there."""
        left, right = proved.ends
        f_left, f_right = (self._height(direction, end, proved)[0] for end in (left, right))
        before, value, slope, side = left, f_left, 0.0, 0
        for step in range(_MOST_STEPS):
            share = f_left / (f_left - f_right) if f_left > 0 > f_right and step % 6 != 5 else 0.5
            epsilon, last = left + share * (right - left), value
            value, error = self._height(direction, epsilon, proved)
            slope = min((value - last) / (epsilon - before), 0.0) if epsilon != before else slope
            before = epsilon
            if abs(value) <= max(0.1 * min(error, 1.0), 1e-14) or right - left <= 1e-15 * right:
                break
            if value > 0:
                left, f_left, f_right = epsilon, value, f_right * (0.5 if side > 0 else 1.0)
            else:
                right, f_right, f_left = epsilon, value, f_left * (0.5 if side < 0 else 1.0)
            side = 1 if value > 0 else -1
        return before, min(2 * min(error, 1.0) / max(-slope, 1e-300), 1e-3 * before) + 4 * _ROUNDING * before

    def _end(self, direction: Direction, proved: Proved, guess: float, margin: float, known: float) -> None:
        """Prove an eps on one side of the guess, at which an end of delta is on the right side of the target."""
        for _ in range(_MOST_WIDENINGS):
            tried = max(guess + margin, 0.0)
            if (tried - known) * margin >= 0:
                break
            low, high = self._noted(direction, tried, proved)
            if (high <= proved.delta) if margin > 0 else (low >= proved.delta):
                break
            margin *= 4

    # --- f

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of a test, and ends of f, in one direction."""
        places = self._places.between(direction, alpha)
        low, high = sorted(place if direction == "forward" else -place for place in places)
        if not -_LARGEST_EXPONENT < low <= high < _LARGEST_EXPONENT:
            raise ComputationFailed("the slope of f, e^loss, leaves the range of doubles")
        if alpha > 0.5:
            found = self._maximum(direction, "head", alpha, low, high)
        elif self._is_small(direction, alpha, low, high):
            found = self._of_overlaps(direction, alpha, low, high)
        else:
            found = self._maximum(direction, "tail", alpha, low, high)
            if found[1] < _SMALL:
                found = self._of_overlaps(direction, alpha, low, high)
        return (found[0] if direction == "forward" else -found[0]), found[1], found[2]

    def _is_small(self, direction: Direction, alpha: float, low: float, high: float) -> bool:
        """Whether f is small if its threshold is between these: 1 - delta rises with t, and so does u alpha."""
        t = np.linspace(low, high, _GRID)
        rest = 1 - self._tail(direction, t).lower
        return bool(np.max(rest[1:] - np.exp(t[:-1]) * alpha) < _SMALL)

    def _of_overlaps(self, direction: Direction, alpha: float, low: float, high: float) -> tuple[float, float, float]:
        """A small f, from overlap - u alpha; where that leaves it wide, also from u (1 - alpha - reverse).

        The first is a difference from f + u alpha and the second one from u (1 - alpha), each known to some digits.
        """
        found = self._maximum(direction, "overlap", alpha, low, high)
        if found[2] - found[1] <= _NARROW_TEST * found[2]:
            return found
        other = self._maximum(direction, "head", alpha, low, high, found[1:])
        best = found if found[2] - found[1] <= other[2] - other[1] else other
        return best[0], max(found[1], other[1]), min(found[2], other[2])

    def _supporting(self, direction: Direction, way: str, alpha: float, t: Array) -> Ends:
        """Ends of 1 - delta - u alpha; as overlap - u alpha, or u (1 - alpha - reverse), where that has more digits."""
        u = np.exp(t)
        price = u * alpha
        if way == "tail":
            low, high = self._tail(direction, t)
            room = 4 * _ROUNDING * (1 + price)
            return Ends(1 - (high + price) - room, 1 - (low + price) + room)
        if way == "overlap":
            low, high = self._overlap(direction, t)
            room = 4 * _ROUNDING * (price + high)
            return Ends(low - price - room, high - price + room)
        low, high = self._head(direction, t)
        room = 4 * _ROUNDING * u * ((1 - alpha) + high)
        return Ends(u * ((1 - alpha) - high) - room, u * ((1 - alpha) - low) + room)

    def _maximum(
        self,
        direction: Direction,
        way: str,
        alpha: float,
        low: float,
        high: float,
        known: tuple[float, float] = (-math.inf, math.inf),
    ) -> tuple[float, float, float]:
        """Where the line is highest, and ends of that: grids within grids, all of which enclose it.

        Where its height is less certain than what is known, nothing narrower can follow.
        """
        room = 1e-3 * (high - low) + 1e-12 * (1 + abs(low) + abs(high))
        low, high = low - room, high + room
        best, least, most, enclosed, idle = 0.5 * (low + high), 0.0, 1 - alpha, False, 0
        for _ in range(_ROUNDS):
            t = np.linspace(low, high, _GRID)
            try:
                ends = self._supporting(direction, way, alpha, t)
            except WorkSpent:
                break
            at, upper = int(np.argmax(ends.lower)), greatest(t, ends)[0]
            gap = most - least
            if ends.upper[at] - ends.lower[at] > known[1] - known[0]:
                break
            if ends.lower[at] > least:
                best, least = float(t[at]), float(ends.lower[at])
            most = min(most, upper)
            enclosed = enclosed or math.isfinite(upper)
            if not enclosed and max(abs(low), abs(high)) < _LARGEST_EXPONENT / 4:
                low, high = 2 * low - high, 2 * high - low  # it is not certain that the maximum is here
                continue
            idle = idle + 1 if most - least > _NO_GAIN * gap else 0
            if most - least <= _ENOUGH * most or high - low <= 4 * _ROUNDING * (1 + abs(low)) or idle == _MOST_IDLE:
                break
            if is_spent():
                break
            low, high = float(t[max(at - 1, 0)]), float(t[min(at + 1, _GRID - 1)])
        return best, max(least, 0.0), most

    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""
        return self.read("overlap", t).lower

    def touching(self, direction: Direction, t: float) -> list[float]:
        """Type I errors near t, as slopes on both sides of the overlap in e^t."""
        places = t + _STEP * np.array([-1.0, 0.0, 1.0])
        values = self._overlap(direction, places).lower
        slopes = np.diff(values * math.exp(-t)) / np.array([-math.expm1(-_STEP), math.expm1(_STEP)])
        return [min(float(slope), 1.0) for slope in slopes if slope > 0]

    def bridge(self) -> tuple[float, float]:
        """Two errors, in order, that a test at threshold 0 reaches in one direction: where the slope of f is -1."""
        alpha = max([1e-300, *self.touching("forward", 0.0)])
        beta = float(self.tradeoff("forward", np.array([alpha])).upper[0])
        return min(alpha, beta), max(alpha, beta)
