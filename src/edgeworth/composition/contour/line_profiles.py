"""Certified ends of delta and epsilon from the line integrals: roots are found first and then verified.

A root finder's word is never taken: an end of epsilon is an epsilon at which the matching end of delta lies on the
right side of the target.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends, all_narrow, every, narrow
from edgeworth.composition.contour.backward_ceiling import BackwardCeiling
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.ladder import has_room
from edgeworth.composition.contour.overlap_ceiling import OverlapCeiling
from edgeworth.composition.contour.sampled_gaussian import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.contour.rung import Kind, Rung
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["LEVEL_NATS", "MOST_WIDENINGS", "ROUNDING", "SIGN", "UNDER_Q", "LineProfiles"]

LEVEL_NATS = 10.0  # dropped masses are e^(-10 k): few different ones
ROUNDING = 1e-15
MOST_WIDENINGS = 60

#: the integrals of the profile and of its mirror image, by direction
_PROFILES: dict[Direction, tuple[Kind, Kind]] = {"forward": ("delta", "reverse"), "backward": ("reverse", "delta")}
#: and of 1 less the profile
_OVERLAPS: dict[Direction, Kind] = {"forward": "overlap", "backward": "reverse overlap"}
#: of a threshold: backward, thresholds are those of -T
SIGN: dict[Direction, float] = {"forward": 1.0, "backward": -1.0}
#: kinds that count outcomes under Q; the others count them under P
UNDER_Q: tuple[Kind, ...] = ("delta", "overlap", "power", "beta")
_MOST_MOVES = 5
_POOR, _GOOD = 3e-10, 1e-12  # relative widths at which halving is tried, and at which it ends
_LARGEST = 600.0  # of an exponent
_MOST_HALVINGS = 40
_MOST_EPSILON = 1e9
_NEAR = 1.5  # standard deviations
_NOTHING = 1e-14  # of 1 - delta: less is not worth a line
_NONE: NDArray[np.intp] = np.empty(0, dtype=np.intp)


class LineProfiles:
    """The profiles of a total from which runs of mass at most e^(-10 level) were dropped; 0 drops nothing."""

    def __init__(self, total: TotalLoss, level: int) -> None:
        self._prepare(total, Steps.of(total, -LEVEL_NATS * level if level else -math.inf))

    def _prepare(self, total: TotalLoss, steps: Steps) -> None:
        self.total, self.steps = total, steps
        self.integrals = Integrals(steps)
        self._overlap: dict[Direction, OverlapCeiling] = {}

    @property
    def kept(self) -> int:
        """How many nodes of lines are held in memory."""
        return self.integrals.kept

    def _read(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of one integral: what was dropped is missing from the value, and at most itself."""
        ends = self.integrals(kind, threshold)
        return Ends(ends.lower, ends.upper + self.steps.dropped[kind in UNDER_Q])

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if direction != "both":
            return self._delta_by_lines(direction, epsilon)
        lower, upper = self._delta_by_lines("forward", epsilon)
        (open_,) = np.nonzero(~(self._backward_ceiling(epsilon) <= lower))
        if open_.size:
            other = self._delta_by_lines("backward", epsilon[open_])
            lower[open_] = np.maximum(lower[open_], other.lower)
            upper[open_] = np.maximum(upper[open_], other.upper)
        return Ends(lower, upper)

    def _delta_by_lines(self, direction: Direction, epsilon: Array) -> Ends:
        kinds, sign = _PROFILES[direction], SIGN[direction]
        large = self._is_large(direction, epsilon)
        mirrored = (epsilon < sign * self.integrals.middle) & ~large
        near = ~(large | mirrored)
        if near.all():
            return self._read(kinds[0], sign * epsilon)
        lower, upper = np.empty(epsilon.size), np.empty(epsilon.size)
        if near.any():
            lower[near], upper[near] = self._read(kinds[0], sign * epsilon[near])
        if large.any():
            lower[large], upper[large] = self._by_overlap(direction, epsilon[large])
        if mirrored.any():
            # delta(eps) = 1 - e^eps + e^eps delta'(-eps): no cancellation while e^eps is small
            e = epsilon[mirrored]
            ends = self._read(kinds[1], sign * e)
            base, growth = -np.expm1(e), np.exp(e)
            lower[mirrored] = np.clip(base + growth * ends.lower - ROUNDING * (1 + growth), 0.0, 1.0)
            upper[mirrored] = np.clip(base + growth * ends.upper + ROUNDING * (1 + growth), 0.0, 1.0)
        return Ends(lower, upper)

    def _is_large(self, direction: Direction, epsilon: Array) -> NDArray[np.bool_]:
        """Where the profile is 1 - little, and the little is read: left of the mean under the alternative."""
        middle = SIGN[direction] * self.integrals.middle
        if not has_room(self.integrals.moments):
            return np.asarray((epsilon < middle) & (epsilon > _LARGEST))
        mean = self.integrals.mean_under_q if direction == "forward" else -self.integrals.mean_under_p
        return np.asarray((epsilon > -_LARGEST) & (epsilon < max(mean - _NEAR * self.integrals.spread, middle)))

    def _by_overlap(self, direction: Direction, epsilon: Array) -> Ends:
        """1 - delta by its ceiling; where that is not small enough, by its own lines, or delta itself without any."""
        most = self._overlap_ceiling(direction, epsilon) + 2 * ROUNDING
        ends = Ends(np.maximum(1 - most, 0.0), np.ones(epsilon.size))
        (open_,) = np.nonzero(most > _NOTHING)
        if not open_.size:
            return ends
        t = SIGN[direction] * epsilon[open_]
        if has_room(self.integrals.moments):
            little = self._read(_OVERLAPS[direction], t)
            lower, upper = 1 - little.upper - ROUNDING, 1 - little.lower + ROUNDING
        else:
            lower, upper = self._read(_PROFILES[direction][0], t)
        narrow(ends, open_, Ends(np.maximum(lower, 0.0), np.minimum(upper, 1.0)))
        return ends

    def _overlap_ceiling(self, direction: Direction, epsilon: Array) -> Array:
        """An upper bound of 1 - delta; of runs that were dropped, it is at most their mass."""
        if direction not in self._overlap:
            steps = float(sum(n for _, n in self.steps.others))
            self._overlap[direction] = OverlapCeiling(self.integrals.moments, direction, steps)
        return self._overlap[direction](epsilon) + self.steps.dropped[direction == "forward"]

    @cached_property
    def _ceiling(self) -> BackwardCeiling:
        return BackwardCeiling(self.integrals.moments, float(sum(n for _, n in self.steps.others)))

    def _backward_ceiling(self, epsilon: Array, *, fine: bool = False) -> Array:
        """An upper bound of the backward profile, quickly; the finer one costs more, and a line still more."""
        bound = self._ceiling.normal(epsilon) if fine else self._ceiling.chernoff(epsilon)
        return bound + self.steps.dropped[0]

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        if direction != "both":
            return self._epsilon_by_lines(direction, delta)
        ends = self._epsilon_by_lines("forward", delta)
        open_ = self._not_settled(ends.upper, delta)
        if open_.size:
            other = self._epsilon_by_lines("backward", delta[open_])
            ends.lower[open_] = np.maximum(ends.lower[open_], other.lower)
            ends.upper[open_] = np.maximum(ends.upper[open_], other.upper)
        return ends

    def _not_settled(self, upper: Array, delta: Array) -> NDArray[np.intp]:
        """Where nothing proves the backward delta at the upper end of eps to be below the target.

        Where something does, eps backward is below that end, too: a quick bound if it is enough, else a reading.
        """
        known = np.isfinite(upper)
        settled = (self._backward_ceiling(upper) <= delta) & known
        if every(settled):
            return _NONE
        (asked,) = np.nonzero(known & ~settled)
        if asked.size:
            settled[asked] = self._backward_ceiling(upper[asked], fine=True) <= delta[asked]
            asked = asked[~settled[asked]]
        if asked.size:
            settled[asked] = self._delta_by_lines("backward", upper[asked]).upper <= delta[asked]
        return np.nonzero(~settled)[0]

    def _epsilon_by_lines(self, direction: Direction, delta: Array) -> Ends:
        if (0 < delta.item() < 1) if delta.size == 1 else (delta.min() > 0 and delta.max() < 1):
            ends = self._solve(direction, delta)
            if every(ends.lower):
                return ends
            lower, upper = ends
            inner = np.ones(delta.size, dtype=bool)
        else:
            inner = (delta > 0) & (delta < 1)
            lower, upper = np.zeros(delta.size), np.full(delta.size, math.inf)
            upper[delta == 1] = 0.0
            lower[delta == 0] = max(0.0, self._least_unbounded(direction))
            if inner.any():
                lower[inner], upper[inner] = self._solve(direction, delta[inner])
        (maybe,) = np.nonzero((lower == 0) & inner)
        if maybe.size:
            at_zero = self._delta_by_lines(direction, np.zeros(1)).upper[0]
            upper[maybe[delta[maybe] >= at_zero]] = 0.0
        return Ends(lower, upper)

    def _least_unbounded(self, direction: Direction) -> float:
        """A lower bound of the supremum of T (of -T backward): below it delta is positive."""
        least, greatest = self.total.support
        return greatest if direction == "forward" else -least

    def _solve(self, direction: Direction, delta: Array) -> Ends:
        """The root along one line, then ends that are verified by the ends of delta."""
        kind, sign, target = _PROFILES[direction][0], SIGN[direction], np.log(delta)
        known = self.integrals.root_on_last_line(kind, target)
        if known is None:
            ladder = self.integrals.ladder("right" if direction == "forward" else "left")
            eps = np.maximum(ladder.threshold(target), 0.0)
            owners = self.integrals.owners(kind, sign * eps)
            known = self.integrals.root_on_last_line(kind, target) if len(owners) == 1 else None
        if known is not None:
            rung, x, margin = known
            ends = self._verified(rung, kind, sign, delta, np.maximum(sign * x, 0.0), margin)
            return self._improved(direction, delta, ends)
        margin = np.empty(delta.size)
        for _ in range(_MOST_MOVES):
            for rung, here in owners:
                x, margin[here] = self.integrals.root(kind, rung, sign * eps[here], target[here])
                eps[here] = np.maximum(sign * x, 0.0)
            before, owners = owners, self.integrals.owners(kind, sign * eps)
            if [rung for rung, _ in before] == [rung for rung, _ in owners]:
                break  # else a root far from its guess belongs to another line
        lower, upper = np.empty(delta.size), np.empty(delta.size)
        for rung, here in owners:
            lower[here], upper[here] = self._verified(rung, kind, sign, delta[here], eps[here], margin[here])
        return self._improved(direction, delta, Ends(lower, upper))

    def _improved(self, direction: Direction, delta: Array, ends: Ends) -> Ends:
        """The same, by halving where the ends are far apart."""
        if not all_narrow(ends, _POOR):
            lower, upper = ends
            for one in np.nonzero(upper - lower > _POOR * upper)[0].tolist():
                found = self._halved(direction, float(delta[one]), float(lower[one]), float(upper[one]))
                lower[one], upper[one] = found
        return ends

    def _verified(self, rung: Rung, kind: Kind, sign: float, delta: Array, eps: Array, margin: Array) -> Ends:
        """Ends of eps: on the left delta's lower end is above the target, on the right its upper end below."""
        dropped, n = self.steps.dropped[kind in UNDER_Q], eps.size
        less, more = margin, margin
        for _ in range(MOST_WIDENINGS):
            tried = np.maximum(np.concatenate([eps - less, eps + more]), 0.0)
            ends = rung.ends(kind, sign * tried)
            below = (ends.lower[:n] >= delta) | (tried[:n] == 0)
            above = ends.upper[n:] + dropped <= delta
            if every(below & above):
                return Ends(tried[:n], tried[n:])
            less, more = np.where(below, less, 4 * less), np.where(above, more, 4 * more)
        return Ends(np.where(below, tried[:n], 0.0), np.where(above, tried[n:], math.inf))

    def _halved(self, direction: Direction, delta: float, lower: float, upper: float) -> tuple[float, float]:
        """Both ends by halving, where the root finder led astray: what the ends of delta can prove, and no more."""

        def ends(eps: float) -> tuple[float, float]:
            low, high = self._delta_by_lines(direction, np.array([eps]))
            return float(low[0]), float(high[0])

        proved, high = lower, upper
        while math.isinf(high) and proved < _MOST_EPSILON:
            tried = 2 * proved + 1e-3
            low, most = ends(tried)
            high = tried if most <= delta else high
            lower = tried if low >= delta else lower
            proved = tried
        open_low, open_high = lower, high  # the upper end falls, the lower one rises
        for _ in range(_MOST_HALVINGS):
            if high - lower <= _GOOD * high or math.isinf(high):
                break
            tried = 0.5 * (lower + open_high)
            if ends(tried)[0] >= delta:
                lower = tried
            else:
                open_high = tried
            tried = 0.5 * (open_low + high)
            if ends(tried)[1] <= delta:
                high = tried
            else:
                open_low = tried
        return lower, high
