"""One vertical line Re s = c in the plane of the transform, prepared once and read many times.

With M(s) = E_P[e^(sT)], K = log M and phi(t) = M(c + it)/M(c), the characteristic function of the law tilted by e^(cT),

    delta(eps)           = 1/(2 pi i) integral of e^(K(s) + eps(1-s)) / (s(s-1)) ds        for c > 1,
    P[T > t]             = 1/(2 pi i) integral of e^(K(s) - st) / s ds                     for c > 0,
    Q[T <= t]            = 1/(2 pi i) integral of e^(K(s) - (s-1)t) / (1-s) ds             for c < 1,

and for c < 0 the first integral is e^eps times the profile of the backward direction at -eps. The trapezoidal rule with
spacing h has four errors, all bounded here: aliasing, truncation at T, the quadrature of phi, rounding. Every bound is
proved in docs/proofs/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.errors import TooLarge
from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Line"]

_UNIT = 2.0**-53
_SUM_ROUNDING = 64 * _UNIT  # of a pairwise sum, its weights and its sines, relative to the sum of the terms' sizes
_NATS = 46.0  # e^-46 = 1e-20: what each of the four errors may leave, relative to the reading
_MOST_NODES = 6000


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """One step tilted by e^(cL): quadrature weights, and the numbers that bound its characteristic function."""

    count: int
    loss: Array
    weight: Array
    """Weights of the tilted law, normalised."""
    log_moment: float
    """log E_P[e^(cL)]."""
    quadrature: float
    """Bound on the error of phi(t) by the quadrature in x, for |t| up to the frequency that was asked for."""
    variation: float
    """Total variation of w/L', so that |phi(t)| <= variation/|t|; inf where no such bound is known."""

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance and fourth central moment of the tilted law."""
        mean = float(np.sum(self.weight * self.loss))
        square = (self.loss - mean) ** 2
        return mean, float(np.sum(self.weight * square)), float(np.sum(self.weight * square * square))
