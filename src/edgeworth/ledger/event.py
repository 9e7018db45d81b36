"""One entry of a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms import Mechanism

__all__ = ["Event"]


@dataclass(frozen=True)
class Event:
    """What ran, and a note in free text.

    >>> from edgeworth.mechanisms import Gaussian
    >>> Event(Gaussian(2.0) ** 3, note="statistics").releases
    3
    """

    mechanism: Mechanism
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            way_out = "give its .mechanism" if hasattr(self.mechanism, "mechanism") else "give one, e.g. Gaussian(2.0)"
            raise InvalidArgument(f"event={self.mechanism!r} is not a mechanism; {way_out}")
        if not isinstance(self.note, str):
            raise InvalidArgument(f"note={self.note!r} is not text; give a str")

    @cached_property
    def releases(self) -> int:
        """How many noisy releases this event makes."""
        return self.mechanism.releases
