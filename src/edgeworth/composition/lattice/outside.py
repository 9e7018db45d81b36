"""What one step has outside a range of losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeworth.amplification import base_loss
from edgeworth.composition import closed_form
from edgeworth.losses import PrivacyLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["NOTHING", "TAIL_ERROR", "Outside", "atoms_outside", "outside"]

_SMALLEST = 1e-307
TAIL_ERROR = 1e-12  # relative, of the distribution functions

#: masses under P and Q, and what one of them has more than the other explains
Outside: TypeAlias = tuple[float, float, float]
NOTHING: Outside = (0.0, 0.0, 0.0)


def outside(loss: PrivacyLoss, low: float, high: float) -> tuple[Outside, Outside]:
    """Masses under P and Q left of `low` and right of `high`, and what one of them has more than the other explains."""
    null_below, null_above, below, above = loss.distribution(np.array([low, high]))
    left = max(float(null_below[0]), _SMALLEST), max(float(below[0]), _SMALLEST)
    right = max(float(null_above[1]), _SMALLEST), max(float(above[1]), _SMALLEST)
    return (
        NOTHING if low <= loss.support[0] else (*left, max(_excess(loss, low, "left"), _SMALLEST)),
        NOTHING if high >= loss.support[1] else (*right, max(_excess(loss, high, "right"), _SMALLEST)),
    )


def _excess(loss: PrivacyLoss, place: float, side: Literal["left", "right"]) -> float:
    """E[(X - e^B)_+] to its own precision, from the base for a sample; on the left E[(1 - X e^-A)_+].

    On the left of a sample X - (1-p) = p e^l turns the latter into e^-A p e^l times that of the base at l, and the
    bases are symmetric.
    """
    if isinstance(loss, ReplacedLoss):
        return _excess(SampledLoss(loss.base, loss.rate), abs(place), "right")
    if side == "left" and isinstance(loss, SampledLoss):
        level = float(base_loss(np.array([place]), loss.rate)[0])
        return math.exp(level - place) * loss.rate * _excess(loss.base, -level, "right")
    curve = closed_form.one_step(loss)
    assert curve is not None
    profile = curve.profile()
    return float(profile(place) if side == "right" else profile.reverse()(-place))


def atoms_outside(log_null: Array, place: Array, end: float, *, endless: bool) -> Outside:
    """Masses of the atoms beyond an end point, with e^-700 for those that the law itself left out."""
    rest = math.exp(-700.0) if endless else 0.0
    right = place.size > 0 and float(place[0]) > end
    with np.errstate(under="ignore"):
        null, alternative = np.exp(log_null), np.exp(log_null + place)
        excess = -np.expm1(-np.abs(place - end)) * (alternative if right else null)
        return float(np.sum(null)) + rest, float(np.sum(alternative)) + rest, float(np.sum(excess)) + rest
