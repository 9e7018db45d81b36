"""Where a reading has a given value, along one line: by interpolation, or by Newton's method far from the line's place.

Near the saddle point the threshold is almost a linear function of Phi^-1(reading), and a polynomial through a few
points has all digits. Nothing here is believed: every root is verified by the ends of the reading.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.rung import Kind, Rung
    from edgeworth.losses.law import Array

__all__ = ["Roots"]

_POINTS = 33
_CHEBYSHEV = -np.cos(math.pi * np.arange(_POINTS) / (_POINTS - 1))
_ROUGH = 1e-7  # of its length: what the polynomial through every second point may miss
_CLOSEST = 1e-6  # of its length: points that are this close in z, on a flat piece, have no polynomial
_OVERLAP = 0.1  # of its length: a root may lie beyond its guess
_OF_OTHERS, _OF_ROUGH = 0.02, 1e-5  # of the largest error of a point, and of the rough polynomial: what a root may miss
_MOST_STEPS = 30
_ARRIVED = 1e-9  # standard deviations: each step squares the error, so that the next one would be below an ulp
_AT_A_POINT = 1e-200  # an argument's distance from a point that it meets
_ROOM = 2.0  # times what the errors of the line leave open


class Roots:
    """The roots of one kind of reading on one line, which serves the thresholds from `near` to `far`."""

    def __init__(self, rung: Rung, kind: Kind, near: float, far: float) -> None:
        self._rung, self._kind = rung, kind
        self._ends = min(near, far), max(near, far)
        room = _OVERLAP * (far - near)
        self._inverse = Inverse(rung, kind, near - room, far + room)

    def served(self, threshold: Array) -> bool:
        """Whether all of these lie where no other line does better."""
        return _within(threshold, *self._ends)

    def by_interpolation(self, log_target: Array) -> tuple[Array, Array] | None:
        """The same without a guess, if all of these roots are interpolated and lie where no other line does better."""
        z = ndtri_exp(log_target)
        if not _within(z, self._inverse.least, self._inverse.most):
            return None
        x, width = self._interpolated(z, log_target)
        return (x, width) if self.served(x) else None

    def __call__(self, guess: Array, log_target: Array, scale: float) -> tuple[Array, Array]:
        """Thresholds at which the reading has these logarithms, and the width that its errors leave open around each.

        By interpolation, or by Newton's method beyond its ends.
        """
        z, inverse = ndtri_exp(log_target), self._inverse
        if _within(z, inverse.least, inverse.most):
            return self._interpolated(z, log_target)
        known = (z >= inverse.least) & (z <= inverse.most)
        x, width = np.empty(z.size), np.empty(z.size)
        if known.any():
            x[known], width[known] = self._interpolated(z[known], log_target[known])
        beyond = ~known
        x[beyond], width[beyond] = _newton(self._rung, self._kind, guess[beyond], log_target[beyond], scale)
        return x, np.where(np.isfinite(width) & (width > 0), width, 1e-9 * scale)

    def _interpolated(self, z: Array, log_target: Array) -> tuple[Array, Array]:
        """By the polynomial; where it may have spoilt more digits than are open, a step corrects."""
        x, width, noise = self._inverse(z)
        (spoilt,) = (width < noise).nonzero()
        if spoilt.size:
            value, slope = self._rung.value_and_slope(self._kind, x[spoilt])
            sure = value > 0  # a line whose errors are as large as its value may say anything
            x[spoilt[sure]] += (log_target[spoilt[sure]] - np.log(value[sure])) / slope[sure]
        return x, width


class Inverse:
    """The threshold as a polynomial in z = Phi^-1(reading), between `least` and `most`: for a normal law, a line."""

    def __init__(self, rung: Rung, kind: Kind, near: float, far: float) -> None:
        self.least, self.most = math.inf, -math.inf  # until there is a polynomial
        x = 0.5 * (far + near) - 0.5 * (far - near) * _CHEBYSHEV  # from far to near: there readings rise
        value = rung.value(kind, x)
        if not value.min() > 0:
            return
        y = np.log(value)
        z, slope = ndtri_exp(y), (y[1:] - y[:-1]) / (x[1:] - x[:-1])  # good enough for a width
        if not np.abs(slope).min() > 0 or not (z[1:] - z[:-1]).min() > _CLOSEST * (z[-1] - z[0]):
            return
        open_, apart = _open(rung, kind, x, value, np.concatenate([slope[:1], slope])), _apart(z)
        self._x, self._z, self._weight = x, z, _weights(apart)
        self._open = np.append(open_[0], np.maximum(open_[1:], open_[:-1]))  # from the point before to this one
        self._ulps = 2.0**-52 * max(abs(near), abs(far))
        rough, widest = self._rough_error(apart), float(open_.max())
        self.noise = max(_OF_OTHERS * widest, _OF_ROUGH * rough)
        if rough < _ROUGH * abs(far - near) and widest < math.inf:
            self.least, self.most = float(z[0]), float(z[-1])

    def _rough_error(self, apart: Array) -> float:
        """That of the polynomial through every second point: the error of all of them is about its square."""
        share = _weights(apart[::2, ::2]) / apart[1::2, ::2]
        whole = np.add.reduce(share, axis=1)
        if not whole.all():  # shares of uneven points, all digits of which have cancelled
            return math.inf
        off = float(np.abs(np.add.reduce(share * self._x[::2], axis=1) / whole - self._x[1::2]).max())
        return off if math.isfinite(off) else math.inf

    def __call__(self, z: Array) -> tuple[Array, Array, Array]:
        """The threshold, how far around it the errors of the line leave open, and what interpolation may add.

        Errors of the points, of some ulps at least, grow by the Lebesgue function: large where points are uneven in z.
        """
        share = self._weight / (z[:, None] - self._z + _AT_A_POINT)  # at a point, whose share is then the whole
        whole = np.add.reduce(share, axis=1)
        x = np.add.reduce(share * self._x, axis=1) / whole
        growth = np.add.reduce(np.abs(share), axis=1) / np.abs(whole)
        return x, self._open[np.add.reduce(self._z < z[:, None], axis=1)], self.noise + self._ulps * growth


def _within(x: Array, least: float, most: float) -> bool:
    """Whether all of them lie between these two; a number alone is looked at as one."""
    if x.size == 1:
        return bool(least <= x.item() <= most)
    return bool(least <= x.min() and x.max() <= most)


def _apart(z: Array) -> Array:
    """z_j - z_k, of points a length of 4 of which has a capacity of 1; on the diagonal 1."""
    apart = (z[:, None] - z) * (4 / (z[-1] - z[0]))
    apart.ravel()[:: z.size + 1] = 1.0
    return np.asarray(apart)


def _weights(apart: Array) -> Array:
    """Those of the barycentric formula, 1/prod (z_j - z_k), up to a common factor."""
    return np.asarray(1 / np.multiply.reduce(apart, axis=1))


def _open(rung: Rung, kind: Kind, x: Array, value: Array, slope: Array) -> Array:
    """How far around x the errors of the line leave the root open, with room, and never less than some ulps of it."""
    return np.asarray(_ROOM * rung.doubt(kind, x, value) / np.abs(slope) + 1e-15 * np.abs(x))


def _newton(rung: Rung, kind: Kind, x: Array, target: Array, scale: float) -> tuple[Array, Array]:
    """The same by Newton's method on the logarithm; a step that makes no sense goes back to where one did."""
    x, width, anchor = x.copy(), np.zeros(x.size), np.full(x.size, rung.centre)
    open_: NDArray[np.intp] = np.arange(x.size)  # what has arrived stays: its company must not move its last bit
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(_MOST_STEPS):
            t = x[open_]
            value, slope = rung.value_and_slope(kind, t)
            step = (target[open_] - np.log(value)) / slope
            good, limit = np.isfinite(step) & (slope * rung.outward(kind) < 0), scale + 0.5 * np.abs(t)
            step = np.where(good, np.minimum(np.maximum(step, -limit), limit), 0.5 * (anchor[open_] - t))
            anchor[open_[good]] = t[good]
            x[open_] = t + step
            there = np.abs(step) <= _ARRIVED * scale
            width[open_[there]] = _open(rung, kind, t[there], value[there], slope[there])
            open_ = open_[~there]
            if not open_.size:
                break
    return x, width
