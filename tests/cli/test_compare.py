"""All methods side by side: every one has its row, its numbers are those of the library, and its error is known."""

from __future__ import annotations

import json
import math
import re

import pytest
from tests.cli.masks import parsed

import edgeworth as ew
from edgeworth.composition import METHODS
from edgeworth.report import passages

MECHANISM = ew.RandomizedResponse(epsilon=0.1) ** 20 * ew.Laplace(scale=10.0) ** 3
RESPONSES = ew.RandomizedResponse(epsilon=0.5) ** 6
ANSWER = {
    "name": str,
    "method": str,
    "degree": int | None,
    "answered": bool,
    "guarantee": bool,
    "epsilon": list,
    "relative_error": list,
    "tradeoff": dict,
    "mu_star": float | str,
    "milliseconds": float,
    "errors": dict,
    "notes": list,
    "why": str,
}
REFUSAL = {"name": str, "method": str, "degree": int | None, "answered": bool, "refusal": str}

printed: dict[str, str] = {}  # the command is run once for all tests that read what it printed


@pytest.fixture
def table(run):
    if not printed:
        result = run("compare", "-", "--json", "--delta", "1e-5", "--delta", "0", stdin=ew.to_json(MECHANISM))
        assert result.code == 0
        printed["table"] = result.out
    return parsed(printed["table"])


def test_the_schema(table):
    assert set(table) == {"format", "version", "mechanism", "deltas", "alpha", "methods"}
    assert (table["format"], table["version"]) == ("edgeworth-comparison", 1)
    assert table["deltas"] == [1e-5, 0.0]
    for answer in table["methods"]:
        schema = ANSWER if answer["answered"] else REFUSAL
        assert set(answer) == set(schema)
        for field, kind in schema.items():
            assert isinstance(answer[field], kind), field


def test_every_method_is_there(table):
    auto = table["methods"][0]
    assert auto["method"] == "auto"
    stands_for = auto["name"].removeprefix("auto (").removesuffix(")")
    assert {answer["method"] for answer in table["methods"]} | {stands_for} == {"auto", *METHODS}


def test_the_mechanism_comes_back(table, run):
    assert ew.from_json(json.dumps(table["mechanism"])) == MECHANISM
    again = run("account", "-", "--json", stdin=json.dumps(table["mechanism"]))
    assert json.loads(again.out)["mechanism"] == table["mechanism"]


def test_the_numbers_are_those_of_the_library(table):
    for answer in table["methods"]:
        if not answer["answered"]:
            continue
        degree = 2 if answer["degree"] is None else answer["degree"]
        account = ew.account(MECHANISM, method=answer["method"], degree=degree)
        epsilon = account.epsilon(delta=table["deltas"])
        for end in ("value", "lower", "upper"):
            assert [float(shown[end]) for shown in answer["epsilon"]] == getattr(epsilon, end).tolist()
        assert answer["guarantee"] is account.certified
        assert float(answer["mu_star"]) == account.mu_star


def test_the_error_is_against_the_certified_bracket(table):
    truth = ew.account(MECHANISM).epsilon(delta=1e-5)
    for answer in filter(lambda answer: answer["answered"], table["methods"]):
        error, value = answer["relative_error"][0], answer["epsilon"][0]["value"]
        assert error["lower"] == value / truth.upper_bound() - 1
        assert error["upper"] == value / truth.lower_bound() - 1


def test_estimates_have_the_trivial_ends(table):
    clt = next(answer for answer in table["methods"] if answer["method"] == "clt")
    assert clt["guarantee"] is False
    first = clt["epsilon"][0]
    assert (float(first["lower"]), float(first["upper"])) == (0.0, math.inf)


@pytest.mark.usefixtures("_answers_once")
def test_every_method_has_its_row_and_the_printed_bracket_contains_the_certified_one(run):
    table = run("compare", "-", stdin=ew.to_json(RESPONSES)).out
    assert [method for method in METHODS if method not in table] == []
    lower, upper = map(float, re.search(r"\[(.*?), (.*?)\] +guarantee", table).groups())
    exact = ew.account(RESPONSES).epsilon(delta=1e-5)
    assert lower <= exact.lower_bound() <= exact.upper_bound() <= upper


@pytest.mark.usefixtures("_answers_once")
def test_degrees_can_be_chosen(run):
    table = run("compare", "-", "--degree", "1", "--degree", "6", stdin=ew.to_json(RESPONSES)).out
    for expected in ("edgeworth 1", "edgeworth 6", "cornish-fisher 1", "saddlepoint 6"):
        assert expected in table
    assert "edgeworth 2" not in table
    assert re.search(r"cornish-fisher 6 +- +no answer", table)
    assert "degree=6 is out of range for method='cornish-fisher'; give an int from 1" in " ".join(table.split())


def test_many_kinds_of_steps_are_counted_not_listed():
    many = ew.Composed([ew.Gaussian(noise_multiplier=10.0 + k) for k in range(20)])
    assert passages.step_lines(many)[6:] == ["and 14 more kinds of step"]
