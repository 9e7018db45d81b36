"""Certified ends of f from the line integrals: thresholds are found first and then verified.

The ends of f(alpha) are type II errors of two tests whose type I errors are proved to enclose alpha; the ends of the
symmetrised curve come from one such test in each direction and from the lines that support it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.contour.ladder import by_cubics
from edgeworth.composition.contour.line_profiles import MOST_WIDENINGS, ROUNDING, SIGN, LineProfiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.contour.rung import Kind
    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["LineAnswers"]

#: the integrals of the type I error and of its complement, by direction
_ERRORS: dict[Direction, tuple[Kind, Kind]] = {"forward": ("alpha", "acceptance"), "backward": ("beta", "power")}
_AT_ZERO: tuple[Kind, Kind] = ("alpha", "beta")
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_TOUCHES = 1e-9  # relative: a supporting line this near to the curve touches it
_BRIDGED = 1e-8  # relative width that is asked for where the hull bridges a gap
_LARGE = 0.9  # a profile of which 1 less it is read by itself
_HALF_NORMAL = 0.5 * math.sqrt(2 * math.pi)  # half the mass of a normal law over its density there


class LineAnswers(LineProfiles):
    """The profiles of a total, and its tests."""

    def _prepare(self, total: TotalLoss, steps: Steps) -> None:
        super()._prepare(total, steps)
        self._thresholds: dict[Direction, tuple[bytes, Array, Array]] = {}

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        lower, upper = 1 - alpha, 1 - alpha  # exact at 0 and 1
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if not inner.size:
            return Ends(lower, upper)
        if direction == "both":
            lower[inner], upper[inner] = self._symmetrised(alpha[inner])
        else:
            lower[inner] = self._by_tests(direction, alpha[inner], -1.0)
            upper[inner] = self._by_tests(direction, alpha[inner], 1.0)
        return Ends(lower, upper)

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order: where the slope of f is -1."""
        least, greatest = sorted(self._errors_at_zero())
        return least, greatest

    def _errors_at_zero(self) -> list[float]:
        return [float(self._read(kind, np.zeros(1)).upper[0]) for kind in _AT_ZERO]

    def _by_tests(self, direction: Direction, alpha: Array, side: float) -> Array:
        """The lower end of f(alpha) (side < 0), or the upper one: the type II error of a test.

        Its type I error is proved to be at least, or at most, alpha; the smaller threshold has the larger error.
        """
        t, margin = self._threshold(direction, alpha)
        found = np.zeros(alpha.size) if side < 0 else 1 - alpha
        (open_,) = np.nonzero(np.isfinite(t))
        room = side * margin
        for _ in range(MOST_WIDENINGS):
            if not open_.size:
                break
            tried = t[open_] + room[open_]
            good = self._encloses(direction, tried, alpha[open_], side)
            miss = self._miss(direction, tried[good])
            found[open_[good]] = miss.lower if side < 0 else miss.upper
            open_ = open_[~good]
            room[open_] *= 4
        # 1 - alpha itself may have been rounded down
        return np.minimum(found, 1 - alpha if side < 0 else np.nextafter(1 - alpha, 2.0))

    def _encloses(self, direction: Direction, t: Array, alpha: Array, side: float) -> NDArray[np.bool_]:
        """Whether the type I error at t is proved to be at least (side < 0) or at most (side > 0) alpha."""
        small = alpha < 0.5
        good = np.zeros(alpha.size, dtype=bool)
        kinds, sign = _ERRORS[direction], SIGN[direction]
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
            lower[~direct], upper[~direct] = 1 - rest.upper - ROUNDING, 1 - rest.lower + ROUNDING
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
                t[mine], margin[mine] = SIGN[direction] * x, width
        return t, margin

    def _root(self, kind: Kind, target: Array) -> tuple[Array, Array]:
        """The threshold at which the tail is the target, and the width it leaves open."""
        guess, log_target = self._threshold_guess(kind, target), np.log(target)
        threshold, width = np.empty(guess.size), np.empty(guess.size)
        for rung, here in self.integrals.owners(kind, guess):
            threshold[here], width[here] = self.integrals.root(kind, rung, guess[here], log_target[here])
        return threshold, width

    def _threshold_guess(self, kind: Kind, target: Array) -> Array:
        """The threshold from the leading saddle-point term of one tail, at the rungs and between them."""
        pole = 0.0 if kind in ("alpha", "acceptance") else 1.0
        right = kind in ("alpha", "power")
        outer, middle = self.integrals.ladder("right" if right else "left"), self.integrals.ladder("middle")
        log_least = math.log(float(target.min()))
        while not outer.ended and _log_tail(outer.table[-1:], pole)[0][0] > log_least:
            outer.climb()
        table = outer.table
        if kind in ("alpha", "beta"):  # these may be read between the poles, too
            middle.climb_to_the_end()
            table = np.concatenate([table, middle.table])
            table = table[np.argsort(table[:, 0])[:: 1 if right else -1]]
        log_tail, length = _log_tail(table, pole)
        centre = self.integrals.mean_under_q if pole else self.integrals.mean_under_p
        slope = np.append(_HALF_NORMAL * self.integrals.spread, length) * (1.0 if right else -1.0)
        depth, threshold = np.append(math.log(2), -log_tail), np.append(centre, table[:, 2])
        return by_cubics(-np.log(target), depth, threshold, slope)

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by supporting lines, above by both curves and the chord of slope -1 between them.

        That curve is asked which should be the lower one: where f has the slope -1 left of the diagonal, it meets its
        mirror image with a slope less steep than that, and is below it on the left. The other one is asked as well
        where the two ends are left apart, as where they cross once more, or where the hull bridges another gap: there
        the profile of both says how high, in the end.
        """
        corner = self._errors_at_zero()
        left, right = alpha < min(corner), alpha > max(corner)
        upper = np.where(left | right, 1.0, math.fsum(corner) * (1 + ROUNDING) - alpha)
        lower = self._supported(alpha, np.zeros(1))
        sides = (left, right) if corner[0] <= corner[1] else (right, left)
        for direction, mine in zip(_DIRECTIONS, sides, strict=True):
            self._narrow_by_curve(direction, alpha, np.flatnonzero(mine), lower, upper)
        for direction, mine in zip(_DIRECTIONS, sides, strict=True):
            open_ = np.flatnonzero(~mine & (lower < (1 - _TOUCHES) * upper))
            self._narrow_by_curve(direction, alpha, open_, lower, upper)
        for remainder, mine in ((self._remainder, alpha <= 0.5), (None, alpha > 0.5)):
            (bridged,) = np.nonzero(mine & (lower < (1 - _TOUCHES) * upper))
            if bridged.size:
                by_profile = ByProfile(self, _BRIDGED, remainder=remainder)
                found = by_profile.narrowed("both", alpha[bridged], Ends(lower[bridged], upper[bridged]))
                lower[bridged], upper[bridged] = found
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def _narrow_by_curve(
        self, direction: Direction, alpha: Array, some: NDArray[np.intp], lower: Array, upper: Array
    ) -> None:
        """Narrow some of the ends of the symmetrised curve by that of a direction, and by the line that supports it."""
        if some.size:
            upper[some] = np.minimum(upper[some], self._by_tests(direction, alpha[some], 1.0))
            t = self._threshold(direction, alpha[some])[0]
            lower[some] = np.maximum(lower[some], self._supported(alpha[some], t))

    def _supported(self, alpha: Array, t: Array) -> Array:
        """The lines of slope -e^t that support the symmetrised curve from below, at alpha: all are valid.

        1 - delta(t) - e^t alpha, which for t < 0 is e^t (1 - alpha - delta(-t)), with no cancellation as alpha -> 1.
        Where 1 - delta is small it is taken as the sum of the two errors that it is.
        """
        known = np.isfinite(t) & (t < 700)
        t = np.where(known, t, 0.0)
        delta = self.delta("both", np.abs(t)).upper * (1 + ROUNDING)
        growth = np.exp(t)
        steep = 1 - delta - growth * alpha * (1 + ROUNDING) - ROUNDING
        flat = growth * (1 - ROUNDING) * ((1 - alpha) * (1 - ROUNDING) - delta)
        line = np.where(t >= 0, steep, flat)
        small, t_there = np.broadcast_to(known & (delta > _LARGE), alpha.shape), np.broadcast_to(t, alpha.shape)
        if small.any():
            line[small] = np.maximum(line[small], self._supported_by_errors(alpha[small], t_there[small]))
        return np.where(known, line, 0.0)

    def _remainder(self, _: Direction, t: Array) -> Ends:
        """Ends of 1 less the larger of both profiles: e^t times that at -t for t < 0.

        Where it is small it is the smaller sum of the two errors, Q[T <= t] + e^t P[T > t] or its mirror image.
        """
        size, growth = np.abs(t), np.exp(np.minimum(t, 0.0))
        delta = self.delta("both", size)
        lower, upper = 1 - delta.upper - ROUNDING, 1 - delta.lower + ROUNDING
        small = delta.upper > _LARGE
        if small.any():
            far = size[small]
            (miss, rejected), (other_miss, other_rejected) = (
                (self._read("beta", far), self._read("alpha", far)),
                (self._read("alpha", -far), self._read("beta", -far)),
            )
            low, high = (
                np.minimum(one + np.exp(far) * more, other + np.exp(far) * another)
                for one, more, other, another in zip(miss, rejected, other_miss, other_rejected, strict=True)
            )
            lower[small], upper[small] = low * (1 - 4 * ROUNDING), high * (1 + 4 * ROUNDING)
        return Ends(growth * lower * (1 - ROUNDING), growth * upper * (1 + ROUNDING))

    def _supported_by_errors(self, alpha: Array, t: Array) -> Array:
        """The same line as the smaller of Q[T <= t] + e^t (P[T > t] - alpha) and its mirror image, from their ends."""
        growth = np.exp(t)

        def line(miss: Array, rejected: Array) -> Array:
            gain = growth * (rejected * (1 - ROUNDING) - alpha)
            return np.asarray((miss + gain) * (1 - 4 * ROUNDING) - 4 * ROUNDING * growth * alpha)

        forward = line(self._read("beta", t).lower, self._read("alpha", t).lower)
        backward = line(self._read("alpha", -t).lower, self._read("beta", -t).lower)
        return np.asarray(np.minimum(forward, backward))


def _log_tail(table: Array, pole: float) -> tuple[Array, Array]:
    """Log of the tail beyond K'(c) by the leading saddle-point term, at each rung, and its ratio to the density."""
    c, k, mean, variance = table.T
    tail = 0.5 * erfcx(np.abs(c - pole) * np.sqrt(variance / 2))
    return np.asarray(k - (c - pole) * mean + np.log(tail)), tail * np.sqrt(2 * math.pi * variance)
