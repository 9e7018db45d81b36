"""The privacy profile delta(eps), for every real eps: the dual face of a trade-off function."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from edgeworth import validation
from edgeworth.abstract import Abstract
from edgeworth.curves.elementwise import Array, Numbers, elementwise, times_exp
from edgeworth.curves.search import positive_root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["MaximumProfile", "Profile", "ReverseProfile", "SymmetricProfile"]

_FIRST_FACTOR = 4.0  # its log2: how far from 1 an epsilon is looked for first
_LARGEST_EPSILON = 1e100  # delta positive here is taken for delta positive everywhere


class Profile(Abstract):
    """delta(eps) = sup_E Q[E] - e^eps P[E] = sup_alpha 1 - f(alpha) - e^eps alpha.

    Non-increasing, convex in e^eps, at least max(0, 1 - e^eps). A subclass gives ``_delta`` and, where it can
    do better than the generic formulas, the logarithm and the profile of the opposite direction.
    """

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array:
        """The values delta at finite eps."""

    def _log_delta(self, epsilon: Array) -> Array:
        """The logarithm of delta at finite eps; -inf where delta is 0."""
        return _log(self._delta(epsilon))

    def _reverse_delta(self, epsilon: Array) -> Array:
        """Profile of T(Q, P) at finite eps: 1 - e^eps (1 - delta(-eps)), at most delta(0) where eps >= 0.

        By subtraction here, with no digit left beyond eps = 36: subclasses that can do better override it.
        """
        difference = np.maximum(self._delta(-epsilon) + np.expm1(np.minimum(-epsilon, 700.0)), 0.0)
        ceiling = np.where(epsilon >= 0, self._delta(np.zeros(1)), 1.0)
        return np.minimum(times_exp(difference, epsilon), ceiling)

    def _log_reverse(self, epsilon: Array) -> Array:
        """The logarithm of ``_reverse_delta``."""
        return _log(self._reverse_delta(epsilon))

    @property
    def alternative_only(self) -> float:
        """delta(inf) = Q[L = +inf]: what Q can do and P cannot."""
        return 0.0

    @property
    def null_only(self) -> float:
        """P[L = -inf]: what P can do and Q cannot."""
        return 0.0

    @overload
    def __call__(self, epsilon: float) -> float: ...
    @overload
    def __call__(self, epsilon: Numbers) -> Array: ...
    def __call__(self, epsilon: float | Numbers) -> float | Array:
        """delta(eps), within [max(0, 1 - e^eps), 1]; eps = -inf gives 1, inf gives ``alternative_only``."""
        return elementwise(self._bounded_delta, validation.reals(epsilon=epsilon))

    def _bounded_delta(self, epsilon: Array) -> Array:
        finite = np.isfinite(epsilon)
        inner = self._delta(np.where(finite, epsilon, 0.0))
        values = np.where(finite, inner, np.where(epsilon < 0, 1.0, self.alternative_only))
        return np.clip(values, -np.expm1(np.minimum(epsilon, 0.0)), 1.0) + 0.0  # never -0.0

    @overload
    def log(self, epsilon: float) -> float: ...
    @overload
    def log(self, epsilon: Numbers) -> Array: ...
    def log(self, epsilon: float | Numbers) -> float | Array:
        """The natural logarithm of delta(eps), also where delta itself underflows; -inf where delta = 0."""
        return elementwise(self._bounded_log, validation.reals(epsilon=epsilon))

    def _bounded_log(self, epsilon: Array) -> Array:
        finite = np.isfinite(epsilon)
        inner = self._log_delta(np.where(finite, epsilon, 0.0))
        limits = np.where(epsilon < 0, 0.0, _log(np.asarray(self.alternative_only)))
        return np.minimum(np.where(finite, inner, limits), 0.0)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: Numbers) -> Array: ...
    def epsilon(self, delta: float | Numbers) -> float | Array:
        """The least eps >= 0 with delta(eps) <= delta, inf if there is none; to about 1e-15 of eps."""
        return elementwise(self._epsilon, validation.probabilities(delta=delta))

    def _epsilon(self, delta: Array) -> Array:
        target = _log(delta)
        result = np.zeros(delta.size)
        unreachable = delta < self.alternative_only
        result[unreachable] = np.inf
        (asked,) = np.nonzero(~unreachable & (self._bounded_log(np.zeros(1)) > target))

        def excess(epsilon: Array, which: NDArray[np.intp]) -> Array:
            value, wanted = self._bounded_log(epsilon), target[asked[which]]
            reached = value <= wanted
            both_finite = np.isfinite(value) & np.isfinite(wanted)
            distance = np.where(both_finite, value, 0.0) - np.where(both_finite, wanted, 0.0)
            return np.where(both_finite, distance, np.where(reached, -1.0, 1.0))

        if asked.size:
            root = positive_root(excess, *self._near_root(target[asked]), largest=_LARGEST_EPSILON)
            result[asked] = self._raised(root, delta[asked])
        return result

    def _near_root(self, log_delta: Array) -> tuple[Array, Array]:
        """Where to look for the eps with these logarithms of delta, and the log2 of the factor by which to look on."""
        return np.ones(log_delta.size), np.full(log_delta.size, _FIRST_FACTOR)

    def _raised(self, epsilon: Array, delta: Array) -> Array:
        """The same eps, raised by some ulps where delta(eps), unlike its logarithm, is still above delta."""
        for exponent in range(8):
            short = np.isfinite(epsilon) & (self._bounded_delta(epsilon) > delta)
            if not short.any():
                break
            epsilon = np.where(short, epsilon * (1 + 2.0 ** (exponent - 52)), epsilon)
        return epsilon

    def reverse(self) -> Profile:
        """Profile of the opposite direction T(Q, P): delta'(eps) = 1 - e^eps (1 - delta(-eps))."""
        return ReverseProfile(self)

    def maximum(self, other: Profile) -> Profile:
        """The pointwise larger of two profiles: dual of the convex hull of the smaller trade-off function."""
        return MaximumProfile(self, other)

    def tradeoff(self) -> TradeOff:
        """The trade-off function f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha, sup of supporting lines."""
        from edgeworth.curves.dual import DualTradeOff  # noqa: PLC0415 - each direction of duality needs the other

        return DualTradeOff(self)


