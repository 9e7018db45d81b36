"""Several accounts in one picture: one grid, two panels, guarantees and estimates told apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import edgeworth as ew
from edgeworth.report import CompareDisplay
from edgeworth.report.pen import save


@pytest.fixture(scope="module")
def display(guarantee, estimate):
    return CompareDisplay.from_accounts({"auto": guarantee, "edgeworth 2": estimate}, points=51)


def test_several_methods_share_one_grid(display):
    first, second = display.displays
    assert (first.label, second.label) == ("auto", "edgeworth 2")
    assert np.array_equal(first.alpha, second.alpha)
    assert first.alpha.shape == (51,)
    assert (np.diff(first.alpha) > 0).all()
    assert first.alpha[:2] == pytest.approx([0.0, 1e-6], rel=1e-9, abs=0)


def test_two_panels_linear_and_logarithmic(display, tmp_path):
    save(display, tmp_path / "methods.png", title="20 Laplace releases")
    whole, near = display.axes
    assert (whole.get_xscale(), whole.get_yscale()) == ("linear", "linear")
    assert (near.get_xscale(), near.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in whole.figure.legends[0].get_texts()] == [
        "perfect privacy",
        "auto: guarantee",
        "edgeworth 2: estimate",
    ]
    first, second = display.displays
    drawn = [line.get_ydata() for line in near.get_lines()]
    assert np.array_equal(drawn[1], 1 - first.lower)  # what the guarantee leaves possible
    assert np.array_equal(drawn[2], 1 - second.value)
    assert len(near.collections) == 1  # the band of the guarantee alone
    assert whole.figure.get_suptitle() == "20 Laplace releases"
    assert (tmp_path / "methods.png").stat().st_size > 10_000


def test_every_method_has_its_own_colour_and_dashes(guarantee, estimate):
    accounts = {f"g{k}": guarantee for k in range(3)} | {f"e{k}": estimate for k in range(5)}
    shown = CompareDisplay.from_accounts(accounts, points=11).plot(Figure().subplots(1, 2))
    styles = [(line.get_color(), line.get_linestyle()) for line in shown.axes[0].get_lines()]
    dashes = [line._dash_pattern for line in shown.axes[0].get_lines()]
    assert len({colour for colour, _ in styles}) == len(styles)
    assert len({str(pattern) for pattern in dashes[1:]}) == len(dashes) - 1


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_on_given_axes_the_legend_does_not_leave_them(layout, display):
    axes = Figure(layout=layout).subplots(1, 2)
    display.plot(axes)
    assert display.axes == tuple(axes)
    assert (axes[0].get_legend() is None) is (layout == "constrained")


def test_panels_may_be_of_two_figures(display):
    axes = [Figure().subplots(), Figure().subplots()]
    assert display.plot(axes).axes[0].get_legend() is not None


def test_no_accounts():
    with pytest.raises(ew.InvalidArgument) as caught:
        CompareDisplay.from_accounts({})
    assert str(caught.value) == "accounts={} is empty; give at least one, such as {'auto': account}"


def test_on_a_terminal_the_first_is_dots_and_estimates_are_small_letters(guarantee, estimate):
    accounts = {"auto": guarantee, "again": guarantee, "edgeworth 2": estimate}
    picture = CompareDisplay.from_accounts(accounts, points=51).picture()
    assert [(line.label, line.glyph) for line in picture.lines] == [
        ("auto: guarantee", ""),
        ("again: guarantee", "B"),
        ("edgeworth 2: estimate", "c"),
        ("perfect privacy", "."),
    ]
    assert "B again: guarantee (behind the others)" in picture.text()
    assert max(map(len, picture.text().splitlines())) <= 80
