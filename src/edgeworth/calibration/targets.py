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
from edgeworth.losses import SampledLoss, TotalLoss
from edgeworth.risk import Risk
from edgeworth.risk.covering import fit_within, upper_mu
from edgeworth.risk.supporting import separation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.mechanisms import Mechanism

    Array = NDArray[np.float64]

__all__ = [
    "AtMostAdvantage",
    "AtMostEpsilon",
    "AtMostMu",
    "AtMostPower",
    "CurveTarget",
    "Target",
    "log_ratio",
    "share_sampled",
    "sharpest_near",
]

# ruff: noqa: D102 - the methods are described by Target

_TINY = 1e-300
_SHARE = 1e-3  # of the distance from the target: what a bound may give away further off
_ULPS = 1e-15  # of a sum of products
_SHARE_ULPS = 1e-14  # of a sum of logarithms, and of its exponential
_SHARP = 1e-7  # relative: what a bound may give away and still not move a parameter by 1e-6


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

    @abstractmethod
    def guess(self, mechanism: Mechanism) -> float:
        """The same from an estimate that takes a few milliseconds; nan where there is none."""

    @property
    @abstractmethod
    def is_perfect(self) -> bool:
        """Whether only what leaks nothing at all meets the target."""

    def at_once(self, total: TotalLoss) -> float | None:  # noqa: ARG002 - most targets need the curve
        """The excess where the law of the loss says it without a curve; None elsewhere."""
        return None


class CurveTarget(Target):
    """A target that is guessed from the curve of the central limit theorem."""

    def guess(self, mechanism: Mechanism) -> float:
        return self._estimated(account(mechanism, method="clt"))

    @abstractmethod
    def _estimated(self, estimate: Account) -> float:
        """The excess of the values of an estimate."""


class ReadTarget(CurveTarget):
    """A target whose excess is that of its reading: of the upper end for a guarantee, of the value for a guess."""

    def excess(self, found: Account) -> float:
        return self._excess_of(np.asarray(self.reading(found).upper_bound()))

    def _estimated(self, estimate: Account) -> float:
        return self._excess_of(np.asarray(self.reading(estimate).value))

    @abstractmethod
    def _excess_of(self, reading: Array) -> float:
        """log(reading/target), above 0 exactly where the target is missed."""


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
            worst = log_ratio(np.asarray(_largest_loss(found.total) * (1 + _ULPS)), epsilon[pure])
        if not pure.all():
            upper = np.asarray(found.delta(epsilon[~pure]).upper_bound())
            worst = max(worst, log_ratio(upper, delta[~pure]))
        return worst

    def at_once(self, total: TotalLoss) -> float | None:
        """A loss beyond epsilon misses delta = 0; what is hardly ever sampled meets every larger delta."""
        epsilon, delta = self.epsilon.ravel(), self.delta.ravel()
        pure = delta == 0
        largest = np.asarray(_largest_loss(total) * (1 + _ULPS))
        worst = log_ratio(largest, epsilon[pure]) if pure.any() else -math.inf
        if worst > 0 or pure.all():
            return worst
        sampled = log_ratio(np.asarray(share_sampled(total)), delta[~pure])
        return max(worst, sampled) if sampled <= 0 else None

    @property
    def is_perfect(self) -> bool:
        return bool(np.any((self.epsilon == 0) & (self.delta == 0)))

    def guess(self, mechanism: Mechanism) -> float:
        total = TotalLoss.of(mechanism)
        farthest = _largest_loss(total)
        pairs = zip(self.epsilon.ravel(), self.delta.ravel(), strict=True)
        return max(
            log_delta(total, float(e)) - math.log(d) if d > 0 else log_ratio(np.asarray(farthest), np.asarray(e))
            for e, d in pairs
        )

    def __str__(self) -> str:
        return _listed("epsilon <= {:g} at delta = {:g}", self.epsilon, self.delta)


@dataclass(frozen=True, eq=False)
class AtMostMu(ReadTarget):
    """mu-GDP over all tests whose two errors are at least `smallest_error`."""

    mu: float
    smallest_error: float
    name: str = field(default="mu", init=False)

    def reading(self, found: Account) -> Bracket:
        return fit_within(found, self.smallest_error, sharpest_near(self.mu)).mu

    def met_by(self, achieved: Bracket) -> bool:
        return bool(achieved.upper_bound() <= self.mu)

    @property
    def is_perfect(self) -> bool:
        return self.mu == 0

    def excess(self, found: Account) -> float:
        upper = upper_mu(found, smallest_error=self.smallest_error, tolerance=sharpest_near(self.mu)).bound
        return self._excess_of(np.asarray(upper))

    def _excess_of(self, reading: Array) -> float:
        return log_ratio(reading, np.asarray(self.mu))

    def __str__(self) -> str:
        return f"mu <= {self.mu:g} over tests with both errors >= {self.smallest_error:g}"


