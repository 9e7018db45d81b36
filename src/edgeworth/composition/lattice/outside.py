"""What one step has outside a range of losses, and what many of them add to a reading for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeworth.amplification import base_loss
from edgeworth.composition import closed_form
from edgeworth.losses import PrivacyLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["NOTHING", "TAIL_ERROR", "Outside", "atoms_outside", "gain", "log_none", "outside"]

_SMALLEST = 1e-307
_KNOWN = 1e-290  # a mass that is more than what is put in place of one that underflows …
_RAISED = 1e-303  # … and at least that
_LARGEST_EXPONENT = 700.0
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


def gain(n: Array, weak: Array, rise: Array, t: Array) -> Array:
    """At least prod (1-w)^n - prod (1-w-rise)^n - (e^t - 1) (1 - prod (1-w)^n), and at least 0.

    Masses that underflow were raised, as an upper end wants them; here those steps are left out of the event.
    """
    known = weak > _KNOWN
    n, weak, rise = n[known], weak[known], rise[known]
    growth = np.where(t > _LARGEST_EXPONENT, math.inf, np.expm1(np.minimum(t, _LARGEST_EXPONENT)))
    none = float(np.sum(n * np.log1p(-weak)))
    with np.errstate(divide="ignore"):
        ratio = float(np.sum(n * np.log1p(-np.minimum(rise / (1 - weak), 1.0))))
    more = math.exp(none) * -math.expm1(ratio)
    if not more > 0:
        return np.zeros(t.size)
    less = growth * -math.expm1(none)
    return np.maximum(more - less - 8 * TAIL_ERROR * (more + np.abs(less)) - _RAISED * float(np.sum(n)), 0.0)


def log_none(rows: Array, column: int) -> float:
    """The logarithm of prod (1 - m)^n."""
    with np.errstate(divide="ignore"):
        return float(np.sum(rows[:, 0] * np.log1p(-np.minimum(rows[:, column], 1.0))))
