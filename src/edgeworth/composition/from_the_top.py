"""Delta next to the largest loss, and beyond it, where that is known to many more digits than a double has.

At eps = 3.48 of responses at 2.33, 3 times 0.165 and 5 times 0.131 delta is 0, or 1e-17: doubles cannot tell, fractions
can. With W = top - T, which has an atom of mass A at 0, delta(eps) = E_Q[(1 - e^(W - y))_+] for eps = top - y. That is
A (1 - e^-y) up to the next atom where there are but atoms. Laplace noise adds densities h over the mass of its atom:
with H(x) = sum of h^(j)(0) x^(j+1), the transform of h at 1/x,

    delta = A sum of d_m y^(m-1)/(m-1)!,     sum of d_m x^m = x^2/(1 + x) prod (1 + H_i(x))^(n_i).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gamma

from edgeworth.composition.answered import Ends, Forwarding
from edgeworth.composition.by_squares import power
from edgeworth.composition.tops import Top, top

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FromTheTop"]

_WAYS: tuple[Direction, ...] = ("forward", "backward")
_UNIT = 2.0**-53
_TINY, _LARGEST_ERROR = 1e-290, 1e-12  # beyond which others are asked: of very many equal steps these have more digits
_ROOM = 1e-6  # of the distance of two losses, for the rounding of the lattices
_WIDE = 1e-9  # a relative width at which others are asked
_UNKNOWN = Fraction(1, 10**45)  # of the largest loss: of that of a sample sixty digits are known
_TERMS = 48  # of the series, …
_BENT, _SHARE = 0.75, 0.5  # … whose scale is where k (e^w - 1) is so much, and how much of that is read
_RADII = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1)  # of it, at which the majorant is taken
_ULPS, _ULPS_OF_A_PRODUCT = 150, 3  # of a term, for each power in it: of what is made for a step, and of all products
_LARGEST_EXPONENT = 600.0


class _Tops(NamedTuple):
    """The tops of all steps together: the largest loss, the logarithm of the mass there under Q, and its error."""

    largest: Fraction
    log_mass: float
    error: float
    steps: tuple[tuple[Top, int], ...]
    scale: float
    """How far below the top the series of all densities surely converge; inf where there are none."""
    series: Array
    """Of delta over the mass of the atom, in shares of the scale, from the first power on."""

    @property
    def reach(self) -> float:
        """How far below the top there may be a formula."""
        return min(_SHARE * self.scale, *(step.distance * (1 - _ROOM) for step, _ in self.steps))

    def most(self, y: float) -> float:
        """At least the sum of the moduli of all terms at y."""
        spread = math.fsum(n * y * step.most(y) for step, n in self.steps if step.slope)
        return math.expm1(y) * math.exp(min(spread, _LARGEST_EXPONENT))

    def ends(self, y: float) -> tuple[float, float]:
        """Those of delta over the mass of the atom."""
        if math.isinf(self.scale):
            return -math.expm1(-y), -math.expm1(-y)
        share = y / self.scale
        value = float(np.polynomial.polynomial.polyval(share, self.series)) * share
        products = sum(2 * n.bit_length() + 2 for step, n in self.steps if step.slope)
        ulps = (_ULPS + _ULPS_OF_A_PRODUCT * products) * self._order(y)
        error = self._left_out(y) + ulps * _UNIT * self.most(y)
        return value - error, value + error

    def _order(self, y: float) -> float:
        """The mean power of y in these moduli: y G'/G of their sum G."""
        spread = math.fsum(n * y * step.most(y) * (1 + y * step.rise(y)) for step, n in self.steps if step.slope)
        return y / -math.expm1(-y) + spread

    def _left_out(self, y: float) -> float:
        """At least the sum of the terms that are not taken, by Cauchy's inequality on the best of some circles."""
        circles = [(self.most(share * self.scale), y / (share * self.scale)) for share in _RADII]
        return min(most * near**_TERMS / (1 - near) for most, near in circles if near < 1)


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
    if math.isnan(tops.error) or float(gap) >= tops.reach:
        return math.nan, math.nan
    (lower, upper), mass = tops.ends(float(gap)), math.exp(tops.log_mass)
    if upper - lower > _WIDE * upper or mass * lower < _TINY:
        return math.nan, math.nan
    return mass * lower * (1 - tops.error), mass * upper * (1 + tops.error)


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
    steepest = max(abs(step.slope) for step, _ in known)
    scale = math.log1p(_BENT / steepest) if steepest else math.inf
    series = _series(known, scale) if steepest else np.ones(1)
    return _Tops(largest, log_mass, error if error < _LARGEST_ERROR else math.nan, known, scale, series)


def _series(steps: tuple[tuple[Top, int], ...], scale: float) -> Array:
    """d_(j+1)/j! for j = 1, 2, …, with x counted in 1/scale and y in scales."""

    def times(one: Array, other: Array) -> Array:
        return np.asarray(np.convolve(one, other)[: _TERMS + 1], dtype=np.float64)

    made: Array = -((-scale) ** np.arange(_TERMS + 1, dtype=np.float64))  # of x/(1 + x)
    made[0] = 0.0
    for step, n in steps:
        if step.slope:
            made = times(made, power(np.append(1.0, step.density(scale, _TERMS)), n, times))
    return np.asarray(made[1:_TERMS] / gamma(np.arange(1, _TERMS) + 1.0))
