"""Certified ends of delta, epsilon and f from the line integrals: roots are found first and then verified.

A root finder's word is never taken: an end of epsilon is an epsilon at which the matching end of delta lies on the
right side of the target, and the ends of f(alpha) are type II errors of two tests whose type I errors are proved to
enclose alpha.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.answered import Ends
from edgeworth.composition.integrals import STEP_SLACK, Integrals, Kind, Rung
from edgeworth.composition.sampled_gaussian import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.ladder import Ladder
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["LEVEL_NATS", "UNDER_Q", "LineAnswers"]

LEVEL_NATS = 10.0  # dropped masses are e^(-10 k): few different ones

#: the integrals of the type I error and of its complement, by direction
_ERRORS: dict[Direction, tuple[Kind, Kind]] = {"forward": ("alpha", "acceptance"), "backward": ("beta", "power")}
_PROFILES: dict[Direction, tuple[Kind, Kind]] = {"forward": ("delta", "reverse"), "backward": ("reverse", "delta")}
#: the tail whose ratio to the profile gives the profile's slope
_COMPANION: dict[Kind, Kind] = {"delta": "power", "reverse": "acceptance"}
#: kinds that count outcomes under Q; the others count them under P
UNDER_Q: tuple[Kind, ...] = ("delta", "power", "beta")
_AT_ZERO: tuple[Kind, Kind] = ("alpha", "beta")
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_ROUNDING = 1e-15
_NEWTON_STEPS = 30
_MOST_WIDENINGS = 60
_MOST_MOVES = 5
_POOR = 1e-7  # a relative width at which halving is tried
_MOST_HALVINGS = 40
_MOST_EPSILON = 1e9
_CHERNOFF_SLACK = 1e-6
_NEAR = 6.0  # standard deviations
_CEILING_TILTS = 0.7 * 1.6 ** np.arange(8)  # in units of 1/std


class LineAnswers:
    """The same, of a total from which runs of mass at most e^(-10 level) were dropped; 0 drops nothing."""

    def __init__(self, total: TotalLoss, level: int) -> None:
        self._prepare(total, Steps.of(total, -LEVEL_NATS * level if level else -math.inf))

    def _prepare(self, total: TotalLoss, steps: Steps) -> None:
        self.total, self.steps = total, steps
        self.integrals = Integrals(steps)
        self._thresholds: dict[Direction, tuple[bytes, Array, Array]] = {}

    def _read(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of one integral: what was dropped is missing from the value, and at most itself."""
        ends = self.integrals(kind, threshold)
        return Ends(ends.lower, ends.upper + self.steps.dropped[kind in UNDER_Q])

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if direction != "both":
            return self._delta_by_lines(direction, epsilon)
        one = self._delta_by_lines("forward", epsilon)
        lower, upper = one.lower.copy(), one.upper.copy()
        (open_,) = np.nonzero(~(self._backward_ceiling(epsilon) <= one.lower))
        if open_.size:
            other = self._delta_by_lines("backward", epsilon[open_])
            lower[open_] = np.maximum(lower[open_], other.lower)
            upper[open_] = np.maximum(upper[open_], other.upper)
        return Ends(lower, upper)

    def _delta_by_lines(self, direction: Direction, epsilon: Array) -> Ends:
        kinds, sign = _PROFILES[direction], _sign(direction)
        direct = epsilon >= sign * self.integrals.middle
        # Far left of the mean under the alternative the profile is 1 - little: the little is read.
        mean = self.integrals.mean_under_q if direction == "forward" else -self.integrals.mean_under_p
        near = direct & (epsilon >= mean - _NEAR * self.integrals.spread)
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        if near.any():
            lower[near], upper[near] = self._read(kinds[0], sign * epsilon[near])
        if (direct & ~near).any():
            lower[direct & ~near], upper[direct & ~near] = self._by_complement(direction, epsilon[direct & ~near])
        if not direct.all():
            # delta(eps) = 1 - e^eps + e^eps delta'(-eps): no cancellation while e^eps is small
            e = epsilon[~direct]
            ends = self._read(kinds[1], sign * e)
            with np.errstate(over="ignore", invalid="ignore"):
                base, growth = -np.expm1(e), np.exp(e)
                lower[~direct] = np.clip(base + growth * ends.lower - _ROUNDING * (1 + growth), 0.0, 1.0)
                upper[~direct] = np.clip(base + growth * ends.upper + _ROUNDING * (1 + growth), 0.0, 1.0)
        return Ends(lower, upper)

    def _by_complement(self, direction: Direction, epsilon: Array) -> Ends:
        """1 - delta = Q[T <= eps] + e^eps P[T > eps], or its mirror image."""
        kinds: tuple[Kind, Kind] = ("beta", "alpha") if direction == "forward" else ("alpha", "beta")
        miss, rejected = (self._read(kind, _sign(direction) * epsilon) for kind in kinds)
        with np.errstate(divide="ignore"):
            least, most = (
                m + np.exp(np.minimum(epsilon + np.log(r), 0.0)) for m, r in zip(miss, rejected, strict=True)
            )
        return Ends(np.clip(1 - most - 4 * _ROUNDING, 0.0, 1.0), np.clip(1 - least + 4 * _ROUNDING, 0.0, 1.0))

    @cached_property
    def _ceiling(self) -> tuple[Array, Array]:
        """Some tilts c < 0, and K(c) + a log a - (1+a) log(1+a) at a = -c, with room for the error of K."""
        moments = self.integrals.moments
        c = np.maximum(-moments.width * _CEILING_TILTS, moments.steepest[0])
        k = moments(c)[:, 0]
        slack = _CHERNOFF_SLACK * (1 + np.abs(k)) + STEP_SLACK * sum(n for _, n in self.steps.others)
        return c, np.asarray(k - c * np.log(-c) - (1 - c) * np.log1p(-c) + slack)

    def _backward_ceiling(self, epsilon: Array) -> Array:
        """An upper bound of the backward profile by Chernoff: often it settles which direction is the larger.

        E_P[(1 - e^(eps+T))_+] <= a^a/(1+a)^(1+a) e^(K(-a) - a eps) for every a > 0, by the largest (1 - y) y^a.
        """
        c, log_front = self._ceiling
        bound = np.min(log_front[:, None] + np.multiply.outer(c, epsilon), axis=0)
        return np.asarray(np.exp(np.minimum(bound, 0.0)) + self.steps.dropped[0])

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        if direction != "both":
            return self._epsilon_by_lines(direction, delta)
        one = self._epsilon_by_lines("forward", delta)
        lower, upper = one.lower.copy(), one.upper.copy()
        # Backward is settled where its delta at the upper end is proved to be below the target.
        known = np.isfinite(one.upper)
        ceiling = self._backward_ceiling(np.where(known, one.upper, 0.0))
        (open_,) = np.nonzero(~(known & (ceiling <= delta)))
        if open_.size:
            other = self._epsilon_by_lines("backward", delta[open_])
            lower[open_] = np.maximum(lower[open_], other.lower)
            upper[open_] = np.maximum(upper[open_], other.upper)
        return Ends(lower, upper)

    def _epsilon_by_lines(self, direction: Direction, delta: Array) -> Ends:
        lower, upper = np.zeros(delta.size), np.full(delta.size, math.inf)
        upper[delta == 1] = 0.0
        lower[delta == 0] = max(0.0, self._least_unbounded(direction))
        (asked,) = np.nonzero((delta > 0) & (delta < 1))
        if asked.size:
            lower[asked], upper[asked] = self._solve(direction, delta[asked])
            (maybe,) = np.nonzero((lower == 0) & (delta > 0) & (delta < 1))
            if maybe.size:
                at_zero = self._delta_by_lines(direction, np.zeros(1)).upper[0]
                upper[maybe[delta[maybe] >= at_zero]] = 0.0
        return Ends(lower, upper)

    def _least_unbounded(self, direction: Direction) -> float:
        """A lower bound of the supremum of T (of -T backward): below it delta is positive."""
        least, greatest = self.total.support
        return greatest if direction == "forward" else -least

    def _solve(self, direction: Direction, delta: Array) -> Ends:
        """Newton on log delta(eps) along one line, then ends that are verified by the ends of delta."""
        kind, sign = _PROFILES[direction][0], _sign(direction)
        eps = np.maximum(self._guess(direction, delta), 0.0)
        slope = np.ones(delta.size)
        owners: list[tuple[Rung, Array]] = []
        for _ in range(_MOST_MOVES):  # a root far from its guess belongs to another line
            before, owners = owners, self.integrals.owners(kind, sign * eps)
            if [rung for rung, _ in before] == [rung for rung, _ in owners]:
                break
            for rung, here in owners:
                eps[here], slope[here] = self._newton(rung, kind, sign, eps[here], delta[here])
        lower, upper = np.zeros(delta.size), np.full(delta.size, math.inf)
        for rung, here in owners:
            ends = rung.ends(kind, sign * eps[here])
            with np.errstate(divide="ignore", invalid="ignore"):
                margin = 2 * (ends.upper / ends.lower - 1) / slope[here] + 1e-15 * eps[here]
            # Where the line gave no usable value, the search for a verified end starts from a thousandth.
            margin = np.where(np.isfinite(margin) & (margin > 0), margin, 1e-3 * eps[here] + 1e-9)
            lower[here] = self._verified(rung, kind, sign, delta[here], eps[here], margin, -1.0)
            upper[here] = self._verified(rung, kind, sign, delta[here], eps[here], margin, 1.0)
        (poor,) = np.nonzero(~(upper - lower <= _POOR * upper))
        for one in poor.tolist():
            lower[one], upper[one] = self._halved(direction, float(delta[one]), float(lower[one]), float(upper[one]))
        return Ends(lower, upper)

    def _halved(self, direction: Direction, delta: float, lower: float, upper: float) -> tuple[float, float]:
        """Both ends by halving, where Newton led astray: what the ends of delta can prove, and no more."""

        def ends(eps: float) -> tuple[float, float]:
            low, high = self._delta_by_lines(direction, np.array([eps]))
            return float(low[0]), float(high[0])

        proved, high = lower, upper
        while math.isinf(high) and proved < _MOST_EPSILON:
            tried = 2 * proved + 1e-3
            low, most = ends(tried)
            high = tried if most <= delta else high
            lower = tried if low >= delta else lower
            proved = tried
        open_low, open_high = lower, high  # the upper end falls, the lower one rises
        for _ in range(_MOST_HALVINGS):
            if high - lower <= _POOR * high or math.isinf(high):
                break
            tried = 0.5 * (lower + open_high)
            if ends(tried)[0] >= delta:
                lower = tried
            else:
                open_high = tried
            tried = 0.5 * (open_low + high)
            if ends(tried)[1] <= delta:
                high = tried
            else:
                open_low = tried
        return lower, high

    @staticmethod
    def _newton(rung: Rung, kind: Kind, sign: float, eps: Array, delta: Array) -> tuple[Array, Array]:
        """Eps with delta(eps) = delta, and -d log delta/d eps = e^eps P[T > eps]/delta = Q[T > eps]/delta - 1 there."""
        moving = np.ones(eps.size, dtype=bool)  # what has arrived stays: its company must not move its last bit
        slope, target = np.ones(eps.size), np.log(delta)
        anchor = np.full(eps.size, max(sign * rung.centre, 0.0))  # where the line is good
        for _ in range(_NEWTON_STEPS):
            with np.errstate(divide="ignore", invalid="ignore"):
                value, tail = rung.values((kind, _COMPANION[kind]), sign * eps)
                slope = np.where(moving, tail / value - 1, slope)
                step = (np.log(value) - target) / slope
            good = np.isfinite(step) & (slope > 0)
            anchor = np.where(good, eps, anchor)
            limit = 0.5 * (1 + eps)
            step = np.where(good, np.clip(step, -limit, limit), 0.5 * (anchor - eps))
            eps = np.where(moving, np.maximum(eps + step, 0.0), eps)
            moving &= np.abs(step) > 1e-9 * eps  # Newton's next step would be below an ulp
            if not moving.any():
                break
        return eps, slope

    def _verified(
        self, rung: Rung, kind: Kind, sign: float, delta: Array, eps: Array, margin: Array, side: float
    ) -> Array:
        """An end of eps: on the right delta's upper end is below the target, on the left its lower end above."""
        end = np.full(eps.size, 0.0 if side < 0 else math.inf)
        dropped = self.steps.dropped[kind in UNDER_Q]
        (open_,) = np.nonzero(np.isfinite(eps))
        room = margin.copy()
        for _ in range(_MOST_WIDENINGS):
            if not open_.size:
                break
            tried = np.maximum(eps[open_] + side * room[open_], 0.0)
            ends = rung.ends(kind, sign * tried)
            good = ends.lower >= delta[open_] if side < 0 else ends.upper + dropped <= delta[open_]
            end[open_[good]] = tried[good]
            open_ = open_[~good]
            room[open_] *= 4
        return end

    def _guess(self, direction: Direction, delta: Array) -> Array:
        """Eps from the leading saddle-point term at the rungs."""
        ladder = self.integrals.ladder("right" if direction == "forward" else "left")
        ladder.reach_depth(math.log(float(np.min(delta))))
        eps = _sign(direction) * ladder.table[:, 2]
        return np.asarray(np.interp(-np.log(delta), -ladder.log_profile(), eps))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
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
            ends = self._read(kinds[0], sign * t[small])
            good[small] = ends.lower >= alpha[small] if side < 0 else ends.upper <= alpha[small]
        if not small.all():
            ends, rest = self._read(kinds[1], sign * t[~small]), 1 - alpha[~small]
            good[~small] = ends.upper <= rest if side < 0 else ends.lower >= rest
        return good

    def _miss(self, direction: Direction, t: Array) -> Ends:
        """Ends of the type II error at t: directly where it is small, by its complement where that is."""
        small: Kind = "beta" if direction == "forward" else "alpha"
        large: Kind = "power" if direction == "forward" else "acceptance"
        if direction == "forward":
            direct = t <= self.integrals.mean_under_q
        else:
            t = -t
            direct = t >= self.integrals.mean_under_p
        lower, upper = np.empty(t.size), np.empty(t.size)
        if direct.any():
            lower[direct], upper[direct] = self._read(small, t[direct])
        if not direct.all():
            rest = self._read(large, t[~direct])
            lower[~direct], upper[~direct] = 1 - rest.upper - _ROUNDING, 1 - rest.lower + _ROUNDING
        return Ends(np.maximum(lower, 0.0), np.minimum(upper, 1.0))

    def _threshold(self, direction: Direction, alpha: Array) -> tuple[Array, Array]:
        """Thresholds with type I error alpha, and the width around each that the error bounds leave open.

        The smaller of the error and its complement is solved for; 1 - alpha is exact where alpha >= 1/2. Both ends
        and the symmetrised curve ask for the same ones: the last are kept.
        """
        seen = alpha.tobytes()
        if self._thresholds.get(direction, (b"",))[0] != seen:
            self._thresholds[direction] = seen, *self._solve_threshold(direction, alpha)
        return self._thresholds[direction][1:]

    def _solve_threshold(self, direction: Direction, alpha: Array) -> tuple[Array, Array]:
        t, margin = np.empty(alpha.size), np.empty(alpha.size)
        small = alpha < 0.5
        for kind, mine, target in zip(_ERRORS[direction], (small, ~small), (alpha, 1 - alpha), strict=True):
            if mine.any():
                x, width = self._root(kind, target[mine])
                t[mine], margin[mine] = _sign(direction) * x, width
        return t, margin

    def _root(self, kind: Kind, target: Array) -> tuple[Array, Array]:
        """The threshold at which the tail is the target, by Newton on its logarithm, and the width it leaves open."""
        guess = self._threshold_guess(kind, target)
        scale = self.integrals.spread
        threshold, width = guess.copy(), np.full(guess.size, 1e-9 * scale)
        for rung, here in self.integrals.owners(kind, guess):
            x, density = self._newton_threshold(rung, kind, guess[here], target[here])
            ends = rung.ends(kind, x)
            with np.errstate(divide="ignore", invalid="ignore"):
                open_ = 3 * (ends.upper - ends.lower) / density + 1e-15 * scale
            threshold[here] = x
            width[here] = np.where(np.isfinite(open_) & (open_ > 0), open_, 1e-9 * scale)
        return threshold, width

    def _newton_threshold(self, rung: Rung, kind: Kind, x: Array, target: Array) -> tuple[Array, Array]:
        upward = 1.0 if kind in ("acceptance", "beta") else -1.0
        scale = self.integrals.spread
        moving = np.ones(x.size, dtype=bool)
        density = np.ones(x.size)
        for _ in range(_NEWTON_STEPS):
            value, slope = rung.value_and_density(kind, x)
            density = np.where(moving, slope, density)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = upward * np.log(target / value) * value / density
            step = np.clip(np.where(np.isfinite(step), step, 0.0), -scale, scale)
            x = np.where(moving, x + step, x)
            moving &= np.abs(step) > 1e-10 * scale  # Newton's next step would be below an ulp
            if not moving.any():
                break
        return x, density

    def _threshold_guess(self, kind: Kind, target: Array) -> Array:
        """The threshold from the leading saddle-point term of one tail."""
        pole = 0.0 if kind in ("alpha", "acceptance") else 1.0
        right = kind in ("alpha", "power")
        log_least = math.log(float(np.min(target)))
        outer = self.integrals.ladder("right" if right else "left")
        while not outer.ended and _log_tail(outer.table[-1:], pole)[0] > log_least:
            outer.climb()
        table = np.concatenate([outer.table, *self._between(kind)])
        order = np.argsort(table[:, 0])[:: 1 if right else -1]
        log_tail, mean = _log_tail(table, pole)[order], table[order, 2]
        middle = self.integrals.mean_under_q if pole else self.integrals.mean_under_p
        guess = np.interp(-np.log(target), [math.log(2), *-log_tail], [middle, *mean])
        return np.asarray(np.where(target >= 0.5, middle, guess))

    def _between(self, kind: Kind) -> list[Array]:
        """The rungs between the poles, where the kind may be read there."""
        ladder: Ladder = self.integrals.ladder("middle")
        if kind not in ("alpha", "beta") or (ladder.ended and not len(ladder.table)):
            return []
        while ladder.climb():
            pass
        return [ladder.table]

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by supporting lines, above by both curves and the chord of slope -1 between them."""
        one, other = self.tradeoff("forward", alpha), self.tradeoff("backward", alpha)
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
        errors = (float(self._read(kind, np.zeros(1)).upper[0]) for kind in _AT_ZERO)
        least, greatest = sorted(errors)
        return least, greatest

    def _supported(self, alpha: Array, t: Array) -> Array:
        """The line of slope -e^t that supports the symmetrised curve from below, at alpha: valid for every t.

        1 - delta(t) - e^t alpha, which for t < 0 is e^t (1 - alpha - delta(-t)), with no cancellation as alpha -> 1.
        Where 1 - delta is small it is taken as the sum of the two errors that it is.
        """
        known = np.isfinite(t) & (t < 700)
        slope = np.where(known, t, 0.0)
        delta = self.delta("both", np.abs(slope)).upper * (1 + _ROUNDING)
        growth = np.exp(slope)
        steep = 1 - delta - growth * alpha * (1 + _ROUNDING) - _ROUNDING
        flat = growth * (1 - _ROUNDING) * ((1 - alpha) * (1 - _ROUNDING) - delta)
        lines = np.where(slope >= 0, steep, flat)
        (small,) = np.nonzero(known & (delta > 0.9))
        if small.size:
            lines[small] = np.maximum(lines[small], self._supported_by_errors(alpha[small], slope[small]))
        return np.where(known, lines, 0.0)

    def _supported_by_errors(self, alpha: Array, t: Array) -> Array:
        """The same line as the smaller of Q[T <= t] + e^t (P[T > t] - alpha) and its mirror image, from their ends."""
        growth = np.exp(t)

        def line(miss: Array, rejected: Array) -> Array:
            gain = growth * (rejected * (1 - _ROUNDING) - alpha)
            return np.asarray((miss + gain) * (1 - 4 * _ROUNDING) - 4 * _ROUNDING * growth * alpha)

        forward = line(self._read("beta", t).lower, self._read("alpha", t).lower)
        backward = line(self._read("alpha", -t).lower, self._read("beta", -t).lower)
        return np.asarray(np.minimum(forward, backward))


def _sign(direction: Direction) -> float:
    """Backward, thresholds are those of -T."""
    return 1.0 if direction == "forward" else -1.0


def _log_tail(table: Array, pole: float) -> Array:
    """Log of the tail beyond K'(c) by the leading saddle-point term, at each rung."""
    c, k, mean, variance = table.T
    tail = 0.5 * erfcx(np.abs(c - pole) * np.sqrt(variance / 2))
    return np.asarray(k - (c - pole) * mean + np.log(tail))
