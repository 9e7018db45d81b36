"""About how much work the laws of some samples on graded points take: products of masses that are not 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.composition.spread.resolution import centre
from edgeworth.losses import GaussianLoss

if TYPE_CHECKING:
    from edgeworth.composition.samples import Samples
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses import SampledLoss

__all__ = ["products_of_masses"]

_FARTHEST = 26.0  # standard deviations: masses beyond e^(-26^2/2) are dropped


class _Reach(NamedTuple):
    """Between which places the law of some samples has mass."""

    least: float
    greatest: float

    def points(self, grid: Graded, octave: int) -> float:
        """How many points of an octave, on either side of 0, lie there."""
        start, end = grid.halves[octave] * grid.steps[octave], 2 * grid.halves[octave] * grid.steps[octave]
        inside = self._length(-end, end) - (self._length(-start, start) if octave else 0.0)
        return inside / grid.steps[octave]

    def before(self, grid: Graded, octave: int) -> float:
        """How many points of its lattice up to the end of an octave."""
        end = 2 * grid.halves[octave] * grid.steps[octave]
        return self._length(-end, end) / grid.steps[octave]

    def _length(self, low: float, high: float) -> float:
        return max(min(self.greatest, high) - max(self.least, low), 0.0)


def products_of_masses(grid: Graded, samples: Samples) -> float:
    """The products in all products of laws, for a law above and one below with its tents."""
    work, found = 0.0, None
    for loss, n in samples:
        done = 1
        for digit in bin(n)[3:]:
            for more in [done, *([1] if digit == "1" else [])]:
                work += _pairs(grid, _reach(grid, loss, done, n), _reach(grid, loss, more, n))
                done += more
        whole = _reach(grid, loss, n, n)
        if found is not None:
            work += _pairs(grid, found, whole)
            whole = _Reach(found.least + whole.least, found.greatest + whole.greatest)
        found = whole
    return 2.5 * work


def _pairs(grid: Graded, one: _Reach, other: _Reach) -> float:
    octaves = range(len(grid.halves))
    return sum(
        one.points(grid, j) * other.before(grid, j)
        + (other.points(grid, j) * one.before(grid, j) if one != other else 0)
        for j in octaves
    )


def _reach(grid: Graded, loss: SampledLoss, m: int, n: int) -> _Reach:
    """That of m of n samples: k of them jump together, each less far, and the others stay in the heap."""
    if not isinstance(loss.base, GaussianLoss):
        return _Reach(0.0, m * (loss.support[1] - loss.support[0]))
    mu, rate = loss.base.mu, loss.rate

    def at(x: float) -> float:
        exponent = mu * x - mu * mu / 2 + math.log(rate / (1 - rate))
        return math.log1p(math.exp(exponent)) if exponent < 40 else exponent

    middle = min(centre(loss, n), -math.log1p(-rate)) if grid.below else 0.0
    heap, together = -math.log1p(-rate), [2**k for k in range(m.bit_length())]
    far = max(k * at(_FARTHEST / math.sqrt(k)) + (m - k) * heap for k in together)
    return _Reach(m * (at(-_FARTHEST / math.sqrt(m)) - middle), far - m * middle)
