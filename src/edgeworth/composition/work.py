"""Work is counted, not timed: a question is given up at the same point on every machine, and its answer is the same.

One unit is a point of a law that is convolved, 30 to 80 ns. A reading may take so much of it: once that is spent, no
further engine is turned to, searches end, and the best ends so far are the answer. What goes on for long after that is
broken off in the middle, wherever others know ends of the same reading.

A clock stands beside the count for machines on which a unit takes twice as long: nobody waits for longer than ten
seconds. The ends are wider then, and hold like any others, but they may depend on the machine. It is the clock of the
thread: a machine that is busy with others costs no digits.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token

__all__ = [
    "MOST_WORK",
    "WorkSpent",
    "at_most",
    "at_once",
    "breaking_off",
    "going_on",
    "is_spent",
    "one_reading",
    "spend",
    "spent",
    "to_the_end",
]

MOST_WORK = 1.4e8  # for one reading, after which nothing more is begun: four to eight seconds
_ALLOWANCE = 0.25  # of that besides, for what was begun before
_AT_ONCE = 2  # values of a reading that may take as much each as they would alone
_LONGEST = 6.5  # seconds of its own for one reading, after which nothing more is begun on a slow machine …
_BROKEN_OFF = 7.0  # … and after which what was begun is broken off
_UNTIMED = 3e5  # units that no clock is asked for: to ask it takes a quick reading longer than to count

_spent: ContextVar[float] = ContextVar("edgeworth_work_spent", default=0.0)
_end: ContextVar[float | None] = ContextVar("edgeworth_end_of_reading", default=None)
_last: ContextVar[float] = ContextVar("edgeworth_last_of_reading", default=math.inf)
_clock: ContextVar[_Clock | None] = ContextVar("edgeworth_clock_of_reading", default=None)


class _Clock:
    """When a reading of so many values began, as far as it was worth asking for: once so much had been counted."""

    __slots__ = ("begun", "count", "timed_from", "values")

    def __init__(self, counted: float, values: int, count: int) -> None:
        self.timed_from, self.values, self.count = counted + _UNTIMED, values, count
        self.begun: float | None = None

    def is_past(self, seconds: float) -> bool:
        """Whether the reading has taken longer than that, for each of the values that it may take it for."""
        if self.begun is None:
            self.begun = time.thread_time()
        return time.thread_time() - self.begun > self.values * seconds


class WorkSpent(Exception):
    """What is being done for a reading is broken off.

    An engine that gives up is no match for this: it fails for another reason, and may remember that it did.
    """


def spend(units: float) -> None:
    """Count some work.

    >>> before = spent()
    >>> spend(1000)
    >>> spent() - before
    1000.0
    """
    total, last = _spent.get() + float(units), _last.get()  # units may come as a number of NumPy's
    _spent.set(total)
    if total > last or (last < math.inf and _is_late(total, _BROKEN_OFF)):
        raise WorkSpent


def _is_late(total: float, seconds: float) -> bool:
    """Whether the reading, so much being counted, has taken longer than that."""
    clock = _clock.get()
    return clock is not None and total >= clock.timed_from and clock.is_past(seconds)


def at_once() -> int:
    """Of how many values the reading is that goes on.

    >>> with one_reading(100):
    ...     at_once()
    100
    >>> at_once()
    1
    """
    clock = _clock.get()
    return 1 if clock is None else clock.count


def spent() -> float:
    """All that was counted so far: differences of it are what something took."""
    return _spent.get()


class one_reading:  # noqa: N801 - a context like any other, without the time that a generator takes
    """A reading of so many values begins, unless it is part of another one: many take no more than a few.

    >>> with one_reading(100):
    ...     spend(1.5 * MOST_WORK)
    ...     first = is_spent()
    ...     spend(MOST_WORK)
    ...     first, is_spent()
    (False, True)
    >>> is_spent()
    False
    """

    __slots__ = ("_count", "_tokens", "_values")

    def __init__(self, count: int) -> None:
        self._count, self._values = count, min(max(count, 1), _AT_ONCE)
        self._tokens: tuple[Token[float | None], Token[_Clock | None]] | None = None

    def __enter__(self) -> None:
        if _end.get() is None:
            counted = spent()
            end = _end.set(counted + MOST_WORK * self._values)
            self._tokens = end, _clock.set(_Clock(counted, self._values, self._count))

    def __exit__(self, *_: object) -> None:
        if self._tokens is not None:
            _end.reset(self._tokens[0])
            _clock.reset(self._tokens[1])


class breaking_off:  # noqa: N801 - idem
    """What goes on for long after the reading has taken what it may raises `WorkSpent`, which is for the caller.

    >>> with one_reading(1), breaking_off():
    ...     try:
    ...         spend(2 * MOST_WORK)
    ...     except WorkSpent:
    ...         print("broken off")
    broken off
    """

    __slots__ = ("_token",)

    def __init__(self) -> None:
        self._token: Token[float] | None = None

    def __enter__(self) -> None:
        end = _end.get()
        if end is not None and math.isfinite(end) and math.isinf(_last.get()):
            self._token = _last.set(end + _ALLOWANCE * MOST_WORK)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _last.reset(self._token)


@contextmanager
def at_most(units: float) -> Iterator[None]:
    """What takes more than this is broken off, and sooner if the reading ends before.

    >>> with at_most(10):
    ...     try:
    ...         spend(20)
    ...     except WorkSpent:
    ...         print("broken off")
    broken off
    """
    with _set(_last, min(_last.get(), spent() + units)):
        yield


@contextmanager
def going_on() -> Iterator[None]:
    """What is quick goes on after all else has been broken off.

    >>> with one_reading(1), breaking_off(), going_on():
    ...     spend(2 * MOST_WORK)
    """
    with _set(_last, math.inf):
        yield


@contextmanager
def to_the_end() -> Iterator[None]:
    """What a search reads of another engine is read to the end: a blurred value would cost it more than it saves.

    >>> with one_reading(1):
    ...     spend(2 * MOST_WORK)
    ...     with to_the_end():
    ...         inside = is_spent()
    ...     inside, is_spent()
    (False, True)
    """
    with _set(_end, math.inf):
        yield


@contextmanager
def _set(variable: ContextVar[Any], value: float) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def is_spent() -> bool:
    """Whether the reading has taken what it may, or an engine in it what it may take at most.

    >>> with at_most(10):
    ...     try:
    ...         spend(20)
    ...     except WorkSpent:
    ...         print(is_spent())
    True
    """
    end, total = _end.get(), _spent.get()
    if total > _last.get():
        return True
    return end is not None and (total > end or (end < math.inf and _is_late(total, _LONGEST)))
