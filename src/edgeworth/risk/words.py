"""Risk in words: odds, because people read those better than probabilities, and a table."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.curves import Bracket

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_dict", "entry", "odds", "sentence", "table"]

_DIGITS = 3
_TABLE_DIGITS = 4


def odds(share: float, rounding: str = ROUND_CEILING) -> str:
    """The share as "x in 100", or in 10 000, 1 000 000 ... so that x is at least 1; rounded up, so "at most" holds.

    >>> odds(0.0337), odds(0.00021), odds(0.0), odds(1.0)
    ('3.37 in 100', '2.1 in 10 000', '0 in 100', '100 in 100')
    """
    whole = 100
    while 0 < share * whole < 0.999_999 and whole < 10**18:
        whole *= 100
    digits = _DIGITS if share * whole < 99 else 4
    return f"{_rounded(share * whole, digits, rounding)} in {whole:,}".replace(",", " ")


def sentence(power: Bracket, fpr: float) -> str:
    """What the true positive rate at one false positive rate means."""
    if power.certified:
        found = f"recognises at most {odds(float(power.upper))} of those whose record was"
    else:
        share = odds(float(power.value), ROUND_FLOOR)
        found = f"recognises about {share} of those whose record was (an estimate, not a guarantee)"
    base = odds(fpr)
    return (
        f"Whoever wrongly accuses {base} of the people whose record was not used {found}; "
        f"guessing without the output, it would be {base}."
    )


def entry(found: Bracket, position: int) -> Bracket:
    """One entry of a bracket of arrays."""
    lower, upper, value = (float(np.asarray(end)[position]) for end in (found.lower, found.upper, found.value))
    return Bracket(lower, upper, value, found.certificate)


def as_dict(found: Bracket) -> dict[str, Any]:
    """A bracket of numbers as plain data."""
    return {"lower": found.lower, "value": found.value, "upper": found.upper, "certified": found.certified}


def table(rows: Sequence[tuple[str, Bracket]]) -> str:
    """One line a figure: both ends rounded outward for a guarantee, the value alone for an estimate."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {_cell(found)}" for name, found in rows)


def _cell(found: Bracket) -> str:
    if not found.certified:
        return f"{found.value:.{_TABLE_DIGITS}g} (estimate, not a guarantee)"
    lower, upper = (
        _rounded(float(end), _TABLE_DIGITS, way)
        for end, way in ((found.lower, ROUND_FLOOR), (found.upper, ROUND_CEILING))
    )
    return f"in [{lower}, {upper}]"


def _rounded(number: float, digits: int, rounding: str) -> str:
    """The number with that many digits, rounded one way unless these digits are the number itself."""
    nearest = f"{number:.{digits}g}"
    if not np.isfinite(number) or float(nearest) == number:
        return nearest
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(number))):.{digits}g}"
