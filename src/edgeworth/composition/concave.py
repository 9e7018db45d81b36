"""The maximum of a concave function from its ends at some places: section 3 of `docs/proofs/by-profile.md`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeworth.composition.answered import Ends
    from edgeworth.losses.law import Array

__all__ = ["greatest"]

_UNIT = 2.0**-53
_LONGEST = 700.0  # a gap in t: beyond, that in u overflows
_RATIO_ERROR = 1e-11  # relative, of the ratio of two gaps in u that are up to e^700 long


def greatest(t: Array, gains: Ends) -> tuple[float, float]:
    """At least the supremum of a concave function of u = e^t, from its ends at rising t, and where it may be.

    Where the ends prove nothing that is inf, at no place.

    Right of two places the function is below the line through them, and so it is left of two others: between
    neighbours the lower of these two lines bounds it, and both together at any place where the one is taken for the
    other. Left of the first place it rises if the second is surely higher; the last two likewise.
    """
    (least, most), step = gains, np.diff(t)
    if not (least[1] >= most[0] and least[-2] >= most[-1] and step.max() < _LONGEST):
        return math.inf, math.nan
    ratio = np.expm1(step[1:]) / -np.expm1(-step[:-1])  # of a gap in u to the one before
    more = 1 + _RATIO_ERROR
    climb = np.append(0.0, np.maximum(most[1:-1] - least[:-2], 0.0) * ratio * more)  # of the line from the left
    fall = np.append(np.maximum(most[1:-1] - least[2:], 0.0) / ratio * more, 0.0)  # and of that from the right
    both = climb + fall
    with np.errstate(invalid="ignore"):  # of lines through a place of which nothing is known
        share = np.clip((most[1:] - most[:-1] + fall) / np.where(both > 0, both, 1.0), 0.0, 1.0)
        share[0], share[-1] = 0.0, 1.0  # there is one line only
        slack = 8 * _UNIT * (np.abs(most[1:]) + np.abs(most[:-1]) + both)
        top = np.maximum(most[:-1] + climb * share, most[1:] + fall * (1 - share)) + slack
    top[np.isnan(top)] = math.inf
    cell = int(np.argmax(top))
    return float(top[cell]), float(t[cell] + np.log1p(share[cell] * np.expm1(step[cell])))
