"""A sweep: its grid, its rows, going on after a stop, and the same rows from a Dask cluster."""

from __future__ import annotations

import csv
import json

import pytest
from distributed import LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import edgeworth as ew
from edgeworth.cli import grid, sweep

GRID = ["--noise-multiplier", "1:2:2", "--rate", "1/100", "--steps", "3", "--steps", "0", "--delta", "1e-5"]


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: [float(row[name]) for name in sweep.COLUMNS[:4]])


@pytest.fixture
def swept(run, tmp_path):
    """A sweep in this process: one job needs no worker."""
    out = tmp_path / "out.csv"
    result = run("sweep", *GRID, "--out", out, "--jobs", "1")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"table: {out} (4 computed, 0 found)\n"
    return out


def test_every_row_is_the_reading_of_the_library(swept):
    rows = rows_of(swept)
    assert [(row["noise_multiplier"], row["steps"]) for row in rows] == [
        ("1.0", "0"),
        ("1.0", "3"),
        ("2.0", "0"),
        ("2.0", "3"),
    ]
    for row in rows:
        step = ew.PoissonSampled(ew.Gaussian(float(row["noise_multiplier"])), rate=float(row["rate"]))
        found = ew.account(step ** int(row["steps"])).epsilon(float(row["delta"]))
        assert [float(row[f"epsilon{end}"]) for end in ("_lower", "", "_upper")] == [
            found.lower,
            found.value,
            found.upper,
        ]
        assert row["guarantee"] == "True"


def test_goes_on_where_it_stopped(swept, run):
    whole = swept.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    swept.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")  # killed in the middle of a line
    result = run("sweep", *GRID, "--out", swept, "--jobs", "1", "--json")
    assert json.loads(result.out) == {"table": str(swept), "points": 4, "computed": 2, "found": 2}
    assert sorted(swept.read_text(encoding="utf-8").splitlines()) == sorted(whole.splitlines())


def test_what_is_there_is_not_computed_again(swept, run, monkeypatch):
    monkeypatch.setattr(sweep, "answers", lambda _group: pytest.fail("computed again"))
    assert run("sweep", *GRID, "--out", swept, "--jobs", "1").out == f"table: {swept} (0 computed, 4 found)\n"


def test_parquet_has_the_rows_and_grows(swept, run, tmp_path):
    out = tmp_path / "out.parquet"
    half = ["sweep", "--noise-multiplier", "1", *GRID[2:], "--out", out, "--jobs", "1"]
    assert run(*half).out == f"table: {out} (2 computed, 0 found)\n"
    assert run("sweep", *GRID, "--out", out, "--jobs", "1").out == f"table: {out} (2 computed, 2 found)\n"
    table = parquet.read_table(out).to_pylist()
    assert [row["epsilon_upper"] for row in table] == [float(row["epsilon_upper"]) for row in rows_of(swept)]
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".csv"] == ["out.parquet"]
    assert not (tmp_path / "out.partial.csv").exists()


def test_infinity_survives_parquet(run, tmp_path):
    out = tmp_path / "out.parquet"
    arguments = ["--noise-multiplier", "1", "--rate", "0.5", "--steps", "1", "--delta", "0"]
    assert run("sweep", *arguments, "--out", out, "--jobs", "1").code == 0
    assert parquet.read_table(out).to_pylist()[0]["epsilon_upper"] == float("inf")


def test_a_refusal_is_a_row(monkeypatch):
    def refuse(*_arguments, **_settings):
        raise ew.Unsupported("no sound answer;\n ask otherwise")

    monkeypatch.setattr(sweep, "account", refuse)
    (row,) = sweep.answers((grid.Point(1.0, 0.5, 3, 1e-5),))
    assert row["refusal"] == "no sound answer; ask otherwise"
    assert (row["noise_multiplier"], row["epsilon"]) == ("1.0", "")


def test_the_same_rows_from_two_dask_workers(swept, run, tmp_path):
    out = tmp_path / "dask.csv"
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster:
        address = ["--backend", "dask", "--scheduler", cluster.scheduler_address]
        result = run("sweep", *GRID, "--out", out, *address)
    assert (result.code, result.out) == (0, f"table: {out} (4 computed, 0 found)\n")
    assert rows_of(out) == rows_of(swept)


def test_runs_with_the_same_parameters_share_an_account():
    points = grid.points(["1", "2"], ["0.1"], ["5"], ["1e-5", "1e-6"])
    assert [len(group) for group in sweep.groups(points, set())] == [2, 2]
    assert [len(group) for group in sweep.groups(points, set(points[:3]))] == [1]


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 30), st.booleans())
def test_a_range_has_its_ends_and_its_count(low, high, count, by_factors):
    found = grid.values([f"{low!r}:{high!r}:{count}{'x' if by_factors else ''}"], name="rate")
    assert len(found) == (count if low != high else 1) or abs(low - high) < 1e-12 * count * high
    assert found[0] == pytest.approx(low, rel=1e-14, abs=0)
    assert found[-1] == pytest.approx(high, rel=1e-14, abs=0)


TABLES = {
    "not a table": (
        ["--out", "sweep.xls"],
        "out='sweep.xls' is not a table",
        "give a name that ends in .csv or .parquet",
    ),
    "no folder": (
        ["--out", "not/there.csv"],
        "out='not/there.csv' is in a folder that is not there",
        "make it first: mkdir -p not",
    ),
    "no scheduler": (
        ["--out", "a.csv", "--backend", "dask"],
        "--scheduler is missing",
        "--backend dask needs the address of one, e.g. tcp://host:8786",
    ),
    "scheduler alone": (
        ["--out", "a.csv", "--scheduler", "tcp://h:1"],
        "--scheduler means nothing without --backend dask",
        "give both or neither",
    ),
    "unknown backend": (
        ["--out", "a.csv", "--backend", "spark"],
        "backend='spark' is unknown",
        "give one of 'local', 'dask'",
    ),
    "half a range": (
        ["--out", "a.csv", "--noise-multiplier", "1:2"],
        "noise_multiplier='1:2' is not a range",
        "give from:to:count, or from:to:countx for equal factors",
    ),
    "factors from 0": (
        ["--out", "a.csv", "--noise-multiplier", "0:2:3x"],
        "noise_multiplier='0:2:3x' is out of range",
        "give finite ends, both > 0 for equal factors",
    ),
    "no noise": (
        ["--out", "a.csv", "--noise-multiplier", "0"],
        "noise_multiplier=0.0 is out of range",
        "give a finite number > 0",
    ),
    "too many": (
        ["--out", "a.csv", "--noise-multiplier", "1:2:10000", "--delta", "0.1:0.2:10000"],
        "the sweep has 200020000 points, more than 10000000",
        "give fewer values",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_input(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, what, way_out = TABLES[name]
    result = run("sweep", *GRID, *arguments)
    assert result == (2, "", f"error: {what}\nhint: {way_out}\n")


def test_another_table_is_not_written_over(run, tmp_path):
    out = tmp_path / "mine.csv"
    out.write_text("a,b\n1,2\n", encoding="utf-8")
    result = run("sweep", *GRID, "--out", out)
    assert result.code == 2
    assert result.err == f"error: out={str(out)!r} is another table\nhint: give a new name, or remove it first\n"
    assert out.read_text(encoding="utf-8") == "a,b\n1,2\n"
