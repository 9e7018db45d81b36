"""One rung of the ladder: two enclosing laws of the sum, prepared for the readings between two thresholds.

Everything that is chosen here (tilt, step, range of one step, window) decides only how narrow the ends are. That they
are ends is proved in docs/proofs/lattice.md for any choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.cells import Cells, cells, period
from edgeworth.composition.rounding import log_moment, lowered, raised
from edgeworth.composition.tilted_lattice import Kind, Tail, convolved
from edgeworth.errors import ComputationFailed
from edgeworth.losses import GaussianLoss, ReplacedLoss, SampledLoss
from edgeworth.losses.sampled import sampled_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["Goal", "Parts", "Rung", "common_step", "prepare", "refined"]

MOST_POINTS = 2**20
_FEW_POINTS = 2**13  # of a first attempt, which shows how fine the step has to be
_FINEST_RATIO = 2.0**-9
_MOST_PASSES = 2
_FEWEST_LEFT = 6
_HOPELESS = 0.3  # a relative width that a rough rung has only near the end of the support, or far outside
_MOST_SCOUTS = 8
_LONGEST_TILT = 1e5  # in units of 1/spread
_SCOUTS = 1024  # cells of the rough laws that choose the tilt
_NATS = 44.0  # the tilted mass outside the window, and that of a step outside its range, is aimed at e^-NATS
_STEEPEST = 60.0  # in the tilt times the distance of two atoms: the tilted law is on one of them
_REST = 1e-10  # of the reading: what the range of one step may cost
_FARTHEST = 38.0  # standard deviations of Gaussian noise that doubles can hold
_LARGEST_LOSS = 600.0
_LARGEST_EXPONENT = 700.0
_TAIL_ERROR = 1e-12
_MOST_RATIO = 4096  # of two spacings that are still taken for multiples of one

Parts = tuple[tuple["PrivacyLoss", int], ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a rung is for: a kind of reading between two thresholds, and the relative width that is aimed at."""

    kind: Kind
    least: float
    greatest: float
    width: float


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What was chosen for a goal: the tilt, the window of the sum, and the range of every step."""

    parts: Parts
    goal: Goal
    tilt: float
    window: tuple[float, float]
    reach: list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Rung:
    """Ends of one kind of reading between two thresholds, from the raised and the lowered law."""

    plan: Plan
    high: Tail
    low: Tail
    slack: float
    above: Array  # a row for each part: n, mass right of its range under P and Q, the excess of Q, the last point
    below: Array  # the same on the left, with the excess of P and the first point

    @property
    def goal(self) -> Goal:
        """What it is for."""
        return self.plan.goal

    def ends(self, t: Array) -> tuple[Array, Array]:
        """Lower and upper end of E[(X-u)_+], E[(1-X/u)_+] or E[min(X, u)] at u = e^t."""
        if self.goal.kind == "delta":
            return self._delta(t)
        return self._reverse(t) if self.goal.kind == "reverse" else self._overlap(t)

    def outside(self, direction: str) -> tuple[float, float]:
        """What the masses outside the ranges take from alpha or 1 - alpha, and what they add to f at the most.

        Of the overlap, steps right of their ranges have at most u P of it and those on the left Q. To the reverse those
        on the left add P - Q/u, to delta those on the right Q - u P.
        """
        right = [-math.expm1(_log_none(self.above, column)) for column in (1, 2)]
        left = [-math.expm1(_log_none(self.below, column)) for column in (1, 2)]
        more, less = 1 + 8 * _TAIL_ERROR, 1 - 8 * _TAIL_ERROR
        if self.goal.kind == "overlap":
            ends = right[0] * more, left[1] * more
            return ends if direction == "forward" else (ends[1], ends[0])
        if self.goal.kind == "reverse":
            return left[0] * less, left[1] * more
        return right[1] * less, right[0] * more

    def width(self) -> float:
        """The largest relative width at some thresholds within the goal, of those where it is not hopeless."""
        lower, upper = self.ends(np.linspace(self.goal.least, self.goal.greatest, 5))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(upper > 0, (upper - lower) / upper, 0.0)
        hopeful = ratio[ratio < _HOPELESS]
        return float(np.max(hopeful if hopeful.size else ratio))

    def _delta(self, t: Array) -> tuple[Array, Array]:
        lower = math.exp(-self.slack) * self.low.ends(t + self.slack)[0] + self._one_step_above(t)
        upper = math.exp(self.slack) * self.high.ends(t - self.slack)[1] + self._infinite(self.above)
        return lower, upper

    def _reverse(self, t: Array) -> tuple[Array, Array]:
        lower = self.low.ends(t - self.slack)[0] + self._one_step_below(t)
        return lower, self.high.ends(t + self.slack)[1] + self._infinite(self.below)

    def _overlap(self, t: Array) -> tuple[Array, Array]:
        rest = np.exp(np.minimum(t, _LARGEST_EXPONENT)) * float(np.sum(self.above[:, 0] * self.above[:, 1]))
        rest = (rest + float(np.sum(self.below[:, 0] * self.below[:, 2]))) * (1 + _TAIL_ERROR)
        lower = math.exp(-self.slack) * self.high.ends(t + self.slack)[0]
        return lower, math.exp(self.slack) * self.low.ends(t - self.slack)[1] + rest

    @staticmethod
    def _infinite(rows: Array) -> float:
        """What the raised law has at +inf, D = Q - e^B P for one step, 1 - prod (1 - D)^n for all; mirrored at -inf."""
        return float(-np.expm1(_log_none(rows, 3))) * (1 + 8 * _TAIL_ERROR)

    def _one_step_above(self, t: Array) -> Array:
        """What outcomes E add of which a step is right of its range, at the least: Q[E] - u P[E].

        Q[E] - P[E] - (u-1) P[E], with Q - P = P (e^B - 1) + D for each step.
        """
        rise = self.above[:, 1] * np.expm1(self.above[:, 4]) + self.above[:, 3]
        return _gain(self.above[:, 0], self.above[:, 1], rise, np.expm1(np.minimum(t, _LARGEST_EXPONENT)))

    def _one_step_below(self, t: Array) -> Array:
        rise = self.below[:, 2] * np.expm1(-self.below[:, 4]) + self.below[:, 3]
        return _gain(self.below[:, 0], self.below[:, 2], rise, np.expm1(np.minimum(-t, _LARGEST_EXPONENT)))


def _gain(n: Array, weak: Array, rise: Array, growth: Array) -> Array:
    """At least prod (1-w)^n - prod (1-w-rise)^n - growth (1 - prod (1-w)^n), and at least 0."""
    none = float(np.sum(n * np.log1p(-weak)))
    with np.errstate(divide="ignore"):
        ratio = float(np.sum(n * np.log1p(-np.minimum(rise / (1 - weak), 1.0))))
    more = math.exp(none) * -math.expm1(ratio)
    less = growth * -math.expm1(none)
    return np.maximum(more - less - 8 * _TAIL_ERROR * (more + np.abs(less)), 0.0)


def _log_none(rows: Array, column: int) -> float:
    """The logarithm of prod (1 - m)^n."""
    with np.errstate(divide="ignore"):
        return float(np.sum(rows[:, 0] * np.log1p(-np.minimum(rows[:, column], 1.0))))


def common_step(parts: Parts) -> tuple[float | None, bool]:
    """The largest step at which the atoms of all parts are on points, or None; whether there is nothing but atoms."""
    exact = all(loss.lattice is not None for loss, _ in parts)
    periods = sorted({length for loss, _ in parts if (length := period(loss)) is not None})
    if not periods:
        return (1.0 if exact else None), exact
    step = periods[0]
    for length in periods[1:]:
        step = _common_divisor(length, step)
        if step * _MOST_RATIO < periods[0]:
            return periods[-1], False
    return step, exact


def _common_divisor(length: float, step: float) -> float:
    """Euclid's algorithm on two lengths that may carry some ulps of error."""
    rounding = 2.0**-46 * length
    while step > rounding:
        length, step = step, math.fmod(length + rounding, step) - rounding
        step = abs(step)
    return length


