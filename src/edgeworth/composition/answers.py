"""Certified ends of delta, epsilon and f from the line integrals: roots are found first and then verified.

A root finder's word is never taken: an end of epsilon is an epsilon at which the matching end of delta lies on the
right side of the target, and the ends of f(alpha) are type II errors of two tests whose type I errors are proved to
enclose alpha.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.integrals import Ends, Integrals, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["OPPOSITE", "Answers", "Direction"]

Direction: TypeAlias = Literal["forward", "backward", "both"]
OPPOSITE: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "both": "both"}

#: the integrals of the type I error and of its complement, by direction
_ERRORS: dict[Direction, tuple[Kind, Kind]] = {"forward": ("alpha", "acceptance"), "backward": ("beta", "power")}
_PROFILES: dict[Direction, tuple[Kind, Kind]] = {"forward": ("delta", "reverse"), "backward": ("reverse", "delta")}
_AT_ZERO: tuple[Kind, Kind] = ("alpha", "beta")
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_ROUNDING = 1e-15
_NEWTON_STEPS = 12
_MOST_WIDENINGS = 60


class Answers:
    """Certified ends of delta, epsilon and f in each direction; remembers the last question of each kind."""

    def __init__(self, total: TotalLoss) -> None:
        self.integrals = Integrals(total)
        self._last: dict[tuple[str, Direction], tuple[bytes, Ends]] = {}

    def usable(self) -> bool:
        """Whether the line at the centre of the law can be had at all."""
        centre = np.array([self.integrals.middle])
        return bool(self.integrals("delta", centre).upper[0] < 2 * self.integrals("delta", centre).lower[0])

    def _remembered(self, what: str, direction: Direction, argument: Array, ask: Callable[[], Ends]) -> Ends:
        key, seen = (what, direction), argument.tobytes()
        if self._last.get(key, (b"",))[0] != seen:
            self._last[key] = seen, ask()
        return self._last[key][1]

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._remembered("delta", direction, epsilon, lambda: self._delta(direction, epsilon))

    def _delta(self, direction: Direction, epsilon: Array) -> Ends:
        if direction == "both":
            one, other = self._delta("forward", epsilon), self._delta("backward", epsilon)
            return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
        kinds, sign = _PROFILES[direction], _sign(direction)
        direct = epsilon >= sign * self.integrals.middle
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        if direct.any():
            ends = self.integrals(kinds[0], sign * epsilon[direct])
            lower[direct], upper[direct] = ends
        if not direct.all():
            # delta(eps) = 1 - e^eps + e^eps delta'(-eps): no cancellation while e^eps is small
            e = epsilon[~direct]
            ends = self.integrals(kinds[1], sign * e)
            with np.errstate(over="ignore", invalid="ignore"):
                base, growth = -np.expm1(e), np.exp(e)
                lower[~direct] = np.clip(base + growth * ends.lower - _ROUNDING * (1 + growth), 0.0, 1.0)
                upper[~direct] = np.clip(base + growth * ends.upper + _ROUNDING * (1 + growth), 0.0, 1.0)
        return Ends(lower, upper)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._remembered("epsilon", direction, delta, lambda: self._epsilon(direction, delta))

    def _epsilon(self, direction: Direction, delta: Array) -> Ends:
        if direction == "both":
            one, other = self._epsilon("forward", delta), self._epsilon("backward", delta)
            return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
        lower, upper = np.zeros(delta.size), np.full(delta.size, math.inf)
        (positive,) = np.nonzero((delta > 0) & (delta < 1))
        upper[delta == 1] = 0.0
        lower[delta == 0] = max(0.0, self._least_unbounded(direction))
        if positive.size:
            at_zero = self._delta(direction, np.zeros(1))
            upper[positive[delta[positive] >= at_zero.upper[0]]] = 0.0
            asked = positive[delta[positive] < at_zero.upper[0]]
            if asked.size:
                lower[asked], upper[asked] = self._solve(direction, delta[asked])
        return Ends(lower, upper)

    def _least_unbounded(self, direction: Direction) -> float:
        """A lower bound of the supremum of T (of -T backward): below it delta is positive."""
        least, greatest = self.integrals.total.support
        return greatest if direction == "forward" else -least

    def _solve(self, direction: Direction, delta: Array) -> Ends:
        """Newton on log delta(eps), then ends that are verified by the ends of delta."""
        kind, sign = _PROFILES[direction][0], _sign(direction)
        eps = np.maximum(self._guess(direction, delta), 0.0)
        moving = np.ones(eps.size, dtype=bool)  # what has arrived stays: its company must not move its last bit
        for _ in range(_NEWTON_STEPS):
            value, slope = self._log_delta_slope(kind, sign, eps)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = (value - np.log(delta)) / slope
            step = np.clip(np.where(np.isfinite(step), step, 0.0), -0.5 * (1 + eps), 0.5 * (1 + eps))
            eps = np.where(moving, np.maximum(eps + step, 0.0), eps)
            moving &= np.abs(step) > 1e-13 * (1e-300 + eps)
            if not moving.any():
                break
        slope = self._log_delta_slope(kind, sign, eps)[1]
        ends = self._delta(direction, eps)
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = 2 * np.log(ends.upper / ends.lower) / slope + 1e-15 * eps
        # Where the line gave no usable value, the search for a verified end starts from a thousandth.
        margin = np.where(np.isfinite(margin) & (margin > 0), margin, 1e-3 * eps + 1e-9)
        return Ends(*(self._verified(direction, delta, eps, margin, side) for side in (-1.0, 1.0)))

    def _verified(self, direction: Direction, delta: Array, eps: Array, margin: Array, side: float) -> Array:
        """An end of eps: on the right delta's upper end is below the target, on the left its lower end above."""
        end = np.full(eps.size, 0.0 if side < 0 else math.inf)
        (open_,) = np.nonzero(np.isfinite(eps))
        for _ in range(_MOST_WIDENINGS):
            if not open_.size:
                break
            tried = np.maximum(eps[open_] + side * margin[open_], 0.0)
            ends = self._delta(direction, tried)
            good = np.asarray(ends.lower >= delta[open_] if side < 0 else ends.upper <= delta[open_], dtype=bool)
            end[open_[good]] = tried[good]
            open_ = open_[~good]
            margin[open_] *= 4
        return end

    def _log_delta_slope(self, kind: Kind, sign: float, eps: Array) -> tuple[Array, Array]:
        """Log delta and its slope downwards, -d log delta/d eps = e^eps P[T > eps]/delta = Q[T > eps]/delta - 1."""
        value = self.integrals.value_and_density(kind, sign * eps)[0]
        power = self.integrals.value_and_density("power" if kind == "delta" else "acceptance", sign * eps)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(value), power / value - 1

    def _guess(self, direction: Direction, delta: Array) -> Array:
        """Eps from the leading saddle-point term at the tilts of the ladder."""
        integrals = self.integrals
        c, k, mean, s = integrals.tilt, integrals.k, integrals.mean, np.sqrt(integrals.variance)
        if direction == "forward":
            side = c > 1
            near, far, eps = (c - 1) * s, c * s, mean
            log_front = k + (1 - c) * mean
        else:
            side = c < 0
            near, far, eps = -c * s, (1 - c) * s, -mean
            log_front = k - c * mean
        near, far, eps, log_front = near[side], far[side], eps[side], log_front[side]
        log_delta = log_front + np.log(0.5 * (erfcx(near / math.sqrt(2)) - erfcx(far / math.sqrt(2))))
        order = np.argsort(-log_delta)
        return np.asarray(np.interp(-np.log(delta), -log_delta[order], eps[order]))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._remembered("tradeoff", direction, alpha, lambda: self._tradeoff(direction, alpha))

    def _tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        if direction == "both":
            return self._symmetrised(alpha)
        lower, upper = 1 - alpha, 1 - alpha  # exact at 0 and 1
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if inner.size:
            lower, upper = lower.copy(), upper.copy()
            lower[inner], upper[inner] = self._by_tests(direction, alpha[inner])
        return Ends(lower, upper)

    def _by_tests(self, direction: Direction, alpha: Array) -> Ends:
        """f(alpha) between the type II errors of two tests whose type I errors enclose alpha."""
        t, margin = self._threshold(direction, alpha)
        ends = []
        for side in (-1.0, 1.0):  # the smaller threshold has the larger type I error: the lower end of f
            found = np.zeros(alpha.size) if side < 0 else 1 - alpha
            (open_,) = np.nonzero(np.isfinite(t))
            room = margin.copy()
            for _ in range(_MOST_WIDENINGS):
                if not open_.size:
                    break
                tried = t[open_] + side * room[open_]
                good = self._encloses(direction, tried, alpha[open_], side)
                miss = self._miss(direction, tried[good])
                found[open_[good]] = miss.lower if side < 0 else miss.upper
                open_ = open_[~good]
                room[open_] *= 4
            ends.append(found)
        most = np.nextafter(1 - alpha, 2.0)  # 1 - alpha itself may have been rounded down
        return Ends(np.clip(ends[0], 0.0, 1 - alpha), np.clip(ends[1], 0.0, most))

    def _encloses(self, direction: Direction, t: Array, alpha: Array, side: float) -> NDArray[np.bool_]:
        """Whether the type I error at t is proved to be at least (side < 0) or at most (side > 0) alpha."""
        small = alpha < 0.5
        good = np.zeros(alpha.size, dtype=bool)
        kinds, sign = _ERRORS[direction], _sign(direction)
        if small.any():
            ends = self.integrals(kinds[0], sign * t[small])
            good[small] = ends.lower >= alpha[small] if side < 0 else ends.upper <= alpha[small]
        if not small.all():
            ends, rest = self.integrals(kinds[1], sign * t[~small]), 1 - alpha[~small]
            good[~small] = ends.upper <= rest if side < 0 else ends.lower >= rest
        return good

    def _miss(self, direction: Direction, t: Array) -> Ends:
        """Ends of the type II error at t."""
        return self.integrals("beta", t) if direction == "forward" else self.integrals("alpha", -t)

    def _threshold(self, direction: Direction, alpha: Array) -> tuple[Array, Array]:
        """Thresholds with type I error alpha, and the width around each that the error bounds leave open.

        The smaller of the error and its complement is solved for; 1 - alpha is exact where alpha >= 1/2.
        """
        t, margin = np.empty(alpha.size), np.empty(alpha.size)
        small = alpha < 0.5
        for kind, mine, target in zip(_ERRORS[direction], (small, ~small), (alpha, 1 - alpha), strict=True):
            if mine.any():
                x, width = self._root(kind, target[mine])
                t[mine], margin[mine] = _sign(direction) * x, width
        return t, margin

    def _root(self, kind: Kind, target: Array) -> tuple[Array, Array]:
        """The threshold at which the tail is the target, by Newton on its logarithm, and the width it leaves open."""
        x = self._threshold_guess(kind, target)
        upward = 1.0 if kind in ("acceptance", "beta") else -1.0
        scale = 1 / self.integrals.width
        moving = np.ones(x.size, dtype=bool)
        for _ in range(_NEWTON_STEPS):
            value, density = self.integrals.value_and_density(kind, x)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = upward * np.log(target / value) * value / density
            step = np.clip(np.where(np.isfinite(step), step, 0.0), -scale, scale)
            x = np.where(moving, x + step, x)
            moving &= np.abs(step) > 1e-14 * scale
            if not moving.any():
                break
        ends = self.integrals(kind, x)
        density = self.integrals.value_and_density(kind, x)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            width = 3 * (ends.upper - ends.lower) / density + 1e-15 * scale
        return x, np.where(np.isfinite(width) & (width > 0), width, 1e-9 * scale)

    def _threshold_guess(self, kind: Kind, target: Array) -> Array:
        """The threshold from the leading saddle-point term of one tail."""
        integrals = self.integrals
        pole = 0.0 if kind in ("alpha", "acceptance") else 1.0
        right = kind in ("alpha", "power")
        c, k, mean, s = integrals.tilt, integrals.k, integrals.mean, np.sqrt(integrals.variance)
        side = c >= pole if right else c <= pole
        d = np.abs(c - pole)[side] * s[side]
        log_tail = (k - (c - pole) * mean)[side] + np.log(0.5 * erfcx(d / math.sqrt(2)))
        order = np.argsort(-log_tail)
        middle = float(np.interp(pole, c, mean))
        guess = np.interp(-np.log(target), -log_tail[order], mean[side][order])
        return np.where(target >= 0.5, middle, guess)

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by supporting lines, above by both curves and the chord of slope -1 between them."""
        one, other = self._tradeoff("forward", alpha), self._tradeoff("backward", alpha)
        corner = self.bridge()
        bridge = np.where((alpha >= corner[0]) & (alpha <= corner[1]), math.fsum(corner) * (1 + _ROUNDING) - alpha, 1.0)
        upper = np.minimum(np.minimum(one.upper, other.upper), bridge)
        lower = self._supported(alpha, np.zeros(alpha.size))
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if inner.size:
            for direction in _DIRECTIONS:
                t = self._threshold(direction, alpha[inner])[0]
                lower[inner] = np.maximum(lower[inner], self._supported(alpha[inner], t))
        lower = np.where((alpha == 0) | (alpha == 1), 1 - alpha, lower)
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order: where the slope of f is -1."""
        errors = (float(self.integrals(kind, np.zeros(1)).upper[0]) for kind in _AT_ZERO)
        least, greatest = sorted(errors)
        return least, greatest

    def _supported(self, alpha: Array, t: Array) -> Array:
        """The line of slope -e^t that supports the symmetrised curve from below, at alpha: valid for every t.

        1 - delta(t) - e^t alpha, which for t < 0 is e^t (1 - alpha - delta(-t)), with no cancellation as alpha -> 1.
        """
        known = np.isfinite(t)
        slope = np.where(known, t, 0.0)
        delta = self._delta("both", np.abs(slope)).upper * (1 + _ROUNDING)
        growth = np.exp(np.minimum(slope, 700.0))
        steep = 1 - delta - growth * alpha * (1 + _ROUNDING) - _ROUNDING
        flat = growth * (1 - _ROUNDING) * ((1 - alpha) * (1 - _ROUNDING) - delta)
        return np.where(known, np.where(slope >= 0, steep, flat), 0.0)


def _sign(direction: Direction) -> float:
    """Backward, thresholds are those of -T."""
    return 1.0 if direction == "forward" else -1.0
