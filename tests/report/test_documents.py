"""What README and docs say is run: every Python block, every prompt, every test they name, every link."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

from edgeworth.composition import METHODS

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?ms)^```(python|pycon)\n(.*?)^```$")
documents = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


@documents
def test_every_block_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        if block[1] == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + block[2], str(path), "exec"), names)  # noqa: S102
        else:
            _check_prompts(block[2], names, path, line)


def _check_prompts(source, names, path, line):
    example = doctest.DocTestParser().get_doctest(source, names, path.name, str(path), line)
    told = io.StringIO()
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.write, clear_globs=False)
    names.update(example.globs)
    assert outcome.failed == 0, told.getvalue()


@documents
def test_every_test_that_is_named_exists(path):
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", path.read_text(encoding="utf-8")):
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@documents
def test_every_link_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("name", ["README.md", "docs/methods.md"])
def test_every_method_is_described(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [method for method in ["auto", *METHODS] if method not in text] == []


def test_the_readme_names_the_commands_that_make_knows():
    known = set(re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    named = set(re.findall(r"`make (\w+)`|^make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {first or second for first, second in named} <= known
