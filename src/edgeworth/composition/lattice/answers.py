"""Certified ends of delta, epsilon and f in either direction, and in both, from the rungs of the lattice."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from edgeworth.composition.answered import Direction, Ends
from edgeworth.composition.both_ways import BothWays
from edgeworth.composition.lattice.ladder import FINE, Ladder
from edgeworth.composition.lattice.profile import LatticeProfile
from edgeworth.composition.lattice.tradeoff import LatticeTests, polygon
from edgeworth.composition.work import WorkSpent, is_spent
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["FINE", "LatticeAnswers"]

_Answer = TypeVar("_Answer")
_BLURRED = 1e-4  # a relative width of f in one direction that a better slope does not mend
_WAYS: tuple[Direction, ...] = ("forward", "backward")
_STEP = 1e-3  # of the threshold, over which slopes are taken


class LatticeAnswers(BothWays):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss, fine: float = FINE, *, patient: bool = False) -> None:
        self._ladder = Ladder(total, fine, patient=patient)
        self._moments = self._ladder.moments
        self._profile, self._tests = LatticeProfile(self._ladder), LatticeTests(self._ladder)

    @property
    def exact(self) -> bool:
        """Whether all losses are on points by themselves, so that nothing is rounded."""
        return self._ladder.exact

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps; what lies on one rung is read together, with work of its own.

        Of many rungs those that are left when the work of the call is spent are not read.
        """
        number = self._ladder.number
        rungs = np.array([(number(x), number(-x)) for x in epsilon.tolist()]).reshape(-1, 2)
        lower, upper = np.zeros(epsilon.size), np.ones(epsilon.size)
        for count, pair in enumerate(np.unique(rungs, axis=0)):
            mine = (rungs == pair).all(axis=1)
            self._ladder.refill()
            if count and is_spent():
                break
            try:
                lower[mine], upper[mine] = super().delta(direction, epsilon[mine])
            except WorkSpent:
                if not count:
                    raise
                break
        return Ends(lower, upper)

    def _hull(self, alpha: float, upper: float) -> tuple[float, float]:
        """With work of its own: both tests may have spent theirs. Where they are blurred, no better slope is sought."""
        self._ladder.refill()
        tests = self._miss("forward", alpha), self._miss("backward", alpha)
        if all(high - low <= _BLURRED * high for _, low, high in tests):
            return super()._hull(alpha, upper)
        tried = [t for t in (tests[0][0], -tests[1][0]) if math.isfinite(t)]
        return max([0.0, *(self._common_line(alpha, t) for t in tried)]), upper

    def profile(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of delta in one direction."""
        return self._tried(
            lambda: self._profile.delta(direction, epsilon), lambda: self._moments.profile(direction, epsilon)
        )

    def _profiles(self, direction: Direction, epsilon: Array) -> Ends:
        """Of both directions the one alone that is surely the larger, if rough rungs tell it of all."""
        if direction == "both":
            with suppress(ComputationFailed):
                (low, high), (other_low, other_high) = (self._profile.delta(way, epsilon, rough=True) for way in _WAYS)
                for way, larger in zip(_WAYS, (low >= other_high, other_low >= high), strict=True):
                    if larger.all():
                        return self.profile(way, epsilon)
        return super()._profiles(direction, epsilon)

    def root(self, direction: Direction, delta: float) -> tuple[float, float]:
        """Ends of epsilon in one direction."""
        return self._tried(lambda: self._profile.root(direction, delta), lambda: self._moments.root(direction, delta))

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By a rough rung."""
        return self._moments.surely_reached(direction, epsilon, delta) or self._tried(
            lambda: bool(self._profile.delta(direction, np.array([epsilon]), rough=True).upper[0] <= delta),
            lambda: False,
        )

    def miss(self, direction: Direction, alpha: float) -> tuple[float, float, float]:
        """The threshold of a test, and ends of f, in one direction."""
        return self._tried(lambda: self._tests.miss(direction, alpha), lambda: self._moments.miss(direction, alpha))

    def overlap(self, t: Array) -> Array:
        """At most E[min(X, e^t)]."""
        return self._tried(
            lambda: self._ladder.read("overlap", t, self._ladder.fine_test).lower, lambda: self._moments.overlap(t)
        )

    @staticmethod
    def _tried(ask: Callable[[], _Answer], instead: Callable[[], _Answer]) -> _Answer:
        """What the rungs say, or the tilted moments where none can be had or no work is left."""
        try:
            return ask()
        except ComputationFailed:
            return instead()

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
        self._ladder.refill()
        made = polygon(self._ladder.rung("overlap", self._ladder.number(0.0), self._ladder.fine_test), "forward")
        at = min(int(np.searchsorted(made.z, 1.0)), made.z.size - 1)
        alpha = min(max(float(made.slope_high[at]), 1e-300), 1.0)
        beta = float(self.tradeoff("forward", np.array([alpha])).upper[0])
        return min(alpha, beta), max(alpha, beta)
