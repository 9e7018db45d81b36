"""How a rung comes to be: a rough one for its goal, and a finer one that reaches the width, if a million points can."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.laws import TRANSFORMED, aligned, length, rounded_rung, smoothed_rung
from edgeworth.composition.lattice.plan import common_step, planned, two_sided
from edgeworth.composition.lattice.rung import TRIED, Rung
from edgeworth.composition.lattice.split import split
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.lattice.plan import Goal, Look, Parts, Plan

__all__ = ["prepare", "refined"]

_FEW_POINTS = 2**13  # of a first attempt, which shows how fine the step has to be
_FEW_STEPS, _MANY_STEPS = 32, 5_000  # so many are rounded at first, and so many at all; more are smoothed
_FINEST_RATIO = 2.0**-9
_MOST_PASSES = 2
_POOR = 1e-2  # a relative width of a rough rung at which a steeper tilt is tried
_AT_LEAST = 1e-4  # of the upper end of a reading, what it is taken for where its lower end is less
_MOST_SPLITS, _NEARLY = 3, 0.5  # times that runs with a jump are planned, and of a reading what needs no other plan
_CHEAP = 2.0**17  # points for which no other way is tried
_DEARER = 4.0  # a point of the smoothed law over a point of the rounded ones, in time


def prepare(parts: Parts, goal: Goal, spread: float) -> Rung:
    """A rough rung: rough laws choose the tilt and the window, and a step is tried that is fine enough for any law."""
    plan = planned(parts, goal, spread)
    common, exact = common_step(parts)
    if exact and common is not None:
        return rounded_rung(plan, common)
    made = _made_roughly(plan)
    hopeless, width = (TRIED, 1.0) if made is None else made.quality()
    if hopeless and any(two_sided(loss) for loss, _ in parts):
        other = _planned_otherwise(parts, goal, spread, "closely")
        if other is not None and 2 * other.quality()[0] <= hopeless:
            return other
    if (hopeless, width) > (0, _POOR) and (goal.patient or all(math.isfinite(loss.support[1]) for loss, _ in parts)):
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
    if made is None or made.quality()[0] > TRIED // 2:
        made = makers[1](plan) or made
    return made


def _rounded(plan: Plan) -> Rung | None:
    """A rough rung of two laws on points, with more of them where too few leave no room; None where that fails."""
    if sum(n for _, n in plan.parts) > _MANY_STEPS:
        return None
    for points in (_FEW_POINTS, 8 * _FEW_POINTS, 64 * _FEW_POINTS):
        try:
            return rounded_rung(plan, aligned(plan, (plan.window[1] - plan.window[0]) / points))
        except ComputationFailed:
            continue
    return None


def _roughly_smoothed(plan: Plan) -> Rung | None:
    """A rough rung of smoothed laws; None where that fails."""
    try:
        return smoothed_rung(plan, _FEW_POINTS)
    except ComputationFailed:
        return None


def refined(rough: Rung, width: float) -> Rung:
    """The rung with a step that reaches the width aimed at, if a million points can: the width goes as h^2."""
    if common_step(rough.plan.parts)[1]:
        return rough
    rung = replace(rough, plan=replace(rough.plan, goal=replace(rough.goal, width=width)))
    tried = [rung]
    for _ in range(_MOST_PASSES + rung.goal.patient):
        if rung.quality() <= (0, width):
            break
        if len(tried) == 1 and _prospect(rung) > (1.0, _CHEAP):
            other = (_rounded if rung.is_smooth else _roughly_smoothed)(rung.plan)
            tried += [made for made in (other, *_patiently(rung)) if made is not None]
        best = min(tried, key=_prospect)
        finer = _finer(best)
        if finer is not None:
            tried[tried.index(best)] = finer
        rung = min([rung, *tried], key=Rung.quality)
        if finer is None:
            break
    return rung


def _patiently(rung: Rung) -> list[Rung | None]:
    """Rough rungs of other plans for a single reading."""
    if not rung.goal.patient:
        return []
    focused = _focused(rung)
    return [focused, _jumping(focused or rung)]


def _focused(rung: Rung) -> Rung | None:
    """A rough rung of shorter ranges: now that the reading is known, what weighs nothing beside it is left out."""
    reading = _reading(rung)
    if rung.goal.kind == "overlap" or not reading > 0:
        return None
    goal = replace(rung.goal, reading=reading)
    return _planned_otherwise(rung.plan.parts, goal, rung.plan.spread, rung.plan.look)


def _jumping(rung: Rung) -> Rung | None:
    """A rough rung of runs with a jump, where those without one hardly reach the threshold.

    It may know the reading better than the rung before, and be made again for it.
    """
    made: Rung | None = None
    for _ in range(_MOST_SPLITS):
        reading = _reading(made or rung)
        plan = split(replace(rung.plan, goal=replace(rung.goal, reading=reading)))
        other = None if plan is None else _roughly_smoothed(plan)
        if other is None or (made is not None and other.quality() >= made.quality()):
            break
        made = other
        if _reading(made) > _NEARLY * reading:
            break
    return made


def _reading(rung: Rung) -> float:
    """About the least that is read."""
    lower, upper = rung.ends(np.array([rung.goal.least, rung.goal.greatest]))
    return float(np.min(np.maximum(lower, _AT_LEAST * upper)))


def _finest(rung: Rung) -> float:
    """The step that should reach the goal, or the least that can be had."""
    wanted = rung.step * max(math.sqrt(0.8 * rung.goal.width / max(rung.width(), 1e-300)), _FINEST_RATIO)
    if not rung.is_smooth:
        return aligned(rung.plan, wanted)
    return max(
        wanted, length(rung.plan) / min(rung.goal.points, TRANSFORMED * rung.goal.points // len(rung.plan.parts))
    )


def _prospect(rung: Rung) -> tuple[float, float]:
    """What a finer step should reach, in widths aimed at, and what it costs in time."""
    step = _finest(rung)
    hopeless, width = rung.quality()
    reached = width * min(step / rung.step, 1.0) ** 2 * (1 + hopeless)
    points = length(rung.plan) * _DEARER if rung.is_smooth else rung.plan.window[1] - rung.plan.window[0]
    return max(reached / rung.goal.width, 1.0), points / step


def _finer(rung: Rung) -> Rung | None:
    """The rung with a finer step; None where that cannot be had."""
    step = _finest(rung)
    if not step < 0.8 * rung.step:
        return None
    try:
        if rung.is_smooth:
            return smoothed_rung(rung.plan, math.floor(length(rung.plan) / step))
        return rounded_rung(rung.plan, step)
    except ComputationFailed:
        return None
