"""Runs in which every step has nearly its largest loss: what delta is at least, next to the end of the support.

With t_i just below the largest loss of step i, T > sum n_i t_i has a Q-mass of at least q = prod Q[L_i > t_i]^n_i, and

    delta(eps) = E_Q[(1 - e^(eps - T))_+] >= q (1 - e^(eps - sum n_i t_i)).

Backward it is the same of -L under P. docs/proofs/moments.md, section 4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.losses import TotalLoss

__all__ = ["TopRuns", "top_runs"]

_BELOW = 2.0**-48  # of the largest loss: how far t_i lies below it
_MASS_ERROR = 1e-13  # relative, of one step's mass
_SUM_ERROR = 2.0**-50  # relative, of the sum of the thresholds


class TopRuns(NamedTuple):
    """At least the mass of these runs, as a logarithm, and at most their least loss."""

    log_mass: float
    place: float

    def delta(self, epsilon: float) -> float:
        """What the profile is at least."""
        return math.exp(self.log_mass) * -math.expm1(min(epsilon - self.place, 0.0)) * (1 - 1e-15)

    def epsilon(self, delta: float) -> float:
        """An eps >= 0 at which delta(eps) >= delta > 0; 0 where these runs do not tell one.

        >>> runs = TopRuns(math.log(0.5), 2.0)
        >>> runs.delta(runs.epsilon(0.1)) >= 0.1, runs.epsilon(0.5)
        (True, 0.0)
        """
        share = delta * math.exp(min(-self.log_mass, 700.0)) * (1 + 1e-14)
        return max(self.place + math.log1p(-share) - 1e-15 * abs(self.place), 0.0) if share < 1 else 0.0


def top_runs(total: TotalLoss, direction: Direction) -> TopRuns:
    """The runs of one direction; of no mass where a loss has no end, or no mass that is known there."""
    log_mass, places, sign = 0.0, [], 1.0 if direction == "forward" else -1.0
    for loss, n in total.parts:
        end = max(sign * end for end in loss.support)
        if math.isinf(end):
            return TopRuns(-math.inf, math.inf)
        near = end - _BELOW * abs(end)
        below, _, _, above = loss.distribution(np.array([sign * near]))
        mass = float((above if direction == "forward" else below)[0])
        if not mass > 0:
            return TopRuns(-math.inf, math.inf)
        log_mass += n * (math.log(mass) - _MASS_ERROR)
        places.append(n * near)
    return TopRuns(log_mass, math.fsum(places) - _SUM_ERROR * math.fsum(map(abs, places)))