@dataclass(frozen=True, eq=False)
class AtMostPower(ReadTarget):
    """True positive rates at false positive rates, compared as the separations of Gaussian curves through them."""

    tpr: Array
    fpr: Array
    name: str = field(default="tpr", init=False)

    def reading(self, found: Account) -> Bracket:
        return Risk.of(found).tpr(self.fpr if self.fpr.ndim else float(self.fpr))

    def met_by(self, achieved: Bracket) -> bool:
        return bool(np.all(achieved.upper_bound() <= self.tpr))

    def at_once(self, total: TotalLoss) -> float | None:
        """TPR <= FPR and the share of runs in which the record is sampled at all."""
        rest = self.tpr - self.fpr
        return -1.0 if np.all(share_sampled(total) <= rest - _ULPS) else None

    @property
    def is_perfect(self) -> bool:
        """A true positive rate is never below the false positive rate."""
        return bool(np.any((self.tpr <= self.fpr) & (self.fpr > 0) & (self.tpr < 1)))

    def _excess_of(self, reading: Array) -> float:
        inner = (self.fpr > 0) & (self.fpr < 1)
        alpha = np.where(inner, self.fpr, 0.5)
        found, allowed = (
            separation(alpha, np.where(inner, rate, 0.5), 1 - np.where(inner, rate, 0.5), rounded=0.0)
            for rate in (reading, self.tpr)
        )
        worst = np.where(inner, np.asarray(_log_ratios(found, allowed)), -math.inf)
        return float(np.max(np.where(reading > self.tpr, np.where(inner, np.maximum(worst, _TINY), math.inf), worst)))

    def __str__(self) -> str:
        return _listed("TPR <= {:g} at FPR = {:g}", self.tpr, self.fpr)


@dataclass(frozen=True, eq=False)
class AtMostAdvantage(ReadTarget):
    """The advantage of an attacker, delta(0); compared as mu* = 2 sqrt(2) erfinv(delta(0))."""

    advantage: float
    name: str = field(default="advantage", init=False)

    def reading(self, found: Account) -> Bracket:
        return found.delta(0.0)

    def met_by(self, achieved: Bracket) -> bool:
        return bool(achieved.upper_bound() <= self.advantage)

    def at_once(self, total: TotalLoss) -> float | None:
        """The advantage is at most the share of runs in which the record is sampled at all."""
        return -1.0 if share_sampled(total) <= self.advantage else None

    @property
    def is_perfect(self) -> bool:
        return self.advantage == 0

    def _excess_of(self, reading: Array) -> float:
        worst = log_ratio(erfinv(reading), erfinv(np.asarray(self.advantage)))
        return max(worst, _TINY) if reading > self.advantage else min(worst, 0.0)

    def __str__(self) -> str:
        return f"advantage <= {self.advantage:g}"


def _listed(phrase: str, limits: Array, places: Array) -> str:
    """Every limit with the place at which it holds."""
    return " and ".join(phrase.format(*pair) for pair in zip(limits.ravel(), places.ravel(), strict=True))


def _epsilon(found: Account, delta: Array) -> Bracket:
    """epsilon(delta); at delta = 0 it is the largest loss there is, which needs no curve."""
    most = _largest_loss(found.total)
    bracket, pure = found.epsilon(delta), delta == 0
    lower = np.where(pure, most * (1 - _ULPS), bracket.lower)
    upper = np.where(pure, most * (1 + _ULPS), np.maximum(np.minimum(bracket.upper, most * (1 + _ULPS)), lower))
    value = np.clip(np.where(pure, most, bracket.value), lower, upper)
    return Bracket(lower, upper, value, bracket.certificate)


def _largest_loss(total: TotalLoss) -> float:
    """The epsilon of pure privacy: the largest loss in either direction, inf where something may be disclosed."""
    disclosed = total.null_only > 0 or total.alternative_only > 0
    return math.inf if disclosed else max(total.support[1], -total.support[0], 0.0)


def share_sampled(total: TotalLoss) -> float:
    """Returns at least the probability that the record is sampled in some step, a bound of delta at every eps >= 0.

    Without it, P and Q are one law: Q = (1 - share) P + share Q', so Q[E] - e^eps P[E] <= share.
    """
    if not all(isinstance(loss, SampledLoss) for loss, _ in total.parts):
        return 1.0
    missed = math.fsum(n * math.log1p(-loss.rate) for loss, n in total.parts if isinstance(loss, SampledLoss))
    return -math.expm1(missed) * (1 + _SHARE_ULPS)


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
