"""Laplace noise at steep tilts: its law there lies within 1/c of an end, next to which panels are shortest.

The panels of `LaplaceLoss.nodes` are all of one length, and serve frequencies, too: of tilts beyond 3000/theta they are
too many. Those here serve real tilts alone, and are as few as the logarithm of c theta. The loss of a sample changes
less than that of its base, and needs as much fewer panels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses import LaplaceLoss, SampledLoss
from edgeworth.losses.law import Nodes

if TYPE_CHECKING:
    from edgeworth.composition.contour.sampled_gaussian import Step

__all__ = ["real_nodes", "sample_nodes", "steepest_of", "tilt_of_base"]

_STEEPEST = 1e7  # of |c| theta: K, of that size, has some 1e-8 of rounding then
_MORE = 4.0  # of a tilt: panels so short that L is analytic around them
_POINT, _SHARE = np.polynomial.legendre.leggauss(16)


def steepest_of(step: Step) -> tuple[float, float]:
    """The tilts that a step can afford along a line.

    >>> steepest_of(LaplaceLoss(2.0))
    (-5000000.0, 5000000.0)
    """
    if isinstance(step, SampledLoss) and isinstance(step.base, LaplaceLoss):
        most = (step.base.steepest[1] - _MORE) / (2 * _largest_share(step, step.base))
        return min(-most, step.steepest[0]), max(most, step.steepest[1])
    if not isinstance(step, LaplaceLoss) or step.theta == 0:
        return step.steepest
    most = max(_STEEPEST / max(step.theta, 1e-300), step.steepest[1])
    return -most, most


def real_nodes(step: Step, tilt: tuple[float, float]) -> Nodes:
    """The nodes of a step for real tilts between these two: of Laplace noise also where they are steep."""
    if isinstance(step, LaplaceLoss) and max(-tilt[0], tilt[1]) > step.steepest[1]:
        return _graded(step.theta, max(-tilt[0], tilt[1]))
    if isinstance(step, SampledLoss) and isinstance(step.base, LaplaceLoss):
        return sample_nodes(step, max(-tilt[0], tilt[1]))
    return step.nodes(tilt)


def sample_nodes(step: SampledLoss, steepest: float) -> Nodes:
    """The nodes of a sample of Laplace noise for all s with |s| <= steepest, real or not."""
    tilt = tilt_of_base(step, steepest)
    return step.nodes((-tilt, tilt))


def tilt_of_base(step: SampledLoss, steepest: float) -> float:
    """One whose panels of the base are short enough for e^(sL) of the sample: its loss changes r times as much."""
    assert isinstance(step.base, LaplaceLoss)
    return min(steepest, 2 * _largest_share(step, step.base) * steepest + _MORE)


def _largest_share(step: SampledLoss, base: LaplaceLoss) -> float:
    """The posterior r = p e^theta/(1 - p + p e^theta) at the largest loss."""
    return 1 / (1 + (1 - step.rate) / step.rate * math.exp(-base.theta))


def _graded(theta: float, steepest: float) -> Nodes:
    """Both atoms, and panels that double in length from either end to the middle.

    With x = (L + theta)/2 the density e^-x/2 becomes one of e^((2c - 1) x): the first panels are so short that it grows
    by e on each at the most.
    """
    doublings = math.ceil(math.log2(theta * (0.5 + steepest)))
    edges = np.append(0.0, 0.5 * theta * 0.5 ** np.arange(doublings, -1, -1))
    half = 0.5 * np.diff(edges)[:, None]
    far = (edges[:-1, None] + half * (1 + _POINT)).ravel()  # from an end, in x: up to theta/2
    log_share = np.log(half * _SHARE).ravel()
    loss = np.concatenate([[-theta], 2 * far - theta, (theta - 2 * far)[::-1], [theta]])
    log_weight = np.concatenate([[0.0], log_share - far, (log_share - (theta - far))[::-1], [-theta]])
    return Nodes(loss, log_weight - math.log(2))
