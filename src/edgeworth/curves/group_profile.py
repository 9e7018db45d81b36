"""The profile of a group, bounded from either side.

*From above.* Each supporting line 1 - f(x) <= delta(t) + e^t x of the base may be used in each step, so for any
t_1 + … + t_k = eps

    delta^(k)(eps) <= delta(t_k) + e^t_k (delta(t_(k-1)) + e^t_(k-1) ( … + e^t_2 delta(t_1)))

with equality where t_j is the slope of step j on the way from the best alpha. *From below.* delta^(k)(eps) is at least
1 - f^(k)(alpha) - e^eps alpha for any alpha. Both bounds are flat at their best, so slopes and alphas that are right to
1e-4 give 1e-8; they come from a guide, which never enters the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.curves.elementwise import times_exp
from edgeworth.curves.group import Grouped
from edgeworth.curves.group_guide import Guide
from edgeworth.curves.profile import Profile

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["GroupProfile"]

_NEAR = (1e-5, 1e-3, 0.05)  # of the guide's eps: how far from it the root may be
_FAR = (0.95, 0.8, 0.5, 0.2, 0.1, 0.05, 0.025)
_CLOSE = 1e-10  # relative: what is left of eps on the side that is returned
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class GroupProfile(Grouped, Profile):
    """delta^(k), never too small for the lower end of f and never too large for the upper one."""

    @cached_property
    def _profile(self) -> Profile:
        return self.base.profile()

    @cached_property
    def _guide(self) -> Guide:
        return self.near or Guide(self.base, self.size)

    def _delta(self, epsilon: Array) -> Array:
        least = -np.expm1(np.minimum(epsilon, 0.0))
        return np.maximum(self._by_lines(epsilon) if self.end == "lower" else self._by_a_test(epsilon), least)

    def _by_lines(self, epsilon: Array) -> Array:
        slopes = self._guide.slopes_at(epsilon)
        bound = np.zeros(epsilon.size)
        for slope in slopes:
            line = self._profile._bounded_delta(slope)  # noqa: SLF001 - flat arrays
            bound = (line + times_exp(bound, slope)) * (1 + self.slack + 1e-15)
        return np.minimum(bound, 1.0)

    def _by_a_test(self, epsilon: Array) -> Array:
        alpha = self._guide.alpha_at(epsilon)
        power = self._chain._power(alpha)  # noqa: SLF001
        gain = power - times_exp(alpha, epsilon) * (1 + 1e-15)
        one = self._profile._bounded_delta(epsilon) * (1 - self.slack)  # noqa: SLF001 - a group leaks no less
        return np.maximum(np.maximum(gain, one), self.alternative_only)

    def _epsilon(self, delta: Array) -> Array:
        """From the guide's eps a few steps lead to the root; where they do not, any bound has to do."""
        targets = delta.tolist()
        guesses = [self._guide.epsilon_at(target) for target in targets]
        found = np.array([self._root_near(guess, target) for guess, target in zip(guesses, targets, strict=True)])
        (lost,) = np.nonzero(np.isnan(found))
        if lost.size and self.end == "lower":
            found[lost] = super()._epsilon(delta[lost])
        elif lost.size:
            found[lost] = self._profile._epsilon(delta[lost] / (1 - self.slack))  # noqa: SLF001 - a group leaks no less
            for which in lost.tolist():
                found[which] = max(found[which], self._surely_below(guesses[which], targets[which]))
        return found

    def _surely_below(self, guess: float, target: float) -> float:
        """An eps with delta(eps) > target, where f is not known well enough to find the root; 0 if none is near."""
        tried = (guess * share for share in _FAR)
        return next((place for place in tried if self._log_excess(place, target) > 0), 0.0)

    def _root_near(self, guess: float, target: float) -> float:
        """An eps with delta(eps) <= target for the lower end of f, with delta(eps) > target for the upper one.

        Either is within a hair of the root, on the side on which it is a bound; nan if the root is not near the guess.
        """
        if not 0 < target < 1 or not guess > 0:
            return float("nan")
        for share in _NEAR:
            low, high = guess * (1 - share), guess * (1 + share)
            above, below = (self._log_excess(place, target) for place in (low, high))
            if above > 0 >= below:
                break
        else:
            return float("nan")
        for step in range(_MOST_STEPS):
            if high - low <= _CLOSE * high:
                break
            place = low + (high - low) * above / (above - below)  # log delta is nearly straight
            hair = _CLOSE * high / 3
            place = min(max(place + (hair if step % 2 else -hair), low + hair), high - hair)
            place = place if step < 8 else (low + high) / 2
            value = self._log_excess(place, target)
            low, above, high, below = (place, value, high, below) if value > 0 else (low, above, place, value)
        return high if self.end == "lower" else low

    def _log_excess(self, epsilon: float, target: float) -> float:
        """log(delta/target), above 0 exactly where delta is above the target."""
        found = float(self._bounded_delta(np.array([epsilon]))[0])
        ratio = float(np.log(max(found, 5e-324)) - np.log(target))
        return max(ratio, 5e-324) if found > target else min(ratio, 0.0)

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self.reverse()._delta(epsilon)  # noqa: SLF001 - the same class

    @cached_property
    def _opposite(self) -> GroupProfile:
        return GroupProfile(self.base.inverse(), self.size, self.end, self.slack)

    def reverse(self) -> Profile:
        """The profile of the inverse."""
        return self if self.base.is_symmetric else self._opposite

    @cached_property
    def alternative_only(self) -> float:
        """1 - f^(k)(0)."""
        if self._profile.alternative_only == 0:
            return 0.0
        return float(self._chain._power(np.zeros(1))[0])  # noqa: SLF001

    @property
    def null_only(self) -> float:
        """That of the inverse."""
        return self.alternative_only if self.base.is_symmetric else self._opposite.alternative_only

    def tradeoff(self) -> TradeOff:
        """f^(k)."""
        from edgeworth.curves.group import Group  # noqa: PLC0415 - each direction of duality needs the other

        return Group(self.base, self.size, self.end, self.slack, self.near)
