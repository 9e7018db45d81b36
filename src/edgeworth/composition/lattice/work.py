"""Work is counted, not timed: a question is given up at the same point on every machine, and its answer is the same.

One unit is a point of a law that is convolved, some 70 ns.
"""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["charge", "done"]

_done: ContextVar[float] = ContextVar("edgeworth_work_done", default=0.0)


def charge(units: float) -> None:
    """Count some work.

    >>> before = done()
    >>> charge(1000)
    >>> done() - before
    1000.0
    """
    _done.set(_done.get() + units)


def done() -> float:
    """All that was counted so far: differences of it are what something took."""
    return _done.get()
