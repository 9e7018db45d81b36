"""The gate of `edgeworth account --max-epsilon`: epsilon is certainly at most what was allowed, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeworth import validation
from edgeworth.cli.describe import number
from edgeworth.errors import InvalidArgument, NotCertified
from edgeworth.ledger import BudgetExceeded

if TYPE_CHECKING:
    from edgeworth.report import Statement

__all__ = ["answer", "check", "most"]

FORMAT, VERSION = "edgeworth-account", 1
_SMALL_PRINT = ("assumptions", "not_covered", "command")


def most(text: str, deltas: list[str] | None) -> float:
    """The epsilon that is allowed, which means nothing without its delta."""
    if not deltas:
        raise InvalidArgument("--max-epsilon was given without --delta; the two make a budget, e.g. --delta 1e-5")
    return validation.non_negative(max_epsilon=number(max_epsilon=text))


def check(statement: Statement, allowed: float) -> None:
    """Raises unless every epsilon is certainly within what is allowed; an estimate proves nothing."""
    for delta, found in zip(statement.deltas, statement.epsilon, strict=True):
        if not found.certified:
            raise NotCertified(
                f"method={found.certificate.method!r} gives an estimate, which keeps no budget; "
                "use --method auto for a guarantee"
            )
        if found.upper > allowed:
            raise BudgetExceeded(
                f"epsilon at delta = {delta:g} is {float(found.upper):.10g}, above max_epsilon={allowed!r}; "
                "edgeworth calibrate finds the noise, steps or rate that fit"
            )


def answer(statement: Statement, allowed: float | None) -> dict[str, Any]:
    """The figures of a statement as plain data, and whether they are within what is allowed."""
    told = {name: value for name, value in statement.to_dict().items() if name not in _SMALL_PRINT}
    told |= {"format": FORMAT, "version": VERSION, "max_epsilon": allowed}
    within = statement.certified and allowed is not None and all(found.upper <= allowed for found in statement.epsilon)
    return told | {"within_budget": None if allowed is None else within}
