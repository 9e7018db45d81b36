"""Certified ends of delta, epsilon and f in either direction, and in both, from the rungs of the lattice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.both_ways import BothWays
from edgeworth.composition.lattice_ladder import FINE, Ladder
from edgeworth.composition.lattice_profile import LatticeProfile
from edgeworth.composition.lattice_tests import FINE_TEST, LatticeTests, polygon

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FINE", "LatticeAnswers"]

_STEP = 1e-3  # of the threshold, over which slopes are taken


class LatticeAnswers(BothWays):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss) -> None:
        self._ladder = Ladder(total)
        self._profile, self._tests = LatticeProfile(self._ladder), LatticeTests(self._ladder)

    @property
    def exact(self) -> bool:
        """Whether all losses are on points by themselves, so that nothing is rounded."""
        return self._ladder.exact

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        return self._profile.delta(direction, epsilon)

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of epsilon in one direction."""
        return self._profile.root(direction, delta)

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By a rough rung."""
        return bool(self._profile.delta(direction, np.array([epsilon]), rough=True).upper[0] <= delta)

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of a test, and ends of f, in one direction."""
        return self._tests.miss(direction, alpha)

    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""
        return self._ladder.read("overlap", t, FINE_TEST).lower

    def touching(self, direction: Direction, t: float) -> list[float]:
        """Type I errors near t, as slopes on both sides of -delta in e^t; where delta is near 1, of the overlap.

        Backward the overlap is that over e^-t, and a function of e^t.
        """
        places = t + _STEP * np.array([-1.0, 0.0, 1.0])
        delta = self.profile(direction, places).upper
        if delta[1] < 0.5:
            values = -delta
        elif direction == "forward":
            values = self.overlap(places)
        else:
            values = self.overlap(-places) * np.exp(places)
        slopes = np.diff(values * math.exp(-t)) / np.array([-math.expm1(-_STEP), math.expm1(_STEP)])
        return [min(float(slope), 1.0) for slope in slopes if slope > 0]

    def bridge(self) -> tuple[float, float]:
        """Two errors, in order, that a test at threshold 0 reaches in one direction: where the slope of f is -1."""
        made = polygon(self._ladder.rung("overlap", self._ladder.number(0.0), FINE_TEST), "forward")
        at = min(int(np.searchsorted(made.z, 1.0)), made.z.size - 1)
        alpha = min(max(float(made.slope_high[at]), 1e-300), 1.0)
        beta = float(self.tradeoff("forward", np.array([alpha])).upper[0])
        return min(alpha, beta), max(alpha, beta)
