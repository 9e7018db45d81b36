"""What a rung of the ladder needs: the tilt, the window of the sum and the range of every step, found by rough laws.

Everything that is chosen here decides only how narrow the ends are. That they are ends is proved in
docs/proofs/lattice.md for any choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeworth.composition.lattice.cells import Cells, cells, period
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.reach import reaches
from edgeworth.composition.lattice.rounding import log_moment, raised
from edgeworth.composition.log_sums import log_sum
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed
from edgeworth.losses import ReplacedGaussianLoss, ReplacedLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import PrivacyLoss

__all__ = [
    "MOST_POINTS",
    "STEEPEST",
    "Goal",
    "Look",
    "Parts",
    "Plan",
    "common_step",
    "least_tilt",
    "nats_of_reading",
    "planned",
    "steepest_tilt",
    "tilt_of",
    "two_sided",
    "within",
]

MOST_POINTS, _MORE = 2**20, 2  # of a law, and times as many for a single reading
_MOST_SCOUTS = 8
_LONGEST_TILT = 1e5  # in units of 1/spread
_SCOUTED = 5e4  # units of work for each of them
_SCOUTS = 1024  # cells of the rough laws that choose the tilt
_NATS = 44.0  # the tilted mass outside the window, and that of a step outside its range, is aimed at e^-NATS
_FEWER_NATS = 27.0  # outside the window where losses are rounded anyway
_NATS_BELOW = 18.0  # the same, relative to a reading that is known
_SHARES = np.array([0.3, 0.6, 0.9, 0.99])  # of a steep tilt, for the same of its window
_MOST_SPARE = 7.0  # nats: how far the tilt may stay behind, for a shorter window
_NEAREST = 0.5  # a tilt to its pole: the kernel is e^-27 then within a window that a million points can fill
STEEPEST = 60.0  # in the tilt times the distance of two atoms: the tilted law is on one of them
_MOST_RATIO = 4096  # of two spacings that are still taken for multiples of one

Parts = tuple[tuple["PrivacyLoss", int], ...]
Look: TypeAlias = Literal["plainly", "closely", "steeply"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a rung is for: a kind of reading between two thresholds, and the relative width that is aimed at.

    `reading` is about the least that is read, 0 where nobody knows. A `patient` one is for a single reading: more
    points and more ways are tried than many readings can afford.
    """

    kind: Kind
    least: float
    greatest: float
    width: float
    patient: bool = False
    reading: float = 0.0

    @property
    def points(self) -> int:
        """The most that a law may have."""
        return (_MORE if self.patient else 1) * MOST_POINTS


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What was chosen for a goal: the tilt, the window of the sum, and the range of every step."""

    parts: Parts
    goal: Goal
    tilt: float
    window: tuple[float, float]
    reach: list[tuple[float, float]]
    spread: float
    look: Look
    cut: float | None = None
    """Where samples are split, if what is read is what runs with a jump add."""


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


def planned(parts: Parts, goal: Goal, spread: float, look: Look = "plainly") -> Plan:
    """The tilt, the window of the sum, and the ranges of the steps, cut until rough laws see where tilted mass is.

    "closely" takes moments from nodes, not from the rough laws: those of records that are replaced have far outcomes on
    both sides, and their bulk within a cell or two. Where one far outcome is all that counts these are the better ones.
    "steeply" goes on where a step with far atoms is on one of them already, and the others still have far to go.
    """
    plan = _scouted(parts, goal, spread, reaches(parts, goal, spread), look)
    for _ in range(_MOST_SCOUTS):
        tried = _scouted(parts, goal, spread, plan.reach, look)
        done = _length(tried) > 0.5 * _length(plan)
        plan = tried
        if done:
            break
    return plan


def _length(plan: Plan) -> float:
    """Of the windows and ranges, those of lattices left out."""
    return sum(ends[1] - ends[0] for ends in plan.reach)


def _scouted(parts: Parts, goal: Goal, spread: float, reach: list[tuple[float, float]], look: Look) -> Plan:
    spend(_SCOUTED * len(parts))
    rough = [cells(loss, _scout_step(loss, ends), ends) for (loss, _), ends in zip(parts, reach, strict=True)]

    moments = [
        _nodes_moment(loss, ends) if look == "closely" and two_sided(loss) else partial(log_moment, made)
        for (loss, _), made, ends in zip(parts, rough, reach, strict=True)
    ]

    def k(c: float) -> float:
        return sum(n * moment(c) for moment, (_, n) in zip(moments, parts, strict=True))

    middle = 0.5 * (goal.least + goal.greatest)
    steepest = steepest_tilt(parts, spread, look)
    exact = common_step(parts)[1]
    spare = 0.0 if exact else min(max(math.log(1e4 / sum(n for _, n in parts)), 0.0), _MOST_SPARE)
    far = goal.greatest if goal.kind == "delta" else goal.least
    least = least_tilt(parts, spread, middle)
    best = tilt_of(k, goal.kind, middle, spread, (least, steepest))
    nats = _NATS if exact else _FEWER_NATS + spare
    tilts = [_behind(k, goal.kind, far, best, spare, 1 / spread)]
    if spare and goal.kind == "delta" and look == "steeply":
        tilts.append(_ahead(k, goal.least, best, spare, steepest))
    found = [(tilt, *within(k, tilt, spread, max(nats, nats_of_reading(k, tilt, goal)))) for tilt in tilts]
    tilt, low, high = min(found, key=lambda one: max(one[2], goal.greatest) - min(one[1], goal.least))
    margin = 2 * max((r.h for r, (loss, _) in zip(rough, parts, strict=True) if loss.lattice is None), default=0.0)
    window = min(low, goal.least) - margin, max(high, goal.greatest) + margin
    cut = [_cut(r, tilt, n, goal, ends) for r, (_, n), ends in zip(rough, parts, reach, strict=True)]
    return Plan(parts, goal, tilt, window, cut, spread, look)


def nats_of_reading(k: Callable[[float], float], tilt: float, goal: Goal) -> float:
    """How little of the tilted mass may lie outside the window, so that it is nothing beside the reading if known.

    Between two heaps of the law there is no tilt at which a reading is much of it.
    """
    if not goal.reading > 0:
        return 0.0
    t = 0.5 * (goal.least + goal.greatest)
    share = math.log(goal.reading) + (t if goal.kind == "reverse" else 0.0) - (k(tilt) + (1 - tilt) * t)
    return _NATS_BELOW - share


def two_sided(loss: PrivacyLoss) -> bool:
    """Whether it is that of a record that is replaced, with a density on both sides."""
    return isinstance(loss, ReplacedLoss | ReplacedGaussianLoss) and not loss.is_atomic


def _nodes_moment(loss: PrivacyLoss, ends: tuple[float, float]) -> Callable[[float], float]:
    """K of one step within its range, by some thousand nodes."""
    nodes = masses(loss, ends, STEEPEST / (ends[1] - ends[0]), 0.0)
    seen = (nodes.place >= ends[0]) & (nodes.place <= ends[1])
    place, log_mass = nodes.place[seen], nodes.log_mass[seen]
    return lambda c: log_sum(c * place + log_mass)


def _scout_step(loss: PrivacyLoss, ends: tuple[float, float]) -> float:
    if loss.lattice is not None:
        return loss.lattice.spacing if loss.lattice.log_null.size > 1 else 1.0
    return (ends[1] - ends[0]) / _SCOUTS


def steepest_tilt(parts: Parts, spread: float, look: Look) -> float:
    """Steeper tilts put a step on one of its atoms, or every step on one of its own."""
    lengths = [length for loss, _ in parts if (length := period(loss))]
    nearest = (min if look == "steeply" else max)(lengths, default=0.0)
    return min(_LONGEST_TILT / spread, STEEPEST / nearest if nearest > 0 else math.inf)


def least_tilt(parts: Parts, spread: float, t: float) -> float:
    """How near its pole a tilt may be: the window has to hold the kernel.

    A record that is replaced at a small rate has far outcomes on both sides, and a steep tilt sees nothing else.
    """
    least = 0.5 / (spread + abs(t))
    both = any(isinstance(loss, ReplacedLoss | ReplacedGaussianLoss) for loss, _ in parts)
    return min(least, _NEAREST) if both else least


def tilt_of(k: Callable[[float], float], kind: Kind, t: float, spread: float, reach: tuple[float, float]) -> float:
    """Where k(c) - c t is least, on the side of the poles that the kind of reading needs, so far from them."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - heavy, and few readings need it

    if kind == "overlap":
        away = min(0.2, 0.3 / spread)  # from the poles, so that the window holds the kernel
        return float(minimize_scalar(lambda c: k(c) - c * t, bounds=(away, 1 - away), method="bounded").x)
    pole, sign = (1.0, 1.0) if kind == "delta" else (0.0, -1.0)

    least, steepest = reach[0] * spread, reach[1]

    def at(v: float) -> float:
        return pole + sign * math.exp(v) / spread

    found = minimize_scalar(
        lambda v: k(at(v)) - at(v) * t,
        bounds=(math.log(least), math.log(max(steepest * spread, 2 * least))),
        method="bounded",
        options={"xatol": 0.02},
    )
    return at(float(found.x))


