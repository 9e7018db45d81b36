"""What all pictures share: colours, Axes, a plain look, and how a picture becomes a file."""

from __future__ import annotations

from typing import Any

from edgeworth.errors import require_extra

__all__ = [
    "BLACK",
    "BLUE",
    "BROWN",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILLION",
    "caption",
    "common_legend",
    "legend",
    "new_axes",
    "save",
    "tidy",
]

# Okabe and Ito's palette, told apart with every common colour blindness; grey is the diagonal's.
BLUE, SKY, VERMILLION, GREEN = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
BROWN = "#7F5539"  # not theirs: for a third guarantee
BLACK, GREY = "black", "#8A8A8A"

_LETTERS, _LEGEND_LETTERS, _SMALLEST_LETTERS = 12.0, 10.0, 6.0  # points
_POINTS_PER_INCH = 72
_SLIMNESS = 0.6  # of a letter, its width over its size, on average
_BOLD = 1.2  # bold letters are wider
_HANDLE = 8  # letters that the line in a legend takes
_LEGEND_ROWS = 3  # below two panels
_DOTS_PER_INCH = 150


def new_axes(panels: int, inches: tuple[float, float]) -> list[Any]:
    """Axes side by side on a new pyplot figure; without a display, matplotlib itself falls back on Agg."""
    require_extra("matplotlib", extra="plot")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

    figure, axes = plt.subplots(1, panels, figsize=inches, squeeze=False, layout="constrained")
    del figure
    return list(axes[0])


def tidy(ax: Any) -> None:
    """A light grid behind the curves, no frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="0.92", linewidth=0.7)
    ax.set_axisbelow(True)


def caption(ax: Any, title: str, verdict: str) -> None:
    """What is drawn, and below it whether it is a guarantee."""
    size = _fitting(ax, max(len(title), len(verdict)), _LETTERS)
    ax.set_title(f"{title}\n{verdict}", loc="left", fontsize=size)


def legend(ax: Any, place: str) -> None:
    """Which line is which, inside the Axes."""
    labels = ax.get_legend_handles_labels()[1]
    longest = max(len(label.replace("\\mu", "").replace("$", "")) for label in labels)
    ax.legend(loc=place, frameon=False, fontsize=_fitting(ax, longest + _HANDLE, _LEGEND_LETTERS))


def common_legend(first: Any, second: Any) -> None:
    """One legend for two Axes: below both where the figure makes room for it, else inside the first."""
    figure = first.figure
    if figure is second.figure and figure.get_constrained_layout():
        handles, labels = first.get_legend_handles_labels()
        columns = -(-len(labels) // _LEGEND_ROWS)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    else:
        legend(first, "upper right")


def _fitting(ax: Any, letters: int, largest: float) -> float:
    """The size in points at which so many letters fit into the Axes, even square ones; not unreadably small."""
    place, figure = ax.get_position(), ax.figure
    inches = min(place.width * figure.get_figwidth(), 1.3 * place.height * figure.get_figheight())
    return float(max(_SMALLEST_LETTERS, min(largest, inches * _POINTS_PER_INCH / letters / _SLIMNESS)))


def save(display: Any, path: Any, *, title: str | None = None) -> None:
    """Draw on a figure of its own, without a window or pyplot, and write it in the format of the path's suffix.

    A display has as many panels, and as many inches, as it says.
    """
    require_extra("matplotlib", extra="plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - idem

    figure = Figure(figsize=display.inches, layout="constrained")
    FigureCanvasAgg(figure)
    display.plot(figure.subplots(1, display.panels))
    if title:
        figure.suptitle(_shortened(title, display.inches[0]), x=0.01, ha="left", fontsize=_LETTERS, fontweight="bold")
    figure.savefig(path, dpi=_DOTS_PER_INCH)


def _shortened(title: str, inches: float) -> str:
    """The title, cut where it would leave the picture."""
    most = int(inches * _POINTS_PER_INCH / _LETTERS / _SLIMNESS / _BOLD) - 2
    return title if len(title) <= most else f"{title[:most]}…"
