"""A picture is its numbers: panels of curves, written as CSV and drawn with one pen."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from edgeworth.errors import require_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.paper.experiments import Method

    Array: TypeAlias = NDArray[np.float64]

__all__ = ["Curve", "Panel", "Picture", "curve"]

_GREY = "#555555"
_DPI = 130


@dataclass(frozen=True)
class Curve:
    """One line or, with a marker, one set of points."""

    label: str
    x: Array
    y: Array
    colour: str
    line: str = "-"
    width: float = 1.6
    marker: str = ""
    shaded: bool = False


def curve(method: Method, x: Array, y: Array, label: str | None = None) -> Curve:
    """A curve in the colour and line of its method."""
    return Curve(label or method.label, x, y, method.colour, method.line, method.width)


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `square` axes are the unit square of a trade-off function."""

    title: str
    curves: tuple[Curve, ...]
    x_label: str = "type I error α"
    y_label: str = "type II error f(α)"
    square: bool = True
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    texts: tuple[tuple[float, float, str], ...] = ()
    x_ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, or one beyond it: a name, a title, a caption and its panels."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int
    panel_size: tuple[float, float] = (3.0, 3.0)
    legend_columns: int = field(default=5)

    def csv(self) -> str:
        """Every number of the picture: panel, curve, x, y."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["panel", "curve", "x", "y"])
        for panel in self.panels:
            for one in panel.curves:
                writer.writerows(
                    [panel.title, one.label, repr(float(x)), repr(float(y))] for x, y in zip(one.x, one.y, strict=True)
                )
        return out.getvalue()

    def png(self) -> bytes:
        """The picture drawn."""
        figure = require_extra("matplotlib.figure", extra="plot").Figure(layout="constrained")
        require_extra("matplotlib.backends.backend_agg", extra="plot").FigureCanvasAgg(figure)
        self.draw(figure)
        out = io.BytesIO()
        figure.savefig(out, dpi=_DPI, format="png")
        return out.getvalue()

    def draw(self, figure: Any) -> None:
        """Draw on a matplotlib Figure; one legend below all panels."""
        rows = -(-len(self.panels) // self.columns)
        width, height = self.panel_size
        labels = {one.label for panel in self.panels for one in panel.curves}
        legend_rows = -(-len(labels) // self.legend_columns)
        figure.set_size_inches(width * self.columns, height * rows + 0.35 + 0.25 * legend_rows)
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.1, rect=(0.0, 0.0, 1.0, 0.99))
        handles: dict[str, Any] = {}
        for number, panel in enumerate(self.panels):
            axes = figure.add_subplot(rows, self.columns, number + 1)
            _draw_panel(axes, panel, handles, left=number % self.columns == 0)
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=min(self.legend_columns, len(handles)),
            frameon=False,
            fontsize=9,
        )


def _draw_panel(axes: Any, panel: Panel, handles: dict[str, Any], *, left: bool) -> None:
    for one in panel.curves:
        (line,) = axes.plot(
            one.x,
            one.y,
            linestyle=one.line,
            color=one.colour,
            linewidth=one.width,
            marker=one.marker or None,
            markersize=4.5,
            solid_capstyle="butt",
            clip_on=one.line != "",  # a point on an axis is drawn whole
        )
        handles.setdefault(one.label, line)
        if one.shaded:
            axes.fill_between(one.x, one.y, color=one.colour, alpha=0.15, linewidth=0)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label, fontsize=9)
    if left or not panel.square:
        axes.set_ylabel(panel.y_label, fontsize=9)
    axes.tick_params(labelsize=8, color=_GREY)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if panel.square:
        axes.set_aspect("equal")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.set_yticks(np.linspace(0, 1, 6))
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    if panel.x_range:
        axes.set_xlim(*panel.x_range)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)
    if panel.x_ticks:
        axes.set_xticks(panel.x_ticks, [f"{tick:g}" for tick in panel.x_ticks])
        axes.set_xticks([], minor=True)
    for x, y, text in panel.texts:
        axes.text(x, y, text, fontsize=8.5, color="#222222")
