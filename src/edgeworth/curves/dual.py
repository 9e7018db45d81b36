"""From the profile back to the trade-off function: the upper envelope of supporting lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.search import golden_maximum
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.curves.profile import Profile

__all__ = ["DualTradeOff"]

# |eps| <= 745 covers every alpha and every f(alpha) that is a double: e^eps alpha <= 1, f(alpha) <= e^eps.
_HALF_GRID = np.concatenate([[0.0], np.geomspace(1e-12, 745.0, 400)])
_CHUNK = 4096  # alphas compared with the whole grid at a time: 26 MB
_GRID = np.concatenate([-_HALF_GRID[:0:-1], _HALF_GRID])


@dataclass(frozen=True)
class DualTradeOff(TradeOff):
    """f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha, by a grid in eps and golden section around its best.

    The supremum is over a concave function of e^eps, so the best grid point and its neighbours bracket it.
    Power is a sum of terms >= 0 and exact to rounding; f is so up to 1e-16 of the terms subtracted in it.

    >>> from edgeworth.curves.gaussian import GaussianProfile
    >>> round(DualTradeOff(GaussianProfile(1.0))(0.05), 12)
    0.740488977159
    """

    dual: Profile

    @cached_property
    def _on_grid(self) -> tuple[Array, Array]:
        """The values delta at eps and delta' at -eps, on the grid."""
        return self._delta(_GRID), self._opposite(_GRID)

    def _delta(self, epsilon: Array) -> Array:
        return self.dual._bounded_delta(epsilon)  # noqa: SLF001 - both faces of one curve

    def _opposite(self, epsilon: Array) -> Array:
        """delta'(-eps) where eps < 0, elsewhere delta'(0)."""
        return np.clip(self.dual._reverse_delta(-np.minimum(epsilon, 0.0)), 0.0, 1.0)  # noqa: SLF001

    def _evaluate(self, alpha: Array) -> Array:
        def line(epsilon: Array) -> Array:
            return _line(alpha, epsilon, self._delta(epsilon), self._opposite(epsilon))

        best = _best_on_grid(alpha, lambda one: _line(one, _GRID, *self._on_grid))
        return np.where(alpha > 0, _refined(line, best), 1 - self.dual.alternative_only)

    def _power(self, alpha: Array) -> Array:
        def height(epsilon: Array) -> Array:
            return -(self._delta(epsilon) + times_exp(alpha, epsilon))

        best = _best_on_grid(alpha, lambda one: -(self._on_grid[0] + times_exp(one, _GRID)))
        return np.where(alpha > 0, -_refined(height, best), self.dual.alternative_only)

    def profile(self) -> Profile:
        """The profile it was made from."""
        return self.dual


def _line(alpha: Array, epsilon: Array, delta: Array, opposite: Array) -> Array:
    """1 - delta(eps) - e^eps alpha; where eps < 0 as e^eps (1 - alpha - delta'(-eps)), small without loss."""
    falling = np.exp(np.minimum(epsilon, 0.0)) * ((1 - alpha) - opposite)
    return np.where(epsilon < 0, falling, (1 - delta) - times_exp(alpha, np.maximum(epsilon, 0.0)))


def _best_on_grid(alpha: Array, lines: Callable[[Array], Array]) -> NDArray[np.intp]:
    """The best grid point for each alpha; the table of lines is built for some alphas at a time."""
    parts = [lines(part[:, None]).argmax(axis=1) for part in np.array_split(alpha, 1 + alpha.size // _CHUNK)]
    return np.concatenate(parts)


def _refined(height: Callable[[Array], Array], best: NDArray[np.intp]) -> Array:
    """The maximum of the unimodal height around the best grid point."""
    low, high = _GRID[np.maximum(best - 1, 0)], _GRID[np.minimum(best + 1, _GRID.size - 1)]
    return np.maximum(height(_GRID[best]), height(golden_maximum(height, low, high)))
