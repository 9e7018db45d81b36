"""What every command prints, line by line, and that its JSON holds the numbers of the library."""

from __future__ import annotations

import json
import shlex

import pytest

import edgeworth as ew
from edgeworth.report import MethodsTable

RUN = ["--noise-multiplier", "0.8", "--rate", "256/50000", "--steps", "5000"]
BATCHES = ["--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2"]
SHUFFLED = [*BATCHES, "--sampler", "shuffle"]
TOML = """
examples = 1000
batch_size = 30
epochs = 2
noise_multiplier = 4.0
sampler = "shuffle"
"""
TARGET = ["--epsilon", "3", "--delta", "1e-5"]

OUTPUTS = {
    "account": ["account", *RUN, "--delta", "1e-5", "--delta", "1e-8"],
    "account-estimate": ["account", *RUN, "--method", "edgeworth"],
    "account-shuffled": ["account", *SHUFFLED, "--plot"],
    "statement": ["statement", *SHUFFLED],
    "statement-markdown": ["statement", *SHUFFLED, "--markdown"],
    "calibrate-noise": ["calibrate", "--find", "noise", *RUN[2:], *TARGET],
    "calibrate-steps": ["calibrate", "--find", "steps", *RUN[:4], "--tpr", "0.05", "--fpr", "0.01"],
    "calibrate-batches": ["calibrate", "--find", "noise", *BATCHES[2:], "--sampler", "shuffle", "--mu", "1"],
    "plot": ["plot", *SHUFFLED],
    "plot-profile": ["plot", *SHUFFLED, "--kind", "profile"],
    "plot-roc": ["plot", *SHUFFLED, "--kind", "roc"],
}


def refuse(literal):
    raise AssertionError(f"{literal} is not JSON")


@pytest.mark.parametrize("name", OUTPUTS)
def test_printed(name, run, golden):
    result = run(*OUTPUTS[name])
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    golden(name, result.out)


@pytest.mark.parametrize("name", [name for name in OUTPUTS if not name.startswith("statement")])
def test_fits_in_80_columns(name, run):
    assert max(map(len, run(*OUTPUTS[name]).out.splitlines())) <= 80


