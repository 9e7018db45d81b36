"""One sample of discrete Gaussian noise on graded points: every outcome is shared by both ends of its cell.

The loss above log(1 - p) of the outcome k is log(1 + r W_k), r = p/(1 - p), W_k = e^((2k - D) D/(2 sigma^2)).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.spread.graded import FLOOR
from edgeworth.composition.spread.law import Shares
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeworth.composition.spread.graded import Graded
    from edgeworth.losses import DiscreteGaussianLoss, SampledLoss
    from edgeworth.losses.law import Array

__all__ = ["discrete_shares"]

_UNIT = 2.0**-53
_DIGITS = 80  # of places, so that small differences of them have all of theirs
_EXPONENTIAL = 100.0  # units of work for one of so many digits
_ON_A_POINT = Decimal("1e-25")  # of a cell: too near to a point for these digits
_MASSES = 64 * _UNIT  # at least the relative error of a mass
_NOT_LISTED = 1e-299  # more than what the noise has beyond the outcomes that are listed, under P and under Q
_MORE = 1 + 1e-9  # for the rounding of small sums


def discrete_shares(grid: Graded, loss: SampledLoss, base: DiscreteGaussianLoss, shift: float) -> Shares:
    """Those of the outcomes that count; the others, and those past the last cell, are beyond.

    The point -shift is log(1 - p).
    """
    rise = _rise(loss, base.loss)
    place, weight = np.log1p(rise) - shift, base.null * (1 + rise) * math.exp(-shift)
    held = (np.maximum(base.null, weight) >= FLOOR) & (place < float(grid.ends[-1]))
    beyond = tuple(float(np.sum(some[~held])) * _MORE + _NOT_LISTED for some in (base.null, weight))
    left, right = np.zeros(grid.points.size), np.zeros(grid.points.size)
    spend(2 * _EXPONENTIAL * np.count_nonzero(held))
    with localcontext() as context:
        context.prec = _DIGITS
        for k, y in enumerate(_exact_rises(loss, base)):
            if held[k]:
                cell, share = _cell(grid, float(place[k]), y, Decimal(shift))
                left[cell] += base.null[k] * float(1 - share)
                right[cell] += base.null[k] * float(share)
    terms = int(np.max(np.bincount(np.searchsorted(grid.points, place[held])), initial=0)) + 4
    return Shares(left, right, (beyond[0], beyond[1]), math.log1p(-loss.rate) + shift, _MASSES + 2 * terms * _UNIT)


def _rise(loss: SampledLoss, base: Array) -> Array:
    """About r W for losses of the base: what doubles do not hold is beyond all cells."""
    return np.exp(np.minimum(base + math.log(loss.rate) - math.log1p(-loss.rate), 700.0))


def _exact_rises(loss: SampledLoss, base: DiscreteGaussianLoss) -> Iterator[Decimal]:
    """All r W, of the outcomes from -reach to D + reach: each is the one before times e^(D/sigma^2)."""
    p, d, variance = Decimal(loss.rate), base.sensitivity, Decimal(base.sigma) ** 2
    reach = (base.loss.size - d - 1) // 2
    y, ratio = p / (1 - p) * (-(2 * reach + d) * d / (2 * variance)).exp(), (d / variance).exp()
    for _ in range(base.loss.size):
        yield y
        y *= ratio


def _cell(grid: Graded, guess: float, y: Decimal, shift: Decimal) -> tuple[int, Decimal]:
    """The cell of an outcome of which e^loss is 1 + y, and its share of the right end."""
    cell = int(np.searchsorted(grid.points, guess, side="right")) - 1
    for number in (cell, cell - 1, cell + 1):
        if not 0 <= number < grid.points.size:
            continue
        low, high = ((Decimal(float(end)) + shift).exp() - 1 for end in grid.ends[number : number + 2])
        share = (y - low) / (high - low)
        if _ON_A_POINT < share < 1 - _ON_A_POINT or (low == 0 and 0 < share < 1 - _ON_A_POINT):
            return number, share
    raise ComputationFailed("an outcome of these samples is on a point")
