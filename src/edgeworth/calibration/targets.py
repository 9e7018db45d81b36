"""What a calibrated mechanism must reach: each target says by how much a reading misses it, on a logarithmic scale.

The scale is chosen so that the excess is nearly a straight line in the logarithm of the noise: separations of Gaussian
curves fall like 1/sigma, and so does epsilon.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfinv

from edgeworth.account import Account, account
from edgeworth.calibration.estimate import log_delta
from edgeworth.curves import Bracket
from edgeworth.losses import TotalLoss
from edgeworth.risk import Risk
from edgeworth.risk.covering import fit_within, upper_mu
from edgeworth.risk.supporting import separation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.mechanisms import Mechanism

    Array = NDArray[np.float64]

__all__ = ["AtMostAdvantage", "AtMostEpsilon", "AtMostMu", "AtMostPower", "Target", "log_ratio", "sharpest_near"]

# ruff: noqa: D102 - the methods are described by Target

_TINY = 1e-300
_SHARE = 1e-3  # of the distance from the target: what a bound may give away further off
_ULPS = 1e-15  # of a sum of products
_SHARP = 2e-7  # relative: what a bound may give away and still not move a parameter by 1e-6


class Target(ABC):
    """A bound on one kind of reading."""

    name: str

    @abstractmethod
    def reading(self, found: Account) -> Bracket:
        """What is reported as achieved."""

    @abstractmethod
    def met_by(self, achieved: Bracket) -> bool:
        """Whether the upper end of that reading keeps to the target."""

    @abstractmethod
    def excess(self, found: Account) -> float:
        """log(reading/target), by upper ends: at most 0 only where the target is certainly met."""

    def guess(self, mechanism: Mechanism) -> float:
        """The same from an estimate that takes a few milliseconds; nan where there is none."""
        return self._estimated(account(mechanism, method="clt"))

    def _estimated(self, estimate: Account) -> float:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AtMostEpsilon(Target):
    """(epsilon, delta)-DP, for one pair or several.

    delta at the given epsilon is compared: one reading instead of the search for epsilon at delta. With delta = 0,
    which has no logarithm, epsilon is.
    """

    epsilon: Array
    delta: Array
    name: str = field(default="epsilon", init=False)

    def reading(self, found: Account) -> Bracket:
        return _epsilon(found, self.delta)

    def met_by(self, achieved: Bracket) -> bool:
        return bool(np.all(achieved.upper_bound() <= self.epsilon))

    def excess(self, found: Account) -> float:
        epsilon, delta = self.epsilon.ravel(), self.delta.ravel()
        pure = delta == 0
        worst = -math.inf
        if pure.any():
            worst = log_ratio(np.asarray(_epsilon(found, delta[pure]).upper_bound()), epsilon[pure])
        if not pure.all():
            upper = np.asarray(found.delta(epsilon[~pure]).upper_bound())
            worst = max(worst, log_ratio(upper, delta[~pure]))
        return worst

    def guess(self, mechanism: Mechanism) -> float:
        total = TotalLoss.of(mechanism)
        farthest = max(total.support[1], -total.support[0])
        pairs = zip(self.epsilon.ravel(), self.delta.ravel(), strict=True)
        return max(
            log_delta(total, float(e)) - math.log(d) if d > 0 else log_ratio(np.asarray(farthest), np.asarray(e))
            for e, d in pairs
        )

    def __str__(self) -> str:
        pairs = zip(self.epsilon.ravel(), self.delta.ravel(), strict=True)
        return " and ".join(f"epsilon <= {e:g} at delta = {d:g}" for e, d in pairs)


@dataclass(frozen=True, eq=False)
class AtMostMu(Target):
    """mu-GDP over all tests whose two errors are at least `smallest_error`."""

    mu: float
    smallest_error: float
    name: str = field(default="mu", init=False)

    def reading(self, found: Account) -> Bracket:
        return fit_within(found, self.smallest_error, sharpest_near(self.mu)).mu

    def met_by(self, achieved: Bracket) -> bool:
        return bool(achieved.upper_bound() <= self.mu)

    def excess(self, found: Account) -> float:
        upper = upper_mu(found, smallest_error=self.smallest_error, tolerance=sharpest_near(self.mu)).bound
        return log_ratio(np.asarray(upper), np.asarray(self.mu))

    def _estimated(self, estimate: Account) -> float:
        return log_ratio(np.asarray(self.reading(estimate).value), np.asarray(self.mu))

    def __str__(self) -> str:
        return f"mu <= {self.mu:g} over tests with both errors >= {self.smallest_error:g}"


@dataclass(frozen=True, eq=False)
class AtMostPower(Target):
    """True positive rates at false positive rates, compared as the separations of Gaussian curves through them."""

    tpr: Array
    fpr: Array
    name: str = field(default="tpr", init=False)

    def reading(self, found: Account) -> Bracket:
        return Risk.of(found).tpr(self.fpr if self.fpr.ndim else float(self.fpr))

    def met_by(self, achieved: Bracket) -> bool:
        return bool(np.all(achieved.upper_bound() <= self.tpr))

    def excess(self, found: Account) -> float:
        return self._of(np.asarray(self.reading(found).upper_bound()))

    def _estimated(self, estimate: Account) -> float:
        return self._of(np.asarray(self.reading(estimate).value))

    def _of(self, power: Array) -> float:
        inner = (self.fpr > 0) & (self.fpr < 1)
        alpha = np.where(inner, self.fpr, 0.5)
        found, allowed = (
            separation(alpha, np.where(inner, rate, 0.5), 1 - np.where(inner, rate, 0.5), rounded=0.0)
            for rate in (power, self.tpr)
        )
        worst = np.where(inner, np.asarray(_log_ratios(found, allowed)), -math.inf)
        return float(np.max(np.where(power > self.tpr, np.where(inner, np.maximum(worst, _TINY), math.inf), worst)))

    def __str__(self) -> str:
        pairs = zip(self.tpr.ravel(), self.fpr.ravel(), strict=True)
        return " and ".join(f"TPR <= {t:g} at FPR = {f:g}" for t, f in pairs)


@dataclass(frozen=True, eq=False)
class AtMostAdvantage(Target):
    """The advantage of an attacker, delta(0); compared as mu* = 2 sqrt(2) erfinv(delta(0))."""

    advantage: float
    name: str = field(default="advantage", init=False)

    def reading(self, found: Account) -> Bracket:
        return found.delta(0.0)

    def met_by(self, achieved: Bracket) -> bool:
        return bool(achieved.upper_bound() <= self.advantage)

    def excess(self, found: Account) -> float:
        return self._of(float(self.reading(found).upper_bound()))

    def _estimated(self, estimate: Account) -> float:
        return self._of(float(self.reading(estimate).value))

    def _of(self, found: float) -> float:
        worst = log_ratio(erfinv(np.asarray(found)), erfinv(np.asarray(self.advantage)))
        return max(worst, _TINY) if found > self.advantage else min(worst, 0.0)

    def __str__(self) -> str:
        return f"advantage <= {self.advantage:g}"


def _epsilon(found: Account, delta: Array) -> Bracket:
    """epsilon(delta); at delta = 0 it is the largest loss there is, which needs no curve."""
    total = found.total
    disclosed = total.null_only > 0 or total.alternative_only > 0
    most = math.inf if disclosed else max(total.support[1], -total.support[0], 0.0)
    bracket, pure = found.epsilon(delta), delta == 0
    lower = np.where(pure, most * (1 - _ULPS), bracket.lower)
    upper = np.where(pure, most * (1 + _ULPS), np.maximum(np.minimum(bracket.upper, most * (1 + _ULPS)), lower))
    value = np.clip(np.where(pure, most, bracket.value), lower, upper)
    return Bracket(lower, upper, value, bracket.certificate)


def _log_ratios(found: Array, limit: Array) -> Array:
    """log(found/limit), with 0/0 = 1, and above 0 exactly where found is above the limit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(found) - np.log(limit)
    ratio = np.where((found <= 0) & (limit <= 0), 0.0, np.where(np.isinf(found) & np.isinf(limit), 0.0, ratio))
    return np.asarray(np.where(found > limit, np.maximum(ratio, _TINY), np.minimum(ratio, 0.0)))


def sharpest_near(limit: float) -> Callable[[float], float]:
    """How well a bound must be known: the better, the nearer it is to the limit."""

    def tolerance(bound: float) -> float:
        distance = abs(log_ratio(np.asarray(bound), np.asarray(limit)))
        return min(max(_SHARE * distance, _SHARP), _SHARE)

    return tolerance


def log_ratio(found: Array, limit: Array) -> float:
    """The largest log(found/limit), above 0 exactly where found is above the limit somewhere."""
    return float(np.max(_log_ratios(found, limit)))
