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
from copy import copy
from typing import TYPE_CHECKING, Literal

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


class _Reading:
    """What has been taken for a reading of so many values, and what may be."""

    __slots__ = ("begun", "count", "end", "last", "spent", "timed_from", "values", "watched")

    def __init__(self, count: int, before: _Reading | None = None) -> None:
        """One that begins; the first of all is none, but work that no end is set for."""
        self.count, self.values = count, _AT_ONCE if count >= _AT_ONCE else 1  # many may take no more than a few
        self.begun: float | None = None  # when, as far as it was worth asking the clock: once so much had been counted
        self.spent, self.last, self.watched = 0.0, math.inf, math.inf
        self.end: float | None = None  # after which nothing more is begun; beyond the last, work is broken off
        self.timed_from = math.inf
        if before is not None:
            self.spent, self.last = before.spent, before.last
            self.end, self.timed_from = before.spent + MOST_WORK * self.values, before.spent + _UNTIMED
            if self.last < math.inf:
                self.watch()

    def watch(self) -> None:
        """From where on what is counted may have to be broken off: next to nothing is asked before."""
        self.watched = min(self.last, self.timed_from) if self.last < math.inf else math.inf

    def is_late(self, seconds: float) -> bool:
        """Whether it has taken longer than that, for each of the values that it may take it for."""
        if self.spent < self.timed_from:
            return False
        if self.begun is None:
            self.begun = time.thread_time()
        return time.thread_time() - self.begun > self.values * seconds


_outside = _Reading(1)
_now: ContextVar[_Reading] = ContextVar("edgeworth_reading", default=_outside)


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
    reading = _now.get()
    reading.spent += float(units)  # units may come as a number of NumPy's
    if reading.spent >= reading.watched and (reading.spent > reading.last or reading.is_late(_BROKEN_OFF)):
        raise WorkSpent


def at_once() -> int:
    """Of how many values the reading is that goes on.

    >>> with one_reading(100):
    ...     at_once()
    100
    >>> at_once()
    1
    """
    return _now.get().count


def spent() -> float:
    """All that was counted so far: differences of it are what something took."""
    return _now.get().spent


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

    __slots__ = ("_before", "_count", "_made", "_token")

    def __init__(self, count: int) -> None:
        self._count = count
        self._token: Token[_Reading] | None = None

    def __enter__(self) -> None:
        self._before = _now.get()
        if self._before.end is None:
            self._made = _Reading(self._count, self._before)
            self._token = _now.set(self._made)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _now.reset(self._token)
            self._before.spent = self._made.spent


class breaking_off:  # noqa: N801 - idem
    """What goes on for long after the reading has taken what it may raises `WorkSpent`, which is for the caller.

    >>> with one_reading(1), breaking_off():
    ...     try:
    ...         spend(2 * MOST_WORK)
    ...     except WorkSpent:
    ...         print("broken off")
    broken off
    """

    __slots__ = ("_reading",)

    def __enter__(self) -> None:
        reading = _now.get()
        begins = reading.end is not None and reading.end < math.inf and reading.last == math.inf
        self._reading = reading if begins else None
        if reading.end is not None and begins:
            last = reading.end + _ALLOWANCE * MOST_WORK
            reading.last, reading.watched = last, min(last, reading.timed_from)

    def __exit__(self, *_: object) -> None:
        if self._reading is not None:
            self._reading.last = self._reading.watched = math.inf


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
    with _changed("last", min(_now.get().last, spent() + units)):
        yield


@contextmanager
def going_on() -> Iterator[None]:
    """What is quick goes on after all else has been broken off.

    >>> with one_reading(1), breaking_off(), going_on():
    ...     spend(2 * MOST_WORK)
    """
    with _changed("last", math.inf):
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
    with _changed("end", math.inf):
        yield


@contextmanager
def _changed(limit: Literal["end", "last"], value: float) -> Iterator[None]:
    """Another limit for what is done inside: of the reading that goes on, or of work outside of any."""
    reading, token = _now.get(), None
    if reading is _outside:  # which threads share
        reading = copy(_outside)
        token = _now.set(reading)
    before = getattr(reading, limit)
    try:
        setattr(reading, limit, value)
        reading.watch()
        yield
    finally:
        setattr(reading, limit, before)
        reading.watch()
        if token is not None:
            _now.reset(token)
            _outside.spent = reading.spent


def is_spent() -> bool:
    """Whether the reading has taken what it may, or an engine in it what it may take at most.

    >>> with at_most(10):
    ...     try:
    ...         spend(20)
    ...     except WorkSpent:
    ...         print(is_spent())
    True
    """
    reading = _now.get()
    if reading.spent > reading.last:
        return True
    if reading.end is None or reading.end == math.inf:
        return False
    return reading.spent > reading.end or reading.is_late(_LONGEST)
