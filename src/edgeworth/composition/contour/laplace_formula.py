"""The characteristic function of one step of Laplace noise tilted by e^(cL), by its formula: good for every frequency.

A quadrature needs a node for every turn of e^(itL). With w = c - 1/2 + it the transform is e^(-theta/2) (cosh(theta w)
+ sinh(theta w)/(2w)), the same at -w: the law tilted by c is the mirror image of that tilted by 1 - c. So with
a = |c - 1/2|, w = a + it, z = e^(-2 theta w) - 1 and z_0 that at t = 0,

    phi(t) = e^(i theta t) (2 + z - z/(2w)) / (2 + z_0 - z_0/(2a)),

or its complex conjugate for c < 1/2. Proved in docs/proofs/contour.md, section 8.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.contour.waves import wave_less_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses import LaplaceLoss
    from edgeworth.losses.law import Array

__all__ = ["LaplaceFormula", "laplace_moments"]

_UNIT = 2.0**-53
_LEAST = 1e-300  # a frequency whose inverse is a number
_DIGITS = 100  # of decimals, of which 2c - 1 near 0 takes up to 32, and a small theta three times its own


class Moments(NamedTuple):
    """K(c) and K'(c), each the nearest double."""

    log_moment: float
    mean: float


@lru_cache(maxsize=256)
def laplace_moments(step: LaplaceLoss, c: float) -> Moments:
    """Of one step: so many of them add up whatever ulps there are.

    >>> from edgeworth.losses import LaplaceLoss
    >>> laplace_moments(LaplaceLoss(1.0), 1.0)
    Moments(log_moment=0.0, mean=0.36787944117144233)
    """
    with localcontext() as context:
        context.prec = _DIGITS + 3 * max(0, -math.floor(math.log10(step.theta)))
        s, theta = Decimal(c), Decimal(step.largest.numerator) / Decimal(step.largest.denominator)
        if c == 0.5:  # M is even about it
            return Moments(float((1 + theta / 2).ln() - theta / 2), 0.0)
        fall, rise = (-s * theta).exp(), ((s - 1) * theta).exp()
        top, over = (1 - s) * fall - s * rise, 1 - 2 * s
        slope = -(1 + theta * (1 - s)) * fall - (1 + theta * s) * rise
        return Moments(float((top / over).ln()), float(slope / top + 2 / over))


class LaplaceFormula(NamedTuple):
    """Laplace noise of which the largest loss is theta, tilted by c."""

    theta: float
    c: float

    def less_one(self, t: Array) -> tuple[NDArray[np.complex128], Array]:
        """phi(t) - 1 for t >= 0, and a bound on its error.

        Of small t every term is small: 2 + z_0 - z_0/(2a) is taken from the numerator piece by piece.
        """
        theta, a = self.theta, abs(self.c - 0.5)
        fall, mean = math.exp(-2 * a * theta), -math.expm1(-2 * a * theta) / (2 * a) if a > 0 else theta
        whole = 1 + fall + mean
        over = 1 / (a + 1j * np.maximum(t, _LEAST))
        turn, moved = wave_less_one(theta * t), fall * wave_less_one(-2 * theta * t)  # moved: z - z_0
        change = moved * (1 - 0.5 * over) - 1j * t * over * mean  # of 2 + z - z/(2w) since t = 0
        value = (turn * (whole + change) + change) / whole
        angle, share = theta * t, t * np.abs(over)
        error = _UNIT * (200 * np.minimum(angle, 2.0) + 40 * angle + 130 * share)
        return np.asarray(np.conj(value) if self.c < 0.5 else value), error
