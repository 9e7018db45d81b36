"""The moments of a sum of very many different steps at some tilts, all steps at once, and what Chernoff says of it."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.noisy_lines.step_waves import is_like_gaussian, last_moves
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Chernoff", "Rows", "TiltedSums"]

_ROUNDING = 1e-12  # relative, of K and of the exponents that it is made of
_DEEP = 40.0  # nats: how small the last atoms listed of an endless row are, for what lies beyond not to count
_MOMENTS = 0.2  # units of work for a node
_SHORTEST, _STEPS = 1e-3, 25  # of the steepest tilt, and how many from there to it
_NEARBY = np.array([0.3, 0.6, 1.0, 1.5, 2.2, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 13.0, 16.0, 20.0])  # in 1/std
_NONE = np.empty(0)


class Rows(NamedTuple):
    """One number for each tilt: at least and about K, and the mean and the variance of the tilted law."""

    most: Array
    k: Array
    mean: Array
    variance: Array


class TiltedSums:
    """K(c) = log E[e^(cT)] and its derivatives for any c that the nodes serve."""

    def __init__(self, total: TotalLoss) -> None:
        parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
        normal = [(loss, n) for loss, n in parts if is_like_gaussian(loss)]
        self._normal = math.fsum(n * (loss.sensitivity / loss.sigma) ** 2 for loss, n in normal)
        parts = [(loss, n) for loss, n in parts if not is_like_gaussian(loss)]
        self._known: dict[float, tuple[float, float, float, float]] = {}
        self.support, self.steepest = total.support, total.steepest
        reach = max(self.steepest[0], -16.0), min(self.steepest[1], 17.0)
        self._parts = parts
        self._gather(reach)
        self.spread = math.sqrt(float(self.rows(np.array([0.5])).variance[0]))

    def _gather(self, reach: tuple[float, float]) -> None:
        """All nodes in one row, with where those of each step begin."""
        self._reach = reach
        if not self._parts:
            return
        nodes = [loss.nodes(reach) for loss, _ in self._parts]
        sizes = [one.loss.size for one in nodes]
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._sizes = np.array(sizes)
        self._loss = np.concatenate([one.loss for one in nodes])
        self._log_weight = np.concatenate([one.log_weight for one in nodes])
        self._count = np.array([float(n) for _, n in self._parts])
        endless = [k for k, (loss, _) in enumerate(self._parts) if math.isinf(loss.support[1])]
        first, last = self._starts[endless], (self._starts + self._sizes - 1)[endless]
        self._ends, self._owner = np.concatenate([first, last]), np.array([*endless, *endless], dtype=int)
        inner = np.concatenate([first + 1, last - 1])
        self._fall = self._log_weight[self._ends] - self._log_weight[inner]
        moves = [last_moves(self._parts[k][0]) for k in endless]
        self._outward = np.array([-left for left, _ in moves] + [right for _, right in moves])

    def rows(self, tilt: Array) -> Rows:
        """At these tilts."""
        return Rows(*np.array([self.row(c) for c in tilt.tolist()]).T)

    def row(self, c: float) -> tuple[float, float, float, float]:
        """At one tilt: discrete Gaussian noise has a formula, the others are summed."""
        if c not in self._known:
            k, v = 0.5 * c * (c - 1) * self._normal, self._normal
            formula = k + _ROUNDING * (abs(k) + 1), k, (c - 0.5) * v, v
            others = self._sums(c) if self._parts else (0.0, 0.0, 0.0, 0.0)
            self._known[c] = tuple(map(operator.add, formula, others))
        return self._known[c]

    def _sums(self, c: float) -> tuple[float, float, float, float]:
        if not self._reach[0] <= c <= self._reach[1]:
            self._gather((min(2 * c, self._reach[0]), max(2 * c, self._reach[1])))
        spend(_MOMENTS * self._loss.size)
        exponent = c * self._loss + self._log_weight
        top = np.maximum.reduceat(exponent, self._starts)
        weight = np.exp(exponent - np.repeat(top, self._sizes))
        mass = np.add.reduceat(weight, self._starts)
        mean = np.add.reduceat(weight * self._loss, self._starts) / mass
        apart = self._loss - np.repeat(mean, self._sizes)
        variance = np.add.reduceat(weight * apart * apart, self._starts) / mass
        k = float(self._count @ (top + np.log(mass)))
        most = k + _ROUNDING * float(self._count @ (np.abs(top) + abs(c) * np.abs(mean) + 1))
        steep = self._fall + np.maximum(c * self._outward, 0.0) > math.log(0.5)
        if np.any(steep | (exponent[self._ends] - top[self._owner] > -_DEEP)):
            most = math.inf
        return most, k, float(self._count @ mean), float(self._count @ variance)


def _away(spread: float, limit: float) -> Array:
    """How far tilts lie beyond 0 or 1: some standard deviations of the means, and less where a far tail takes over."""
    away = _NEARBY / spread
    if away[-1] <= limit:
        return away
    return np.append(np.geomspace(min(_SHORTEST * limit, float(away[0])), limit, _STEPS), away[away < limit])


class Chernoff:
    """Where readings surely are, roughly, in either direction: what a search begins with."""

    def __init__(self, sums: TiltedSums, slight: Array = _NONE) -> None:
        """`slight`: tilts beyond 0 or 1 besides, which suit the few large losses of a law that is narrow else."""
        limits = sums.steepest[1] - 1, -sums.steepest[0]
        right, left = (np.concatenate([slight[slight < limit], _away(sums.spread, limit)]) for limit in limits)
        self._tilt = np.concatenate([-left[::-1], np.linspace(0.1, 0.9, 9), 1 + right])
        self._k = sums.rows(self._tilt).most
        self._support = sums.support

    def _mine(self, direction: Direction) -> tuple[Array, Array, float]:
        if direction == "forward":
            return self._tilt, self._k, self._support[1]
        return 1 - self._tilt, self._k, -self._support[0]

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of eps: delta(eps) <= e^(K(c) + (1-c) eps)."""
        c, k, top = self._mine(direction)
        top = max(top, 0.0) * (1 + 1e-12)
        if not 0 < delta < 1:
            return (top * (1 - 2e-12), top) if delta == 0 else (0.0, 0.0)
        right = c > 1
        places = (k[right] - math.log(delta)) / (c[right] - 1)
        return 0.0, min(top, max(float(np.min(places, initial=math.inf)) * (1 + 1e-12), 0.0))

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """Whether delta(eps) <= delta."""
        return self.root(direction, delta)[1] <= epsilon

    def excess(self, direction: Direction, t: Array) -> Array:
        """At least delta(t) - (1 - e^t)_+: e^(K(c) + (1-c) t) for c > 1 right of 0, and for c < 0 left of it."""
        c, k, _ = self._mine(direction)
        right = np.min(k[c > 1, None] + np.multiply.outer(1 - c[c > 1], t), axis=0, initial=0.0)
        left = np.min(k[c < 0, None] + np.multiply.outer(1 - c[c < 0], t), axis=0, initial=0.0)
        return np.asarray(np.exp(np.where(t >= 0, right, left)) * (1 + 1e-12))

    def between(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds of T, in order, between which that of the test of type I error alpha is."""
        c, k, _ = self._mine(direction)
        above, below = c > 0, c < 0
        high = float(np.min((k[above] - math.log(alpha)) / c[above]))
        low = float(np.max((k[below] - math.log1p(-alpha)) / c[below]))
        return (low, high) if direction == "forward" else (-high, -low)
