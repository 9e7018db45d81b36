"""One sample of Gaussian or of Laplace noise on graded points, above its least loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.outside import TAIL_ERROR
from edgeworth.composition.lattice.shares import gaussian_error, sampled_gaussian_shares
from edgeworth.composition.spread.laplace_steps import laplace_above, laplace_below
from edgeworth.composition.spread.law import LARGEST_LOG, LeftOut, SpreadLaw, Step, finished, shared
from edgeworth.losses import GaussianLoss, LaplaceLoss

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.composition.spread.law import Side
    from edgeworth.losses import SampledLoss

__all__ = ["one_step"]

_UNIT = 2.0**-53


def one_step(grid: Graded, loss: SampledLoss, n: int, side: Side, allowed: float) -> SpreadLaw:
    """The law of one of n samples."""
    base = loss.base
    if isinstance(base, LaplaceLoss):
        step = laplace_above(grid, loss, base) if side == "above" else laplace_below(grid, loss, base, n)
    else:
        assert isinstance(base, GaussianLoss)
        step = _gaussian(grid, loss, base)
    return finished(SpreadLaw(grid, side, allowed, step.least, step.sums.mass, LeftOut(), step.error), step.sums)


def _gaussian(grid: Graded, loss: SampledLoss, base: GaussianLoss) -> Step:
    """The loss above log(1 - p) is log(1 + r W), r = p/(1-p), W = e^(mu x - mu^2/2)."""
    p, rest = loss.rate, 1 - loss.rate
    edge = rest * np.expm1(grid.ends)
    left, right = (np.exp(log) for log in sampled_gaussian_shares(edge, rest * grid.gaps, base.mu, p))
    with np.errstate(divide="ignore"):
        x = np.log(edge / p) / base.mu + base.mu / 2
    _, null, _, alternative = (float(part[0]) for part in loss.distribution(math.log1p(-p) + grid.ends[-1:]))
    last, most = float(right[-1]), 1 + TAIL_ERROR
    beyond = last + null * most, last * math.exp(float(grid.ends[-1])) + alternative / rest * most
    farthest = float(np.max(np.abs(x), where=np.isfinite(x), initial=1.0))
    error = gaussian_error(np.array([farthest]), 1.0) + (8 * LARGEST_LOG + 16 * (1 + farthest) / base.mu) * _UNIT
    return Step(shared(grid, left, right, beyond), math.log1p(-p), error)
