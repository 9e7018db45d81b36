"""Pictures in characters: every curve is where its numbers say, and nothing leaves the frame."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.report.terminal import Line, Picture

WIDTH, HEIGHT, MARGIN = 40, 10, 11


def canvas(picture):
    """The rows of the picture itself, without title, numbers and captions."""
    rows = picture.text(width=WIDTH, height=HEIGHT).splitlines()[1 : 1 + HEIGHT]
    return [row[MARGIN:].ljust(WIDTH - MARGIN) for row in rows]


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20, unique=True), st.sampled_from(["", "*"]))
def test_a_curve_stays_in_the_frame_and_reaches_its_ends(heights, glyph):
    x = np.linspace(0.0, 1.0, len(heights))
    text = Picture("t", "x", "y", (Line("c", x, np.array(heights), glyph),)).text(width=WIDTH, height=HEIGHT)
    assert max(map(len, text.splitlines())) <= WIDTH
    rows = [row[MARGIN:].ljust(WIDTH - MARGIN) for row in text.splitlines()[1 : 1 + HEIGHT]]
    assert rows[0].strip()
    columns = ["".join(column).strip() for column in zip(*rows, strict=True)]
    assert all(columns)


def test_where_a_point_lands():
    rows = canvas(Picture("t", "x", "y", (Line("c", np.array([0.0, 1.0]), np.array([1.0, 0.0]), "*"),)))
    assert rows[0][0] == rows[-1][-1] == "*"
    assert rows[0][-1] == rows[-1][0] == " "


def test_a_logarithmic_axis():
    x = np.geomspace(1e-6, 1.0, 50)
    picture = Picture("t", "x", "y", (Line("c", x, x, "*"),), least=(1e-6, 1e-6))
    rows = canvas(picture)
    assert rows[HEIGHT // 2][: WIDTH // 2].strip()  # a straight line, as on log-log paper
    text = picture.text(width=WIDTH, height=HEIGHT)
    assert "1e-06 |" in text


def test_the_first_curve_covers_the_others():
    x = np.array([0.0, 1.0])
    rows = canvas(Picture("t", "x", "y", (Line("first", x, x), Line("second", x, x, "+"))))
    assert "+" not in "".join(rows)


def test_a_flat_curve_is_drawn():
    assert "*" in Picture("t", "x", "y", (Line("c", np.array([0.0, 1.0]), np.zeros(2), "*"),)).text()


def test_a_logarithmic_axis_leaves_out_what_is_before_it_begins():
    x = np.array([0.0, 1e-3, 1.0])
    rows = canvas(Picture("t", "x", "y", (Line("c", x, x, "*"),), least=(1e-3, 1e-3)))
    assert sum(row[0] == "*" for row in rows) == 1  # no wall from the point at 0


def test_numbers_stand_at_both_ends_and_in_the_middle():
    x = np.array([0.0, 8.0])
    text = Picture("t", "x", "y", (Line("c", x, x, "*"),)).text(width=41, height=11).splitlines()
    assert [line.split("|")[0].strip() for line in text[1:12]] == ["8", *[""] * 4, "4", *[""] * 4, "0"]
    assert text[12].split() == ["0", "4", "8"]
    assert len(text[12]) == 41


def test_a_curve_behind_the_others_is_said_to_be_there():
    x = np.array([0.0, 1.0])
    text = Picture("t", "x", "y", (Line("first", x, x), Line("second", x, x, "+"))).text()
    assert "  + second (behind the others)" in text.splitlines()


def test_a_curve_that_no_axis_shows_is_said_to_be_off():
    x = np.array([0.0, 1.0])
    text = Picture("t", "x", "y", (Line("nothing", x, np.zeros(2)),), least=(None, 1e-3)).text()
    assert text.splitlines()[-1].endswith("nothing (off the axes)")