class SymmetricProfile(Profile):
    """A profile that is its own reverse: f = f^-1."""

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self._delta(epsilon)

    def _log_reverse(self, epsilon: Array) -> Array:
        return self._log_delta(epsilon)

    @property
    def null_only(self) -> float:
        """P[L = -inf], here equal to Q[L = +inf]."""
        return self.alternative_only

    def reverse(self) -> Profile:
        """Itself."""
        return self


@dataclass(frozen=True)
class ReverseProfile(Profile):
    """delta'(eps) = 1 - e^eps (1 - delta(-eps)), read off the base and never computed on its own."""

    base: Profile

    def _delta(self, epsilon: Array) -> Array:
        return self.base._reverse_delta(epsilon)  # noqa: SLF001 - the two faces of one object

    def _log_delta(self, epsilon: Array) -> Array:
        return self.base._log_reverse(epsilon)  # noqa: SLF001

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self.base._delta(epsilon)  # noqa: SLF001

    def _log_reverse(self, epsilon: Array) -> Array:
        return self.base._log_delta(epsilon)  # noqa: SLF001

    @property
    def alternative_only(self) -> float:
        """The other direction's ``null_only``."""
        return self.base.null_only

    @property
    def null_only(self) -> float:
        """The other direction's ``alternative_only``."""
        return self.base.alternative_only

    def reverse(self) -> Profile:
        """The base: reversing twice changes nothing."""
        return self.base

    def tradeoff(self) -> TradeOff:
        """f^-1, for f the trade-off function of the base."""
        return self.base.tradeoff().inverse()


@dataclass(frozen=True)
class MaximumProfile(Profile):
    """max{first, second}, pointwise, in both directions."""

    first: Profile
    second: Profile

    def _delta(self, epsilon: Array) -> Array:
        return np.maximum(self.first._delta(epsilon), self.second._delta(epsilon))  # noqa: SLF001

    def _log_delta(self, epsilon: Array) -> Array:
        return np.maximum(self.first._log_delta(epsilon), self.second._log_delta(epsilon))  # noqa: SLF001

    def _reverse_delta(self, epsilon: Array) -> Array:
        return np.maximum(self.first._reverse_delta(epsilon), self.second._reverse_delta(epsilon))  # noqa: SLF001

    def _log_reverse(self, epsilon: Array) -> Array:
        return np.maximum(self.first._log_reverse(epsilon), self.second._log_reverse(epsilon))  # noqa: SLF001

    def _epsilon(self, delta: Array) -> Array:
        """Both are at most delta where the later one is: each may have a way of its own to find out where."""
        return np.maximum(self.first._epsilon(delta), self.second._epsilon(delta))  # noqa: SLF001

    @property
    def alternative_only(self) -> float:
        """The larger of the two."""
        return max(self.first.alternative_only, self.second.alternative_only)

    @property
    def null_only(self) -> float:
        """The larger of the two."""
        return max(self.first.null_only, self.second.null_only)


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
