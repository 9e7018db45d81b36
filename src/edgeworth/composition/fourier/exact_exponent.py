"""K(c) - (c - pole) T_m in decimals: of 10^8 steps either may be 10^8, and what is left of both some dozens.

An ulp of 10^8 is 10^-8 of a reading. Decimals have as many digits as are wanted, once for each line and point.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.composition.decimals.moments import DIGITS, decimal_moments
from edgeworth.losses import DiscreteGaussianLoss

if TYPE_CHECKING:
    from fractions import Fraction

    from edgeworth.losses import PrivacyLoss

__all__ = ["ExactExponent"]

_SMOOTH = 2.5  # a sigma from which on the sum over all atoms is an integral to 53 digits


class ExactExponent(NamedTuple):
    """Of so many steps of each kind; with `mirrored` of -T with P and Q exchanged."""

    parts: tuple[tuple[PrivacyLoss, int], ...]
    mirrored: bool = False

    def at(self, c: float, pole: float, threshold: Fraction) -> float | None:
        """K(c) - (c - pole) t, the nearest double; None where a step has too many atoms."""
        with localcontext(prec=DIGITS):
            total = (Decimal(pole) - Decimal(c)) * Decimal(threshold.numerator) / Decimal(threshold.denominator)
            for loss, n in self.parts:
                one = _log_moment(loss, c, self.mirrored)
                if one is None:
                    return None
                total += n * one
            return float(total)


@lru_cache(maxsize=256)
def _log_moment(loss: PrivacyLoss, c: float, mirrored: bool) -> Decimal | None:
    """Log E_P[e^(cL)] of one step, or of its mirror image; of smooth discrete noise (c^2 - c) D^2/(2 sigma^2)."""
    if isinstance(loss, DiscreteGaussianLoss) and loss.sigma >= _SMOOTH:
        with localcontext(prec=DIGITS):
            tilt = Decimal(c)
            return (tilt * tilt - tilt) * loss.sensitivity**2 / (2 * Decimal(loss.sigma) ** 2)
    moments = decimal_moments(loss, c, mirrored)
    return None if moments is None else moments.log_moment
