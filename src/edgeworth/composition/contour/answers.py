"""Certified ends of delta, epsilon and f, from the line integrals of a total, or of the measures that jumps make of it.

At a tiny rate a deep reading is spoilt by outcomes that hardly ever happen. There the runs are sorted by these jumps.
If that cannot be done, those with jumps are dropped, and what they weigh is added to the upper ends; how many may be
dropped depends on how deep the reading is.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Direction, Ends, all_narrow, is_wide, narrow
from edgeworth.composition.contour import jumps
from edgeworth.composition.contour.jump_answers import Jumping
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.composition.contour.line_profiles import LEVEL_NATS
from edgeworth.composition.contour.one_far import log_one_far, log_some_far
from edgeworth.composition.samples import density, gaussian_samples
from edgeworth.composition.work import WorkSpent, is_spent
from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    Ask = Callable[[LineAnswers, NDArray[np.intp] | slice], Ends]

__all__ = ["Answers"]

_DROPPED_NATS = 25.0  # the dropped mass is below e^-25 = 1e-11 of the reading
_LEAST_SHARE = 0.7  # Var L >= (E L')^2 = (mu E r)^2, and E r is nearly the rate where the tilt can stay with the bulk
_SMALL = 1e-150  # a reading, for which no jumps are followed
_SHALLOW = 20.0  # nats: what is less deep is treated as if it were this deep
_FAR_OUT = 75.0  # nats: what is less deep takes lines a step or two to find
_DEEPEST = 750.0  # nats: beyond, numbers underflow
_UNDERFLOWS, _LEAST = -746.0, 5e-324  # a logarithm below which a reading is less than the smallest number
_SPARSE = 0.02  # n p^2 below which a law that splits in two is not read without its jumps
_NEARLY_DENSE = 1e-3  # n p^2 from which on its whole lines can be had
_WIDE = 1e-10  # a relative width at which the other way is tried, …
_WIDE_MISS = 1e-8  # … and for f, …
_WIDE_FEW = 1e-7  # … and for few samples without Gaussian noise beside them, …
_MANY = 50  # … less than this
_MOST_GUESSES = 4
_MOST_KEPT = 10**6  # nodes of lines, of some 70 bytes each
_SURELY_NEAR = 0.5  # of log(1/p)/mu^2: a tilt so near to 1 that nothing far out counts, however large mu is
_LEAST_LEVEL = 6  # of dropping: the bulk of the law is what it was, and readings of 35 nats share their lines
_FARTHEST = 1e100  # an epsilon whose square is a number


class Answers:
    """Certified ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self.total = total
        self._levels: dict[int, LineAnswers] = {}
        samples = gaussian_samples(total)
        turning = [-math.log(loss.rate) / _mu(loss) ** 2 for loss, _ in samples if loss.rate < jumps.SMALL_RATE]
        self._turning = min(turning, default=math.inf)
        spread = math.sqrt(_LEAST_SHARE * math.fsum(n * (loss.rate * _mu(loss)) ** 2 for loss, n in samples))
        self._most_width = 1 / spread if spread > 0 else math.inf
        dense = density(samples)
        self._is_sparse = dense < _SPARSE
        self._is_nearly_dense = dense >= _NEARLY_DENSE
        few = 0 < sum(n for _, n in samples) < _MANY
        self._is_smooth = any(isinstance(loss, GaussianLoss) and loss.mu > 0 for loss, _ in total.parts)
        self._wide = _WIDE_FEW if few and not self._is_smooth else _WIDE

    @cached_property
    def _jumping(self) -> Jumping | None:
        return Jumping(self.total) if jumps.applies(self.total) else None

    def _at(self, level: int) -> LineAnswers:
        if level not in self._levels:
            self._levels[level] = LineAnswers(self.total, level)
        return self._levels[level]

    @cached_property
    def usable(self) -> bool:
        """Whether the line at the centre of the law can be had at all."""
        try:
            centre = np.array([self._at(self._level(0.0)).integrals.mean_under_q])
            ends = self._ask_again(np.zeros(1), lambda answers, _: answers.delta("forward", centre), wide=0.5)
        except GIVES_UP:  # a law so far out that no line is left
            return False
        return bool(ends.upper[0] < 2 * ends.lower[0])

    @cached_property
    def _bulk(self) -> LogMoments:
        """The log moments at some level: of the bulk of the law nothing is dropped."""
        return self._at(next(iter(self._levels), 0)).integrals.moments

    def _level(self, depth: float) -> int:
        """How deep to drop for a reading of this logarithm; 0, nothing, where the tilt stays with the bulk of the law.

        A tilt by c makes a second peak at x = c mu, of the weight of the first from c = 1 + 2 log(1/p)/mu^2 on.
        """
        nats = max(-depth, 0.0)
        away = 1.5 * math.sqrt(2 * max(nats, _SHALLOW))  # of the tilt from 1, in units of 1/std
        near = max(1.6 * self._turning - 1, _SURELY_NEAR * self._turning)
        if not away * self._most_width > near:
            return 0
        level = max(math.ceil((nats + _DROPPED_NATS) / LEVEL_NATS), _LEAST_LEVEL)
        if not self._levels:
            self._at(level)
        return level if away * self._bulk.width > near else 0

    def _wanted(self, depth: Array, deepest: int) -> NDArray[np.int_]:
        """The level of each; deeper readings never want a shallower one."""
        if depth.size == 1 or deepest == self._level(float(depth.max())):
            return np.full(depth.size, deepest)
        return np.array([self._level(one) for one in depth.tolist()])

    def _ask(self, depth: Array, ask: Ask, wide: float) -> Ends:
        """The answers, each from the level that its depth wants; where jumps spoil that, jump by jump."""
        ends = self._ask_lines(depth, ask, wide)
        if not all_narrow(ends, wide):
            self._ask_jumping(ends, is_wide(ends, wide), depth, ask, wide)
        return ends

    def _ask_lines(self, depth: Array, ask: Ask, wide: float) -> Ends:
        """The answers, each from the level that its depth wants."""
        if not depth.size:
            return Ends(np.empty(0), np.empty(0))
        deepest = self._level(float(depth.min()) if depth.size > 1 else depth.item())
        if self._is_sparse and deepest:
            ends = Ends(np.zeros(depth.size), np.full(depth.size, math.inf))
            self._narrow(ends, self._wanted(depth, deepest), ask, wide)
            return ends
        if depth.size == 1:
            return ask(self._at(deepest), slice(None))
        return self._ask_levels(self._wanted(depth, deepest), ask)

    def _with_whole_lines(self, ends: Ends, ask: Ask, wide: float) -> Ends:
        """Where the law splits in two its whole lines come last: they take longest, and seldom do."""
        if self._is_sparse and not is_spent():
            wide = wide if self._is_nearly_dense or self._is_smooth else max(wide, _WIDE_FEW)
            self._narrow(ends, np.zeros(ends.lower.size, dtype=int), ask, wide)
            self._forget_long_lines()
        return ends

    def _forget_long_lines(self) -> None:
        """After a reading, give back what another engine may need the memory for; lines can be made again."""
        jumping = self.__dict__.get("_jumping")  # not made for this
        kept = sum(answers.kept for answers in self._levels.values()) + (jumping.kept if jumping else 0)
        if kept > _MOST_KEPT:
            self._levels.clear()
            if jumping:
                jumping.forget()

    def _narrow(self, ends: Ends, levels: NDArray[np.int_], ask: Ask, wide: float) -> None:
        """Those of the ends that are wide, by the answers from these levels, if they can be had."""
        (rest,) = np.nonzero(_is_open(ends, wide))
        if rest.size:
            with suppress(*GIVES_UP, WorkSpent):
                narrow(ends, rest, self._ask_levels(levels[rest], _of(ask, rest)))

    def _ask_levels(self, wanted: NDArray[np.int_], ask: Ask) -> Ends:
        """The answers, each from its level."""
        levels = set(wanted.tolist())
        if len(levels) == 1:
            return ask(self._at(levels.pop()), slice(None))
        lower, upper = np.empty(wanted.size), np.empty(wanted.size)
        for level in sorted(levels):
            (mine,) = np.nonzero(wanted == level)
            lower[mine], upper[mine] = ask(self._at(level), mine)
        return Ends(lower, upper)

    def _ask_jumping(self, ends: Ends, asked: NDArray[np.bool_], depth: Array, ask: Ask, wide: float) -> None:
        """Narrow those of the ends that are asked for, jump by jump where that can be done."""
        (mine,) = np.nonzero(asked)
        if mine.size and self._jumping is not None:
            narrow(ends, mine, self._jumping.ask(_depth_level(depth[mine]), _of(ask, mine), wide))

    def _ask_again(self, depth: Array, ask: Ask, wide: float) -> Ends:
        """The same where the depth is a guess: lines tell quickly how deep a reading is, then jumps are followed.

        At rates that are not so tiny that costs little, and two levels leave less open than one.
        """
        ends, found = self._settled(self._ask_lines, depth, ask, wide)
        (rest,) = np.nonzero(_is_open(ends, wide))
        if rest.size:
            first = depth if self._is_nearly_dense else found
            with suppress(WorkSpent):
                narrow(ends, rest, self._settled(self._ask, first[rest], _of(ask, rest), wide)[0])
        return self._with_whole_lines(ends, ask, wide)

    def _settled(
        self, way: Callable[[Array, Ask, float], Ends], depth: Array, ask: Ask, wide: float
    ) -> tuple[Ends, Array]:
        """The answers, asked again where the first were of another level, and the depths; all answers hold."""
        ends = way(depth, ask, wide)
        for _ in range(_MOST_GUESSES if depth.size else 0):
            open_ = _is_open(ends, wide)
            if not open_.any():
                break
            found = np.log(np.maximum(np.where(ends.lower > 0, ends.lower, ends.upper), 1e-300))
            (other,) = np.nonzero((_depth_level(found) != _depth_level(depth)) & open_)
            if not other.size:
                break
            depth = np.where(np.isin(np.arange(depth.size), other), found, depth)
            try:
                narrow(ends, other, way(depth[other], _of(ask, other), wide))
            except WorkSpent:
                break
        return ends, depth

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if not self._is_sparse:
            return self._delta(direction, epsilon)
        most = log_one_far(self.total, direction, epsilon)
        (asked,) = np.nonzero(most > _UNDERFLOWS)
        lower, upper = np.zeros(epsilon.size), np.full(epsilon.size, _LEAST)
        if asked.size:
            lower[asked], upper[asked] = self._delta(direction, epsilon[asked])
        return Ends(lower, upper)

    def _narrow_by_whole_lines(self, direction: Direction, ask: Ask, wide: float) -> Ends | None:
        """All answers of a backward reading at small rates from whole lines, if they are narrow.

        It is one of tilts to the left, at which far outcomes weigh nothing, however rare they are.
        """
        if direction == "backward" and self._is_sparse and math.isfinite(self._turning):
            with suppress(*GIVES_UP):
                if all_narrow(ends := ask(self._at(0), slice(None)), wide):
                    return ends
        return None

    def _delta(self, direction: Direction, epsilon: Array) -> Ends:
        # A guess from the normal law, on the shallow side: tails are heavier than that.
        away = np.minimum(np.maximum(epsilon - self._bulk.mean_under_q, 0.0), _FARTHEST) * self._bulk.width
        depth = -0.3 * away * away

        def ask(answers: LineAnswers, mine: NDArray[np.intp] | slice) -> Ends:
            return answers.delta(direction, epsilon[mine])

        found = self._narrow_by_whole_lines(direction, ask, self._wide)
        if found is None and self._is_sparse:
            found = self._narrow_where_some_are_far(log_some_far(self.total, direction, epsilon), ask)
        return self._ask_again(depth, ask, self._wide) if found is None else found

    def _narrow_where_some_are_far(self, depth: Array, ask: Ask) -> Ends | None:
        """All answers from the depths at which some losses make all of the sum, if that is far out and they are narrow.

        Lines alone would find out step by step how deep a reading is.
        """
        if depth.size and depth.max() < -_FAR_OUT:
            ends = self._ask(np.maximum(depth, -_DEEPEST), ask, self._wide)
            if not is_wide(ends, self._wide).any():
                return ends
        return None

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        depth = np.log(np.maximum(delta, 1e-300))

        def ask(answers: LineAnswers, mine: NDArray[np.intp] | slice) -> Ends:
            return answers.epsilon(direction, delta[mine])

        if not self._is_sparse:
            return self._ask(depth, ask, self._wide)
        found = self._narrow_by_whole_lines(direction, ask, self._wide)
        return self._with_whole_lines(self._ask(depth, ask, self._wide), ask, self._wide) if found is None else found

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        depth = np.log(np.maximum(np.minimum(alpha, 1 - alpha), 1e-300))
        wide = max(self._wide, _WIDE_MISS)

        def ask(answers: LineAnswers, mine: NDArray[np.intp] | slice) -> Ends:
            return answers.tradeoff(direction, alpha[mine])

        found = self._narrow_by_whole_lines(direction, ask, wide)
        return self._ask_again(depth, ask, wide) if found is None else found

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order: where the slope of f is -1."""
        return self._at(self._level(0.0)).bridge()


def _mu(loss: SampledLoss) -> float:
    return loss.base.mu if isinstance(loss.base, GaussianLoss) else 0.0


def _depth_level(depth: Array) -> NDArray[np.int_]:
    """The level at which what is dropped is below e^-25 of a reading of this logarithm."""
    return np.asarray(np.ceil((np.clip(-depth, 0.0, _DEEPEST) + _DROPPED_NATS) / LEVEL_NATS), dtype=int)


def _is_open(ends: Ends, wide: float) -> NDArray[np.bool_]:
    """Which of them are wide, and large enough to be worth more than one line."""
    return is_wide(ends, wide) & (ends.upper > _SMALL)


def _of(ask: Ask, some: NDArray[np.intp]) -> Ask:
    """The question for some of the arguments only."""
    return lambda answers, mine: ask(answers, some[mine])
