"""Waves e^(i angle) from the tangent of half their angle: NumPy has a fast tangent, and slow sines and cosines.

With T = tan(angle/2), sin(angle) = 2T/(1 + T^2) and 1 - cos(angle) = T sin(angle). The tangent of a double is never
larger than 1e17, so nothing overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses.law import Array

__all__ = ["BLOCK", "logarithm", "products_of_waves", "sums_of_waves", "wave_less_one", "waves_at_multiples"]

BLOCK = 32  # of nodes that are added in one product of matrices
_LARGEST_BLOCK = 1_000_000  # of waves that are made at a time


def wave_less_one(angle: NDArray[Any]) -> NDArray[np.complex128]:
    """e^(i angle) - 1, accurate where it is small; an angle above the real line makes a wave that fades.

    >>> print(wave_less_one(np.array([1e-9, np.pi])).real)
    [-5.e-19 -2.e+00]
    """
    if angle.dtype.kind == "c":
        turn = wave_less_one(angle.real)
        return np.asarray(np.expm1(-angle.imag) * (1 + turn) + turn)
    tangent = np.tan(0.5 * angle)
    sine = 2 * tangent / (1 + tangent * tangent)
    made = np.empty(angle.shape, dtype=complex)
    made.real = -tangent * sine
    made.imag = sine
    return made


def waves_at_multiples(angle: NDArray[Any], count: int) -> NDArray[np.complex128]:
    """e^(ij angle) - 1 for j = 0, …, count - 1: one angle, then sums of angles.

    With a and b the waves of two angles, that of their sum is a + b + ab = b (1 + a) + a, and of twice one a (2 + a).
    """
    waves = np.zeros((count, angle.size), dtype=complex)
    waves[1] = wave_less_one(angle)
    done = 2
    while done < count:
        half, rows = waves[done // 2], min(done, count - done)
        a = half * (2 + half)
        np.multiply(waves[:rows], 1 + a, out=waves[done : done + rows])
        waves[done : done + rows] += a
        done += rows
    return waves


def sums_of_waves(loss: NDArray[Any], weight: NDArray[Any], t: Array) -> NDArray[np.complex128]:
    """Sum of v (e^(itL) - 1)."""
    values = np.empty(t.size, dtype=complex)
    block = max(1, _LARGEST_BLOCK // loss.size)
    for start in range(0, t.size, block):
        part = slice(start, start + block)
        values[part] = np.sum(weight * wave_less_one(np.multiply.outer(t[part], loss)), axis=1)
    return values


def products_of_waves(loss: NDArray[Any], weight: NDArray[Any], h: float, m: int) -> NDArray[np.complex128]:
    """The sums of v a_j b_k, a_j and b_k the waves e^(itL) - 1 at t = j h and k m h, but 1 in place of a_0 and b_0.

    So the first row and column are those of v a_j and of v b_k. They are a product of matrices, in blocks of 32 nodes
    so that few roundings follow one another.
    """
    blocks = -(-loss.size // BLOCK)
    places, masses = np.zeros((2, blocks * BLOCK), dtype=loss.dtype)
    places[: loss.size], masses[: loss.size] = loss, weight
    waves = waves_at_multiples(np.concatenate([h * places, m * h * places]), m)
    near, far = waves[:, : places.size], waves[:, places.size :]
    near[0] = far[0] = 1.0
    far *= masses
    cells = (
        far.reshape(m, blocks, BLOCK).transpose(1, 0, 2),
        near.reshape(m, blocks, BLOCK).transpose(1, 2, 0),
    )
    if m * m * blocks <= _LARGEST_BLOCK:
        return np.asarray(np.add.reduce(np.matmul(*cells), axis=0))
    sums = np.zeros((m, m), dtype=complex)
    for left, right in zip(*cells, strict=True):  # one after the other: a long line has no room for all of them
        sums += left @ right
    return sums


def logarithm(d: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], Array]:
    """log(1 + d), its real part accurate where d is small, and |1 + d|, taken for 1e-300 where it underflows.

    >>> log, _ = logarithm(np.array([-1e-20 + 1e-30j, 1j - 1.0]))
    >>> print(log)
    [-1.e-20+1.00000000e-30j  0.e+00+1.57079633e+00j]
    """
    x, y = d.real, d.imag
    modulus = np.maximum(np.hypot(1 + x, y), 1e-300)
    square = np.maximum(2 * x + x * x + y * y, -0.9)  # |1 + d|^2 - 1 is above -0.75 where it is used
    log = np.empty(d.shape, dtype=complex)
    log.real = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(square), np.log(modulus))
    log.imag = np.arctan2(y, 1 + x)
    return log, modulus
