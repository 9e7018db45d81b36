"""Pictures of what a trade-off function means: delta over epsilon, and an attacker's ROC curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from edgeworth import validation
from edgeworth.curves import GaussianTradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.report.pen import GREY, curve, new_axes, tidy
from edgeworth.report.terminal import Line, Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]

__all__ = ["ProfileDisplay", "RocDisplay"]

_SMALLEST_DELTA = 1e-10
_SMALLEST_RATE = 1e-6
_WIDEST_EPSILON = 50.0  # drawn where no epsilon has so small a delta
_DASHES = (0, (5, 3))


@dataclass(frozen=True, eq=False)
class ProfileDisplay:
    """The least delta at every epsilon, with its ends and that of G_mu*; delta on a logarithmic axis.

    For an estimate `lower` and `upper` are the trivial 0 and 1, and are not drawn.
    """

    panels: ClassVar[int] = 1
    inches: ClassVar[tuple[float, float]] = (8.0, 6.5)

    epsilon: Array
    value: Array
    lower: Array
    upper: Array
    certified: bool
    label: str
    mu_star: float
    gaussian: Array  # the profile of G_mu* on epsilon
    ax: Any = field(default=None, init=False)

    @classmethod
    def from_account(cls, account: Account, *, points: int = 201, epsilon: Array | None = None) -> Self:
        """Read the account at the given epsilons, or from 0 to where delta is 1e-10."""
        if epsilon is None:
            reached = float(account.epsilon(_SMALLEST_DELTA).value)
            reached = reached if 0 < reached < _WIDEST_EPSILON * 1e3 else (1.0 if reached == 0 else _WIDEST_EPSILON)
            epsilon = np.linspace(0.0, reached, _count(points))
        grid = validation.reals(epsilon=epsilon)
        found, mu_star = account.delta(grid), account.mu_star
        gaussian = GaussianTradeOff(mu_star).profile()(grid) if np.isfinite(mu_star) else np.ones(grid.shape)
        return cls(
            epsilon=grid,
            value=np.asarray(found.value),
            lower=np.asarray(found.lower),
            upper=np.asarray(found.upper),
            certified=account.certified,
            label=account.certificate.method,
            mu_star=mu_star,
            gaussian=np.asarray(gaussian),
        )

    def picture(self) -> Picture:
        """The same for a terminal."""
        kind, shown = ("guarantee", self.upper) if self.certified else ("estimate", self.value)
        return Picture(
            f"privacy profile by {self.label} ({kind}): lower is more private",
            "epsilon",
            "delta",
            (
                Line(f"delta(epsilon), {kind}", self.epsilon, shown),
                Line(f"G_mu*, mu* = {self.mu_star:.4g}", self.epsilon, self.gaussian, "+"),
            ),
            least=(None, _SMALLEST_DELTA),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on new Axes; returns self, with the Axes as `ax`."""
        if ax is None:
            (ax,) = new_axes(1, self.inches)
        ax.set(yscale="log", ylim=(_SMALLEST_DELTA, 1.3), xlim=(self.epsilon.min(), self.epsilon.max()))
        ends = tuple(np.maximum(part, _SMALLEST_DELTA / 10) for part in (self.lower, self.value, self.upper))
        label = f"$\\delta(\\varepsilon)$, {self.label}"
        curve(ax, self.epsilon, (ends[0], ends[1], ends[2]), certified=self.certified, label=label)
        gaussian = f"$G_{{\\mu^*}}$, $\\mu^*$ = {self.mu_star:.4g}"
        ax.plot(self.epsilon, self.gaussian, color="black", linewidth=0.9, linestyle=_DASHES, label=gaussian)
        ax.set_xlabel("$\\varepsilon$")
        ax.set_ylabel("$\\delta$")
        ax.set_title("Privacy profile: lower is more private", loc="left", fontsize=12)
        ax.legend(loc="upper right", frameon=False)
        tidy(ax)
        object.__setattr__(self, "ax", ax)  # where it was drawn; the data stay as they are
        return self


@dataclass(frozen=True, eq=False)
class RocDisplay:
    """The greatest true positive rate at every false positive rate, both on logarithmic axes; both directions count.

    On the diagonal an attacker does no better than one who guesses. For an estimate `lower` and `upper` are the trivial
    rates and are not drawn.
    """

    panels: ClassVar[int] = 1
    inches: ClassVar[tuple[float, float]] = (7.5, 7.5)

    fpr: Array
    value: Array
    lower: Array
    upper: Array
    certified: bool
    label: str
    mu_star: float
    gaussian: Array  # 1 - G_mu* on fpr
    ax: Any = field(default=None, init=False)

    @classmethod
    def from_account(cls, account: Account, *, points: int = 201, fpr: Array | None = None) -> Self:
        """Read the account at the given false positive rates, or from 1e-6 to 1."""
        grid = np.geomspace(_SMALLEST_RATE, 1.0, _count(points)) if fpr is None else validation.probabilities(fpr=fpr)
        found, mu_star = account.risk.tpr(grid), account.mu_star
        gaussian = 1 - GaussianTradeOff(mu_star)(grid) if np.isfinite(mu_star) else np.ones(grid.shape)
        return cls(
            fpr=grid,
            value=np.asarray(found.value),
            lower=np.asarray(found.lower),
            upper=np.asarray(found.upper),
            certified=account.certified,
            label=account.certificate.method,
            mu_star=mu_star,
            gaussian=np.asarray(gaussian),
        )

    def picture(self) -> Picture:
        """The same for a terminal."""
        kind, shown = ("guarantee", self.upper) if self.certified else ("estimate", self.value)
        return Picture(
            f"ROC curve of the best attacker by {self.label} ({kind}): lower is more private",
            "false positive rate",
            "true positive rate",
            (
                Line(f"best attacker, {kind}", self.fpr, shown),
                Line(f"G_mu*, mu* = {self.mu_star:.4g}", self.fpr, self.gaussian, "+"),
                Line("guessing: perfect privacy", self.fpr, self.fpr, "."),
            ),
            least=(_SMALLEST_RATE, _SMALLEST_RATE),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on new Axes; returns self, with the Axes as `ax`."""
        if ax is None:
            (ax,) = new_axes(1, self.inches)
        ax.set(xscale="log", yscale="log", xlim=(_SMALLEST_RATE, 1), ylim=(_SMALLEST_RATE, 1.3))
        ax.plot(self.fpr, self.fpr, color=GREY, linewidth=1, label="guessing: perfect privacy")
        ends = self.lower, self.value, self.upper
        curve(ax, self.fpr, ends, certified=self.certified, label=f"best attacker, {self.label}")
        gaussian = f"$G_{{\\mu^*}}$, $\\mu^*$ = {self.mu_star:.4g}"
        ax.plot(self.fpr, self.gaussian, color="black", linewidth=0.9, linestyle=_DASHES, label=gaussian)
        ax.set_box_aspect(1)
        ax.set_xlabel("false positive rate (accused wrongly)")
        ax.set_ylabel("true positive rate (accused rightly)")
        ax.set_title("ROC curve of the best attacker: lower is more private", loc="left", fontsize=12)
        ax.legend(loc="upper left", frameon=False)
        tidy(ax)
        object.__setattr__(self, "ax", ax)  # where it was drawn; the data stay as they are
        return self


def _count(points: int) -> int:
    if not validation.count(points=points) >= 3:
        raise InvalidArgument(f"points={points!r} is out of range; give an int >= 3")
    return points
