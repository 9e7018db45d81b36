"""Numbers as people read them: few digits, and the ends of a bracket rounded so that the bracket only grows."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeworth.curves import Bracket

__all__ = ["at_most", "ends", "jsonable", "nearest", "outward", "reading"]

_DIGITS = 5


def nearest(value: float, digits: int = _DIGITS) -> str:
    """The value with that many digits.

    >>> nearest(3.26197), nearest(0.0), nearest(math.inf)
    ('3.2620', '0', 'inf')
    """
    return f"{value:#.{digits}g}" if math.isfinite(value) and value else f"{value:g}"


def outward(end: float, rounding: str, digits: int = _DIGITS) -> str:
    """The end of a bracket, rounded one way.

    >>> outward(3.26197, ROUND_FLOOR), outward(3.26191, ROUND_CEILING)
    ('3.2619', '3.2620')
    """
    if not math.isfinite(end) or end == 0:
        return f"{end:g}"
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(end))
    return nearest(float(rounded), digits)


def ends(found: Bracket, digits: int = _DIGITS) -> str:
    """Both ends of a bracket of numbers."""
    lower, upper = float(found.lower), float(found.upper)
    return f"[{outward(lower, ROUND_FLOOR, digits)}, {outward(upper, ROUND_CEILING, digits)}]"


def at_most(found: Bracket, digits: int = _DIGITS) -> str:
    """The upper end, or the estimate, marked as one."""
    if found.certified:
        return f"at most {outward(float(found.upper), ROUND_CEILING, digits)}"
    return f"{nearest(float(found.value), digits)} (estimate)"


def reading(found: Bracket) -> dict[str, float | str | bool]:
    """A bracket of numbers as plain data."""
    parts = {name: jsonable(float(getattr(found, name))) for name in ("value", "lower", "upper")}
    return parts | {"guarantee": found.certified}


def jsonable(number: float) -> float | str:
    """The number, or its name where JSON has none: "inf", "-inf"."""
    return float(number) if math.isfinite(number) else str(float(number))
