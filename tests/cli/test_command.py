from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import edgeworth as ew

COMMAND = Path(sys.executable).parent / "edgeworth"
LOADED = """
import sys
from edgeworth.cli import main
sys.argv[1:] = ["--version"]
try:
    main()
except SystemExit:
    print(*({heavy!r} & set(sys.modules)))
"""


@pytest.fixture
def piped(environment):
    def command(*arguments, **settings):
        return subprocess.run(  # noqa: S603
            arguments, capture_output=True, text=True, check=True, env=environment | settings
        )

    return command


def test_version_of_the_command_and_of_the_module(piped):
    expected = f"edgeworth {ew.__version__}\n"
    assert piped(COMMAND, "--version").stdout == expected
    assert piped(sys.executable, "-m", "edgeworth", "--version").stdout == expected


def test_version_imports_nothing_slow(piped):
    heavy = {"matplotlib", "scipy.stats", "edgeworth.report", "edgeworth.paper", "rich.table"}
    loaded = piped(sys.executable, "-c", LOADED.format(heavy=heavy)).stdout
    assert loaded.splitlines() == [f"edgeworth {ew.__version__}", ""]


def test_help_has_examples(run):
    assert "Every accounting method" in run("--help").out
    compare = run("compare", "--help").out
    assert "edgeworth compare --noise-multiplier 0.8 --rate 256/50000 --steps 5000" in " ".join(compare.split())
    assert "Poisson" in compare


def test_no_argument_shows_the_help(run):
    assert "reproduce" in "".join(run()[1:])


def test_completion_is_offered(run, piped):
    assert "--install-completion" in run("--help").out
    typed = {"_EDGEWORTH_COMPLETE": "complete_bash", "COMP_WORDS": "edgeworth com", "COMP_CWORD": "1"}
    done = piped(COMMAND, **typed)
    assert done.stdout.split() == ["compare"]


def test_colours_on_a_terminal_none_in_a_pipe(piped, environment):
    arguments = [COMMAND, "account", "--noise-multiplier", "4", "--rate", "1", "--steps", "3"]
    assert "\x1b[" not in piped(*arguments).stdout
    ours, theirs = pty.openpty()
    terminal = environment | {"TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, env=terminal) as process:  # noqa: S603
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # how a pseudo-terminal says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[1;32mguarantee" in shown


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


@pytest.mark.usefixtures("paper")
def test_reproduce_makes_the_folder_and_says_what_it_does(run, tmp_path):
    out = tmp_path / "out" / "paper"
    result = run("reproduce", "--out", out)
    assert result == (0, f"page: {out / 'index.html'}\n", "[0/2] figure 1\n[1/2] table 1\n")
    assert (out / "index.html").is_file()


@pytest.mark.usefixtures("paper")
def test_reproduce_into_a_file_is_refused(run, tmp_path):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    expected = r"error: out='.*taken' cannot be a folder: File exists\nhint: give another\n"
    result = run("reproduce", "--out", tmp_path / "taken")
    assert result.code == 2
    assert re.fullmatch(expected, result.err)


def test_plot_writes_the_picture(run, tmp_path):
    for suffix, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"run{suffix}"
        result = run("account", "--noise-multiplier", "4", "--rate", "1", "--steps", "3", "--plot", path)
        assert (result.code, result.out.splitlines()[-1]) == (0, f"plot: {path}")
        assert path.read_bytes().startswith(start)


def test_plot_with_json_keeps_stdout_clean(run, tmp_path):
    path = tmp_path / "run.png"
    arguments = ["account", "--noise-multiplier", "4", "--rate", "1", "--steps", "3", "--json", "--plot", path]
    result = run(*arguments)
    assert result.out.endswith("}\n")
    assert result.err == f"plot: {path}\n"


def test_plot_without_matplotlib_names_the_pip_line(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = ["account", "--noise-multiplier", "4", "--rate", "1", "--steps", "3"]
    result = run(*arguments, "--plot", tmp_path / "run.png")
    assert (result.code, result.out) == (2, "")
    assert result.err == ("error: matplotlib is not installed\nhint: it comes with: pip install 'edgeworth[plot]'\n")
    assert run(*arguments).code == 0
