"""Certified ends of one kind, at losses or at places that are counted from the largest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.residues.expansion import UNIT

if TYPE_CHECKING:
    from edgeworth.composition.residues.circle import Circles
    from edgeworth.composition.residues.stations import Kind
    from edgeworth.losses.law import Array

__all__ = ["both_sides", "doubt", "profile_below", "value_at"]


def value_at(circles: Circles, kind: Kind, loss: Array) -> Array:
    """The value of a kind at losses, without a bound."""
    return circles(kind, circles.expansion.below(loss)).value


def doubt(circles: Circles, loss: Array) -> Array:
    """How near a loss two tests may be said to lie on different sides of it, and of an atom there."""
    expansion = circles.expansion
    return np.asarray(2 * expansion.place_error(expansion.below(loss)) + 8 * UNIT * np.abs(loss))


def profile_below(circles: Circles, t: Array) -> Ends:
    """Ends of the profile, t counted from the largest loss: the circle, and delta <= 1 - e^t as T is at most that."""
    ends, nearest = _from_the_top(circles, "delta", t), t - circles.expansion.place_error(t)
    ceiling = -np.expm1(np.minimum(nearest, 0.0)) * (1 + 8 * UNIT)
    return Ends(np.minimum(ends.lower, ceiling), np.minimum(ends.upper, ceiling))


def both_sides(circles: Circles, kind: Kind, loss: Array) -> Ends:
    """Ends of a kind at losses."""
    return _from_the_top(circles, kind, circles.expansion.below(loss))


def _from_the_top(circles: Circles, kind: Kind, t: Array) -> Ends:
    """Without the terms that may lie at t, and with them; for the profile these terms are nothing but rounding."""
    most = circles(kind, t, -1)
    least = most if kind == "delta" else circles(kind, t, 1)
    width = np.maximum(least.error, most.error)
    return Ends(np.clip(least.value - width, 0.0, 1.0), np.clip(most.value + most.error, 0.0, 1.0))
