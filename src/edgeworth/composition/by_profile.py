"""f from the profile: where an engine has more digits of delta than of its tests, the dual has them, too.

    f(alpha) = sup over u > 0 of g(u),    g(u) = 1 - delta(log u) - u alpha = u (1 - alpha - delta'(-log u)),

delta' the profile of the other direction. g is concave: a few of its values bound it everywhere.
`docs/proofs/by-profile.md` proves it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import GIVES_UP, OPPOSITE, Direction, Ends, Forwarding, is_wide, narrow
from edgeworth.composition.concave import greatest
from edgeworth.composition.work import MOST_WORK, WorkSpent, is_spent, spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.losses.law import Array

__all__ = ["ByProfile", "gains", "profile_at"]

_UNIT = 2.0**-53
_FIRST = (-100.0, -10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0)  # places of the first round, of those inside
_INWARD, _NEAR_AN_END = (1.0, 5.0, 25.0), 0.05  # from the first place: of a tiny f the best one is close to it
_MOST_ROUNDS = 30
_ENOUGH, _ENOUGH_SLOW = 1e-3, 0.1  # of the width that is asked for: as narrow as another round is worth
_NO_MORE = 3.0  # times the width of the best value, which no round can beat
_HOPELESS = 100.0  # times the width that is asked for: of values from which too little follows
_MOST_QUICK, _MOST_SLOW = 2_000, 16  # readings at a time
_FARTHEST = 599.0  # of the logarithm of a slope: nothing underflows
_FEWEST = 4  # places that are kept, whatever their values
_BESIDE = 0.1  # of the places outside, through which and the next ones lines are drawn
_CLOSE = 0.05  # of two gaps: a place next to a known one, with which it would make a poor line
_MOST_IDLE = 4  # rounds of a slow engine that narrow nothing …
_GROUND = 0.9  # … of what is known, nor what the places leave open themselves to such a share
_NEARER = 0.125  # of the distance to the best place, after such a round: on a kink that is all but sharp
_FINEST = 1e-10  # relative: the least distance of two places


class ByProfile(Forwarding):
    """The answers of an engine, with those of f that it leaves wide narrowed by its own profile.

    The readings of a quick engine are searched together, those of a slow one alone, if they are few.
    """

    def __init__(
        self,
        answers: Answers,
        wide: float,
        *,
        slow: bool = False,
        tests_last: bool = False,
        remainder: Callable[[Direction, Array], Ends] | None = None,
        places: Callable[[Direction, float], tuple[float, float]] | None = None,
    ) -> None:
        """`remainder`: 1 - delta, from those who have more digits of it than of delta where that is close to 1.

        `places`: thresholds in order between which that of a test is, from those who know it roughly at once.
        """
        super().__init__(answers)
        self._wide, self._slow, self._tests_last = wide, slow, tests_last
        self._remainder, self._places = remainder, places

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha): by the engine's own tests, and by its profile where they leave it wide; or vice versa."""
        if not self._tests_last:
            before = spent()
            ends = self._answers.tradeoff(direction, alpha)
            return self.narrowed(direction, alpha, ends, MOST_WORK - (spent() - before) / max(alpha.size, 1))
        ends = self.narrowed(direction, alpha, Ends(np.zeros(alpha.size), np.nextafter(1 - alpha, 2.0)), MOST_WORK)
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if wide.size:
            with suppress(WorkSpent):
                narrow(ends, wide, self._answers.tradeoff(direction, alpha[wide]))
        return ends

    def narrowed(self, direction: Direction, alpha: Array, ends: Ends, work: float = MOST_WORK) -> Ends:
        """Those of the ends that are wide, narrowed by the profile with so much work for each."""
        (wide,) = np.nonzero(is_wide(ends, self._wide) & (alpha > 0) & (alpha < 1))
        lower, upper = ends.lower.copy(), ends.upper.copy()
        if wide.size <= (_MOST_SLOW if self._slow else _MOST_QUICK):
            enough, idle = (_ENOUGH_SLOW, _MOST_IDLE) if self._slow else (_ENOUGH, _MOST_ROUNDS)
            aim = enough * self._wide, self._wide
            searches = [
                _Search(alpha[k], Ends(lower[k], upper[k]), self._around(direction, float(alpha[k])), aim, idle)
                for k in wide.tolist()
            ]
            for some in ([one] for one in searches) if self._slow else [searches]:
                self._search(direction, some, work)
            lower[wide], upper[wide] = [one.lower for one in searches], [one.upper for one in searches]
        return Ends(lower, upper)

    def _around(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Between which thresholds the search goes on; of both directions, that of their hull is between theirs."""
        if self._places is None:
            return -_FARTHEST, _FARTHEST
        ways: tuple[Direction, ...] = ("forward", "backward") if direction == "both" else (direction,)
        found = [self._places(way, alpha) for way in ways]
        return min(low for low, _ in found), max(high for _, high in found)

    def _search(self, direction: Direction, open_: list[_Search], work: float) -> None:
        """Round by round, all that are still open together; what the engine cannot say more about stays as it was."""
        before = spent()
        with suppress(*GIVES_UP, WorkSpent):  # extremes leave nothing
            while open_ and (not self._slow or spent() - before < work) and not is_spent():
                sizes = [one.asked.size for one in open_]
                alpha = np.repeat([one.alpha for one in open_], sizes)
                found = self._gains(direction, alpha, np.concatenate([one.asked for one in open_]))
                parts = (np.split(end, np.cumsum(sizes)[:-1]) for end in found)
                open_ = [one for one, *ends in zip(open_, *parts, strict=True) if one.goes_on(Ends(*ends))]

    def _gains(self, direction: Direction, alpha: Array, t: Array) -> Ends:
        """Ends of g(e^t): 1 - delta(t) - e^t alpha, where 1 - delta is known as such, or by delta."""
        if self._remainder is None:
            return gains(alpha, t, profile_at(self._answers, direction, t))
        found, line = self._remainder(direction, t), np.exp(t) * alpha
        slack = 8 * _UNIT * (found.upper + line)
        return Ends(found.lower - line - slack, found.upper - line + slack)


def profile_at(answers: Answers, direction: Direction, t: Array) -> Ends:
    """Ends of delta(t) for t >= 0, of delta'(-t) for t < 0: that of the other direction has the digits there."""
    lower, upper = np.empty(t.size), np.empty(t.size)
    left = t < 0
    if left.any():
        lower[left], upper[left] = answers.delta(OPPOSITE[direction], -t[left])
    if not left.all():
        lower[~left], upper[~left] = answers.delta(direction, t[~left])
    return Ends(lower, upper)


def gains(alpha: Array | float, t: Array, profile: Ends) -> Ends:
    """Ends of g(e^t) from those of the profile: 1 - delta(t) - e^t alpha, or e^t (1 - alpha - delta'(-t)) for t < 0."""
    low, high = profile
    u, whole = np.exp(t), 1 - np.asarray(alpha)
    line = u * alpha
    near, far = 8 * _UNIT * (whole + high), 8 * _UNIT * (1 + line)
    lower = np.where(t < 0, u * (whole - high - near), 1 - high - line - far)
    return Ends(lower, np.where(t < 0, u * (whole - low + near), 1 - low - line + far))


class _Search:
    """The search for the supremum at one alpha: its ends so far, and the places that it asks for next.

    The slope is -u with f/(1 - alpha) <= u <= (1 - f)/alpha, since delta and delta' are at least 0.
    """

    def __init__(
        self, alpha: float, known: Ends, around: tuple[float, float], aim: tuple[float, float], most_idle: int
    ) -> None:
        """`aim`: the relative width at which the search ends, and the one that is asked for."""
        self.alpha, self.lower, self.upper = float(alpha), float(known.lower), float(known.upper)
        (self._enough, self._wide), self._most_idle = aim, most_idle
        low = max(math.log(max(self.lower, 1e-300) / (1 - self.alpha)), -_FARTHEST, around[0]) - 1e-3
        high = max(min(math.log((1 - self.lower) / self.alpha), _FARTHEST, around[1]), low) + 1e-3
        inward = [far for far in _INWARD if far < _NEAR_AN_END * (high - low)]
        places = [0.5 * (low + high), *_FIRST, *(low + far for far in inward)]
        inside = [place for place in places if low < place < high]
        self.asked = np.unique([low - _BESIDE, low, *inside, high, high + _BESIDE])
        self._t, self._gains, self._rounds = np.empty(0), Ends(np.empty(0), np.empty(0)), 0
        self._poor, self._idle, self._open = np.empty(0), 0, math.inf

    def goes_on(self, fresh: Ends) -> bool:
        """Take the ends at the places asked for; whether more are asked for, in the middle between the best ones."""
        order = np.argsort(t := np.concatenate([self._t, self.asked]), kind="stable")
        t, gains = t[order], Ends(*(np.concatenate(pair)[order] for pair in zip(self._gains, fresh, strict=True)))
        top, place = greatest(t, gains)
        before, best_lower = self.upper - self.lower, float(np.max(gains.lower))
        self.lower = max(self.lower, best_lower)
        self.upper = max(min(self.upper, top), self.lower)
        gains_ground = self.upper - self.lower < before or top - best_lower < _GROUND * self._open
        self._idle = 0 if gains_ground else self._idle + 1
        self._open = min(self._open, top - best_lower)
        t, gains = self._telling(t, gains)
        known = np.isfinite(gains.lower) & np.isfinite(gains.upper)
        middle = np.where(known, gains.lower, -np.inf) + np.where(known, gains.upper, 0.0)
        best = min(max(int(np.argmax(middle)), 1), t.size - 2)
        kept, near = slice(max(best - 2, 0), best + 3), slice(best - 1, best + 2)
        self._t, self._gains = t[kept], Ends(gains.lower[kept], gains.upper[kept])  # two on each side have a line
        self.asked = _between(t[near], place, self._poor, 0.5 * _NEARER**self._idle)
        self._rounds += 1
        if self._rounds == _MOST_ROUNDS or self._idle == self._most_idle:
            return False
        return self._is_worth_it(Ends(gains.lower[near], gains.upper[near]))

    def _telling(self, t: Array, gains: Ends) -> tuple[Array, Ends]:
        """Without the values that are wider than f itself by now: on a kink an engine may know next to nothing.

        Those that are surely below f say on which side of them its place is.
        """
        poor = (gains.upper - gains.lower > self.upper - self.lower) & (gains.upper > self.lower)
        if np.count_nonzero(~poor) < _FEWEST:
            return t, gains
        self._poor = np.append(self._poor, t[poor])
        return t[~poor], Ends(gains.lower[~poor], gains.upper[~poor])

    def _is_worth_it(self, near: Ends) -> bool:
        """Whether another round can narrow the ends, and the values next to the best are known well enough for it."""
        width = near.upper - near.lower
        if self.upper - self.lower <= max(self._enough * self.upper, _NO_MORE * float(width[1])):
            return False
        scale = np.maximum(np.abs(near.lower), self.upper)
        return bool(np.all(width <= _HOPELESS * self._wide * scale))


def _between(t: Array, place: float, poor: Array, share: float) -> Array:
    """The middles of both gaps, and the place where two lines cross, if it is a new one: at a kink they cross on it.

    Next to a kink that is known already, places at some share of the gaps.
    """
    gaps = np.array([t[0] - t[1], t[2] - t[1]])
    if abs(place - t[1]) <= _CLOSE * (t[2] - t[0]):
        least = np.minimum(0.5, _FINEST * (1 + abs(t[1])) / np.abs(gaps))
        return np.asarray(t[1] + np.maximum(share, least) * gaps)
    middles = t[1] + 0.5 * gaps
    known = np.concatenate([t, middles, poor])
    if not t[0] < place < t[-1] or np.min(np.abs(known - place)) <= _CLOSE * (t[-1] - t[0]):
        return np.asarray(middles)
    return np.sort(np.append(middles, place))
