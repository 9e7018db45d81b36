"""Width against time, ours and theirs, on logarithmic axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.packages import OURS, PEERS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.results import Results

# Okabe and Ito's palette, told apart with every common colour blindness
COLOURS = dict(
    zip(
        (OURS.name, *(peer.name for peer in PEERS)),
        ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8A8A8A"),
        strict=True,
    )
)
NARROWEST = 1e-16  # where a bracket of no width is drawn
MARKERS = {"bracket": "o", "upper end only": "v", "false": "X"}


@dataclass(frozen=True)
class Point:
    """One row of the picture."""

    package: str
    kind: str
    seconds: float
    width: float


def points(results: Results) -> list[Point]:
    """A point for every epsilon with a width. A false claim is drawn at its distance from the truth."""
    found = []
    for row in results.of(OURS, *PEERS):
        width = results.width(row)
        if row.first is None or width is None:
            continue
        kind = "upper end only" if row.lower is None else "bracket"
        kind = "false" if results.false_claim(row) else kind
        found.append(Point(row.package, kind, row.first, max(width, NARROWEST)))
    return found


def draw(results: Results, path: Path) -> None:
    """Write the picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - the tables need no matplotlib

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log")
    labelled = set()
    for point in points(results):
        label = f"{point.package}: {point.kind}"
        axes.plot(
            1e3 * point.seconds,
            point.width,
            MARKERS[point.kind],
            color=COLOURS[point.package],
            markerfacecolor="none" if point.kind == "upper end only" else COLOURS[point.package],
            label=None if label in labelled else label,
        )
        labelled.add(label)
    axes.set_xlabel("first reading, ms")
    axes.set_ylabel("width in epsilon")
    axes.set_title(f"Width of the answer against time, {results.date}", loc="left")
    axes.grid(visible=True, which="major", linewidth=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=120)
