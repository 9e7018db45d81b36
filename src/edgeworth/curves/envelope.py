"""Many (epsilon, delta) guarantees, one trade-off function (the paper's Proposition 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves.hull import lower_hull
from edgeworth.curves.piecewise import PiecewiseLinear
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array, Numbers

__all__ = ["from_points"]

_LARGEST_EPSILON = 700.0  # a line of slope -e^700 says nothing about any alpha above 1e-304: dropped


def from_points(epsilons: Numbers, deltas: Numbers, *, symmetric: bool) -> PiecewiseLinear:
    """The largest trade-off function that the points of a profile imply, hence lower than the true f.

    symmetric=False: f(alpha) = sup_i 1 - delta_i - e^eps_i alpha (real eps_i, one direction); symmetric=True:
    f = sup_i f_(eps_i, delta_i) (eps_i >= 0, both directions). Points with eps_i > 700 are dropped.

    >>> from_points([0.0], [0.25], symmetric=True).alpha
    array([0.  , 0.75, 1.  ])
    """
    epsilon, delta = validation.reals(epsilons=epsilons), validation.probabilities(deltas=deltas)
    if not (epsilon.ndim == 1 and epsilon.shape == delta.shape):
        raise InvalidArgument(f"epsilons, deltas have shapes {epsilon.shape}, {delta.shape}; give equal lengths")
    if symmetric and not (epsilon >= 0).all():
        raise InvalidArgument(
            f"epsilons={float(epsilon.min())!r} is out of range; give numbers >= 0, or symmetric=False"
        )
    short = delta < -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 1e-15)
    if short.any():
        raise InvalidArgument(
            f"deltas={float(delta[short][0])!r} at epsilon {float(epsilon[short][0])!r} "
            "is below 1 - e^epsilon; no profile goes there"
        )
    kept = epsilon <= _LARGEST_EPSILON
    f = _envelope(epsilon[kept], delta[kept])
    return _mirrored_at_diagonal(f) if symmetric else f


def _envelope(epsilon: Array, delta: Array) -> PiecewiseLinear:
    """max(0, sup_i 1 - delta_i - e^eps_i alpha): vertices where neighbours on the hull of delta meet."""
    slope, height = np.append(0.0, np.exp(epsilon)), np.append(1.0, delta)
    order = np.lexsort((height, slope))
    slope, height = slope[order], np.minimum.accumulate(height[order])
    scale = max(float(slope[-1]), 1.0)
    hull = lower_hull(slope / scale, 1 - slope / scale, height, 1 - height)
    slope, height = slope[hull], height[hull]
    meet = -np.diff(height) / np.diff(slope)
    power = np.minimum(height[1:] + slope[1:] * meet, 1.0)
    kept = meet > 0
    alpha = np.concatenate([[0.0], meet[kept][::-1], [1.0]])
    power = np.concatenate([[height[-1]], power[kept][::-1], [1.0]])
    return PiecewiseLinear.hull(np.minimum(alpha, 1.0), 1 - power, power=power, start=1 - float(height[-1]))


def _mirrored_at_diagonal(f: PiecewiseLinear) -> PiecewiseLinear:
    """The curve f up to its fixed point, where its slope is at most -1, and its mirror image beyond."""
    crossing = np.interp(0.0, f.alpha - f.beta, f.alpha)
    left = f.alpha < f.beta
    alpha, beta, power = f.alpha[left], f.beta[left], f.vertex_power[left]
    return PiecewiseLinear.hull(
        np.concatenate([alpha, [crossing], beta[::-1]]),
        np.concatenate([beta, [crossing], alpha[::-1]]),
        power=np.concatenate([power, [1 - crossing], 1 - alpha[::-1]]),
        acceptance=np.concatenate([1 - alpha, [1 - crossing], power[::-1]]),
        start=float(f.beta[0]),
    )
