"""From what ran to what it leaks: one dispatch, registered in the file of each law."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from edgeworth.losses.law import PrivacyLoss
    from edgeworth.mechanisms import Mechanism

__all__ = ["privacy_loss"]


@singledispatch
def privacy_loss(mechanism: Mechanism) -> PrivacyLoss:
    """The law of the privacy loss of one step."""
    raise Unsupported(f"no privacy loss is known for {mechanism!r}")
