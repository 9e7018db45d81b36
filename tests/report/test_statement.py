"""A statement says everything, says it the same way in every form, and can be printed again from itself."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.report import Statement, passages
from edgeworth.report.digits import at_most, ends

RUN = ew.DPSGD(examples=50_000, batch_size=256, epochs=26, noise_multiplier=0.8, sampler="poisson")


@pytest.fixture(scope="module")
def statement():
    return RUN.account().statement(run=RUN)


def refuse(literal):
    raise AssertionError(f"{literal} is not JSON")


def test_the_text_names_every_part(statement):
    text = statement.text()
    for part in (
        "a guarantee",
        "one record is added or removed (add-remove)",
        "poisson: every record enters every batch by itself",
        "(rate 0.00512), 26 epochs",
        "5096 steps",
        "contour",
        "epsilon at delta = 1e-08",
        "without amplification",
        "mu, over tests with both errors >= 1e-10",
        "true positive rate at 0.1 % false alarms",
        "advantage",
        "belief after an accusation, 1 % false alarms, from 10 %",
        "Assumed:",
        "Not covered:",
        f"edgeworth {ew.__version__}",
    ):
        assert part in text
    assert statement.sentence in " ".join(text.split())
    assert str(statement) == text


def test_the_text_fits_in_80_columns_but_for_the_command(statement):
    *lines, command = statement.text().splitlines()
    assert max(map(len, lines)) <= 80
    assert command == statement.command


def test_markdown_has_the_same_figures(statement):
    markdown = statement.markdown()
    for name, value in statement.figures:
        assert f"| {name.strip()} | {value} |" in markdown
    for text in (*RUN.assumptions, statement.sentence, statement.command):
        assert text in markdown


def test_json_has_the_readings(statement):
    told = json.loads(statement.json(), parse_constant=refuse)
    account = RUN.account()
    assert (told["format"], told["version"], told["edgeworth"]) == ("edgeworth-statement", 1, ew.__version__)
    assert told["guarantee"] is True
    for row in told["epsilon"]:
        found = account.epsilon(row["delta"])
        assert (row["lower"], row["value"], row["upper"]) == (found.lower, found.value, found.upper)
    plain = ew.account(RUN.without_amplification).epsilon(1e-5)
    assert told["without_amplification"][0]["upper"] == plain.upper
    assert ew.from_json(json.dumps(told["mechanism"])) == RUN.mechanism
    assert ew.training_from_dict(told["run"]) == RUN
    assert told["risk"].keys() == dict(account.risk.rows()).keys()


def test_the_command_carries_what_ran(statement):
    words = shlex.split(statement.command)
    assert ew.training_from_dict(json.loads(words[1])) == RUN
    assert words[2:6] == ["|", "edgeworth", "statement", "-"]


def test_the_command_carries_method_degree_and_group():
    told = ew.account(ew.Gaussian(5.0) ** 10, method="edgeworth", degree=3).group(2).statement(deltas=[0.1])
    assert told.command.endswith("| edgeworth statement - --delta 0.1 --method edgeworth --degree 3 --group 2")
    assert "a group of 2 records" in told.text()


def test_an_estimate_never_passes_for_a_guarantee():
    told = ew.account(ew.Laplace(20.0) ** 3, method="clt").statement()
    assert "an estimate, not a guarantee" in told.text()
    assert "at most" not in told.text()
    assert all("(estimate)" in value for _, value in told.figures)
    assert json.loads(told.json())["guarantee"] is False


def test_without_a_run_the_mechanism_tells_the_sampler():
    mixed = ew.PoissonSampled(ew.Gaussian(1.0), rate=0.01) ** 10 * ew.Laplace(20.0)
    told = ew.account(mixed).statement(deltas=[1e-5])
    assert passages.samplers(mixed, None) == ("none: every record is in every release", "Poisson")
    plain = ew.account(ew.Gaussian(1.0) ** 10 * ew.Laplace(20.0)).epsilon(1e-5)
    assert told.unamplified[0].upper == plain.upper


def test_what_is_not_amplified_says_so():
    shuffled = dataclasses.replace(RUN, sampler="shuffle", adjacency="zero-out")
    told = shuffled.account().statement(run=shuffled)
    assert "no amplification: none is known to be sound for shuffled batches" in " ".join(told.text().split())
    assert "zero-out" in told.text()
    assert told.unamplified is None


def test_infinities_are_texts_in_json():
    told = ew.account(ew.ApproxDP(epsilon=0.0, delta=0.5)).statement()
    assert json.loads(told.json(), parse_constant=refuse)["epsilon"][0]["upper"] == "inf"
    assert "at most inf" in told.text()


def test_one_direction_is_stated_for_both():
    step = ew.PoissonSampled(ew.Gaussian(1.0), rate=0.2) ** 3
    assert Statement.of(ew.account(step, direction="forward")).epsilon[0].upper == ew.account(step).epsilon(1e-5).upper


def test_the_run_of_another_account_is_refused():
    with pytest.raises(ew.InvalidArgument, match=r"is not what this account is of; give the run whose account it is"):
        ew.account(ew.Gaussian(1.0)).statement(run=RUN)


def test_no_delta():
    with pytest.raises(ew.InvalidArgument, match=r"deltas=\(\) is empty; give at least one number between 0 and 1"):
        ew.account(ew.Gaussian(1.0)).statement(deltas=())


@settings(max_examples=50, deadline=None)
@given(st.floats(0.3, 100.0), st.integers(1, 10), st.sampled_from([1e-3, 1e-5, 1e-12]))
def test_what_is_printed_contains_what_is_certified(noise, count, delta):
    found = ew.account(ew.Gaussian(noise) ** count).epsilon(delta)
    lower, upper = map(float, re.fullmatch(r"\[(.*), (.*)\]", ends(found)).groups())
    assert lower <= found.lower <= found.upper <= upper
    assert float(at_most(found).removeprefix("at most ")) == upper
