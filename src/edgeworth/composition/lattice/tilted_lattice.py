"""The law of a sum of losses on lattice points, convolved after tilting, and the tails that are read off it.

The masses m_j = P[T = t_j] are kept as w_j = e^(c t_j - log M) m_j, whose sum is about 1: the round-off of the Fourier
transforms is relative to the tilted masses, and so to the tail at which the tilt c points. With h the step,

    kind "delta":   E[(X - u)_+]    = e^(log M - (c-1) t_k) d_k,    u = e^(t_k), for c > 1
    kind "reverse": E[(1 - X/u)_+]  = e^(log M - c t_k) d_k,        for c < 0
    kind "overlap": E[min(X, u)]    = e^(log M + (1-c) t_k) d_k,    for 0 <= c <= 1

where X = e^T and d_k is a sum of w_j times a kernel of j - k, found by recursions whose terms all have one sign.
docs/proofs/lattice.md bounds what the transforms, the window and the recursions add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import fft

from edgeworth.composition.by_squares import power
from edgeworth.composition.log_sums import log_sum
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.lattice.rounding import PointLaw
    from edgeworth.losses.law import Array

    Index = NDArray[np.int64]

__all__ = ["Kind", "Tail", "TiltedSum", "Window", "convolved"]

Kind: TypeAlias = Literal["delta", "reverse", "overlap"]

_UNIT = 2.0**-53
_FFT_CONSTANT = 8.0  # of the bound C u log2(N) on the relative l2 error of one transform; see the proofs
_MOST_BLOCKS = 2**12
_TINY = 1e-250  # more than the masses can have that are too small to be accurate relative to themselves
_MOST_NATS = 600.0  # by which masses that were raised for rounding may have grown
_SMALL = 2**12  # windows that are kept whole
_LONGEST = 2**20  # points of a window that goes on where the law has ended
_RUN = 2**14  # points at a time, of a recursion
_SHIFTS = tuple(0.03 * 1.7**k for k in range(16))  # tilts tried for what is outside, in units of 10/width


@dataclass(frozen=True, slots=True)
class Window:
    """The points number first … first + size - 1 of the lattice of the sum; number j lies at offset + j h."""

    h: float
    offset: float
    first: int
    size: int

    def place(self, t: Array) -> tuple[Index, Array]:
        """The index of the last point at or before t, and how far t lies towards the next in e^t, in [0, 1]."""
        steps = (t - self.offset) / self.h - self.first
        index: Index = np.clip(np.floor(steps).astype(np.int64), 0, self.size - 2)
        rest = np.clip(t - (self.offset + (self.first + index) * self.h), 0.0, self.h)
        return index, np.asarray(np.expm1(rest) / math.expm1(self.h))


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """The tilted masses within a window.

    `noise` bounds the l2 norm of their errors, `outside` the tilted mass outside the window, which appears inside at a
    wrong place; `error` the relative error of the masses that were convolved.
    """

    window: Window
    mass: Array
    tilt: float
    log_scale: float
    noise: float
    outside: float
    error: float

    def tail(self, kind: Kind, least: float, greatest: float) -> Tail:
        """The readings at the points between two losses.

        Beyond the law delta is 0 on the right, and the reverse on the left; nothing else is read outside the window.
        """
        first, h = self.window.first, self.window.h
        start, end = self.window.offset + h * first, self.window.offset + h * (first + self.window.size - 1)
        if (start > least and kind != "reverse") or (end < greatest and kind != "delta"):
            raise ComputationFailed("a threshold lies too far outside the law for the lattice; use another method")
        make = {"delta": _delta, "reverse": _reverse, "overlap": _overlap}[kind]
        main, side, other, kernels = make(self.mass, self.tilt, self.window.h)
        low, high = (int(self.window.place(np.array([t]))[0][0]) for t in (least, greatest))
        kept = slice(max(low - 2, 0), min(high + 4, self.window.size))
        if self.window.size <= _SMALL:
            kept = slice(0, self.window.size)
        window = Window(self.window.h, self.window.offset, self.window.first + kept.start, kept.stop - kept.start)
        blur = [self.noise * float(np.linalg.norm(k)) + self.outside * float(np.max(k)) for k in kernels]
        running = 4 * self.window.size * _UNIT
        error = self.error + running + 16 * _UNIT * abs(self.log_scale)
        arrays = main[kept].copy(), side[kept].copy(), None if other is None else other[kept].copy()
        return Tail(kind, window, self.tilt, self.log_scale, *arrays, blur, error)


def _running(values: Array, decay: float) -> Array:
    """y_k = v_k + decay y_(k-1): a triangular system with one band, solved some thousand rows at a time."""
    from scipy.linalg.lapack import dtbtrs  # noqa: PLC0415 - few readings need it

    made = np.array(values)
    band = np.empty((2, min(_RUN, made.size)), order="F")
    band[0], band[1] = 1.0, -decay
    for start in range(0, made.size, _RUN):
        part = made[start : start + _RUN]
        if start > 0:
            part[0] += decay * made[start - 1]
        part[:] = dtbtrs(band[:, : part.size], part[:, None], uplo="L", diag="U")[0][:, 0]
    return made


def _suffix(mass: Array, decay: float) -> Array:
    """s_k = sum over j > k of w_j decay^(j-k)."""
    return np.append(decay * _running(mass[::-1], decay)[-2::-1], 0.0)


def _prefix(mass: Array, decay: float) -> Array:
    """r_k = sum over j < k of w_j decay^(k-j)."""
    return np.append(0.0, decay * _running(mass, decay)[:-1])


def _distances(size: int, h: float, decay: float) -> Array:
    """h, 2h, … up to the window's length, or to where e^(-decay i h) < e^-50 has nothing to add to a norm."""
    enough = 50 / max(decay * h, 1e-300)
    return np.asarray(h * np.arange(1, min(size, enough) + 1))


