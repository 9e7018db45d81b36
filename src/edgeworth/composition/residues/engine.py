"""Certified composition of Laplace steps, with randomized responses beside them: exact sums of residues.

The losses have atoms, which a line integral cannot follow; but their moment generating functions are finite sums of
exponentials over powers of 2s - 1, so every reading is a residue. `docs/proofs/residues.md` proves every bound.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import OPPOSITE, Direction, Ends
from edgeworth.composition.remembered import answered
from edgeworth.composition.residues.circle import Circles
from edgeworth.composition.residues.expansion import UNIT, Expansion, expandable, group_sizes
from edgeworth.composition.residues.readings import both_sides, doubt, profile_below, value_at
from edgeworth.curves import Certificate
from edgeworth.curves.search import bracketed_root, golden_maximum
from edgeworth.errors import Unsupported
from edgeworth.losses import BinaryLoss, CategoricalLoss, LaplaceLoss, TotalLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses.law import Array

__all__ = ["ResidueAnswers", "answers_well", "applies", "compose", "has_few_terms", "prepared"]

_MOST_TERMS = 20_000  # of each of the two groups, whose product is the number of exponentials
_FEW_EXPONENTIALS = 5_000
_MOST_DENSITY_NATS = 400.0  # sum of n log(1 + theta/2): beyond, nothing is left of the digits
_GOOD_DENSITY_NATS = 34.0  # up to here the terms cancel by less than some thousandfold: measured, see the tests
_DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_MOST_WIDENINGS = 40
_NOTE = "every reading carries its own bound on these, on rounding, and on the terms that are left out"


@lru_cache(maxsize=8)
def applies(total: TotalLoss) -> bool:
    """Whether every step is a short sum of exponentials, one of them Laplace noise, and all together are not too many.

    >>> import edgeworth as ew
    >>> applies(TotalLoss.of(ew.Laplace(scale=2.0) ** 10 * ew.RandomizedResponse(0.5)))
    True
    >>> applies(TotalLoss.of(ew.Laplace(scale=2.0) * ew.Gaussian(1.0)))
    False
    """
    if not all(expandable(loss) for loss, _ in total.parts) or not _finite(total.support):
        return False
    return _density_nats(total) <= _MOST_DENSITY_NATS and total.support[1] > 0 and _affordable(total)


def answers_well(total: TotalLoss) -> bool:
    """Whether it applies and the atoms still weigh enough for nearly all digits to be left."""
    return applies(total) and _density_nats(total) <= _GOOD_DENSITY_NATS


def has_few_terms(total: TotalLoss) -> bool:
    """Whether it applies and the residues are sums of so few terms that they cost next to nothing."""
    return applies(total) and math.prod(group_sizes(total)) <= _FEW_EXPONENTIALS


def _finite(support: tuple[float, float]) -> bool:
    return all(math.isfinite(end) and abs(end) < 1e100 for end in support)


def _affordable(total: TotalLoss) -> bool:
    leaky = [loss for loss, _ in total.parts if isinstance(loss, LaplaceLoss) and loss.theta > 1e-100]
    return bool(leaky) and max(n for _, n in total.parts) < _MOST_TERMS and group_sizes(total)[1] <= _MOST_TERMS


def _density_nats(total: TotalLoss) -> float:
    """Minus the logarithm of the share of the atoms in the law tilted by e^(L/2), 1/(1 + theta/2) for each step."""
    return math.fsum(n * math.log1p(loss.theta / 2) for loss, n in total.parts if isinstance(loss, LaplaceLoss))


@lru_cache(maxsize=8)
def prepared(total: TotalLoss) -> ResidueAnswers:
    """The answers of a total loss; the last few are kept with the circles that they have made."""
    return ResidueAnswers(total)


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by residues, prepared lazily: a reading makes only the circles that it needs.

    >>> import edgeworth as ew
    >>> curve = compose(TotalLoss.of(ew.Laplace(scale=2.0) ** 2))
    >>> curve.certificate.method
    'residues'
    """
    del degree
    if not applies(total):
        raise Unsupported(
            'method="residues" needs Laplace noise, alone or with randomized responses, in not too many different '
            'steps; use method="auto", which falls back on others'
        )
    answers = prepared(total)
    expansion = answers.forward.expansion
    sources = {
        "aliases of the trapezoidal rule, relative to the integrand": math.exp(-Circles.ALIAS_NATS),
        "rounding of the losses": float(expansion.place_error(np.asarray(2 * expansion.largest))),
        "rounding of the masses, relative": expansion.weight_error,
    }
    certificate = Certificate("residues", certified=True, sources=sources, notes=(_NOTE,))
    return answered(answers, total, certificate)


