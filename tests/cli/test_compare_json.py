from __future__ import annotations

import json
import math

import pytest

import edgeworth as ew
from edgeworth.composition import METHODS

MECHANISM = ew.RandomizedResponse(epsilon=0.1) ** 20 * ew.Laplace(scale=10.0) ** 3
ANSWER = {
    "name": str,
    "method": str,
    "degree": int | None,
    "answered": bool,
    "guarantee": bool,
    "epsilon": list,
    "tradeoff": dict,
    "mu_star": float | str,
    "milliseconds": float,
    "errors": dict,
    "notes": list,
    "why": str,
}
REFUSAL = {"name": str, "method": str, "degree": int | None, "answered": bool, "refusal": str}


def refuse(literal):
    raise AssertionError(f"{literal} is not JSON")


printed: dict[str, str] = {}  # the command is run once for all tests that read what it printed


@pytest.fixture
def table(run):
    if not printed:
        result = run("compare", "-", "--json", "--delta", "1e-5", "--delta", "0", stdin=ew.to_json(MECHANISM))
        assert (result.code, result.err) == (0, "")
        printed["table"] = result.out
    return json.loads(printed["table"], parse_constant=refuse)


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
    again = run("compare", "-", "--json", stdin=json.dumps(table["mechanism"]))
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


def test_estimates_have_the_trivial_ends(table):
    clt = next(answer for answer in table["methods"] if answer["method"] == "clt")
    assert clt["guarantee"] is False
    first = clt["epsilon"][0]
    assert (float(first["lower"]), float(first["upper"])) == (0.0, math.inf)
