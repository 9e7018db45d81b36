from __future__ import annotations

import functools
import io
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import NamedTuple

import pytest

from edgeworth.cli import main
from edgeworth.report import MethodAnswer

COLOUR_SETTINGS = ("CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "GITHUB_ACTIONS", "COLUMNS")
COMMAND = Path(sys.executable).parent / "edgeworth"


answers = functools.cache(MethodAnswer.of)


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


@pytest.fixture
def piped(environment):
    """The command in a process of its own."""

    def command(*arguments, **settings):
        return subprocess.run(  # noqa: S603
            [COMMAND, *arguments], capture_output=True, text=True, check=True, env=environment | settings
        )

    return command


@pytest.fixture
def _answers_once(monkeypatch):
    """What a method answers about a mechanism is computed once for all tests that show it in different ways."""
    monkeypatch.setattr(MethodAnswer, "of", answers)


@pytest.fixture
def paper(monkeypatch):
    """A stand-in for the reproduction, which takes minutes."""
    stand_in = types.ModuleType("edgeworth.paper")

    def reproduce(out, *, progress=None):
        for done, figure in enumerate(["figure 1", "table 1"]):
            progress(figure, done, 2)
        page = out / "index.html"
        page.write_text("<html>", encoding="utf-8")
        return page

    stand_in.reproduce = reproduce
    monkeypatch.setitem(sys.modules, "edgeworth.paper", stand_in)
