"""The profile of a piecewise-linear f: piecewise linear in e^eps, with a vertex at each slope of f."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.profile import Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.piecewise import PiecewiseLinear

__all__ = ["PiecewiseProfile"]


@dataclass(frozen=True, eq=False)
class PiecewiseProfile(Profile):
    """delta(eps) = max_i power_i - e^eps alpha_i over the vertices of f, which is kept: duality is exact."""

    primal: PiecewiseLinear

    @cached_property
    def log_slopes(self) -> Array:
        """The logarithms of -f' on each segment, where the best vertex changes; non-increasing."""
        with np.errstate(divide="ignore"):
            slopes = np.log(np.maximum(self.primal.down, 0.0)) - np.log(self.primal.across)
        return np.minimum.accumulate(slopes)

    def best_vertex(self, epsilon: Array) -> NDArray[np.intp]:
        """The vertex at which a line of slope -e^eps supports f."""
        return np.searchsorted(-self.log_slopes, -epsilon, side="left")

    def _delta(self, epsilon: Array) -> Array:
        best = self.best_vertex(epsilon)
        around = np.clip(best + np.array([[-1], [0], [1]]), 0, self.primal.alpha.size - 1)
        alpha, power = self.primal.alpha[around], self.primal.vertex_power[around]
        lines = power - times_exp(alpha, epsilon)
        if (epsilon < 0).any():  # a sum of two parts >= 0: of 1 - e^eps nothing cancels
            more = np.where(alpha < 0.5, power - alpha, self.primal.acceptance[around] - self.primal.beta[around])
            lines = np.where(epsilon < 0, more - alpha * np.expm1(np.minimum(epsilon, 0.0)), lines)
        return np.asarray(np.maximum(lines.max(axis=0), 0.0))

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self.reverse()._delta(epsilon)  # noqa: SLF001 - the same class

    @property
    def alternative_only(self) -> float:
        """1 - f(0)."""
        return float(self.primal.vertex_power[0])

    @property
    def null_only(self) -> float:
        """1 - inf{alpha : f(alpha) = 0}."""
        return float(self.primal.acceptance[np.argmax(self.primal.beta == 0)])

    def last_vertex(self, delta: Array) -> NDArray[np.intp]:
        """The vertex whose line power_i - e^eps alpha_i is the last to come down to delta."""
        return self._last_line(delta)[0]

    def _epsilon(self, delta: Array) -> Array:
        """max_i log((power_i - delta)/alpha_i)."""
        return np.maximum(self._last_line(delta)[1], 0.0)

    def _last_line(self, delta: Array) -> tuple[NDArray[np.intp], Array]:
        """The last vertex and its log((power - delta)/alpha), among the three around the one expected."""
        corners = np.maximum.accumulate(self._delta(np.clip(self.log_slopes, -1e300, 1e300)))
        place = np.searchsorted(corners, delta, side="right")
        around = np.clip(place + np.array([[-1], [0], [1]]), 0, self.primal.alpha.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.log(np.maximum(self.primal.vertex_power[around] - delta, 0.0))
            lines = np.where(spare > -np.inf, spare - np.log(self.primal.alpha[around]), -np.inf)
        best = lines.argmax(axis=0)[None]
        return np.take_along_axis(around, best, axis=0)[0], np.take_along_axis(lines, best, axis=0)[0]

    @cached_property
    def _mirror(self) -> PiecewiseProfile:
        return PiecewiseProfile(self.primal.inverse())

    def reverse(self) -> PiecewiseProfile:
        """The profile of f^-1."""
        return self._mirror

    def tradeoff(self) -> PiecewiseLinear:
        """f, the same numbers."""
        return self.primal
