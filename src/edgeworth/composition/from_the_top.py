"""Delta next to the largest loss, and beyond it, where that is a rational number: a sum of pure epsilons, most often.

At eps = 3.48 of responses at 2.33, 3 times 0.165 and 5 times 0.131 delta is 0, or 1e-17: doubles cannot tell, fractions
can. From the largest loss down to the next one there is but one atom, and delta(eps) = Q[T = top] (1 - e^-(top - eps)).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends, Forwarding

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FromTheTop"]

_UNIT = 2.0**-53
_NEAR = 1e-9  # of the largest loss, from where on fractions are looked at
_TINY, _LARGEST_ERROR = 1e-290, 1e-12  # beyond which others are asked: of very many equal steps these have more digits
_ROOM = 1e-6  # of the distance of two losses, for the rounding of the lattices


class _Atom(NamedTuple):
    """The largest loss of all: the logarithm of its mass under Q, its relative error, and how far the next one is."""

    log_mass: float
    error: float
    distance: float


class FromTheTop(Forwarding):
    """Answers of a sum that is its own mirror image: delta next to its largest loss is a formula, and 0 from it on."""

    def __init__(self, answers: Answers, total: TotalLoss, largest: Fraction) -> None:
        super().__init__(answers)
        self._largest, self._atom = largest, _largest_atom(total)

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        lower, upper = (np.full(epsilon.size, math.nan) for _ in range(2))
        least = float(self._largest) * (1 - _NEAR) - (self._atom.distance if self._atom else 0.0)
        for index in np.flatnonzero((epsilon >= least) & np.isfinite(epsilon)):
            lower[index], upper[index] = self._at(self._largest - Fraction(float(epsilon[index])))
        (others,) = np.nonzero(np.isnan(upper))
        if others.size:
            lower[others], upper[others] = self._answers.delta(direction, epsilon[others])
        return Ends(lower, upper)

    def _at(self, gap: Fraction) -> tuple[float, float]:
        """Ends of delta so far below the largest loss, or nothing."""
        if gap <= 0:
            return 0.0, 0.0
        if self._atom is None or gap >= self._atom.distance * (1 - _ROOM):
            return math.nan, math.nan
        value = math.exp(self._atom.log_mass) * -math.expm1(-float(gap))
        if value < _TINY:
            return math.nan, math.nan
        return value * (1 - self._atom.error), value * (1 + self._atom.error)


def _largest_atom(total: TotalLoss) -> _Atom | None:
    """Q[T = top] = P[T = -top] is the product of those of all steps; None where a step is no lattice."""
    lattices = [(loss.lattice, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
    logs, distance = [], math.inf
    for lattice, n in lattices:
        if lattice is None or lattice.log_null.size < 2:
            return None
        logs.append(n * float(lattice.log_null[0]))
        distance = min(distance, lattice.spacing)
    error = _UNIT * (64 + 16 * sum(n for _, n in lattices) + 8 * abs(math.fsum(logs)))
    return _Atom(math.fsum(logs), error, distance) if error < _LARGEST_ERROR else None