def prepare(parts: Parts, goal: Goal, spread: float) -> Rung:
    """A rough rung: rough laws choose the tilt and the window, and a step is tried that is fine enough for any law."""
    plan = _plan(parts, goal, spread)
    common, exact = common_step(parts)
    if exact and common is not None:
        return _built(plan, common)
    points = _FEW_POINTS
    while True:
        try:
            return _built(plan, _aligned(plan, (plan.window[1] - plan.window[0]) / points))
        except ComputationFailed:
            points *= 8
            if points > MOST_POINTS:
                raise


def refined(rough: Rung) -> Rung:
    """The rung with a step that reaches the width aimed at, if some millions of points can: the width goes as h^2."""
    rung, plan = rough, rough.plan
    if common_step(plan.parts)[1]:
        return rung
    for _ in range(_MOST_PASSES):
        width = rung.width()
        if width <= plan.goal.width:
            break
        h = rung.high.window.h
        finer = _aligned(plan, h * max(math.sqrt(0.8 * plan.goal.width / width), _FINEST_RATIO))
        if not finer < 0.8 * h:
            break
        try:
            rung = _built(plan, finer)
        except ComputationFailed:
            break
    return rung


def _aligned(plan: Plan, h: float) -> float:
    """At most MOST_POINTS in the window; a divisor of the atoms' spacing, where there is one.

    A sample of Gaussian noise starts at log(1-p) and has its bulk around 0: a step below -log(1-p) divides it, so that
    the lowered law can leave the bulk where it is.
    """
    parts, window = plan.parts, plan.window
    common, soft = common_step(parts)[0], False
    if common is None:
        starts = [-loss.support[0] for loss, _ in parts if isinstance(loss, SampledLoss)]
        common, soft = min(starts, default=None), True
    h = max(h, (window[1] - window[0]) / (0.9 * MOST_POINTS))
    if common is None or (soft and h > 2 * common):
        return h
    if soft and (window[1] - window[0]) * _FEWEST_LEFT > MOST_POINTS * common:
        return 2.01 * common
    least = _FEWEST_LEFT if soft else 1  # fewer cells left of the bulk leave the lowered law no room
    return common / max(math.ceil(common / h), least)


