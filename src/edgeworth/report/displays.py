"""Pictures of trade-off functions: a display holds arrays, `plot` draws them on matplotlib Axes.

The arrays can be read and tested without drawing; matplotlib is imported when `plot` is called. Nothing here changes
matplotlib's global settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr

from edgeworth import validation
from edgeworth.curves import GaussianTradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.report.pen import BLUE, BROWN, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, new_axes, tidy
from edgeworth.report.terminal import Line, Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]

__all__ = ["CompareDisplay", "TradeoffDisplay"]

_ESTIMATE_COLOURS = (VERMILLION, GREEN, PURPLE, ORANGE, "black")
_ESTIMATE_DASHES = ((0, (8, 2)), (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 2)))
_SMALLEST_ALPHA = 1e-6  # on the logarithmic panel


@dataclass(frozen=True, eq=False)
class TradeoffDisplay:
    """f of one account on a grid of alpha, with its ends, G_mu* and perfect privacy on the same grid.

    For an estimate `lower` and `upper` are the trivial 0 and 1 - alpha, and are not drawn.
    """

    panels: ClassVar[int] = 1
    inches: ClassVar[tuple[float, float]] = (7.5, 7.0)

    alpha: Array
    value: Array
    lower: Array
    upper: Array
    certified: bool
    label: str
    mu_star: float
    gaussian: Array  # G_mu* on alpha
    perfect: Array  # 1 - alpha, the trade-off function of perfect privacy
    ax: Any = field(default=None, init=False)

    @classmethod
    def from_account(
        cls, account: Account, *, points: int = 501, alpha: Array | None = None, label: str | None = None
    ) -> Self:
        """Read the account on `points` alphas, dense towards 0 and 1, or on those given."""
        grid = _grid(points) if alpha is None else validation.probabilities(alpha=alpha)
        bracket = account.tradeoff(grid)
        mu_star = account.mu_star
        gaussian = GaussianTradeOff(mu_star)(grid) if np.isfinite(mu_star) else np.zeros(grid.shape)
        return cls(
            alpha=grid,
            value=np.asarray(bracket.value),
            lower=np.asarray(bracket.lower),
            upper=np.asarray(bracket.upper),
            certified=account.certified,
            label=account.certificate.method if label is None else label,
            mu_star=mu_star,
            gaussian=gaussian,
            perfect=1 - grid,
        )

    @property
    def verdict(self) -> str:
        """Guarantee or estimate, in words."""
        return "guarantee: f lies in the band" if self.certified else "estimate, not a guarantee"

    def picture(self) -> Picture:
        """The same for a terminal."""
        kind = "guarantee" if self.certified else "estimate"
        return Picture(
            f"trade-off function by {self.label}: {self.verdict}",
            "type I error alpha (false alarm)",
            "type II error (missed)",
            (
                Line(f"f, {kind}", self.alpha, self.lower if self.certified else self.value),
                Line(f"G_mu*, mu* = {self.mu_star:.4g}", self.alpha, self.gaussian, "+"),
                Line("perfect privacy", self.alpha, self.perfect, "."),
            ),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on new Axes; returns self, with the Axes as `ax`."""
        if ax is None:
            (ax,) = new_axes(1, self.inches)
        ax.plot(self.alpha, self.perfect, color=GREY, linewidth=1, label="perfect privacy, $1-\\alpha$")
        if self.certified:
            ax.fill_between(self.alpha, self.lower, self.upper, color=BLUE, alpha=0.25, linewidth=0, label="bracket")
        label = f"$f$, {self.label} ({'guarantee' if self.certified else 'estimate'})"
        ax.plot(self.alpha, self.value, color=BLUE if self.certified else VERMILLION, linewidth=2, label=label)
        mu = "$\\mu^*$" if not self.certified else "$\\mu^*\\leq$"
        separator = " = " if not self.certified else " "
        ax.plot(
            self.alpha,
            self.gaussian,
            color="black",
            linewidth=0.9,
            linestyle=(0, (5, 3)),
            label=f"$G_{{\\mu^*}}$, {mu}{separator}{self.mu_star:.4g}",
        )
        _label_tradeoff_axes(ax)
        ax.set_title(f"Trade-off function by {self.label}\n{self.verdict}", loc="left", fontsize=12)
        ax.legend(loc="upper right", frameon=False)
        object.__setattr__(self, "ax", ax)  # where it was drawn; the data stay as they are
        return self


