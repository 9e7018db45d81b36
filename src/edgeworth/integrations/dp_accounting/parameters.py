"""The numbers of an event in this package's units and back, rounded towards less privacy where they must be rounded.

An event and a mechanism may count the same noise in units that are no float's multiple of each other: discrete Laplace
noise by its rate a or by its scale 1/a, a response by the chance p of a random answer or by its epsilon. Every function
here says which side of the exact number it returns; an upper end of epsilon or delta then holds for the original.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

__all__ = ["epsilon_of_response", "noise_of_response", "plain", "quotient_above", "quotient_below"]

_ROUNDINGS = 1e-15  # relative; log1p, a product, a quotient and a difference, each within 1 ulp
_EXPONENT_ROUNDINGS = 1e-12  # relative; an exponent below 1e3 within 2 ulp, and what k - 1 adds to e^700
_LARGEST_EXPONENT = 700.0  # e^epsilon is a float up to here


def plain(value: Any) -> Any:
    """The Python number in a scalar of NumPy, JAX or PyTorch, which programs put into events; all else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def quotient_below(numerator: float, denominator: float) -> float:
    """The largest float that is not above numerator/denominator, both > 0.

    >>> quotient_below(1.0, 3.0) < Fraction(1, 3) < quotient_above(1.0, 3.0)
    True
    """
    exact = Fraction(numerator) / Fraction(denominator)
    nearest = _nearest(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)


def quotient_above(numerator: float, denominator: float) -> float:
    """The smallest float that is not below numerator/denominator, both > 0; the largest float if there is none."""
    exact = Fraction(numerator) / Fraction(denominator)
    nearest = _nearest(exact)
    return nearest if nearest >= exact else min(math.nextafter(nearest, math.inf), sys.float_info.max)


def epsilon_of_response(noise: float, categories: int) -> float:
    """A number not below log(1 + k (1-p)/p): the odds of the true answer (1 - p + p/k) against another one (p/k).

    >>> round(epsilon_of_response(4 / (3 + math.e), 4), 12)
    1.0
    """
    against = categories * (1 - noise) / noise
    exact = math.log1p(against) if against < math.inf else math.log(categories) - math.log(noise)
    return exact * (1 + _ROUNDINGS)


def noise_of_response(epsilon: float, categories: int) -> float:
    """A number p not above k/(k - 1 + e^epsilon), so that the response with p has at least this epsilon."""
    if epsilon == 0:
        return 1.0
    if epsilon > _LARGEST_EXPONENT:  # k e^-epsilon, and 0 in the end; the exponent itself is rounded
        below = math.exp(math.log(categories) - epsilon) * (1 - _EXPONENT_ROUNDINGS)
    else:
        below = categories / (categories + math.expm1(epsilon)) * (1 - _ROUNDINGS)
    return math.nextafter(below, 0.0)


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return sys.float_info.max
