"""One rung of a ladder: its line, and the bounds that stand around the readings along it.

The spacing of a line is chosen so that its aliases stay below e^-NATS of what is read there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends
from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.line import LARGEST, Line
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.contour.integrals import Integrals
    from edgeworth.composition.contour.ladder import Side
    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.composition.contour.roots import Roots
    from edgeworth.losses.law import Array

__all__ = ["ALIAS_NATS", "K_SLACK", "SHAPES", "STEP_SLACK", "Kind", "Rung"]

#: which integral: the two profiles, 1 less each of them, and the four tails of the likelihood-ratio tests
Kind: TypeAlias = Literal["delta", "reverse", "overlap", "reverse overlap", "alpha", "acceptance", "beta", "power"]

ALIAS_NATS = 36.0  # aliases are held below e^-36 = 2e-16 of the reading
K_SLACK = 1e-9  # of K from its own quadrature, relative, where only a bound is wanted; and of every step, absolute:
STEP_SLACK = 1e-14
_BEYOND = 0.1 * 2.0 ** np.arange(8)  # how far beyond a rung Chernoff's bound of the aliases looks, in 1/std
_MOST_EXPONENTS = np.array([[LARGEST], [0.0], [700.0]])
_RUNG = 1e4  # units of work for a rung besides its parts
_SERVED = 1.2  # standard deviations from its centre, about, that a rung serves
_FARTHER = 2.0  # times the period that outward aliases want: where inward ones want more, they are looked at closely


class Shape(NamedTuple):
    """One kind of integral: the poles of its integrand, the one in its exponent (pole - c) t, where its lines stand."""

    poles: tuple[float, ...]
    pole: float
    sides: tuple[Side, ...]
    sign: float


SHAPES: dict[Kind, Shape] = {
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


class Rung:
    """One line, and the bounds that its readings need."""

    line: Line | None
    """None where it cannot be had."""

    def __init__(self, integrals: Integrals, side: Side, c: float, k: float, mean: float, variance: float) -> None:
        spend(_RUNG)
        self.c, self.k, self.centre, self.variance = c, k, mean, variance
        self._steps = float(sum(n for _, n in integrals.steps.others)) + 1
        self._kinds = [kind for kind, shape in SHAPES.items() if side in shape.sides]
        self._log_mass = {0.0: 0.0, 1.0: 0.0}
        if integrals.steps.log_ways:  # no probability: its masses under P and under Q
            self._log_mass = {
                pole: min(0.0, log_mass + self._slack_at(log_mass))
                for pole, log_mass in integrals.moments.log_mass.items()
            }
        ways = {-1.0 if c < SHAPES[kind].pole else 1.0 for kind in self._kinds}
        self._beyond = {way: self._chernoff(integrals.moments, way) for way in ways}
        self._within: dict[float, Tilts] = {}
        self.roots: dict[Kind, Roots] = {}
        self._bounds: dict[Kind, Bounds] = {}
        self._log_ceiling = k + self._slack_at(k)
        self.period, self.line = math.inf, None
        with suppress(*GIVES_UP):  # extremes overflow: then there is no line here
            self.period = max(self._period(SHAPES[kind], integrals.moments) for kind in self._kinds)
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
        return K_SLACK * (1 + abs(k)) + STEP_SLACK * self._steps

    def ends(self, kind: Kind, t: Array) -> Ends:
        """Both ends at every t; where the line cannot be had, 0 and Chernoff's bound."""
        shape = SHAPES[kind]
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
        return math.copysign(1.0, self.c - SHAPES[kind].pole)

    def value(self, kind: Kind, t: Array) -> Array:
        """The sum at every t, without its bounds."""
        if self.line is None:
            return np.full(t.size, np.nan)
        shape = SHAPES[kind]
        (total,) = self.line.sums(t, shape.poles)
        return np.asarray(shape.sign * self.line.front((shape.pole - self.c) * t) * total)

    def value_and_slope(self, kind: Kind, t: Array) -> tuple[Array, Array]:
        """The sum at every t, without its bounds, and the slope of its logarithm.

        A tail falls by the density. A profile falls by its tail less itself: -d delta/d eps = Q[T > eps] - delta(eps).
        """
        if self.line is None:
            return np.full(t.size, np.nan), np.full(t.size, np.nan)
        line, shape, outward = self.line, SHAPES[kind], self.outward(kind)
        falls: tuple[float, ...] = () if len(shape.poles) == 1 else (shape.pole,)
        total, fall = line.sums(t, shape.poles, falls)
        front = line.front((shape.pole - self.c) * t)
        value, fall = shape.sign * front * total, front * fall
        return value, -outward * (fall / value if not falls else outward * fall / value - 1)

    def doubt(self, kind: Kind, t: Array, value: Array) -> Array:
        """How far apart the ends of this value are, relative to it."""
        if self.line is None:
            return np.full(t.size, math.inf)
        shape = SHAPES[kind]
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
            self._bounds[kind] = self._bounds_of(SHAPES[kind])
        constant, slope, inward, closer = self._bounds[kind]
        rows = slope * t
        rows += constant
        if self.line is not None and self.line.cancels:
            rows[0] = self.line.exponent(SHAPES[kind].pole, t)
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
        slack = K_SLACK * (1 + np.abs(tilts.k)) + STEP_SLACK * self._steps
        return np.asarray(tilts.k + slack - fall - np.log(-np.expm1(-fall)))
