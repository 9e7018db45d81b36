"""The JSON of every command has the keys and the types that docs/command.md lists, no more and no fewer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCUMENT = (HERE.parent.parent / "docs" / "command.md").read_text(encoding="utf-8")
KINDS = {
    "text": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "list": list,
    "object": dict,
    "null": type(None),
}
GOLDEN = ("account", "compare", "calibrate", "plot-tradeoff", "plot-compare", "statement", "sweep", "reproduce")


def documented(kind):
    """The keys of a format, each with its types; where the table gives none, with those of a statement."""
    rows = re.search(rf"<!-- keys of {kind} -->\n.*\n.*\n((?:\|.*\n)+)", DOCUMENT)[1].splitlines()
    keys = {}
    for row in rows:
        names, types = (cell.strip() for cell in row.split("|")[1:3])
        for name in re.findall(r"`(\w+)`", names):
            keys[name] = types or documented("edgeworth-statement")[name]
    return keys


@pytest.mark.parametrize("name", GOLDEN)
def test_the_keys_are_the_documented_ones(name):
    told = json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    keys = documented(told["format"])
    assert list(told) == list(keys)
    for key, types in keys.items():
        assert isinstance(told[key], tuple(KINDS[each] for each in types.split(" or "))), key


def test_every_format_is_documented_once():
    told = {json.loads(path.read_text(encoding="utf-8"))["format"] for path in (HERE / "golden").glob("*.json")}
    assert sorted(re.findall(r"<!-- keys of ([\w-]+) -->", DOCUMENT)) == sorted(told)


def test_a_method_and_a_curve_have_the_keys_that_the_text_names():
    comparison, plot = (
        json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8")) for name in ("compare", "plot-roc")
    )
    method = re.search(r"(?s)\nA method has .*?\n\n", DOCUMENT)[0]
    assert {key for answer in comparison["methods"] for key in answer} <= set(re.findall(r"`(\w+)`", method))
    curve = re.search(r"(?s)\nA curve has .*?\n\n", DOCUMENT)[0]
    assert set(plot["curves"][0]) <= set(re.findall(r"`(\w+)`", curve))
