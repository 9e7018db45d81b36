"""The JSON of account, statement and calibrate holds the numbers of the library, and the gate goes by them."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.masks import parsed

import edgeworth as ew

RUN = ["--noise-multiplier", "0.8", "--rate", "256/50000", "--steps", "5000"]
SHUFFLED = [
    *("--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2", "--sampler", "shuffle")
]
TARGET = ["--epsilon", "3", "--delta", "1e-5"]
STEP = ew.PoissonSampled(ew.Gaussian(0.8), rate=256 / 50_000)


def test_account_json_is_what_the_library_says(run):
    told = parsed(run("account", *RUN, "--json", "--delta", "1e-5", "--delta", "0").out)
    for row in told["epsilon"]:
        found = ew.account(STEP**5_000).epsilon(row["delta"])
        assert [float(row[end]) for end in ("lower", "value", "upper")] == [found.lower, found.value, found.upper]
    assert (told["format"], told["max_epsilon"], told["within_budget"]) == ("edgeworth-account", None, None)
    assert ew.from_json(json.dumps(told["mechanism"])) == STEP**5_000


@pytest.mark.parametrize(("most", "code"), [("3.3", 0), ("3.2", 3)])
def test_the_gate(most, code, run):
    result = run("account", *RUN, "--max-epsilon", most, "--delta", "1e-5", "--json")
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
    result = run("account", *RUN, "--method", "clt", "--max-epsilon", "100", "--delta", "1e-5")
    assert (result.code, result.err) == (
        3,
        "error: method='clt' gives an estimate, which keeps no budget\nhint: use --method auto for a guarantee\n",
    )


def test_groups(run):
    told = json.loads(run("account", *SHUFFLED, "--group", "2", "--json").out)
    run_of = ew.DPSGD(examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle")
    assert told["epsilon"][0]["upper"] == ew.account(run_of.mechanism).group(2).epsilon(1e-5).upper
    assert told["group_size"] == 2


def test_calibrate_json_meets_the_target(run):
    told = parsed(run("calibrate", "--find", "noise", *RUN[2:], *TARGET, "--json").out)
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
    assert re.fullmatch(r"error: epsilon <= 0 at delta = 0 .*\nhint: .*\n", result.err)
