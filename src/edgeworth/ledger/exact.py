"""Sums of charges without rounding, or rounded up where an exact sum would grow without bound."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["decimal", "root_up", "tidied"]

_BITS = 4096  # of a denominator; 2^-4096 is far below the square of the smallest double


def decimal(value: float) -> Fraction:
    """The number as it prints, which is also what a log on disk says: 0.1 is one tenth."""
    return Fraction(repr(float(value)))


def tidied(total: Fraction) -> Fraction:
    """Returns at least the total, by less than 2^-4096, and in bounded memory however many charges it sums."""
    if total.denominator.bit_length() <= _BITS + 1:
        return total
    return Fraction(-(-(total.numerator << _BITS) // total.denominator), 1 << _BITS)


def root_up(square: Fraction) -> float:
    """Returns the least double whose decimal is at least the square root, or the one after it.

    >>> root_up(Fraction(1, 4)), root_up(Fraction(0))
    (0.5, 0.0)
    """
    if not square:
        return 0.0
    shift = 2 * max(0, 64 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    root = float(Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << shift // 2))
    while decimal(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
