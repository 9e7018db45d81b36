from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from edgeworth.cli import main

COLOUR_SETTINGS = ("CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "GITHUB_ACTIONS", "COLUMNS")


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def environment():
    """The environment without what would force or forbid colours."""
    return {name: value for name, value in os.environ.items() if name not in COLOUR_SETTINGS}


@pytest.fixture
def run(monkeypatch, capsys):
    """The command in this process, its output piped."""
    for setting in COLOUR_SETTINGS:
        monkeypatch.delenv(setting, raising=False)

    def command(*arguments, stdin: str | bytes = ""):
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        monkeypatch.setattr(sys, "argv", ["edgeworth", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        return Result(leaving.value.code, *capsys.readouterr())

    return command


def without_times(text: str) -> str:
    """Every row's last number, the milliseconds, replaced."""
    return re.sub(r"(?m)^(  \S.*(?:guarantee|estimate) .*) +\d+(?:\.\d)?$", lambda row: row[1].rstrip() + " MS", text)


@pytest.fixture
def golden():
    """Compares with the file of that name; EDGEWORTH_UPDATE_GOLDEN=1 writes it anew."""

    def check(name: str, printed: str) -> None:
        path = Path(__file__).parent / "golden" / f"{name}.txt"
        if os.environ.get("EDGEWORTH_UPDATE_GOLDEN") == "1":
            path.write_text(without_times(printed), encoding="utf-8")
        assert without_times(printed) == path.read_text(encoding="utf-8")

    return check
