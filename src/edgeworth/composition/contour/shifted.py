"""How |phi| of one tilted sample of Gaussian noise falls at high frequencies, from lines Im x = y above the real one.

There |e^(itL)| = e^(-t Im L) has no oscillation left, and every y gives a bound that only falls with t. Every bound is
proved in docs/proofs/contour.md, section 7, and that of jumps in docs/proofs/jumps.md, section D.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.contour.strip import HIGHEST, bend_of_turned, turned_by
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    from edgeworth.losses import ReplacedGaussianLoss
    from edgeworth.losses.law import Array

__all__ = [
    "WIDEST_STRIP",
    "Shifted",
    "mixture_bounds",
    "shifted_bounds",
    "steep_bounds",
    "with_cell_masses",
]

_UNIT = 2.0**-53
WIDEST_STRIP = 0.85  # of theta = pi/2: as wide as the quadrature in x makes its own
_MOST_SHIFTS = 24
# Where lines are tried: from and to, in units of what is best for a normal law, and at most from this share of the top.
_NEAR_NORMAL, _ANY = (0.75, 1.5, 1 / 16), (0.1, 4.2, 1 / 64)
_BOUND_NOISE = 1e-14  # of those sums, and what the quadrature leaves of them
_SHIFTED_QUADRATURE = 2e-17
_DEEPEST, _SUM_NOISE = 600.0, 1e-9  # nats that a term of a sum of positive ones may lose, and its noise
_STEEPEST = 300.0  # nats that a tilt may add on a shifted line
_TERM = 0.05  # units of work for an exponential of a bound


class Shifted(NamedTuple):
    """What bounds |phi| once x is moved to Im x = y, for several y: |phi(t)| <= e^growth (sum v e^(B - tA) + edge).

    A is Im L(x + iy) at every node and B = c (Re L(x + iy) - L(x)), a row for each y; v the weights. For c >= 0 B is
    at most 0, and left out. Of a jump v are at least the masses of the cells right of the nodes, and B is counted in
    the growth: their sum is an upper bound to all its digits, however small. At a steep tilt to the left it is v e^B
    that is at least the masses, a row for each y.
    """

    growth: Array
    fall: Array
    rise: Array | None
    edge: Array
    """With the noise of the sums."""
    masses: Array | None = None

    def log_bound(self, t: Array, weight: Array) -> Array:
        """At least log |phi| at each t and beyond it."""
        exponent = np.multiply.outer(-t, self.fall)
        spend(_TERM * exponent.size)
        if self.masses is not None:
            sums = np.einsum("...x,...x", np.exp(np.maximum(exponent, -_DEEPEST)), self.masses) + self.edge
            return np.asarray(np.minimum(np.min(self.growth + np.log(sums), axis=1) + _SUM_NOISE, 0.0))
        if self.rise is not None:
            exponent += self.rise
        sums = np.expm1(exponent, out=exponent) @ weight
        bound = self.growth + np.log1p(np.maximum(sums + self.edge, _UNIT - 1.0))  # never log 0: the edge is larger
        return np.asarray(np.minimum(np.minimum.reduce(bound, axis=1), 0.0))


def shifted_bounds(
    step: SampledGaussian,
    c: float,
    ends: Array,
    posterior: Array,
    weight: Array,
    frequency: float,
    *,
    dense: bool = False,
) -> Shifted:
    """For lines Im x = y from where a normal law would want it at low frequencies up to the end of the strip.

    On Im x = y, |e^(itL)| = e^(-t Im L) with Im L = arg(1 - r + r e^(i theta)) > 0, theta = mu y: the bound has no
    oscillation left. A soft cut at X is a mean over hard ones, each of which adds a vertical way back to the real line.
    """
    span = _NEAR_NORMAL if dense and not step.is_jump else _ANY
    y = _heights(step.mu, step.mu * float(weight @ posterior), frequency, span)
    theta = step.mu * y
    fall = _turned(theta, posterior)
    if step.is_jump:  # its window is moved along as a whole
        turned = min(c, 0.0) * np.log(np.cos(theta / 2))
        return Shifted(step.strip_factor * y * y / 2 + turned, fall, None, np.zeros(y.size))
    noise = _BOUND_NOISE + 2 * weight.size * _UNIT  # a dot product adds one after the other
    back = 1.01 * y * float(weight @ ends)
    if c >= 0:
        return Shifted(y * y / 2, fall, None, noise + back)
    rise, most = _rise(c, theta, posterior)
    noises = noise * (1 + (np.exp(rise) * (1 + rise)) @ weight) + _SHIFTED_QUADRATURE * _more_growth(c, theta)
    back = np.where(np.isinf(most), math.inf, back * np.exp(np.minimum(most, _STEEPEST)))
    return Shifted(y * y / 2, fall, rise, noises + back)


def mixture_bounds(loss: ReplacedGaussianLoss, c: float, x: Array, weight: Array, frequency: float) -> Shifted:
    """The same for a clipped record that is replaced, whose L = log N - log D turns twice: docs/proofs/replace-one.md.

    Of N^c D^(1-c) at most one exponent is negative, and only that one lets the modulus rise.
    """
    shares = loss.share(x), loss.share(-x)
    y = _heights(loss.shift, float(weight @ loss.slope(x)), frequency, _ANY)
    theta = loss.shift * y
    fall = _turned(theta, shares[0]) + _turned(theta, shares[1])
    noise, rise = np.full(y.size, _BOUND_NOISE + 2 * weight.size * _UNIT), None
    least = min(c, 1 - c)
    if least < 0:
        rise, most = _rise(least, theta, shares[0] if c < 0 else shares[1])
        noise = noise * (1 + (np.exp(rise) * (1 + rise)) @ weight) + _SHIFTED_QUADRATURE * _more_growth(least, theta)
        noise = np.where(np.isinf(most), math.inf, noise)
    return Shifted(y * y / 2, fall, rise, noise)


def _heights(mu: float, slope: float, frequency: float, span: tuple[float, float, float]) -> Array:
    """The lines that are tried, y of them: each twice as high as the one before.

    A normal law has its best at y = t slope, t from 0.6 to 1.3 of the frequency, and Im L rises less than linearly.
    """
    best, top = frequency * slope, min(HIGHEST * math.pi / mu, 12.0)
    highest, y = min(top, span[1] * best), min(span[0] * best, span[2] * top)
    heights: list[float] = []
    while y < highest and len(heights) < _MOST_SHIFTS:
        heights.append(y)
        y *= 2
    return np.array([*heights, highest])


def _turned(theta: Array, posterior: Array) -> Array:
    """arg(1 - r + r e^(i theta)), a row for each theta."""
    above, beside = np.multiply.outer(np.sin(theta), posterior), np.multiply.outer(np.cos(theta) - 1, posterior)
    return np.asarray(np.arctan2(above, 1 + beside))


def with_cell_masses(shifted: Shifted, weight: Array, h: float, bend: float) -> Shifted:
    """The same with at least the mass of each cell at its left end, where e^(-tA) is largest; beyond the ends, v/h."""
    masses = np.append(np.maximum(weight[1:], weight[:-1]) * math.exp(h * h * bend / 8), weight[-1] / h)
    return shifted._replace(edge=shifted.edge + weight[0] / h, masses=masses)


def steep_bounds(
    step: SampledGaussian, c: float, posterior: Array, log_weight: Array, h: float, frequency: float
) -> Shifted:
    """The same for a steep tilt to the left, cell by cell: v e^B at least the masses of |w(x + iy)|, on [0, pi/2].

    e^(-tA) is largest at the left end, and log v + B = c Re L(x + iy) + log density exceeds the larger end by
    B'' h^2/8 at most. Beyond the last node |w(x + iy)| falls as w does, or faster.
    """
    y = _heights(step.mu, step.mu * float(np.exp(log_weight) @ posterior), frequency, _ANY)
    y = y[step.mu * y <= 0.5 * math.pi]
    theta = step.mu * y[:, None]
    log_mass = log_weight + turned_by(c, theta, posterior)
    half = np.minimum(posterior[1:], 0.5)
    bend = 1 + bend_of_turned(step, c, theta, half)
    inner = np.maximum(log_mass[:, 1:], log_mass[:, :-1]) + h * h * bend / 8
    logs = np.concatenate([inner, log_mass[:, [0, -1]] - math.log(h)], axis=1)
    masses = np.exp(np.where(logs > _STEEPEST, math.inf, np.maximum(logs, -_DEEPEST)))  # inf says nothing
    fall = _turned(theta[:, 0], posterior)
    return Shifted(y * y / 2, fall, None, masses[:, -2], np.delete(masses, -2, axis=1))


def _rise(c: float, theta: Array, posterior: Array) -> tuple[Array, Array]:
    """B = c log |1 - r + r e^(i theta)| for c < 0, and the most that it can be: inf where that is too much to count.

    |1 - r + r e^(i theta)|^2 = 1 - 4 r (1-r) sin^2(theta/2) >= cos^2(theta/2).
    """
    most = c * np.log(np.cos(theta / 2))
    rise = 0.5 * c * np.log1p(np.multiply.outer(-4 * np.sin(theta / 2) ** 2, posterior * (1 - posterior)))
    return np.minimum(rise, _STEEPEST), np.where(most > _STEEPEST, math.inf, most)


def _more_growth(c: float, theta: Array) -> Array:
    """How much more w e^(B - tA) grows than w on the widest strip, for c < 0."""
    widest = WIDEST_STRIP * 0.5 * math.pi
    ratio = np.cos((theta + widest) / 2) * np.cos((theta - widest) / 2) / math.cos(widest / 2) ** 2
    more = 0.5 * c * np.log(ratio)
    return np.exp(np.where(more > _STEEPEST, math.inf, more))
