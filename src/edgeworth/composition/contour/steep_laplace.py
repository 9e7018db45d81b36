"""Laplace noise at steep tilts: its law there lies within 1/c of an end, next to which panels are shortest.

The panels of `LaplaceLoss.nodes` are all of one length, and serve frequencies, too: of tilts beyond 3000/theta they are
too many. Those here serve real tilts alone, and are as few as the logarithm of c theta.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses import LaplaceLoss
from edgeworth.losses.law import Nodes

if TYPE_CHECKING:
    from edgeworth.composition.contour.sampled_gaussian import Step

__all__ = ["real_nodes", "steepest_of"]

_STEEPEST = 1e7  # of |c| theta: K, of that size, has some 1e-8 of rounding then
_POINT, _SHARE = np.polynomial.legendre.leggauss(16)


def steepest_of(step: Step) -> tuple[float, float]:
    """The tilts that a step can afford along a line.

    >>> steepest_of(LaplaceLoss(2.0))
    (-5000000.0, 5000000.0)
    """
    if not isinstance(step, LaplaceLoss) or step.theta == 0:
        return step.steepest
    most = max(_STEEPEST / max(step.theta, 1e-300), step.steepest[1])
    return -most, most


def real_nodes(step: Step, tilt: tuple[float, float]) -> Nodes:
    """The nodes of a step for real tilts between these two: of Laplace noise also where they are steep."""
    if isinstance(step, LaplaceLoss) and max(-tilt[0], tilt[1]) > step.steepest[1]:
        return _graded(step.theta, max(-tilt[0], tilt[1]))
    return step.nodes(tilt)


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
