"""Waves e^(i angle) from the tangent of half their angle: NumPy has a fast tangent, and slow sines and cosines.

With T = tan(angle/2), sin(angle) = 2T/(1 + T^2) and 1 - cos(angle) = T sin(angle). The tangent of a double is never
larger than 1e17, so nothing overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["wave_less_one"]


def wave_less_one(angle: NDArray[Any]) -> NDArray[np.complex128]:
    """e^(i angle) - 1, accurate where it is small; an angle above the real line makes a wave that fades.

    >>> print(wave_less_one(np.array([1e-9, np.pi])).real)
    [-5.e-19 -2.e+00]
    """
    if np.iscomplexobj(angle):
        turn = wave_less_one(angle.real)
        return np.asarray(np.expm1(-angle.imag) * (1 + turn) + turn)
    tangent = np.tan(0.5 * angle)
    sine = 2 * tangent / (1 + tangent * tangent)
    made = np.empty(angle.shape, dtype=complex)
    made.real = -tangent * sine
    made.imag = sine
    return made
