"""Certified values of delta, alpha and beta from ladders of vertical lines.

Every reading goes to the rung whose integrand is smallest; a rung's line is prepared when it is first needed and then
serves every kind of reading near it. The spacing of a line is chosen so that its aliases stay below e^-NATS of what is
read there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends
from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.ladder import Ladder, Side
from edgeworth.composition.contour.line import LARGEST, Line
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.roots import Roots
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["ALIAS_NATS", "STEP_SLACK", "Integrals", "Kind", "Rung"]

#: which integral: the two profiles, 1 less each of them, and the four tails of the likelihood-ratio tests
Kind: TypeAlias = Literal["delta", "reverse", "overlap", "reverse overlap", "alpha", "acceptance", "beta", "power"]

ALIAS_NATS = 36.0  # aliases are held below e^-36 = 2e-16 of the reading
_SLACK = 1e-9  # of K from its own quadrature, relative, where only a bound is wanted; and of every step, absolute:
STEP_SLACK = 1e-14
_BEYOND = 0.1 * 2.0 ** np.arange(8)  # how far beyond a rung Chernoff's bound of the aliases looks, in 1/std
_NEARER = 2.0 ** -np.arange(1.0, 11.0)  # of the distance of the first rung from its pole
_MOST_CHOICES = 8
_MOST_EXPONENTS = np.array([[LARGEST], [0.0], [700.0]])
_CLIMB, _RUNG = 2.5e4, 1e4  # units of work for a ladder, and for a rung besides its parts
_SERVED = 1.2  # standard deviations from its centre, about, that a rung serves
_FARTHER = 2.0  # times the period that outward aliases want: where inward ones want more, they are looked at closely


class Shape(NamedTuple):
    """One kind of integral: the poles of its integrand, the one in its exponent (pole - c) t, where its lines stand."""

    poles: tuple[float, ...]
    pole: float
    sides: tuple[Side, ...]
    sign: float


_SHAPES: dict[Kind, Shape] = {
    "delta": Shape((0.0, 1.0), 1.0, ("right",), 1.0),
    "reverse": Shape((0.0, 1.0), 0.0, ("left",), 1.0),  # at t = -eps'
    "overlap": Shape((0.0, 1.0), 1.0, ("inner",), -1.0),
    "reverse overlap": Shape((0.0, 1.0), 0.0, ("middle",), -1.0),  # at t = -eps', too
    "alpha": Shape((0.0,), 0.0, ("middle", "right"), 1.0),
    "acceptance": Shape((0.0,), 0.0, ("left",), -1.0),
    "power": Shape((1.0,), 1.0, ("right",), 1.0),
    "beta": Shape((1.0,), 1.0, ("left", "middle"), -1.0),
}


class Tilts(NamedTuple):
    """Some tilts, and K there."""

    c: Array
    k: Array

    def between(self, one: float, other: float) -> Tilts:
        """Those of them that lie between two others."""
        inside = (self.c > min(one, other)) & (self.c < max(one, other))
        return Tilts(self.c[inside], self.k[inside])


class Bounds(NamedTuple):
    """What stands around the sum of one kind: logarithms that are linear in the threshold, as columns."""

    constant: Array
    slope: Array
    inward: float
    """At least the sum of the inward aliases, by the mass."""
    closer: tuple[Array, Array] | None
    """The same by Chernoff's inequality, where the mass alone would ask for a long period: constants and slopes."""


