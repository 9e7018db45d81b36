"""A sample of Laplace noise as the line integral sees it: K, and how its transform falls."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition.contour.certified_moment import PANELS, certified_moment
from edgeworth.composition.contour.steep_laplace import sample_nodes

if TYPE_CHECKING:
    from edgeworth.losses import SampledLoss

__all__ = ["sampled_laplace_decay", "sampled_laplace_moment"]

_LARGEST = 600.0  # of an exponent


@lru_cache(maxsize=256)
def sampled_laplace_moment(step: SampledLoss, c: float) -> tuple[float, float]:
    """K with its error, from panels that are short enough for the tilt alone: a line asks for it again and again."""
    nodes = sample_nodes(step, max(abs(c), 1.0))
    return certified_moment(nodes.loss, nodes.log_weight, c, 0.0, PANELS)


def sampled_laplace_decay(step: SampledLoss, theta: float, c: float, log_moment: float) -> tuple[float, float]:
    """The tilted mass of both atoms, and the integral of the density times t at most.

    With x the loss of the base, G = e^(cL) w/L' falls and then rises, so the integral by parts is at most
    2 (G(-theta) + G(theta))/t; w = e^(-(x + theta)/2)/4 and L' = p e^(x - L).
    """
    low, high = step.support
    atoms = math.exp(c * low - log_moment) / 2 + math.exp(c * high - theta - log_moment) / 2
    places = (low, -theta), (high, theta)
    steep = [(c + 1) * level - log_moment - 0.5 * (x + theta) - x - math.log(4 * step.rate) for level, x in places]
    ends = math.fsum(map(math.exp, steep)) if max(steep) < _LARGEST else math.inf
    return min(atoms * (1 + 1e-6), 1.0), 2 * ends * (1 + 1e-6)