def _built(plan: Plan, h: float) -> Rung:
    parts, goal, tilt, window = plan.parts, plan.goal, plan.tilt, plan.window
    made = [cells(loss, h, ends) for (loss, _), ends in zip(parts, plan.reach, strict=True)]
    offset = math.fsum(n * c.offset for c, (_, n) in zip(made, parts, strict=True))
    slack = sum(n * c.slack for c, (_, n) in zip(made, parts, strict=True))
    slack += 2.0**-50 * (abs(window[0]) + abs(window[1]) + abs(offset))
    tails = []
    for law in (raised, partial(lowered, widened=goal.kind == "overlap", forward=goal.kind == "delta")):
        laws = [(law(c, tilt), n) for c, (_, n) in zip(made, parts, strict=True)]
        tails.append(
            convolved(laws, tilt, h, offset, window).tail(goal.kind, goal.least - slack, goal.greatest + slack)
        )
    above = np.array([(n, *c.above, c.offset + c.last * h) for c, (_, n) in zip(made, parts, strict=True)])
    below = np.array([(n, *c.below, c.offset + c.first * h) for c, (_, n) in zip(made, parts, strict=True)])
    return Rung(plan, tails[0], tails[1], slack, above, below)


def _deepest(loss: PrivacyLoss) -> tuple[float, float]:
    """The losses between which doubles can hold the masses."""
    if isinstance(loss, GaussianLoss):
        far = _FARTHEST * loss.mu + loss.mu**2 / 2
        return max(-far, -_LARGEST_LOSS), min(far, _LARGEST_LOSS)
    if isinstance(loss, SampledLoss | ReplacedLoss) and isinstance(loss.base, GaussianLoss):
        far = _FARTHEST * loss.base.mu + loss.base.mu**2 / 2
        top = min(float(sampled_loss(np.array([far]), loss.rate)[0]), _LARGEST_LOSS)
        return (-top if isinstance(loss, ReplacedLoss) else math.log1p(-loss.rate)), top
    least, greatest = loss.support
    lattice = loss.lattice
    if lattice is not None:
        ends = lattice.offset + lattice.spacing * (lattice.first + np.array([0, lattice.log_null.size - 1]))
        return float(ends[0]), float(ends[1])
    if loss.is_atomic:  # an endless row of atoms is cut where their masses underflow
        places = loss.nodes().loss
        return float(np.min(places)), float(np.max(places))
    return least, greatest