@dataclass(frozen=True, eq=False)
class CompareDisplay:
    """Several accounts of one mechanism on one grid of alpha: whole curves, and the attacker's power near 0."""

    panels: ClassVar[int] = 2
    inches: ClassVar[tuple[float, float]] = (12.0, 7.4)

    displays: tuple[TradeoffDisplay, ...]
    axes: tuple[Any, ...] = field(default=(), init=False)

    @classmethod
    def from_accounts(cls, accounts: Mapping[str, Account], *, points: int = 501) -> Self:
        """Read every account on one grid, which reaches down to alpha = 1e-6."""
        if not accounts:
            raise InvalidArgument("accounts={} is empty; give at least one, such as {'auto': account}")
        small = np.geomspace(_SMALLEST_ALPHA, 0.5, _grid(points).size // 2)
        grid = np.unique(np.concatenate([_grid(points), small]))
        return cls(
            tuple(TradeoffDisplay.from_account(account, alpha=grid, label=name) for name, account in accounts.items())
        )

    def picture(self) -> Picture:
        """Power at few false alarms for a terminal: dots, then capitals for guarantees and letters for estimates."""
        lines: list[Line] = []
        for letter, display in zip(cycle("abcdefghijklmnopqrstuvwxyz"), self.displays, strict=False):
            kind, glyph = ("guarantee", letter.upper()) if display.certified else ("estimate", letter)
            lines.append(Line(f"{display.label}: {kind}", display.alpha, 1 - display.value, glyph if lines else ""))
        lines.append(Line("perfect privacy", self.displays[0].alpha, self.displays[0].alpha, "."))
        axes = "type I error alpha (false alarm)", "power 1 - f(alpha) (caught)"
        least = _SMALLEST_ALPHA, _SMALLEST_ALPHA
        return Picture("power at few false alarms: lower is more private", *axes, tuple(lines), least=least)

    def plot(self, axes: Any = None, *, title: str | None = None) -> Self:
        """Draw on two given Axes, or on a new figure; returns self, with the Axes as `axes`."""
        if axes is None:
            axes = new_axes(2, self.inches)
        whole, near = np.ravel(np.asarray(axes, dtype=object))
        self._draw(whole, power=False)
        self._draw(near, power=True)
        _label_tradeoff_axes(whole)
        whole.set_title("Trade-off function $f$: higher is more private", loc="left", fontsize=12)
        near.set(xscale="log", yscale="log", xlim=(_SMALLEST_ALPHA, 1), ylim=(_SMALLEST_ALPHA, 1.3))
        near.set_xlabel("type I error $\\alpha$ (false alarm)")
        near.set_ylabel("power $1-f(\\alpha)$ (caught)")
        near.set_title("Power at few false alarms: lower is more private", loc="left", fontsize=12)
        near.set_box_aspect(1)
        tidy(near)
        figure = whole.figure
        handles, labels = whole.get_legend_handles_labels()
        if figure is near.figure:
            figure.legend(handles, labels, loc="lower center", ncols=min(4, (len(labels) + 1) // 2), frameon=False)
        else:
            whole.legend(frameon=False)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        object.__setattr__(self, "axes", (whole, near))
        return self

    def _draw(self, ax: Any, *, power: bool) -> None:
        """Guarantees as bands with a solid line, estimates as thin dashed lines over them."""
        styles = zip(cycle(_ESTIMATE_COLOURS), cycle(_ESTIMATE_DASHES), strict=False)
        guarantees = zip(cycle((BLUE, SKY, BROWN)), cycle(("solid", (0, (4, 4)), (0, (1, 3)))), strict=False)
        first = self.displays[0]
        perfect = first.alpha if power else first.perfect
        ax.plot(first.alpha, perfect, color=GREY, linewidth=1, label="perfect privacy")
        for display in sorted(self.displays, key=lambda display: not display.certified):
            value, lower, upper = (
                1 - part if power else part for part in (display.value, display.lower, display.upper)
            )
            if display.certified:
                colour, style = next(guarantees)
                ax.fill_between(display.alpha, lower, upper, color=colour, alpha=0.18, linewidth=0)
                label = f"{display.label}: guarantee, in its band"
                ax.plot(display.alpha, value, color=colour, linestyle=style, linewidth=2.5, label=label)
            else:
                colour, dashes = next(styles)
                label = f"{display.label}: estimate"
                ax.plot(display.alpha, value, color=colour, linestyle=dashes, linewidth=1.4, label=label)


def _grid(points: int) -> Array:
    """Alphas at evenly spaced normal quantiles, from 1e-9 to 1 - 1e-9, with 0 and 1."""
    if not validation.count(points=points) >= 3:
        raise InvalidArgument(f"points={points!r} is out of range; give an int >= 3")
    return np.concatenate([[0.0], ndtr(np.linspace(-6.0, 6.0, points - 2)), [1.0]])


def _label_tradeoff_axes(ax: Any) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("type I error $\\alpha$ (false alarm)")
    ax.set_ylabel("type II error (missed)")
    tidy(ax)
