"""Certified composition by line integrals: all digits, both tails, any number of steps.

The engine needs one part whose loss has a density with a bounded tail in frequency: Gaussian noise, or a Poisson sample
of it. Other parts (Laplace, randomized response, …) may be mixed in. `docs/proofs/contour.md` proves every bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.integrals import Ends, Integrals
from edgeworth.composition.result import ComposedCurve, with_disclosure
from edgeworth.curves import Certificate, Profile, TradeOff
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses.law import Array

__all__ = ["Answers", "ContourProfile", "ContourTradeOff", "applies", "compose"]

Direction: TypeAlias = Literal["forward", "backward", "both"]
End: TypeAlias = Literal["lower", "upper", "middle"]

_OPPOSITE: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "both": "both"}
_NEWTON_STEPS = 12
_LEAST_SAMPLING = 1e-3  # n p^2 below which the line needs too many nodes
_FEWEST_STEPS = 3


def applies(total: TotalLoss) -> bool:
    """Whether the line integral is the right engine: enough smooth steps, and densities that are formulas."""
    if not total.is_exact:
        return False
    weight = 0.0
    for loss, n in total.parts:
        if isinstance(loss, GaussianLoss) and loss.mu > 0:
            return True
        if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss) and n >= _FEWEST_STEPS:
            weight += n * loss.rate**2
    return weight >= _LEAST_SAMPLING


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by line integrals, prepared lazily: a reading builds only the lines that it needs."""
    del degree
    if not applies(total):
        raise Unsupported(
            'method="contour" needs a Gaussian part, or sampled Gaussian steps with n rate^2 >= '
            f'{_LEAST_SAMPLING:g} and n >= {_FEWEST_STEPS}; use method="auto", which falls back on others'
        )
    answers = Answers(total)
    certificate = Certificate("contour", certified=True, sources={}, notes=("every reading carries its own error bound",))
    lower, value, upper = (
        with_disclosure(ContourTradeOff(answers, end, "forward"), total) for end in ("lower", "middle", "upper")
    )
    return ComposedCurve(value, certificate, lower, upper, rounding=4e-15)


