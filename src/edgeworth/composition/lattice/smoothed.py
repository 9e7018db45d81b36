"""The law of a sum of losses, smoothed by a little Gaussian noise: an enclosure that does not widen with the steps.

Let Y = e^Z with Z ~ N(-v/2, v), so E[Y] = 1. For all x, u > 0, with l = log(x/u),

    0 <= E[(xY - u)_+] - (x - u)_+ <= v sqrt(xu) phi_v(l),          phi_v the density of N(0, v).

So delta of the smoothed sum is above delta by at most v times a density, and both are integrals along a vertical line,

    delta_v(t) = 1/(2 pi i) ∫ M_v(s) u^(1-s)/(s(s-1)) ds,     D(t) = 1/(2 pi i) ∫ M_v(s) u^(1-s) ds,

with M_v(s) = E[X^s] e^(v s (s-1)/2), whose last factor ends the integral at |t| = 7.5/sqrt(v) whatever the losses are.
One Fourier transform gives them at all points of a lattice. docs/proofs/lattice.md, section 8, bounds the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import fft

from edgeworth.composition.by_squares import power
from edgeworth.composition.lattice.tilted_lattice import Kind, Window
from edgeworth.composition.lattice.transforms import FFT_CONSTANT, REACH, UNIT, Transform
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.losses.law import Array

    Index = NDArray[np.int64]
    Spectrum = NDArray[np.complex128]

__all__ = ["Line", "SmoothTail", "smoothed"]

_STRIDE = 3  # points between those whose chord bounds the curve outside it
_SHIFTS = tuple(0.03 * 1.7**k for k in range(16))  # tilts tried for the aliases, in units of 10/period
_LARGEST = 700.0
_RUN = 2**15  # frequencies at a time: half a megabyte
#: up to which tilt to the right (1) and to the left (-1) Chernoff's inequality bounds a reading; None, any
_POLES: dict[Kind, dict[int, float | None]] = {
    "delta": {1: None, -1: 1.0},
    "reverse": {1: 0.0, -1: None},
    "overlap": {1: 1.0, -1: 0.0},
}


@dataclass(frozen=True, eq=False)
class SmoothTail:
    """Ends of one kind of reading at the points of a window: E[(X-u)_+], E[(u-X)_+]/u or E[min(X, u)].

    The first is convex in u, so is the second times u, and the third is concave: that bounds them between points.
    """

    kind: Kind
    window: Window
    log_low: Array  # logarithms of the ends, of the second kind times u
    log_high: Array

    @property
    def points(self) -> Array:
        """The losses of the points."""
        return np.asarray(self.window.offset + self.window.h * (self.window.first + np.arange(self.window.size)))

    @property
    def reach(self) -> tuple[float, float]:
        """Between which losses the ends are interpolated."""
        first, last = self.points[[_STRIDE, -1 - _STRIDE]].tolist()
        return first, last

    def ends(self, t: Array) -> tuple[Array, Array]:
        """Lower and upper end at t."""
        h, size = self.window.h, self.window.size
        steps = (t - self.window.offset) / h - self.window.first
        index = np.clip(np.floor(steps).astype(np.int64), _STRIDE, size - 2 - _STRIDE)
        d = np.clip(t - (self.window.offset + (self.window.first + index) * h), 0.0, h)
        by = t if self.kind == "reverse" else np.zeros(t.size)
        chord, share = (1, np.expm1(d) / math.expm1(h)) if self.kind != "overlap" else (0, np.expm1(d) / math.expm1(h))
        flat, round_side = (self._at(index + step, chord, by) for step in (0, 1))
        between = (1 - share) * flat + share * round_side
        near, far = 1 - chord, chord
        left, right = self._at(index, near, by), self._at(index + 1, near, by)
        left = left + (left - self._at(index - _STRIDE, far, by)) * (np.expm1(d) / -math.expm1(-_STRIDE * h))
        right = right + (right - self._at(index + 1 + _STRIDE, far, by)) * (-np.expm1(d - h) / math.expm1(_STRIDE * h))
        if self.kind == "overlap":
            return between * (1 - 32 * UNIT), np.minimum(left, right) * (1 + 32 * UNIT)
        return np.maximum(np.maximum(left, right), 0.0) * (1 - 32 * UNIT), between * (1 + 32 * UNIT)

    def _at(self, index: Index, end: int, by: Array) -> Array:
        """One end at points, over e^by."""
        with np.errstate(over="ignore", under="ignore"):
            return np.exp((self.log_high if end else self.log_low)[index] - by)

    def concave(self, *, backward: bool) -> tuple[Array, Array, Array]:
        """A concave function of z at z in rising order, lower and upper end; its maximum less z alpha is f.

        Forward, z = u: overlap or -E[(u-X)_+]. Backward, z = 1/u: z overlap or -z delta.
        """
        t = self.points
        shift = -t if backward else np.zeros(t.size)
        with np.errstate(over="ignore", under="ignore"):
            ends = [np.exp(log_end + shift) for log_end in (self.log_low, self.log_high)]
            z, order = (np.exp(-t), slice(None, None, -1)) if backward else (np.exp(t), slice(None))
        low, high = ends if self.kind == "overlap" else (-ends[1], -ends[0])
        return z[order], low[order], high[order]


@dataclass(frozen=True, eq=False)
class Line:
    """What is integrated: a kind of reading of so many copies of each step, at Re s = tilt, on points h apart."""

    kind: Kind
    steps: list[tuple[Transform, int]]
    tilt: float
    h: float
    size: int

    @property
    def variance(self) -> float:
        """Of the noise: the least that ends the line at its last frequency."""
        return (REACH * self.h / math.pi) ** 2

    @property
    def period(self) -> float:
        """Of the readings."""
        return self.size * self.h

    @cached_property
    def scale(self) -> float:
        """The logarithm of M_v(c)."""
        return self.combined(lambda step: step.log_scale) + 0.5 * self.variance * self.tilt * (self.tilt - 1)

    def combined(self, log_of: Callable[[Transform], float]) -> float:
        """The logarithm of a product over all steps, of what each has the logarithm of."""
        return math.fsum(n * log_of(step) for step, n in self.steps)

    @property
    def error(self) -> float:
        """At most the relative error of a sum of masses of all steps."""
        return 4 * math.fsum(n * (step.error + 16 * UNIT) for step, n in self.steps)

    @property
    def depth(self) -> float:
        """The sizes of all logarithms that were added."""
        return math.fsum(n * abs(step.log_scale) for step, n in self.steps)

    def besides(self, t: Array) -> Array:
        """The logarithm of at least what is left out of the line adds to the reading at every t: nothing."""
        return np.full(t.size, -math.inf)

    @property
    def runs(self) -> list[slice]:
        """The numbers of the frequencies, some at a time."""
        count = self.size // 2 + 1
        return [slice(start, min(start + _RUN, count)) for start in range(0, count, _RUN)]

    def frequency(self, run: slice) -> Array:
        """Those of some numbers; that of 0 is 0."""
        return np.asarray((2 * math.pi / self.period) * np.arange(run.start, run.stop))

    def kernel(self, run: slice) -> Spectrum:
        """1/(s(s-1)) at some frequencies, with the sign of the reading."""
        s = self.tilt - 1j * self.frequency(run)
        return np.asarray((-1.0 if self.kind == "overlap" else 1.0) / (s * (s - 1)))

    def log_moment(self, b: float) -> float:
        """At least log M_v(b)."""
        return self.combined(lambda step: step.log_moment(b)) + 0.5 * self.variance * b * (b - 1)

    def power(self, run: slice) -> tuple[Spectrum, Array]:
        """The product of the transforms to their powers, and a bound of its error, at some of the frequencies."""
        product, most = np.ones(run.stop - run.start, dtype=complex), np.ones(run.stop - run.start)
        count = 0
        for step, n in self.steps:
            values = step.values[run]
            product *= power(values, n, np.multiply)
            most *= power(np.abs(values) + step.errors(run), n, np.multiply)
            count += n
        return product, np.maximum(most - np.abs(product), 0.0) + most * (16 * math.pi * UNIT * (count + 1))

    def bound(self, tilts: list[float], t: float) -> float:
        """The sum over j > 0 of e^(-|b-c| j Lam) M_v(b) e^((c-b) t), over the scale, for the best of some b."""
        logs = [
            self.log_moment(b) - self.scale + (self.tilt - b) * t + _log_geometric(abs(b - self.tilt) * self.period)
            for b in tilts
        ]
        return math.exp(min([*logs, _LARGEST]))

    def beyond(self, which: int, rate: float, t: Array) -> Array:
        """One of the masses, P (0) or Q (1), over the scale, times e^(-rate Lam) + e^(-2 rate Lam) + … ."""
        log_mass = self.combined(lambda step: step.log_masses[which]) - self.scale
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(log_mass + (self.tilt - which) * t + _log_geometric(rate * self.period)))


class _Aliases(NamedTuple):
    """What the periods add, over the scale: a known part, at most how much more, and at most how much less."""

    known: Array
    more: float
    less: float


def smoothed(line: Line, kept: tuple[float, float]) -> SmoothTail:
    """The readings of the sum at the points between the losses of `kept`."""
    spend(1.5 * line.size * len(line.steps))
    h, c, v = line.h, line.tilt, line.variance
    low = math.floor(kept[0] / h) - 2 * _STRIDE - 2
    window = Window(h, 0.0, low, min(math.ceil(kept[1] / h) + 2 * _STRIDE + 3 - low, line.size))
    t = np.asarray(h * np.arange(low, low + window.size, dtype=np.float64))
    (main, blur), (density, density_blur) = _sums(line, window)
    end = (line.size // 2 - 1) * 2 * math.pi / line.period
    cut = math.exp(-0.5 * v * end**2) / (math.pi * v * end)
    aliases = _aliases(line, t)
    certain = 1e-13 + line.error
    slack = blur + cut / end**2 + certain * np.abs(aliases.known)
    dense = np.maximum(density + density_blur + cut, 0.0) * (v * math.exp(v / 8) * 1.0001)
    below, above = (0.0, dense) if line.kind == "overlap" else (dense, 0.0)
    lower = main - aliases.known - slack - aliases.more - below
    upper = main - aliases.known + slack + aliases.less + above
    exponent = line.scale + (1 - c) * t
    rounding = 16 * UNIT * (np.abs(exponent) + line.depth + 8)
    log_low = np.where(lower > 0, np.log(np.maximum(lower, 1e-300)), -np.inf) + exponent - rounding
    log_high = np.logaddexp(np.log(np.maximum(upper, 1e-300)) + exponent + rounding, line.besides(t))
    most = {"delta": np.zeros(t.size), "reverse": t, "overlap": np.minimum(t, 0.0)}[line.kind]  # for any law
    return SmoothTail(line.kind, window, log_low, np.minimum(log_high, most + 1e-9))


def _sums(line: Line, window: Window) -> list[tuple[Array, float]]:
    """The sums along the line for the reading and for the density, at the points of the window, and their errors.

    Frequencies are taken some thousand at a time: nothing but the spectrum is as long as the line.
    """
    spectrum, doubts = _spectrum(line)
    density = _row(line, window, spectrum, float(doubts[0]))
    for run in line.runs:
        spectrum[run] *= line.kernel(run)
    return [_row(line, window, spectrum, float(doubts[1])), density]


def _spectrum(line: Line) -> tuple[Spectrum, Array]:
    """M_v along the line, over its scale, and the sums of the bounds of its errors, without and with the kernel."""
    spectrum, doubts = np.empty(line.size // 2 + 1, dtype=complex), np.zeros(2)
    for run in line.runs:
        frequency = line.frequency(run)
        noise = np.exp(-0.5 * line.variance * (frequency * frequency + (2 * line.tilt - 1) * 1j * frequency))
        spectrum[run], doubt = line.power(run)
        spectrum[run] *= noise
        doubt *= np.abs(noise)
        doubts += float(np.sum(doubt)), float(np.sum(doubt * np.abs(line.kernel(run))))
    spectrum[-1] = 0.0
    return spectrum, doubts


def _row(line: Line, window: Window, spectrum: Spectrum, doubt: float) -> tuple[Array, float]:
    """The sum along the line at the points of the window, and its error."""
    first = (window.first - sum(n * step.first for step, n in line.steps)) % line.size
    circle = fft.irfft(spectrum, line.size)
    row = np.concatenate([circle[first : first + window.size], circle[: max(first + window.size - line.size, 0)]])
    size = math.fsum(float(np.sum(np.abs(spectrum[run]))) for run in line.runs)
    error = size * FFT_CONSTANT * math.log2(line.size) * UNIT + doubt
    return row / line.h, 2 * error / line.period


def _aliases(line: Line, t: Array) -> _Aliases:
    """The sum over j != 0 of e^((c-1) j Lam) F(t + j Lam).

    Where F vanishes in the direction of j it is bounded by Chernoff's inequality, with tilts between c and its pole.
    Beyond the law F is also linear in u, up to the reading that vanishes there. The lesser of both bounds is taken.
    """
    c, kind = line.tilt, line.kind
    shifts = [shift * 10 / line.period for shift in _SHIFTS]
    known, more, less = np.zeros(t.size), 0.0, 0.0
    for sign, end in ((1, float(t[0])), (-1, float(t[-1]))):
        pole, beyond = _POLES[kind][sign], [c + sign * x for x in shifts]
        if pole is None:
            more += line.bound(beyond, end)
            continue
        direct = line.bound([b for b in beyond if sign * (pole - b) > 0] + [pole], end)
        other = line.bound([b for b in beyond if (b >= 1 if sign > 0 else b <= 0)], end)
        if direct <= other:
            more += direct
        elif kind == "overlap":
            known += line.beyond(1, 1 - c, t) if sign > 0 else line.beyond(0, c, t)
            less += other
        else:
            known -= sign * (line.beyond(1, sign * (1 - c), t) - line.beyond(0, -sign * c, t))
            more += other
    return _Aliases(known, more, less)


def _log_geometric(x: float) -> float:
    """log(e^-x + e^-2x + …)."""
    return -x - math.log(-math.expm1(-x))