@pytest.mark.parametrize("command", ["account", "statement"])
@pytest.mark.parametrize("name", ["run.toml", "run.json", "mechanism.json", "-"])
def test_a_run_from_a_file_is_the_run_from_flags(command, name, run, tmp_path):
    described = ew.DPSGD(examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle")
    texts = {"run.json": json.dumps(described.to_dict()), "mechanism.json": ew.to_json(described.mechanism)}
    (tmp_path / name).write_text(texts.get(name, TOML), encoding="utf-8")
    file = name if name == "-" else tmp_path / name
    told = json.loads(run(command, file, "--json", stdin=TOML).out, parse_constant=refuse)
    flags = json.loads(run(command, *SHUFFLED, "--json").out)
    assert told["epsilon"] == flags["epsilon"]
    assert told["run"] == (None if name == "mechanism.json" else described.to_dict())


def test_account_json_is_what_the_library_says(run):
    told = json.loads(run("account", *RUN, "--json", "--delta", "1e-5", "--delta", "0").out, parse_constant=refuse)
    step = ew.PoissonSampled(ew.Gaussian(0.8), rate=256 / 50_000)
    for row in told["epsilon"]:
        found = ew.account(step**5_000).epsilon(row["delta"])
        assert [float(row[end]) for end in ("lower", "value", "upper")] == [found.lower, found.value, found.upper]
    assert (told["format"], told["max_epsilon"], told["within_budget"]) == ("edgeworth-account", None, None)
    assert ew.from_json(json.dumps(told["mechanism"])) == step**5_000


@pytest.mark.parametrize(("most", "code"), [("3.3", 0), ("3.2", 3)])
def test_the_gate(most, code, run):
    result = run("account", *RUN, "--max-epsilon", most, "--json")
    assert result.code == code
    assert json.loads(result.out)["within_budget"] is (code == 0)
    assert ("hint: edgeworth calibrate finds the noise, steps or rate that fit\n" in result.err) is (code == 3)
    if code:
        assert result.err.startswith("error: epsilon at delta = 1e-05 is 3.26197674")
        assert ", above max_epsilon=3.2\n" in result.err


def test_the_gate_holds_at_every_delta(run):
    both = ["--delta", "1e-5", "--delta", "1e-8"]
    assert run("account", *RUN, *both, "--max-epsilon", "4").code == 3
    assert run("account", *RUN, *both, "--max-epsilon", "5").code == 0


def test_an_estimate_does_not_pass_the_gate(run):
    result = run("account", *RUN, "--method", "clt", "--max-epsilon", "100")
    assert (result.code, result.err) == (
        3,
        "error: method='clt' gives an estimate, which keeps no budget\nhint: use --method auto for a guarantee\n",
    )


def test_the_command_of_a_statement_prints_the_statement(run):
    printed = run("statement", *SHUFFLED, "--delta", "1e-7").out
    _, document, _, *command = shlex.split(printed.splitlines()[-1])
    assert run(*command[1:], stdin=document).out == printed


def test_groups(run):
    told = json.loads(run("account", *SHUFFLED, "--group", "2", "--json").out)
    (step, _), (other, _) = ew.DPSGD(
        examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle"
    ).mechanism.steps()
    alone = ew.account(step**2 * other**2).group(2).epsilon(1e-5)
    assert told["epsilon"][0]["upper"] == alone.upper
    assert told["group_size"] == 2


def test_calibrate_json_meets_the_target(run):
    told = json.loads(run("calibrate", "--find", "noise", *RUN[2:], *TARGET, "--json").out, parse_constant=refuse)
    assert told["achieved"]["epsilon"][0]["upper"] <= 3
    assert 0 < 1 - told["missed_at"] / told["value"] < 1e-6
    found = ew.account(ew.from_json(json.dumps(told["mechanism"]))).epsilon(1e-5)
    assert found.upper_bound() <= 3


def test_calibrate_several_targets_and_no_sampling(run):
    arguments = ["--find", "steps", "--noise-multiplier", "40", "--sampler", "none", *TARGET, "--advantage", "0.05"]
    told = json.loads(run("calibrate", *arguments, "--json").out)
    expected = ew.max_steps(noise_multiplier=40.0, sampler="none", epsilon=[3.0], delta=[1e-5], advantage=0.05)
    assert told["value"] == expected.value
    assert set(told["achieved"]) == {"epsilon", "advantage"}


def test_calibrate_rate(run):
    arguments = ["--find", "rate", "--noise-multiplier", "40", "--steps", "100", "--epsilon", "1", "--delta", "1e-5"]
    assert json.loads(run("calibrate", *arguments, "--json").out)["value"] == 1.0


def test_an_impossible_target_is_refused(run):
    arguments = ["--find", "noise", "--sampler", "none", "--steps", "10", "--epsilon", "0", "--delta", "0"]
    result = run("calibrate", *arguments)
    assert result.code == 2
    assert result.err.startswith("error: epsilon <= 0 at delta = 0 cannot be solved for\nhint: at every parameter")


@pytest.mark.parametrize("kind", ["tradeoff", "profile", "roc"])
def test_plot_json_is_what_is_drawn(kind, run):
    (curve,) = json.loads(run("plot", *SHUFFLED, "--kind", kind, "--json").out, parse_constant=refuse)["curves"]
    account = ew.account(
        ew.DPSGD(examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle").mechanism
    )
    read = {
        "tradeoff": lambda: account.tradeoff(curve["alpha"]),
        "profile": lambda: account.delta(curve["epsilon"]),
        "roc": lambda: account.risk.tpr(curve["fpr"]),
    }
    assert curve["upper"] == read[kind]().upper.tolist()


@pytest.mark.parametrize("kind", ["tradeoff", "profile", "roc"])
def test_plot_into_a_file(kind, run, tmp_path):
    path = tmp_path / "run.png"
    result = run("plot", *SHUFFLED, "--kind", kind, "--out", path)
    assert result == (0, f"plot: {path}\n", "")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_plot_of_every_method(run, tmp_path):
    path = tmp_path / "run.png"
    nothing = ew.to_json(ew.Composed(()))
    result = run("plot", "-", "--kind", "compare", "--out", path, "--json", stdin=nothing)
    names = [curve["label"] for curve in json.loads(result.out, parse_constant=refuse)["curves"]]
    assert names == list(MethodsTable.of(ew.Composed(())).accounts)
    assert (result.err, path.read_bytes()[:4]) == (f"plot: {path}\n", b"\x89PNG")


def test_plot_of_one_account_into_a_file(run, tmp_path):
    path = tmp_path / "run.svg"
    assert run("account", *SHUFFLED, "--plot", path).out.endswith(f"plot: {path}\n")


def test_plot_before_a_file_of_input_means_the_terminal(run, tmp_path):
    (tmp_path / "run.toml").write_text(TOML, encoding="utf-8")
    printed = run("account", "--plot", tmp_path / "run.toml").out
    assert printed == run("account", *SHUFFLED, "--plot").out


@pytest.mark.parametrize("command", ["account", "compare", "calibrate", "plot", "statement", "sweep", "reproduce"])
def test_help_has_examples_and_json(command, run):
    printed = run(command, "--help").out
    assert f"edgeworth {command} " in printed
    assert "--json" in printed
