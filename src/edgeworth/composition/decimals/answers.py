"""Ends of delta, epsilon and f from atoms in decimals: all digits of a double, however near to an atom eps is."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import PerhapsSymmetric
from edgeworth.composition.decimals.atoms import ERROR, FARTHEST, LOST, DecimalLaw, decimal_law, is_listable
from edgeworth.composition.decimals.moments import DIGITS
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["applies", "prepared"]

_ROUNDING = 1e-15  # relative: more than that of a decimal that becomes a double
_READING = 2e3  # units of work


def applies(total: TotalLoss) -> bool:
    """Whether all atoms of the sum can be listed in decimals."""
    return total.is_exact and is_listable(total)


@lru_cache(maxsize=2)
def prepared(total: TotalLoss) -> DecimalAnswers:
    """The answers of a total loss; the last ones are kept."""
    if not applies(total):
        raise Unsupported("this composition has too many atoms to be listed in decimals")
    return DecimalAnswers(decimal_law(total), symmetric=total.is_symmetric)


class DecimalAnswers(PerhapsSymmetric):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, law: DecimalLaw, *, symmetric: bool) -> None:
        """`symmetric`: whether both directions are known to be the same."""
        self._symmetric = symmetric
        self._laws: dict[Direction, DecimalLaw] = {"forward": law, "backward": law.mirrored()}

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        ends = [self._delta(self._laws[direction], x) for x in epsilon.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    def _delta(self, law: DecimalLaw, epsilon: float) -> tuple[float, float]:
        spend(_READING)
        if not abs(epsilon) < FARTHEST:  # no loss listed is so large
            return max(0.0, -math.expm1(min(epsilon, 0.0))) * (1 - _ROUNDING), 1.0 if epsilon < 0 else float(LOST)
        with localcontext(prec=DIGITS):
            return _doubles(*law.delta(Decimal(epsilon)))

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta in one direction."""
        law, target = self._laws[direction], Decimal(delta)
        spend(_READING)
        with localcontext(prec=DIGITS):
            found = _root(law, target)
            lower, upper = found * (1 - _ROUNDING), found * (1 + _ROUNDING)
            surely_above = law.delta(Decimal(lower))[0] >= target
            surely_below = law.delta(Decimal(upper))[1] <= target
        return lower if surely_above else 0.0, upper if surely_below else math.inf

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By delta itself."""
        return self._delta(self._laws[direction], epsilon)[1] <= delta

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of the best test of type I error alpha in one direction, and ends of its type II error.

        It rejects all atoms beyond one, and a share of that. Atoms that are left out it accepts.
        """
        law, wanted = self._laws[direction], Decimal(alpha)
        spend(_READING)
        k = _first(len(law.atoms), lambda j: law.null_from[j + 1] < wanted)
        with localcontext(prec=DIGITS):
            place, null, alternative = law.atoms[k]
            accepted = min(max((law.null_from[k] - wanted) / null, Decimal(0)), Decimal(1))
            value = law.alternative_before[k] + accepted * alternative
            error = ERROR * (value + law.null_from[k] / null * alternative)
            lower, upper = _doubles(value - error, value + error + LOST)
        return float(place if direction == "forward" else -place), lower, upper

    def overlap(self, t: Array) -> Array:
        """At most E_P[min(X, e^t)] = Q[T <= t] + e^t P[T > t]."""
        law, values = self._laws["forward"], []
        with localcontext(prec=DIGITS):
            for x in t.tolist():
                at = Decimal(min(max(x, -FARTHEST), FARTHEST))
                k = law.first_past(at)
                value = law.alternative_before[k] + at.exp() * law.null_from[k]
                values.append(float(value) * (1 - _ROUNDING))
        return np.array(values)

    def touching(self, direction: Direction, t: float) -> list[float]:
        """P[T >= t] and P[T > t] near t, or those of -T under Q."""
        law = self._laws[direction]
        around = [law.first_past(Decimal(t) + side * Decimal(2 * math.ulp(t))) for side in (-1, 1)]
        return [min(max(float(law.null_from[k]), 1e-300), 1.0) for k in around]

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of a test at threshold 0, in order."""
        law = self._laws["forward"]
        alpha = min(max(float(law.null_from[law.first_past(Decimal(0))]), 1e-300), 1.0)
        least, greatest = sorted((alpha, self.miss("forward", alpha)[2]))
        return least, greatest


def _doubles(lower: Decimal, upper: Decimal) -> tuple[float, float]:
    """Both ends, rounded outwards, of a probability."""
    return max(float(lower) * (1 - _ROUNDING), 0.0), min(float(upper) * (1 + _ROUNDING), 1.0)


def _root(law: DecimalLaw, target: Decimal) -> float:
    """The least eps >= 0 at which delta has come down to the target; between two atoms it is a line in e^eps."""
    if sum(law.delta(Decimal(0))) <= 2 * target:
        return 0.0
    k = _first(len(law.atoms), lambda j: law.delta_at(j) <= target)
    return max(float(((law.alternative_from[k] - target) / law.null_from[k]).ln()), 0.0)


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The first number for which what then goes on to hold does; the last one where it never does."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
