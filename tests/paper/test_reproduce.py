"""The page: complete, self-contained, and its numbers are the files' numbers."""

from __future__ import annotations

import base64
import csv
import re

import numpy as np
import pytest

import edgeworth.paper.experiments as sizes_of
from edgeworth.paper import reproduce
from edgeworth.paper.experiments import CLT, EDGEWORTH, FULL, LAPLACE, REFERENCE, SGD, account_of, sup_error
from edgeworth.paper.figures import PAPER_FIGURES
from edgeworth.paper.run import _READING_ORDER
from edgeworth.paper.tables import Table

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    calls = []
    out = tmp_path_factory.mktemp("paper") / "new" / "folder"
    path = reproduce(out, progress=lambda *call: calls.append(call), quick=True)
    return path, calls


def test_the_page_is_where_it_says(made):
    path, _ = made
    assert path.name == "index.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_progress_is_told_at_every_stage(made):
    _, calls = made
    total = calls[0][2]
    assert [(done, of) for _, done, of in calls] == [(k, total) for k in range(total + 1)]
    assert len({label for label, _, _ in calls}) == total + 1


def test_nothing_is_loaded_from_elsewhere(made):
    text = made[0].read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert re.findall(r"<(?:script|link|iframe|object)\b|@import|url\(", text) == []
    sources = re.findall(r'src="([^"]{0,30})', text)
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_every_figure_and_table_is_there_and_every_link_leads_somewhere(made):
    path, _ = made
    text = path.read_text(encoding="utf-8")
    anchors = re.findall(r'<section id="([^"]+)"', text)
    assert anchors == list(_READING_ORDER)
    assert set(PAPER_FIGURES) <= {anchor.removeprefix("figure_") for anchor in anchors}
    for target in re.findall(r'href="([^"]+)"', text):
        assert target.removeprefix("#") in anchors or (path.parent / target).is_file()


def test_embedded_pictures_are_the_files(made):
    path, _ = made
    text = path.read_text(encoding="utf-8")
    embedded = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]+)"', text)]
    files = {file.read_bytes() for file in path.parent.glob("figure_*.png")}
    assert set(embedded) == files
    assert all(data.startswith(PNG) for data in files)


def read(path, name):
    with (path.parent / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_numbers_of_a_figure(made):
    rows = read(made[0], "figure_cornish_fisher.csv")
    mine = [row for row in rows if row["panel"] == "n = 1" and row["curve"].startswith("method (i)")]
    x, y = (np.array([float(row[name]) for row in mine]) for name in "xy")
    assert np.array_equal(account_of(LAPLACE, 1, EDGEWORTH).raw_tradeoff(x), y, equal_nan=True)
    assert {row["curve"] for row in rows} >= {REFERENCE.label}


def test_numbers_of_a_table(made):
    rows = {row["method"]: row for row in read(made[0], "table_errors_noisy_sgd.csv")}
    assert float(rows["CLT"]["n = 50"]) == sup_error(SGD, 50, CLT)
    assert float(rows["Edgeworth, degree 2"]["n = 100"]) == sup_error(SGD, 100, EDGEWORTH)


def test_times_are_positive_and_stand_beside_the_papers(made):
    rows = {row["seconds"]: row for row in read(made[0], "table_mixture_runtime.csv")}
    assert float(rows["Numerical, paper"]["n = 50"]) == 2138.9
    assert 0 < float(rows["CLT, here"]["n = 50"]) < float(rows["Numerical, here"]["n = 50"])


def test_the_full_sizes_hold_the_papers():
    assert FULL.laplace == (1, 3, 5, 10)
    assert FULL.laplace_timed == (2, 4, 6, 8, 10)
    assert FULL.one_sided == (5, 500)
    assert FULL.sgd_timed == (1, 50, 100, 200, 500)
    assert len(FULL.symmetrised) == 6
    assert sizes_of.QUICK != FULL


def test_a_table_escapes_what_it_writes():
    assert Table("t", "t", "c", ("a", "b"), (("x, y", 0.1),)).csv() == 'a,b\n"x, y",0.1\n'
