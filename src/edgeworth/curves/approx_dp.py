"""f_(epsilon, delta): the trade-off function of approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp

import numpy as np

from edgeworth import validation
from edgeworth.curves.bounded_profile import BoundedProfile
from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.tradeoff import TradeOff

__all__ = ["ApproxDPProfile", "ApproxDPTradeOff"]

_CANCELS = 1e-3  # a difference of numbers near 1 that has lost three digits
_DIGITS = 60
_MOST_EPSILON = 2000.0  # e^-2000 is 0 as a double


@dataclass(frozen=True)
class ApproxDPTradeOff(TradeOff):
    """f(alpha) = max{0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)}.

    >>> ApproxDPTradeOff(epsilon=0.0, delta=0.25)(0.5)
    0.25
    """

    epsilon: float
    delta: float = 0.0
    exact: Fraction | None = None
    """The quotient that epsilon was rounded from, where it was."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.non_negative(epsilon=self.epsilon))
        object.__setattr__(self, "delta", validation.probability(delta=self.delta))

    def _evaluate(self, alpha: Array) -> Array:
        steep = (1 - self.delta) - times_exp(alpha, self.epsilon)
        rest = (1 - alpha) - self.delta
        value = np.clip(np.maximum(steep, exp(-self.epsilon) * rest), 0.0, 1.0)
        # Near the end of either line its two terms cancel: there decimals keep the digits.
        (cancelling,) = np.nonzero((np.abs(steep) < _CANCELS) | (np.abs(rest) < _CANCELS))
        for place in cancelling.tolist():
            value[place] = self._to_all_digits(float(alpha[place]))
        return value

    def _to_all_digits(self, alpha: float) -> float:
        with localcontext() as context:
            context.prec = _DIGITS
            growth, rest = Decimal(min(self.epsilon, _MOST_EPSILON)).exp(), 1 - Decimal(self.delta)
            lines = rest - growth * Decimal(alpha), (rest - Decimal(alpha)) / growth
            return float(max(*lines, Decimal(0)))

    def _power(self, alpha: Array) -> Array:
        steep = self.delta + times_exp(alpha, self.epsilon)
        flat = exp(-self.epsilon) * (alpha + self.delta) - np.expm1(-self.epsilon)
        return np.asarray(np.clip(np.minimum(steep, flat), 0.0, 1.0))

    @property
    def is_symmetric(self) -> bool:
        """True: the two lines are mirror images."""
        return True

    @property
    def kinks(self) -> Array:
        """The fixed point, and 1 - delta where f reaches 0."""
        places = np.unique([self.fixed_point, 1 - self.delta])
        return places[(places > 0) & (places < 1)]

    @property
    def fixed_point(self) -> float:
        """(1 - delta)/(1 + e^epsilon)."""
        return (1 - self.delta) * exp(-self.epsilon) / (1 + exp(-self.epsilon))

    @property
    def gamma(self) -> float:
        """(1 - delta) a*, a* the fixed point: two triangles and a square."""
        return (1 - self.delta) * self.fixed_point

    def profile(self) -> ApproxDPProfile:
        """The mixture delta + (1 - delta) times the profile of randomised response."""
        return ApproxDPProfile(self.epsilon, self.delta, self.exact)


@dataclass(frozen=True)
class ApproxDPProfile(BoundedProfile):
    """The profile t -> delta + (1 - delta) r(t) of f_(epsilon, delta).

    r(t) = (e^epsilon - e^t)/(1 + e^epsilon) within |t| <= epsilon, else max(0, 1 - e^t).
    """

    guaranteed_epsilon: float
    guaranteed_delta: float = 0.0
    exact: Fraction | None = None

    def __post_init__(self) -> None:
        checked = validation.non_negative(guaranteed_epsilon=self.guaranteed_epsilon)
        object.__setattr__(self, "guaranteed_epsilon", checked)
        checked = validation.probability(guaranteed_delta=self.guaranteed_delta)
        object.__setattr__(self, "guaranteed_delta", checked)

    @property
    def alternative_only(self) -> float:
        """The delta of the guarantee."""
        return self.guaranteed_delta

    @property
    def largest(self) -> Fraction:
        """The epsilon of the guarantee, or the quotient that it was rounded from."""
        return Fraction(self.guaranteed_epsilon) if self.exact is None else self.exact

    def _delta_below(self, gap: Array) -> Array:
        response = -np.expm1(-gap) / (1 + exp(-self.guaranteed_epsilon))
        return self.guaranteed_delta + (1 - self.guaranteed_delta) * response

    def _delta(self, epsilon: Array) -> Array:
        top = self.guaranteed_epsilon
        inside = -np.expm1(np.minimum(-self._top.less(epsilon), 0.0)) / (1 + exp(-top))
        response = np.where(epsilon < -top, -np.expm1(np.minimum(epsilon, 0.0)), inside)
        return self.guaranteed_delta + (1 - self.guaranteed_delta) * response

    def _epsilon(self, delta: Array) -> Array:
        top, free = self.guaranteed_epsilon, self.guaranteed_delta
        spare = np.clip((delta - free) / (1 - free), 0.0, 1.0) if free < 1 else np.zeros(delta.shape)
        gone = spare * (1 + exp(-top))  # of the 1 that delta starts from below -top: T - eps is -log(1 - gone)
        inside = np.where(gone < 1, top + np.log1p(-np.minimum(gone, 1 - 2**-53)), 0.0)
        return np.where(delta < free, np.inf, np.maximum(inside, 0.0) * (delta < 1))

    def tradeoff(self) -> ApproxDPTradeOff:
        """f_(epsilon, delta)."""
        return ApproxDPTradeOff(self.guaranteed_epsilon, self.guaranteed_delta, self.exact)