class Integrals:
    """All readings of one sum of steps by line integrals."""

    def __init__(self, steps: Steps, choices: int = _MOST_CHOICES) -> None:
        """Prepare; a threshold tries this many rungs at most, should their lines not be had."""
        self.steps, self._choices = steps, choices
        self.moments = LogMoments(steps)
        self._ladders: dict[Side, Ladder] = {}
        self.spread, self.middle = self.moments.spread, self.moments.middle
        self.mean_under_p, self.mean_under_q = self.moments.mean_under_p, self.moments.mean_under_q
        self._near: dict[Side, Array] = {}
        self._built: dict[tuple[Side, int], Rung] = {}
        self._last: dict[Kind, Rung] = {}
        self._sizes: dict[Kind, tuple[list[int], list[tuple[Side, int]], Array, Array]] = {}

    @property
    def kept(self) -> int:
        """How many nodes its lines hold in memory."""
        return sum(rung.line.t.size for rung in self._built.values() if rung.line is not None)

    def ladder(self, side: Side) -> Ladder:
        """The rungs of one side."""
        if side not in self._ladders:
            spend(_CLIMB)
            self._ladders[side] = Ladder(self.moments, side)
        return self._ladders[side]

    def __call__(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of the kind's value at every threshold t (for "reverse", at eps' = -t)."""
        owners = self.owners(kind, threshold)
        if len(owners) == 1:
            return owners[0][0].ends(kind, threshold)
        lower, upper = np.empty(threshold.size), np.empty(threshold.size)
        for rung, here in owners:
            lower[here], upper[here] = rung.ends(kind, threshold[here])
        return Ends(lower, upper)

    def log_ceiling(self, kind: Kind, threshold: Array) -> Array:
        """At least the logarithm of the value at every threshold: the best of Chernoff's bounds at the rungs.

        And at tilts nearer to the pole than any rung: of a narrow bulk the first may be far beyond what a jump wants.
        """
        shape = _SHAPES[kind]
        self._reach(kind, threshold)
        outer: Side = next((side for side in shape.sides if side != "middle"), "middle")
        tables = [self.ladder(side).table for side in shape.sides]
        c, k = np.concatenate([self._nearer(outer), *tables])[:, :2].T
        slack = _SLACK * (1 + np.abs(k)) + STEP_SLACK * (sum(n for _, n in self.steps.others) + 1)
        return np.asarray(np.min((k + slack)[:, None] + (shape.pole - c)[:, None] * threshold, axis=0))

    def _nearer(self, side: Side) -> Array:
        """Tilts between the pole and the first rung, and K there."""
        if side not in self._near:
            pole, table = self.ladder(side).pole, self.ladder(side).table
            if not len(table):
                raise ComputationFailed("no line is left: next to the pole the moments of this law are no doubles")
            c = pole + (table[0, 0] - pole) * _NEARER
            self._near[side] = np.column_stack([c, self.moments(c)])
        return self._near[side]

    def _reach(self, kind: Kind, threshold: Array) -> None:
        """Climb as far as the thresholds ask."""
        for side in _SHAPES[kind].sides:
            ladder = self.ladder(side)
            if side == "middle" and kind != "reverse overlap":
                ladder.climb_to_the_end()
            else:
                ladder.reach(float((ladder.outward * threshold).max()) * ladder.outward)

    def owners(self, kind: Kind, threshold: Array) -> list[tuple[Rung, Any]]:
        """The rungs that serve these thresholds, each with the index of its own: the smallest integrand wins.

        Often all of them are served by the rung that was asked last.
        """
        last = self._last.get(kind)
        if last is not None and last.serves(kind, threshold):
            return [(last, slice(None))]
        self._reach(kind, threshold)
        names, c, log_size = self._integrands(kind)
        size = log_size + (_SHAPES[kind].pole - c) * threshold
        nearest = size.argmin(axis=0).tolist()
        if len(set(nearest)) == 1 and self._rung(*names[nearest[0]]).line is not None:
            self._last[kind] = self._rung(*names[nearest[0]])
            return [(self._last[kind], slice(None))]
        best = self._living(names, size)
        return [(self._rung(*names[number]), best == number) for number in sorted(set(best.tolist()))]

    def _integrands(self, kind: Kind) -> tuple[list[tuple[Side, int]], Array, Array]:
        """The rungs that may serve a kind; their tilts, and the log of the integrand's size at t = 0, as columns."""
        shape, tables = _SHAPES[kind], [self.ladder(side).table for side in _SHAPES[kind].sides]
        heights = [len(table) for table in tables]
        if self._sizes.get(kind, ([],))[0] != heights:
            names = [
                (side, number) for side, height in zip(shape.sides, heights, strict=True) for number in range(height)
            ]
            c, k = np.concatenate(tables)[:, :2].T
            log_size = k - sum(np.log(np.abs(c - pole)) for pole in shape.poles)
            self._sizes[kind] = heights, names, c[:, None], log_size[:, None]
        return self._sizes[kind][1:]

    def root(self, kind: Kind, rung: Rung, guess: Array, log_target: Array) -> tuple[Array, Array]:
        """Thresholds at which the kind has these logarithms, and the width that its errors leave open around each."""
        return self._roots(kind, rung)(guess, log_target, self.spread)

    def root_on_last_line(self, kind: Kind, log_target: Array) -> tuple[Rung, Array, Array] | None:
        """The same without a guess, after its rung, where the one that was asked last serves all of these roots."""
        rung = self._last.get(kind)
        found = None if rung is None else self._roots(kind, rung).by_interpolation(log_target)
        return None if rung is None or found is None else (rung, *found)

    def _roots(self, kind: Kind, rung: Rung) -> Roots:
        if kind not in rung.roots:
            rung.roots[kind] = Roots(rung, kind, *self._domain(kind, rung))
        return rung.roots[kind]

    def _domain(self, kind: Kind, rung: Rung) -> tuple[float, float]:
        """The thresholds at which no other rung has a smaller integrand, from the inner end outward.

        Not beyond the median of a tail, about, nor beyond epsilon = 0; nor far where no rung follows.
        """
        _, tilts, log_sizes = self._integrands(kind)
        shape, outward = _SHAPES[kind], rung.outward(kind)
        places = [(outward * (c - rung.c), size) for c, size in zip(tilts.flat, log_sizes.flat, strict=True)]
        own = next(size for away, size in places if away == 0)
        mean = self.mean_under_q if shape.pole else self.mean_under_p
        inner = outward * mean - 0.1 * self.spread if len(shape.poles) == 1 else 0.0
        inner = max([inner, *((size - own) / away for away, size in places if away < 0)])
        outer = outward * rung.centre + 2 * math.sqrt(rung.variance)
        outer = min([outer, *((size - own) / away for away, size in places if away > 0)])
        outer = max(outer, inner + 0.1 * self.spread)
        return outward * inner, outward * outer

    def _living(self, names: list[tuple[Side, int]], size: Array) -> NDArray[np.intp]:
        """The number of the smallest integrand whose line can be had, for each threshold; after some, the smallest."""
        first_choice: NDArray[np.intp] = np.argmin(size, axis=0)
        nearest = first_choice
        for _ in range(self._choices):
            dead = [number for number in set(nearest.tolist()) if self._rung(*names[number]).line is None]
            if not dead:
                return nearest
            size[dead] = math.inf  # these lines cannot be had: the next smallest integrand serves
            nearest = np.argmin(size, axis=0)
        dead = [number for number in set(nearest.tolist()) if self._rung(*names[number]).line is None]
        return np.where(np.isin(nearest, dead), first_choice, nearest)

    def _rung(self, side: Side, number: int) -> Rung:
        if (side, number) not in self._built:
            self._built[side, number] = Rung(self, side, *self.ladder(side).table[number].tolist())
        return self._built[side, number]


