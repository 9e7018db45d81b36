"""Answers of an engine that is made when it is first asked, and may give up then."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from edgeworth.errors import EdgeworthError

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Direction, Ends
    from edgeworth.losses.law import Array

__all__ = ["Deferred"]


class Deferred:
    """What cannot be made raises with the question: another engine behind it answers that."""

    def __init__(self, prepare: Callable[[], Answers]) -> None:
        self._prepare = prepare
        self._failed: EdgeworthError | None = None

    @cached_property
    def _engine(self) -> Answers:
        return self._prepare()

    @property
    def _made(self) -> Answers:
        """The engine, for which nothing is tried twice that failed: to find out may take long."""
        if self._failed is not None:
            raise self._failed
        try:
            return self._engine
        except EdgeworthError as error:
            self._failed = error
            raise

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        return self._made.delta(direction, epsilon)

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        return self._made.epsilon(direction, delta)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._made.tradeoff(direction, alpha)

    def bridge(self) -> tuple[float, float]:
        """Upper ends of the two errors of the test at threshold 0, in order."""
        return self._made.bridge()