def _reach(loss: PrivacyLoss, parts: Parts, goal: Goal, spread: float) -> tuple[float, float]:
    """The range of one step: as far to the side that is read as one step alone can matter beside the others.

    Outcomes E with a step right of B > t add at least Q[E] - u P[E] to delta, and exactly that where the others cannot
    bring the sum below t again, however the step is distributed; so B need not be far beyond the threshold, and a heavy
    tail beyond it does not spoil the tilt. Mirrored for the reverse.
    """
    least, greatest = _deepest(loss)
    if goal.kind == "overlap":
        return least, greatest
    right = goal.kind == "delta"
    end, t = (greatest, goal.greatest) if right else (-least, -goal.least)
    tried = t + spread * np.geomspace(0.5, 1e4, 80)
    tried = np.append(tried[tried < end], end)
    lost, reading = np.zeros(tried.size), 0.0
    for other, n in parts:
        null_below, null_above, below, above = other.distribution(
            np.append(tried, t) if right else -np.append(tried, t)
        )
        weak, strong = (null_above, above) if right else (below, null_below)
        lost += n * weak[:-1] * math.exp(min(t, _LARGEST_EXPONENT))
        reading += n * max(float(strong[-1] - math.exp(min(t, _LARGEST_EXPONENT)) * weak[-1]), 0.0)
    enough = lost * _back(parts, t - tried, right=right) <= _REST * max(reading, 1e-320)
    enough[-1] = True
    found = float(tried[int(np.argmax(enough))])
    return (least, found) if right else (-found, greatest)


def _back(parts: Parts, t: Array, *, right: bool) -> Array:
    """P[T < t], or mirrored Q[-T < t], roughly: 0 beyond the support, or by Chernoff's inequality at some tilts."""
    least = sum(n * (loss.support[0] if right else -loss.support[1]) for loss, n in parts)
    moments = [loss.cumulants(2) for loss, _ in parts]
    variance = sum(n * float((m.null if right else m.alternative)[1]) for m, (_, n) in zip(moments, parts, strict=True))
    steep = np.geomspace(0.25, 30.0, 8) / math.sqrt(variance)
    limit = min((-loss.steepest[0] if right else loss.steepest[1] - 1) for loss, _ in parts)
    steep = np.minimum(steep, limit)
    tilts = -steep if right else 1 + steep
    k = np.zeros(tilts.size)
    for loss, n in parts:
        k += n * loss.tilted(tilts, 2, (min(0.0, float(tilts[-1])), max(1.0, float(tilts[-1]))))[:, 0]
    bound = np.exp(np.minimum(np.min(k[:, None] + steep[:, None] * t, axis=0), 0.0))
    return np.where(t < least, 0.0, bound)


def _plan(parts: Parts, goal: Goal, spread: float) -> Plan:
    """The tilt, the window of the sum, and the ranges of the steps, cut until rough laws see where tilted mass is."""
    plan = _scouted(parts, goal, spread, [_reach(loss, parts, goal, spread) for loss, _ in parts])
    for _ in range(_MOST_SCOUTS):
        tried = _scouted(parts, goal, spread, plan.reach)
        done = _length(tried) > 0.5 * _length(plan)
        plan = tried
        if done:
            break
    return plan


