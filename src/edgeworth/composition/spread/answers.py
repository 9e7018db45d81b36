"""Certified ends of delta and epsilon of samples beside a rest, in either direction.

With x = e^S, S the loss of the samples and P their law, delta_R the profile of the rest and delta'_R that backward,

    delta(eps) = E[x delta_R(eps - S)],    delta'(eps) = E[delta'_R(eps + S)],

both of convex functions of x: a law above that of x gives an upper end, one below it a lower end. f follows from these.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.profile_alone import Way
    from edgeworth.composition.spread.law import Side
    from edgeworth.composition.spread.merged import MergedLaw
    from edgeworth.composition.spread.noise_rest import NoiseRest
    from edgeworth.composition.spread.rest import Rest, Sides
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    Law = SpreadLaw | MergedLaw

__all__ = ["SpreadAnswers"]

_UNIT = 2.0**-53
_POINT = 1.5  # units of work for a point of a law
_MORE = 1.001  # for the rounding of small sums
_MINE: dict[Way, int] = {"forward": 1, "backward": 0}  # which of the masses left out a reading has
_PLACES = 64  # in an octave, at which the rest is asked for anew near each reading
_CLOSE = 1e-6  # from one of them to the next at the least: what is between is known to that squared


class SpreadAnswers(ProfileAlone):
    """Ends of delta from laws above and below that of the samples."""

    def __init__(self, total: TotalLoss, law: Callable[[Side], Law | None], rest: Rest | NoiseRest) -> None:
        super().__init__(total)
        self._law, self._rest = cache(law), rest

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at one eps."""
        above = self._law("above")
        assert isinstance(above, SpreadLaw)
        sign = -1 if side == "forward" else 1
        profile = self._rest.around(side, epsilon + sign * (above.least + _thinned(above)))
        upper = self._mean(above, side, epsilon, profile.upper, -1)
        upper += _MORE * above.left_out[_MINE[side]]
        lower = max(self._lower(side, epsilon, profile), -math.expm1(min(epsilon, 0.0)))
        return lower, min(upper * (1 + 8 * _UNIT), 1.0)

    def _lower(self, side: Way, epsilon: float, profile: Sides) -> float:
        """From the law below, and that of the rest alone, by Jensen's inequality."""
        below, alone = self._law(side), float(self._rest.ends(side, np.array([epsilon])).lower[0])
        if below is None:
            return alone
        lower = self._mean(below, side, epsilon, profile.lower, 1)
        return max(lower * (1 - 8 * _UNIT), alone)

    def _mean(self, law: Law, side: Side, epsilon: float, profile: Callable[[Array], Array], outward: int) -> float:
        """E[x delta_R(eps - S)] or E[delta'_R(eps + S)] of a law on points, from one end of the profile of the rest.

        The end is read at places moved to where it is farther out by more than the rounding of the place.
        """
        point, mass, farther = law.outcomes
        spend(_POINT * point.size)
        loss = law.least + point
        room = 8 * _UNIT * (abs(epsilon) + 8 * (abs(law.least) + abs(law.grid.points[0])) + np.abs(loss))
        if farther is None:
            place, weight = loss, np.exp(loss)
        else:
            place, weight = loss + np.log1p(farther), (1 + farther) * np.exp(loss)
            room += (4 * law.error + 8 * _UNIT) * np.log1p(farther)
        if side == "forward":
            terms = mass * weight * profile(epsilon - place + outward * room)
        else:
            terms = mass * profile(epsilon + place + outward * room)
        return float(np.sum(terms)) * (1 - outward * 2 * (law.error + 16 * _UNIT))


def _thinned(law: SpreadLaw) -> Array:
    """Some points of every octave that has mass, none of them very close to the next."""
    grid, some = law.grid, np.zeros(law.mass.size, dtype=bool)
    for j, (half, step) in enumerate(zip(grid.halves, grid.steps, strict=True)):
        for _, row in grid.rows(j):
            some[row.start : row.stop : max(half // _PLACES, min(int(_CLOSE / step), half - 1), 1)] = True
    return np.asarray(grid.points[some & (law.mass > 0)])
