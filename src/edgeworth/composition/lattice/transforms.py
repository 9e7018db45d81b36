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

from edgeworth.composition.lattice.work import charge
from edgeworth.composition.log_sums import log_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.lattice.masses import Masses
    from edgeworth.losses.law import Array

    Spectrum = NDArray[np.complex128]

__all__ = ["FFT_CONSTANT", "UNIT", "Transform", "transform", "with_ends"]

UNIT = 2.0**-53
FFT_CONSTANT = 8.0  # of the bound C u log2(N) of one transform, in the largest error over the sum of the masses
_TAYLOR_REST = 1e-17
_MOST_BLOCKS = 2**12
_TAIL_ERROR = 1e-11  # relative, of the masses outside the ranges


@dataclass(frozen=True, eq=False)
class Transform:
    """E_c[e^(-it(L - first h))] of one tilted step at t = 2 pi j/(N h), j = 0 … N/2, right up to `error`."""

    values: Spectrum
    first: int
    log_scale: float
    error: float
    log_masses: tuple[float, float]  # logarithms of the masses under P and Q
    blocks: tuple[Array, Array]  # places and logarithms of P-masses of a law with larger moments

    def log_moment(self, s: float) -> float:
        """At least log E_P[e^(sL)]."""
        place, log_mass = self.blocks
        return log_sum(s * place + log_mass) + 1e-13 + 8 * UNIT * abs(s) * float(np.max(np.abs(place)))


def transform(law: Masses, tilt: float, h: float, size: int, lost: float = -math.inf) -> Transform:
    """By a Taylor series around the nearest point: a Fourier transform of every local moment.

    `lost` is the logarithm of a P-mass at the left end that the masses leave out.
    """
    exponent = law.log_mass + tilt * law.place
    log_scale = log_sum(exponent)
    weight = np.exp(exponent - log_scale)
    number = np.rint(law.place / h)
    rest = (law.place - number * h) / h
    first = int(number[0])
    starts = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
    place = (number[starts] - first).astype(np.int64) % size
    angle = (2 * math.pi / size) * np.arange(size // 2 + 1)
    farthest = math.pi * float(np.max(np.abs(rest)))
    values, factor = np.zeros(angle.size, dtype=complex), np.ones(angle.size)
    order, remainder = 0, 1.0
    while remainder > _TAYLOR_REST:  # the term (-i theta y)^order/order!
        term = fft.rfft(np.bincount(place, np.add.reduceat(weight, starts), minlength=size))
        term *= factor
        term *= (1, -1j, -1, 1j)[order % 4]
        values += term
        order += 1
        remainder *= farthest / order
        weight *= rest
        factor *= angle / order
    charge(0.2 * order * size + law.place.size)
    longest = int(np.max(np.diff(np.append(starts, law.place.size))))
    rounding = FFT_CONSTANT * math.log2(size) * math.exp(farthest) + longest + 4 * order + 8 * abs(log_scale)
    rounding += 8 * float(np.max(np.abs(exponent[weight > 0]), initial=0.0)) + 64
    error = law.error + 2 * remainder + UNIT * rounding + math.exp(min(lost + tilt * law.ends[0] - log_scale, 0.0))
    both = log_sum(law.log_mass), log_sum(law.log_mass + law.place)
    return Transform(values, first, log_scale, error, both, _blocks(law))


def _blocks(law: Masses) -> tuple[Array, Array]:
    """The masses of some thousand blocks of neighbours at the ends of each, with the means of the blocks.

    e^(sL) is convex, so its mean is no less than before.
    """
    length = max(1, law.place.size // _MOST_BLOCKS)
    starts = np.arange(0, law.place.size, length)
    last = np.minimum(starts + length - 1, law.place.size - 1)
    top = np.maximum.reduceat(law.log_mass, starts)
    counts = last - starts + 1
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        mass = np.exp(law.log_mass - np.repeat(top, counts))
        low, high = law.place[starts], law.place[last]
        along = (law.place - np.repeat(low, counts)) / np.repeat(np.where(high > low, high - low, 1.0), counts)
        right = np.add.reduceat(mass * along, starts)
        left = np.add.reduceat(mass * (1 - along), starts)
        log_mass = np.concatenate([np.log(left) + top, np.log(right) + top])
    return np.concatenate([low, high]), log_mass


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
    return Transform(values, made.first, log_scale, error + 16 * UNIT, both, blocks)
