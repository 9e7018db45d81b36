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

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.searched import SearchedAnswers
from edgeworth.composition.spread.rest import known
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.composition.spread.law import Side, SpreadLaw
    from edgeworth.composition.spread.rest import Rest
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["SpreadAnswers"]

_UNIT = 2.0**-53
_MORE = 1.001  # for the rounding of small sums
_PLACES = 32  # in an octave, at which the rest is asked for anew near each reading


class SpreadAnswers(SearchedAnswers):
    """Ends of delta, and of epsilon by a search; of f no more than that it is at most 1 - alpha."""

    def __init__(self, total: TotalLoss, law: Callable[[Side], SpreadLaw], least: float, rest: Rest) -> None:
        self._moments = moments.prepared(total)
        super().__init__(self._moments, 0.0, symmetric=False)
        self._law, self._least, self._rest = cache(law), least, rest
        self._largest = {"forward": total.support[1], "backward": -total.support[0]}

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        ends = [self._one(direction, x) for x in epsilon.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    def _one(self, direction: Direction, epsilon: float) -> tuple[float, float]:
        side: Side = "forward" if direction == "forward" else "backward"
        if epsilon == math.inf or epsilon > self._largest[side] * (1 + 64 * _UNIT):
            return 0.0, 0.0
        if epsilon == -math.inf:
            return 1.0, 1.0
        above, below = self._law("above"), self._law(side)
        sign = -1 if side == "forward" else 1
        table = self._rest.around(direction, epsilon + sign * (self._least + _thinned(above)))
        mine = 1 if side == "forward" else 0
        upper = self._mean(above, side, epsilon, lambda t: known(table, t).upper, -1)
        upper += _MORE * above.left_out.masses[mine]
        lower = self._mean(below, side, epsilon, lambda t: known(table, t).lower, 1)
        alone = float(self._rest.ends(direction, np.array([epsilon])).lower[0])
        lower += below.left_out.kappa * max(alone - 2 * _MORE * below.left_out.masses[mine], 0.0)
        lower *= (1 - _MORE * below.left_out.share) * (1 - 8 * _UNIT)
        return max(lower, -math.expm1(min(epsilon, 0.0))), min(upper * (1 + 8 * _UNIT), 1.0)

    def _mean(
        self, law: SpreadLaw, side: Side, epsilon: float, profile: Callable[[Array], Array], outward: int
    ) -> float:
        """E[x delta_R(eps - S)] or E[delta'_R(eps + S)] of a law on points, from one end of the profile of the rest.

        The end is read at places moved to where it is farther out by more than the rounding of the place.
        """
        (held,) = np.nonzero(law.mass)
        loss, mass = self._least + law.grid.points[held], law.mass[held]
        room = 8 * _UNIT * (abs(epsilon) + abs(self._least) + np.abs(loss))
        if side == "forward":
            terms = mass * np.exp(loss) * profile(epsilon - loss + outward * room)
        else:
            terms = mass * profile(epsilon + loss + outward * room)
        return float(np.sum(terms)) * (1 - outward * 2 * (law.error + 16 * _UNIT))

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Nothing of its own: f is read from the profile."""
        del direction
        return Ends(np.where((alpha == 0) | (alpha == 1), 1 - alpha, 0.0), np.nextafter(1 - alpha, 2.0))

    def bridge(self) -> tuple[float, float]:
        """That of the tilted moments."""
        return self._moments.bridge()

    def read(self, kind: Kind, t: Array) -> Ends:
        """Delta forward, and backward; the overlap is not read."""
        if kind == "overlap":
            raise Unsupported("the overlap of samples beside a rest is not read; f follows from the profile")
        return self.profile("forward", t) if kind == "delta" else self.profile("backward", -t)


def _thinned(law: SpreadLaw) -> Array:
    """Some points of every octave that has mass."""
    grid, some = law.grid, np.zeros(law.mass.size, dtype=bool)
    for octave, half in zip(grid.octaves, grid.halves, strict=True):
        some[octave.start : octave.stop : max(half // _PLACES, 1)] = True
    return np.asarray(grid.points[some & (law.mass > 0)])
