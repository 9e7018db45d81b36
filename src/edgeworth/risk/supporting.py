"""The greatest value of a measure of leakage over a range of tests, bounded by supporting lines.

Every delta(eps) of a trade-off function f is a supporting line: f(alpha) >= 1 - delta(eps) - e^eps alpha for all alpha.
The lines of a grid of eps enclose a polygon below f. A convex G that lies below the polygon at its vertices lies below
each chord between them, hence below the polygon, hence below f: "f >= G everywhere" is a statement about finitely many
vertices, and upper ends of delta are all it takes. f is symmetric here, so that eps >= 0 suffices: the other half of
the polygon is its mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from edgeworth.curves import Bracket

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]
    #: a number for each vertex (alpha, power, beta), larger where power is: what is to be bounded
    Measure = Callable[[Array, Array, Array], Array]
    #: eps, and delta at these eps
    Lines = tuple[Array, Bracket]
    #: how well a bound of that size must be known, relatively
    Tolerance = Callable[[float], float]

__all__ = ["Found", "Polygon", "first_lines", "greatest", "joined", "separation"]

_ULPS = 1e-15  # of the few operations between a reading and a vertex
_QUANTILE_ULPS = 4e-15  # of scipy's normal quantile, measured at 2e-15
_FIRST_LINES = 16
_MOST_LINES = 3000


def separation(alpha: Array, power: Array, beta: Array, *, rounded: float = 1.0) -> Array:
    """The mu of the G_mu through (alpha, beta = 1 - power), Phi^-1(power) - Phi^-1(alpha), rounded up (1) or down (-1).

    Whichever of power and beta is the smaller is used: the other one is rounded.
    """
    with np.errstate(invalid="ignore"):
        accused, missed = -ndtri(alpha), np.where(beta < power, -ndtri(beta), ndtri(power))
        slack = _QUANTILE_ULPS * (1 + np.abs(accused) + np.abs(missed))
        mu = np.where(beta <= 0, np.inf, accused + missed + rounded * slack)
    return np.maximum(mu, 0.0)


@dataclass(frozen=True)
class Polygon:
    """The part alpha <= f(alpha) of the polygon, from alpha = start: its vertices, and the two lines through each."""

    alpha: Array
    power: Array
    beta: Array
    below: NDArray[np.intp]
    above: NDArray[np.intp]

    @classmethod
    def of(cls, epsilon: Array, delta: Array, start: float) -> Polygon:
        """The vertices of the lines power <= delta + e^eps alpha, eps increasing from 0; every power is rounded up."""
        slope = np.exp(epsilon)
        kept, crossing = _convex(slope, delta)
        end = max(start, (1 - delta[0]) / 2)
        (inner,) = np.nonzero((crossing > start) & (crossing < end))
        first = int(np.argmin(delta[kept] + slope[kept] * start))  # the line that rules at the start
        alpha = np.concatenate([[start], crossing[inner][::-1], [end]])
        below = kept[np.concatenate([[first], inner[::-1], [0]])]
        above = kept[np.concatenate([[first], inner[::-1] + 1, [0]])]
        powers = [delta[line] + slope[line] * alpha for line in (below, above)]
        misses = [(1 - delta[line]) - slope[line] * alpha for line in (below, above)]
        power = np.minimum(np.maximum(*powers) * (1 + _ULPS), 1.0)
        beta = np.maximum(np.minimum(*misses) - _ULPS, 0.0)
        return cls(alpha, power, beta, below, above)

    def gaps(self) -> Array:
        """How far f may lie above each vertex: the chord of f between the middles of the two sides that meet there.

        A guess, as nobody knows where f touches the sides; it only decides where to look closer.
        """
        gap = np.zeros(self.alpha.size)
        if gap.size > 2:
            (a, b), (p, q) = _middles(self.alpha), _middles(self.power)
            with np.errstate(invalid="ignore", divide="ignore"):
                chord = p + (q - p) * (self.alpha[1:-1] - a) / (b - a)
            gap[1:-1] = np.nan_to_num(self.power[1:-1] - chord)
            gap[0] = gap[1] * self.power[0] / self.power[1]
        return np.clip(gap, 0.0, self.power - self.alpha)


def _middles(values: Array) -> tuple[Array, Array]:
    middle = (values[:-1] + values[1:]) / 2
    return middle[:-1], middle[1:]


def _convex(slope: Array, delta: Array) -> tuple[NDArray[np.intp], Array]:
    """The lines whose crossings with their neighbours come in order, and these crossings; others say nothing new."""
    kept = np.unique(slope, return_index=True)[1]
    while True:
        crossing = -np.diff(delta[kept]) / np.diff(slope[kept])  # falls as eps grows
        (useless,) = np.nonzero(np.diff(crossing) > 0)
        if not useless.size:
            return kept, crossing
        kept = np.delete(kept, useless[::2] + 1)


@dataclass(frozen=True)
class Found:
    """An upper bound over the range from `start`, the alpha at which it is reached, and the lines that prove it."""

    bound: float
    start: float
    alpha: float
    epsilon: Array
    delta: Bracket | None

    @classmethod
    def exactly(cls, bound: float, start: float) -> Found:
        """A bound that needs no lines."""
        return cls(bound, start, start, np.empty(0), None)


def greatest(account: Account, measure: Measure, lines: Lines, *, start: float, tolerance: Tolerance) -> Found:
    """An upper bound of the measure over all tests with alpha >= start and f(alpha) >= start.

    The given lines come first, that of eps = 0 and the steepest that may matter among them. Vertices that may hold the
    greatest value are cut off by further lines until the bound is known to the tolerance, relatively, that its
    present value deserves.
    """
    epsilon, delta = lines
    while True:
        polygon = Polygon.of(epsilon, np.asarray(delta.upper_bound()), start)
        values, gaps = measure(polygon.alpha, polygon.power, polygon.beta), polygon.gaps()
        hoped = measure(polygon.alpha, polygon.power - gaps, polygon.beta + gaps)
        best = int(np.argmax(values))
        enough = (1 + tolerance(float(values[best]))) * np.max(hoped)
        fresh = np.setdiff1d(_cuts(epsilon, polygon, values > enough), epsilon)
        if values[best] <= enough or not fresh.size or epsilon.size + fresh.size > _MOST_LINES:
            return Found(float(values[best]), start, float(polygon.alpha[best]), epsilon, delta)
        epsilon, delta = joined((epsilon, delta), account, fresh)


def joined(lines: Lines, account: Account, slopes: Array) -> Lines:
    """The lines and those of further slopes, eps increasing."""
    epsilon, delta = lines
    fresh = np.setdiff1d(slopes, epsilon)
    more = account.delta(fresh)
    order = np.argsort(np.concatenate([epsilon, fresh]))
    lower, upper, value = (
        np.concatenate([np.atleast_1d(getattr(part, end)) for part in (delta, more)])[order]
        for end in ("lower", "upper", "value")
    )
    return np.concatenate([epsilon, fresh])[order], Bracket(lower, upper, value, delta.certificate)


def first_lines(account: Account, *, start: float, top: float) -> Lines:
    """The lines of eps = 0 and of eps from the scale of the curve up to `top`, or until they say nothing at `start`.

    Far out in the tail a reading of delta takes the longest.
    """
    delta = account.delta(np.zeros(1))
    least = min(max(float(np.asarray(delta.upper)[0]), 1e-12), top / 4)
    lines = np.zeros(1), delta
    for some in np.array_split(np.geomspace(least, top, _FIRST_LINES), _FIRST_LINES // 4):
        epsilon, delta = lines = joined(lines, account, some)
        if np.argmin(np.asarray(delta.upper_bound()) + np.exp(epsilon) * start) < epsilon.size - 2:
            break
    return lines


def _cuts(epsilon: Array, polygon: Polygon, chosen: NDArray[np.bool_]) -> Array:
    """The eps half way between the two lines through each chosen vertex; on both sides of a line that starts there."""
    below, above = polygon.below[chosen], polygon.above[chosen]
    alone = below == above
    below = np.where(alone, np.maximum(below - 1, 0), below)
    after = np.minimum(above[alone] + 1, epsilon.size - 1)
    lower = np.concatenate([epsilon[below], epsilon[above[alone]]])
    upper = np.concatenate([epsilon[above], epsilon[after]])
    return np.unique((lower + upper) / 2)
