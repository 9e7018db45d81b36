"""The trade-off function of two Laplace laws of one scale."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from edgeworth import validation
from edgeworth.curves.bounded_profile import BoundedProfile
from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.tradeoff import TradeOff

__all__ = ["LaplaceProfile", "LaplaceTradeOff"]

_LEAST_NORMAL = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class LaplaceTradeOff(TradeOff):
    """T(Lap(0, 1), Lap(theta, 1)), theta = sensitivity/scale, smooth but for its second derivative.

    f(alpha) = 1 - e^theta alpha up to e^-theta/2, e^-theta/(4 alpha) up to 1/2, then e^-theta (1 - alpha).

    >>> LaplaceTradeOff(1.0).fixed_point == 0.5 * exp(-0.5)
    True
    """

    theta: float
    exact: Fraction | None = None
    """The quotient that theta was rounded from, where it was."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", validation.non_negative(theta=self.theta))

    def _steep(self, alpha: Array) -> Array:
        """e^theta alpha where the first piece holds, else inf."""
        raised = times_exp(alpha, self.theta)
        return np.where(raised < 0.5, raised, np.inf)

    def _evaluate(self, alpha: Array) -> Array:
        steep = self._steep(alpha)
        middle = times_exp(0.25 / np.maximum(alpha, _LEAST_NORMAL), -self.theta)
        right = exp(-self.theta) * (1 - alpha)
        return np.where(steep < 1, 1 - steep, np.where(alpha < 0.5, middle, right))

    def _power(self, alpha: Array) -> Array:
        steep = self._steep(alpha)
        return np.where(steep < 1, steep, 1 - self._evaluate(alpha))

    @property
    def is_symmetric(self) -> bool:
        """The two laws are mirror images."""
        return True

    @property
    def kinks(self) -> Array:
        """Where the pieces meet; the slope is continuous there, its derivative is not."""
        return np.unique([exp(-self.theta) / 2, 0.5])

    @property
    def fixed_point(self) -> float:
        """e^(-theta/2)/2."""
        return exp(-self.theta / 2) / 2

    @property
    def gamma(self) -> float:
        """e^-theta (2 + theta)/4."""
        return exp(-self.theta) * (2 + self.theta) / 4

    def profile(self) -> LaplaceProfile:
        """delta(eps) = 1 - e^((eps - theta)/2) within [-theta, theta]."""
        return LaplaceProfile(self.theta, self.exact)


@dataclass(frozen=True)
class LaplaceProfile(BoundedProfile):
    """delta(eps) = 1 - e^((eps - theta)/2) for |eps| <= theta, 0 above, 1 - e^eps below.

    Next to theta that is half of theta - eps, which asks for the quotient that theta was rounded from.
    """

    theta: float
    exact: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", validation.non_negative(theta=self.theta))

    @property
    def largest(self) -> Fraction:
        """Theta, or the quotient that it was rounded from."""
        return Fraction(self.theta) if self.exact is None else self.exact

    def _delta_below(self, gap: Array) -> Array:
        return -np.expm1(-gap / 2)

    def _delta(self, epsilon: Array) -> Array:
        exponent = np.where(epsilon < -self.theta, epsilon, -self._top.less(epsilon) / 2)
        return -np.expm1(np.minimum(exponent, 0.0))

    def _epsilon(self, delta: Array) -> Array:
        below_one = np.minimum(delta, 1 - 2**-53)
        return np.maximum(self.theta + 2 * np.log1p(-below_one), 0.0) * (delta < 1)

    def tradeoff(self) -> LaplaceTradeOff:
        """T(Lap(0, 1), Lap(theta, 1))."""
        return LaplaceTradeOff(self.theta, self.exact)
