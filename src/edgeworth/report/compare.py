"""Several accounts of one mechanism in one picture: what each guarantees or estimates."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth.errors import InvalidArgument
from edgeworth.report.displays import TradeoffDisplay
from edgeworth.report.pen import (
    BLACK,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    caption,
    common_legend,
    new_axes,
    tidy,
)
from edgeworth.report.terminal import Line, Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]

__all__ = ["CompareDisplay"]

_GUARANTEES = ((BLUE, "solid"), (SKY, (0, (5, 1.5))), (BROWN, (0, (1.2, 1.2))), (BLUE, (0, (3, 1, 1, 1))))
_ESTIMATES = (
    (VERMILLION, (0, (8, 2))),
    (GREEN, (0, (6, 2))),
    (PURPLE, (0, (2, 1.5))),
    (ORANGE, (0, (6, 2, 1.5, 2))),
    (BLACK, (0, (1, 2))),
)
_SMALLEST_ALPHA = 1e-6  # on the logarithmic panel
_LARGEST_ALPHA = 0.999  # beyond, no picture tells f from 0


@dataclass(frozen=True, eq=False)
class CompareDisplay:
    """Several accounts of one mechanism on one grid of alpha: whole curves, and the attacker's power near 0."""

    panels: ClassVar[int] = 2
    inches: ClassVar[tuple[float, float]] = (12.0, 7.4)

    displays: tuple[TradeoffDisplay, ...]
    axes: tuple[Any, ...] = field(default=(), init=False)

    @classmethod
    def from_accounts(cls, accounts: Mapping[str, Account], *, points: int = 201) -> Self:
        """Read every account on one grid, at normal quantiles, which reaches down to alpha = 1e-6."""
        if not accounts:
            raise InvalidArgument("accounts={} is empty; give at least one, such as {'auto': account}")
        between = ndtr(np.linspace(ndtri(_SMALLEST_ALPHA), ndtri(_LARGEST_ALPHA), max(points - 2, 1)))
        grid = np.concatenate([[0.0], between, [1.0]])
        return cls(
            tuple(TradeoffDisplay.from_account(account, grid=grid, label=name) for name, account in accounts.items())
        )

    def picture(self) -> Picture:
        """Power at few false alarms for a terminal: dots, then capitals for guarantees and letters for estimates."""
        lines: list[Line] = []
        for letter, display in zip(cycle("abcdefghijklmnopqrstuvwxyz"), self.displays, strict=False):
            kind, glyph = ("guarantee", letter.upper()) if display.certified else ("estimate", letter)
            lines.append(Line(f"{display.label}: {kind}", display.alpha, 1 - display.shown, glyph if lines else ""))
        lines.append(Line("perfect privacy", self.displays[0].alpha, self.displays[0].alpha, "."))
        axes = "type I error alpha (false alarm)", "power 1 - f(alpha) (caught)"
        least = _SMALLEST_ALPHA, _SMALLEST_ALPHA
        title = "Power at few false alarms: lower is more private\nof a guarantee, the most that it leaves possible"
        return Picture(title, *axes, tuple(lines), least=least)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two given Axes, or on a new figure; returns self, with the Axes as `axes`."""
        if axes is None:
            axes = new_axes(2, self.inches)
        whole, near = np.ravel(np.asarray(axes, dtype=object))
        self._draw(whole, power=False)
        self._draw(near, power=True)
        whole.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        near.set(xscale="log", yscale="log", xlim=(_SMALLEST_ALPHA, 1), ylim=(_SMALLEST_ALPHA, 1.3))
        near.set_box_aspect(1)
        whole.set_ylabel("type II error $f(\\alpha)$ (missed)")
        near.set_ylabel("power $1-f(\\alpha)$ (caught)")
        said = "line: what is promised; band: where the truth lies"
        caption(whole, "Trade-off function: higher is more private", said)
        caption(near, "Power at few false alarms: lower is more private", said)
        for ax in (whole, near):
            ax.set_xlabel("type I error $\\alpha$ (false alarm)")
            tidy(ax)
        common_legend(whole, near)
        object.__setattr__(self, "axes", (whole, near))
        return self

    def _draw(self, ax: Any, *, power: bool) -> None:
        """Guarantees as bands with the end that is promised, estimates as thin dashed lines over them."""
        guarantees, estimates = cycle(_GUARANTEES), cycle(_ESTIMATES)
        first = self.displays[0]
        ax.plot(first.alpha, first.alpha if power else first.perfect, color=GREY, linewidth=1, label="perfect privacy")
        for display in sorted(self.displays, key=lambda display: not display.certified):
            line, *band = (1 - part if power else part for part in (display.shown, display.lower, display.upper))
            colour, style = next(guarantees if display.certified else estimates)
            kind, weight = ("guarantee", 2.5) if display.certified else ("estimate", 1.4)
            if display.certified:
                ax.fill_between(display.alpha, *band, color=colour, alpha=0.18, linewidth=0)
            label = f"{display.label}: {kind}"
            ax.plot(display.alpha, line, color=colour, linestyle=style, linewidth=weight, label=label)
