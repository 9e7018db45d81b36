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

from edgeworth.composition.contour.integrals import STEP_SLACK

if TYPE_CHECKING:
    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.losses.law import Array

__all__ = ["BackwardCeiling"]

_TILTS = 0.7 * 1.6 ** np.arange(8)  # in units of 1/std
_SLACK = (
    1e-6  # of K, relative; of the distance from a normal law, for errors of its mean and variance; of the normal mean
)
_LEAST = -20.0  # an argument at which erfcx is still finite


class BackwardCeiling:
    """The bounds of one total."""

    def __init__(self, moments: LogMoments, steps: float) -> None:
        tilt = np.maximum(-moments.width * _TILTS, moments.steepest[0])
        self._moments, self._a, self._steps = moments, -tilt[:, None], steps
        self._log_top = self._a * np.log(self._a) - (1 + self._a) * np.log1p(self._a)
        self._log_front = self._with_slack(moments.log(tilt)[:, None])
        self._log_most = self._log_front + self._log_top
        self._normal: tuple[Array, ...] | None = None

    def _with_slack(self, k: Array) -> Array:
        return np.asarray(k + _SLACK * (1 + np.abs(k)) + STEP_SLACK * self._steps)

    def chernoff(self, epsilon: Array) -> Array:
        """By the largest value of g."""
        bound = np.minimum.reduce(self._log_most - self._a * epsilon, axis=0)
        return np.asarray(np.exp(np.minimum(bound, 0.0)))

    def normal(self, epsilon: Array) -> Array:
        """By the normal law: E[g] = H(a) - H(a+1), H(r) = E[e^(rx); x < 0] = e^(-z^2/2) erfcx((z + r s)/sqrt 2)/2.

        z is the mean of x in standard deviations s.
        """
        if self._normal is None:
            self._normal = tuple(column[:, None] for column in self._moments.normal_rows(-self._a[:, 0]).T)
        mean, deviation, gap = self._normal
        z = (mean + epsilon) / deviation
        near, far = (erfcx(np.maximum(z + rate * deviation, _LEAST) / math.sqrt(2)) for rate in (self._a, self._a + 1))
        g = 0.5 * np.exp(-0.5 * z * z) * (near * (1 + _SLACK) - far * (1 - _SLACK))
        bound = self._log_front - self._a * epsilon + np.log(g + 2 * np.exp(self._log_top) * (gap + _SLACK))
        bound = np.where(z + self._a * deviation > _LEAST, bound, math.inf)
        return np.asarray(np.exp(np.minimum(np.minimum.reduce(bound, axis=0), 0.0)))
