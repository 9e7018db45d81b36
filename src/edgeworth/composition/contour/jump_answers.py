"""Certified ends of delta, epsilon and f from the sum of the measures into which jumps sort the runs of a total.

Each measure is read by its own line integrals, at its own tilts. What Chernoff's inequality shows to be negligible
beside the others is not read. Roots are found first and then verified.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Direction, Ends, is_wide, narrow
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.jumps import DROPPED_NATS, likely_jumps, sorted_runs
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.composition.contour.line_profiles import LEVEL_NATS, SIGN, UNDER_Q
from edgeworth.composition.samples import density, samples
from edgeworth.composition.work import WorkSpent, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.contour.ladder import Side
    from edgeworth.composition.contour.rung import Kind
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    Ask = Callable[[LineAnswers, NDArray[np.intp]], Ends]

__all__ = ["JumpAnswers", "Jumping"]

_NEGLIGIBLE = 1e-13  # of the sum: smaller terms are bounded, not read
_FEW_JUMPS = 3  # tried when the likeliest numbers leave a reading wide
_SPARSE, _FEW = 1e-3, 50  # n p^2, or steps, below which six digits are promised, and nine elsewhere
_SIX_DIGITS, _NINE_DIGITS = 1e-9, 3e-10  # what is narrow enough
_USELESS = 0.5  # of the sum so far: a term that is less certain spoils it
_FEW_CHOICES = 3  # of lines for a threshold
_LEAST = 1e-320
_MOST_STEPS = 40
_BLIND_STEPS = 2  # of the root finder, without a value that can be trusted
_MOST_WIDENINGS = 12
_FIRST_STEP = 1e-3  # of the root finder, in standard deviations
_FURTHER = 4.0
_ROUNDING = 2.0**-52


class JumpAnswers(LineAnswers):
    """The answers of a total with up to `most` jumps followed; runs of mass about e^(-10 level) are dropped."""

    def __init__(self, total: TotalLoss, level: int, most: int) -> None:
        runs = sorted_runs(total, -LEVEL_NATS * level, most)
        super()._prepare(total, runs.terms[0]._replace(dropped=runs.dropped))
        self._terms = [Integrals(steps, _FEW_CHOICES) for steps in (self.steps, *runs.terms[1:])]
        self.integrals = self._terms[0]
        self._jumping, self._log_least = runs.jumping, -LEVEL_NATS * level

    @property
    def kept(self) -> int:
        """How many nodes of lines are held in memory."""
        return sum(term.kept for term in self._terms)

    def _read(self, kind: Kind, threshold: Array) -> Ends:
        """Ends of one integral: the sum of the terms, and what was dropped on top.

        Once a term that matters cannot be read, nothing is won by reading the others.
        """
        log_ceiling = np.array([term.log_ceiling(kind, threshold) for term in self._terms])
        lower, upper = np.zeros(threshold.size), np.full(threshold.size, self.steps.dropped[kind in UNDER_Q])
        hopeless = np.zeros(threshold.size, dtype=bool)
        # From the largest bound down, in the order of each threshold by itself.
        order = np.argsort(-log_ceiling, axis=0, kind="stable")
        for mine in order:
            bound = np.exp(np.minimum(log_ceiling[mine, np.arange(threshold.size)], 0.0))
            read = (bound > _NEGLIGIBLE * lower) & ~hopeless
            upper += np.where(read, 0.0, bound)
            for number in np.unique(mine[read]).tolist():
                here = read & (mine == number)
                ends = self._terms[number](kind, threshold[here])
                hopeless[here] = ends.upper - ends.lower > _USELESS * (lower[here] + ends.upper)
                lower[here] += ends.lower
                upper[here] += ends.upper
        slack = _ROUNDING * (len(self._terms) + 1)
        return Ends(lower * (1 - slack), upper * (1 + slack))

    def _backward_ceiling(self, epsilon: Array, *, fine: bool = False) -> Array:
        """That of the bulk, and all runs that jump."""
        return super()._backward_ceiling(epsilon, fine=fine) + self._jumping[0]

    def _overlap_ceiling(self, direction: Direction, epsilon: Array) -> Array:
        """That of the bulk, and all runs that jump."""
        return super()._overlap_ceiling(direction, epsilon) + self._jumping[direction == "forward"]

    def _solve(self, direction: Direction, delta: Array) -> Ends:
        """Both ends, verified; 0 where the profile at 0 is proved to be below the target already."""
        lower, upper = np.zeros(delta.size), np.zeros(delta.size)
        (open_,) = np.nonzero(delta < self._delta_by_lines(direction, np.zeros(1)).upper[0])
        if open_.size:
            lower[open_], upper[open_] = self._solve_above(direction, delta[open_])
        return Ends(lower, upper)

    def _solve_above(self, direction: Direction, delta: Array) -> Ends:
        kind: Kind = "delta" if direction == "forward" else "reverse"
        sign = SIGN[direction]
        guess = np.maximum(self._guess(direction, delta), 0.0)
        x, slope, error = self._root_of(kind, delta, sign * guess)
        eps = np.where(np.isfinite(error), np.maximum(sign * x, 0.0), math.nan)  # nothing is known about the others
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = 2 * error / slope + 1e-15 * eps
        margin = np.where(np.isfinite(margin) & (margin > 0), margin, 1e-3 * eps + 1e-9)
        lower, upper = (self._end(kind, sign, delta, eps, margin, side) for side in (-1.0, 1.0))
        return Ends(lower, upper)

    def _end(self, kind: Kind, sign: float, delta: Array, eps: Array, margin: Array, side: float) -> Array:
        """An end of eps: on the right delta's upper end is below the target, on the left its lower end above."""
        end = np.full(eps.size, 0.0 if side < 0 else math.inf)
        (open_,) = np.nonzero(np.isfinite(eps))
        room = margin.copy()
        for _ in range(_MOST_WIDENINGS):
            if not open_.size:
                break
            tried = np.maximum(eps[open_] + side * room[open_], 0.0)
            ends = self._read(kind, sign * tried)
            good = ends.lower >= delta[open_] if side < 0 else ends.upper <= delta[open_]
            end[open_[good]] = tried[good]
            open_ = open_[~good]
            room[open_] *= _FURTHER
        return end

    def _guess(self, direction: Direction, delta: Array) -> Array:
        """Eps from the leading saddle-point terms of all measures at their rungs."""
        side: Side = "right" if direction == "forward" else "left"
        known = []
        for term in self._terms:
            ladder = term.ladder(side)
            ladder.reach_depth(-self._log_least)
            depth, eps, _ = ladder.depths()
            below = np.flatnonzero(depth > -self._log_least)
            last = int(below[0]) + 1 if below.size else depth.size  # however far others have climbed
            known.append((eps[:last], -depth[:last]))
        grid = np.unique(np.concatenate([eps for eps, _ in known]))
        logs = [np.interp(grid, eps, log) for eps, log in known]
        falling = np.minimum.accumulate(np.logaddexp.reduce(logs, axis=0))
        return np.asarray(np.interp(-np.log(delta), -falling, grid))

    def _root(self, kind: Kind, target: Array) -> tuple[Array, Array]:
        x, slope, error = self._root_of(kind, target, self._threshold_guess(kind, target))
        scale = self.integrals.spread
        with np.errstate(divide="ignore", invalid="ignore"):
            open_ = 3 * error / slope + 1e-15 * scale
        return x, np.where(np.isfinite(open_) & (open_ > 0), open_, 1e-9 * scale)

    def _root_of(self, kind: Kind, target: Array, guess: Array) -> tuple[Array, Array, Array]:
        """Where the sum is the target, by secants of its logarithm; its slope there; the relative error left."""
        upward = 1.0 if kind in ("acceptance", "beta", "reverse") else -1.0

        def height(t: Array, some: NDArray[np.intp]) -> tuple[Array, Array]:
            """What is left to the target, increasing with t, and the relative width of the sum."""
            ends = self._read(kind, t)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                error = ends.upper / ends.lower - 1
            middle = np.where(ends.lower > 0, 0.5 * (ends.lower + ends.upper), ends.upper)
            return upward * np.log(np.maximum(middle, _LEAST) / target[some]), error

        x, step = guess.copy(), np.full(guess.size, _FIRST_STEP * self.integrals.spread)
        f, error = height(x, np.arange(x.size))
        slope, low, high = (np.full(x.size, value) for value in (math.nan, -math.inf, math.inf))
        for count in range(_MOST_STEPS):
            blind = ~np.isfinite(error) & (count > _BLIND_STEPS)
            left = np.abs(f) > np.maximum(0.1 * np.minimum(error, 1.0), 1e-13)
            (open_,) = np.nonzero(left & ~blind & (np.abs(step) > 1e-14 * np.abs(x)))
            if not open_.size:
                break
            here, there = x[open_], f[open_]
            low[open_], high[open_] = np.where(there < 0, here, low[open_]), np.where(there > 0, here, high[open_])
            step[open_] = _next_step(here, there, slope[open_], step[open_], (low[open_], high[open_]))
            x[open_] = here + step[open_]
            f[open_], error[open_] = height(x[open_], open_)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope[open_] = (f[open_] - there) / step[open_]
        return x, slope, error + np.abs(f)


