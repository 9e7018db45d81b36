"""The README says what benchmarks/results.json says, which is what a run of these cases gives."""

from __future__ import annotations

import math
import re

import pytest
from benchmarks import readme
from benchmarks.cases import CASES, ESTIMATED_TOO, LONG_AS_SHORT
from benchmarks.expansions import CURVES
from benchmarks.packages import BY_NAME, OURS
from benchmarks.results import Results
from benchmarks.widths import KINDS, Sweep


@pytest.fixture(scope="module")
def kept():
    return Results.from_json(readme.KEPT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def swept():
    return Sweep.from_json(readme.WIDTHS.read_text(encoding="utf-8"))


def test_the_readme_is_filled_from_the_results(kept, swept):
    text = readme.README.read_text(encoding="utf-8")
    assert readme.fill(text, kept) == text
    assert readme.fill_widths(text, swept) == text


def test_a_sweep_has_a_row_for_every_kind_and_tells_each_reading_that_is_too_wide(swept):
    assert [row.kind for row in swept.kinds] == list(KINDS)
    assert sum(row.wide for row in swept.kinds) == len(swept.wide)
    assert Sweep.from_json(swept.to_json()) == swept
    assert f"{len(swept.wide)} of {sum(row.readings for row in swept.kinds)} readings" in readme.widths(swept)


def test_filling_replaces_what_stands_between_the_markers(kept):
    text = f"before\n{readme.START}\nold\n{readme.END}\nafter\n"
    filled = readme.fill(text, kept)
    assert filled.startswith(f"before\n{readme.START}\n`{kept.command}`, {kept.date}, ")
    assert filled.endswith(f"\n{readme.END}\nafter\n")
    assert "old" not in filled.split("\n")


def test_a_run_is_kept_and_shown(kept, swept, tmp_path, monkeypatch):
    for name in ("README", "KEPT", "PICTURE", "WIDTHS"):
        monkeypatch.setattr(readme, name, tmp_path / name)
    markers = readme.START + readme.END + readme.START_OF_WIDTHS + readme.END_OF_WIDTHS
    (tmp_path / "README").write_text(markers, encoding="utf-8")
    (tmp_path / "widths.json").write_text(swept.to_json(), encoding="utf-8")
    (tmp_path / "bench.json").write_text(kept.to_json(), encoding="utf-8")
    (tmp_path / "bench.png").write_bytes(b"picture")
    readme.main(tmp_path)
    assert Results.from_json((tmp_path / "KEPT").read_text(encoding="utf-8")) == kept
    assert (tmp_path / "PICTURE").read_bytes() == b"picture"
    text = (tmp_path / "README").read_text(encoding="utf-8")
    assert readme.section(kept) in text
    assert readme.widths(swept) in text


def test_every_row_is_of_a_known_case_and_package(kept):
    cases = {case.title for case in (*CASES, *ESTIMATED_TOO, LONG_AS_SHORT, *(case for _, case, _ in CURVES))}
    assert {row.title for row in kept.rows} == cases
    assert {row.package for row in kept.rows} <= set(BY_NAME) == set(kept.packages)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept.date)


def test_an_answer_has_its_numbers(kept):
    for row in kept.rows:
        if row.status:
            assert row.first is None or row.status == "infinite"
            continue
        assert row.first > 0
        assert row.memory >= 0
        assert row.runs >= 1
        assert row.points or math.isfinite(row.value)


def test_the_certified_brackets_are_in_order(kept):
    for row in kept.of(OURS):
        assert row.status or row.lower <= row.value <= row.upper
