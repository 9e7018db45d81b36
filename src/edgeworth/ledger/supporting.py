"""A curve to stay above, as finitely many (epsilon, delta) to keep.

A symmetric f stays above the line 1 - delta - e^epsilon alpha exactly when delta_f(epsilon) <= delta. The chords of
a convex curve g lie above it, so an f above the lines through consecutive points of g is above g between them. What
g asks for where its slope is flatter than -1 is asked by g^-1 where that is steeper, since f is its own inverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth.curves import ApproxDPTradeOff, Identity, PiecewiseLinear
from edgeworth.curves.touching import touching_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves import TradeOff

    Array = NDArray[np.float64]

__all__ = ["SMALLEST_RATE", "supporting_points"]

SMALLEST_RATE = 1e-10  # no finite set of lines follows a curve of infinite slope down to alpha = 0
_CHORDS = 160  # measured: as the curve to stay above, G_mu then admits mu (1 - 1e-3), for mu from 0.02 to 10
_ROUNDING = 1e-12  # relative, of f and 1 - f
_APART = 1e-6  # relative; leaving a point out only raises the chords
_POLYGONS = (Identity, PiecewiseLinear)


def supporting_points(curve: TradeOff) -> tuple[tuple[float, float], ...]:
    """Pairs (epsilon, delta): a symmetric f with delta_f(epsilon) <= delta for all of them is above the curve.

    Everywhere for a curve made of straight lines; otherwise where both error rates are at least 1e-10.

    >>> supporting_points(ApproxDPTradeOff(epsilon=1.0, delta=0.25))
    ((1.0, 0.25),)
    """
    if isinstance(curve, ApproxDPTradeOff):
        return ((curve.epsilon, curve.delta),)
    split = _split(curve)
    points = _chords(curve, split)
    if not curve.is_symmetric:
        points += _chords(curve.inverse(), min(float(curve(split)) * (1 + _ROUNDING), 1.0))
    return tuple(dict.fromkeys(points))


def _split(curve: TradeOff) -> float:
    """An alpha at which a line of slope -1 supports the curve: it is steeper before and flatter afterwards."""
    if curve.is_symmetric:
        return min(curve.fixed_point * (1 + _ROUNDING), 0.5)
    return touching_point(curve, 0.0)[0]


def _chords(curve: TradeOff, last: float) -> list[tuple[float, float]]:
    """The lines through consecutive points of the curve up to this alpha, rounded up."""
    alpha = _places(curve, last)
    power = np.asarray(curve.power(alpha))
    rise, run = np.diff(power), np.diff(alpha)
    keep = (rise > 0) & (run > 0)
    epsilon = np.log(rise[keep]) - np.log(run[keep])
    slope = np.exp(epsilon)
    left, right = (
        power[ends][keep] * (1 - _ROUNDING) - slope * alpha[ends][keep] * (1 + _ROUNDING)
        for ends in (slice(None, -1), slice(1, None))
    )
    delta = np.clip(np.minimum(left, right), 0.0, 1.0)
    return [(float(e), float(d)) for e, d in zip(epsilon, delta, strict=True)]


def _places(curve: TradeOff, last: float) -> Array:
    """Alphas up to the last, apart from each other: between two that nearly agree a slope would be noise."""
    first = 0.0 if isinstance(curve, _POLYGONS) else SMALLEST_RATE * last
    spaced = ndtr(np.linspace(float(ndtri(first)), float(ndtri(last)), _CHORDS + 1)[1:-1]) if first else []
    inner = np.unique(np.concatenate([spaced, curve.kinks]))
    kept = [first]
    for alpha in inner[inner < last * (1 - _APART)]:
        if alpha > kept[-1] * (1 + _APART):
            kept.append(float(alpha))
    return np.array([*kept, last])
