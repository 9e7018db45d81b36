"""Certified values of delta, alpha and beta from a ladder of vertical lines.

Every reading goes to the rung whose saddle point is nearest; a rung's line is prepared when it is first needed and then
serves every reading near it. The rungs depend on the total loss alone, so one argument gives the same bits in every
company. The spacing of a line is chosen so that its aliases stay below e^-NATS of what is read there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.line import Line
from edgeworth.composition.tilts import Tilts
from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["ALIAS_NATS", "Ends", "Integrals", "Kind"]

#: which integral: the two profiles, and the four tails of the likelihood-ratio tests
Kind: TypeAlias = Literal["delta", "reverse", "alpha", "acceptance", "beta", "power"]

ALIAS_NATS = 36.0  # aliases are held below e^-36 = 2e-16 of the reading
_GRID = 0.4  # distance of the tilts at which K is known beforehand, as roots of depths
_SLACK = 1e-9  # of K from its own quadrature, relative, where only a bound is wanted; and of every step, absolute:
_STEP_SLACK = 1e-14
_RUNG_RATIO = 0.2
_MOST_CHOICES = 8
_RUNG = 0.8  # distance of the rungs, in standard deviations of the tilted law


class Ends(NamedTuple):
    """A lower and an upper end."""

    lower: Array
    upper: Array


class Shape(NamedTuple):
    """One kind of integral: its poles, the side of its line, its sign, and its exponent at threshold t."""

    poles: tuple[float, ...]
    side: int
    sign: float
    exponent: Callable[[float | Array, Array], Array]


_SHAPES: dict[Kind, Shape] = {
    "delta": Shape((0.0, 1.0), 1, 1.0, lambda c, t: (1 - c) * t),
    "reverse": Shape((0.0, 1.0), -1, 1.0, lambda c, t: -c * t),  # at t = -eps'
    "alpha": Shape((0.0,), 1, 1.0, lambda c, t: -c * t),
    "acceptance": Shape((0.0,), -1, -1.0, lambda c, t: -c * t),
    "power": Shape((1.0,), 1, 1.0, lambda c, t: (1 - c) * t),
    "beta": Shape((1.0,), -1, -1.0, lambda c, t: (1 - c) * t),
}


class Integrals:
    """All readings of one total loss by line integrals."""

    def __init__(self, total: TotalLoss) -> None:
        self.total = total
        tilts = Tilts(total, _GRID)
        self.width, self.range = tilts.width, tilts.range
        self.tilt, self.k, self.mean, self.variance = tilts.tilt, tilts.k, tilts.mean, tilts.variance
        self.middle = float(np.interp(0.5, self.tilt, self.mean))
        self._built: dict[tuple[Kind, int], Rung] = {}
        self._ladders: dict[Kind, tuple[Array, Array, Array]] = {}

    def _saddles(self, kind: Kind) -> tuple[Array, Array]:
        """Tilts on the kind's side, and the threshold whose saddle point each is, poles included."""
        shape = _SHAPES[kind]
        outer = max(shape.poles) if shape.side > 0 else min(shape.poles)
        closest = 0.15 * self.width
        offset = np.concatenate([closest * 1.3 ** np.arange(12), np.abs(self.tilt - outer)])
        tilts = np.unique(outer + shape.side * offset[offset >= closest])
        inside = tilts[(tilts >= self.range[0]) & (tilts <= self.range[1])]
        tilts = inside if inside.size > 1 else outer + shape.side * closest * np.array([1.0, 1.5])[:: shape.side]
        mean = np.interp(tilts, self.tilt, self.mean)
        return tilts, mean - sum(1 / (tilts - pole) for pole in shape.poles)

    def __call__(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of the kind's value at every threshold t (for "reverse", at eps' = -t)."""
        lower, upper = np.zeros(threshold.size), np.ones(threshold.size)
        for rung, here in self._owners(kind, threshold):
            lower[here], upper[here] = rung.ends(threshold[here])
        return Ends(lower, upper)

    def value_and_density(self, kind: Kind, threshold: Array) -> tuple[Array, Array]:
        """The kind's value without its bounds, and the density of T under its law, for Newton steps."""
        value, density = np.full(threshold.size, np.nan), np.full(threshold.size, np.nan)
        for rung, here in self._owners(kind, threshold):
            value[here], density[here] = rung.value_and_density(threshold[here])
        return value, density

    def _owners(self, kind: Kind, threshold: Array) -> list[tuple[Rung, Array]]:
        """The rungs that serve these thresholds, each with the mask of its own: the smallest integrand wins."""
        tilts, centres, log_size = self._rungs(kind)
        size = log_size[:, None] + _SHAPES[kind].exponent(tilts[:, None], threshold)
        nearest = first_choice = np.argmin(size, axis=0)
        for _ in range(_MOST_CHOICES):
            for number in np.unique(nearest):
                if (kind, int(number)) not in self._built:
                    rung = Rung(self, kind, float(tilts[number]), float(centres[number]))
                    self._built[kind, int(number)] = rung
                if self._built[kind, int(number)].line is None:
                    size[number] = math.inf  # this line cannot be had: the next smallest integrand serves
            again = np.argmin(size, axis=0)
            if np.array_equal(again, nearest):
                break
            nearest = again
        else:
            nearest = first_choice
        return [(self._built[kind, int(number)], nearest == number) for number in np.unique(nearest)]

    def _rungs(self, kind: Kind) -> tuple[Array, Array, Array]:
        """Tilts, the thresholds whose saddle points they are, and the log of K and the poles there.

        One tilt every RUNG standard deviations, and at least one for every tenth of the distance to the pole.
        """
        if kind not in self._ladders:
            shape = _SHAPES[kind]
            tilts, centres = self._saddles(kind)
            scale = np.sqrt(np.maximum(np.interp(tilts, self.tilt, self.variance), 1e-300))
            distance = np.min([np.abs(tilts - pole) for pole in shape.poles], axis=0)
            density = scale / _RUNG + 1 / (_RUNG_RATIO * distance)
            place = np.concatenate([[0.0], np.cumsum(np.diff(tilts) * 0.5 * (density[1:] + density[:-1]))])
            even = np.linspace(place[0], place[-1], max(2, int(place[-1]) + 1))
            rungs = np.interp(even, place, tilts)
            log_poles = sum(np.log(np.abs(rungs - pole)) for pole in shape.poles)
            log_size = np.interp(rungs, self.tilt, self.k) - log_poles
            self._ladders[kind] = rungs, np.interp(even, place, centres), log_size
        return self._ladders[kind]


