"""Tilt before expanding: an Edgeworth expansion whose error is relative to the tail that is read.

At the saddle point c with K'(c) = t, tilt the law of T by e^(cT - K(c)): its mean is t, so the expansion is used where
it is best, at its centre. With s = sqrt(K''(c)), standardised tilted cumulants and the coefficients c_m of
`edgeworth.composition.estimates.series`,

    P[T > t]  = e^(K(c) - ct)      sum_m c_m B_m(c s),          c >= 0,
    Q[T > t]  = e^(K(c) - (c-1)t)  sum_m c_m B_m((c-1) s),      c >= 1,
    B_m(x)    = integral over y > 0 of e^(-x y) He_m(y) phi(y) dy,

and delta(t) = Q[T > t] - e^t P[T > t] is their difference at one saddle point. The left tails are the same for the
reflected law, (-1)^m c_m. Degree 0 is the leading term, degree 2 adds the first correction; all are exact for Gaussian
noise, and the relative error is O(n^-(d+1)/2) uniformly in the tail. This cures the paper's caveat that its bound
"does not extend to a type I error that is close to 0 or 1".
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.estimates.edgeworth import repair_note
from edgeworth.composition.estimates.series import graded_polynomials
from edgeworth.composition.estimates.tilts import Tilts
from edgeworth.composition.result import UNDERFLOW, ComposedCurve, estimate, identity, no_privacy, nothing_ran
from edgeworth.curves import ThresholdCurve
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["TiltedExpansion", "compose"]

_MOST_STEPS = 200  # of the search for a saddle point; bisection alone needs 60
_SPACING = 0.07  # of the tilts where convexity is checked, in units of 1/sqrt(K''); values between are exact
_LAGUERRE = np.polynomial.laguerre.laggauss(48)


class TiltedExpansion:
    """P[T > t], Q[T <= t] and delta(t) by the tilted expansion of a given degree."""

    def __init__(self, total: TotalLoss, degree: int) -> None:
        self.total = total
        self.degree = degree
        tilts = Tilts(total, _SPACING)
        self._table = TiltTable(total, tilts.tilt, degree + 2, tilts.range)

    def tests(self, tilt: Array) -> tuple[Array, Array, Array, Array]:
        """(alpha, beta, 1 - beta, 1 - alpha) of the test that rejects beyond t = K'(c), for every tilt c."""
        k, t, s, series = self._at(tilt)
        right = self._tail(series, tilt, s, k - tilt * t)
        alpha = np.where(tilt >= 0, right, 1 - right)
        acceptance = np.where(tilt >= 0, 1 - right, right)
        side = self._tail(series, tilt - 1, s, k - (tilt - 1) * t)
        power = np.where(tilt >= 1, side, 1 - side)
        beta = np.where(tilt >= 1, 1 - side, side)
        return alpha, beta, power, acceptance

    def alpha(self, threshold: Array) -> Array:
        """P[T > t]."""
        return self.tests(self.saddle(threshold))[0]

    def beta(self, threshold: Array) -> Array:
        """Q[T <= t]."""
        return self.tests(self.saddle(threshold))[1]

    def delta(self, epsilon: Array) -> Array:
        """The profile at eps, from the two tails at one saddle point; the side that is small is summed as such."""
        c = self.saddle(epsilon)
        k, _, s, series = self._at(c)
        front = np.exp(k + (1 - c) * epsilon)
        near, far = self._integral(series, c - 1, s), self._integral(series, c, s)
        choices = [front * (near - far), 1 - front * (near + far)]
        return np.asarray(np.select([c >= 1, c >= 0], choices, 1 - np.exp(epsilon) + front * (far - near)))

    def saddle(self, threshold: Array) -> Array:
        """The c with K'(c) = t, by bisection and Newton steps within the range of tilts; clipped to its ends."""
        low, high = (np.full(threshold.shape, end) for end in self._table.tilt[[0, -1]])
        c = 0.5 * (low + high)
        for _ in range(_MOST_STEPS):
            rows = self._table(c)
            gap = rows[:, 1] - threshold
            low, high = np.where(gap < 0, c, low), np.where(gap < 0, high, c)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = c - gap / rows[:, 2]
            inside = (step > low) & (step < high)
            following = np.where(inside, step, 0.5 * (low + high))
            if np.all(np.abs(following - c) <= 1e-15 * (1 + np.abs(c))):
                break
            c = following
        return np.asarray(c)

    def tilts(self) -> Array:
        """The grid of tilts between which the curve is smooth."""
        return self._table.tilt

    def _at(self, tilt: Array) -> tuple[Array, Array, Array, Array]:
        """K(c), K'(c), sqrt(K''(c)) and the series coefficients c_m(c), one row for each tilt."""
        rows = self._table(tilt)
        variance = np.maximum(rows[:, 2], np.finfo(float).tiny)
        orders = np.arange(3, self.degree + 3)
        with np.errstate(
            over="ignore", divide="ignore", invalid="ignore"
        ):  # nan tests are no tests: the curve drops them
            lam = rows[:, 3:] / variance[:, None] ** (orders / 2)
        series = np.sum(graded_polynomials(lam.T, self.degree), axis=0)
        return rows[:, 0], rows[:, 1], np.sqrt(variance), series

    def _tail(self, series: Array, tilt: Array, s: Array, exponent: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp(exponent) * self._integral(series, tilt, s)

    @staticmethod
    def _integral(series: Array, tilt: Array, s: Array) -> Array:
        """sum_m c_m B_m(|tilt| s), of the law itself for tilt >= 0, of the reflected law otherwise."""
        signs = np.where(tilt < 0, -1.0, 1.0) ** np.arange(len(series))[:, None]
        return np.asarray(np.sum(series * signs * laplace_hermite(np.abs(tilt) * s, len(series)), axis=0))


class TiltTable:
    """K and its derivatives between given tilts, by quintic Hermite interpolation.

    The derivative of each row is the next one, so values and two derivatives are known at every knot: the error is
    that of the sixth power of the spacing, below 1e-10 of a nat.
    """

    def __init__(self, total: TotalLoss, tilt: Array, order: int, reach: tuple[float, float]) -> None:
        self.tilt = tilt
        self._rows = total.tilted(tilt, order + 2, reach)

    def __call__(self, tilt: Array) -> Array:
        """Rows K(c), K'(c), …, one for each tilt; tilts beyond the table are moved to its ends."""
        c = np.clip(tilt, self.tilt[0], self.tilt[-1])
        cell = np.clip(np.searchsorted(self.tilt, c, side="right") - 1, 0, self.tilt.size - 2)
        h = (self.tilt[cell + 1] - self.tilt[cell])[:, None]
        x = (c - self.tilt[cell])[:, None] / h
        left, right = self._rows[cell], self._rows[cell + 1]
        order = left.shape[1] - 2
        with np.errstate(invalid="ignore"):  # infinite rows where everything underflows
            return self._hermite(x, h, left, right, order)

    @staticmethod
    def _hermite(x: Array, h: Array, left: Array, right: Array, order: int) -> Array:
        y = 1 - x
        ends = y**3 * (1 + 3 * x + 6 * x * x) * left[:, :order] + x**3 * (1 + 3 * y + 6 * y * y) * right[:, :order]
        slopes = y**3 * x * (1 + 3 * x) * left[:, 1 : order + 1] - x**3 * y * (1 + 3 * y) * right[:, 1 : order + 1]
        bends = y**3 * x * x / 2 * left[:, 2:] + x**3 * y * y / 2 * right[:, 2:]
        return np.asarray(ends + h * slopes + h * h * bends)


def laplace_hermite(x: Array, count: int) -> Array:
    """B_0(x), …, B_(count-1)(x) in rows: B_m = He_(m-1)(0) phi(0) - x B_(m-1), B_0 = erfcx(x/sqrt 2)/2.

    Beyond x = 4 the recurrence cancels; there e^-u/x with Gauss–Laguerre nodes u = xy sums the same integral.
    """
    rows = np.empty((count, x.size))
    small = np.minimum(x, 4.0)
    rows[0] = 0.5 * erfcx(x / math.sqrt(2))
    phi = 1 / math.sqrt(2 * math.pi)
    at_zero = [1.0, 0.0]
    for m in range(2, count):
        at_zero.append(-(m - 1) * at_zero[m - 2])
    recurrence = 0.5 * erfcx(small / math.sqrt(2))
    u, share = _LAGUERRE
    y = u[:, None] / np.maximum(x, 4.0)
    weight = share[:, None] * phi * np.exp(-0.5 * y * y) / np.maximum(x, 4.0)
    before, hermite = np.zeros_like(y), np.ones_like(y)
    for m in range(1, count):
        before, hermite = hermite, y * hermite - (m - 1) * before  # He_m = y He_(m-1) - (m-1) He_(m-2)
        recurrence = at_zero[m - 1] * phi - small * recurrence
        rows[m] = np.where(x <= 4.0, recurrence, np.sum(weight * hermite, axis=0))
    return rows


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The tilted expansion of the given degree, made a trade-off function where it was not one.

    Large atoms can leave a high degree without a monotone branch: then the next lower degree answers, and says so.
    """
    if nothing_ran(total):
        return identity(total, "saddlepoint")
    if not float(total.tilted(np.array([0.5]), 2, (0.0, 1.0))[0, 2]) > 0:
        return no_privacy(total, "saddlepoint", UNDERFLOW)
    for lower in range(degree, -1, -1):
        expansion = TiltedExpansion(total, lower)
        with contextlib.suppress(ComputationFailed):
            curve = ThresholdCurve(expansion.tests, expansion.tilts())
            if _reaches_both_ends(expansion, curve):
                reduced = () if lower == degree else (f"degree {degree} has no monotone branch here",)
                return estimate(curve, total, "saddlepoint", f"degree {lower}", *reduced, *repair_note(curve))
    return no_privacy(total, "saddlepoint", "no degree has a monotone branch here: estimated as no privacy at all")


def _reaches_both_ends(expansion: TiltedExpansion, curve: ThresholdCurve) -> bool:
    """Whether the kept branch covers most of the type I errors that the whole grid of tilts covers."""
    kept, every = (expansion.tests(u)[0] for u in (curve.u, expansion.tilts()))
    return bool(np.ptp(kept) > 0.9 * min(1.0, float(np.ptp(np.clip(every, 0.0, 1.0)))))