def _delta(mass: Array, c: float, h: float) -> tuple[Array, Array, None, list[Array]]:
    """d_k = (e^h - 1) s_k + e^(-(c-1)h) d_(k+1); beside it s_k, for P[T > t_k]."""
    above = _suffix(mass, math.exp(-c * h))
    main = math.expm1(h) * _running(above[::-1], math.exp(-(c - 1) * h))[::-1]
    i = _distances(mass.size, h, c - 1)
    return main, above, None, [np.exp(-(c - 1) * i) * -np.expm1(-i), np.exp(-c * i)]


def _reverse(mass: Array, c: float, h: float) -> tuple[Array, Array, None, list[Array]]:
    """d_k = (1 - e^-h) r_k + e^((c-1)h) d_(k-1); beside it r_k, for P[T < t_k]."""
    below = _prefix(mass, math.exp(c * h))
    main = -math.expm1(-h) * _running(below, math.exp((c - 1) * h))
    i = _distances(mass.size, h, -c)
    return main, below, None, [np.exp(c * i) * -np.expm1(-i), np.exp(c * i)]


def _overlap(mass: Array, c: float, h: float) -> tuple[Array, Array, Array, list[Array]]:
    """d_k = q_k + s_k with q_k the sum over j <= k of w_j e^(-(1-c)(k-j)h), for Q[T <= t_k]; beside it s_k, and q_k."""
    above = _suffix(mass, math.exp(-c * h))
    below = _running(mass, math.exp(-(1 - c) * h))
    left = np.exp(-(1 - c) * (_distances(mass.size, h, 1 - c) - h))
    right = np.exp(-c * (_distances(mass.size, h, c) - h))
    return above + below, above, below, [np.concatenate([left, right]), right, left]


