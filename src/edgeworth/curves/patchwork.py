"""A convex frame of vertices with smooth pieces between some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.hull import cell_of
from edgeworth.curves.profile import Profile
from edgeworth.curves.search import bracketed_root, golden_maximum
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.piecewise import PiecewiseLinear

__all__ = ["Errors", "Patchwork", "PatchworkProfile", "Tests", "both_errors", "parameter_at"]

#: (alpha, beta, 1 - beta) or (alpha, beta, 1 - beta, 1 - alpha) of the test with parameter u
Tests: TypeAlias = Callable[[Array], tuple[Array, ...]]


class Errors(NamedTuple):
    """The two errors of each test, and their complements."""

    alpha: Array
    beta: Array
    power: Array
    acceptance: Array


def both_errors(tests: Tests, u: Array) -> Errors:
    """The errors of the tests u; 1 - alpha by subtraction where the tests do not give it."""
    given = [np.asarray(part, dtype=np.float64) for part in tests(u)]
    alpha, beta, power = given[:3]
    return Errors(alpha, beta, power, given[3] if len(given) == 4 else 1 - alpha)


def parameter_at(tests: Tests, alpha: Array, low: Array, high: Array) -> Array:
    """The u in [low, high] with alpha(u) = alpha, for alpha(u) decreasing there; bracketed, to a few ulp.

    Compared in alpha below 1/2 and in 1 - alpha above, so that both ends keep relative precision.
    """
    small = alpha < 0.5

    def excess(u: Array, which: NDArray[np.intp]) -> Array:
        errors = both_errors(tests, u)
        wanted = alpha[which]
        return np.where(small[which], errors.alpha - wanted, (1 - wanted) - errors.acceptance)

    return bracketed_root(excess, low, high)


@dataclass(frozen=True, eq=False)
class Patchwork(TradeOff):
    """The chords of ``frame``, replaced by the parametric curve ``tests`` on the cells that have a u-range.

    ``low`` and ``high`` hold, for each cell of the frame, the range of u that covers it (low u is its right
    end, as alpha decreases in u), or nan where the chord stays. Convex when the curve is so on those cells
    and its one-sided derivatives there lie between the slopes of the neighbouring cells.
    """

    frame: PiecewiseLinear
    tests: Tests
    low: Array
    high: Array

    def _evaluate(self, alpha: Array) -> Array:
        return self._read(alpha, self.frame._evaluate(alpha), lambda errors: errors.beta)  # noqa: SLF001

    def _power(self, alpha: Array) -> Array:
        return self._read(alpha, self.frame._power(alpha), lambda errors: errors.power)  # noqa: SLF001

    def _read(self, alpha: Array, chords: Array, part: Callable[[Errors], Array]) -> Array:
        """The part of the tests of error alpha on the smooth cells, the chords elsewhere."""
        cell = cell_of(alpha, self.frame.alpha, self.frame.acceptance)
        (smooth,) = np.nonzero(np.isfinite(self.low[cell]))
        if smooth.size:
            where = cell[smooth]
            u = parameter_at(self.tests, alpha[smooth], self.low[where], self.high[where])
            chords[smooth] = part(both_errors(self.tests, u))
        return chords

    @property
    def kinks(self) -> Array:
        """The vertices at which a chord begins or ends."""
        smooth = np.isfinite(self.low)
        return self.frame.alpha[1:-1][~(smooth[:-1] & smooth[1:])]

    @property
    def zero_from(self) -> float:
        """That of the frame."""
        return self.frame.zero_from

    def inverse(self) -> TradeOff:
        """f^-1, exactly: the frame mirrored, the two errors of each test exchanged, u replaced by -u."""
        frame, added = self.frame.inverse(), self.frame.inverse().alpha.size - self.frame.alpha.size
        low, high = -self.high[::-1], -self.low[::-1]
        if added > 0:
            low, high = np.append(low, np.nan), np.append(high, np.nan)
        elif added < 0:
            low, high = low[1:], high[1:]
        return Patchwork(frame, _Exchanged(self.tests), low, high)

    def profile(self) -> PatchworkProfile:
        """The best vertex of the frame, refined inside the smooth cells next to it."""
        return PatchworkProfile(self)

    def _touching(self, epsilon: float) -> tuple[float, float]:
        return self.profile().touching(epsilon)


@dataclass(frozen=True)
class _Exchanged:
    """The tests with the roles of P and Q exchanged."""

    tests: Tests

    def __call__(self, u: Array) -> tuple[Array, ...]:
        errors = both_errors(self.tests, -u)
        return errors.beta, errors.alpha, errors.acceptance, errors.power


@dataclass(frozen=True, eq=False)
class PatchworkProfile(Profile):
    """delta(eps) = max over the curve of power - e^eps alpha, to rounding."""

    primal: Patchwork

    def _delta(self, epsilon: Array) -> Array:
        frame = self.primal.frame.profile()
        at_vertices = frame._delta(epsilon)  # noqa: SLF001
        best = frame.best_vertex(epsilon)
        low, high = self._smooth_range(best)
        (smooth,) = np.nonzero(np.isfinite(low))
        if smooth.size:
            slope = epsilon[smooth]

            def height(u: Array) -> Array:
                errors = both_errors(self.primal.tests, u)
                return errors.power - times_exp(errors.alpha, slope)

            u = golden_maximum(height, low[smooth], high[smooth], steps=42)
            at_vertices[smooth] = np.maximum(at_vertices[smooth], height(u))
        return at_vertices

    def _epsilon(self, delta: Array) -> Array:
        """The maximum over the curve of log((power - delta)/alpha): the last line to come down to delta."""
        frame = self.primal.frame.profile()
        result = frame._epsilon(delta)  # noqa: SLF001
        low, high = self._smooth_range(frame.last_vertex(delta))
        (smooth,) = np.nonzero(np.isfinite(low) & (delta > self.alternative_only) & (delta < 1))
        if smooth.size:
            target = delta[smooth]

            def crossing(u: Array) -> Array:
                errors = both_errors(self.primal.tests, u)
                spare = np.maximum(errors.power - target, 5e-324)
                return np.log(spare) - np.log(np.maximum(errors.alpha, 5e-324))

            u = golden_maximum(crossing, low[smooth], high[smooth], steps=42)
            result[smooth] = np.maximum(result[smooth], crossing(u))
        return result

    def touching(self, epsilon: float) -> tuple[float, float]:
        """The point (alpha, beta) of the curve at which a line of slope -e^eps supports it."""
        slope = np.array([epsilon])
        frame = self.primal.frame
        vertex = frame.profile().best_vertex(slope)
        low, high = self._smooth_range(vertex)
        if np.isnan(low[0]):
            return float(frame.alpha[vertex[0]]), float(frame.beta[vertex[0]])

        def height(u: Array) -> Array:
            errors = both_errors(self.primal.tests, u)
            if epsilon >= 0:
                return errors.power - times_exp(errors.alpha, slope)
            return times_exp(errors.acceptance, slope) - errors.beta

        errors = both_errors(self.primal.tests, golden_maximum(height, low, high))
        return float(errors.alpha[0]), float(errors.beta[0])

    def _smooth_range(self, vertex: NDArray[np.intp]) -> tuple[Array, Array]:
        """The u-range of the smooth cells to both sides of the vertex; nan where there is none."""
        bare = np.array([np.nan])
        low, high = (
            np.concatenate([bare, self.primal.low, bare]),
            np.concatenate([bare, self.primal.high, bare]),
        )
        return np.fmin(low[vertex], low[vertex + 1]), np.fmax(high[vertex], high[vertex + 1])

    def _reverse_delta(self, epsilon: Array) -> Array:
        return self.reverse()._delta(epsilon)  # noqa: SLF001

    @property
    def alternative_only(self) -> float:
        """1 - f(0)."""
        return float(self.primal.frame.vertex_power[0])

    @property
    def null_only(self) -> float:
        """That of the frame."""
        return self.primal.frame.profile().null_only

    @cached_property
    def _mirror(self) -> Profile:
        return self.primal.inverse().profile()

    def reverse(self) -> Profile:
        """The profile of f^-1."""
        return self._mirror

    def tradeoff(self) -> TradeOff:
        """The curve it was made from."""
        return self.primal
