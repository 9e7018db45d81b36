"""One sample of Gaussian, discrete Gaussian or Laplace noise on graded points, above its least loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.outside import TAIL_ERROR
from edgeworth.composition.lattice.shares import gaussian_error, sampled_gaussian_shares
from edgeworth.composition.spread.discrete_steps import discrete_shares
from edgeworth.composition.spread.laplace_steps import laplace_below, laplace_shares
from edgeworth.composition.spread.law import LARGEST_LOG, Shares, SpreadLaw, finished
from edgeworth.composition.spread.resolution import centre
from edgeworth.losses import DiscreteGaussianLoss, GaussianLoss, LaplaceLoss

if TYPE_CHECKING:
    from edgeworth.composition.spread.graded import Graded
    from edgeworth.composition.spread.law import Side
    from edgeworth.losses import SampledLoss
    from edgeworth.losses.law import Array

__all__ = ["one_step", "shares_of"]

_UNIT = 2.0**-53
_ROUNDED = 1e-9  # for the rounding of a density


def one_step(grid: Graded, loss: SampledLoss, n: int, side: Side) -> SpreadLaw:
    """The law of one of n samples of Gaussian or Laplace noise on one side of it, or that of any above it."""
    if isinstance(loss.base, LaplaceLoss) and side != "above":
        step = laplace_below(grid, loss, loss.base, n)
    else:
        step = shares_of(grid, loss, n).step(grid)
    return finished(SpreadLaw(grid, side, step.least, step.sums.mass, (0.0, 0.0), step.error), step.sums)


def shares_of(grid: Graded, loss: SampledLoss, n: int) -> Shares:
    """What both ends of every cell have of one of n samples."""
    if isinstance(loss.base, LaplaceLoss):
        return laplace_shares(grid, loss, loss.base)
    first = int(np.searchsorted(grid.points, -min(centre(loss, n), -math.log1p(-loss.rate)))) if grid.below else 0
    shift = -float(grid.points[first])
    if isinstance(loss.base, DiscreteGaussianLoss):
        return discrete_shares(grid, loss, loss.base, shift)
    assert isinstance(loss.base, GaussianLoss)
    return _gaussian(grid, loss, loss.base, first)


def _gaussian(grid: Graded, loss: SampledLoss, base: GaussianLoss, first: int) -> Shares:
    """The loss above log(1 - p) is log(1 + r W), r = p/(1-p), W = e^(mu x - mu^2/2); one below 0 may stand for 0."""
    p, rest, shift = loss.rate, 1 - loss.rate, -float(grid.points[first])
    edge = rest * np.expm1(grid.ends[first:] + shift)
    length = rest * math.exp(shift) * grid.gaps[first:]
    shares = sampled_gaussian_shares(edge, length, base.mu, p)
    left, right = (np.append(np.zeros(first), np.exp(log)) for log in shares)
    with np.errstate(divide="ignore"):
        x = np.log(edge / p) / base.mu + base.mu / 2
    least = math.log1p(-p) + shift
    _, null, _, alternative = (float(part[0]) for part in loss.distribution(least + grid.ends[-1:]))
    most = 1 + TAIL_ERROR
    beyond = null * most, alternative * math.exp(-least) * most
    farthest = float(np.max(np.abs(x), where=np.isfinite(x), initial=1.0))
    error = gaussian_error(np.array([farthest]), 1.0) + (8 * LARGEST_LOG + 16 * (1 + farthest) / base.mu) * _UNIT
    densest = np.append(np.full(first, np.inf), length * _largest_density(edge, x, base.mu, p))
    return Shares(left, right, beyond, least, error, densest)


def _largest_density(edge: Array, x: Array, mu: float, p: float) -> Array:
    """At least the density of X = 1 - p + pW in each cell, given pW at its ends: e^(-x^2/2)/(sqrt(2 pi) mu pW).

    Its logarithm is concave in x with its peak at x = -mu: in a cell it is largest at an end, or there.
    """
    scale = math.log(math.sqrt(2 * math.pi) * mu)
    known = np.isfinite(x)  # at W = 0 it is 0
    log_density = np.where(
        known, -0.5 * np.square(np.where(known, x, 0.0)) - np.log(np.where(known, edge, 1.0)), -np.inf
    )
    largest = np.maximum(log_density[1:], log_density[:-1])
    largest = np.where((x[:-1] <= -mu) & (x[1:] >= -mu), mu * mu - math.log(p), largest)
    return np.asarray(np.exp(largest - scale) * (1 + _ROUNDED))
