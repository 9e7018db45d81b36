"""Largest losses as the real numbers that they are: sums of quotients of the doubles given.

Next to the largest loss T a profile is about (T - eps)^k, and T rounded to a double says next to nothing of T - eps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["TwoDoubles", "exact_quotient"]


def exact_quotient(above: float, below: float) -> Fraction | None:
    """The real number above/below where no double is equal to it, else None.

    >>> exact_quotient(1.0, 4.0), exact_quotient(2.0, 3.0)
    (None, Fraction(2, 3))
    """
    exact = Fraction(above) / Fraction(below)
    return None if exact == above / below else exact


class TwoDoubles(NamedTuple):
    """A real number as the unevaluated sum high + low: its nearest double, and the double nearest to what that misses.

    >>> third = TwoDoubles.of(Fraction(1, 3))
    >>> float(third.less(np.array([1 / 3]))[0]) == float(Fraction(1, 3) - Fraction(1 / 3))
    True
    """

    high: float
    low: float

    @classmethod
    def of(cls, exact: Fraction) -> TwoDoubles:
        """The two doubles of a rational number."""
        high = float(exact)
        return cls(high, float(exact - Fraction(high)))

    def less(self, x: Array) -> Array:
        """High + low - x, within 4u of itself, u = 2^-53: 0 or of either sign where the real number is.

        Between half and twice the high part its difference from x is exact, and where that is not 0 it is at least as
        large as the low part. Elsewhere it is at least half the high part, and has one rounding.
        """
        return np.asarray((self.high - x) + self.low)