class Answers:
    """Certified ends of delta, epsilon and f in each direction; remembers the last question of each kind."""

    def __init__(self, total: TotalLoss) -> None:
        self.integrals = Integrals(total)
        self._last: dict[tuple[str, Direction], tuple[bytes, Ends]] = {}

    def _remembered(self, what: str, direction: Direction, argument: Array, ask: Callable[[], Ends]) -> Ends:
        key, seen = (what, direction), argument.tobytes()
        if self._last.get(key, (b"",))[0] != seen:
            self._last[key] = seen, ask()
        return self._last[key][1]

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta(eps)."""
        return self._remembered("delta", direction, epsilon, lambda: self._delta(direction, epsilon))

    def _delta(self, direction: Direction, epsilon: Array) -> Ends:
        if direction == "both":
            one, other = self._delta("forward", epsilon), self._delta("backward", epsilon)
            return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))
        kinds = ("delta", "reverse") if direction == "forward" else ("reverse", "delta")
        sign = 1.0 if direction == "forward" else -1.0
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
                lower[~direct] = np.clip(base + growth * ends.lower - 4e-16 * (1 + growth), 0.0, 1.0)
                upper[~direct] = np.clip(base + growth * ends.upper + 4e-16 * (1 + growth), 0.0, 1.0)
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
        kind, sign = ("delta", 1.0) if direction == "forward" else ("reverse", -1.0)
        eps = np.maximum(self._guess(direction, delta), 0.0)
        for _ in range(_NEWTON_STEPS):
            value, slope = self._log_delta_slope(kind, sign, eps)
            step = (value - np.log(delta)) / slope
            step = np.where(np.isfinite(step), step, 0.0)
            eps = np.maximum(eps + np.clip(step, -0.5 * (1 + eps), 0.5 * (1 + eps)), 0.0)
            if np.all(np.abs(step) <= 1e-13 * (1e-300 + eps)):
                break
        slope = np.maximum(self._log_delta_slope(kind, sign, eps)[1], 1e-300)
        ends = self._delta(direction, eps)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.log(ends.upper / ends.lower)
        margin = np.where(np.isfinite(spread), 2 * spread, 1.0) / slope + 1e-15 * eps
        return Ends(*(self._verified(direction, delta, eps, margin, side) for side in (-1.0, 1.0)))

    def _verified(self, direction: Direction, delta: Array, eps: Array, margin: Array, side: float) -> Array:
        """An end of eps: on the right delta's upper end is below the target, on the left its lower end above."""
        end = np.full(eps.size, 0.0 if side < 0 else math.inf)
        (open_,) = np.nonzero(np.isfinite(eps))
        for _ in range(60):
            if not open_.size:
                break
            tried = np.maximum(eps[open_] + side * margin[open_], 0.0)
            ends = self._delta(direction, tried)
            good = ends.lower >= delta[open_] if side < 0 else ends.upper <= delta[open_]
            end[open_[good]] = tried[good]
            open_ = open_[~good]
            margin[open_] *= 4
        return end

    def _log_delta_slope(self, kind: str, sign: float, eps: Array) -> tuple[Array, Array]:
        """log delta and its slope downwards: -d log delta/d eps = e^eps P[T > eps]/delta."""
        forward = kind == "delta"
        value = self.integrals.value_and_density("delta" if forward else "reverse", sign * eps)[0]
        tail = self.integrals.value_and_density("alpha" if forward else "beta", sign * eps)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(value), np.exp(eps) * tail / value

    def _guess(self, direction: Direction, delta: Array) -> Array:
        """eps from the leading saddle-point term at the tilts of the ladder."""
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
        return np.interp(-np.log(delta), -log_delta[order], eps[order])

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
            for _ in range(40):
                if not open_.size:
                    break
                tried = t[open_] + side * room[open_]
                good = self._encloses(direction, tried, alpha[open_], side)
                miss = self._miss(direction, tried[good])
                found[open_[good]] = miss.lower if side < 0 else miss.upper
                open_ = open_[~good]
                room[open_] *= 4
            ends.append(found)
        return Ends(np.clip(ends[0], 0.0, 1 - alpha), np.clip(ends[1], 0.0, 1 - alpha))

    def _encloses(self, direction: Direction, t: Array, alpha: Array, side: float) -> Array:
        """Whether the type I error at t is proved to be at least (side < 0) or at most (side > 0) alpha."""
        small = alpha < 0.5
        good = np.zeros(alpha.size, dtype=bool)
        kinds = ("alpha", "acceptance") if direction == "forward" else ("beta", "power")
        sign = 1.0 if direction == "forward" else -1.0
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
        """t with type I error alpha, by Newton on its logarithm, and the width in t that its error bound leaves."""
        sign = 1.0 if direction == "forward" else -1.0
        small = alpha < 0.5
        t, margin = np.empty(alpha.size), np.empty(alpha.size)
        for mask, near in ((small, True), (~small, False)):
            if not mask.any():
                continue
            kind = {
                (True, True): "alpha", (True, False): "acceptance", (False, True): "beta", (False, False): "power"
            }[direction == "forward", near]
            target = alpha[mask] if near else 1 - alpha[mask]
            x = self._threshold_guess(kind, target)
            rising = kind in ("acceptance", "beta")
            for _ in range(_NEWTON_STEPS):
                value, density = self.integrals.value_and_density(kind, x)
                with np.errstate(divide="ignore", invalid="ignore"):
                    step = (np.log(target) - np.log(value)) * value / density * (1 if rising else -1)
                scale = 1 / self.integrals.width
                step = np.clip(np.where(np.isfinite(step), step, 0.0), -scale, scale)
                x = x + step
                if np.all(np.abs(step) <= 1e-15 * scale):
                    break
            ends = self.integrals(kind, x)
            density = self.integrals.value_and_density(kind, x)[1]
            with np.errstate(divide="ignore", invalid="ignore"):
                width = 3 * (ends.upper - ends.lower) / density + 1e-15 * scale
            t[mask] = sign * x
            margin[mask] = np.where(np.isfinite(width) & (width > 0), width, 1e-9 * scale)
        return t, margin

    def _threshold_guess(self, kind: str, target: Array) -> Array:
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
        zero = np.zeros(1)
        tests = (self.integrals("alpha", zero), self.integrals("beta", zero))
        corner = sorted((float(tests[0].upper[0]), float(tests[1].upper[0])))
        bridge = np.where((alpha >= corner[0]) & (alpha <= corner[1]), math.fsum(corner) * (1 + 4e-16) - alpha, 1.0)
        upper = np.minimum(np.minimum(one.upper, other.upper), bridge)
        lower = 1 - self._delta("both", zero).upper[0] * (1 + 4e-16) - alpha
        for direction, curve in (("forward", one), ("backward", other)):
            lower = np.maximum(lower, self._ruled(direction, alpha, curve.lower))
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def _ruled(self, direction: Direction, alpha: Array, curve: Array) -> Array:
        """The curve's lower end where its direction has the larger delta at the slope there, 0 elsewhere."""
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        result = np.where((alpha == 0) | (alpha == 1), 1 - alpha, 0.0)
        if inner.size:
            t, _ = self._threshold(direction, alpha[inner])
            mine, theirs = self._delta(direction, t), self._delta(_OPPOSITE[direction], t)
            result[inner] = np.where(mine.lower >= theirs.upper, curve[inner], 0.0)
        return result


@dataclass(frozen=True, eq=False)
class ContourTradeOff(TradeOff):
    """One end of the certified trade-off function, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _evaluate(self, alpha: Array) -> Array:
        return _pick(self.answers.tradeoff(self.direction, alpha), self.end)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions are enclosed."""
        return self.direction == "both"

    def inverse(self) -> TradeOff:
        """The other direction."""
        return ContourTradeOff(self.answers, self.end, _OPPOSITE[self.direction])

    def symmetrise(self) -> TradeOff:
        """Both directions."""
        return ContourTradeOff(self.answers, self.end, "both")

    def profile(self) -> Profile:
        """The same end of f is the other end of delta."""
        ends: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
        return ContourProfile(self.answers, ends[self.end], self.direction)


@dataclass(frozen=True, eq=False)
class ContourProfile(Profile):
    """One end of the certified profile, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(self.direction, epsilon), self.end)

    def _reverse_delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(_OPPOSITE[self.direction], epsilon), self.end)

    def _epsilon(self, delta: Array) -> Array:
        return _pick(self.answers.epsilon(self.direction, delta), self.end)

    def reverse(self) -> Profile:
        """The other direction."""
        return ContourProfile(self.answers, self.end, _OPPOSITE[self.direction])

    def tradeoff(self) -> TradeOff:
        """The trade-off function of which this is the dual."""
        ends: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
        return ContourTradeOff(self.answers, ends[self.end], self.direction)


def _pick(ends: Ends, end: End) -> Array:
    if end == "middle":
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(ends.upper), ends.upper, 0.5 * (ends.lower + ends.upper))
    return ends.lower if end == "lower" else ends.upper
