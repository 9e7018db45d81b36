"""Certified values of delta, alpha and beta from ladders of vertical lines.

Every reading goes to the rung whose integrand is smallest; a rung's line is prepared when it is first needed and then
serves every kind of reading near it. The spacing of a line is chosen so that its aliases stay below e^-NATS of what is
read there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.ladder import Ladder, Side
from edgeworth.composition.line import Line
from edgeworth.composition.log_moments import LogMoments
from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from edgeworth.composition.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["ALIAS_NATS", "STEP_SLACK", "Integrals", "Kind", "Rung"]

#: which integral: the two profiles, and the four tails of the likelihood-ratio tests
Kind: TypeAlias = Literal["delta", "reverse", "alpha", "acceptance", "beta", "power"]

ALIAS_NATS = 36.0  # aliases are held below e^-36 = 2e-16 of the reading
_SLACK = 1e-9  # of K from its own quadrature, relative, where only a bound is wanted; and of every step, absolute:
STEP_SLACK = 1e-14
_BEYOND = 0.1 * 2.0 ** np.arange(10)  # how far beyond a rung Chernoff's bound of the aliases looks, in 1/std
_MOST_CHOICES = 8


class Shape(NamedTuple):
    """One kind of integral: the poles of its integrand, the one in its exponent (pole - c) t, where its lines stand."""

    poles: tuple[float, ...]
    pole: float
    sides: tuple[Side, ...]
    sign: float


_SHAPES: dict[Kind, Shape] = {
    "delta": Shape((0.0, 1.0), 1.0, ("right",), 1.0),
    "reverse": Shape((0.0, 1.0), 0.0, ("left",), 1.0),  # at t = -eps'
    "alpha": Shape((0.0,), 0.0, ("middle", "right"), 1.0),
    "acceptance": Shape((0.0,), 0.0, ("left",), -1.0),
    "power": Shape((1.0,), 1.0, ("right",), 1.0),
    "beta": Shape((1.0,), 1.0, ("left", "middle"), -1.0),
}


class Integrals:
    """All readings of one sum of steps by line integrals."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.moments = LogMoments(steps)
        self._ladders: dict[Side, Ladder] = {}
        self.spread = 1 / self.moments.width
        rows = self.moments(np.array([0.0, 0.5, 1.0]))
        self.mean_under_p, self.middle, self.mean_under_q = rows[:, 1].tolist()
        self.log_mass = {0.0: float(rows[0, 0]), 1.0: float(rows[2, 0])}
        self._built: dict[tuple[Side, int], Rung] = {}

    def ladder(self, side: Side) -> Ladder:
        """The rungs of one side."""
        if side not in self._ladders:
            self._ladders[side] = Ladder(self.moments, side)
        return self._ladders[side]

    def __call__(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of the kind's value at every threshold t (for "reverse", at eps' = -t)."""
        lower, upper = np.zeros(threshold.size), np.ones(threshold.size)
        for rung, here in self.owners(kind, threshold):
            lower[here], upper[here] = rung.ends(kind, threshold[here])
        return Ends(lower, upper)

    def log_ceiling(self, kind: Kind, threshold: Array) -> Array:
        """At least the logarithm of the value at every threshold: the best of Chernoff's bounds at the rungs."""
        shape = _SHAPES[kind]
        c, k = self._tables(shape, threshold)[1][:, :2].T
        slack = _SLACK * (1 + np.abs(k)) + STEP_SLACK * (sum(n for _, n in self.steps.others) + 1)
        return np.asarray(np.min((k + slack)[:, None] + (shape.pole - c)[:, None] * threshold, axis=0))

    def _tables(self, shape: Shape, threshold: Array) -> tuple[list[tuple[Side, int]], Array]:
        """The rungs up to the thresholds, by name, and their rows."""
        names: list[tuple[Side, int]] = []
        tables = []
        for side in shape.sides:
            ladder = self.ladder(side)
            if side == "middle":
                while ladder.climb():
                    pass
            else:
                ladder.reach(float(np.max(ladder.outward * threshold)) * ladder.outward)
            names += [(side, number) for number in range(len(ladder.table))]
            tables.append(ladder.table)
        return names, np.concatenate(tables)

    def owners(self, kind: Kind, threshold: Array) -> list[tuple[Rung, Array]]:
        """The rungs that serve these thresholds, each with the mask of its own: the smallest integrand wins."""
        shape = _SHAPES[kind]
        names, table = self._tables(shape, threshold)
        c, k = table[:, :2].T
        log_size = k - sum(np.log(np.abs(c - pole)) for pole in shape.poles)
        size = log_size[:, None] + (shape.pole - c)[:, None] * threshold
        nearest = first_choice = np.argmin(size, axis=0)
        for _ in range(_MOST_CHOICES):
            dead = [number for number in set(nearest.tolist()) if self._rung(*names[number]).line is None]
            if not dead:
                break
            size[dead] = math.inf  # these lines cannot be had: the next smallest integrand serves
            nearest = np.argmin(size, axis=0)
        else:
            nearest = first_choice
        return [(self._rung(*names[number]), nearest == number) for number in sorted(set(nearest.tolist()))]

    def _rung(self, side: Side, number: int) -> Rung:
        if (side, number) not in self._built:
            self._built[side, number] = Rung(self, side, *self.ladder(side).table[number].tolist())
        return self._built[side, number]


