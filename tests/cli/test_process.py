"""The command in a process of its own: pipes, terminals, signals, completion."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.conftest import COMMAND
from tests.cli.terminals import plain, shown_on_a_terminal

import edgeworth as ew
from edgeworth.composition import METHODS

RUN = ["--noise-multiplier", "4", "--rate", "1", "--steps", "3"]
HEAVY = {"matplotlib", "scipy.stats", "edgeworth.report", "edgeworth.paper", "rich.table"}
LOADED = f"""
import sys
from edgeworth.cli import main
sys.argv[1:] = ["--version"]
try:
    main()
except SystemExit:
    print(*({HEAVY!r} & set(sys.modules)))
"""
FILE = "responses.json"
ZSH = "#compdef edgeworth"
BASH = "complete -o default -F _edgeworth_completion edgeworth"


def python(*arguments, environment):
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_version_of_the_command_and_of_the_module(piped, environment):
    expected = f"edgeworth {ew.__version__}\n"
    assert piped("--version").stdout == expected
    assert python("-m", "edgeworth", "--version", environment=environment) == expected


def test_version_imports_nothing_slow(environment):
    loaded = python("-c", LOADED, environment=environment)
    assert loaded.splitlines() == [f"edgeworth {ew.__version__}", ""]


def test_no_argument_shows_the_help(run):
    assert run() == run("--help")


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "arguments", [["account", FILE, "--plot"], ["compare", FILE], ["plot", FILE], ["--help"], ["account", "--help"]]
)
def test_on_a_terminal_everything_fits_and_has_colours(arguments, columns, environment, tmp_path):
    (tmp_path / FILE).write_text(ew.to_json(ew.RandomizedResponse(epsilon=0.5) ** 6), encoding="utf-8")
    arguments = [tmp_path / FILE if word == FILE else word for word in arguments]
    code, shown = shown_on_a_terminal([COMMAND, *arguments], environment, columns=columns)
    assert code == 0
    assert max(map(len, plain(shown))) <= columns
    assert ("\x1b[" in shown) is (arguments[0] != "plot")  # a picture is of dots
    if arguments[0] in {"account", "compare"} and "--help" not in arguments:
        assert "\x1b[1;32mguarantee" in shown


def test_a_long_sweep_shows_a_bar_on_a_terminal(environment, tmp_path):
    arguments = ["sweep", "--noise-multiplier", "1:2:30", "--rate", "1", "--steps", "3", "--jobs", "1"]
    code, shown = shown_on_a_terminal([COMMAND, *arguments, "--out", tmp_path / "out.csv"], environment, columns=120)
    assert code == 0
    assert "sweeping" in shown
    assert "30/30" in shown
    assert plain(shown)[-2] == f"table: {tmp_path / 'out.csv'} (30 computed, 0 found)"


def test_long_work_tells_plain_lines_in_a_pipe(run, tmp_path, monkeypatch):
    monkeypatch.setattr("edgeworth.cli.commands._PATIENCE", 0.0)
    arguments = ["--noise-multiplier", "1:2:3", "--rate", "1", "--steps", "3", "--jobs", "1"]
    result = run("sweep", *arguments, "--out", tmp_path / "out.csv")
    assert result.err == "[1/3] sweeping: runs\n[2/3] sweeping: runs\n[3/3] sweeping: runs\n"


def test_a_reader_that_goes_away_is_no_traceback(environment):
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(  # noqa: S603
        [COMMAND, "statement", *RUN], stdout=writer, stderr=subprocess.PIPE, env=environment, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_an_interrupted_sweep_says_how_to_go_on_and_does(environment, tmp_path):
    out = tmp_path / "out.csv"
    arguments = [COMMAND, "sweep", "--noise-multiplier", "0.6:2:400", "--rate", "0.01", "--steps", "2000"]
    arguments += ["--jobs", "1", "--out", out]
    with subprocess.Popen(  # noqa: S603
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # Whoever runs these tests in the background may have left interrupts ignored, which is handed down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        while not (out.exists() and out.read_text(encoding="utf-8").count("\n") > 3):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert told.splitlines()[-1] == f"stopped: the rows so far are in {out}; the same command goes on from there"
    acknowledged = out.read_text(encoding="utf-8").count("\n") - 1
    again = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    assert again.stdout == f"table: {out} ({400 - acknowledged} computed, {acknowledged} found)\n"


@pytest.mark.parametrize(("shell", "line"), [("bash", BASH), ("zsh", ZSH)])
def test_completion_can_be_shown_for_a_shell(shell, line, run, piped, monkeypatch):
    assert line in piped(_EDGEWORTH_COMPLETE=f"source_{shell}").stdout.splitlines()
    monkeypatch.setattr("shellingham.detect_shell", lambda *_arguments: (shell, f"/bin/{shell}"))
    result = run("--show-completion")
    assert result.code == 0
    assert line in result.out.splitlines()


def asked_by_bash(typed):
    words = typed.split(" ")
    return {"_EDGEWORTH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}


def asked_by_zsh(typed):
    return {"_EDGEWORTH_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": typed}


def test_completion_of_the_command_in_its_own_process(piped):
    assert piped(**asked_by_bash("edgeworth com")).stdout.split() == ["compare"]
    assert "compare" in piped(**asked_by_zsh("edgeworth com")).stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("edgeworth com", ["compare"]),
        ("edgeworth account --noise", ["--noise-multiplier"]),
        ("edgeworth account --sampler ", ["poisson", "fixed-size", "shuffle", "none"]),
        ("edgeworth account --adjacency re", ["replace"]),
        ("edgeworth statement --method ", ["auto", *METHODS]),
        ("edgeworth plot --kind p", ["profile"]),
        ("edgeworth calibrate --find ", ["noise", "steps", "rate"]),
        ("edgeworth sweep --backend d", ["dask"]),
    ],
)
def test_completion_knows_commands_options_and_words(typed, offered, run, monkeypatch):
    for name, value in asked_by_bash(typed).items():
        monkeypatch.setenv(name, value)
    assert run().out.split() == offered
    for name, value in asked_by_zsh(typed).items():
        monkeypatch.setenv(name, value)
    told = run().out
    assert [word for word in offered if word not in told] == []