@dataclass(frozen=True, eq=False)
class Tail:
    """Scaled readings at the points of a window, with the error bound of each; chords in e^t between points."""

    kind: Kind
    window: Window
    tilt: float
    log_scale: float
    main: Array
    side: Array
    other: Array | None
    blur: list[float]
    error: float

    def _exponent(self, t: Array) -> Array:
        power = {"delta": 1 - self.tilt, "reverse": -self.tilt, "overlap": 1 - self.tilt}[self.kind]
        return np.asarray(self.log_scale + power * t)

    @property
    def points(self) -> Array:
        """The losses of the points."""
        return self._points(np.arange(self.window.size, dtype=np.int64))

    @property
    def reach(self) -> tuple[float, float]:
        """Between which losses the ends are chords."""
        first, last = self._points(np.array([0, self.window.size - 1])).tolist()
        return first, last

    def _points(self, index: Index) -> Array:
        return np.asarray(self.window.offset + self.window.h * (self.window.first + index))

    def at_points(self, index: Index) -> tuple[Array, Array]:
        """Ends of the reading of the law at points."""
        return self._at_points(index, self._points(index))

    def power_ends(self, index: Index) -> tuple[Array, Array]:
        """Ends at points of Q[T > t_k] = E[(X - u)_+] + u P[T > t_k], of the delta kind."""
        main, side, growth = self.at_points(index), self.side_ends(index), np.exp(self._points(index))
        return main[0] + growth * side[0] * (1 - 4 * _UNIT), main[1] + growth * side[1] * (1 + 4 * _UNIT)

    def acceptance_ends(self, index: Index) -> tuple[Array, Array]:
        """Ends at points of Q[T < t_k] = u (P[T < t_k] - E[(1 - X/u)_+]), of the reverse kind."""
        main, side, growth = self.at_points(index), self.side_ends(index), np.exp(self._points(index))
        low, high = growth * (side[0] - main[1]), growth * (side[1] - main[0])
        return np.maximum(low - 4 * _UNIT * growth * side[1], 0.0), high + 4 * _UNIT * growth * side[1]

    def ends(self, t: Array) -> tuple[Array, Array]:
        """Lower and upper end of the reading of the law at t: E[(X-u)_+], E[(1-X/u)_+] or E[min(X, u)]."""
        index, share = self.window.place(t)
        low, high = (self._at_points(index + step, t) for step in (0, 1))
        with np.errstate(invalid="ignore"):  # no share of what overflows
            lower, upper = ((1 - share) * low[end] + share * high[end] for end in (0, 1))
        return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), math.inf, upper)

    def _at_points(self, index: Index, t: Array) -> tuple[Array, Array]:
        """Ends at points; of the reverse, times the point's e^(t_k - t), which makes it linear between points."""
        point = self._points(index)
        exponent = self._exponent(point) + (point - t if self.kind == "reverse" else 0.0)
        return self._scaled(exponent, self.main[index], self.blur[0])

    def side_ends(self, index: Index, *, other: bool = False) -> tuple[Array, Array]:
        """Ends at points of P[T > t_k] (of P[T < t_k] for the reverse), or of the other, Q[T <= t_k] of the overlap."""
        point = self._points(index)
        array = self.other if other else self.side
        assert array is not None
        power = 1 - self.tilt if other else -self.tilt
        return self._scaled(self.log_scale + power * point, array[index], self.blur[2 if other else 1])

    def _scaled(self, exponent: Array, value: Array, blur: float) -> tuple[Array, Array]:
        """Ends of values times e^exponent; of what is 0 where that overflows nothing is known."""
        slack = self.error * np.abs(value) + blur * (1 + self.error)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scale = np.exp(exponent)
            lower, upper = scale * (value - slack), scale * (value + slack)
        upper = np.where(np.isnan(upper), math.inf, upper)
        return np.fmax(lower, 0.0) * (1 - 8 * _UNIT), upper * (1 + 8 * _UNIT)


