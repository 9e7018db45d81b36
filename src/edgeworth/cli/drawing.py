"""Which picture was asked for, and the numbers behind it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth import validation
from edgeworth.account import account
from edgeworth.cli.pictures import DISPLAYS
from edgeworth.errors import InvalidArgument
from edgeworth.report import CompareDisplay, MethodsTable
from edgeworth.report.digits import jsonable

if TYPE_CHECKING:
    from edgeworth.cli.pictures import Display
    from edgeworth.mechanisms import Mechanism

__all__ = ["display", "numbers"]

FORMAT, VERSION = "edgeworth-plot", 1


def display(kind: str, mechanism: Mechanism, method: str, degree: int) -> Display:
    """The data of the picture: one account, or every method for "compare"."""
    validation.choice((*DISPLAYS, "compare"), kind=kind)
    if kind == "compare" and method != "auto":
        raise InvalidArgument("--kind compare draws every method; leave out --method, or take another --kind")
    if kind == "compare":
        return CompareDisplay.from_accounts(MethodsTable.of(mechanism, degrees=()).accounts)
    drawn: Display = DISPLAYS[kind].from_account(account(mechanism, method=method, degree=degree))
    return drawn


def numbers(kind: str, drawn: Display) -> dict[str, Any]:
    """The arrays of a display as plain data; one object for each curve."""
    curves = drawn.displays if isinstance(drawn, CompareDisplay) else (drawn,)
    return {"format": FORMAT, "version": VERSION, "kind": kind, "curves": [_plain(each) for each in curves]}


def _plain(curve: Any) -> dict[str, Any]:
    named = {curve.argument: curve.grid} | {
        field.name: getattr(curve, field.name) for field in fields(curve) if field.init and field.name != "grid"
    }
    return {name: _number_or_list(value) for name, value in named.items()}


def _number_or_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [jsonable(each) for each in value.tolist()]
    return jsonable(value) if isinstance(value, float) else value
