"""G_mu, the trade-off function of two normal laws at distance mu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves import normal
from edgeworth.curves.profile import Profile, SymmetricProfile
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array

__all__ = ["GaussianProfile", "GaussianTradeOff"]

_MOST_STEPS, _NEAR = 12, 1e-6  # of Newton's method, each of which squares the error, and where it ends
_NEAR_FACTOR = 1e-9  # its log2: how far from there an epsilon is looked for first
_DEEPEST, _LEFTMOST = 1e4, 30.0  # a -log delta and a -x beyond which it is of no use
_LOG_SQRT_TWO_PI = float(np.log(2 * np.pi) / 2)


@dataclass(frozen=True)
class GaussianTradeOff(TradeOff):
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) = T(N(0, 1), N(mu, 1)); mu = 0 is Id.

    f and power to 1e-13 relative wherever they are above 1e-300.

    >>> round(GaussianTradeOff(1.0)(0.05), 12)
    0.740488977159
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", validation.non_negative(mu=self.mu))

    def _evaluate(self, alpha: Array) -> Array:
        inner = (alpha > 0) & (alpha < 1)
        z, z_low = normal.upper_quantile(np.where(inner, alpha, 0.5))
        y, y_low = normal.two_sum(self.mu, -z)
        return np.where(inner, normal.tail(y, y_low - z_low), 1.0 - alpha)

    def _power(self, alpha: Array) -> Array:
        inner = (alpha > 0) & (alpha < 1)
        z, z_low = normal.upper_quantile(np.where(inner, alpha, 0.5))
        y, y_low = normal.two_sum(z, -self.mu)
        return np.where(inner, normal.tail(y, y_low + z_low), alpha)

    @property
    def is_symmetric(self) -> bool:
        """G_mu = G_mu^-1."""
        return True

    @property
    def fixed_point(self) -> float:
        """Phi(-mu/2)."""
        return float(normal.tail(np.asarray(self.mu / 2)))

    @property
    def mu_star(self) -> float:
        """The parameter mu itself."""
        return self.mu

    @property
    def gamma(self) -> float:
        """Phi(-mu/sqrt 2): the chance that N(mu, 1) falls below an independent N(0, 1)."""
        return float(normal.tail(np.asarray(self.mu / np.sqrt(2))))

    def profile(self) -> Profile:
        """The closed form of Balle and Wang, in terms of Mills ratios."""
        return GaussianProfile(self.mu)


@dataclass(frozen=True)
class GaussianProfile(SymmetricProfile):
    """delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2) = phi(x) [R(x) - R(x + mu)].

    Here x = eps/mu - mu/2 and R is the Mills ratio. To 1e-13 relative for every real eps; the logarithm also
    where delta underflows.
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", validation.non_negative(mu=self.mu))

    def _delta(self, epsilon: Array) -> Array:
        size = np.abs(epsilon)
        x, x_low = self._threshold(size)
        with np.errstate(over="ignore", invalid="ignore"):
            # phi(x + x_low) = phi(x) e^(-x x_low); phi is 0 where x is out of range
            nudge = np.clip(-np.minimum(x, 1e3) * x_low, -1.0, 1.0)
            right = normal.density(x) * np.exp(nudge) * self._drop(x)
        left = normal.tail(x, x_low) - normal.density(x) * normal.mills(np.maximum(x + self.mu, 0.0))
        forward = np.where(x < -1, left, right)
        return np.where(epsilon >= 0, forward, _mirrored(epsilon, forward))

    def _log_delta(self, epsilon: Array) -> Array:
        x, x_low = self._threshold(np.abs(epsilon))
        near = (x < 8) | (epsilon < 0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            direct = np.log(self._delta(epsilon))
            if near.all():
                return direct
            right = -x * x / 2 - x * x_low - _LOG_SQRT_TWO_PI + np.log(self._drop(x))
            return np.where(near, direct, np.where(x < 1e150, right, -np.inf))

    def _near_root(self, log_delta: Array) -> tuple[Array, Array]:
        """Newton's method in x on -x^2/2 + log(R(x) - R(x + mu)), which is concave: from the right it cannot miss.

        Its slope is -mu R(x + mu)/(R(x) - R(x + mu)). What has no digits left here is looked for as elsewhere.
        """
        x, moving = np.sqrt(-2 * np.maximum(log_delta, -_DEEPEST)), np.ones(log_delta.size, dtype=bool)
        with np.errstate(all="ignore"):
            for _ in range(_MOST_STEPS):
                after = normal.mills(x + self.mu)
                drop = normal.mills(x) - after
                step = (np.log(drop) - _LOG_SQRT_TWO_PI - x * x / 2 - log_delta) * drop / (self.mu * after)
                x = np.where(moving, np.maximum(x + step, -_LEFTMOST), x)
                moving &= ~(np.abs(step) < _NEAR)  # what has arrived stays: its company must not move its last bit
                if not moving.any():
                    break
            near = self.mu * (x + self.mu / 2)
        known, (start, log_factor) = np.isfinite(near) & (near > 0), super()._near_root(log_delta)
        return np.where(known, near, start), np.where(known, _NEAR_FACTOR, log_factor)

    def _threshold(self, size: Array) -> tuple[Array, Array]:
        """The sum x = size/mu - mu/2, unevaluated; +inf for mu = 0 (unless size = 0) and for overflow."""
        if self.mu == 0:
            return np.full(size.shape, np.inf), np.zeros(size.shape)
        q, q_low = normal.quotient(size, self.mu)
        finite = np.isfinite(q)
        x, x_low = normal.two_sum(np.where(finite, q, 0.0), -self.mu / 2)
        return np.where(finite, x, np.inf), np.where(finite, x_low + q_low, 0.0)

    def _drop(self, x: Array) -> Array:
        """R(x) - R(x + mu); x is capped where it no longer matters (phi is 0, or the logarithm is -inf)."""
        return normal.mills_drop(np.clip(x, -1.0, 1e150), self.mu)

    def tradeoff(self) -> GaussianTradeOff:
        """G_mu."""
        return GaussianTradeOff(self.mu)


def _mirrored(epsilon: Array, opposite: Array) -> Array:
    """delta(eps) = 1 - e^eps (1 - delta(-eps)) for eps < 0, a sum of two terms >= 0."""
    negative = np.minimum(epsilon, 0.0)
    return -np.expm1(negative) + np.exp(negative) * opposite
