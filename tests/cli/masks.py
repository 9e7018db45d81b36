"""What a golden file leaves out: times, the version, digits that another machine may round otherwise."""

from __future__ import annotations

import json
import re

import edgeworth as ew

_MOST_ENTRIES = 6  # of a list of numbers
_TINY = 1e-9


def text(printed: str) -> str:
    """Every row's last number, the milliseconds, and the version replaced; of all digits, the first six."""
    timed = re.sub(
        r"(?m)^(  \S.*(?:guarantee|estimate) .*) +\d+(?:\.\d)?$", lambda row: row[1].rstrip() + " MS", printed
    )
    timed = re.sub(r"\b\d+\.\d{8,}\b", lambda number: f"{float(number[0]):.6g}...", timed)
    return timed.replace(f"edgeworth {ew.__version__}", "edgeworth VERSION")


def words(printed: str) -> str:
    """The words of a help page, a line for each of its lines; how it is laid out is Typer's."""
    lines = (" ".join(line.replace("<str>", "").split()) for line in printed.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def numbers(printed: str) -> str:
    """JSON with six digits of every number, rounding errors as such, times left out and long lists cut."""
    return json.dumps(_masked(parsed(printed)), indent=2) + "\n"


def parsed(printed: str):
    """What JSON says; names that JSON does not know, such as NaN, are refused."""
    return json.loads(printed, parse_constant=_refuse)


def table(printed: str) -> str:
    """CSV with six digits of every number."""
    cells = ([_short(cell) for cell in line.split(",")] for line in printed.splitlines())
    return "\n".join(",".join(line) for line in cells) + "\n"


def _short(cell: str) -> str:
    return f"{float(cell):.6g}" if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) else cell


def _refuse(literal: str) -> None:
    raise AssertionError(f"{literal} is not JSON")


def _masked(value):
    if isinstance(value, dict):
        return {name: _MASKED.get(name, _masked(each)) for name, each in value.items()}
    if isinstance(value, list) and len(value) > _MOST_ENTRIES and not isinstance(value[0], (dict, str)):
        return [_masked(value[0]), _masked(value[1]), f"... {len(value)} numbers ...", _masked(value[-1])]
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, float):
        return "TINY" if 0 < abs(value) < _TINY else float(f"{value:.6g}")
    return value


_MASKED = {"milliseconds": "MS", "edgeworth": "VERSION"}
