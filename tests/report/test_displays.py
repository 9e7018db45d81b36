"""The data behind the pictures of one account; of the pictures, only that they are drawn and labelled."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.curves import GaussianTradeOff
from edgeworth.report import ProfileDisplay, RocDisplay, TradeoffDisplay
from edgeworth.report.pen import save

DISPLAYS = pytest.mark.parametrize("display", [TradeoffDisplay, ProfileDisplay, RocDisplay])
READINGS = {
    TradeoffDisplay: lambda account, alpha: account.tradeoff(alpha),
    ProfileDisplay: lambda account, epsilon: account.delta(epsilon),
    RocDisplay: lambda account, fpr: account.risk.tpr(fpr),
}
EXTREMES = [
    ew.Composed(()),
    ew.ApproxDP(epsilon=0.0, delta=1.0),
    ew.ApproxDP(epsilon=1.0, delta=0.1),
    ew.Gaussian(noise_multiplier=1e-3),
]


@DISPLAYS
def test_the_arrays_are_the_readings(display, guarantee):
    shown = display.from_account(guarantee, points=31)
    found = READINGS[display](guarantee, shown.grid)
    assert shown.grid.shape == (31,)
    assert shown.grid is getattr(shown, display.argument)
    for name in ("lower", "value", "upper"):
        assert np.array_equal(getattr(shown, name), getattr(found, name))
    assert shown.certified
    assert shown.mu_star == guarantee.mu_star


@DISPLAYS
def test_a_grid_can_be_given(display, guarantee):
    grid = [0.125, 0.25, 1.0]
    shown = display.from_account(guarantee, grid=grid, label="mine")
    assert shown.grid.tolist() == grid
    assert np.array_equal(shown.upper, READINGS[display](guarantee, grid).upper)
    assert shown.verdict == "by mine: a guarantee"


def test_the_grids_reach_where_it_matters(guarantee):
    alpha = TradeoffDisplay.from_account(guarantee).alpha
    assert (alpha[0], alpha[-1]) == (0.0, 1.0)
    epsilon = ProfileDisplay.from_account(guarantee).epsilon
    assert epsilon[0] == 0.0
    assert guarantee.delta(epsilon[-1]).value == pytest.approx(1e-10, rel=1e-6, abs=0)
    fpr = RocDisplay.from_account(guarantee).fpr
    assert (fpr[0], fpr[-1]) == (pytest.approx(1e-6, rel=1e-12, abs=0), 1.0)


def test_perfect_privacy_and_the_gaussian_are_on_the_same_grid(guarantee):
    shown = TradeoffDisplay.from_account(guarantee)
    np.testing.assert_allclose(shown.perfect, 1 - shown.alpha, rtol=1e-12, atol=0)
    assert np.array_equal(shown.gaussian, GaussianTradeOff(guarantee.mu_star)(shown.alpha))
    roc = RocDisplay.from_account(guarantee)
    np.testing.assert_allclose(roc.perfect, roc.fpr, rtol=1e-9, atol=0)
    assert (roc.value >= roc.fpr * (1 - 1e-12)).all()
    assert not ProfileDisplay.from_account(guarantee).perfect.any()


@DISPLAYS
def test_gaussian_noise_is_its_own_overlay(display):
    shown = display.from_account(ew.account(ew.Gaussian(noise_multiplier=5.0) ** 10))
    assert shown.mu_star == pytest.approx(10**0.5 / 5, rel=1e-10, abs=0)
    known = shown.gaussian > 0
    np.testing.assert_allclose(np.log(shown.gaussian[known]), np.log(shown.value[known]), rtol=1e-6, atol=1e-12)


def test_gaussian_overlay_meets_f_on_the_diagonal(estimate):
    shown = TradeoffDisplay.from_account(estimate, points=501)
    a_star = estimate.curve.fixed_point
    assert np.interp(a_star, shown.alpha, shown.gaussian) == pytest.approx(a_star, rel=1e-3)
    assert np.interp(a_star, shown.alpha, shown.value) == pytest.approx(a_star, rel=1e-3)


@DISPLAYS
def test_a_guarantee_is_drawn_with_its_band_and_the_end_that_is_promised(display, guarantee, ax):
    shown = display.from_account(guarantee)
    assert shown.plot(ax).ax is ax
    assert len(ax.collections) == 1
    assert ax.get_title(loc="left").splitlines() == [display.title, "by residues: a guarantee"]
    promised = shown.lower if display is TradeoffDisplay else shown.upper
    assert any(np.array_equal(line.get_ydata(), promised) for line in ax.get_lines())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("guaranteed" in label for label in labels)
    assert any(label.startswith("where the truth lies, ") and label.endswith(shown.width) for label in labels)
    assert not any("estimate" in label for label in labels)


@DISPLAYS
def test_an_estimate_has_no_band_and_says_what_it_is(display, estimate, ax):
    shown = display.from_account(estimate)
    shown.plot(ax)
    assert len(ax.collections) == 0
    assert ax.get_title(loc="left").endswith("by edgeworth: an estimate, not a guarantee")
    assert any(np.array_equal(line.get_ydata(), shown.value) for line in ax.get_lines())
    assert not any("guarantee" in text.get_text() for text in ax.get_legend().get_texts())


@pytest.mark.parametrize(
    ("display", "scales", "labels"),
    [
        (TradeoffDisplay, ("linear", "linear"), ("type I error $\\alpha$ (false alarm)", "type II error (missed)")),
        (ProfileDisplay, ("linear", "log"), ("$\\varepsilon$", "$\\delta$")),
        (
            RocDisplay,
            ("log", "log"),
            ("false positive rate (accused wrongly)", "true positive rate (accused rightly)"),
        ),
    ],
)
def test_scales_and_captions(display, scales, labels, guarantee, ax):
    display.from_account(guarantee).plot(ax)
    assert (ax.get_xscale(), ax.get_yscale()) == scales
    assert (ax.get_xlabel(), ax.get_ylabel()) == labels


@DISPLAYS
@pytest.mark.parametrize("mechanism", EXTREMES, ids=repr)
def test_the_extremes_are_drawn_too(display, mechanism, tmp_path):
    shown = display.from_account(ew.account(mechanism))
    save(shown, tmp_path / "extreme.png", title="x" * 300)
    assert (tmp_path / "extreme.png").stat().st_size > 5_000
    assert max(map(len, shown.picture().text().splitlines())) <= 80


def test_without_privacy_the_overlay_is_no_privacy_at_all():
    shown = TradeoffDisplay.from_account(ew.account(ew.ApproxDP(epsilon=0.0, delta=1.0)))
    assert shown.mu_star == np.inf
    assert not shown.gaussian.any()


@DISPLAYS
def test_on_a_terminal_the_promised_end_is_drawn(display, guarantee, estimate):
    shown = display.from_account(guarantee, points=51)
    first = shown.picture().lines[0]
    assert np.array_equal(first.y, shown.lower if display is TradeoffDisplay else shown.upper)
    assert first.label.endswith(", guaranteed")
    assert display.from_account(estimate, points=51).picture().lines[0].label.endswith(", estimated")


def test_account_plot_draws_on_the_given_axes(estimate, ax):
    assert estimate.plot(ax) is ax


def test_nothing_global_changes(estimate, ax):
    before = dict(mpl.rcParams)
    TradeoffDisplay.from_account(estimate).plot(ax)
    assert dict(mpl.rcParams) == before


def test_new_axes_without_a_window(estimate, monkeypatch):
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    ax = estimate.plot()
    assert ax.figure in map(plt.figure, plt.get_fignums())
    plt.close("all")


def test_letters_fit_into_narrow_axes(guarantee):
    from matplotlib.figure import Figure  # noqa: PLC0415

    wide, narrow = (Figure(figsize=(width, 4)).subplots() for width in (12, 3))
    for axes in (wide, narrow):
        RocDisplay.from_account(guarantee).plot(axes)
    assert narrow.title.get_fontsize() <= wide.title.get_fontsize()
    sizes = [axes.get_legend().get_texts()[0].get_fontsize() for axes in (narrow, wide)]
    assert sizes[0] < sizes[1]


@DISPLAYS
def test_without_matplotlib_the_pip_line_is_named(display, estimate, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = display.from_account(estimate)  # the data need no matplotlib
    with pytest.raises(ew.MissingExtra, match=r"pip install 'edgeworth\[plot\]'"):
        shown.plot()
    with pytest.raises(ew.MissingExtra, match=r"pip install 'edgeworth\[plot\]'"):
        save(shown, tmp_path / "no.png")


@DISPLAYS
@pytest.mark.parametrize(
    ("points", "message"),
    [
        (2, "points=2 is out of range; give an int >= 3"),
        (-1, "points=-1 is out of range; give an int >= 0"),
        (2.5, "points=2.5 is not a whole number; give an int >= 0"),
    ],
)
def test_bad_points(display, points, message, estimate):
    with pytest.raises(ew.InvalidArgument) as caught:
        display.from_account(estimate, points=points)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("display", "grid", "message"),
    [
        (TradeoffDisplay, [0.5, 2.0], "alpha=2.0 is out of range; give numbers between 0 and 1"),
        (ProfileDisplay, [float("nan")], "epsilon=[nan] has a nan; give real numbers"),
        (RocDisplay, [-0.5], "fpr=-0.5 is out of range; give numbers between 0 and 1"),
    ],
)
def test_a_bad_grid_is_named_after_what_it_is_of(display, grid, message, estimate):
    with pytest.raises(ew.InvalidArgument) as caught:
        display.from_account(estimate, grid=grid)
    assert str(caught.value) == message
