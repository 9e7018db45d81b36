"""phi(t) - 1 = itm + E_c[e^(itL) - 1 - itL] of a step tilted by c, m = E_c[L]: for very many samples at small rates.

The terms e^(itL) - 1 are of the size of the rate, and so are their ulps, which count n times. But E_P[e^L - 1] = 0
exactly: m is a sum of terms of second order, and so is all that a wave has beyond itL.
`docs/proofs/contour.md` proves it, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeworth.composition.contour.certified_moment import SUM_ROUNDING, certified_mean
from edgeworth.composition.contour.waves import BLOCK, products_of_waves, wave_less_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.long_moments import LongMoments
    from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    from edgeworth.composition.contour.tilted_part import TiltedPart
    from edgeworth.losses.law import Array

    Complex = NDArray[np.complex128]

__all__ = ["MeanApart", "WaveNodes", "is_worth_it", "mean_apart", "wave_less_line"]

_UNIT = 2.0**-53
_MANY = 10_000  # steps, of fewer of which the ulps of a rate count less than those of 1
_ULPS = 256  # of a term, about
_ALLOWED = 1e-10  # relative error of phi^n by ulps of first order, up to which they are left alone
_ALLOWED_WHOLE = 3e-9  # the same of a law that is not cut
_GAIN = 0.3  # of terms of first order, which those of second order must not exceed
_NEAR = 0.5  # of an angle, below which a series has more digits
_TERMS = 17  # of that series: the next one is below 0.5^16 2/18! < 1e-20 of the first
_WAVE = 100  # ulps of a wave without its line, relative to what bounds it
_LARGEST_BLOCK = 200_000
_LARGEST = 600.0  # of an exponent
_TURNED = 6.0  # at least 0.95 pi - log cos(0.95 pi/2): what |L| has more off the real line
_DROPPED = 2e-11  # relative error of the masses that are dropped


def is_worth_it(count: int, frequency: float, loss: Array, weight: Array, *, whole: bool = False) -> bool:
    """Whether ulps of first order would count so much, and those of second order less.

    They count most at the last frequency, where phi^n of a whole law is next to nothing: it may have more of them.
    """
    if count < _MANY:
        return False
    length = np.abs(loss)
    first = float(weight @ length)
    second = float(weight @ np.minimum(0.5 * frequency * length * length, 2 * length))
    allowed = _ALLOWED_WHOLE if whole else _ALLOWED
    return count * frequency * first * _ULPS * _UNIT > allowed and second < _GAIN * first


class WaveNodes(NamedTuple):
    """The nodes of a tilted step on the real line or above it, as those of `Raised`."""

    loss: NDArray[Any]
    weight: NDArray[Any]
    size: Array
    noise: Array
    blur: Array
    quadrature: float


@dataclass(frozen=True, slots=True)
class MeanApart:
    """One step tilted by c, its mean apart from its waves."""

    mean: float
    mean_error: float
    nodes: WaveNodes

    def at(self, t: Array) -> tuple[Complex, Array]:
        """phi(t) - 1, and a bound on its error."""
        values = self._sums(t)
        return values, self._error(t, values, 0.0)

    def on_even_grid(self, h: float, count: int) -> tuple[Complex, Array]:
        """The same at t = 0, h, …, (count - 1) h.

        With za and zb the angles of two waves, a and b, that of their sum has g(za + zb) = g(za) + g(zb) + ab beyond
        its line, g(z) = e^(iz) - 1 - iz.
        """
        m = math.isqrt(count - 1) + 1
        sums = products_of_waves(self.nodes.loss, self.nodes.weight, h, m)
        short = np.asarray(h * np.arange(m), dtype=np.float64)
        near, far = self._sums(short), self._sums(m * short)
        sums[0], sums[:, 0] = near, far
        sums[1:, 1:] += far[1:, None] + near[1:]
        t, values = np.asarray(h * np.arange(count), dtype=np.float64), sums.ravel()[:count]
        blocks = -(-self.nodes.loss.size // BLOCK)
        return values, self._error(t, values, (2 * BLOCK + 2 * blocks + 24 + 8 * m.bit_length()) * _UNIT)

    def _sums(self, t: Array) -> Complex:
        """The sums of v (e^(itL) - 1 - itL), and itm."""
        values, nodes = np.asarray(1j * (self.mean * t), dtype=complex), self.nodes
        block = max(1, _LARGEST_BLOCK // nodes.loss.size)
        for start in range(0, t.size, block):
            some = slice(start, start + block)
            waves = wave_less_line(np.multiply.outer(t[some], nodes.loss))
            values[some] += np.sum(nodes.weight * waves, axis=1)
        return values

    def _error(self, t: Array, values: Complex, rounding: float) -> Array:
        """With z = tL: |g| <= min(|z|^2/2, 2|z|), and its slope in L is at most t min(|z|, 2).

        Sums of minima are at most the sum of either, and over t they are at most what they are at the last frequency.
        """
        nodes, t = self.nodes, np.abs(t)
        rounding += SUM_ROUNDING + (_WAVE + 48) * _UNIT
        whole = float(nodes.size @ nodes.noise) + rounding * float(np.sum(nodes.size))  # of the normalisation
        share, length, blur = nodes.size * (nodes.noise + whole + rounding), np.abs(nodes.loss), nodes.size * nodes.blur
        last, curved, turned = float(np.max(t)), 0.5 * float(share @ (length * length)), float(blur @ length)
        most_curved = float(share @ np.minimum(0.5 * last * length * length, 2 * length))
        most_turned = float(blur @ np.minimum(last * length, 2.0))
        slope = np.minimum(t * curved, most_curved) + np.minimum(t * turned, most_turned)
        straight = self.mean_error + 4 * _UNIT * abs(self.mean)
        return np.asarray(nodes.quadrature + t * (slope * (1 + 1e-12) + straight) + 16 * _UNIT * np.abs(values))


def mean_apart(
    part: TiltedPart,
    step: SampledGaussian,
    c: float,
    log_weight: Array,
    errors: tuple[Array, Array],
    longer: LongMoments | None = None,
) -> MeanApart | None:
    """A sample tilted by c, not steeply to the left; none where numbers would overflow.

    `errors` are the noise of its window, and the absolute error of L besides a relative one; `longer` may know the
    mean better.
    """
    of_window, moved = errors
    ends = part.loss[[0, -1]]
    if not float((c * ends).max()) < _LARGEST:
        return None
    null, alternative = (math.exp(log) for log in step.log_dropped)
    mean, rounding = certified_mean(part.loss, log_weight, c, null - alternative, of_window, moved)
    if longer is not None and longer.mean_error < rounding:
        mean, rounding = longer.mean, longer.mean_error
    front = math.exp(-part.log_moment)
    mean *= front
    # Of the quadratures: that of L e^(cL), relative to the moment, and those of e^L and of 1.
    farthest = _TURNED + step.mu + float(np.abs(ends).max())
    left_out = part.quadrature * (farthest + 2 * front)
    unsure = part.log_moment_error + 2 * part.quadrature * (1 + (abs(c) + abs(c - 1)) * front) + 4 * _UNIT
    error = (rounding + _DROPPED * alternative) * front * (1 + 1e-9) + left_out + 2 * abs(mean) * unsure
    if part.raised is None:
        blur = 12 * _UNIT * np.abs(part.loss) + moved
        return MeanApart(mean, error, WaveNodes(part.loss, part.weight, part.weight, part.noise, blur, part.quadrature))
    high = part.raised
    nodes = WaveNodes(high.loss, high.weight, high.size, high.noise, high.blur, high.quadrature)
    return MeanApart(mean, error + high.quadrature * farthest, nodes)


def wave_less_line(z: NDArray[Any]) -> Complex:
    """e^(iz) - 1 - iz, accurate relative to min(|z|^2/2, 2|z|); Im z >= 0.

    >>> print(wave_less_line(np.array([1e-9])).imag)
    [-1.66666667e-28]
    """
    made = wave_less_one(z)
    made -= 1j * z
    near = np.abs(z) < _NEAR
    if near.any():
        small = 1j * z[near]
        series = np.full(small.shape, 1 / math.factorial(_TERMS), dtype=complex)
        for k in range(_TERMS - 1, 1, -1):
            series *= small
            series += 1 / math.factorial(k)
        made[near] = series * (small * small)
    return made
