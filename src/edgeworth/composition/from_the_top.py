"""Delta next to the largest loss, and beyond it, where that is known to many more digits than a double has.

At eps = 3.48 of responses at 2.33, 3 times 0.165 and 5 times 0.131 delta is 0, or 1e-17: doubles cannot tell, fractions
can. With W = top - T, which has an atom of mass A at 0, delta(eps) = E_Q[(1 - e^(W - y))_+] so far y below the top:

    A (1 - e^-y)  and, for Laplace noise in n steps,  A n h (y^2/2 - …),  h the density of W of one step over its atom.

Steps that have nothing but atoms add nothing up to the distance of their second largest loss.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends, Forwarding
from edgeworth.composition.tops import Top, top

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FromTheTop"]

_WAYS: tuple[Direction, ...] = ("forward", "backward")
_UNIT = 2.0**-53
_NEAR = 1e-2  # of the largest loss, from where on fractions are looked at beside Laplace noise
_TINY, _LARGEST_ERROR = 1e-290, 1e-12  # beyond which others are asked: of very many equal steps these have more digits
_ROOM = 1e-6  # of the distance of two losses, for the rounding of the lattices
_WIDE = 1e-9  # a relative width at which others are asked
_UNKNOWN = Fraction(1, 10**45)  # of the largest loss: of that of a sample sixty digits are known
_SLOPE_ERROR = 1e-12  # relative, of a slope


class _Tops(NamedTuple):
    """The tops of all steps together: the largest loss, the mass there under Q, its relative error, and the rest."""

    largest: Fraction
    log_mass: float
    error: float
    steps: tuple[tuple[Top, int], ...]

    @property
    def reach(self) -> float:
        """How far below the top there may be a formula."""
        laplace = any(step.slope for step, _ in self.steps)
        return min(_NEAR * float(self.largest) if laplace else math.inf, *(step.distance for step, _ in self.steps))


class FromTheTop(Forwarding):
    """Answers whose delta next to the largest loss of a direction is a formula, and 0 from it on."""

    def __init__(self, answers: Answers, total: TotalLoss) -> None:
        super().__init__(answers)
        self._total = total

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        lower, upper = (np.full(epsilon.size, math.nan) for _ in range(2))
        tops = [_tops(self._total, way) for way in (_WAYS if direction == "both" else (direction,))]
        if None not in tops:
            least = max(float(one.largest) - one.reach for one in tops if one)
            for index in np.flatnonzero((epsilon >= least) & np.isfinite(epsilon)):
                at = Fraction(float(epsilon[index]))
                lower[index], upper[index] = np.max([_read(one, one.largest - at) for one in tops if one], axis=0)
        (others,) = np.nonzero(np.isnan(upper))
        if others.size:
            lower[others], upper[others] = self._answers.delta(direction, epsilon[others])
        return Ends(lower, upper)


def _read(tops: _Tops, gap: Fraction) -> tuple[float, float]:
    """Ends of delta so far below the largest loss, or nothing."""
    if 0 < abs(gap) < _UNKNOWN * tops.largest:
        return math.nan, math.nan
    if gap <= 0:
        return 0.0, 0.0
    y = float(gap)
    if math.isnan(tops.error) or y >= (1 - _ROOM) * tops.reach:
        return math.nan, math.nan
    least, most = (math.fsum(n * step.density(y)[side] for step, n in tops.steps) for side in range(2))
    if most * y > 1:
        return math.nan, math.nan
    first = -math.expm1(-y)
    lower = first + least * y * y / 2 * (1 - y / 3)
    upper = first + most * y * y / 2 + y * (most * y) ** 2 / 12 * math.exp(most * y)
    mass = math.exp(tops.log_mass)
    if upper - lower > _WIDE * upper or mass * lower < _TINY:
        return math.nan, math.nan
    error = tops.error + _SLOPE_ERROR * most * y
    return mass * lower * (1 - error), mass * upper * (1 + error)


@lru_cache(maxsize=16)
def _tops(total: TotalLoss, direction: Direction) -> _Tops | None:
    """The product of the masses, the sum of the losses; None where one step has no known top."""
    steps = [(top(loss, direction), n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
    known = tuple((step, n) for step, n in steps if step is not None)
    if not known or len(known) < len(steps):
        return None
    largest = sum((n * step.largest for step, n in known), Fraction(0))
    log_mass = math.fsum(n * step.log_mass for step, n in known)
    error = _UNIT * (64 + 16 * sum(n for _, n in known) + 8 * abs(log_mass))
    return _Tops(largest, log_mass, error if error < _LARGEST_ERROR else math.nan, known)
