"""K(c) - (c - pole) T_m in decimals: of 10^8 steps either may be 10^8, and what is left of both some dozens.

An ulp of 10^8 is 10^-8 of a reading. Decimals have as many digits as are wanted, once for each line and point.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.losses import DiscreteGaussianLoss

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from edgeworth.losses import PrivacyLoss

__all__ = ["ExactExponent"]

_DIGITS = 50
_SMOOTH = 2.5  # a sigma from which on the sum over all atoms is an integral to 53 digits
_REACH = 15.2  # sigmas beyond which e^(-x^2/2) is below 10^-50
_MOST_NODES = 200


class ExactExponent(NamedTuple):
    """Of so many steps of each kind; with `mirrored` of -T with P and Q exchanged."""

    parts: tuple[tuple[PrivacyLoss, int], ...]
    mirrored: bool = False

    def at(self, c: float, pole: float, threshold: Fraction) -> float | None:
        """K(c) - (c - pole) t, the nearest double; None where a step has too many atoms."""
        with localcontext(prec=_DIGITS):
            total = (Decimal(pole) - Decimal(c)) * _decimal(threshold)
            for loss, n in self.parts:
                one = _log_moment(loss, c, self.mirrored)
                if one is None:
                    return None
                total += n * one
            return float(total)


@lru_cache(maxsize=256)
def _log_moment(loss: PrivacyLoss, c: float, mirrored: bool) -> Decimal | None:
    """Log E_P[e^(cL)] of one step; of the mirror image that at 1 - c."""
    with localcontext(prec=_DIGITS):
        tilt = 1 - Decimal(c) if mirrored else Decimal(c)
        if isinstance(loss, DiscreteGaussianLoss):
            return _of_discrete_gaussian(loss.sigma, loss.sensitivity, tilt)
        nodes = loss.decimal_nodes(_DIGITS)
        if nodes is None or len(nodes[0]) > _MOST_NODES:
            return None
        return _sum(weight * (tilt * place).exp() for place, weight in zip(*nodes, strict=True)).ln()


def _of_discrete_gaussian(sigma: float, sensitivity: int, tilt: Decimal) -> Decimal:
    """(c^2 - c) D^2/(2 sigma^2) + log(theta(cD)/theta(0)), theta(a) the sum of e^(-(k-a)^2/(2 sigma^2)) over all k."""
    half = 1 / (2 * Decimal(sigma) ** 2)
    smooth = (tilt * tilt - tilt) * sensitivity**2 * half
    if sigma >= _SMOOTH:
        return smooth
    reach = int(_REACH * sigma) + 2

    def theta(place: Decimal) -> Decimal:
        middle = int(place.to_integral_value())
        return _sum((-((k - place) ** 2) * half).exp() for k in range(middle - reach, middle + reach + 1))

    return smooth + (theta(tilt * sensitivity) / theta(Decimal(0))).ln()


def _sum(terms: Iterable[Decimal]) -> Decimal:
    return sum(terms, Decimal(0))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
