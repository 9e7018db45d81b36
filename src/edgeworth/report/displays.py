"""Pictures of one account: its trade-off function, its privacy profile, and the ROC curve of the best attacker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from edgeworth import validation
from edgeworth.curves import GaussianTradeOff
from edgeworth.report.one_account import AccountDisplay, Scale, gaussian_tradeoff

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeworth.account import Account
    from edgeworth.curves import Bracket

    Array = NDArray[np.float64]

__all__ = ["ProfileDisplay", "RocDisplay", "TradeoffDisplay"]

_SMALLEST_DELTA = 1e-10
_SMALLEST_RATE = 1e-6
_MOST_EPSILON = 5e4  # a wider picture would say nothing
_WIDEST_EPSILON = 50.0  # drawn where no epsilon has so small a delta


class TradeoffDisplay(AccountDisplay):
    """f of one account over alpha: an attacker's least miss rate at every false-alarm rate.

    >>> import edgeworth as ew
    >>> shown = TradeoffDisplay.from_account(ew.account(ew.Gaussian(noise_multiplier=1.0)), grid=[0.0, 0.5, 1.0])
    >>> shown.alpha.tolist(), shown.perfect.tolist(), shown.certified
    ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0], True)
    """

    argument = "alpha"
    title = "Trade-off function: higher is more private"
    subject = "$f$", "f"
    promised = "lower"
    across = Scale("type I error $\\alpha$ (false alarm)", "type I error alpha (false alarm)")
    up = Scale("type II error (missed)", "type II error (missed)")

    @property
    def alpha(self) -> Array:
        """The false-alarm rates."""
        return self.grid

    @classmethod
    def _grid(cls, account: Account, points: int) -> Array:  # noqa: ARG003 - the same for all
        """Evenly spaced normal quantiles, from 1e-9 to 1 - 1e-9, with 0 and 1."""
        return np.concatenate([[0.0], ndtr(np.linspace(-6.0, 6.0, points - 2)), [1.0]])

    @staticmethod
    def _read(account: Account, grid: Array) -> Bracket:
        return account.tradeoff(grid)

    @staticmethod
    def _read_gaussian(mu: float, grid: Array) -> Array:
        return gaussian_tradeoff(mu, grid)

    def _prepare(self, ax: Any) -> None:
        super()._prepare(ax)
        ax.set(aspect="equal")


class ProfileDisplay(AccountDisplay):
    """The least delta of one account over epsilon, delta on a logarithmic axis."""

    argument = "epsilon"
    title = "Privacy profile: lower is more private"
    subject = "$\\delta(\\varepsilon)$", "delta(epsilon)"
    across = Scale("$\\varepsilon$", "epsilon")
    up = Scale("$\\delta$", "delta", _SMALLEST_DELTA)
    inches = (8.0, 6.5)

    @property
    def epsilon(self) -> Array:
        """The epsilons."""
        return self.grid

    @classmethod
    def _grid(cls, account: Account, points: int) -> Array:
        """From 0 to where delta is 1e-10."""
        reached = float(account.epsilon(_SMALLEST_DELTA).value)
        if reached == 0:
            reached = 1.0
        return np.linspace(0.0, reached if reached < _MOST_EPSILON else _WIDEST_EPSILON, points)

    @classmethod
    def _checked(cls, grid: ArrayLike) -> Array:
        return validation.reals(epsilon=grid)

    @staticmethod
    def _read(account: Account, grid: Array) -> Bracket:
        return account.delta(grid)

    @staticmethod
    def _read_gaussian(mu: float, grid: Array) -> Array:
        return np.asarray(GaussianTradeOff(mu).profile()(grid)) if np.isfinite(mu) else np.ones(grid.shape)


class RocDisplay(AccountDisplay):
    """The best attacker's true positive rate over the false positive rate, both on logarithmic axes.

    Both directions count. On the diagonal an attacker does no better than one who guesses.
    """

    argument = "fpr"
    title = "ROC curve of the best attacker: lower is more private"
    subject = "best attacker", "best attacker"
    across = Scale("false positive rate (accused wrongly)", "false positive rate", _SMALLEST_RATE)
    up = Scale("true positive rate (accused rightly)", "true positive rate", _SMALLEST_RATE)
    legend_at = "upper left"

    @property
    def fpr(self) -> Array:
        """The false positive rates."""
        return self.grid

    @classmethod
    def _grid(cls, account: Account, points: int) -> Array:  # noqa: ARG003 - the same for all
        return np.geomspace(_SMALLEST_RATE, 1.0, points)

    @staticmethod
    def _read(account: Account, grid: Array) -> Bracket:
        return account.risk.tpr(grid)

    @staticmethod
    def _read_gaussian(mu: float, grid: Array) -> Array:
        return 1 - gaussian_tradeoff(mu, grid)

    def _prepare(self, ax: Any) -> None:
        super()._prepare(ax)
        ax.set_box_aspect(1)
