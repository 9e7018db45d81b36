"""What pictures of one account share: a grid, a reading on it with its ends, the same for G_mu* and perfect privacy.

A display holds arrays, which can be read and tested without drawing; `plot` draws them on matplotlib Axes, which is
imported then, and `picture` draws them in characters. Nothing here changes matplotlib's global settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from edgeworth import validation
from edgeworth.curves import GaussianTradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.report.pen import BLACK, BLUE, GREY, VERMILLION, caption, legend, new_axes, tidy
from edgeworth.report.terminal import Line, Picture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeworth.account import Account
    from edgeworth.curves import Bracket

    Array = NDArray[np.float64]

__all__ = ["AccountDisplay", "Scale", "gaussian_tradeoff"]

_DASHES = (0, (5, 3))
_FEWEST = 3  # points


@dataclass(frozen=True)
class Scale:
    """An axis: its caption on paper and on a terminal, and where it begins if it is logarithmic."""

    on_paper: str
    plain: str
    least: float | None = None

    @property
    def name(self) -> str:
        """What matplotlib calls it."""
        return "linear" if self.least is None else "log"


@dataclass(frozen=True, eq=False)
class AccountDisplay(ABC):
    """One reading of one account on a grid, with its ends.

    For an estimate `lower` and `upper` are the trivial ends, and are not drawn.
    """

    panels: ClassVar[int] = 1
    inches: ClassVar[tuple[float, float]] = (7.5, 7.0)
    #: the name of what the grid is of, which is also how the class calls it
    argument: ClassVar[str]
    title: ClassVar[str]
    #: the curve, on paper and on a terminal
    subject: ClassVar[tuple[str, str]]
    #: the end that is promised to whoever is protected
    promised: ClassVar[str] = "upper"
    across: ClassVar[Scale]
    up: ClassVar[Scale]
    legend_at: ClassVar[str] = "upper right"

    grid: Array
    value: Array
    lower: Array
    upper: Array
    certified: bool
    label: str
    mu_star: float
    gaussian: Array  # the reading of G_mu*
    perfect: Array  # the reading of perfect privacy
    ax: Any = field(default=None, init=False)

    @classmethod
    def from_account(
        cls, account: Account, *, points: int = 201, grid: ArrayLike | None = None, label: str | None = None
    ) -> Self:
        """Read the account on a grid of so many points, or on the given one."""
        chosen = cls._grid(account, _count(points)) if grid is None else cls._checked(grid)
        found, mu_star = cls._read(account, chosen), account.mu_star
        return cls(
            grid=chosen,
            value=np.asarray(found.value),
            lower=np.asarray(found.lower),
            upper=np.asarray(found.upper),
            certified=account.certified,
            label=account.certificate.method if label is None else label,
            mu_star=mu_star,
            gaussian=cls._read_gaussian(mu_star, chosen),
            perfect=cls._read_gaussian(0.0, chosen),
        )

    @classmethod
    @abstractmethod
    def _grid(cls, account: Account, points: int) -> Array:
        """So many points where the account is worth looking at."""

    @classmethod
    def _checked(cls, grid: ArrayLike) -> Array:
        return validation.probabilities(**{cls.argument: grid})

    @staticmethod
    @abstractmethod
    def _read(account: Account, grid: Array) -> Bracket:
        """What is drawn, with its ends."""

    @staticmethod
    @abstractmethod
    def _read_gaussian(mu: float, grid: Array) -> Array:
        """The same of G_mu; mu may be infinite."""

    @property
    def verdict(self) -> str:
        """Guarantee or estimate, in words."""
        if not self.certified:
            return f"by {self.label}: an estimate, not a guarantee"
        return f"by {self.label}: a guarantee"

    @property
    def shown(self) -> Array:
        """The line: the end of the bracket that is promised, or the estimate."""
        promised: Array = getattr(self, self.promised) if self.certified else self.value
        return promised

    @property
    def width(self) -> str:
        """How wide the band is, which may be too little to be seen; relatively, on a logarithmic axis."""
        gap = self.upper - self.lower
        if self.up.least is None:
            return f"width {float(np.max(gap)):.1g}"
        visible = self.upper >= self.up.least
        return f"relative width {float(np.max(gap[visible] / self.upper[visible], initial=0.0)):.1g}"

    def picture(self) -> Picture:
        """The same for a terminal."""
        kind = "guaranteed" if self.certified else "estimated"
        lines = [
            Line(f"{self.subject[1]}, {kind}", self.grid, self.shown),
            Line(f"G_mu*, mu* = {self.mu_star:.4g}: Gaussian noise, for comparison", self.grid, self.gaussian, "+"),
            Line("perfect privacy", self.grid, self.perfect, "."),
        ]
        return Picture(
            f"{self.title}\n{self.verdict}",
            self.across.plain,
            self.up.plain,
            tuple(line for line in lines if not line.glyph or self._has_points(line.y)),
            least=(self.across.least, self.up.least),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on new Axes; returns self, with the Axes as `ax`."""
        if ax is None:
            (ax,) = new_axes(1, self.inches)
        self._prepare(ax)
        if self._has_points(self.perfect):
            ax.plot(self.grid, self.perfect, color=GREY, linewidth=1, label="perfect privacy")
        if self.certified:
            floor = -np.inf if self.up.least is None else self.up.least / 10  # a logarithm has no 0
            band = np.maximum(self.lower, floor), np.maximum(self.upper, floor)
            label = f"where the truth lies, {self.width}"
            ax.fill_between(self.grid, *band, color=BLUE, alpha=0.25, linewidth=0, label=label)
        kind, colour = ("guaranteed", BLUE) if self.certified else ("estimated", VERMILLION)
        ax.plot(self.grid, self.shown, color=colour, linewidth=2, label=f"{self.subject[0]}, {kind}")
        gaussian = f"$G_{{\\mu^*}}$, $\\mu^*$ = {self.mu_star:.4g}, for comparison"
        ax.plot(self.grid, self.gaussian, color=BLACK, linewidth=0.9, linestyle=_DASHES, label=gaussian)
        legend(ax, self.legend_at)
        object.__setattr__(self, "ax", ax)  # where it was drawn; the data stay as they are
        return self

    def _prepare(self, ax: Any) -> None:
        """Scales, captions and a title that says whether this is a guarantee."""
        ax.set(xscale=self.across.name, yscale=self.up.name)
        ax.set(xlim=_limits(self.across, self.grid), ylim=(self.up.least or 0.0, 1.0 if self.up.least is None else 1.3))
        ax.set_xlabel(self.across.on_paper)
        ax.set_ylabel(self.up.on_paper)
        caption(ax, self.title, self.verdict)
        tidy(ax)

    def _has_points(self, y: Array) -> bool:
        """Whether a curve is on the axis at all: a logarithmic one has no 0."""
        return self.up.least is None or bool(np.any(y >= self.up.least))


def _limits(scale: Scale, grid: Array) -> tuple[float, float]:
    low = float(grid.min()) if scale.least is None else scale.least
    return low, max(float(grid.max()), low + 1e-9)  # Axes need some width


def _count(points: int) -> int:
    if not validation.count(points=points) >= _FEWEST:
        raise InvalidArgument(f"points={points!r} is out of range; give an int >= {_FEWEST}")
    return points


def gaussian_tradeoff(mu: float, alpha: Array) -> Array:
    """G_mu on a grid; 0 where mu is infinite."""
    return np.asarray(GaussianTradeOff(mu)(alpha)) if np.isfinite(mu) else np.zeros(alpha.shape)
