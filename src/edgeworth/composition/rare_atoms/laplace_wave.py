"""The Fourier transform of Laplace noise at a tilt, by its formula: it needs no nodes, however high the frequency is.

With a = s - 1/2, E[e^(sL)] = e^(-theta/2) (cosh(a theta) + sinh(a theta)/(2a)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edgeworth.composition.lattice.transforms import UNIT, Transform
from edgeworth.composition.work import spend

__all__ = ["laplace_wave"]

_POINT = 1.0  # units of work for a frequency
_ERROR = 64 * UNIT  # of a value, which is at most 1; theta itself has an ulp, which a tilt makes a share of it


@dataclass(frozen=True, eq=False)
class _LaplaceTransform(Transform):
    """The same with the moments of a formula."""

    theta: float

    def log_moment(self, s: float) -> float:
        """At least log E_P[e^(sL)]."""
        return _log_moment(s, self.theta) + 1e-13 + 8 * UNIT * abs(s) * self.theta


def laplace_wave(theta: float, tilt: float, h: float, size: int) -> Transform:
    """At tilts c > 1/2, from the largest loss on: e^(-it theta) (1 + 1/(2a)) + e^(-2 c' theta + it theta) (1 - 1/(2a)).

    c' = c - 1/2, a = c' - it, over the same at t = 0. Numbers of points are whole, and turned by no rounding.
    """
    number = np.arange(size // 2 + 1)
    spend(_POINT * number.size)
    first = round(theta / h)
    rest = (theta / h - first) * (2 * math.pi / size)
    half = 0.5 / (tilt - 0.5 - (2j * math.pi / (size * h)) * number)
    near = np.exp(-1j * rest * number)
    turns = (2 * first * number) % size * (2 * math.pi / size)
    depth = math.exp(-2 * (tilt - 0.5) * theta)
    values = near * (1 + half) + depth * np.exp(1j * turns) * np.conj(near) * (1 - half)
    values /= 1 + half[0].real + depth * (1 - half[0].real)
    log_scale, error = _log_moment(tilt, theta), _ERROR + 16 * UNIT * tilt * theta
    nothing = np.empty(0), np.empty(0)
    return _LaplaceTransform(values, first, log_scale, error, (0.0, 0.0), nothing, (0.0, 1), theta)


def _log_moment(s: float, theta: float) -> float:
    """log(cosh(a theta) + theta/2 sinh(a theta)/(a theta)) - theta/2, or the same with e^(a theta) taken out."""
    a = abs(s - 0.5)
    y = a * theta
    if y < 1:
        return math.log(math.cosh(y) + 0.5 * theta * (math.sinh(y) / y if y > 0 else 1.0)) - 0.5 * theta
    return y - 0.5 * theta + math.log(0.5 * (1 + math.exp(-2 * y)) - math.expm1(-2 * y) / (4 * a))
