"""What every command prints, line by line. EDGEWORTH_UPDATE_GOLDEN=1 writes the files anew: read them then."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.cli import masks

import edgeworth as ew

GOLDEN = Path(__file__).parent / "golden"
README = Path(__file__).parent.parent.parent / "README.md"
UPDATE = os.environ.get("EDGEWORTH_UPDATE_GOLDEN") == "1"

RUN = ["--noise-multiplier", "0.8", "--rate", "256/50000", "--steps", "5000"]
BATCHES = ["--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2"]
SHUFFLED = [*BATCHES, "--sampler", "shuffle"]
TARGET = ["--epsilon", "3", "--delta", "1e-5"]
GRID = ["--noise-multiplier", "1:2:2", "--rate", "1/100", "--steps", "3", "--steps", "0", "--jobs", "1"]
COMMANDS = ("account", "compare", "calibrate", "plot", "statement", "sweep", "reproduce")
RESPONSES = ew.to_json(ew.RandomizedResponse(epsilon=0.5) ** 6)

PRINTED = {
    "version": ["--version"],
    "account": ["account", *RUN, "--delta", "1e-5", "--delta", "1e-8"],
    "account-estimate": ["account", *RUN, "--method", "edgeworth"],
    "account-shuffled": ["account", *SHUFFLED, "--plot"],
    "account-group": ["account", *SHUFFLED, "--group", "3"],
    "compare": ["compare", "-"],
    "compare-plot": ["compare", "-", "--plot"],
    "statement": ["statement", *SHUFFLED],
    "statement-markdown": ["statement", *SHUFFLED, "--markdown"],
    "statement-estimate": ["statement", *RUN, "--method", "clt", "--delta", "1e-5"],
    "calibrate-noise": ["calibrate", "--find", "noise", *RUN[2:], *TARGET],
    "calibrate-steps": ["calibrate", "--find", "steps", *RUN[:4], "--tpr", "0.05", "--fpr", "0.01"],
    "calibrate-batches": ["calibrate", "--find", "noise", *BATCHES[2:], "--sampler", "shuffle", "--mu", "1"],
    "calibrate-several": ["calibrate", "--find", "steps", *RUN[:4], *TARGET, "--advantage", "0.2"],
    "plot": ["plot", *SHUFFLED],
    "plot-estimate": ["plot", *RUN, "--method", "clt"],
    "plot-profile": ["plot", *RUN, "--kind", "profile"],
    "plot-roc": ["plot", *RUN, "--kind", "roc"],
    "plot-compare": ["plot", "-", "--kind", "compare"],
    "sweep": ["sweep", *GRID, "--out", "out.csv"],
    "reproduce": ["reproduce", "--out", "out/paper"],
}
JSON = {
    "account": ["account", *RUN],
    "compare": ["compare", "-"],
    "statement": ["statement", *SHUFFLED],
    "calibrate": ["calibrate", "--find", "noise", *RUN[2:], *TARGET],
    "plot-tradeoff": ["plot", *SHUFFLED],
    "plot-profile": ["plot", *SHUFFLED, "--kind", "profile"],
    "plot-roc": ["plot", *SHUFFLED, "--kind", "roc"],
    "plot-compare": ["plot", "-", "--kind", "compare"],
    "sweep": ["sweep", *GRID, "--out", "out.csv"],
    "reproduce": ["reproduce", "--out", "out/paper"],
}
MECHANISMS = {
    "gaussian": ew.Gaussian(noise_multiplier=5.0) ** 10,
    "nothing": ew.Composed(()),
    "randomized-response": ew.RandomizedResponse(epsilon=0.1) ** 20 * ew.Laplace(scale=10.0) ** 3,
}
PROGRESS = r"(\[\d+/\d+\] .*\n)*"  # what slow work tells on stderr
COMMAND_LINE = "echo '"  # the one line that may be long, because a shell reads it


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch, request):
    """In an empty folder, without the minutes that the paper takes, and each method asked once."""
    monkeypatch.chdir(tmp_path)
    request.getfixturevalue("paper")
    request.getfixturevalue("_answers_once")


def check(name: str, printed: str) -> None:
    """The same as the golden file of that name."""
    path = GOLDEN / name
    if UPDATE:
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8")


def printed_by(run, *arguments):
    result = run(*arguments, stdin=RESPONSES)
    assert result.code == 0
    assert re.fullmatch(PROGRESS, result.err)
    assert "\x1b" not in result.out
    return result.out


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name, run):
    printed = printed_by(run, *PRINTED[name])
    check(f"{name}.txt", masks.text(printed))
    lines = printed.splitlines()
    assert all(line == line.rstrip() for line in lines)
    if "markdown" not in name:
        assert max(len(line) for line in lines if not line.startswith(COMMAND_LINE)) <= 80


@pytest.mark.parametrize("name", JSON)
def test_json(name, run):
    check(f"{name}.json", masks.numbers(printed_by(run, *JSON[name], "--json")))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command, run):
    printed = printed_by(run, *command.split(), "--help")
    assert max(map(len, printed.splitlines())) <= 80
    path = GOLDEN / f"help{command and '-'}{command}.txt"
    if UPDATE:
        path.write_text(printed, encoding="utf-8")
    assert masks.words(printed).split() == masks.words(path.read_text(encoding="utf-8")).split()


def test_the_table_of_a_sweep(run, tmp_path):
    run(*PRINTED["sweep"])
    check("sweep.csv", masks.table((tmp_path / "out.csv").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", MECHANISMS)
def test_compare_other_mechanisms_at_two_deltas(name, run):
    result = run("compare", "-", "--delta", "1e-5", "--delta", "1e-9", stdin=ew.to_json(MECHANISMS[name]))
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    check(f"compare-{name}.txt", masks.text(result.out))


def test_the_demo_and_its_copy_in_the_readme(run):
    demo = ["compare", "--noise-multiplier", "0.8", "--rate", "0.00512", "--steps", "5000", "--delta", "1e-5"]
    printed = printed_by(run, *demo)
    check("demo.txt", masks.text(printed))
    readme = README.read_text(encoding="utf-8")
    shown = re.search(r"(?s)<!-- printed by make demo -->\n```text\n(.*?)```", readme)
    assert shown is not None
    if UPDATE:
        readme = readme[: shown.start(1)] + printed + readme[shown.end(1) :]
        README.write_text(readme, encoding="utf-8")
    assert masks.text(printed) == masks.text(readme[shown.start(1) :].partition("```")[0])


def test_every_golden_file_is_of_a_test():
    helps = {f"help{name and '-'}{name}.txt" for name in ("", *COMMANDS)}
    others = {f"compare-{name}.txt" for name in MECHANISMS} | {"demo.txt", "sweep.csv"}
    known = {f"{name}.txt" for name in PRINTED} | {f"{name}.json" for name in JSON} | helps | others
    assert {path.name for path in GOLDEN.iterdir()} == known
