"""A quick upper bound of the profile of samples: for a sum to be far out, one of its terms must be.

If N losses add up to more than eps, one of them is more than eps/N:

    delta(eps) <= Q[T > eps] <= sum of n_i Q[L_i > eps/N],    delta'(eps) <= P[-T > eps] <= sum of n_i P[-L_i > eps/N].

At a tiny rate these are often so small that they underflow, where lines would have to look for a long way. About as
deep as a reading is what some of the losses make of it: lines are told where to look.
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

__all__ = ["log_one_far", "log_some_far"]

_ROOM = 1e-6  # relative, of a place: far more than it is rounded by
_SOME = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # how many losses make all of a sum
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
    parts = _parts_of(total)
    if not parts:
        return np.full(epsilon.size, math.inf)
    share = np.maximum(epsilon, 0.0) / sum(n for *_, n in parts) * (1 - _ROOM)
    return np.where(epsilon > 0, _log_expected(parts, direction, share), math.inf)


def log_some_far(total: TotalLoss, direction: Direction, epsilon: Array) -> Array:
    """About the logarithm of the profile at eps, if some of the losses make all of it; -inf where that says nothing.

    The largest of (m(eps/k))^k/k! for some k, m(x) being the expected number of losses beyond x.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> run = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-5) ** 10
    >>> guess = log_some_far(TotalLoss.of(run), "forward", np.array([-1.0, 0.05]))
    >>> guess.round().tolist(), round(float(np.log(ew.account(run, direction="forward").delta(0.05).upper)))
    ([-inf, -152.0], -158)
    """
    parts, guess = _parts_of(total), np.full(epsilon.size, -math.inf)
    most = sum(n for *_, n in parts)
    for k in (k for k in _SOME if k <= most):
        one = _log_expected(parts, direction, np.maximum(epsilon, 0.0) / k)
        guess = np.maximum(guess, k * np.minimum(one, math.log(most)) - math.lgamma(k + 1))
    return np.where(epsilon > 0, guess, -math.inf)


def _parts_of(total: TotalLoss) -> list[tuple[float, float, int]]:
    """(mu, rate, n) of samples of Gaussian noise; none where there is anything else."""
    samples = [(loss, n) for loss, n in total.parts if isinstance(loss, SampledLoss)]
    parts = [(loss.base.mu, loss.rate, n) for loss, n in samples if isinstance(loss.base, GaussianLoss)]
    return [] if len(parts) < len(total.parts) or min(mu for mu, *_ in parts) == 0 else parts


def _log_expected(parts: list[tuple[float, float, int]], direction: Direction, share: Array) -> Array:
    """At least the logarithm of the expected number of losses beyond this share, and nearly that."""
    above, below = np.full(share.size, -math.inf), np.full(share.size, -math.inf)
    for mu, rate, n in parts:
        x = base_loss(share, rate) * (1 - _ROOM) / mu + mu / 2
        null, shifted = (log_ndtr(-place) * (1 - _MORE) for place in (x, x - mu))
        above = np.logaddexp(above, math.log(n) + np.logaddexp(math.log1p(-rate) + null, math.log(rate) + shifted))
        x = base_loss(-share, rate) * (1 - _ROOM) / mu + mu / 2
        below = np.logaddexp(below, math.log(n) + log_ndtr(x) * (1 - _MORE))
    return np.asarray({"forward": above, "backward": below, "both": np.maximum(above, below)}[direction])
