"""Everything this package raises on purpose.

EdgeworthError
├── InvalidArgument      (ValueError)       a value that means nothing, and the way out
├── Unsupported          (ValueError)       a meaningful question that has no sound answer here, and why
├── NotCertified         (RuntimeError)     a guarantee was asked of an estimate
├── ComputationFailed    (ArithmeticError)  a numerical method could not keep its promise
├── ToleranceMissed      (ArithmeticError)  the bracket is wider than was asked for; it is carried along
├── TooLarge             (MemoryError)      the work would not fit; said before it starts
├── MissingExtra         (ImportError)      an optional part is not installed; names the pip line
├── BudgetExceeded       (RuntimeError)     the event would go past the budget; nothing was charged
├── LedgerBusy           (OSError)          another writer holds the file, or this value is not its newest
├── LedgerDamaged        (OSError)          the file is not what was written; names the line and the way out
└── NotWritten           (OSError)          the disk refused; the file and the ledger are as they were
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "BudgetExceeded",
    "ComputationFailed",
    "EdgeworthError",
    "InvalidArgument",
    "LedgerBusy",
    "LedgerDamaged",
    "MissingExtra",
    "NotCertified",
    "NotWritten",
    "ToleranceMissed",
    "TooLarge",
    "Unsupported",
    "require_extra",
]


class EdgeworthError(Exception):
    """The root: catch this to catch all of them."""


class InvalidArgument(EdgeworthError, ValueError):
    """A value that means nothing. The message names the argument, its value and the way out."""


class Unsupported(EdgeworthError, ValueError):
    """A meaningful question that has no sound answer here. The message says why and what to ask instead."""


class NotCertified(EdgeworthError, RuntimeError):
    """A guarantee was asked of an estimate."""


class ComputationFailed(EdgeworthError, ArithmeticError):
    """A numerical method could not keep its promise; no number is returned in its place."""


class ToleranceMissed(EdgeworthError, ArithmeticError):
    """The best bracket is wider than was asked for; `bracket` holds it, and is as true as any."""

    def __init__(self, message: str, bracket: Any) -> None:
        super().__init__(message)
        self.bracket = bracket


class TooLarge(EdgeworthError, MemoryError):
    """The work would not fit in memory or time. Said before it starts."""


class MissingExtra(EdgeworthError, ImportError):
    """An optional part is not installed. The message names the pip line."""


class BudgetExceeded(EdgeworthError, RuntimeError):
    """The event would go past the budget. Nothing was charged: do not run it."""


class LedgerBusy(EdgeworthError, OSError):
    """Another writer holds the file, or the file has moved on since this value was made."""


class LedgerDamaged(EdgeworthError, OSError):
    """The file is not what was written. The message names the line and the way out."""


class NotWritten(EdgeworthError, OSError):
    """The disk refused to keep the event. The file and the ledger are as they were."""


def require_extra(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which pip line brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise
        raise MissingExtra(
            f"{module} is not installed; it comes with: pip install 'edgeworth[{extra}]'", name=module
        ) from missing