class Rung:
    """One line, and the bounds that its readings need."""

    line: Line | None
    """None where it cannot be had."""

    def __init__(self, integrals: Integrals, side: Side, c: float, k: float, mean: float, variance: float) -> None:
        self.c, self.k, self.centre, self.variance = c, k, mean, variance
        self._steps = float(sum(n for _, n in integrals.steps.others)) + 1
        self._kinds = [kind for kind, shape in _SHAPES.items() if side in shape.sides]
        self._log_mass = {
            pole: min(0.0, log_mass + float(self._slack(np.asarray(log_mass)))) if integrals.steps.log_ways else 0.0
            for pole, log_mass in integrals.log_mass.items()
        }
        self._beyond = self._chernoff(integrals.moments, side)
        self.period, self.line = math.inf, None
        with suppress(EdgeworthError, ArithmeticError, ValueError):  # extremes overflow: then there is no line here
            self.period = max(self._period(_SHAPES[kind], mean) for kind in self._kinds)
            self.line = Line(integrals.steps, c, self.period, variance)
        if self.line is not None and abs(self.line.k - k) > self._slack(np.asarray(k)):
            self.line = None  # the two quadratures of K disagree: neither is believed

    def _chernoff(self, moments: LogMoments, side: Side) -> dict[float, tuple[Array, Array]]:
        """Tilts beyond this one and K there, for each direction in which aliases of some kind lie."""
        step = np.asarray(_BEYOND / math.sqrt(self.variance), dtype=np.float64)
        found: dict[float, tuple[Array, Array]] = {}
        for outward in {"left": (-1.0,), "middle": (-1.0, 1.0), "right": (1.0,)}[side]:
            tilt: Array = self.c + outward * step
            tilt = tilt[(tilt > moments.steepest[0]) & (tilt < moments.steepest[1])]
            k = moments(tilt)[:, 0] if tilt.size else tilt
            found[outward] = tilt[np.isfinite(k)], k[np.isfinite(k)]
        return found

    def _slack(self, k: Array) -> Array:
        return np.asarray(_SLACK * (1 + np.abs(k)) + STEP_SLACK * self._steps)

    def ends(self, kind: Kind, t: Array) -> Ends:
        """Both ends at every t; where the line cannot be had, 0 and Chernoff's bound."""
        shape = _SHAPES[kind]
        log_ceiling = self.k + (shape.pole - self.c) * t + self._slack(np.asarray(self.k))
        ceiling = np.exp(np.minimum(log_ceiling, 0.0))
        if self.line is None:
            return Ends(np.zeros(t.size), ceiling)
        value, error = self.line.sum((shape.pole - self.c) * t, t, shape.poles)
        value = shape.sign * value
        lower = np.maximum(value - error - self._aliases(shape, t), 0.0)
        return Ends(np.minimum(lower, ceiling), np.minimum(value + error, ceiling))

    def values(self, kinds: tuple[Kind, ...], t: Array) -> list[Array]:
        """The sums of these kinds at every t, without their bounds."""
        if self.line is None:
            return [np.full(t.size, np.nan) for _ in kinds]
        wave = self.line.wave(t)
        shapes = [_SHAPES[kind] for kind in kinds]
        return [shape.sign * self.line.value((shape.pole - self.c) * t, wave, shape.poles) for shape in shapes]

    def value_and_density(self, kind: Kind, t: Array) -> tuple[Array, Array]:
        """The sum of one kind, and the density of T under its law: P, or Q for the pole at 1."""
        if self.line is None:
            return np.full(t.size, np.nan), np.full(t.size, np.nan)
        shape, wave = _SHAPES[kind], self.line.wave(t)
        exponent = (shape.pole - self.c) * t
        return shape.sign * self.line.value(exponent, wave, shape.poles), self.line.value(exponent, wave, ())

    def _period(self, shape: Shape, centre: float) -> float:
        """The shortest period whose aliases are below e^-NATS of the reading, by both bounds."""
        distance = abs(self.c - shape.pole)
        size = float(np.prod([abs(self.c - pole) for pole in shape.poles]))
        log_value = self.k + (shape.pole - self.c) * centre - math.log(size * math.sqrt(self.variance)) - 2
        inward = (ALIAS_NATS + self._log_mass[shape.pole] - log_value) / distance
        tilt, k = self._beyond[math.copysign(1.0, self.c - shape.pole)]
        if not tilt.size:
            return max(inward, 60 * math.sqrt(self.variance))
        need = k + (shape.pole - tilt) * centre - log_value + ALIAS_NATS
        return max(inward, float(np.min(need / np.abs(tilt - self.c))))

    def _aliases(self, shape: Shape, t: Array) -> Array:
        """At least the sum of the aliases, all of them >= 0: the inward ones by 1, the outward ones by Chernoff."""
        inward = math.exp(self._log_mass[shape.pole]) / math.expm1(min(abs(self.c - shape.pole) * self.period, 700.0))
        tilt, k = self._beyond[math.copysign(1.0, self.c - shape.pole)]
        if not tilt.size:
            return np.full(t.size, math.inf)
        gap = np.abs(tilt - self.c)
        log_first = (k + self._slack(k) - gap * self.period)[:, None] + (shape.pole - tilt)[:, None] * t
        outward = np.exp(np.minimum(log_first, 700.0)) / -np.expm1(-gap * self.period)[:, None]
        return np.asarray(inward + np.min(outward, axis=0))
