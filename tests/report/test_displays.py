"""The data behind the pictures; of the pictures, only that they are drawn and labelled."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import edgeworth as ew
from edgeworth.curves import GaussianTradeOff
from edgeworth.report import CompareDisplay, TradeoffDisplay
from edgeworth.report.pen import save

MECHANISM = ew.Laplace(scale=10.0) ** 20


@pytest.fixture(scope="module")
def guarantee():
    return ew.account(MECHANISM)


@pytest.fixture(scope="module")
def estimate():
    return ew.account(MECHANISM, method="edgeworth")


@pytest.fixture
def ax():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()


def test_the_arrays_are_the_readings(guarantee):
    display = TradeoffDisplay.from_account(guarantee, points=101)
    bracket = guarantee.tradeoff(display.alpha)
    assert display.alpha.shape == (101,)
    assert (display.alpha[0], display.alpha[-1]) == (0.0, 1.0)
    for name in ("lower", "value", "upper"):
        assert np.array_equal(getattr(display, name), getattr(bracket, name))
    assert display.certified
    assert display.mu_star == guarantee.mu_star
    assert np.array_equal(display.perfect, 1 - display.alpha)
    assert np.array_equal(display.gaussian, GaussianTradeOff(guarantee.mu_star)(display.alpha))


def test_gaussian_overlay_meets_f_on_the_diagonal(estimate):
    display = TradeoffDisplay.from_account(estimate)
    a_star = estimate.curve.fixed_point
    assert np.interp(a_star, display.alpha, display.gaussian) == pytest.approx(a_star, rel=1e-3)
    assert np.interp(a_star, display.alpha, display.value) == pytest.approx(a_star, rel=1e-3)


def test_no_privacy_is_drawn_too(ax):
    display = TradeoffDisplay.from_account(ew.account(ew.ApproxDP(epsilon=0.0, delta=1.0)))
    assert display.mu_star == np.inf
    assert not display.gaussian.any()
    display.plot(ax)


def test_a_guarantee_is_drawn_with_its_band(guarantee, ax):
    display = TradeoffDisplay.from_account(guarantee)
    assert display.plot(ax) is display
    assert display.ax is ax
    assert len(ax.collections) == 1
    assert "guarantee" in ax.get_title(loc="left")
    assert ax.get_xlabel() == "type I error $\\alpha$ (false alarm)"
    assert ax.get_ylabel() == "type II error (missed)"
    assert len(ax.get_legend().get_texts()) == 4


def test_an_estimate_has_no_band_and_says_what_it_is(estimate, ax):
    TradeoffDisplay.from_account(estimate).plot(ax)
    assert len(ax.collections) == 0
    assert "estimate, not a guarantee" in ax.get_title(loc="left")


def test_account_plot_draws_on_the_given_axes(estimate, ax):
    assert estimate.plot(ax) is ax


def test_nothing_global_changes(estimate, ax):
    before = dict(mpl.rcParams)
    TradeoffDisplay.from_account(estimate).plot(ax)
    assert dict(mpl.rcParams) == before


def test_several_methods_share_one_grid(guarantee, estimate):
    display = CompareDisplay.from_accounts({"auto": guarantee, "edgeworth 2": estimate}, points=51)
    first, second = display.displays
    assert (first.label, second.label) == ("auto", "edgeworth 2")
    assert np.array_equal(first.alpha, second.alpha)
    assert (np.diff(first.alpha) > 0).all()
    assert first.alpha[1] <= 1e-6


def test_two_panels_linear_and_logarithmic(guarantee, estimate, tmp_path):
    display = CompareDisplay.from_accounts({"auto": guarantee, "edgeworth 2": estimate})
    save(display, tmp_path / "methods.png", title="20 Laplace releases")
    whole, near = display.axes
    assert (whole.get_xscale(), whole.get_yscale()) == ("linear", "linear")
    assert (near.get_xscale(), near.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in whole.figure.legends[0].get_texts()] == [
        "perfect privacy",
        "auto: guarantee, in its band",
        "edgeworth 2: estimate",
    ]
    power = near.get_lines()[2].get_ydata()
    assert np.array_equal(power, 1 - display.displays[1].value)
    assert (tmp_path / "methods.png").stat().st_size > 10_000


def test_new_axes_without_a_window(estimate, monkeypatch):
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    ax = estimate.plot()
    assert ax.figure in map(plt.figure, plt.get_fignums())
    plt.close("all")


def test_without_matplotlib_the_pip_line_is_named(estimate, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = TradeoffDisplay.from_account(estimate)  # the data need no matplotlib
    with pytest.raises(ew.MissingExtra, match=r"pip install 'edgeworth\[plot\]'"):
        display.plot()
    with pytest.raises(ew.MissingExtra, match=r"pip install 'edgeworth\[plot\]'"):
        save(CompareDisplay((display,)), tmp_path / "no.png")


@pytest.mark.parametrize("points", [2, -1, 2.5])
def test_bad_points(estimate, points):
    with pytest.raises(ew.InvalidArgument, match=f"points={points}"):
        TradeoffDisplay.from_account(estimate, points=points)


def test_no_accounts():
    with pytest.raises(ew.InvalidArgument, match=r"accounts={} is empty"):
        CompareDisplay.from_accounts({})


def test_on_a_terminal_the_first_is_dots_and_estimates_are_small_letters(guarantee, estimate):
    accounts = {"auto": guarantee, "again": guarantee, "edgeworth 2": estimate}
    picture = CompareDisplay.from_accounts(accounts, points=51).picture()
    assert [(line.label, line.glyph) for line in picture.lines] == [
        ("auto: guarantee", ""),
        ("again: guarantee", "B"),
        ("edgeworth 2: estimate", "c"),
        ("perfect privacy", "."),
    ]
    assert max(map(len, picture.text().splitlines())) <= 80


def test_on_a_terminal_a_guarantee_shows_its_lower_end(guarantee):
    display = TradeoffDisplay.from_account(guarantee, points=51)
    assert np.array_equal(display.picture().lines[0].y, display.lower)
