"""One rung of the ladder: two enclosing laws of the sum, prepared for the readings between two thresholds.

Few steps are enclosed by two laws on the points of a lattice (`rounding`), whose width grows with the number of steps.
Many are smoothed by a little noise (`smoothed`), whose width does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import fft

from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.masses import far_left, masses
from edgeworth.composition.lattice.outside import TAIL_ERROR, gain, log_none
from edgeworth.composition.lattice.plan import Goal, Look, Parts, Plan, common_step, planned, two_sided
from edgeworth.composition.lattice.rounding import PointLaw, lowered, raised
from edgeworth.composition.lattice.smoothed import Line, SmoothTail, smoothed
from edgeworth.composition.lattice.tilted_lattice import Tail, convolved
from edgeworth.composition.lattice.transforms import Transform, transform, with_ends
from edgeworth.errors import ComputationFailed
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["Rung", "prepare", "refined"]

_TRANSFORMED, _CONVOLVED = (
    2,
    4,
)  # times as many points may have all the laws that a smoothed, or a rounded one is made of
_FEW_POINTS = 2**13  # of a first attempt, which shows how fine the step has to be
_FEW_STEPS, _MANY_STEPS = 32, 5_000  # so many are rounded at first, and so many at all; more are smoothed
_FINEST_RATIO = 2.0**-9
_MOST_PASSES = 3
_FEWEST_LEFT = 6
_TRIED = 21  # thresholds at which a rung is judged
_POOR = 1e-2  # a relative width of a rough rung at which a steeper tilt is tried
_HOPELESS = 0.3  # a relative width that a rough rung has only near the end of the support, or far outside
_LARGEST_EXPONENT = 700.0
_COARSEST = 0.2  # the longest step of a smoothed law
_AT_LEAST = 1e-4  # of the upper end of a reading, what it is taken for where its lower end is less
_CHEAP = 2.0**17  # points for which no other way is tried
_DEARER = 4.0  # a point of the smoothed law over a point of the rounded ones, in time


@dataclass(frozen=True, eq=False)
class Rung:
    """Ends of one kind of reading between two thresholds, from the raised and the lowered law."""

    plan: Plan
    high: Tail | SmoothTail
    low: Tail | SmoothTail
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
        """What the masses outside the ranges take from alpha or 1 - alpha, and what is added to f for them at the most.

        Of the overlap, steps right of their ranges have at most u P of it and those on the left Q. To the reverse those
        on the left add P - Q/u, to delta those on the right Q - u P.
        """
        right = [-math.expm1(log_none(self.above, column)) for column in (1, 2)]
        left = [-math.expm1(log_none(self.below, column)) for column in (1, 2)]
        more, less, forward = 1 + 8 * TAIL_ERROR, 1 - 8 * TAIL_ERROR, direction == "forward"
        if self.goal.kind == "overlap":
            ends = right[0] * more, left[1] * more
            return ends if forward else (ends[1], ends[0])
        weak, strong = (left[1], left[0]) if self.goal.kind == "reverse" else (right[0], right[1])
        if forward == (self.goal.kind == "delta"):
            return weak * more, 1 - strong * less
        return strong * less, weak * more

    def width(self) -> float:
        """The largest relative width at some thresholds within the goal, of those where it is not hopeless."""
        return self.quality()[1]

    def quality(self) -> tuple[int, float]:
        """At how many of some thresholds it is hopeless, and the largest relative width at the others."""
        lower, upper = self.ends(np.linspace(self.goal.least, self.goal.greatest, _TRIED))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(upper > 0, (upper - lower) / upper, 0.0)
        hopeful = ratio[ratio < _HOPELESS]
        return ratio.size - hopeful.size, float(np.max(hopeful if hopeful.size else ratio))

    @property
    def is_smooth(self) -> bool:
        """Whether the laws are smoothed, not rounded."""
        return isinstance(self.high, SmoothTail)

    @property
    def step(self) -> float:
        """The distance of two points."""
        return self.high.window.h

    def _delta(self, t: Array) -> tuple[Array, Array]:
        lower = math.exp(-self.slack) * _ends(self.low, t + self.slack)[0] + self._one_step_above(t)
        upper = math.exp(self.slack) * _ends(self.high, t - self.slack)[1] + self._infinite(self.above)
        return lower, upper

    def _reverse(self, t: Array) -> tuple[Array, Array]:
        lower = _ends(self.low, t - self.slack)[0] + self._one_step_below(t)
        return lower, _ends(self.high, t + self.slack)[1] + self._infinite(self.below)

    def _overlap(self, t: Array) -> tuple[Array, Array]:
        rest = np.exp(np.minimum(t, _LARGEST_EXPONENT)) * float(np.sum(self.above[:, 0] * self.above[:, 1]))
        rest = (rest + float(np.sum(self.below[:, 0] * self.below[:, 2]))) * (1 + TAIL_ERROR)
        lower = math.exp(-self.slack) * _ends(self.high, t + self.slack)[0]
        return lower, math.exp(self.slack) * _ends(self.low, t - self.slack)[1] + rest

    @staticmethod
    def _infinite(rows: Array) -> float:
        """What the raised law has at +inf, D = Q - e^B P for one step, 1 - prod (1 - D)^n for all; mirrored at -inf."""
        return float(-np.expm1(log_none(rows, 3))) * (1 + 8 * TAIL_ERROR)

    def _one_step_above(self, t: Array) -> Array:
        """What outcomes E add of which a step is right of its range, at the least: Q[E] - u P[E].

        Q[E] - P[E] - (u-1) P[E], with Q - P = P (e^B - 1) + D for each step; less where e^B is no double.
        """
        rise = self.above[:, 1] * np.expm1(np.minimum(self.above[:, 4], _LARGEST_EXPONENT)) + self.above[:, 3]
        return gain(self.above[:, 0], self.above[:, 1], rise, t)

    def _one_step_below(self, t: Array) -> Array:
        rise = self.below[:, 2] * np.expm1(np.minimum(-self.below[:, 4], _LARGEST_EXPONENT)) + self.below[:, 3]
        return gain(self.below[:, 0], self.below[:, 2], rise, -t)


def _ends(tail: Tail | SmoothTail, t: Array) -> tuple[Array, Array]:
    """The ends of the tail at t; outside its points, what the nearest of them proves.

    E[(X-u)_+] falls and E[(u-X)_+] rises with u, neither faster than u; E[min(X, u)] rises and is concave from 0 on.
    """
    first, last = tail.reach
    inner = np.clip(t, first, last)
    lower, upper = tail.ends(inner)
    away = t - inner
    if not away.any():
        return lower, upper
    before, behind = np.minimum(away, 0.0), np.maximum(away, 0.0)
    if tail.kind == "overlap":
        return lower * np.exp(before), upper * np.exp(np.minimum(behind, _LARGEST_EXPONENT))
    if tail.kind == "reverse":
        return np.where(before < 0, 0.0, lower), upper - np.expm1(-behind)
    more = math.exp(min(first, _LARGEST_EXPONENT)) * -np.expm1(before) if first < _LARGEST_EXPONENT else math.inf
    return np.where(behind > 0, 0.0, lower), upper + np.where(before < 0, more, 0.0)


def prepare(parts: Parts, goal: Goal, spread: float) -> Rung:
    """A rough rung: rough laws choose the tilt and the window, and a step is tried that is fine enough for any law."""
    plan = planned(parts, goal, spread)
    common, exact = common_step(parts)
    if exact and common is not None:
        return _built(plan, common)
    made = _made_roughly(plan)
    hopeless, width = (_TRIED, 1.0) if made is None else made.quality()
    if hopeless and any(two_sided(loss) for loss, _ in parts):
        other = _planned_otherwise(parts, goal, spread, "closely")
        if other is not None and 2 * other.quality()[0] <= hopeless:
            return other
    if (hopeless, width) > (0, _POOR):
        other = _planned_otherwise(parts, goal, spread, "steeply")
        if other is not None and other.quality() <= (hopeless, width):
            return other
    if made is None:
        raise ComputationFailed("no lattice of some thousand points holds this law; use another method")
    return made


def _planned_otherwise(parts: Parts, goal: Goal, spread: float, look: Look) -> Rung | None:
    """A rough rung of another plan; None where that fails."""
    try:
        return _made_roughly(planned(parts, goal, spread, look))
    except ComputationFailed:
        return None


def _made_roughly(plan: Plan) -> Rung | None:
    """A rough rung, rounded if the steps are few and smoothed if they are many, or the other way where that is bad."""
    makers = [_rounded, _roughly_smoothed]
    if sum(n for _, n in plan.parts) > _FEW_STEPS:
        makers.reverse()
    made = makers[0](plan)
    if made is None or made.quality()[0] > _TRIED // 2:
        made = makers[1](plan) or made
    return made


def _rounded(plan: Plan) -> Rung | None:
    """A rough rung of two laws on points, with more of them where too few leave no room; None where that fails."""
    if sum(n for _, n in plan.parts) > _MANY_STEPS:
        return None
    for points in (_FEW_POINTS, 8 * _FEW_POINTS, 64 * _FEW_POINTS):
        try:
            return _built(plan, _aligned(plan, (plan.window[1] - plan.window[0]) / points))
        except ComputationFailed:
            continue
    return None


def _roughly_smoothed(plan: Plan) -> Rung | None:
    """A rough rung of smoothed laws; None where that fails."""
    try:
        return _smoothed(plan, _FEW_POINTS)
    except ComputationFailed:
        return None


def refined(rough: Rung, width: float) -> Rung:
    """The rung with a step that reaches the width aimed at, if a million points can: the width goes as h^2."""
    if common_step(rough.plan.parts)[1]:
        return rough
    rung = replace(rough, plan=replace(rough.plan, goal=replace(rough.goal, width=width)))
    tried = [rung]
    for _ in range(_MOST_PASSES):
        if rung.quality() <= (0, width):
            break
        if len(tried) == 1 and _prospect(rung) > (1.0, _CHEAP):
            other = (_rounded if rung.is_smooth else _roughly_smoothed)(rung.plan)
            tried += [made for made in (other, _focused(rung)) if made is not None]
        best = min(tried, key=_prospect)
        finer = _finer(best)
        if finer is not None:
            tried[tried.index(best)] = finer
        rung = min([rung, *tried], key=Rung.quality)
        if finer is None:
            break
    return rung


def _focused(rung: Rung) -> Rung | None:
    """A rough rung of shorter ranges: now that the reading is known, what weighs nothing beside it is left out."""
    lower, upper = rung.ends(np.array([rung.goal.least, rung.goal.greatest]))
    reading = float(np.min(np.maximum(lower, _AT_LEAST * upper)))
    if rung.goal.kind == "overlap" or not reading > 0:
        return None
    goal = replace(rung.goal, reading=reading)
    return _planned_otherwise(rung.plan.parts, goal, rung.plan.spread, rung.plan.look)


def _finest(rung: Rung) -> float:
    """The step that should reach the goal, or the least that can be had."""
    wanted = rung.step * max(math.sqrt(0.8 * rung.goal.width / max(rung.width(), 1e-300)), _FINEST_RATIO)
    if not rung.is_smooth:
        return _aligned(rung.plan, wanted)
    return max(
        wanted, _length(rung.plan) / min(rung.goal.points, _TRANSFORMED * rung.goal.points // len(rung.plan.parts))
    )


def _prospect(rung: Rung) -> tuple[float, float]:
    """What a finer step should reach, in widths aimed at, and what it costs in time."""
    step = _finest(rung)
    hopeless, width = rung.quality()
    reached = width * min(step / rung.step, 1.0) ** 2 * (1 + hopeless)
    points = _length(rung.plan) * _DEARER if rung.is_smooth else rung.plan.window[1] - rung.plan.window[0]
    return max(reached / rung.goal.width, 1.0), points / step


def _finer(rung: Rung) -> Rung | None:
    """The rung with a finer step; None where that cannot be had."""
    step = _finest(rung)
    if not step < 0.8 * rung.step:
        return None
    try:
        return (
            _smoothed(rung.plan, math.floor(_length(rung.plan) / step)) if rung.is_smooth else _built(rung.plan, step)
        )
    except ComputationFailed:
        return None


def _length(plan: Plan) -> float:
    """The period of a smoothed law: as far as the sum is likely to be from any threshold."""
    return 1.01 * max(plan.window[1] - plan.goal.least, plan.goal.greatest - plan.window[0])


def _smoothed(plan: Plan, points: int) -> Rung:
    """Both laws smoothed: they differ in what lies outside the ranges, which the higher one has on the end points."""
    parts, goal, tilt, window = plan.parts, plan.goal, plan.tilt, plan.window
    points = max(points, math.ceil(_length(plan) / _COARSEST))
    if points > goal.points:
        raise ComputationFailed(f"a window of {_length(plan):g} is too long to be smoothed")
    size = 2 * fft.next_fast_len((points + 1) // 2, real=True)
    h = _length(plan) / points
    made = [_transformed(plan, number, h, size) for number in range(len(parts))]
    slack = sum(n * one.slack for one, (_, n) in zip(made, parts, strict=True))
    slack += 2.0**-50 * (abs(window[0]) + abs(window[1]))
    kept = goal.least - slack, goal.greatest + slack
    laws = [(one.low, n) for one, (_, n) in zip(made, parts, strict=True)]
    low = high = smoothed(Line(goal.kind, laws, tilt, h, size), kept)
    if any(one.low is not one.high for one in made):
        laws = [(one.high, n) for one, (_, n) in zip(made, parts, strict=True)]
        high = smoothed(Line(goal.kind, laws, tilt, h, size), kept)
    above = np.array([(n, *one.above) for one, (_, n) in zip(made, parts, strict=True)])
    below = np.array([(n, *one.below) for one, (_, n) in zip(made, parts, strict=True)])
    return Rung(plan, high, low, slack, above, below)


class _Transformed(NamedTuple):
    """The transforms of a step without and with what lies outside its range, and the rows of a rung about that."""

    low: Transform
    high: Transform
    slack: float
    above: tuple[float, ...]
    below: tuple[float, ...]


def _transformed(plan: Plan, number: int, h: float, size: int) -> _Transformed:
    """The masses of a step are not kept: millions of them may be."""
    loss = plan.parts[number][0]
    made = masses(loss, plan.reach[number], plan.tilt, math.pi / h)
    slack = made.slack + 2.0**-50 * made.farthest
    low = transform(made, plan.tilt, h, size, far_left(loss))
    ends = [(made.ends[0], math.exp(-made.ends[0]) * made.below[1]), (made.ends[1], made.above[0])]
    high = with_ends(low, plan.tilt, h, size, ends)
    return _Transformed(low, high, slack, (*made.above, made.ends[1]), (*made.below, made.ends[0]))


def _aligned(plan: Plan, h: float) -> float:
    """At most so many points in the window as the goal says; a divisor of the atoms' spacing, where there is one.

    A sample of Gaussian noise starts at log(1-p) and has its bulk around 0: a step below -log(1-p) divides it, so that
    the lowered law can leave the bulk where it is.
    """
    parts, window, most = plan.parts, plan.window, plan.goal.points
    common, soft = common_step(parts)[0], False
    if common is None:
        starts = [-loss.support[0] for loss, _ in parts if isinstance(loss, SampledLoss)]
        common, soft = min(starts, default=None), True
    h = max(h, (window[1] - window[0]) / (0.9 * min(most, _CONVOLVED * most // len(parts))))
    if common is None or (soft and h > 2 * common):
        return h
    if soft and (window[1] - window[0]) * _FEWEST_LEFT > most * common:
        return 2.01 * common
    least = _FEWEST_LEFT if soft else 1  # fewer cells left of the bulk leave the lowered law no room
    return common / max(math.ceil(common / h), least)


def _built(plan: Plan, h: float) -> Rung:
    parts, goal, tilt, window = plan.parts, plan.goal, plan.tilt, plan.window
    if max(ends[1] - ends[0] for ends in plan.reach) > 1.5 * goal.points * h:
        raise ComputationFailed(f"a step of {h:g} makes too many cells")
    made = [_enclosed(plan, number, h) for number in range(len(parts))]
    offset = math.fsum(n * one.offset for one, (_, n) in zip(made, parts, strict=True))
    slack = sum(n * one.slack for one, (_, n) in zip(made, parts, strict=True))
    slack += 2.0**-50 * (abs(window[0]) + abs(window[1]) + abs(offset))
    high, low = (
        convolved([(one.laws[side], n) for one, (_, n) in zip(made, parts, strict=True)], tilt, h, offset, window).tail(
            goal.kind, goal.least - slack, goal.greatest + slack
        )
        for side in (0, 1)
    )
    above = np.array([(n, *one.above) for one, (_, n) in zip(made, parts, strict=True)])
    below = np.array([(n, *one.below) for one, (_, n) in zip(made, parts, strict=True)])
    return Rung(plan, high, low, slack, above, below)


class _Enclosed(NamedTuple):
    """The raised and the lowered law of a step, where its points are, and the rows of a rung about its outside."""

    laws: tuple[PointLaw, PointLaw]
    offset: float
    slack: float
    above: tuple[float, ...]
    below: tuple[float, ...]


def _enclosed(plan: Plan, number: int, h: float) -> _Enclosed:
    """The cells of a step are not kept, only its two laws."""
    kind, tilt = plan.goal.kind, plan.tilt
    made = cells(plan.parts[number][0], h, plan.reach[number])
    laws = raised(made, tilt), lowered(made, tilt, widened=kind == "overlap", forward=kind == "delta")
    above, below = (*made.above, made.offset + made.last * h), (*made.below, made.offset + made.first * h)
    return _Enclosed(laws, made.offset, made.slack, above, below)
