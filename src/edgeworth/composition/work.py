"""Work is counted, not timed: a question is given up at the same point on every machine, and its answer is the same.

One unit is a point of a law that is convolved, some 80 ns. A reading may take so much of it: once that is spent, no
further engine is turned to, searches end, and the best ends so far are the answer.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token

__all__ = ["MOST_WORK", "charge", "done", "is_spent", "one_reading", "spend", "spent", "to_the_end"]

MOST_WORK = 1e8  # for one reading, after which nothing more is begun: some eight seconds
_AT_ONCE = 2  # values of a reading that may take as much each as they would alone

_done: ContextVar[float] = ContextVar("edgeworth_work_done", default=0.0)
_spent: ContextVar[float] = ContextVar("edgeworth_work_spent", default=0.0)
_end: ContextVar[float | None] = ContextVar("edgeworth_end_of_reading", default=None)


def charge(units: float) -> None:
    """Count some work of a lattice, or of what is as slow: searches have limits of their own for it.

    >>> before = done(), spent()
    >>> charge(1000)
    >>> done() - before[0], spent() - before[1]
    (1000.0, 1000.0)
    """
    _done.set(_done.get() + units)
    spend(units)


def done() -> float:
    """All that was charged so far: differences of it are what something took."""
    return _done.get()


def spend(units: float) -> None:
    """Count some work of an engine that is quick as a rule: it counts for the reading alone.

    >>> before = done(), spent()
    >>> spend(1000)
    >>> done() - before[0], spent() - before[1]
    (0.0, 1000.0)
    """
    _spent.set(_spent.get() + units)


def spent() -> float:
    """All that was counted so far, by either."""
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

    __slots__ = ("_count", "_token")

    def __init__(self, count: int) -> None:
        self._count = count
        self._token: Token[float | None] | None = None

    def __enter__(self) -> None:
        if _end.get() is None:
            self._token = _end.set(spent() + MOST_WORK * min(max(self._count, 1), _AT_ONCE))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _end.reset(self._token)


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
    token = _end.set(math.inf)
    try:
        yield
    finally:
        _end.reset(token)


def is_spent() -> bool:
    """Whether the reading has taken what it may."""
    end = _end.get()
    return end is not None and spent() > end
