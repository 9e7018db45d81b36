"""A quick upper bound of the profile of samples: for a sum to be far out, one of its terms must be.

If N losses add up to more than eps, one of them is more than eps/N:

    delta(eps) <= Q[T > eps] <= sum of n_i Q[L_i > eps/N],    delta'(eps) <= P[-T > eps] <= sum of n_i P[-L_i > eps/N].

At a tiny rate these are often so small that they underflow, where lines would have to look for a long way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr

from edgeworth.amplification import base_loss
from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["log_one_far"]

_ROOM = 1e-6  # relative, of a place: far more than it is rounded by
_MORE = 1e-9  # relative, of the logarithm of a normal tail


def log_one_far(total: TotalLoss, direction: Direction, epsilon: Array) -> Array:
    """At least the logarithm of the profile at eps, of samples of Gaussian noise alone; inf where it says nothing.

    Backward it is -inf beyond the largest loss, the sum of -n log(1 - p).

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> total = TotalLoss.of(ew.PoissonSampled(ew.Gaussian(15.0), rate=1e-6) ** 10)
    >>> log_one_far(total, "both", np.array([-1.0, 0.003])).round().tolist()
    [inf, -3670.0]
    >>> log_one_far(total, "backward", np.array([1.1e-5])).tolist()
    [-inf]
    """
    samples = [(loss, n) for loss, n in total.parts if isinstance(loss, SampledLoss)]
    parts = [(loss.base.mu, loss.rate, n) for loss, n in samples if isinstance(loss.base, GaussianLoss)]
    if not parts or len(parts) < len(total.parts) or min(mu for mu, *_ in parts) == 0:
        return np.full(epsilon.size, math.inf)
    share = np.maximum(epsilon, 0.0) / sum(n for *_, n in parts) * (1 - _ROOM)
    above, below = np.full(epsilon.size, -math.inf), np.full(epsilon.size, -math.inf)
    for mu, rate, n in parts:
        x = base_loss(share, rate) * (1 - _ROOM) / mu + mu / 2
        null, shifted = (log_ndtr(-place) * (1 - _MORE) for place in (x, x - mu))
        above = np.logaddexp(above, math.log(n) + np.logaddexp(math.log1p(-rate) + null, math.log(rate) + shifted))
        x = base_loss(-share, rate) * (1 - _ROOM) / mu + mu / 2
        below = np.logaddexp(below, math.log(n) + log_ndtr(x) * (1 - _MORE))
    found = {"forward": above, "backward": below, "both": np.maximum(above, below)}[direction]
    return np.where(epsilon > 0, found, math.inf)
