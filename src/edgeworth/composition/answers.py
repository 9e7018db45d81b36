"""Certified ends of delta, epsilon and f, from the line integrals of a total, or of the measures that jumps make of it.

At a tiny rate a deep reading is spoilt by outcomes that hardly ever happen. There the runs are sorted by these jumps.
If that cannot be done, those with jumps are dropped, and what they weigh is added to the upper ends; how many may be
dropped depends on how deep the reading is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import jumps
from edgeworth.composition.answered import Direction, Ends, is_wide
from edgeworth.composition.jump_answers import Jumping
from edgeworth.composition.line_answers import LEVEL_NATS, LineAnswers
from edgeworth.composition.log_moments import LogMoments
from edgeworth.composition.sampled_gaussian import SampledGaussian, Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    Ask = Callable[[LineAnswers, NDArray[np.intp]], Ends]
    Engine = Callable[[Array, Ask, float], Ends]

__all__ = ["Answers"]

_DROPPED_NATS = 25.0  # the dropped mass is below e^-25 = 1e-11 of the reading
_SHALLOW = 20.0  # nats: what is less deep is treated as if it were this deep
_SPARSE = 0.02  # n p^2 below which a law that splits in two is not read without its jumps
_WIDE = 1e-10  # a relative width at which the other way is tried, …
_WIDE_MISS = 1e-8  # … and for f
_MOST_GUESSES = 4
_SMALL_RATE = 0.03  # above it the far outcomes are part of the bulk


class Answers:
    """Certified ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self.total = total
        steps = Steps.of(total)
        moments = LogMoments(steps)
        self._width, self._alternative_mean = moments.width, float(moments(np.ones(1))[0, 1])
        self._turning = min(
            (
                -math.log(step.rate) / step.mu**2
                for step, _ in steps.others
                if isinstance(step, SampledGaussian) and step.rate < _SMALL_RATE
            ),
            default=math.inf,
        )
        self._levels: dict[int, LineAnswers] = {}
        self._jumping = Jumping(total) if jumps.applies(total) else None
        rates = [(step.rate, n) for step, n in steps.others if isinstance(step, SampledGaussian)]
        self._is_sparse = math.fsum(n * rate**2 for rate, n in rates) < _SPARSE

    def _at(self, level: int) -> LineAnswers:
        if level not in self._levels:
            self._levels[level] = LineAnswers(self.total, level)
        return self._levels[level]

    def usable(self) -> bool:
        """Whether the line at the centre of the law can be had at all."""
        centre = np.array([self._at(int(self._level(np.zeros(1))[0])).integrals.mean_under_q])
        ends = self._ask_again(np.zeros(1), lambda answers, _: answers.delta("forward", centre), wide=0.5)
        return bool(ends.upper[0] < 2 * ends.lower[0])

    def _level(self, depth: Array) -> NDArray[np.int_]:
        """How deep to drop for readings of these logarithms; 0, nothing, where the tilt stays with the bulk of the law.

        A tilt by c makes a second peak at x = c mu, of the weight of the first from c = 2 log(1/p)/mu^2 on.
        """
        nats = np.maximum(-depth, 0.0)
        tilt = 1 + 1.5 * np.sqrt(2 * np.maximum(nats, _SHALLOW)) * self._width
        return np.where(tilt > 1.6 * self._turning, np.maximum(_depth_level(depth), 4), 0)

    def _ask(self, depth: Array, ask: Ask, wide: float = _WIDE) -> Ends:
        """The answers, each from the level that its depth wants; where jumps spoil that, jump by jump.

        What jumps leave wide, lines that drop them leave wider: those come first only where they are likely to do.
        """
        ends = Ends(np.zeros(depth.size), np.full(depth.size, math.inf))
        split = (self._level(depth) > 0) & self._is_sparse

        def narrow(asked: NDArray[np.bool_], engine: Engine) -> None:
            (mine,) = np.nonzero(asked)
            if mine.size:
                _intersect(ends, mine, engine(depth[mine], _of(ask, mine), wide))

        narrow(split, self._ask_jumping)
        narrow(~split | np.isinf(ends.upper), self._ask_levels)
        narrow(~split & is_wide(ends, wide), self._ask_jumping)
        return ends

    def _ask_levels(self, depth: Array, ask: Ask, _: float) -> Ends:
        wanted = self._level(depth)
        lower, upper = np.empty(depth.size), np.empty(depth.size)
        for level in np.unique(wanted).tolist():
            (mine,) = np.nonzero(wanted == level)
            lower[mine], upper[mine] = ask(self._at(level), mine)
        return Ends(lower, upper)

    def _ask_jumping(self, depth: Array, ask: Ask, wide: float) -> Ends:
        if self._jumping is None:
            return Ends(np.zeros(depth.size), np.full(depth.size, math.inf))
        return self._jumping.ask(_depth_level(depth), ask, wide)

    def _ask_again(self, depth: Array, ask: Ask, wide: float = _WIDE) -> Ends:
        """The same where the depth is a guess: asked again where the answer was of another level; all answers hold."""
        ends = self._ask(depth, ask, wide)
        for _ in range(_MOST_GUESSES):
            with np.errstate(divide="ignore"):
                found = np.log(np.maximum(np.where(ends.lower > 0, ends.lower, ends.upper), 1e-300))
            (other,) = np.nonzero((_depth_level(found) != _depth_level(depth)) & is_wide(ends, wide))
            if not other.size:
                break
            depth = np.where(np.isin(np.arange(depth.size), other), found, depth)
            _intersect(ends, other, self._ask(depth[other], _of(ask, other), wide))
        return ends

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        # A guess from the normal law, on the shallow side: tails are heavier than that.
        away = np.maximum(epsilon - self._alternative_mean, 0.0) * self._width
        return self._ask_again(-0.3 * away * away, lambda answers, mine: answers.delta(direction, epsilon[mine]))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        depth = np.log(np.maximum(delta, 1e-300))
        return self._ask(depth, lambda answers, mine: answers.epsilon(direction, delta[mine]))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        depth = np.log(np.maximum(np.minimum(alpha, 1 - alpha), 1e-300))
        return self._ask_again(depth, lambda answers, mine: answers.tradeoff(direction, alpha[mine]), _WIDE_MISS)

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order: where the slope of f is -1."""
        return self._at(int(self._level(np.zeros(1))[0])).bridge()


def _depth_level(depth: Array) -> NDArray[np.int_]:
    """The level at which what is dropped is below e^-25 of a reading of this logarithm."""
    return np.asarray(np.ceil((np.maximum(-depth, 0.0) + _DROPPED_NATS) / LEVEL_NATS), dtype=int)


def _intersect(ends: Ends, some: NDArray[np.intp], other: Ends) -> None:
    """Narrow some of the ends by others that hold as well."""
    ends.lower[some] = np.maximum(ends.lower[some], np.minimum(other.lower, ends.upper[some]))
    ends.upper[some] = np.minimum(ends.upper[some], np.maximum(other.upper, ends.lower[some]))


def _of(ask: Ask, some: NDArray[np.intp]) -> Ask:
    """The question for some of the arguments only."""
    return lambda answers, mine: ask(answers, some[mine])
