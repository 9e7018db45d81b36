"""Upper bounds of the backward profile from some tilts: often they settle which direction is the larger.

With y = e^(eps + T), delta'(eps) = E_P[(1 - y)_+]. For the law tilted by c = -a < 0, x = eps + T and g(x) = e^(ax)
(1 - e^x)_+, it is e^(K(-a) - a eps) E_c[g(x)], and E_c[g] is at most

- max g = a^a/(1+a)^(1+a) (Chernoff), or
- the mean of g under the normal law with the same mean and variance, plus the variation 2 max g of g times the
  distance of the two distribution functions (Berry–Esseen): for very many steps hardly more than the truth.

docs/proofs/contour.md, section 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.contour.rung import STEP_SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.losses.law import Array

__all__ = ["BackwardCeiling"]

_SLACK = (
    1e-6  # of K, relative; of the distance from a normal law, for errors of its mean and variance; of the normal mean
)
_LEAST = -20.0  # an argument at which erfcx is still finite
_LARGEST = 700.0  # of an exponent: beyond, the bound is 1


class BackwardCeiling:
    """The bounds of one total."""

    def __init__(self, moments: LogMoments, steps: float) -> None:
        tilt, k = moments.left_of_0()
        self._moments, self._a, self._steps = moments, -tilt, steps
        self._log_top = self._a * np.log(self._a) - (1 + self._a) * np.log1p(self._a)
        self._log_front = self._with_slack(k)
        self._log_most, self._slope = (self._log_front + self._log_top)[:, None], self._a[:, None]
        self._normal, self._made = np.empty((7, tilt.size)), set[int]()

    def _with_slack(self, k: Array) -> Array:
        return np.asarray(k + _SLACK * (1 + np.abs(k)) + STEP_SLACK * self._steps)

    def chernoff(self, epsilon: Array) -> Array:
        """By the largest value of g."""
        bound = np.minimum.reduce(self._log_most - self._slope * epsilon, axis=0)
        return np.asarray(np.exp(np.minimum(bound, 0.0)))

    def normal(self, epsilon: Array) -> Array:
        """By the normal law: E[g] = H(a) - H(a+1), H(r) = E[e^(rx); x < 0] = e^(-z^2/2) erfcx((z + r s)/sqrt 2)/2.

        z is the mean of x in standard deviations s. The tilt is the one with the least of Chernoff's bounds.
        """
        rows = self._normal_rows((self._log_most - self._slope * epsilon).argmin(axis=0))
        mean, deviation, a, log_front, least = rows[:5]
        z = (mean + epsilon) / deviation
        near, far = erfcx(np.maximum(z + rows[5:], _LEAST) * math.sqrt(0.5))
        g = 0.5 * np.exp(-0.5 * z * z) * (near * (1 + _SLACK) - far * (1 - _SLACK))
        bound = np.minimum(np.exp(np.minimum(log_front - a * epsilon, _LARGEST)) * (g + least), 1.0)
        return np.asarray(np.where(z + rows[5] > _LEAST, bound, 1.0))

    def _normal_rows(self, tilts: NDArray[np.intp]) -> Array:
        """Of the tilts with these numbers: mean, s, a, log front, 2 max g times the distance, a s and (a + 1) s."""
        for number in set(tilts.tolist()):
            if number not in self._made:
                a = float(self._a[number])
                mean, deviation, gap = self._moments.normal_row(-a)
                least = 2 * math.exp(self._log_top[number]) * (gap + _SLACK)
                self._normal[:, number] = (
                    *(mean, deviation, a, self._log_front[number], least),
                    *(a * deviation, (a + 1) * deviation),
                )
                self._made.add(number)
        return self._normal[:, tilts]
