"""The two enclosing laws of a rung, made for a plan and a step: smoothed, or on the points of a lattice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import fft

from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.jump_line import JumpLine
from edgeworth.composition.lattice.masses import far_left, masses
from edgeworth.composition.lattice.plan import common_step
from edgeworth.composition.lattice.rounding import PointLaw, lowered, raised
from edgeworth.composition.lattice.rung import Rung
from edgeworth.composition.lattice.smoothed import Line, smoothed
from edgeworth.composition.lattice.tilted_lattice import convolved
from edgeworth.composition.lattice.transforms import Transform, transform, with_ends
from edgeworth.errors import ComputationFailed
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.lattice.plan import Plan
    from edgeworth.losses import PrivacyLoss

__all__ = ["TRANSFORMED", "aligned", "length", "rounded_rung", "smoothed_rung"]

# times as many points as one law may have all together, of which a smoothed, or a rounded one is made
TRANSFORMED, _CONVOLVED = 2, 4
_FEWEST_LEFT = 6
_RAREST = -600.0  # nats of a tilted jump, beside the rest of its step
_COARSEST = 0.2  # the longest step of a smoothed law


def length(plan: Plan) -> float:
    """The period of a smoothed law: as far as the sum is likely to be from any threshold."""
    return 1.01 * max(plan.window[1] - plan.goal.least, plan.goal.greatest - plan.window[0])


def smoothed_rung(plan: Plan, points: int) -> Rung:
    """Both laws smoothed: they differ in what lies outside the ranges, which the higher one has on the end points."""
    parts, goal, window = plan.parts, plan.goal, plan.window
    points = max(points, math.ceil(length(plan) / _COARSEST))
    if points > goal.points:
        raise ComputationFailed(f"a window of {length(plan):g} is too long to be smoothed")
    size = 2 * fft.next_fast_len((points + 1) // 2, real=True)
    h = length(plan) / points
    made = [_transformed(plan, number, h, size) for number in range(len(parts))]
    slack = sum(n * one.slack for one, (_, n) in zip(made, parts, strict=True))
    slack += 2.0**-50 * (abs(window[0]) + abs(window[1]))
    kept = goal.least - slack, goal.greatest + slack
    low = high = smoothed(_line(plan, [one.low for one in made], h, size), kept)
    if any(one.low != one.high for one in made):
        high = smoothed(_line(plan, [one.high for one in made], h, size), kept)
    above = np.array([(n, *one.above) for one, (_, n) in zip(made, parts, strict=True)])
    below = np.array([(n, *one.below) for one, (_, n) in zip(made, parts, strict=True)])
    return Rung(plan, high, low, slack, above, below)


def _line(plan: Plan, laws: list[tuple[Transform, Transform | None]], h: float, size: int) -> Line:
    """Along which the laws are integrated, all of them or runs with a jump alone."""
    steps = [(below, n) for (below, _), (_, n) in zip(laws, plan.parts, strict=True)]
    if plan.cut is None:
        return Line(plan.goal.kind, steps, plan.tilt, h, size)
    if not any(jumps and jumps.log_scale - below.log_scale > _RAREST for below, jumps in laws):
        raise ComputationFailed("jumps are too rare for doubles to hold")
    return JumpLine(plan.goal.kind, steps, plan.tilt, h, size, [jumps for _, jumps in laws])


class _Transformed(NamedTuple):
    """The transforms of a step without and with what lies outside its range, and the rows of a rung about that.

    Where it is split, of what is below the cut and what is above it.
    """

    low: tuple[Transform, Transform | None]
    high: tuple[Transform, Transform | None]
    slack: float
    above: tuple[float, ...]
    below: tuple[float, ...]


def _transformed(plan: Plan, number: int, h: float, size: int) -> _Transformed:
    """The masses of a step are not kept: millions of them may be."""
    loss, (least, greatest), tilt = plan.parts[number][0], plan.reach[number], plan.tilt
    cut = plan.cut if plan.cut is not None and _jumps_within(loss, least, plan.cut, greatest) else greatest
    made = masses(loss, (least, cut), tilt, math.pi / h)
    slack, below = made.slack + 2.0**-50 * made.farthest, (*made.below, made.ends[0])
    left, right = (made.ends[0], math.exp(-made.ends[0]) * made.below[1]), (made.ends[1], made.above[0])
    above = (*made.above, made.ends[1])
    low = transform(made, tilt, h, size, far_left(loss))
    if cut == greatest:
        high = with_ends(low, tilt, h, size, [left, right])
        return _Transformed((low, None), (high, None), slack, above, below)
    made = masses(loss, (cut, greatest), tilt, math.pi / h)
    slack, above = max(slack, made.slack + 2.0**-50 * made.farthest), (*made.above, made.ends[1])
    right = made.ends[1], made.above[0]
    jumps = transform(made, tilt, h, size)
    both = with_ends(low, tilt, h, size, [left]), with_ends(jumps, tilt, h, size, [right])
    return _Transformed((low, jumps), both, slack, above, below)


def _jumps_within(loss: PrivacyLoss, least: float, cut: float, greatest: float) -> bool:
    """Whether a step is a sample with something on either side of the cut, as far as its range goes."""
    if not (isinstance(loss, SampledLoss) and least < cut < greatest):
        return False
    if not loss.is_atomic:
        return cut < loss.support[1]
    place = loss.nodes().held()[0]
    return bool(np.any((place >= least) & (place <= cut)) and np.any((place > cut) & (place <= greatest)))


def aligned(plan: Plan, h: float) -> float:
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


def rounded_rung(plan: Plan, h: float) -> Rung:
    """Both laws on points, those of every step raised and lowered."""
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
