"""What a user reads, line by line. EDGEWORTH_UPDATE_GOLDEN=1 writes the files anew, and README's block with them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import edgeworth as ew
from edgeworth.composition import METHODS
from edgeworth.report import passages

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"
UPDATE = os.environ.get("EDGEWORTH_UPDATE_GOLDEN") == "1"
DEMO = ["compare", "--noise-multiplier", "0.8", "--rate", "0.00512", "--steps", "5000", "--delta", "1e-5"]

MECHANISMS = {
    "gaussian": ew.Gaussian(noise_multiplier=5.0) ** 10,
    "nothing": ew.Composed(()),
    "randomized-response": ew.RandomizedResponse(epsilon=0.1) ** 20 * ew.Laplace(scale=10.0) ** 3,
}


def without_times(text: str) -> str:
    """Every row's last number, the milliseconds, replaced."""
    return re.sub(r"(?m)^(  \S.*(?:guarantee|estimate) .*) +\d+(?:\.\d)?$", lambda row: row[1].rstrip() + " MS", text)


@pytest.mark.parametrize("name", MECHANISMS)
def test_described_by_json(name, run, golden):
    result = run("compare", "-", "--delta", "1e-5", "--delta", "1e-9", stdin=ew.to_json(MECHANISMS[name]))
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert all(line == line.rstrip() for line in result.out.splitlines())
    golden(name, result.out)


def test_the_demo_and_its_copy_in_the_readme(run, golden):
    result = run(*DEMO)
    assert (result.code, result.err) == (0, "")
    golden("demo", result.out)
    readme = README.read_text(encoding="utf-8")
    shown = re.search(r"(?s)<!-- printed by make demo -->\n```text\n(.*?)```", readme)
    assert shown is not None
    if UPDATE:
        readme = readme[: shown.start(1)] + result.out + readme[shown.end(1) :]
        README.write_text(readme, encoding="utf-8")
    assert without_times(result.out) == without_times(readme[shown.start(1) :].partition("```")[0])


def test_every_method_has_its_row_and_the_printed_bracket_contains_the_certified_one(run):
    mechanism = MECHANISMS["gaussian"]
    printed = run("compare", "-", stdin=ew.to_json(mechanism)).out
    assert [method for method in METHODS if method not in printed] == []
    lower, upper = map(float, re.search(r"\[(.*?), (.*?)\] +guarantee", printed).groups())
    exact = ew.account(mechanism).epsilon(delta=1e-5)
    assert lower <= exact.lower_bound() <= exact.upper_bound() <= upper


def test_degrees_can_be_chosen(run):
    printed = run("compare", "-", "--degree", "1", "--degree", "6", stdin=ew.to_json(MECHANISMS["gaussian"])).out
    for expected in ("edgeworth 1", "edgeworth 6", "cornish-fisher 1", "saddlepoint 6"):
        assert expected in printed
    assert "edgeworth 2" not in printed
    assert re.search(r"cornish-fisher 6 +- +no answer", printed)
    assert "degree=6 is out of range for method='cornish-fisher'; give an int from 1" in " ".join(printed.split())


def test_a_rate_may_be_a_fraction(run):
    arguments = ["account", "--noise-multiplier", "1", "--steps", "1", "--json"]
    assert run(*arguments, "--rate", "1/4").out == run(*arguments, "--rate", "0.25").out


def test_many_kinds_of_steps_are_counted_not_listed():
    many = ew.Composed([ew.Gaussian(noise_multiplier=10.0 + k) for k in range(20)])
    assert passages.step_lines(many)[6:] == ["and 14 more kinds of step"]
