"""The last atoms of a sum on a lattice, from their generating function: sums of positive terms, so nothing cancels.

A law that is its own mirror image has Q[L = largest - j g] = P[L = -largest + j g] = a_j. With r_j = a_j/a_0,

    Q[T = T_(last - k)] = Q_0 c_k,     Q_0 = prod a_0^n,     sum of c_k y^k = prod (1 + r_1 y^s + r_2 y^(2s) + …)^n,

where s is the stride of a step. `docs/proofs/fourier.md` bounds the rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["TopAtoms", "TopPart"]

_UNIT = 2.0**-53
_MOST = 512  # atoms
_FEW_STEPS = 16  # whose power is multiplied out
_LEAST_LOG = -690.0  # of Q_0: no c_k is larger than 1/Q_0
_MOST_ERROR = 1e-11  # relative: what is worse is left to the Fourier sum
_LOST = 1e-300  # more than what underflows


class TopPart(NamedTuple):
    """A kind of step: the logarithms of a_0, a_1, …, how often it ran, its stride and its spacing."""

    log_mass: Array
    n: int
    stride: int
    spacing: float


class _Roundings(NamedTuple):
    """Units that c_k has for each of k: those of the ratios and of sums, and at most how long these sums are."""

    each: float
    longest: int


class TopAtoms:
    """Readings at the last few hundred points."""

    def __init__(self, parts: list[TopPart], step: float) -> None:
        self._step = step
        log_first = math.fsum(part.n * float(part.log_mass[0]) for part in parts)
        self._fixed = 64 + math.fsum(part.n * -float(part.log_mass[0]) * (16 + part.spacing) for part in parts)
        self._growing: list[_Roundings] = []
        self._mass = np.array([math.exp(log_first)])
        self.count = 0 if log_first < _LEAST_LOG else _MOST
        for part in parts if self.count else ():
            self._multiply(part)

    def _multiply(self, part: TopPart) -> None:
        """By the powers of one kind of step; they grow by one stride at a time."""
        with np.errstate(under="ignore"):
            series, known = _series(part.log_mass, part.n)
            spread = np.zeros(min((series.size - 1) * part.stride + 1, _MOST))
            spread[:: part.stride] = series[: (spread.size - 1) // part.stride + 1]
            products = min(part.n, _FEW_STEPS) + min(self._mass.size - 1, 1)
            self._mass = np.convolve(self._mass, spread)[:_MOST]
        self.count = min(self.count, known * part.stride)
        ratio = np.abs(part.log_mass[1:_MOST] - part.log_mass[0]) + 2 * np.abs(part.log_mass[0])
        each = float(np.max(8 * (2 + ratio) / np.arange(1, ratio.size + 1)))
        self._growing.append(_Roundings(each + products + 8, part.log_mass.size))
        self._fixed += products + 8

    def read(self, below: int, *, slope: bool) -> tuple[float, float] | None:
        """Ends of e^(T_m) P[T >= T_m], or of delta(T_m), m that many points below the last; None if not known well."""
        if not 0 <= below < self.count:
            return None
        growing = sum(each + min(longest, below) for each, longest in self._growing)
        error = (self._fixed + below * (growing + 1 + 2 * self._step)) * _UNIT
        if error > _MOST_ERROR:
            return None
        if below == 0 and not slope:
            return 0.0, 0.0
        mass = self._mass[: below + 1]
        away = self._step * (below - np.arange(mass.size))
        with np.errstate(under="ignore"):
            value = float(np.sum(mass * (np.exp(-away) if slope else -np.expm1(-away))))
        return max(value * (1 - error) - _LOST, 0.0), min(value * (1 + error) + _LOST, 1.0)


def _series(log_mass: Array, n: int) -> tuple[Array, int]:
    """c_0, c_1, … of one kind of step, and how many are known: beyond the last that there is all are 0."""
    ratio = np.exp(log_mass[:_MOST] - log_mass[0])
    last = (log_mass.size - 1) * n
    if log_mass.size == 2:
        k = np.arange(1, min(last, _MOST - 1) + 1, dtype=np.float64)
        series = np.concatenate([[1.0], np.cumprod((n + 1 - k) / k * ratio[1])])
    elif n <= _FEW_STEPS:
        series = ratio
        for _ in range(n - 1):
            series = np.convolve(series, ratio)[:_MOST]
    else:
        series = _recurrence(ratio, n, min(last, n + 1, _MOST - 1))
    return series, _MOST if series.size > last else series.size


def _recurrence(ratio: Array, n: int, last: int) -> Array:
    """The c_k with k c_k = sum over j of (j (n + 1) - k) r_j c_(k-j), whose terms are >= 0 for k <= n + 1."""
    series, degree = np.zeros(last + 1), ratio.size - 1
    series[0] = 1.0
    whole = np.arange(degree + 1) * (n + 1.0)
    for k in range(1, last + 1):
        most = min(degree, k)
        terms = (whole[1 : most + 1] - k) * ratio[1 : most + 1] * series[k - most : k][::-1]
        series[k] = np.sum(terms) / k
    return series
