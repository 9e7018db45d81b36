"""The profile of a group, bounded from either side.

*From above.* Each supporting line 1 - f(x) <= delta(t) + e^t x of the base may be used in each step, so for any
t_1 + … + t_k = eps

    delta^(k)(eps) <= delta(t_k) + e^t_k (delta(t_(k-1)) + e^t_(k-1) ( … + e^t_2 delta(t_1)))

with equality where t_j is the slope of step j on the way from the best alpha. *From below.* delta^(k)(eps) is at least
1 - f^(k)(alpha) - e^eps alpha for any alpha. Both bounds are flat at their best, so slopes and alphas that are right to
1e-4 give 1e-8; they come from a table of the base, which only guides and never enters the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from edgeworth.curves.elementwise import times_exp
from edgeworth.curves.group import Chain, End
from edgeworth.curves.profile import Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["GroupProfile"]

_POINTS = 801  # of the table, for each sign of eps
_SMALLEST_DELTA = 1e-290
_LARGEST_EPSILON = 740.0
_LEAST_ALPHA = 1e-300
_WIDEST_GAP = 0.1  # of log alpha along a straight part of f


@dataclass(frozen=True, eq=False)
class _Guide:
    """Slopes t_1 … t_k (rows) and logit of alpha by the slope eps = sum of t_j of the whole, increasing."""

    total: Array
    slopes: Array
    logit: Array

    def slopes_at(self, epsilon: Array) -> Array:
        """Slopes that add up to eps; what the table does not reach is left to the first step, or to the last."""
        found = np.array([np.interp(epsilon, self.total, row) for row in self.slopes])
        missing = epsilon - found.sum(axis=0)
        found[0] += np.maximum(missing, 0.0)
        found[-1] += np.minimum(missing, 0.0)
        return found

    def alpha_at(self, epsilon: Array) -> Array:
        """About the best alpha."""
        return np.asarray(expit(np.interp(epsilon, self.total, self.logit)))


@dataclass(frozen=True, eq=False)
class GroupProfile(Profile):
    """delta^(k), never too small for the lower end of f and never too large for the upper one."""

    base: TradeOff
    size: int
    end: End = "lower"
    slack: float = 0.0

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self.base, self.size, self.end, self.slack)

    @cached_property
    def _profile(self) -> Profile:
        return self.base.profile()

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

    @cached_property
    def _guide(self) -> _Guide:
        """From every slope of the first step follow the steps through the table of the base."""
        slope, x, power = _table(self._profile, symmetric=self.base.is_symmetric)
        at, slopes = power, [slope]
        for _ in range(self.size - 1):
            slopes.append(np.interp(at, x, slope))
            at = np.interp(at, x, power)
        rows = np.array(slopes)[:, ::-1]
        total = rows.sum(axis=0)
        return _Guide(np.maximum.accumulate(total), rows, x[::-1])

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
        return float(self._chain._power(np.zeros(1))[0])  # noqa: SLF001

    @property
    def null_only(self) -> float:
        """That of the inverse."""
        return self.alternative_only if self.base.is_symmetric else self._opposite.alternative_only

    def tradeoff(self) -> TradeOff:
        """f^(k)."""
        from edgeworth.curves.group import Group  # noqa: PLC0415 - each direction of duality needs the other

        return Group(self.base, self.size, self.end, self.slack)


def _table(profile: Profile, *, symmetric: bool) -> tuple[Array, Array, Array]:
    """Slopes eps, decreasing, and the logits of alpha and of 1 - f(alpha) where they touch f.

    For eps < 0 the touching points of the inverse are f and 1 - alpha.
    """
    slope, rare, power = _touching(profile)
    back, missed, accepted = (slope, rare, power) if symmetric else _touching(profile.reverse())
    x = np.concatenate([_logit(rare), -_logit(accepted)[::-1]])
    y = np.concatenate([_logit(power), -_logit(missed)[::-1]])
    return np.concatenate([slope, -back[::-1]]), np.maximum.accumulate(x), np.maximum.accumulate(y)


def _touching(profile: Profile) -> tuple[Array, Array, Array]:
    """For eps from large to 0: eps, alpha and 1 - f(alpha), with alpha = -e^-eps d delta/d eps.

    Where f is straight alpha jumps at one eps, and the places between are filled in along the supporting lines.
    """
    floor = max(_SMALLEST_DELTA, (1 + 1e-9) * profile.alternative_only)
    top = min(float(profile.epsilon(min(floor, 1.0))), _LARGEST_EPSILON)
    epsilon = np.linspace(max(top, 1e-9), 0.0, _POINTS)
    step = epsilon[0] * 1e-4
    delta = profile._bounded_delta(epsilon)  # noqa: SLF001 - flat arrays
    after, before = (profile._bounded_delta(epsilon + shift) for shift in (step, -step))  # noqa: SLF001
    alpha = np.maximum(times_exp((before - after) / (2 * step), -epsilon), 0.0)
    log_alpha = np.maximum.accumulate(np.log(np.clip(alpha, _LEAST_ALPHA, 1.0)))
    row = np.append(0.0, np.arange(_POINTS))  # the first line goes on to alpha = 0
    log_alpha = np.append(np.log(_LEAST_ALPHA), log_alpha)
    missing = _missing(np.diff(log_alpha))
    place = np.concatenate([*(k + np.arange(n) / n for k, n in enumerate(missing)), [row.size - 1.0]])
    everywhere = np.exp(np.interp(place, np.arange(row.size), log_alpha))
    row = np.interp(place, np.arange(row.size), row)
    lines = [delta[side] + times_exp(everywhere, epsilon[side]) for side in _neighbours(row)]
    return np.interp(row, np.arange(_POINTS), epsilon), everywhere, np.minimum(np.minimum(*lines), 1.0)


def _missing(gap: Array) -> NDArray[np.intp]:
    """Into how many parts each gap of log alpha is divided: one, unless it is far wider than the gaps two away."""
    around = np.minimum(np.pad(gap, (2, 0))[:-2], np.pad(gap, (0, 2))[2:])
    return np.where(gap > 4 * around + _WIDEST_GAP, np.ceil(gap / _WIDEST_GAP), 1).astype(np.intp)


def _neighbours(row: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.floor(row).astype(np.intp), np.ceil(row).astype(np.intp)


def _logit(p: Array) -> Array:
    inner = np.clip(p, _LEAST_ALPHA, 1 - 1e-16)
    return np.asarray(np.log(inner) - np.log1p(-inner))