class Rung:
    """One line, and the bounds that its readings need."""

    line: Line | None
    """None where it cannot be had."""

    def __init__(self, integrals: Integrals, side: Side, c: float, k: float, mean: float, variance: float) -> None:
        spend(_RUNG)
        self.c, self.k, self.centre, self.variance = c, k, mean, variance
        self._steps = float(sum(n for _, n in integrals.steps.others)) + 1
        self._kinds = [kind for kind, shape in _SHAPES.items() if side in shape.sides]
        self._log_mass = {0.0: 0.0, 1.0: 0.0}
        if integrals.steps.log_ways:  # no probability: its masses under P and under Q
            self._log_mass = {
                pole: min(0.0, log_mass + self._slack_at(log_mass))
                for pole, log_mass in integrals.moments.log_mass.items()
            }
        ways = {-1.0 if c < _SHAPES[kind].pole else 1.0 for kind in self._kinds}
        self._beyond = {way: self._chernoff(integrals.moments, way) for way in ways}
        self._within: dict[float, Tilts] = {}
        self.roots: dict[Kind, Roots] = {}
        self._bounds: dict[Kind, Bounds] = {}
        self._log_ceiling = k + self._slack_at(k)
        self.period, self.line = math.inf, None
        with suppress(*GIVES_UP):  # extremes overflow: then there is no line here
            self.period = max(self._period(_SHAPES[kind], integrals.moments) for kind in self._kinds)
            self.line = Line(integrals.steps, c, self.period, integrals.moments.falls_from(c, variance, NATS))
        if self.line is not None and abs(self.line.k - k) > self._slack_at(k):
            self.line = None  # the two quadratures of K disagree: neither is believed

    def _chernoff(self, moments: LogMoments, way: float) -> Tilts:
        """Tilts beyond this one in a direction, and K there."""
        tilt: Array = self.c + way * np.asarray(_BEYOND / max(math.sqrt(self.variance), 1e-300), dtype=np.float64)
        tilt = tilt[(tilt > moments.steepest[0]) & (tilt < moments.steepest[1])]
        k = moments.log(tilt) if tilt.size else tilt
        return Tilts(tilt[np.isfinite(k)], k[np.isfinite(k)])

    def _slack_at(self, k: float) -> float:
        return _SLACK * (1 + abs(k)) + STEP_SLACK * self._steps

    def ends(self, kind: Kind, t: Array) -> Ends:
        """Both ends at every t; where the line cannot be had, 0 and Chernoff's bound."""
        shape = _SHAPES[kind]
        if self.line is None:
            return Ends(np.zeros(t.size), np.exp(np.minimum((shape.pole - self.c) * t + self._log_ceiling, 0.0)))
        front, ceiling, aliases = self._around(kind, t)
        (total,) = self.line.sums(t, shape.poles)
        value = shape.sign * front * total
        error = self.line.error(front, abs(self.c - shape.pole), t, value, shape.poles)
        lower = np.maximum(value - error - aliases, 0.0)
        return Ends(np.minimum(lower, ceiling), np.minimum(value + error, ceiling))

    def serves(self, kind: Kind, t: Array) -> bool:
        """Whether these thresholds are known to be served best by this rung: where it has roots, they say so."""
        return kind in self.roots and self.roots[kind].served(t)

    def outward(self, kind: Kind) -> float:
        """Which way the kind falls."""
        return math.copysign(1.0, self.c - _SHAPES[kind].pole)

    def value(self, kind: Kind, t: Array) -> Array:
        """The sum at every t, without its bounds."""
        if self.line is None:
            return np.full(t.size, np.nan)
        shape = _SHAPES[kind]
        (total,) = self.line.sums(t, shape.poles)
        return np.asarray(shape.sign * self.line.front((shape.pole - self.c) * t) * total)

    def value_and_slope(self, kind: Kind, t: Array) -> tuple[Array, Array]:
        """The sum at every t, without its bounds, and the slope of its logarithm.

        A tail falls by the density. A profile falls by its tail less itself: -d delta/d eps = Q[T > eps] - delta(eps).
        """
        if self.line is None:
            return np.full(t.size, np.nan), np.full(t.size, np.nan)
        line, shape, outward = self.line, _SHAPES[kind], self.outward(kind)
        falls: tuple[float, ...] = () if len(shape.poles) == 1 else (shape.pole,)
        total, fall = line.sums(t, shape.poles, falls)
        front = line.front((shape.pole - self.c) * t)
        value, fall = shape.sign * front * total, front * fall
        return value, -outward * (fall / value if not falls else outward * fall / value - 1)

    def doubt(self, kind: Kind, t: Array, value: Array) -> Array:
        """How far apart the ends of this value are, relative to it."""
        if self.line is None:
            return np.full(t.size, math.inf)
        shape = _SHAPES[kind]
        front, _, aliases = self._around(kind, t)
        error = self.line.error(front, abs(self.c - shape.pole), t, value, shape.poles)
        return np.asarray((2 * error + aliases) / value)

    def _period(self, shape: Shape, moments: LogMoments) -> float:
        """The shortest period whose aliases are below e^-NATS of the reading at the centre, by both bounds.

        A threshold off the centre wants as much more, on either side. Far out under one law the mass of the other is a
        poor bound of inward aliases: tilts between the pole and this one do better.
        """
        distance, way = abs(self.c - shape.pole), math.copysign(1.0, self.c - shape.pole)
        size = math.prod(abs(self.c - pole) for pole in shape.poles)
        log_value = self.k - self.c * self.centre - math.log(size * math.sqrt(self.variance)) - 2
        inward = (ALIAS_NATS + self._log_mass[shape.pole] - log_value - shape.pole * self.centre) / distance
        outward = self._period_by(self._outward_tilts(shape), log_value)
        if math.isinf(outward):
            return max(inward, 60 * math.sqrt(self.variance))
        if inward > _FARTHER * outward:
            if shape.pole not in self._within:
                self._within[shape.pole] = self._chernoff(moments, -way).between(shape.pole, self.c)
            inward = min(inward, self._period_by(self._within[shape.pole], log_value))
        return max(inward, outward) + _SERVED * math.sqrt(self.variance)

    def _period_by(self, tilts: Tilts, log_value: float) -> float:
        """The one that the best of these tilts allows; inf where there is none."""
        need = tilts.k - tilts.c * self.centre + (ALIAS_NATS - log_value)
        return float((need / np.abs(tilts.c - self.c)).min(initial=math.inf))

    def _around(self, kind: Kind, t: Array) -> tuple[Array, Array, Array]:
        """What stands before the sum; Chernoff's bound of the reading; at least the sum of the aliases, all >= 0.

        Each is e to the power of a linear function of t, or of the least of some.
        """
        if kind not in self._bounds:
            self._bounds[kind] = self._bounds_of(_SHAPES[kind])
        constant, slope, inward, closer = self._bounds[kind]
        rows = slope * t
        rows += constant
        np.minimum.reduce(rows[2:], axis=0, out=rows[2])
        front, ceiling, outward = np.exp(np.minimum(rows[:3], _MOST_EXPONENTS))
        if closer is not None:
            closest = np.minimum.reduce(closer[0] + closer[1] * t, axis=0)
            return front, ceiling, np.minimum(np.exp(np.minimum(closest, 700.0)), inward) + outward
        return front, ceiling, inward + outward

    def _outward_tilts(self, shape: Shape) -> Tilts:
        """Tilts beyond this one; those of an overlap lie between the poles."""
        tilts = self._beyond[math.copysign(1.0, self.c - shape.pole)]
        return tilts.between(*shape.poles) if 0 < self.c < 1 < len(shape.poles) else tilts

    def _bounds_of(self, shape: Shape) -> Bounds:
        """Aliases: inward ones by the mass, or by tilts between the pole and c; outward ones by tilts beyond c."""
        assert self.line is not None
        pole, tilts = shape.pole, self._outward_tilts(shape)
        inward = math.exp(self._log_mass[pole]) / math.expm1(min(abs(self.c - pole) * self.period, 700.0))
        if not tilts.c.size:  # nothing bounds the outward ones
            tilts, inward = Tilts(np.array([pole]), np.zeros(1)), math.inf
        within = self._within.get(pole)
        closer = None
        if within is not None and within.c.size:
            closer = self._log_aliases(within)[:, None], (pole - within.c)[:, None]
        constant = np.array([self.line.log_front, self._log_ceiling, *self._log_aliases(tilts).tolist()])
        slope = pole - np.array([self.c, self.c, *tilts.c.tolist()])
        return Bounds(constant[:, None], slope[:, None], inward, closer)

    def _log_aliases(self, tilts: Tilts) -> Array:
        """At least the log of the sum of the aliases on one side, at t = 0, by each of these tilts."""
        fall = np.abs(tilts.c - self.c) * self.period
        slack = _SLACK * (1 + np.abs(tilts.k)) + STEP_SLACK * self._steps
        return np.asarray(tilts.k + slack - fall - np.log(-np.expm1(-fall)))
