"""Certified ends of delta, epsilon and f from the atoms of the sum: all digits, however the atoms lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import BothWays
from edgeworth.composition.lattice.enumerated import Enumeration
from edgeworth.curves.search import bracketed_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["EnumeratedAnswers"]

_ULP = 2.0**-52
_ROUNDING = 1e-15
_SMALL = 0.1  # an f below it is a difference of overlaps
_MOST_MOVES = 60


class _Curve(NamedTuple):
    """A concave function of u whose maximum is f: ends at a threshold, and ends of its slope right of it."""

    ends: Callable[[float], tuple[float, float]]
    slope: Callable[[float], tuple[float, float]]


class EnumeratedAnswers(BothWays):
    """Ends of delta, epsilon and f in each direction."""

    exact = True

    def __init__(self, listed: TotalLoss | Enumeration) -> None:
        """Of a total loss that is enumerable, or of a list that is made."""
        self._forward = listed if isinstance(listed, Enumeration) else Enumeration.of(listed)

    @property
    def lost(self) -> float:
        """At least the mass of the atoms that are not listed."""
        return self._forward.lost

    def _law(self, direction: Direction) -> Enumeration:
        return self._forward if direction == "forward" else self._forward.mirrored

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        ends = [self._law(direction).ends("delta", t) for t in epsilon.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of epsilon in one direction: an eps is taken where the matching end of delta is on the right side."""
        law = self._law(direction)
        slack = law.slack(law.greatest)
        top = law.greatest + 2 * slack
        if delta == 0:
            return max(0.0, law.greatest - 2 * slack), max(top, 0.0) if law.lost == 0 else math.inf
        at_zero = law.ends("delta", 0.0)
        if at_zero[1] <= delta or (top <= 0 and law.lost == 0):
            return 0.0, 0.0
        upper = math.inf if delta <= law.lost else _least(lambda t: law.ends("delta", t)[1] - delta, 0.0, max(top, 0.0))
        if at_zero[0] <= delta:
            return 0.0, upper
        lower = _least(lambda t: law.ends("delta", t)[0] - delta, 0.0, top)
        return _back(lambda t: law.ends("delta", t)[0] >= delta, lower), upper

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By delta itself."""
        return self._law(direction).ends("delta", epsilon)[1] <= delta

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of a test, and ends of f, in one direction."""
        law = self._law(direction)
        sign = 1.0 if direction == "forward" else -1.0
        if alpha > 0.5:
            found = _maximum(law, _head(law, alpha))
        else:
            found = _maximum(law, _tail(law, alpha))
            if found[1] < _SMALL:
                found = _maximum(law, _middle(law, alpha))
        return sign * found[0], found[1], found[2]

    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""
        return np.array([self._forward.ends("overlap", x)[0] for x in t.tolist()])

    def touching(self, direction: Direction, t: float) -> list[float]:
        """P[T >= t] and P[T > t], or those of -T under Q."""
        law = self._law(direction)
        return [min(max(law.above(t + d * law.slack(t)), 1e-300), 1.0) for d in (-2, 2)]

    def bridge(self) -> tuple[float, float]:
        """Two errors, in order, that a test at threshold 0 reaches in one direction: where the slope of f is -1."""
        alpha = min(max(self._forward.above(0.0), 1e-300), 1.0)
        beta = float(self.tradeoff("forward", np.array([alpha])).upper[0])
        return min(alpha, beta), max(alpha, beta)


def _above(law: Enumeration, t: float) -> tuple[float, float]:
    """Ends of P[T > t], which jumps at atoms."""
    low, high = law.above(t + law.slack(t)), law.above(t - law.slack(t))
    return low * (1 - law.error), high * (1 + law.error) + law.lost


def _tail(law: Enumeration, alpha: float) -> _Curve:
    """1 - (delta + u alpha), where f is not small."""

    def ends(t: float) -> tuple[float, float]:
        low, high = law.ends("delta", t)
        price = math.exp(t) * alpha
        return 1 - (high + price) * (1 + 4 * _ROUNDING) - _ROUNDING, 1 - (low + price) * (1 - 4 * _ROUNDING) + _ROUNDING

    return _Curve(ends, lambda t: _less(_above(law, t), alpha))


def _middle(law: Enumeration, alpha: float) -> _Curve:
    """The overlap less u alpha, where f is small."""

    def ends(t: float) -> tuple[float, float]:
        low, high = law.ends("overlap", t)
        price = math.exp(t) * alpha
        return low - price * (1 + 4 * _ROUNDING), high - price * (1 - 4 * _ROUNDING)

    return _Curve(ends, lambda t: _less(_above(law, t), alpha))


def _head(law: Enumeration, alpha: float) -> _Curve:
    """Of u (1 - alpha - reverse), where 1 - alpha is small."""

    def ends(t: float) -> tuple[float, float]:
        low, high = law.ends("reverse", t)
        growth = math.exp(t)
        rest = (1 - alpha) * (1 - _ROUNDING) - high, (1 - alpha) * (1 + _ROUNDING) - low
        return growth * rest[0] - 4 * _ROUNDING * growth * abs(rest[0]), growth * rest[1] * (1 + 4 * _ROUNDING)

    def slope(t: float) -> tuple[float, float]:
        s = law.slack(t)
        below = law.below(t - s) * (1 - law.error), law.below(t + s) * (1 + law.error) + law.lost
        return (1 - alpha) * (1 - _ROUNDING) - below[1], (1 - alpha) * (1 + _ROUNDING) - below[0]

    return _Curve(ends, slope)


def _less(ends: tuple[float, float], alpha: float) -> tuple[float, float]:
    return ends[0] - alpha, ends[1] - alpha


def _maximum(law: Enumeration, curve: _Curve) -> tuple[float, float, float]:
    """Where the curve is greatest, and ends of its maximum.

    It rises up to t1, where its lower slope is still >= 0, and falls from t2 on, where its upper slope is <= 0. Between
    them it is below the lines that leave t1 and a place just right of t1, beyond the atom there.
    """
    low, high = law.least - 1.0 - 4 * law.slack(law.least), law.greatest + 4 * law.slack(law.greatest)
    if curve.slope(low)[0] < 0:
        return low, 0.0, 1.0
    last = _least(lambda t: curve.slope(t)[1], low, high)
    turn = _least(lambda t: curve.slope(t)[0], low, high)
    first = min(_back(lambda t: curve.slope(t)[0] >= 0, turn), last)
    places = [first, min(turn + 4 * law.slack(turn), last), last]
    tried = [curve.ends(t) for t in places]
    upper = tried[2][1]
    for place, end, (_, value) in zip(places[:-1], places[1:], tried[:-1], strict=True):
        rise = max(curve.slope(place)[1], 0.0) * math.exp(place) * math.expm1(end - place)
        upper = max(upper, value + rise * (1 + 8 * _ROUNDING))
    return last, max(0.0, *(value for value, _ in tried)), upper


def _least(g: Callable[[float], float], low: float, high: float) -> float:
    """The least t with g(t) <= 0 for a falling g, or the right end."""
    if g(low) <= 0:
        return low
    if g(high) > 0:
        return high

    def family(t: Array, which: NDArray[np.intp]) -> Array:
        del which
        return np.array([g(x) for x in t.tolist()])

    return float(bracketed_root(family, np.array([low]), np.array([high]))[0])


def _back(holds: Callable[[float], bool], t: float) -> float:
    """The first t found, going left in growing steps, at which this holds."""
    step = _ULP * max(abs(t), 1e-300)
    for _ in range(_MOST_MOVES):
        if holds(t):
            return t
        t, step = t - step, 2 * step
    return t
