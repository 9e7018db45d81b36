"""A whole curve to stay above."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.calibration.targets import CurveTarget, log_ratio, sharpest_near
from edgeworth.curves import Bracket, GaussianTradeOff, Identity, TradeOff
from edgeworth.risk.covering import exact_mu
from edgeworth.risk.supporting import first_lines, greatest, joined, separation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]

__all__ = ["Above"]

# ruff: noqa: D102 - the methods are described by Target

_FORMULA = 1e-12  # relative: the rounding of the closed forms of G_mu
_MARGIN = 1e-9  # of the largest slope: a little further is on the safe side


@dataclass(frozen=True, eq=False)
class Above(CurveTarget):
    """f >= g everywhere; over tests with both errors at least `smallest_error` where g(0) = 1.

    What is measured is the separation of f over that of g, at most 1 where f >= g. g(0) = 1 says something about tests
    that never accuse wrongly, which no finite number of readings can decide: hence the range.
    """

    curve: TradeOff
    smallest_error: float
    name: str = field(default="tradeoff", init=False)

    @property
    def leak(self) -> float:
        """1 - g(0): what g lets through for certain."""
        return float(self.curve.power(0.0))

    @property
    def is_perfect(self) -> bool:
        return isinstance(self.curve, Identity)

    def reading(self, found: Account) -> Bracket:
        used = self._used(found)
        met = used <= 1
        return Bracket(0.0, 1.0 if met else math.inf, min(used, 1.0) if met else used, found.certificate)

    def met_by(self, achieved: Bracket) -> bool:
        return bool(achieved.upper_bound() <= 1.0)

    def excess(self, found: Account) -> float:
        return log_ratio(np.asarray(self._used(found)), np.asarray(1.0))

    def _used(self, found: Account) -> float:
        mu = exact_mu(found)
        if mu is not None and isinstance(self.curve, GaussianTradeOff) and self.curve.mu > 0:
            return mu / self.curve.mu * (1 + _FORMULA)
        half = (1 - float(found.delta(0.0).upper_bound())) / 2
        start = 0.0 if self.leak > 0 else min(self.smallest_error, half)
        if not (start > 0 or self.leak > 0) or not half > 0:
            return math.inf
        top = (
            float(found.epsilon(self.leak).upper_bound()) * (1 + _MARGIN) + _MARGIN
            if self.leak > 0
            else -math.log(start)
        )
        if top == math.inf:
            return math.inf
        lines = first_lines(found, start=start, top=top)
        slopes = self._slopes()
        lines = joined(lines, found, slopes[(slopes >= 0) & (slopes <= top)])
        return greatest(found, self._share, lines, start=start, tolerance=sharpest_near(1.0)).bound

    def _slopes(self) -> Array:
        """The slopes between the kinks of g and of its inverse: where g is made of lines, these decide."""
        slopes = []
        for curve in (self.curve, self.curve.inverse()):
            alpha = np.concatenate([[0.0], curve.kinks, [1.0]])
            fall = -np.diff(curve(alpha)) / np.diff(alpha)
            slopes.append(np.log(fall[fall > 0]))
        return np.concatenate(slopes)

    def _share(self, alpha: Array, power: Array, beta: Array) -> Array:
        """The separation of a vertex over the separation that g and its inverse allow there."""
        allowed = np.minimum(self.curve.power(alpha), self.curve.inverse().power(alpha))
        missed = np.maximum(self.curve(alpha), self.curve.inverse()(alpha))
        found, limit = separation(alpha, power, beta), separation(alpha, allowed, missed, rounded=-1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(found > 0, found / limit, 0.0)
        share = np.where(np.isinf(limit) & (alpha > 0), 0.0, share)
        return np.where(alpha > 0, share, np.where(power <= allowed, 0.0, math.inf))

    def _estimated(self, estimate: Account) -> float:
        f = estimate.curve.symmetrise()
        alpha = np.geomspace(max(self.smallest_error, 1e-12), 0.5, 200)
        return log_ratio(self._share(alpha, f.power(alpha), f(alpha)), np.asarray(1.0))

    def __str__(self) -> str:
        where = "" if self.leak > 0 else f" over tests with both errors >= {self.smallest_error:g}"
        return f"f >= {self.curve!r}{where}"
