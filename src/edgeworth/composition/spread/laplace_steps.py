"""One sample of Laplace noise on graded points: a law above it in convex order, and one below.

With y >= 0 the loss of the base above -theta, that of the sample above its least is log(1 + r (e^y - 1)),
r = p e^-theta/(1 - p + p e^-theta). P has an atom of 1/2 at y = 0, one of e^-theta/2 at y = 2 theta, and between these
the density e^(-y/2)/4.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.lattice.shares import partly_held_shares
from edgeworth.composition.spread.graded import Sums
from edgeworth.composition.spread.law import LARGEST_LOG, Shares, Step
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses import LaplaceLoss, SampledLoss

__all__ = ["laplace_below", "laplace_shares"]

_UNIT = 2.0**-53
_DIGITS = 80  # of places, so that small differences of them have all of theirs
_EXPONENTIAL = 100.0  # units of work for one of so many digits
_NEAREST = 1e-20  # of the rate times theta
_ON_A_POINT = Decimal("1e-25")  # of a cell: too near to a point for these digits
_NEXT, _LAST = Decimal("0.75"), Decimal("2.5")  # cells from where an interval begins to its mean, and before an atom
_ATOMS = 16  # in a sum of which upper ones have a mass that counts
_ON_IT = "the points end below the largest loss of these samples, or one of them is on it"
_TOO_FEW = "the points are too few for the loss of these samples"


def laplace_shares(grid: Graded, loss: SampledLoss, base: LaplaceLoss) -> Shares:
    """The density of each cell, and the upper atom; the lower one is on a point."""
    top, share = _upper_atom(grid, loss, base)
    scale = math.exp(base.theta) / loss.rate * (1 + loss.rate * math.expm1(-base.theta))  # 1/r
    rise, gap = scale * np.expm1(grid.points[: top + 1]), scale * grid.gaps[: top + 1]  # of e^y - 1
    length = 0.5 * np.log1p(gap / (1 + rise))
    held = length.copy()
    held[-1] = 0.5 * math.log1p(share * float(gap[-1] / (1 + rise[-1])))
    left, right = np.zeros(grid.points.size), np.zeros(grid.points.size)
    for part, log in zip((left, right), partly_held_shares(0.5 * np.log1p(rise), length, held), strict=True):
        part[: top + 1] = np.exp(log)
    left[top] += 0.5 * math.exp(-base.theta) * (1 - share)
    right[top] += 0.5 * math.exp(-base.theta) * share
    left[0] += 0.5
    return Shares(left, right, (0.0, 0.0), math.log1p(loss.rate * math.expm1(-base.theta)), _error(base))


def laplace_below(grid: Graded, loss: SampledLoss, base: LaplaceLoss, n: int) -> Step:
    """That of a rate so much lower that the upper atom is on a point, as are its multiples; the density is merged."""
    with localcontext() as context:
        context.prec = _DIGITS
        lower = _lower_rate(grid, loss, base, n)
        mass = np.zeros(grid.points.size)
        places, images = _images(grid, base, lower)
        for place, part in _merged(images, _exact_theta(base).exp()):
            mass[places[place]] += float(part)
        least = float((1 + lower.rate * ((-_exact_theta(base)).exp() - 1)).ln())
    return Step(Sums(mass, np.zeros(mass.size), (0.0, 0.0)), least, _error(base))


def _merged(e_y: list[Decimal], end: Decimal) -> list[tuple[int, Decimal]]:
    """Masses at points, of which e^y is given up to the upper atom: all that is between means is merged to a point.

    The mean of e^y between y = 2 log a and y = 2 log b is a b, and P has 1/(2a) - 1/(2b) there. What is left before the
    upper atom is merged with as much of that as brings its mean to a point. `end` is e^theta.
    """
    top, half = len(e_y) - 1, Decimal("0.5")
    made, start, k = [(0, half)], Decimal(1), 0
    room = _LAST * (e_y[top] - e_y[top - 1])
    while True:
        while k < top and e_y[k] - start * start < _NEXT * (e_y[k + 1] - e_y[k]):
            k += 1
        stop = e_y[k] / start
        if k == top or e_y[top] - stop * stop < room:
            break
        made.append((k, half / start - half / stop))
        start = stop
    mean, left = start * end, half / start - half / end
    place = next(k for k in range(k, top + 1) if e_y[k] >= mean)
    if place == top or len(made) == 1:
        raise ComputationFailed(_TOO_FEW)
    taken = left * (e_y[place] - mean) / (e_y[top] - e_y[place])
    if 2 * taken > half / end:
        raise ComputationFailed(_TOO_FEW)
    return [*made, (place, left + taken), (top, half / end - taken)]


class _LowerRate(NamedTuple):
    """A rate, the point that the upper atom then lies on, and the step of which some of its multiples are, too."""

    rate: Decimal
    point: Decimal
    step: Decimal


def _lower_rate(grid: Graded, loss: SampledLoss, base: LaplaceLoss, n: int) -> _LowerRate:
    """The rate p' <= p with which the upper atom lies on a point, and its multiples up to the n-th do.

    E = (1 - p' + p' e^theta)/(1 - p' + p' e^-theta) = e^(k h) gives p' = (E - 1)/(e^theta - 1 + E (1 - e^-theta)).
    """
    place = _largest_ratio(loss, base).ln()
    reached = [step for step, half in zip(grid.steps, grid.halves, strict=True) if half * step < n * float(place)]
    if not reached or not reached[-1] <= place < float(grid.ends[-1]):
        raise ComputationFailed(_TOO_FEW)
    number = int(count := place / Decimal(reached[-1]))
    if not _ON_A_POINT < count - number < 1 - _ON_A_POINT:
        raise ComputationFailed(_ON_IT)
    point = number * Decimal(reached[-1])
    theta, ratio = _exact_theta(base), point.exp()
    rate = (ratio - 1) / (theta.exp() - 1 + ratio * (1 - (-theta).exp()))
    few = [step for step, half in zip(grid.steps, grid.halves, strict=True) if half * step < _ATOMS * float(place)]
    return _LowerRate(rate, point, Decimal(min(few[-1], reached[-1])))


def _images(grid: Graded, base: LaplaceLoss, lower: _LowerRate) -> tuple[list[int], list[Decimal]]:
    """Points up to the upper atom, and the e^y of each: 1 + (e^l - 1)/r.

    Next to the upper atom these are so few that sums of some of them are not spread.
    """
    theta, points = _exact_theta(base), []
    for j, (fine, half) in enumerate(zip(map(Decimal, grid.steps), grid.halves, strict=True)):
        start, end = (0 if j == 0 else half * fine), min(2 * half * fine, lower.point + fine)
        step = max(fine, lower.step) if end > lower.point / 4 else fine
        points += [number * step for number in range(math.ceil(start / step), math.ceil(end / step))]
    spend(_EXPONENTIAL * len(points))
    places = np.searchsorted(grid.points, np.array(points, dtype=float))
    scale = theta.exp() / lower.rate * (1 + lower.rate * ((-theta).exp() - 1))
    return places.tolist(), [1 + scale * (point.exp() - 1) for point in points]


class _Place(NamedTuple):
    """A cell, and how far into it in x = e^loss, as a share of its length."""

    cell: int
    share: float


def _upper_atom(grid: Graded, loss: SampledLoss, base: LaplaceLoss) -> _Place:
    """Where the upper atom lies: to so many digits that both of its shares have all of theirs."""
    with localcontext() as context:
        context.prec = _DIGITS
        x = _largest_ratio(loss, base)
        place = x.ln()
        for step, half, octave in zip(map(Decimal, grid.steps), grid.halves, grid.octaves, strict=True):
            if place < 2 * half * step:
                number = int(place / step)
                low, high = (number * step).exp(), ((number + 1) * step).exp()
                share = (x - low) / (high - low)
                if not _ON_A_POINT < share < 1 - _ON_A_POINT:
                    break
                return _Place(octave.stop - 2 * half + number, float(share))
    raise ComputationFailed(_ON_IT)


def _largest_ratio(loss: SampledLoss, base: LaplaceLoss) -> Decimal:
    """X at the upper atom over X at the lower one; refused where it is so near to 1 that digits would be missing."""
    if loss.rate * base.theta < _NEAREST:
        raise ComputationFailed(_TOO_FEW)
    theta, p = _exact_theta(base), Decimal(loss.rate)
    return (1 - p + p * theta.exp()) / (1 - p + p * (-theta).exp())


def _exact_theta(base: LaplaceLoss) -> Decimal:
    return Decimal(base.largest.numerator) / Decimal(base.largest.denominator)


def _error(base: LaplaceLoss) -> float:
    """At least the relative error of every mass."""
    return (8 * LARGEST_LOG + 32 * (4 + base.theta)) * _UNIT