def convolved(
    laws: list[tuple[PointLaw, int]], tilt: float, h: float, offset: float, reach: tuple[float, float]
) -> TiltedSum:
    """The law of the sum of n_i independent copies of each law, in a window around `reach`.

    The window holds all of `reach`, be the law shorter: thresholds are read inside it. One too long for that ends with
    the law.
    """
    numbers = sum(n * law.first for law, n in laws)
    longest = sum(n * (law.mass.size - 1) for law, n in laws) + 1
    first, last = math.floor((reach[0] - offset) / h) - 2, math.ceil((reach[1] - offset) / h) + 4
    if last - first > _LONGEST:
        first, last = max(first, numbers - 2), min(last, numbers + longest + 2)
    size = fft.next_fast_len(max(last - first, 16), real=True)
    spend(size * len(laws))
    if math.fsum(n * math.log(max(float(np.sum(law.mass)), 1e-300)) for law, n in laws) > _MOST_NATS:
        raise ComputationFailed("rounding outweighs the law of so many steps; the lattice needs another step or tilt")
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    noise, steps = 0.0, 0
    for law, n in laws:
        transform = fft.rfft(_folded(law.mass, size), size)
        for run in _runs(transform.size):
            spectrum[run] *= power(transform[run], n, np.multiply)
        noise += n * float(np.linalg.norm(law.mass))
        steps += n
    circular = fft.irfft(spectrum, size)
    mass = np.roll(circular, -((first - numbers) % size))
    length = float(np.linalg.norm(mass))
    noise = _FFT_CONSTANT * _UNIT * math.log2(size) * (noise + length) + 8 * math.pi * _UNIT * steps * length
    window = Window(h, offset, first, size)
    outside = _outside(laws, first - numbers, first - numbers + size - 1, longest) + _TINY
    log_scale = math.fsum(n * law.log_scale for law, n in laws)
    error = sum(n * law.error for law, n in laws)
    return TiltedSum(window, mass, tilt, log_scale, 1.01 * noise, outside, 1.01 * error)


def _runs(size: int) -> list[slice]:
    """All numbers, some at a time: what is multiplied again and again should stay near."""
    return [slice(start, min(start + _RUN, size)) for start in range(0, size, _RUN)]


def _folded(mass: Array, size: int) -> Array:
    """The masses modulo the length of the window: the same transform, for a law longer than its window."""
    if mass.size <= size:
        return mass
    padded = np.concatenate([mass, np.zeros(-mass.size % size)])
    return np.asarray(padded.reshape(-1, size).sum(axis=0))


def _outside(laws: list[tuple[PointLaw, int]], first: int, last: int, longest: int) -> float:
    """At least the tilted mass of the sum before number `first` or after number `last`, by Chernoff's inequality."""
    total, width = 0.0, max(last - first, 1)
    if not all(law.mass.any() for law, _ in laws):
        return total
    for sign, end, needed in ((1, last, last < longest - 1), (-1, first, first > 0)):
        if needed:
            blocks = [(*_blocks(law.mass, sign), n) for law, n in laws]
            total += math.exp(min(0.0, *(_exponent(blocks, sign * shift * 10 / width, end) for shift in _SHIFTS)))
    return total


def _exponent(blocks: list[tuple[Array, Array, int]], s: float, end: int) -> float:
    """The logarithm of prod E[e^(s R_i)]^n_i e^(-s end), rounded up."""
    logs = [n * log_sum(s * place + log_mass) for place, log_mass, n in blocks]
    return math.fsum([*logs, -s * end]) + 1e-12 * (abs(s * end) + sum(map(abs, logs)))


def _blocks(mass: Array, sign: int) -> tuple[Array, Array]:
    """Sums of the masses over some thousand blocks, each at that end of its block where its moment is the larger."""
    length = max(1, mass.size // _MOST_BLOCKS)
    starts = np.arange(0, mass.size, length)
    sums = np.add.reduceat(mass, starts)
    held = sums > 0
    place = np.minimum(starts + length - 1, mass.size - 1) if sign > 0 else starts
    return place[held].astype(np.float64), np.log(sums[held])
