"""Pictures from the command: into files of every kind, on the terminal, and as numbers."""

from __future__ import annotations

import json
import sys

import pytest
from tests.cli.masks import parsed

import edgeworth as ew
from edgeworth.report import MethodsTable

DESCRIBED = ew.DPSGD(examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle")
SHUFFLED = [
    *("--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2", "--sampler", "shuffle")
]
RESPONSES = ew.to_json(ew.RandomizedResponse(epsilon=0.5) ** 6)
STARTS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
KINDS = ["tradeoff", "profile", "roc"]


@pytest.mark.parametrize("kind", KINDS)
def test_plot_json_is_what_is_drawn(kind, run):
    (curve,) = parsed(run("plot", *SHUFFLED, "--kind", kind, "--json").out)["curves"]
    account = DESCRIBED.account()
    read = {
        "tradeoff": lambda: account.tradeoff(curve["alpha"]),
        "profile": lambda: account.delta(curve["epsilon"]),
        "roc": lambda: account.risk.tpr(curve["fpr"]),
    }
    assert curve["upper"] == read[kind]().upper.tolist()


@pytest.mark.parametrize("suffix", STARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_plot_into_a_file(kind, suffix, run, tmp_path):
    path = tmp_path / f"run{suffix}"
    assert run("plot", *SHUFFLED, "--kind", kind, "--out", path) == (0, f"plot: {path}\n", "")
    assert path.read_bytes().startswith(STARTS[suffix])


def test_plot_of_every_method(run, tmp_path):
    path = tmp_path / "run.png"
    nothing = ew.to_json(ew.Composed(()))
    result = run("plot", "-", "--kind", "compare", "--out", path, "--json", stdin=nothing)
    names = [curve["label"] for curve in parsed(result.out)["curves"]]
    assert names == list(MethodsTable.of(ew.Composed(())).accounts)
    assert result.err.splitlines()[-1] == f"plot: {path}"
    assert path.read_bytes().startswith(STARTS[".png"])


@pytest.mark.usefixtures("_answers_once")
def test_compare_draws_below_its_table(run, tmp_path):
    path = tmp_path / "run.png"
    result = run("compare", "-", "--plot", path, stdin=RESPONSES)
    assert result.code == 0
    table, _, told = result.out.rpartition("\n\n")
    assert "auto (fourier)" in table
    assert told == f"plot: {path}\n"
    assert path.read_bytes().startswith(STARTS[".png"])


def test_with_json_the_name_of_the_picture_is_off_stdout(run, tmp_path):
    path = tmp_path / "run.png"
    result = run("account", "-", "--json", "--plot", path, stdin=RESPONSES)
    assert json.loads(result.out)
    assert result.err.splitlines()[-1] == f"plot: {path}"
    assert path.read_bytes().startswith(STARTS[".png"])


def test_with_json_a_picture_of_characters_is_off_stdout(run):
    result = run("account", *SHUFFLED, "--json", "--plot")
    assert json.loads(result.out)
    assert result.err.startswith("Trade-off function: higher is more private\n")


def test_plot_before_a_file_of_input_means_the_terminal(run, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(DESCRIBED.to_dict()), encoding="utf-8")
    printed = run("account", "--plot", tmp_path / "run.json").out
    assert printed == run("account", *SHUFFLED, "--plot").out


def test_without_matplotlib_the_pip_line_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("account", *SHUFFLED, "--plot", tmp_path / "run.png")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: matplotlib is not installed\nhint: it comes with: pip install 'edgeworth[plot]'\n"
    assert run("account", *SHUFFLED, "--plot").code == 0


@pytest.mark.usefixtures("paper")
def test_reproduce_makes_the_folder_and_says_what_it_does(run, tmp_path):
    out = tmp_path / "out" / "paper"
    told = "[0/2] reproducing: figure 1\n[1/2] reproducing: table 1\n"
    assert run("reproduce", "--out", out) == (0, f"page: {out / 'index.html'}\n", told)
    assert (out / "index.html").is_file()
