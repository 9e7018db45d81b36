"""Pictures on a terminal: the first curve in braille dots, eight to a character, the others in letters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Line", "Picture"]

_BLANK = 0x2800  # the braille character without a dot; each dot adds one bit
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column within a character
_MARGIN = 10  # columns for the numbers beside the picture
_SAMPLES = 4  # points of a curve for each dot column, so that steep parts have no holes


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; `glyph` is the letter that draws it, none for braille dots."""

    label: str
    x: Array
    y: Array
    glyph: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """Curves with their axes; `least` gives where logarithmic axes begin, None where an axis is linear.

    >>> diagonal = Line("y = x", np.array([0.0, 1.0]), np.array([0.0, 1.0]), "*")
    >>> print(Picture("a line", "x", "y", (diagonal,)).text(width=22, height=5))
    a line
            1 |        ***
              |      ***
          0.5 |    ***
              |  ***
            0 |***
               0   0.5   1
    y over x
      * y = x
    """

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    least: tuple[float | None, float | None] = (None, None)

    def text(self, *, width: int = 80, height: int = 21) -> str:
        """The picture as plain text, at most `width` columns wide and `height` rows high without its captions."""
        columns = width - _MARGIN - 1
        rows = _cells(self._placed(columns, height), columns, height)
        marks = {
            place: self._tick(1, (height - 1 - place) / (height - 1)) for place in (0, (height - 1) // 2, height - 1)
        }
        drawn = [f"{marks.get(place, ''):>{_MARGIN - 1}} |{row}".rstrip() for place, row in enumerate(rows)]
        captions = [self._ticks_across(columns), f"{self.up} over {self.across}"]
        return "\n".join([self.title, *drawn, *captions, *self._legend("".join(rows))])

    def _ticks_across(self, columns: int) -> str:
        """The numbers below the picture: at both ends and, where there is room, in the middle."""
        low, middle, high = (self._tick(0, share) for share in (0.0, 0.5, 1.0))
        before = (columns - len(middle)) // 2
        if before <= len(low) or before + len(middle) + len(high) >= columns:
            middle, before = "", len(low)
        return f"{'':{_MARGIN}} " + f"{low:<{before}}{middle}".ljust(columns - len(high)) + high

    def _legend(self, drawn: str) -> list[str]:
        """A line for each curve; one that cannot be seen is said to be behind the others, or off the axes."""
        told = []
        for line in self.lines:
            hidden = " (behind the others)" if line.glyph and line.glyph not in drawn else ""
            hidden = hidden if self._visible(line).any() else " (off the axes)"
            told.append(f"  {line.glyph or chr(_BLANK + 0x24)} {line.label}{hidden}")
        return told

    def _range(self, axis: int) -> tuple[float, float]:
        """Where an axis begins and ends, in its own scale."""
        values = np.concatenate([self._scaled(axis, line) for line in self.lines])
        values = values[np.isfinite(values)]
        least = self.least[axis]
        low = float(values.min(initial=0.0)) if least is None else math.log10(least)
        high = float(values.max(initial=low))
        return low, high if high > low else low + 1

    def _scaled(self, axis: int, line: Line) -> Array:
        values = np.asarray(line.y if axis else line.x, dtype=np.float64)
        least = self.least[axis]
        return values if least is None else np.log10(np.maximum(values, least))

    def _visible(self, line: Line) -> NDArray[np.bool_]:
        """The points of a curve that its axes show: a logarithmic one shows none below where it begins."""
        least = [-np.inf if each is None else each for each in self.least]
        return np.asarray((line.x >= least[0]) & (line.y >= least[1]))

    def _tick(self, axis: int, share: float) -> str:
        """The number at that share of an axis."""
        low, high = self._range(axis)
        value = low + share * (high - low)
        return f"{value:.3g}" if self.least[axis] is None else f"{10**value:.3g}"

    def _placed(self, columns: int, height: int) -> list[tuple[str, Array, Array]]:
        """Every curve, first things last, as dot columns and dot rows."""
        (left, right), (bottom, top) = self._range(0), self._range(1)
        placed = []
        for line in reversed(self.lines):
            visible = self._visible(line)
            if not visible.any():
                continue
            across = (self._scaled(0, line)[visible] - left) / (right - left)
            up = (self._scaled(1, line)[visible] - bottom) / (top - bottom)
            length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(across), np.diff(up)))])
            along = np.linspace(0.0, length[-1], _SAMPLES * 2 * max(columns, 4 * height))
            dots = np.interp(along, length, across), np.interp(along, length, up)
            x, y = (np.rint(part * (count - 1)) for part, count in zip(dots, (2 * columns, 4 * height), strict=True))
            placed.append((line.glyph, x, 4 * height - 1 - y))
        return placed


def _cells(placed: list[tuple[str, Array, Array]], columns: int, height: int) -> list[str]:
    """The rows of characters; a later curve covers an earlier one, dots join each other."""
    cells = [[" "] * columns for _ in range(height)]
    for glyph, x, y in placed:
        for column, row in {(int(a), int(b)) for a, b in zip(x, y, strict=True)}:
            there = cells[row // 4][column // 2]
            dots = ord(there) if _BLANK <= ord(there) < _BLANK + 256 else _BLANK
            cells[row // 4][column // 2] = glyph or chr(dots | _DOTS[row % 4][column % 2])
    return ["".join(row) for row in cells]
