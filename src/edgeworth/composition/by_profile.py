"""f from the profile: where an engine has more digits of delta than of its tests, the dual has them, too.

    f(alpha) = sup over u > 0 of g(u),    g(u) = 1 - delta(log u) - u alpha = u (1 - alpha - delta'(-log u)),

delta' the profile of the other direction. g is concave: a few of its values bound it everywhere.
`docs/proofs/by-profile.md` proves it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import OPPOSITE, Direction, Ends, is_wide
from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers
    from edgeworth.losses.law import Array

__all__ = ["ByProfile"]

_UNIT = 2.0**-53
_FIRST = (-100.0, -10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0)  # places of the first round, of those inside
_MOST_ROUNDS = 30
_ENOUGH = 1e-3  # of the width that is asked for: as narrow as another round is worth
_NO_MORE = 3.0  # times the width of the best value, which no round can beat
_HOPELESS = 100.0  # times the width that is asked for: of values from which too little follows
_MOST_WIDE = 64  # readings at a time
_FARTHEST = 600.0  # of the logarithm of a slope: nothing underflows
_RATIO_ERROR = 1e-11  # relative, of the ratio of two gaps that are up to e^600 long


class ByProfile:
    """The answers of an engine, with those of f that it leaves wide narrowed by its own profile."""

    def __init__(self, answers: Answers, wide: float, *, tests_last: bool = False) -> None:
        self._answers, self._wide, self._tests_last = answers, wide, tests_last

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """That of the engine."""
        return self._answers.delta(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """That of the engine."""
        return self._answers.epsilon(direction, delta)

    def bridge(self) -> tuple[float, float]:
        """That of the engine."""
        return self._answers.bridge()

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha): by the engine's own tests, and by its profile where they leave it wide; or vice versa."""
        if not self._tests_last:
            return self._narrowed(direction, alpha, self._answers.tradeoff(direction, alpha))
        ends = self._narrowed(direction, alpha, Ends(np.zeros(alpha.size), np.nextafter(1 - alpha, 2.0)))
        (wide,) = np.nonzero(is_wide(ends, self._wide))
        if wide.size:
            other = self._answers.tradeoff(direction, alpha[wide])
            ends.lower[wide] = np.maximum(ends.lower[wide], np.minimum(other.lower, ends.upper[wide]))
            ends.upper[wide] = np.minimum(ends.upper[wide], np.maximum(other.upper, ends.lower[wide]))
        return ends

    def _narrowed(self, direction: Direction, alpha: Array, ends: Ends) -> Ends:
        """Those of the ends that are wide, narrowed by the profile."""
        (wide,) = np.nonzero(is_wide(ends, self._wide) & (alpha > 0) & (alpha < 1))
        lower, upper = ends.lower.copy(), ends.upper.copy()
        for place in wide.tolist() if wide.size <= _MOST_WIDE else []:
            narrower = self._searched(direction, float(alpha[place]), float(lower[place]), float(upper[place]))
            lower[place], upper[place] = narrower
        return Ends(lower, upper)

    def _searched(self, direction: Direction, alpha: float, lower: float, upper: float) -> tuple[float, float]:
        """Both ends at one alpha, round by round; what the engine cannot say more about stays as wide as it was.

        The slope is -u with f/(1 - alpha) <= u <= (1 - f)/alpha, since delta and delta' are at least 0.
        """
        try:
            low = max(math.log(max(lower, 1e-300) / (1 - alpha)), -_FARTHEST) - 1e-3
            high = min(math.log((1 - lower) / alpha), _FARTHEST) + 1e-3
            t = np.unique([low, high, 0.5 * (low + high), *(place for place in _FIRST if low < place < high)])
            gains = self._gains(direction, alpha, t)
            for _ in range(_MOST_ROUNDS):
                best = min(max(int(np.argmax(gains.lower + gains.upper)), 1), t.size - 2)
                near = slice(best - 1, best + 2)
                lower = max(lower, float(np.max(gains.lower)))
                upper = max(min(upper, _greatest(t, gains)), lower)
                t, gains = t[near], Ends(gains.lower[near], gains.upper[near])
                width = gains.upper - gains.lower
                if upper - lower <= max(_ENOUGH * self._wide * upper, _NO_MORE * float(width[1])):
                    break
                if np.any(width > _HOPELESS * self._wide * np.maximum(np.abs(gains.lower), upper)):
                    break
                t, gains = self._closer(direction, alpha, t, gains)
        except (EdgeworthError, ArithmeticError, ValueError, IndexError):  # extremes leave nothing
            pass
        return lower, upper

    def _closer(self, direction: Direction, alpha: float, t: Array, known: Ends) -> tuple[Array, Ends]:
        """Three places and the middles between them."""
        middles = 0.5 * (t[:-1] + t[1:])
        fresh = self._gains(direction, alpha, middles)
        order = np.argsort(places := np.concatenate([t, middles]), kind="stable")
        ends = (np.concatenate(pair)[order] for pair in zip(known, fresh, strict=True))
        return places[order], Ends(*ends)

    def _gains(self, direction: Direction, alpha: float, t: Array) -> Ends:
        """Ends of g(e^t): 1 - delta(t) - e^t alpha for t >= 0, e^t (1 - alpha - delta'(-t)) for t < 0."""
        lower, upper = np.empty(t.size), np.empty(t.size)
        left, u = t < 0, np.exp(t)
        if left.any():
            whole = 1 - alpha
            found = self._answers.delta(OPPOSITE[direction], -t[left])
            slack = 8 * _UNIT * (whole + found.upper)
            lower[left], upper[left] = u[left] * (whole - found.upper - slack), u[left] * (whole - found.lower + slack)
        if not left.all():
            line = u[~left] * alpha
            found = self._answers.delta(direction, t[~left])
            slack = 8 * _UNIT * (1 + line)
            lower[~left], upper[~left] = 1 - found.upper - line - slack, 1 - found.lower - line + slack
        return Ends(lower, upper)


def _greatest(t: Array, gains: Ends) -> float:
    """At least the supremum of a concave function of u = e^t, from its ends at rising t; inf where they prove nothing.

    Right of two places the function is below the line through them, and so it is left of two others: between
    neighbours the lower of these two lines bounds it, and both together at any place where the one is taken for the
    other. Left of the first place it rises if the second is surely higher; the last two likewise.
    """
    least, most = gains
    if not (least[1] >= most[0] and least[-2] >= most[-1]):
        return math.inf
    step = np.diff(t)
    ratio = np.exp(step[:-1]) * np.expm1(step[1:]) / np.expm1(step[:-1])  # of a gap in u to the one before
    more = 1 + _RATIO_ERROR
    climb = np.append(0.0, np.maximum(most[1:-1] - least[:-2], 0.0) * ratio * more)  # of the line from the left
    fall = np.append(np.maximum(most[1:-1] - least[2:], 0.0) / ratio * more, 0.0)  # and of that from the right
    both = climb + fall
    share = np.clip((most[1:] - most[:-1] + fall) / np.where(both > 0, both, 1.0), 0.0, 1.0)
    share[0], share[-1] = 0.0, 1.0  # there is one line only
    slack = 8 * _UNIT * (np.abs(most[1:]) + np.abs(most[:-1]) + both)
    return float(np.max(np.maximum(most[:-1] + climb * share, most[1:] + fall * (1 - share)) + slack))
