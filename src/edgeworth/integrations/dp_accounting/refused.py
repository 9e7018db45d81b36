"""The error that says which part of an event has no sound answer here."""

from __future__ import annotations

from typing import Any

from edgeworth.errors import Unsupported

__all__ = ["EventRefused"]


class EventRefused(Unsupported):
    """An event that cannot be accounted for; `event` is the part that is to blame."""

    def __init__(self, message: str, event: Any) -> None:
        super().__init__(message)
        self.event = event