class ResidueAnswers:
    """Certified ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        expansion = Expansion.of(total)
        mirrored = all(isinstance(loss, LaplaceLoss | BinaryLoss | CategoricalLoss) for loss, _ in total.parts)
        self.forward = Circles(expansion)
        self.backward = self.forward if mirrored else Circles(expansion.mirrored())

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return self.forward is self.backward

    def _circles(self, direction: Direction) -> Circles:
        return self.forward if direction == "forward" else self.backward

    def _resolved(self, direction: Direction) -> Direction:
        return "forward" if self.symmetric else direction

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._delta(direction, epsilon)

    def _delta(self, direction: Direction, epsilon: Array) -> Ends:
        direction = self._resolved(direction)
        if direction == "both":
            return _larger(self._delta("forward", epsilon), self._delta("backward", epsilon))
        right = epsilon >= 0
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        lower[right], upper[right] = self._profile(direction, epsilon[right])
        # delta(eps) = 1 - e^eps + e^eps delta'(-eps): no cancellation for eps < 0
        left = epsilon[~right]
        base, growth, ends = -np.expm1(left), np.exp(left), self._profile(OPPOSITE[direction], -left)
        lower[~right] = np.clip((base + growth * ends.lower) * (1 - 8 * UNIT), 0.0, 1.0)
        upper[~right] = np.clip((base + growth * ends.upper) * (1 + 8 * UNIT), 0.0, 1.0)
        return Ends(lower, upper)

    def _profile(self, direction: Direction, epsilon: Array) -> Ends:
        """For eps >= 0."""
        return profile_below(self._circles(direction), self._circles(direction).expansion.below(epsilon))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._epsilon(direction, delta)

    def _epsilon(self, direction: Direction, delta: Array) -> Ends:
        direction = self._resolved(direction)
        if direction == "both":
            return _larger(self._epsilon("forward", delta), self._epsilon("backward", delta))
        expansion = self._circles(direction).expansion
        least, greatest = (float(expansion.above(np.zeros(1), side)[0]) for side in (-1, 1))
        lower, upper = np.where(delta == 0, max(least, 0.0), 0.0), np.where(delta == 1, 0.0, greatest)
        at_zero = self._profile(direction, np.zeros(1))
        upper[delta >= at_zero.upper[0]] = 0.0
        (asked,) = np.nonzero((delta > 0) & (delta < at_zero.upper[0]))
        if asked.size:
            lower[asked], upper[asked] = self._solved(direction, delta[asked], upper[asked])
        return Ends(lower, upper)

    def _solved(self, direction: Direction, delta: Array, greatest: Array) -> Ends:
        """A root of log delta, then ends that the ends of delta verify; the end of the support is always one.

        Places are counted from the largest loss: so the root has all its digits, and epsilon as many as a double has.
        """
        circles = self._circles(direction)
        log_delta, at_zero = np.log(delta), circles.expansion.below(np.zeros(1))[0]

        def excess(t: Array, which: NDArray[np.intp]) -> Array:
            return _log(circles("delta", t).value) - log_delta[which]

        low, high = circles.around(log_delta)
        everyone, root = np.arange(delta.size), np.full(delta.size, at_zero)
        low = np.where(excess(low, everyone) > 0, low, at_zero)
        high = np.where(excess(high, everyone) <= 0, high, 0.0)
        (inside,) = np.nonzero(excess(low, everyone) > 0)  # elsewhere the target is delta(0) up to rounding
        root[inside] = bracketed_root(lambda x, which: excess(x, inside[which]), low[inside], high[inside])
        value, error = circles("delta", root)
        power = circles("power", root).value
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = 2 * error / (power - value) - 4 * UNIT * root  # d delta/d eps = delta - Q[T > eps]
        margin = np.where(np.isfinite(margin) & (margin > 0), margin, -1e-12 * root)
        margin = np.maximum(margin, 0.25 * UNIT * circles.expansion.largest)  # less is lost in the rounding of epsilon
        ends = []
        for side, end in ((-1.0, np.zeros(delta.size)), (1.0, greatest.copy())):
            open_, room = np.arange(delta.size), margin.copy()
            for _ in range(_MOST_WIDENINGS):
                tried = np.maximum(root[open_] + side * room[open_], at_zero)
                found = profile_below(circles, tried)
                good = np.asarray(found.lower >= delta[open_] if side < 0 else found.upper <= delta[open_], dtype=bool)
                end[open_[good]] = circles.expansion.above(tried[good], side)
                open_ = open_[~good]
                room[open_] *= 4
                if not open_.size:
                    break
            ends.append(end)
        return Ends(*(np.clip(end, 0.0, greatest) for end in ends))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._tradeoff(direction, alpha)

    def _tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        direction = self._resolved(direction)
        if direction == "both":
            return self._symmetrised(alpha)
        lower, upper = 1 - alpha, 1 - alpha  # exact at 0 and 1
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if inner.size:
            lower[inner], upper[inner] = self._by_tests(direction, alpha[inner])
        return Ends(lower, upper)

    def _tail(self, direction: Direction, t: Array) -> Ends:
        """Ends that enclose both P[T > t] and P[T >= t], of Q and -T backward: directly, and left of 0 also from 1."""
        circles, others = self._circles(direction), self._circles(OPPOSITE[direction])
        ends = both_sides(circles, "alpha", t)
        (left,) = np.nonzero(t < 0)
        if left.size:
            rest = both_sides(others, "power", -t[left])
            lower, upper = ends.lower.copy(), ends.upper.copy()
            lower[left] = np.maximum(lower[left], 1 - rest.upper - UNIT)
            upper[left] = np.minimum(upper[left], 1 - rest.lower + UNIT)
            ends = Ends(lower, upper)
        return ends

    def _below(self, direction: Direction, t: Array) -> Ends:
        """Ends that enclose P[T <= t] and P[T < t]: directly left of 0, from 1 on its right."""
        tail = self._tail(direction, np.maximum(t, 0.0))
        rest = both_sides(self._circles(OPPOSITE[direction]), "power", np.maximum(-t, 0.0))
        lower = np.where(t < 0, rest.lower, np.maximum(1 - tail.upper - UNIT, 0.0))
        return Ends(lower, np.where(t < 0, rest.upper, 1 - tail.lower + UNIT))

    def _values(self, direction: Direction, t: Array) -> tuple[Array, Array]:
        """P[T > t] and P[T <= t] without bounds, the smaller one directly."""
        below = np.empty(t.size)
        left = t < 0
        below[~left] = 1 - value_at(self._circles(direction), "alpha", t[~left])
        below[left] = value_at(self._circles(OPPOSITE[direction]), "power", -t[left])
        tail = 1 - below
        (small,) = np.nonzero(tail < 1e-3)
        tail[small] = value_at(self._circles(direction), "alpha", t[small])
        return tail, below

    def _threshold(self, direction: Direction, alpha: Array) -> Array:
        """Where the type I error falls below alpha; the smaller of the error and its complement is solved for."""
        small = alpha < 0.5
        log_target = np.log(np.where(small, alpha, 1 - alpha))

        def excess(t: Array, which: NDArray[np.intp]) -> Array:
            mine, gap = small[which], np.empty(t.size)
            tail, below = self._values(direction, t)
            gap[mine] = _log(tail[mine]) - log_target[which[mine]]
            gap[~mine] = log_target[which[~mine]] - _log(below[~mine])
            return gap

        least = -self._circles(OPPOSITE[direction]).expansion.largest
        greatest = self._circles(direction).expansion.largest
        reach = 1 + 1e-12
        low, high = np.full(alpha.size, least * reach), np.full(alpha.size, greatest * reach)
        return bracketed_root(excess, low, high)

    def _by_tests(self, direction: Direction, alpha: Array) -> Ends:
        """f(alpha) from two tests, T > t1 and T > t2, whose type I errors enclose alpha; t1 < t2 lie close together.

        Between the tests the likelihood ratio is between e^t1 and e^t2, which bounds f on both sides even where an atom
        between them makes it a straight segment.
        """
        t = self._threshold(direction, alpha)
        start = doubt(self._circles(direction), t)
        one, other = (self._enclosing(direction, t, start, alpha, side) for side in (-1.0, 1.0))
        known = np.isfinite(one) & np.isfinite(other)
        one, other = np.where(known, one, t), np.where(known, other, t)
        miss, miss_more = (self._tail(OPPOSITE[direction], -place) for place in (one, other))
        over, under = self._excess(direction, one, alpha), self._excess(direction, other, alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            least, most = np.exp(np.minimum(one, 700.0)) * (1 - 4 * UNIT), np.exp(other) * (1 + 4 * UNIT)
            lower = np.maximum(
                miss.lower + least * np.maximum(over.lower, 0.0),
                np.nan_to_num(miss_more.lower - most * np.maximum(-under.lower, 0.0), nan=0.0) - 4 * UNIT,
            )
            upper = np.minimum(
                np.nan_to_num(miss.upper + most * np.maximum(over.upper, 0.0), nan=1.0),
                miss_more.upper - least * np.maximum(-under.upper, 0.0) + 4 * UNIT,
            )
        upper = np.where(known, upper, 1.0) * (1 + 8 * UNIT)
        whole = np.nextafter(1 - alpha, 2.0)  # 1 - alpha itself may have been rounded down
        lower = np.where(known, lower, 0.0) * (1 - 8 * UNIT)
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), np.clip(upper, 0.0, whole))

    def _enclosing(self, direction: Direction, t: Array, room: Array, alpha: Array, side: float) -> Array:
        """Thresholds whose type I error is proved to be at least (side < 0) or at most (side > 0) alpha; or nan."""
        found, room = np.full(t.size, np.nan), room.copy()
        open_ = np.arange(t.size)
        for _ in range(_MOST_WIDENINGS):
            tried = t[open_] + side * room[open_]
            gap = self._excess(direction, tried, alpha[open_])
            good = np.asarray(gap.lower >= 0 if side < 0 else gap.upper <= 0, dtype=bool)
            found[open_[good]] = tried[good]
            open_ = open_[~good]
            room[open_] *= 4
            if not open_.size:
                break
        return found

    def _excess(self, direction: Direction, t: Array, alpha: Array) -> Ends:
        """Ends of P[T > t] - alpha; for alpha >= 1/2 from the complements, as 1 - alpha is exact there."""
        large = alpha >= 0.5
        lower, upper = np.empty(t.size), np.empty(t.size)
        if large.any():
            below, rest = self._below(direction, t[large]), 1 - alpha[large]
            lower[large], upper[large] = rest - below.upper, rest - below.lower
        if not large.all():
            tail = self._tail(direction, t[~large])
            lower[~large], upper[~large] = tail.lower - alpha[~large], tail.upper - alpha[~large]
        return Ends(np.nextafter(lower, -2.0), np.nextafter(upper, 2.0))

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order: where the slope of f is -1."""
        errors = (float(self._tail(direction, np.zeros(1)).upper[0]) for direction in _DIRECTIONS)
        least, greatest = sorted(errors)
        return least, greatest

    def _symmetrised(self, alpha: Array) -> Ends:
        """min{f, f^-1}**: below by a supporting line, above by both curves and a chord between them.

        The line 1 - D(t) - e^t alpha with D = max{delta, delta'} is highest at a t between the thresholds of the two
        directions. Where these differ, the curve is the chord between the points in which that line touches both.
        """
        one, other = self._tradeoff("forward", alpha), self._tradeoff("backward", alpha)
        lower, upper = np.maximum(self._supported(alpha, np.zeros(alpha.size)), 0.0), np.minimum(one.upper, other.upper)
        (inner,) = np.nonzero((alpha > 0) & (alpha < 1))
        if inner.size:
            a = alpha[inner]
            places = self._threshold("forward", a), self._threshold("backward", a)
            best = golden_maximum(lambda t: self._supported(a, t), np.minimum(*places), np.maximum(*places))
            for t in (*places, best):
                lower[inner] = np.maximum(lower[inner], self._supported(a, t))
            upper[inner] = np.minimum(upper[inner], self._chord(a, best))
        lower = np.where((alpha == 0) | (alpha == 1), 1 - alpha, lower)
        return Ends(np.clip(np.minimum(lower, upper), 0.0, 1 - alpha), upper)

    def _chord(self, alpha: Array, t: Array) -> Array:
        """The chord, at alpha, between a point of f and one of f^-1, both of tests near t; 1 where alpha is outside."""
        best = np.ones(alpha.size)
        room = doubt(self.forward, t)
        one, other = (
            [(self._tail(direction, u).upper, self._tail(OPPOSITE[direction], -u).upper) for u in (t - room, t + room)]
            for direction in _DIRECTIONS
        )
        for (x1, y1), (x2, y2) in itertools.product(one, other):
            inside = (np.minimum(x1, x2) < alpha) & (alpha < np.maximum(x1, x2))
            share = np.where(inside, (alpha - x1) / np.where(inside, x2 - x1, 1.0), 0.0)
            chord = (y1 + share * (y2 - y1)) + 8 * UNIT * (y1 + y2)
            best = np.where(inside, np.minimum(best, chord), best)
        return best

    def _supported(self, alpha: Array, t: Array) -> Array:
        """The line of slope -e^t that supports the symmetrised curve from below, at alpha: valid for every t.

        1 - delta(t) - e^t alpha, which for t < 0 is e^t (1 - alpha - delta(-t)), with no cancellation as alpha -> 1.
        """
        delta = self._delta("both", np.abs(t)).upper * (1 + 8 * UNIT)
        growth = np.exp(np.minimum(t, 700.0))
        steep = 1 - delta - growth * alpha * (1 + 8 * UNIT) - 8 * UNIT
        flat = growth * (1 - 8 * UNIT) * ((1 - alpha) * (1 - 8 * UNIT) - delta)
        return np.where(t >= 0, np.where(t > 700, 0.0, steep), flat)


def _larger(one: Ends, other: Ends) -> Ends:
    return Ends(np.maximum(one.lower, other.lower), np.maximum(one.upper, other.upper))


def _log(value: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(value, 0.0)))
