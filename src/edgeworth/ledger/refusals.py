"""What a ledger refuses.

EdgeworthError
├── BudgetExceeded  (RuntimeError)  the event would go past the budget; nothing was charged
├── LedgerBusy      (OSError)       another writer holds the file, or this value is not its newest
├── LedgerDamaged   (OSError)       the file is not what was written; names the line and the way out
└── NotWritten      (OSError)       the disk refused; the file and the ledger are as they were
"""

from __future__ import annotations

from edgeworth.errors import EdgeworthError

__all__ = ["BudgetExceeded", "LedgerBusy", "LedgerDamaged", "NotWritten"]


class BudgetExceeded(EdgeworthError, RuntimeError):
    """The event would go past the budget. Nothing was charged: do not run it."""


class LedgerBusy(EdgeworthError, OSError):
    """Another writer holds the file, or the file has moved on since this value was made."""


class LedgerDamaged(EdgeworthError, OSError):
    """The file is not what was written. The message names the line and the way out."""


class NotWritten(EdgeworthError, OSError):
    """The disk refused to keep the event. The file and the ledger are as they were."""