def _behind(k: Callable[[float], float], kind: Kind, t: float, tilt: float, spare: float, least: float) -> float:
    """A tilt nearer to the pole, but not nearer than `least`, at which k(c) - c t is larger by what can be spared.

    Round-off grows by the exponential of that.
    Far out, where one large loss or another brings the sum there, it makes several of them together much less likely.
    """
    if spare == 0 or kind == "overlap":
        return tilt
    pole, best = (1.0 if kind == "delta" else 0.0), k(tilt) - tilt * t
    near, far = min(max(0.1, least / abs(tilt - pole)), 1.0), 1.0  # shares of the way from the pole
    for _ in range(12):
        half = math.sqrt(near * far)
        c = pole + half * (tilt - pole)
        near, far = (near, half) if k(c) - c * t <= best + spare else (half, far)
    return pole + far * (tilt - pole)


def _ahead(k: Callable[[float], float], t: float, tilt: float, spare: float, steepest: float) -> float:
    """The same farther from the pole at 1: next to the end of the support it leaves hardly anything below t."""
    best, near, far = k(tilt) - tilt * t, 1.0, max((steepest - 1) / (tilt - 1), 1.0)
    for _ in range(12):
        half = math.sqrt(near * far)
        c = 1 + half * (tilt - 1)
        near, far = (half, far) if k(c) - c * t <= best + spare else (near, half)
    return 1 + near * (tilt - 1)


