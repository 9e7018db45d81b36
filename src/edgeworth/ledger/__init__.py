"""A running account: what ran so far, what it may cost in all, and what is left."""

from __future__ import annotations

from edgeworth.errors import BudgetExceeded, LedgerBusy, LedgerDamaged, NotWritten
from edgeworth.ledger.budget import Budget
from edgeworth.ledger.event import Event
from edgeworth.ledger.ledger import Ledger

__all__ = ["Budget", "BudgetExceeded", "Event", "Ledger", "LedgerBusy", "LedgerDamaged", "NotWritten"]