def _length(plan: Plan) -> float:
    """Of the windows and ranges, those of lattices left out."""
    return sum(ends[1] - ends[0] for ends in plan.reach)


def _scouted(parts: Parts, goal: Goal, spread: float, reach: list[tuple[float, float]]) -> Plan:
    rough = [cells(loss, _scout_step(loss, ends), ends) for (loss, _), ends in zip(parts, reach, strict=True)]

    def k(c: float) -> float:
        return sum(n * log_moment(r, c) for r, (_, n) in zip(rough, parts, strict=True))

    middle = 0.5 * (goal.least + goal.greatest)
    steepest = min([_LONGEST_TILT / spread, *(_STEEPEST / length for loss, _ in parts if (length := period(loss)))])
    tilt = _tilt(k, goal.kind, middle, spread, steepest)
    base, width = k(tilt), _width(k, tilt, spread)
    low = max((base - k(tilt - s) - _NATS) / s for s in np.geomspace(0.5, 16.0, 11) / width)
    high = min((k(tilt + s) - base + _NATS) / s for s in np.geomspace(0.5, 16.0, 11) / width)
    margin = 2 * max(r.h for r in rough)
    window = min(low, goal.least) - margin, max(high, goal.greatest) + margin
    cut = [_cut(r, tilt, n, goal) for r, (_, n) in zip(rough, parts, strict=True)]
    return Plan(parts, goal, tilt, window, cut)


def _scout_step(loss: PrivacyLoss, ends: tuple[float, float]) -> float:
    if loss.lattice is not None:
        return loss.lattice.spacing if loss.lattice.log_null.size > 1 else 1.0
    return (ends[1] - ends[0]) / _SCOUTS


def _tilt(k: Callable[[float], float], kind: Kind, t: float, spread: float, steepest: float) -> float:
    """Where k(c) - c t is least, on the side of the poles that the kind of reading needs."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - heavy, and few readings need it

    if kind == "overlap":
        return float(minimize_scalar(lambda c: k(c) - c * t, bounds=(0.0, 1.0), method="bounded").x)
    pole, sign = (1.0, 1.0) if kind == "delta" else (0.0, -1.0)

    least = 0.5 * spread / (spread + abs(t))

    def at(v: float) -> float:
        return pole + sign * math.exp(v) / spread

    found = minimize_scalar(
        lambda v: k(at(v)) - at(v) * t,
        bounds=(math.log(least), math.log(max(steepest * spread, 2 * least))),
        method="bounded",
        options={"xatol": 0.02},
    )
    return at(float(found.x))


def _width(k: Callable[[float], float], tilt: float, spread: float) -> float:
    """The standard deviation of the tilted law, roughly."""
    step = 0.1 / spread
    curvature = (k(tilt + step) - 2 * k(tilt) + k(tilt - step)) / step**2
    return math.sqrt(max(curvature, (1e-3 * spread) ** 2))


def _cut(rough: Cells, tilt: float, n: int, goal: Goal) -> tuple[float, float]:
    """The range of one step without the ends that hold less than e^-NATS/n of its tilted mass on the sides not read."""
    with np.errstate(divide="ignore"):
        law = raised(rough, tilt)
        share = law.mass / np.sum(law.mass)
        least = math.exp(-0.7 * _NATS) / n
        held = np.flatnonzero(np.cumsum(share) > least)
        if not held.size:
            raise ComputationFailed("the tilted law of a step has no mass that doubles can hold")
        first = max(int(held[0]) - 1, 0)
        held = np.flatnonzero(np.cumsum(share[::-1])[::-1] > least)
        last = min(int(held[-1]) + 1, share.size - 1)
    points = rough.points
    return (
        float(points[0 if goal.kind == "reverse" else first]),
        float(points[-1 if goal.kind == "delta" else last]),
    )