def _next_step(x: Array, f: Array, slope: Array, step: Array, between: tuple[Array, Array]) -> Array:
    """Along the secant; where there is none, further than before; and back into the middle of what is enclosed."""
    low, high = between
    further = _FURTHER * np.abs(step)
    with np.errstate(divide="ignore", invalid="ignore"):
        move = -f / slope
        move = np.where(slope > 0, np.clip(move, -16 * further, 16 * further), -np.sign(f) * further)
        leaves = np.isfinite(high - low) & ~((x + move > low) & (x + move < high))
        return np.where(leaves, 0.5 * (low + high) - x, move)


class Jumping:
    """The same at the depth that each reading wants, with several numbers of jumps until the bracket is narrow."""

    def __init__(self, total: TotalLoss) -> None:
        self.total = total
        self._made: dict[tuple[int, int], JumpAnswers] = {}
        self._tried: dict[int, list[int]] = {}
        parts = samples(total)
        sparse = density(parts) < _SPARSE or sum(n for _, n in parts) < _FEW
        self._narrow = _SIX_DIGITS if sparse else _NINE_DIGITS

    @property
    def kept(self) -> int:
        """How many nodes of lines are held in memory."""
        return sum(made.kept for made in self._made.values())

    def forget(self) -> None:
        """Give back all that was made; it is made again when it is asked for."""
        self._made.clear()

    def _at(self, level: int, most: int) -> JumpAnswers:
        if (level, most) not in self._made:
            self._made[level, most] = JumpAnswers(self.total, level, most)
        return self._made[level, most]

    def _numbers(self, level: int) -> list[int]:
        """The numbers of jumps that are tried in turn, the likeliest first."""
        if level not in self._tried:
            likely = likely_jumps(self.total, DROPPED_NATS - LEVEL_NATS * level)
            tried = [likely, likely + 1, likely - 1, *range(1, _FEW_JUMPS + 1)]
            self._tried[level] = [most for most in dict.fromkeys(tried) if most > 0]
        return self._tried[level]

    def ask(self, level: NDArray[np.int_], ask: Ask, wide: float) -> Ends:
        """The answers, each from its level; all of them hold, so that the narrowest ends do."""
        found = Ends(np.zeros(level.size), np.full(level.size, math.inf))
        wide = max(wide, self._narrow)
        for one in np.unique(level).tolist():
            for most in self._numbers(one):
                (mine,) = np.nonzero(is_wide(found, wide) & (level == one))
                if not mine.size or is_spent():
                    break
                with suppress(*GIVES_UP, WorkSpent):
                    narrow(found, mine, ask(self._at(one, most), mine))
        return found
