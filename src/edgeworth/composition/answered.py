"""Curves whose every reading is certified: what an engine's answers look like from outside.

An engine that can give both ends of delta, of epsilon and of f needs no curve of its own: these two ask it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth.composition.result import ComposedCurve, with_disclosure
from edgeworth.composition.work import one_reading
from edgeworth.curves import Profile, TradeOff
from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.curves import Certificate
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    #: at most how much a function falls over a gap, from the lesser of two arguments on
    _Fall = Callable[[Array, Array], Array]

__all__ = [
    "GIVES_UP",
    "OPPOSITE",
    "AnsweredProfile",
    "AnsweredTradeOff",
    "Answers",
    "Direction",
    "Ends",
    "Forwarding",
    "Remembered",
    "all_narrow",
    "answered",
    "both_hold",
    "every",
    "is_wide",
    "narrow",
]

#: how an engine gives up: on purpose, or because extremes overflow or leave nothing
GIVES_UP = (EdgeworthError, ArithmeticError, ValueError)

Direction: TypeAlias = Literal["forward", "backward", "both"]
End: TypeAlias = Literal["lower", "upper", "middle"]

OPPOSITE: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "both": "both"}
_ENDS: tuple[End, ...] = ("lower", "middle", "upper")
_SWAPPED: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
_DISCLOSURE_ROUNDING = 4e-15
_UNDERFLOWS = 1e-300  # what stands for masses that underflow is up to some thousand times the smallest number
_LOST = 1e-315  # more than rounding loses where a number underflows, or a factor of it
_NO_LOSS, _LITTLE = 1e-12, 0.01  # of f and of the width of its ends: what a neighbour's ends may be wider
_GAIN = 1e-9  # relative: what an end has to gain from another reading to be changed
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


class Remembered(Forwarding):
    """Answers that keep the last question of each kind: the lower end, the value and the upper end ask the same.

    Every question is a reading of its own, which may take so much work and no more.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers)
        self._last: dict[tuple[str, Direction], tuple[bytes, Ends]] = {}

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps; at an eps some ulps beside the last one from what is known there, as for f.

        0 <= delta(a) - delta(b) <= 1 - e^(a-b) for a < b.
        """
        return self._beside("delta", direction, epsilon, lambda gap, _: gap)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._remembered("epsilon", direction, delta, self._answers.epsilon)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha); at an alpha some ulps beside the last one from what is known there, if that loses nothing.

        0 <= f(a) - f(b) <= (b - a)/a for a < b: what is disclosed asks for three neighbours, and an engine may be slow.
        """
        return self._beside("tradeoff", direction, alpha, lambda gap, least: gap / np.maximum(least, 1e-300))

    def _beside(self, what: Literal["delta", "tradeoff"], direction: Direction, argument: Array, fall: _Fall) -> Ends:
        """Ends at arguments that may be neighbours of the last ones, between which a function does not `fall` more."""
        ask = self._answers.delta if what == "delta" else self._answers.tradeoff
        before, known = self._last.get((what, direction), (b"", None))
        if known is None or len(before) != argument.nbytes or before == argument.tobytes():
            return self._remembered(what, direction, argument, ask)
        beside, near = _moved(np.frombuffer(before), known, argument, fall)
        if not near.any():
            return self._remembered(what, direction, argument, ask)
        if not near.all():
            with one_reading(argument.size):
                beside.lower[~near], beside.upper[~near] = ask(direction, argument[~near])
        return beside

    def _remembered(
        self, what: str, direction: Direction, argument: Array, ask: Callable[[Direction, Array], Ends]
    ) -> Ends:
        key, seen = (what, direction), argument.tobytes()
        if self._last.get(key, (b"",))[0] != seen:
            with one_reading(argument.size):
                ends = ask(direction, argument)
            ends = ends if what == "epsilon" else _outward_where_tiny(ends)
            self._last[key] = seen, _falling(argument, ends)
        return self._last[key][1]


def _outward_where_tiny(ends: Ends) -> Ends:
    """The same, with room for what underflows: numbers below 1e-308 have fewer digits the smaller they are.

    >>> _outward_where_tiny(Ends(np.array([0.0, 0.1]), np.array([1e-310, 0.2]))).upper.tolist()
    [1.00001e-310, 0.2]
    """
    tiny = (ends.upper > 0) & (ends.upper < _UNDERFLOWS)
    if not tiny.any():
        return ends
    lower, upper = np.maximum(ends.lower - _LOST, 0.0), ends.upper + _LOST
    return Ends(np.where(tiny, lower, ends.lower), np.where(tiny, upper, ends.upper))


def _moved(before: Array, known: Ends, argument: Array, fall: _Fall) -> tuple[Ends, NDArray[np.bool_]]:
    """Ends of f or of delta at an argument from those at one before, and where that one is near enough for them.

    >>> known = Ends(np.array([0.2, 0.6]), np.array([0.3, 0.6]))
    >>> ends, near = _moved(np.array([0.5, 0.1]), known, np.array([0.5, 0.2]), lambda gap, least: gap / least)
    >>> near.tolist(), ends.upper.tolist()
    ([True, False], [0.3, 0.6])
    """
    gap = np.abs(np.where(argument == before, 0.0, argument - before))
    loss = 2 * fall(gap, np.minimum(argument, before))
    near = (gap == 0) | (loss <= np.maximum(_NO_LOSS * known.lower, _LITTLE * (known.upper - known.lower)))
    lower = np.where(argument > before, np.maximum(known.lower - loss, 0.0), known.lower)
    return Ends(lower, np.where(argument < before, known.upper + loss, known.upper)), near


def _falling(argument: Array, ends: Ends) -> Ends:
    """The ends of a function that does not rise: what holds at one argument bounds it at all others on one side.

    Only what is gained by this is changed: a reading alone has the bits that it has in company.

    >>> low, high = _falling(np.array([1.0, 3.0, 2.0]), Ends(np.array([0.1, 0.3, 0.2]), np.array([0.9, 0.5, 0.4])))
    >>> low.tolist(), high.tolist()
    ([0.3, 0.3, 0.3], [0.9, 0.4, 0.4])
    """
    if argument.size < 2 or not is_wide(ends, _GAIN).any():
        return ends
    order = np.argsort(argument, kind="stable")
    lower, upper = np.empty(argument.size), np.empty(argument.size)
    lower[order] = np.maximum.accumulate(ends.lower[order][::-1])[::-1]
    upper[order] = np.minimum.accumulate(ends.upper[order])
    gains = (lower > ends.lower * (1 + _GAIN)) | (upper < ends.upper * (1 - _GAIN))
    gains &= lower <= upper  # ends that contradict each other are left as they are
    return Ends(np.where(gains, lower, ends.lower), np.where(gains, upper, ends.upper))


def answered(answers: Answers, total: TotalLoss, certificate: Certificate) -> ComposedCurve:
    """The composed curve of these answers, with the masses at infinite losses put back."""
    kept = Remembered(answers)
    lower, value, upper = (AnsweredTradeOff(kept, end, "forward") for end in _ENDS)
    if total.null_only == total.alternative_only == 0:
        return ComposedCurve(value, certificate, lower, upper)
    down, middle, up = (with_disclosure(f, total, lean) for f, lean in ((lower, 1), (value, 0), (upper, -1)))
    return ComposedCurve(middle, certificate, down, up, rounding=_DISCLOSURE_ROUNDING)


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
