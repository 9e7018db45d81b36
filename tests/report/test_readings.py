"""The data of the profile and of the ROC curve; of the pictures, only that they are drawn and labelled."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import edgeworth as ew
from edgeworth.report import ProfileDisplay, RocDisplay
from edgeworth.report.pen import save

GAUSSIAN = ew.Gaussian(noise_multiplier=5.0) ** 10
DISPLAYS = pytest.mark.parametrize("display", [ProfileDisplay, RocDisplay])


@pytest.fixture(scope="module")
def guarantee():
    return ew.account(GAUSSIAN)


@pytest.fixture(scope="module")
def estimate():
    return ew.account(GAUSSIAN, method="edgeworth")


@pytest.fixture
def ax():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()


def test_the_profile_is_the_reading(guarantee):
    shown = ProfileDisplay.from_account(guarantee, points=31)
    found = guarantee.delta(shown.epsilon)
    assert (shown.epsilon[0], shown.epsilon.size) == (0.0, 31)
    assert guarantee.delta(shown.epsilon[-1]).value == pytest.approx(1e-10, rel=1e-6, abs=0)
    for name in ("lower", "value", "upper"):
        assert np.array_equal(getattr(shown, name), getattr(found, name))


def test_the_roc_curve_is_the_reading_and_never_below_guessing(guarantee):
    shown = RocDisplay.from_account(guarantee, points=31)
    found = guarantee.risk.tpr(shown.fpr)
    for name in ("lower", "value", "upper"):
        assert np.array_equal(getattr(shown, name), getattr(found, name))
    assert (shown.value >= shown.fpr * (1 - 1e-12)).all()


@DISPLAYS
def test_gaussian_noise_is_its_own_overlay(display, guarantee):
    shown = display.from_account(guarantee)
    assert shown.mu_star == pytest.approx(10**0.5 / 5, rel=1e-10, abs=0)
    assert np.allclose(np.log(shown.gaussian[shown.gaussian > 0]), np.log(shown.value[shown.gaussian > 0]), rtol=1e-6)


@DISPLAYS
def test_drawn_on_the_given_axes(display, guarantee, estimate, ax):
    shown = display.from_account(guarantee)
    assert shown.plot(ax).ax is ax
    assert len(ax.collections) == 1
    assert ax.get_yscale() == "log"
    assert any("guarantee" in text.get_text() for text in ax.get_legend().get_texts())
    other = Figure().subplots()
    display.from_account(estimate).plot(other)
    assert len(other.collections) == 0
    assert any("estimate" in text.get_text() for text in other.get_legend().get_texts())


@DISPLAYS
@pytest.mark.parametrize(
    "mechanism", [ew.Composed(()), ew.ApproxDP(epsilon=0.0, delta=1.0), ew.ApproxDP(epsilon=1.0, delta=0.1)]
)
def test_the_extremes_are_drawn_too(display, mechanism, tmp_path):
    shown = display.from_account(ew.account(mechanism))
    save(shown, tmp_path / "extreme.png")
    assert (tmp_path / "extreme.png").stat().st_size > 5_000
    assert shown.picture().text()


@DISPLAYS
@pytest.mark.parametrize("points", [2, -1, 2.5])
def test_bad_points(display, points, guarantee):
    with pytest.raises(ew.InvalidArgument, match=f"points={points}"):
        display.from_account(guarantee, points=points)
