"""A sweep: its rows are the readings of the library, on one machine and on a Dask cluster, in CSV and in Parquet."""

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
from edgeworth.cli.rows import COLUMNS

GRID = ["--noise-multiplier", "1:2:2", "--rate", "1/100", "--steps", "3", "--steps", "0", "--delta", "1e-5"]


def rows_of(path):
    """The rows of a CSV or Parquet file, numbers as texts."""
    if path.suffix == ".parquet":
        return [
            {name: "" if cell is None else str(cell) for name, cell in row.items()}
            for row in parquet.read_table(path).to_pylist()
        ]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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


def test_a_line_that_was_cut_short_is_computed_again(swept, run):
    whole = swept.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    swept.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")
    told = json.loads(run("sweep", *GRID, "--out", swept, "--jobs", "1", "--json").out)
    assert told == {
        "format": "edgeworth-sweep",
        "version": 1,
        "table": str(swept),
        "points": 4,
        "computed": 2,
        "found": 2,
    }
    assert swept.read_text(encoding="utf-8") == whole


def test_what_is_there_is_not_computed_again(swept, run, monkeypatch):
    monkeypatch.setattr(sweep, "answers", lambda _group: pytest.fail("computed again"))
    assert run("sweep", *GRID, "--out", swept, "--jobs", "1").out == f"table: {swept} (0 computed, 4 found)\n"


def test_parquet_has_the_rows_and_grows(swept, run, tmp_path):
    out = tmp_path / "out.parquet"
    half = ["sweep", "--noise-multiplier", "1", *GRID[2:], "--out", out, "--jobs", "1"]
    assert run(*half).out == f"table: {out} (2 computed, 0 found)\n"
    assert run("sweep", *GRID, "--out", out, "--jobs", "1").out == f"table: {out} (2 computed, 2 found)\n"
    assert rows_of(out) == rows_of(swept)
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.parquet"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_infinity_survives(suffix, run, tmp_path):
    out = tmp_path / f"out{suffix}"
    arguments = ["--noise-multiplier", "1", "--rate", "0.5", "--steps", "1", "--delta", "0"]
    assert run("sweep", *arguments, "--out", out, "--jobs", "1").code == 0
    assert rows_of(out)[0]["epsilon_upper"] == "inf"


def test_a_refusal_is_a_row(monkeypatch):
    def refuse(*_arguments, **_settings):
        raise ew.Unsupported("no sound answer;\n ask otherwise")

    monkeypatch.setattr(sweep, "account", refuse)
    (row,) = sweep.answers((grid.Point(1.0, 0.5, 3, 1e-5),))
    assert row["refusal"] == "no sound answer; ask otherwise"
    assert (row["noise_multiplier"], row["epsilon"]) == ("1.0", "")


def test_the_same_rows_from_two_dask_workers(swept, run, tmp_path):
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster:
        for out in (tmp_path / "dask.csv", tmp_path / "dask.parquet"):
            address = ["--backend", "dask", "--scheduler", cluster.scheduler_address]
            result = run("sweep", *GRID, "--out", out, *address)
            assert (result.code, result.out) == (0, f"table: {out} (4 computed, 0 found)\n")
            assert rows_of(out) == rows_of(swept)


def test_the_same_rows_from_two_processes(swept, run, tmp_path):
    out = tmp_path / "two.csv"
    assert run("sweep", *GRID, "--out", out, "--jobs", "2").code == 0
    assert out.read_bytes() == swept.read_bytes()


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


def write_csv(path, text):
    path.write_text(text, encoding="utf-8")


def write_parquet(path, _text):
    from pyarrow import table  # noqa: PLC0415 - a name of its own

    parquet.write_table(table({"a": [1]}), path)


@pytest.mark.parametrize(("name", "write"), [("mine.csv", write_csv), ("mine.parquet", write_parquet)])
def test_another_table_is_not_written_over(name, write, run, tmp_path):
    out = tmp_path / name
    write(out, "a,b\n1,2\n")
    before = out.read_bytes()
    result = run("sweep", *GRID, "--out", out)
    assert result.code == 2
    assert result.err == f"error: out={str(out)!r} is another table\nhint: give a new name, or remove it first\n"
    assert out.read_bytes() == before


@pytest.mark.parametrize("line", ["1,2,3", "x,0.01,3,1e-05,0,0,0,True,contour,", "1,1,1,1,1,1,1,1,1,1,1"])
def test_a_line_that_is_no_row_is_named(line, run, tmp_path):
    out = tmp_path / "mine.csv"
    out.write_text(f"{','.join(COLUMNS)}\n{line}\n", encoding="utf-8")
    result = run("sweep", *GRID, "--out", out)
    assert result.err == f"error: line 2 of {str(out)!r} is not a row of a sweep\nhint: remove that line\n"
