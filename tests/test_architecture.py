"""The shape of the house: what may import what, what may not be there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import edgeworth

ROOT = Path(__file__).parent.parent
SOURCE = Path(edgeworth.__file__).parent

SLOW_OR_OPTIONAL = ["click", "matplotlib", "rich", "scipy.stats", "starlette", "typer"]
BANNED_MODULES = {"common", "helpers", "util", "utils"}
BANNED_WORDS = re.compile(r"conservativ|pessimistic", re.IGNORECASE)


def test_imports_point_one_way():
    linted = subprocess.run(  # noqa: S603
        [Path(sys.executable).parent / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_package_is_cheap_to_import():
    code = f"import edgeworth, sys; print(*sorted(set({SLOW_OR_OPTIONAL}) & set(sys.modules)))"
    loaded = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


def test_every_module_has_a_name_that_says_what_is_in_it():
    assert [path for path in SOURCE.rglob("*") if path.stem in BANNED_MODULES] == []


def _texts():
    return [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".html", ".js", ".md", ".toml"}]


@pytest.mark.parametrize("path", _texts(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_bounds_are_called_lower_and_upper(path):
    assert BANNED_WORDS.findall(path.read_text(encoding="utf-8")) == []


def test_the_types_are_shipped():
    assert (SOURCE / "py.typed").is_file()
