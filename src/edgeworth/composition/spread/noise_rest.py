"""The profile of few steps of Laplace noise, and of samples of it, beside samples of Gaussian noise.

Their loss is put on even points, both atoms of one kind among them, in a law above it in convex order and one below.
The profile of each of these is straight in u = e^t between the points.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.enclosed.noise_law import length, noise_law, points_apart
from edgeworth.composition.lattice.enumerated import Enumeration
from edgeworth.composition.spread.rest import Known, Sides, known_lower, known_upper
from edgeworth.losses import LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.composition.enclosed.noise_law import Side
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["NoiseRest", "applies"]

_POINTS = 2**15
_LONGEST = 40.0  # from the least to the largest loss
_WIDEST = 1e-5  # n h^2, of which a share is what the points leave open of a reading


def applies(total: TotalLoss) -> bool:
    """Whether all steps are Laplace noise or samples of it, few enough for their points to be close.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> sample = ew.PoissonSampled(ew.Laplace(2.0), rate=0.3)
    >>> applies(TotalLoss.of(sample**3)), applies(TotalLoss.of(sample**3 * ew.RandomizedResponse(1.0)))
    (True, False)
    """
    parts = total.parts
    if not parts or not total.is_exact or not all(_is_laplace(loss) for loss, _ in parts):
        return False
    if not 0 < length(parts) <= _LONGEST:
        return False
    return sum(n for _, n in parts) * points_apart(parts, _POINTS) ** 2 <= _WIDEST


def _is_laplace(loss: PrivacyLoss) -> bool:
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return isinstance(base, LaplaceLoss) and loss.support != (0.0, 0.0)


class _Corners(NamedTuple):
    """The profile of a law on points at each of these; how far off these are, its relative error, and what is lost."""

    table: Known
    slack: float
    error: float
    lost: float


class NoiseRest:
    """Ends of the profile in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self._parts = total.parts
        self._corners = cache(self._made)

    def ends(self, direction: Direction, t: Array) -> Ends:
        """Ends at every t.

        Places are certain up to the slack s, so e^-s delta(t + s) of the points is a lower end, e^s delta(t - s) an
        upper one.
        """
        return Ends(self._lower(direction, t), self._upper(direction, t))

    def around(self, direction: Direction, near: Array) -> Sides:
        """The same, which is known at all places alike."""
        del near
        return Sides(partial(self._lower, direction), partial(self._upper, direction))

    def _lower(self, direction: Direction, t: Array) -> Array:
        below = self._corners(direction, "below")
        return known_lower(below.table, t + below.slack) * (1 - below.error)

    def _upper(self, direction: Direction, t: Array) -> Array:
        above = self._corners(direction, "above")
        return np.minimum(known_upper(above.table, t - above.slack) * (1 + above.error) + above.lost, 1.0)

    def _made(self, direction: Direction, side: Side) -> _Corners:
        law = noise_law(self._parts, points_apart(self._parts, _POINTS), side)
        listed = Enumeration.alone(law if direction == "forward" else law.mirrored())
        place, value = listed.corners
        table = Known(place, Ends(value, value), np.ones(place.size, dtype=bool))
        slack = listed.slack(0.0)
        return _Corners(table, slack, listed.error + 4 * slack, listed.lost)
