"""Curves whose every reading is certified: what an engine's answers look like from outside.

An engine that can give both ends of delta, of epsilon and of f needs no curve of its own: these two ask it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth.curves import Profile, TradeOff
from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses.law import Array

__all__ = [
    "GIVES_UP",
    "OPPOSITE",
    "AnsweredProfile",
    "AnsweredTradeOff",
    "Answers",
    "Direction",
    "End",
    "Ends",
    "Forwarding",
    "Question",
    "all_narrow",
    "both_hold",
    "every",
    "is_wide",
    "narrow",
]

#: how an engine gives up: on purpose, or because extremes overflow or leave nothing
GIVES_UP = (EdgeworthError, ArithmeticError, ValueError)

Direction: TypeAlias = Literal["forward", "backward", "both"]
End: TypeAlias = Literal["lower", "upper", "middle"]
Question: TypeAlias = Literal["delta", "epsilon", "tradeoff"]

OPPOSITE: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "both": "both"}
_SWAPPED: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
_UNDERFLOWS = 1e-300  # what stands for masses that underflow is up to some thousand times the smallest number
_POINT, _SHARE = np.polynomial.legendre.leggauss(24)


class Ends(NamedTuple):
    """A lower and an upper end."""

    lower: Array
    upper: Array


def is_wide(ends: Ends, width: float) -> NDArray[np.bool_]:
    """Whether the ends are apart by more than this, relative to the upper one."""
    known = np.isfinite(ends.upper)
    gap = np.where(known, ends.upper, 1.0) - np.where(known, ends.lower, 0.0)
    underflows = ends.upper < _UNDERFLOWS  # the lower end is then 0 for want of smaller numbers
    return np.asarray(gap > width * np.where(known, ends.upper, 0.0)) & (ends.lower < ends.upper) & ~underflows


def every(numbers: NDArray[Any]) -> bool:
    """Whether all of them hold, or are not 0; one alone, as most readings are, is looked at without a loop.

    >>> every(np.array([1.0])), every(np.array([1.0, 0.0])), every(np.array(0.0))
    (True, False, False)
    """
    return bool(numbers.item() if numbers.size == 1 else numbers.all())


def all_narrow(ends: Ends, width: float) -> bool:
    """Whether none of the ends are apart by more than this, relative to the upper one, at a glance."""
    if ends.upper.size == 1:
        return bool(ends.upper.item() * (1 - width) <= ends.lower.item())
    return bool((ends.upper * (1 - width) <= ends.lower).all())


def narrow(ends: Ends, some: NDArray[np.intp], other: Ends) -> None:
    """Narrow some of the ends by others that hold as well."""
    ends.lower[some], ends.upper[some] = both_hold(Ends(ends.lower[some], ends.upper[some]), other)


def both_hold(one: Ends, other: Ends) -> Ends:
    """What both leave open; brackets that are apart contradict each other, and neither is believed alone.

    >>> one, other = Ends(np.zeros(2), np.array([2.0, 1.0])), Ends(np.array([1.0, 2.0]), np.full(2, 3.0))
    >>> low, high = both_hold(one, other)
    >>> low.tolist(), high.tolist()
    ([1.0, 0.0], [2.0, 3.0])
    """
    apart = (other.lower > one.upper) | (other.upper < one.lower)
    low, high = np.minimum(one.lower, other.lower), np.maximum(one.upper, other.upper)
    return Ends(
        np.where(apart, low, np.maximum(one.lower, other.lower)),
        np.where(apart, high, np.minimum(one.upper, other.upper)),
    )


class Answers(Protocol):
    """What an engine has to answer, in each direction and in both."""

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order."""


class Forwarding:
    """Answers that are another's, but for the readings that a subclass changes."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._answers.delta(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._answers.epsilon(direction, delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._answers.tradeoff(direction, alpha)

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order."""
        return self._answers.bridge()


@dataclass(frozen=True, eq=False)
class AnsweredTradeOff(TradeOff):
    """One end of the certified trade-off function, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _evaluate(self, alpha: Array) -> Array:
        return _pick(self.answers.tradeoff(self.direction, alpha), self.end)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions are enclosed."""
        return self.direction == "both"

    @property
    def gamma(self) -> float:
        """The area under f symmetrised, 2 (integral up to a*) - a*^2, by Gauss–Legendre in z = Phi^-1(alpha).

        Below z = -8.3 the integral is smaller than Phi(-8.3) < 1e-16; the panels end where the bridge begins.
        """
        both, top = self.symmetrise(), self.fixed_point
        ends = np.array([-8.3, -5.0, -3.0, -1.5, 0.0, *ndtri([self.answers.bridge()[0], top])])
        edges = np.unique(ends[ends <= ndtri(top)])
        half = np.diff(edges)[:, None] / 2
        z = edges[:-1, None] + half * (_POINT + 1)
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return float(2 * np.sum(half * _SHARE * density * both(ndtr(z))) - top * top)

    def ends_of_epsilon(self, delta: Array) -> Ends:
        """Both ends of the least eps >= 0 with delta(eps) <= delta, in the shape of delta: one question."""
        lower, upper = self.answers.epsilon(self.direction, delta.ravel())
        return Ends(lower.reshape(delta.shape), upper.reshape(delta.shape))

    def inverse(self) -> TradeOff:
        """The other direction."""
        return AnsweredTradeOff(self.answers, self.end, OPPOSITE[self.direction])

    def symmetrise(self) -> TradeOff:
        """Both directions."""
        return AnsweredTradeOff(self.answers, self.end, "both")

    def profile(self) -> Profile:
        """The same end of f is the other end of delta."""
        return AnsweredProfile(self.answers, _SWAPPED[self.end], self.direction)


@dataclass(frozen=True, eq=False)
class AnsweredProfile(Profile):
    """One end of the certified profile, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(self.direction, epsilon), self.end)

    def _reverse_delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(OPPOSITE[self.direction], epsilon), self.end)

    def _epsilon(self, delta: Array) -> Array:
        return _pick(self.answers.epsilon(self.direction, delta), self.end)

    def reverse(self) -> Profile:
        """The other direction."""
        return AnsweredProfile(self.answers, self.end, OPPOSITE[self.direction])

    def tradeoff(self) -> TradeOff:
        """The trade-off function of which this is the dual."""
        return AnsweredTradeOff(self.answers, _SWAPPED[self.end], self.direction)


def _pick(ends: Ends, end: End) -> Array:
    if end == "middle":
        return np.asarray(0.5 * (ends.lower + ends.upper))
    return ends.lower if end == "lower" else ends.upper
