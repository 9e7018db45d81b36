"""Certified ends of delta and epsilon of samples beside a rest, in either direction.

With x = e^S, S the loss of the samples and P their law, delta_R the profile of the rest and delta'_R that backward,

    delta(eps) = E[x delta_R(eps - S)],    delta'(eps) = E[delta'_R(eps + S)],

both of convex functions of x: a law above that of x gives an upper end, one below it a lower end. f follows from these.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.spread.rest import Rest
from edgeworth.composition.work import is_spent, spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.composition.profile_alone import Way
    from edgeworth.composition.spread.law import Side
    from edgeworth.composition.spread.merged import MergedLaw
    from edgeworth.composition.spread.noise_rest import NoiseRest
    from edgeworth.composition.spread.rest import Sides
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    Law = SpreadLaw | MergedLaw

__all__ = ["MINE", "Laws", "SpreadAnswers", "profile_around", "reading"]

_UNIT = 2.0**-53
_POINT = 1.5  # units of work for a point of a law
_MORE = 1.001  # for the rounding of small sums
MINE: dict[Way, int] = {"forward": 1, "backward": 0}  # which of the masses left out a reading has
_PLACES = 64  # in an octave, at which the rest is asked for anew near each reading
_MOST_ROOTS = 7  # that are kept, besides the last
_CLOSE = 1e-6  # from one of them to the next at the least: what is between is known to that squared


class SpreadAnswers(ProfileAlone):
    """Ends of delta from laws above and below that of the samples."""

    def __init__(self, total: TotalLoss, law: Callable[[Side], Law | None], rest: Rest | NoiseRest) -> None:
        super().__init__(total)
        self._law, self.rest = cache(law), rest
        self._roots: dict[tuple[Direction, float], tuple[float, float]] = {}

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of the least eps >= 0 with delta(eps) <= delta: those who read it closely ask for it again."""
        if (direction, delta) not in self._roots:
            found = super().root(direction, delta)
            if is_spent():
                return found
            self._roots = {(direction, delta): found, **dict(list(self._roots.items())[:_MOST_ROOTS])}
        return self._roots[direction, delta]

    def laws(self, side: Way) -> Laws:
        """The laws above and below for readings in a direction."""
        above = self._law("above")
        assert isinstance(above, SpreadLaw)
        return Laws(above, self._law(side))

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at one eps."""
        return reading(self.laws(side), self.rest, side, epsilon)


class Laws(NamedTuple):
    """A law above that of the samples, and one below, if there is one."""

    above: SpreadLaw
    below: Law | None


def reading(
    laws: Laws, rest: Rest | NoiseRest, side: Way, epsilon: float, *, closely: bool = False
) -> tuple[float, float]:
    """Ends of delta at one eps from two laws; closely: with the rest asked itself at the points that count."""
    ask = partial(rest.ends, side) if closely and isinstance(rest, Rest) else None
    profile = profile_around(laws.above, rest, side, epsilon)
    upper = _mean(laws.above, side, epsilon, profile, -1, ask)
    upper += _MORE * laws.above.left_out[MINE[side]]
    lower = float(rest.ends(side, np.array([epsilon])).lower[0])  # of the rest alone, by Jensen's inequality
    if laws.below is not None:
        lower = max(_mean(laws.below, side, epsilon, profile, 1, ask) * (1 - 8 * _UNIT), lower)
    return max(lower, -math.expm1(min(epsilon, 0.0))), min(upper * (1 + 8 * _UNIT), 1.0)


def profile_around(law: SpreadLaw, rest: Rest | NoiseRest, side: Way, epsilon: float) -> Sides:
    """The profile of the rest, known best where the points of a law meet it."""
    sign = -1 if side == "forward" else 1
    return rest.around(side, epsilon + sign * (law.least + _thinned(law)))


def _mean(
    law: Law, side: Way, epsilon: float, profile: Sides, outward: int, ask: Callable[[Array], Ends] | None
) -> float:
    """E[x delta_R(eps - S)] or E[delta'_R(eps + S)] of a law on points, from one end of the profile of the rest.

    The end is read at places moved to where it is farther out by more than the rounding of the place.
    """
    point, mass, farther = law.outcomes
    spend(_POINT * point.size)
    loss = law.least + point
    room = 8 * _UNIT * (abs(epsilon) + 8 * (abs(law.least) + abs(law.grid.points[0])) + np.abs(loss))
    growth = np.exp(loss)
    if farther is not None:
        loss, growth = loss + np.log1p(farther), (1 + farther) * growth
        room += (4 * law.error + 8 * _UNIT) * np.log1p(farther)
    if side == "forward":
        weight, place = mass * growth, epsilon - loss + outward * room
    else:
        weight, place = mass, epsilon + loss + outward * room
    sides = profile if ask is None else profile.closely(ask, weight)
    terms = weight * (sides.upper if outward < 0 else sides.lower)(place)
    return float(np.sum(terms)) * (1 - outward * 2 * (law.error + 16 * _UNIT))


def _thinned(law: SpreadLaw) -> Array:
    """Some points of every octave that has mass, none of them very close to the next."""
    grid, some = law.grid, np.zeros(law.mass.size, dtype=bool)
    for j, (half, step) in enumerate(zip(grid.halves, grid.steps, strict=True)):
        for _, row in grid.rows(j):
            some[row.start : row.stop : max(half // _PLACES, min(int(_CLOSE / step), half - 1), 1)] = True
    return np.asarray(grid.points[some & (law.mass > 0)])
