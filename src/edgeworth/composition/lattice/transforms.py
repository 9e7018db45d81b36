"""The Fourier transform of one tilted step, right up to a bound at every frequency.

Masses lie anywhere. Around the nearest point of a lattice e^(-itL) is a Taylor series, so the transform is a sum of
fast transforms of the local moments. docs/proofs/lattice.md, section 7, has the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from edgeworth.composition.log_sums import log_sum
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeworth.composition.lattice.masses import Masses
    from edgeworth.losses.law import Array

    Spectrum = NDArray[np.complex128]

__all__ = ["FFT_CONSTANT", "REACH", "UNIT", "Transform", "transform", "with_ends"]

UNIT = 2.0**-53
FFT_CONSTANT = 8.0  # of the bound C u log2(N) of one transform, in the largest error over the sum of the masses
REACH = 7.5  # standard deviations of the noise's own transform at the last frequency, where it is e^-28
_TAYLOR_REST = 1e-15  # where the noise lets it show
_MOST_BLOCKS = 2**12
_RUN = 2**16  # masses at a time: half a megabyte
_TAIL_ERROR = 1e-11  # relative, of the masses outside the ranges


@dataclass(frozen=True, eq=False)
class Transform:
    """E_c[e^(-it(L - first h))] of one tilted step at t = 2 pi j/(N h), j = 0 … N/2, right up to `errors`."""

    values: Spectrum
    first: int
    log_scale: float
    error: float
    log_masses: tuple[float, float]  # logarithms of the masses under P and Q
    blocks: tuple[Array, Array]  # places and logarithms of P-masses of a law with larger moments
    taylor: tuple[float, int]  # the argument of the series, at most, from one frequency to the next, and its order

    def errors(self, run: slice) -> Array:
        """At some of the frequencies: `error`, and what the Taylor series leaves out."""
        steep, order = self.taylor
        return np.asarray(self.error + (steep * np.arange(run.start, run.stop)) ** order / math.factorial(order))

    def log_moment(self, s: float) -> float:
        """At least log E_P[e^(sL)]."""
        place, log_mass = self.blocks
        return log_sum(s * place + log_mass) + 1e-13 + 8 * UNIT * abs(s) * float(np.max(np.abs(place)))


def transform(law: Masses, tilt: float, h: float, size: int, lost: float = -math.inf) -> Transform:
    """By a Taylor series around the nearest point: a Fourier transform of every local moment.

    `lost` is the logarithm of a P-mass at the left end that the masses leave out. The arrays of the law are used up:
    there may be millions of masses.
    """
    blocks, both, count = _blocks(law), (_log_moment(law, 0.0), _log_moment(law, 1.0)), law.place.size
    weight, log_scale, deep = _weights(law, tilt)
    rest, starts, number = _nearest(law.place, h)
    first = int(number[0])
    place = (number.astype(np.int64) - first) % size
    del number
    angle = (2 * math.pi / size) * np.arange(size // 2 + 1)
    farthest = math.pi * max(abs(float(np.min(rest))), float(np.max(rest)))
    values, factor, order = np.zeros(angle.size, dtype=complex), np.ones(angle.size), 0
    while _remainder(farthest, order) > _TAYLOR_REST:  # the term (-i theta y)^order/order!
        term = fft.rfft(np.bincount(place, np.add.reduceat(weight, starts), minlength=size), overwrite_x=True)
        term *= factor
        if order % 2:  # times -i
            values.real += term.imag
            values.imag -= term.real
        else:
            values += term
        order += 1
        weight *= rest
        factor *= angle
        factor /= order if order % 2 else -order  # (-i)^2 = -1
    spend(0.2 * order * size + count)
    longest = int(np.max(np.diff(np.append(starts, count))))
    rounding = FFT_CONSTANT * math.log2(size) * math.exp(farthest) + longest + 4 * order + 8 * abs(log_scale)
    error = law.error + UNIT * (rounding + 8 * deep + 64)
    error += math.exp(min(lost + tilt * law.ends[0] - log_scale, 0.0))
    return Transform(values, first, log_scale, error, both, blocks, (2 * farthest / size, order))


def _remainder(farthest: float, order: int) -> float:
    """What a Taylor series leaves at most, x^k/k!, times the noise that follows.

    At a share f of the last frequency x is f times the farthest and the noise e^(-REACH^2 f^2/2): at most for
    f^2 = k/REACH^2.
    """
    share = min(math.sqrt(order) / REACH, 1.0)
    return (farthest * share) ** order / math.factorial(order) * math.exp(-0.5 * (REACH * share) ** 2)


def _runs(size: int, length: int = _RUN) -> Iterator[slice]:
    """All indices, so many at a time."""
    return (slice(start, min(start + length, size)) for start in range(0, size, length))


def _weights(law: Masses, tilt: float) -> tuple[Array, float, float]:
    """The tilted masses over their sum, in place of their logarithms; the logarithm of the sum.

    And the mean of the sizes of the terms of the exponents.
    """
    weight, runs = law.log_mass, list(_runs(law.place.size))
    top = max(float(np.max(weight[run] + tilt * law.place[run])) for run in runs)
    sums, deep = [], []
    for run in runs:
        rise = tilt * law.place[run]
        terms = np.abs(weight[run]) + np.abs(rise)
        with np.errstate(under="ignore"):
            weight[run] = np.exp(weight[run] + rise - top)
            deep.append(float(weight[run] @ terms))
        sums.append(float(np.sum(weight[run])))
    whole = math.fsum(sums)
    weight /= whole
    return weight, top + math.log(whole), math.fsum(deep) / whole


def _nearest(place: Array, h: float) -> tuple[Array, NDArray[np.intp], Array]:
    """How far places are from the nearest point, in steps, in place of them; where those of another point begin.

    And the numbers of the points.
    """
    starts, numbers, before = [], [], math.nan
    for run in _runs(place.size):
        number = np.rint(place[run] / h)
        place[run] = (place[run] - number * h) / h
        begins = np.flatnonzero(np.diff(number, prepend=before) != 0)
        starts.append(run.start + begins)
        numbers.append(number[begins])
        before = float(number[-1])
    return place, np.concatenate(starts), np.concatenate(numbers)


def _log_moment(law: Masses, s: float) -> float:
    """The logarithm of E_P[e^(sL)]."""
    return log_sum(np.array([log_sum(s * law.place[run] + law.log_mass[run]) for run in _runs(law.place.size)]))


def _blocks(law: Masses) -> tuple[Array, Array]:
    """The masses of some thousand blocks of neighbours at the ends of each, with the means of the blocks.

    e^(sL) is convex, so its mean is no less than before.
    """
    length = max(1, law.place.size // _MOST_BLOCKS)
    some = max(1, _RUN // length) * length  # of whole blocks
    made = [_ends_of_blocks(law.place[run], law.log_mass[run], length) for run in _runs(law.place.size, some)]
    low, high, left, right = (np.concatenate(column) for column in zip(*made, strict=True))
    return np.concatenate([low, high]), np.concatenate([left, right])


def _ends_of_blocks(place: Array, log_mass: Array, length: int) -> tuple[Array, Array, Array, Array]:
    """First and last place of each block, and the logarithms of the masses there."""
    starts = np.arange(0, place.size, length)
    last = np.minimum(starts + length - 1, place.size - 1)
    top = np.maximum.reduceat(log_mass, starts)
    counts = last - starts + 1
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        mass = np.exp(log_mass - np.repeat(top, counts))
        low, high = place[starts], place[last]
        along = (place - np.repeat(low, counts)) / np.repeat(np.where(high > low, high - low, 1.0), counts)
        right = np.add.reduceat(mass * along, starts)
        left = np.add.reduceat(mass * (1 - along), starts)
        return low, high, np.log(left) + top, np.log(right) + top


def with_ends(made: Transform, tilt: float, h: float, size: int, atoms: list[tuple[float, float]]) -> Transform:
    """The transform with some more atoms, given by place and P-mass."""
    held = [(place, math.log(mass)) for place, mass in atoms if mass > 0]
    if not held:
        return made
    values, error, angle = made.values.copy(), made.error, (2 * math.pi / size) * np.arange(size // 2 + 1)
    log_scale = float(np.logaddexp.reduce([made.log_scale, *(tilt * place + mass for place, mass in held)]))
    values *= math.exp(made.log_scale - log_scale)
    for place, log_mass in held:
        share, at = math.exp(tilt * place + log_mass - log_scale), place / h - made.first
        values += share * np.exp(-1j * angle * at)
        rounding = 8 * UNIT * (math.pi * abs(at) + 64 + abs(tilt * place) + abs(log_mass) + abs(log_scale))
        error += share * (_TAIL_ERROR + rounding)
    places, log_masses = (np.array(column) for column in zip(*held, strict=True))
    blocks = np.concatenate([made.blocks[0], places]), np.concatenate([made.blocks[1], log_masses])
    null = float(np.logaddexp.reduce([made.log_masses[0], *log_masses]))
    alternative = float(np.logaddexp.reduce([made.log_masses[1], *(log_masses + places)]))
    both = null, alternative
    return Transform(values, made.first, log_scale, error + 16 * UNIT, both, blocks, made.taylor)
