"""T(P, Q) of two mixtures, (1-p) N(0, 1) + p N(-a, 1) and (1-p) N(0, 1) + p N(a, 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from edgeworth import validation
from edgeworth.curves import normal
from edgeworth.curves.patchwork import parameter_at
from edgeworth.curves.profile import Profile, SymmetricProfile
from edgeworth.curves.tradeoff import TradeOff
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["ReplacedGaussianProfile", "ReplacedGaussianTradeOff"]

_LOG_SQRT_TWO_PI = 0.5 * math.log(2 * math.pi)
_FARTHEST = 39.0  # standard deviations: beyond, no tail is a double
_FAR = 300.0  # the logarithm from which on sinh and asinh are their exponentials


@dataclass(frozen=True)
class ReplacedGaussianTradeOff(TradeOff):
    """The test that rejects for x > t has both errors in closed form; f is read at the t of its alpha.

    A record that is replaced moves the mean of the noise by mu = 2a, one that is left out by a; 0 < rate < 1.

    >>> round(ReplacedGaussianTradeOff(2.0, rate=0.1)(0.05), 12)
    0.922973121089
    """

    mu: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", validation.positive(mu=self.mu))
        object.__setattr__(self, "rate", _inner_rate(self.rate))

    def _tests(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """(alpha, beta, 1 - beta, 1 - alpha) of the test that rejects for x > t."""
        a, p = self.mu / 2, self.rate
        below, above = (1 - p) * ndtr(t), (1 - p) * ndtr(-t)
        return above + p * ndtr(-t - a), below + p * ndtr(t - a), above + p * ndtr(a - t), below + p * ndtr(t + a)

    def _threshold(self, alpha: Array) -> Array:
        end = np.full(alpha.size, _FARTHEST + self.mu / 2)
        return parameter_at(self._tests, alpha, -end, end)

    def _evaluate(self, alpha: Array) -> Array:
        inner = (alpha > 0) & (alpha < 1)
        beta = self._tests(self._threshold(np.where(inner, alpha, 0.5)))[1]
        return np.where(inner, beta, 1.0 - alpha)

    def _power(self, alpha: Array) -> Array:
        inner = (alpha > 0) & (alpha < 1)
        power = self._tests(self._threshold(np.where(inner, alpha, 0.5)))[2]
        return np.where(inner, power, alpha)

    @property
    def is_symmetric(self) -> bool:
        """The two laws are mirror images."""
        return True

    def profile(self) -> Profile:
        """A sum of two terms >= 0."""
        return ReplacedGaussianProfile(self.mu, self.rate)


@dataclass(frozen=True)
class ReplacedGaussianProfile(SymmetricProfile):
    """delta(eps) = p phi(t-a) [R(t-a) - R(t)] + e^eps p phi(t+a) [R(t) - R(t+a)], for eps >= 0.

    R is the Mills ratio and t where the densities have the ratio e^eps: there
    (1-p)(1 - e^eps) phi(t) + p phi(t-a) - e^eps p phi(t+a) = 0, which removes the middle one of the three tails.
    """

    mu: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", validation.positive(mu=self.mu))
        object.__setattr__(self, "rate", _inner_rate(self.rate))

    def _delta(self, epsilon: Array) -> Array:
        size = np.abs(epsilon)
        forward = np.exp(self._log_forward(size))
        negative = np.minimum(epsilon, 0.0)
        return np.where(epsilon >= 0, forward, -np.expm1(negative) + np.exp(negative) * forward)

    def _log_delta(self, epsilon: Array) -> Array:
        with np.errstate(divide="ignore"):
            direct = np.log(self._delta(epsilon))
        return np.where(epsilon >= 0, self._log_forward(np.abs(epsilon)), direct)

    def _log_forward(self, size: Array) -> Array:
        """At eps >= 0."""
        a = self.mu / 2
        turn = self._turn(size)
        t = (0.5 * size + turn) / a
        x = t - a
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            right = _log_density(x) + np.log(normal.mills_drop(np.clip(x, -1.0, 1e150), a))
            left = np.log(ndtr(-x) - np.exp(_log_density(x)) * normal.mills(np.maximum(t, 0.0)))
            # e^eps phi(t+a) = phi(t-a) e^(eps - 2at), and eps - 2at = -2 turn
            other = _log_density(x) - 2 * turn + np.log(normal.mills_drop(np.minimum(t, 1e150), a))
            whole = math.log(self.rate) + np.logaddexp(np.where(x < -1, left, right), other)
        return np.asarray(np.where(t < 1e150, whole, -np.inf))

    def _turn(self, epsilon: Array) -> Array:
        """asinh((1-p)/p e^(a^2/2) sinh(eps/2)), with which a t = eps/2 + turn."""
        half, square = 0.5 * epsilon, self.mu**2 / 8
        log_factor = math.log1p(-self.rate) - math.log(self.rate) + square
        with np.errstate(divide="ignore"):
            log_both = log_factor + half + np.log(-np.expm1(-epsilon)) - math.log(2)
        plain = (half < _FAR) & (log_factor < _FAR)
        factor = (1 - self.rate) / self.rate * math.exp(min(square, _FAR)) if log_factor < _FAR else 1.0
        near = np.arcsinh(factor * np.sinh(np.where(plain, half, 0.0)))
        far = np.where(log_both > _FAR, log_both + math.log(2), np.arcsinh(np.exp(np.minimum(log_both, _FAR))))
        return np.where(plain, near, far)

    def tradeoff(self) -> ReplacedGaussianTradeOff:
        """T(P, Q)."""
        return ReplacedGaussianTradeOff(self.mu, self.rate)


def _log_density(x: Array) -> Array:
    return np.asarray(-0.5 * x * x - _LOG_SQRT_TWO_PI)


def _inner_rate(rate: float) -> float:
    rate = validation.probability(rate=rate)
    if not 0 < rate < 1:
        raise InvalidArgument(f"rate={rate!r} is out of range; at rate 1 the curve is GaussianTradeOff, at 0 Identity")
    return rate
