"""The trade-off function f(alpha): the object every other reading is a reading of."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, overload

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth import validation
from edgeworth.abstract import Abstract
from edgeworth.curves.elementwise import Array, Numbers, elementwise
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.curves.piecewise import PiecewiseLinear
    from edgeworth.curves.profile import Profile

__all__ = ["TradeOff"]

# Operations return curves of other kinds, whose files import this one: hence the imports inside the methods.
# ruff: noqa: PLC0415

_LARGEST_QUANTILE = 8.2  # Phi(-8.2) = 1.2e-16: closer to 1 there is no double


class TradeOff(Abstract):
    """f = T(P, Q): f(alpha) is the least type II error of a test of type I error at most alpha.

    Convex, non-increasing, 0 <= f(alpha) <= 1 - alpha, f(1) = 0; f(0) < 1 exactly when Q has mass where P has
    none. Values are immutable. A subclass gives ``_evaluate`` and ``profile``, and ``_power`` where
    1 - f(alpha) can be had to relative precision for small alpha.
    """

    @abstractmethod
    def _evaluate(self, alpha: Array) -> Array:
        """The values of f at a flat array of alpha in [0, 1]."""

    def _power(self, alpha: Array) -> Array:
        """1 - f at a flat array of alpha in [0, 1]."""
        return 1 - self._evaluate(alpha)

    @abstractmethod
    def profile(self) -> Profile:
        """The dual: delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha."""

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: Numbers) -> Array: ...
    def __call__(self, alpha: float | Numbers) -> float | Array:
        """f(alpha), within [0, 1 - alpha]; a float for a number, an array of the same shape for an array."""
        return elementwise(self._bounded_evaluate, validation.probabilities(alpha=alpha))

    def _bounded_evaluate(self, alpha: Array) -> Array:
        return np.clip(self._evaluate(alpha), 0.0, 1.0 - alpha)

    @overload
    def power(self, alpha: float) -> float: ...
    @overload
    def power(self, alpha: Numbers) -> Array: ...
    def power(self, alpha: float | Numbers) -> float | Array:
        """1 - f(alpha), the best true positive rate at false positive rate alpha; at least alpha."""
        return elementwise(self._bounded_power, validation.probabilities(alpha=alpha))

    def _bounded_power(self, alpha: Array) -> Array:
        return np.clip(self._power(alpha), alpha, 1.0)

    @property
    def is_symmetric(self) -> bool:
        """Whether f = f^-1 is known to hold exactly."""
        return False

    @property
    def kinks(self) -> Array:
        """Places in (0, 1) where the slope of f may jump, in increasing order; f is smooth between them."""
        return np.empty(0)

    @property
    def zero_from(self) -> float:
        """The least alpha with f(alpha) = 0."""
        return 1.0 - self.profile().null_only

    def inverse(self) -> TradeOff:
        """f^-1 = T(Q, P): f^-1(alpha) = inf{t : f(t) <= alpha}."""
        if self.is_symmetric:
            return self
        from edgeworth.curves.inverse import Inverse

        return Inverse(self)

    def symmetrise(self) -> TradeOff:
        """min{f, f^-1}**: the largest convex function below both directions."""
        if self.is_symmetric:
            return self
        from edgeworth.curves.symmetrised import Symmetrised

        return Symmetrised(self)

    def _touching(self, epsilon: float) -> tuple[float, float]:
        """A point (alpha, f(alpha)) at which a line of slope -e^eps supports f."""
        from edgeworth.curves.touching import touching_point

        return touching_point(self, epsilon)

    def subsample(self, rate: float) -> TradeOff:
        """The mixture rate * f + (1 - rate) * Id: Poisson sampling at that rate, in one direction."""
        from edgeworth.curves.identity import Identity
        from edgeworth.curves.subsampled import Subsampled

        rate = validation.probability(rate=rate)
        if rate == 1:
            return self
        return Subsampled(self, rate) if rate > 0 else Identity()

    def group(self, size: int) -> TradeOff:
        """f^(size) = 1 - (1 - f) o … o (1 - f): what holds for groups of so many records; never above it."""
        from edgeworth.curves.group import group

        return group(self, size)

    def convex_hull(self) -> TradeOff:
        """f** = f: a trade-off function is convex. Raw points become one through ``PiecewiseLinear.hull``."""
        return self

    def piecewise_linear(self, *, points: int = 2001, smallest: float = 1e-16) -> PiecewiseLinear:
        """The chords of f between sampled alphas: at least f everywhere, equal to it at the vertices.

        The alphas are normal-quantile spaced from ``smallest`` to 1 - 1.2e-16, hence dense in the logarithm
        near both ends, with the kinks of f, 0, ``zero_from`` and 1 added.
        """
        from edgeworth.curves.piecewise import PiecewiseLinear

        if not validation.count(points=points) >= 2:
            raise InvalidArgument(f"points={points!r} is out of range; give an int >= 2")
        if not 0 < validation.probability(smallest=smallest) < 0.5:
            raise InvalidArgument(f"smallest={smallest!r} is out of range; give a number between 0 and 0.5")
        spaced = ndtr(np.linspace(float(ndtri(smallest)), _LARGEST_QUANTILE, points))
        end = self.zero_from
        alpha = np.unique(np.concatenate([[0.0, end, 1.0], spaced[spaced < end], self.kinks]))
        return PiecewiseLinear.hull(
            alpha, self._bounded_evaluate(alpha), power=self._bounded_power(alpha), start=float(self(0.0))
        )

    @property
    def fixed_point(self) -> float:
        """a* with f(a*) = a*, for f symmetrised: a* = (1 - delta(0))/2, delta(0) the total variation."""
        from edgeworth.curves.interpret import fixed_point_by_duality

        return fixed_point_by_duality(self)

    @property
    def mu_star(self) -> float:
        """mu* = Phi^-1(1 - a*) - Phi^-1(a*): the mu of the G_mu with the same fixed point."""
        from edgeworth.curves.interpret import mu_star_by_duality

        return mu_star_by_duality(self)

    @property
    def gamma(self) -> float:
        """gamma, the area under f symmetrised, between 0 (no privacy) and 1/2 (perfect)."""
        from edgeworth.curves.interpret import area_by_quadrature

        return area_by_quadrature(self.symmetrise())
