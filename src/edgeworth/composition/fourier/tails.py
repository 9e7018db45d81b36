"""Upper tails of a law on a lattice: a ladder of tilts on the right of each pole, and the Fourier sum of each rung."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.fourier.line import FourierLine, Kind

if TYPE_CHECKING:
    from edgeworth.composition.fourier.lattice_sum import LatticeSum

__all__ = ["LEAST", "Tails"]

_RATIO = 1.12  # of the distances of neighbouring tilts from their pole
_MOST_RUNGS = 400
_ROOM, _LAST_ROOM = 6.0, 30.0  # nats by which a reading may be smaller than its guess, and on the last rung
LEAST, _LOG_LEAST = 5e-324, -746.0  # what underflows is not 0
_NEAR, _FAR = 5.0, 12.0  # standard deviations from the means of Q and P
_DEEP = 30.0  # standard deviations: what is nearer does not underflow


class Tails:
    """Upper tails of T under P and Q, and the profile, at lattice points."""

    def __init__(self, law: LatticeSum) -> None:
        self.law = law
        rows = law.moments(np.array([0.0, 1.0]))
        self.mean = {0.0: float(rows[0, 1]), 1.0: float(rows[1, 1])}
        self.spread = {0.0: _root(rows[0, 2], law.step), 1.0: _root(rows[1, 2], law.step)}
        self._rungs: dict[float, list[tuple[float, float]]] = {0.0: [], 1.0: []}
        self._lines: dict[tuple[float, int], FourierLine] = {}

    def tilt(self, pole: float, number: int) -> float:
        """The tilt of a rung."""
        return pole + 0.8 * _RATIO**number / self.spread[pole]

    def _rung(self, pole: float, number: int) -> tuple[float, float]:
        """K' at a rung, and about the log of the profile or tail there; inf where the law has no atoms for its tilt."""
        known = self._rungs[pole]
        while len(known) <= number:
            known.append(self._measured(pole, self.tilt(pole, len(known))))
        return known[number]

    def _measured(self, pole: float, tilt: float) -> tuple[float, float]:
        if not tilt < self.law.steepest[1] or (self._rungs[pole] and math.isinf(self._rungs[pole][-1][0])):
            return math.inf, -math.inf
        k, mean, variance = self.law.moments(np.array([tilt]))[0].tolist()
        if self._rungs[pole] and variance < (0.3 * self.law.step) ** 2:
            return math.inf, -math.inf  # next to the last atom a steeper tilt has nothing left to resolve
        excess = (tilt - pole) * math.sqrt(variance)
        return mean, k - (tilt - pole) * mean - math.log1p(2.5 * excess * (1 + pole * excess))

    def _mean_of(self, pole: float, number: int) -> float:
        return self._rung(pole, number)[0]

    def _number(self, pole: float, threshold: float) -> int:
        """The last rung whose centre is not right of the threshold, or the first of all."""
        low, high = 0, 1
        while high < _MOST_RUNGS and self._mean_of(pole, high) <= threshold:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._mean_of(pole, middle) <= threshold else (low, middle)
        return low

    def line(self, pole: float, threshold: float) -> FourierLine:
        """The line of that rung."""
        number = self._number(pole, threshold)
        if (pole, number) not in self._lines:
            farthest, room = self._rung(pole, number + 1), _ROOM
            if math.isinf(farthest[0]):
                farthest, room = self._rung(pole, number), _LAST_ROOM
            self._lines[pole, number] = FourierLine(self.law, self.tilt(pole, number), pole, farthest[1] - room)
        return self._lines[pole, number]

    def _underflows(self, kind: Kind, pole: float, threshold: float) -> bool:
        """Whether Chernoff's bound at the rung's tilt is below every double: no line is needed to say so."""
        tilt = self.tilt(pole, self._number(pole, threshold))
        k = float(self.law.moments(np.array([tilt]))[0, 0])
        exponent = ((0.0 if kind == "alpha" else 1.0) - tilt) * threshold
        doubt = 1e-9 * (1 + abs(k) + abs(exponent)) + 1e-14 * self.law.steps
        return k + exponent + doubt < _LOG_LEAST

    def place_of(self, pole: float, target: float) -> float:
        """About where the tail, or the profile, has come down to the target: interpolated between the rungs."""
        wanted, before, place = math.log(target), 0.0, self.mean[pole]
        for number in range(_MOST_RUNGS):
            mean, depth = self._rung(pole, number)
            if math.isinf(mean):
                break
            if depth <= wanted:
                share = (before - wanted) / (before - depth) if before > depth else 1.0
                return place + min(max(share, 0.0), 1.0) * (mean - place)
            before, place = depth, mean
        return place

    def read(self, kind: Kind, m: int) -> tuple[float, float]:
        """Both ends of one kind at a lattice point."""
        threshold = float(self.law.loss(np.array([float(m)]))[0])
        pole = 0.0 if kind == "alpha" or (kind == "weighted" and not self._is_near_alternative(threshold)) else 1.0
        if threshold > self.law.support[1] + 0.5 * self.law.step:
            return 0.0, 0.0
        if threshold > self.mean[pole] + _DEEP * self.spread[pole] and self._underflows(kind, pole, threshold):
            return 0.0, LEAST
        ends = self.line(pole, threshold).ends(kind, np.array([float(m)]))
        return float(ends.lower[0]), float(ends.upper[0])

    def _is_near_alternative(self, threshold: float) -> bool:
        """Whether a tail of P is read at a tilt above 1: also left of Q's mean, where those from 0 on are far apart.

        Five deviations left of it that costs five digits of what is below e^-12.
        """
        far = threshold > self.mean[0.0] + _FAR * self.spread[0.0]
        return threshold >= self.mean[1.0] - (_NEAR * self.spread[1.0] if far else 0.0)

    def far_left(self, pole: float, m: int) -> bool:
        """Whether a point is so far left of the mean that the rest of the law is what should be read."""
        return bool(self.law.loss(np.array([float(m)]))[0] < self.mean[pole] - 3 * self.spread[pole])


def _root(variance: float, step: float) -> float:
    return math.sqrt(max(float(variance), (0.05 * step) ** 2))
