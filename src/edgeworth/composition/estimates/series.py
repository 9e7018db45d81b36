"""The Edgeworth series of any degree, as a polynomial in z and as a Hermite series.

With standardised cumulants lam_r = K_r/K_2^(r/2), the characteristic function of the standardised sum is
e^(z^2/2) at z = it times exp(sum_{r>=3} lam_r z^r/r!). Give lam_r the order r-2 (it is O(n^-(r-2)/2)) and keep every
product of total order at most d: sum_m c_m z^m. Under the inverse transform z^m becomes -He_{m-1}(h) phi(h).
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from scipy.special import ndtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["EdgeworthSeries", "graded_polynomials", "standardised"]

_ROOT_TWO_PI = np.sqrt(2 * np.pi)


def standardised(cumulants: Array) -> Array:
    """lam_r = K_r/K_2^(r/2) for r = 3, 4, …, from K_1, K_2, K_3, …."""
    orders = np.arange(3, len(cumulants) + 1)
    return np.asarray(cumulants[2:] / cumulants[1] ** (orders / 2))


def graded_polynomials(lam: Array, degree: int) -> list[Array]:
    """P_0, …, P_degree: the parts of exp(sum lam_r z^r/r!) of each order, as coefficients in z.

    From the derivative of an exponential, j P_j = sum_{k=1}^j k lam_(k+2) z^(k+2)/(k+2)! P_(j-k). The first axis
    of lam is r; others are carried along.
    """
    shape = (3 * degree + 1, *lam.shape[1:])
    parts = [np.zeros(shape)]
    parts[0][0] = 1.0
    for j in range(1, degree + 1):
        part = np.zeros(shape)
        for k in range(1, j + 1):
            shifted = np.roll(parts[j - k], k + 2, axis=0)  # degree 3(j-k) + k + 2 <= 3j: nothing wraps around
            part += k / j * lam[k - 1] / factorial(k + 2) * shifted
        parts.append(part)
    return parts


class EdgeworthSeries:
    """F_d(h) = Phi(h) - phi(h) sum_m c_m He_{m-1}(h), the paper's equation (approx_Ftilde) for any degree d.

    >>> normal = EdgeworthSeries(np.zeros(2), degree=2)
    >>> float(normal.below(np.array(0.0)))
    0.5
    """

    def __init__(self, lam: Array, degree: int) -> None:
        self.coefficients = np.sum(graded_polynomials(lam, degree), axis=0)
        self._hermite = self.coefficients[1:] if degree else np.zeros(1)
        self._density = self.coefficients

    def _correction(self, h: Array) -> Array:
        return self._weighted(h, self._hermite)

    @staticmethod
    def _weighted(h: Array, series: Array) -> Array:
        """phi(h) times the Hermite series; beyond 60 the density is 0, and the polynomial must not overflow."""
        near = np.clip(h, -60.0, 60.0)
        return np.asarray(np.exp(-0.5 * near * near) / _ROOT_TWO_PI * hermeval(near, series))

    def below(self, h: Array) -> Array:
        """F_d(h), accurate in the left tail."""
        return self.both(h)[0]

    def above(self, h: Array) -> Array:
        """1 - F_d(h), accurate in the right tail."""
        return self.both(h)[1]

    def both(self, h: Array) -> tuple[Array, Array]:
        """F_d(h) and 1 - F_d(h), each accurate in its own tail, from one correction."""
        correction = self._correction(h)
        return np.asarray(ndtr(h) - correction), np.asarray(ndtr(-h) + correction)

    def density(self, h: Array) -> Array:
        """F_d'(h) = phi(h) sum_m c_m He_m(h)."""
        return self._weighted(h, self._density)
