"""What all pictures share: colours, Axes, a plain look, and how a picture becomes a file."""

from __future__ import annotations

from typing import Any

from edgeworth.errors import require_extra

__all__ = [
    "BLUE",
    "BROWN",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILLION",
    "curve",
    "new_axes",
    "save",
    "tidy",
]

# Okabe and Ito's palette, told apart with every common colour blindness; grey is the diagonal's.
BLUE, SKY, VERMILLION, GREEN = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
BROWN = "#7F5539"  # not theirs: for a third guarantee
GREY = "#8A8A8A"


def new_axes(panels: int, inches: tuple[float, float]) -> list[Any]:
    """Axes side by side on a new pyplot figure; without a display, matplotlib itself falls back on Agg."""
    require_extra("matplotlib", extra="plot")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

    figure, axes = plt.subplots(1, panels, figsize=inches, squeeze=False, layout="tight")
    del figure
    return list(axes[0])


def tidy(ax: Any) -> None:
    """A light grid behind the curves, no frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="0.92", linewidth=0.7)
    ax.set_axisbelow(True)


def curve(ax: Any, x: Any, ends: tuple[Any, Any, Any], *, certified: bool, label: str) -> None:
    """A guarantee as a band (lower, value, upper) around its line, an estimate as a line of another colour."""
    lower, value, upper = ends
    if certified:
        ax.fill_between(x, lower, upper, color=BLUE, alpha=0.25, linewidth=0, label="bracket")
    kind = "guarantee" if certified else "estimate"
    ax.plot(x, value, color=BLUE if certified else VERMILLION, linewidth=2, label=f"{label} ({kind})")


def save(display: Any, path: Any, *, title: str | None = None) -> None:
    """Draw on a figure of its own, without a window or pyplot, and write it in the format of the path's suffix.

    A display has as many panels, and as many inches, as it says.
    """
    require_extra("matplotlib", extra="plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - idem

    figure = Figure(figsize=display.inches)
    FigureCanvasAgg(figure)
    figure.subplots(1, display.panels)
    if display.panels == 1:
        display.plot(figure.axes[0])
        figure.tight_layout()
    else:
        display.plot(figure.axes, title=title)
        figure.tight_layout(rect=(0, 0.1, 1, 0.98))
    figure.savefig(path, dpi=150)