class Rung:
    """One line, for one kind of integral."""

    def __init__(self, integrals: Integrals, kind: Kind, c: float, centre: float) -> None:
        self.c, self.shape = c, _SHAPES[kind]
        poles, side = self.shape.poles, self.shape.side
        self.distance = abs(c - (max(poles) if side > 0 else min(poles)))
        self.k = float(integrals.total.tilted(np.array([c]), 2, integrals.range)[0, 0])
        self.variance = float(np.interp(c, integrals.tilt, integrals.variance))
        beyond = (integrals.tilt - c) * side > 1e-3 * self.distance
        self._tilts, self._ks = integrals.tilt[beyond], integrals.k[beyond]
        self._steps = float(sum(n for _, n in integrals.total.parts))
        self.period = self._period(centre)
        try:
            self.line: Line | None = Line(integrals.total, c, self.period)
        except EdgeworthError:
            self.line = None

    def _slack(self, k: Array) -> Array:
        return np.asarray(_SLACK * (1 + np.abs(k)) + _STEP_SLACK * self._steps)

    def ends(self, t: Array) -> Ends:
        """Both ends at every t; where the line cannot be had, 0 and Chernoff's bound."""
        log_ceiling = self.k + self.shape.exponent(self.c, t) + self._slack(np.asarray(self.k))
        ceiling = np.exp(np.minimum(log_ceiling, 0.0))
        if self.line is None:
            return Ends(np.zeros(t.size), ceiling)
        value, error = self.line.sum(self.shape.exponent(self.c, t), -t, self.shape.poles)
        value = self.shape.sign * value
        lower = np.maximum(value - error - self._aliases(t), 0.0)
        return Ends(np.minimum(lower, ceiling), np.minimum(value + error, ceiling))

    def value_and_density(self, t: Array) -> tuple[Array, Array]:
        """The sum itself, and the sum without poles: the density of T under P, or under Q for the poles at 1."""
        if self.line is None:
            return np.full(t.size, np.nan), np.full(t.size, np.nan)
        exponent = self.shape.exponent(self.c, t)
        value = self.line.sum(exponent, -t, self.shape.poles)[0]
        return self.shape.sign * value, self.line.sum(exponent, -t, ())[0]

    def _period(self, centre: float) -> float:
        """The shortest period whose aliases are below e^-NATS of the reading, by both bounds."""
        at = np.array([centre])
        size = float(np.prod([abs(self.c - pole) for pole in self.shape.poles]))
        log_value = self.k + float(self.shape.exponent(self.c, at)[0]) - math.log(size * math.sqrt(self.variance)) - 2
        inward = (ALIAS_NATS - log_value) / self.distance
        if not self._tilts.size:
            return max(inward, 60 * math.sqrt(self.variance))
        need = self._ks + self.shape.exponent(self._tilts, at) - log_value + ALIAS_NATS
        return max(inward, float(np.min(need / np.abs(self._tilts - self.c))))

    def _aliases(self, t: Array) -> Array:
        """At least the sum of the aliases, all of them >= 0: the inward ones by 1, the outward ones by Chernoff."""
        inward = 1 / math.expm1(min(self.distance * self.period, 700.0))
        if not self._tilts.size:
            return np.full(t.size, math.inf)
        gap = np.abs(self._tilts - self.c)
        first = self._ks + self._slack(self._ks) - gap * self.period
        log_first = first[:, None] + self.shape.exponent(self._tilts[:, None], t)
        outward = np.exp(np.minimum(log_first, 700.0)) / -np.expm1(-gap * self.period)[:, None]
        return np.asarray(inward + np.min(outward, axis=0))