def within(k: Callable[[float], float], tilt: float, spread: float, nats: float) -> tuple[float, float]:
    """Ends beyond which, by Chernoff's inequality, the tilted law has less than e^-nats."""
    base, width = k(tilt), _width(k, tilt, spread)
    shifts = np.geomspace(0.05, 32.0, 24) / width
    low = max((base - k(tilt - s) - nats) / s for s in [*shifts, *(_SHARES * abs(tilt))])
    return low, min((k(tilt + s) - base + nats) / s for s in shifts)


def _width(k: Callable[[float], float], tilt: float, spread: float) -> float:
    """The standard deviation of the tilted law, roughly."""
    step = 0.1 / spread
    curvature = (k(tilt + step) - 2 * k(tilt) + k(tilt - step)) / step**2
    return math.sqrt(max(curvature, (1e-3 * spread) ** 2))


def _cut(rough: Cells, tilt: float, n: int, goal: Goal, ends: tuple[float, float]) -> tuple[float, float]:
    """The range of one step without the ends that hold less than e^-NATS/n of its tilted mass on the sides not read.

    Rough cells may be long, and the range no wider for them than it was.
    """
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
        max(float(points[0 if goal.kind == "reverse" else first]), ends[0]),
        min(float(points[-1 if goal.kind == "delta" else last]), ends[1]),
    )
