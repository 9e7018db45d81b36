"""Moments of a total loss tilted by e^(cT): K, mean, standard deviation, and how far its law is from a normal one.

All parts are summed at once, however often each is repeated: the cost does not depend on the number of steps. Every
number comes with a bound on its error, so that inequalities can be built on it; docs/proofs/moments.md has them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.work import spend
from edgeworth.losses import DiscreteGaussianLoss, GaussianLoss
from edgeworth.losses.moments import tilted_cumulants_of_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Rows", "TiltedMoments"]

_UNIT = 2.0**-53
_IDENTICAL, _DIFFERENT = 0.4690, 0.5600  # Shevtsova's constants of the Berry–Esseen inequality
_QUADRATURE = 1e-18  # of K, each step: the rules leave e^-44
_LIKE_GAUSSIAN = 2.0  # sigma from which on discrete Gaussian noise has the moments of continuous noise to 1e-30
_MILD = 1.1  # |K| of one step up to which it may have been summed without its leading 1
_MOMENT_ERROR = 1e-10  # relative, of variances and fourth moments
_HIGHER = 5.0  # the fourth moment of a sample moves its mass as a tilt by 4 more would
_FIRST, _NEAREST = 0.3, 0.05  # the first tilt off a pole, in units of 1/std; never farther than that
_RATIO = 1.3  # of the distances of neighbouring tilts from their pole
_MOST_RUNGS, _BLOCK = 72, 12
_LEAST_VARIANCE = 1e-200
_DEEPEST = -760.0  # nats: no double is so small
_NODE = 0.5  # units of work for a node at a tilt
_MOST_WORK = 2e6  # nodes times tilts of one more block of a ladder


class Rows(NamedTuple):
    """One number for each tilt c."""

    tilt: Array
    excess: Array
    """c - 1, to its own precision."""
    log: Array
    """K(c) = log E_P[e^(cT)]."""
    mean: Array
    deviation: Array
    gap: Array
    """At least the distance of the tilted distribution function from that of the normal law with this mean and
    deviation."""
    doubt: Array
    """At least the error of K."""
    drift: Array
    """At least the error of the mean."""

    @property
    def mirror(self) -> Rows:
        """The same for -T with P and Q exchanged, whose tilt 1 - c is the same law."""
        return Rows(-self.excess, -self.tilt, self.log, -self.mean, self.deviation, self.gap, self.doubt, self.drift)

    def joined(self, other: Rows) -> Rows:
        """Both, one after the other."""
        return Rows(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def some(self, kept: NDArray[np.bool_] | NDArray[np.intp]) -> Rows:
        """Those of a mask, or of these places."""
        return Rows(*(column[kept] for column in self))


class TiltedMoments:
    """The tilted moments of a total loss, at a ladder of tilts and wherever else they are asked for."""

    def __init__(self, total: TotalLoss) -> None:
        self.support, self._steepest = total.support, total.steepest
        self._parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
        poles = np.array([0.0, 1.0])
        self._apart = [np.abs(_one_step(loss, poles, self._reach(1.0))[:, 1]) for loss, _ in self._parts]
        self.spread = float(self.rows(np.array([0.5])).deviation[0])
        self.ladder = self._ladder()

    def rows(self, tilt: Array) -> Rows:
        """At these tilts. One tilt gives the same bits in every company: its own size fixes the nodes."""
        level = np.sign(tilt) * np.ceil(np.log2(np.maximum(np.maximum(np.abs(tilt), np.abs(1 - tilt)), 1.0)))
        made = np.empty((8, tilt.size))
        for one in np.unique(level).tolist():
            mine = level == one
            made[:, mine] = self._level(tilt[mine], self._reach(math.copysign(2.0 ** abs(one), one)))
        return Rows(*made)

    def near(self, threshold: float) -> Rows:
        """Rows whose means are near a threshold: the tilt between those of the ladder, and one step of Newton's."""
        ladder = self.ladder
        order = np.argsort(ladder.tilt)
        tilt = float(np.interp(threshold, ladder.mean[order], ladder.tilt[order]))
        first = self.rows(np.array([tilt]))
        low, high = float(ladder.tilt[order[0]]), float(ladder.tilt[order[-1]])
        moved = tilt + (threshold - float(first.mean[0])) / max(float(first.deviation[0]) ** 2, 1e-300)
        reach = 0.5 * max(abs(tilt), abs(1 - tilt))
        moved = min(max(moved, low, tilt - reach), high, tilt + reach)
        return first.joined(self.rows(np.array([moved])))

    def _ladder(self) -> Rows:
        """Tilts off both poles, 0 and 1, to either side, until the tail at which they point is below every double."""
        start = min(_FIRST / max(self.spread, 1e-300), _NEAREST)
        steps = np.asarray(start * _RATIO ** np.arange(_MOST_RUNGS), dtype=np.float64)
        inner = steps[steps < 0.5]
        made = self.rows(np.concatenate([[0.0, 0.5, 1.0], inner, 1 - inner]))
        for pole, sign, limit in ((1.0, 1.0, self._steepest[1] - 1), (0.0, -1.0, -self._steepest[0])):
            last = limit - _HIGHER if limit > 2 * _HIGHER else limit
            reached = np.append(steps[steps < last], min(last, 2 * float(steps[-1])))
            for first in range(0, reached.size, _BLOCK):
                some = self.rows(pole + sign * reached[first : first + _BLOCK])
                made = made.joined(some)
                if float(np.min(some.log - (some.tilt - pole) * some.mean)) < _DEEPEST or self._is_dear(some):
                    break
        return made.some(np.isfinite(made.log) & np.isfinite(made.mean))

    def _is_dear(self, rows: Rows) -> bool:
        """Whether another block of steeper tilts would take too long."""
        reach = self._reach(_RATIO**_BLOCK * float(rows.tilt[-1]))
        size = sum(loss.nodes(reach).loss.size for loss, _ in self._parts if _formula(loss) is None)
        return size * _BLOCK > _MOST_WORK

    def _reach(self, farthest: float) -> tuple[float, float]:
        """The tilts that nodes have to serve, up to the farthest of one sign."""
        least, greatest = min(farthest, 0.0) - _HIGHER, max(farthest, 1.0) + _HIGHER
        return max(least, self._steepest[0]), min(greatest, self._steepest[1])

    def _level(self, tilt: Array, reach: tuple[float, float]) -> Array:
        """The rows of tilts of one size, as an array."""
        log, mean, variance, third, doubt, drift, blur = np.zeros((7, tilt.size))
        for (loss, n), apart in zip(self._parts, self._apart, strict=True):
            count, one = float(n), _one_step(loss, tilt, reach)
            k, m, v, fourth = one.T
            log += count * k
            mean += count * m
            variance += count * v
            doubt += count * _doubt(tilt, one, apart)
            drift += count * _UNIT * (32 * np.sqrt(v) * (1 + np.abs(tilt * m) + np.abs(k)) + 8 * np.abs(m))
            blur += count * 16 * _UNIT * np.sqrt(v) * (np.abs(m) + np.sqrt(v))
            if not isinstance(loss, GaussianLoss):
                third += count * np.sqrt(v * fourth)  # E|L - m|^3 <= sqrt(E(L - m)^2 E(L - m)^4)
        same = len(self._parts) == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = (_IDENTICAL if same else _DIFFERENT) * (1 + 4 * _MOMENT_ERROR) * third / variance**1.5
            gap += 0.4 * drift / np.sqrt(variance) + 0.125 * blur / variance + 0.25 * _MOMENT_ERROR
        # Next to an atom at the end of the support the variance underflows: a larger one serves Chebyshev's inequality.
        gap = np.where(variance > _LEAST_VARIANCE, np.minimum(gap, 1.0), 1.0)
        deviation = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        return np.array([tilt, tilt - 1, log, mean, deviation, gap, doubt, drift])


def _one_step(loss: PrivacyLoss, tilt: Array, reach: tuple[float, float]) -> Array:
    """Rows K, mean, variance and fourth central moment of one step.

    Tilts above 1/2 are those of the mirrored law, 1 - c below 1/2: there K is a sum of terms of one sign, or nearly.
    """
    formula = _formula(loss)
    if formula is not None:
        made = formula.tilted(tilt, 4, reach)
    else:
        (x, log_weight), right = loss.nodes(reach).held(), tilt > 0.5
        spend(_NODE * x.size * tilt.size)
        made = np.empty((tilt.size, 5))
        if right.any():
            made[right] = tilted_cumulants_of_nodes(-x, log_weight + x, 1 - tilt[right], 4)
            made[right, 1] *= -1
        if not right.all():
            made[~right] = tilted_cumulants_of_nodes(x, log_weight, tilt[~right], 4)
    v = np.maximum(made[:, 2], 0.0)
    return np.column_stack([made[:, 0], made[:, 1], v, np.maximum(made[:, 4] + 3 * v * v, v * v)])


def _formula(loss: PrivacyLoss) -> GaussianLoss | None:
    """The Gaussian loss with the same moments, where there is one."""
    if isinstance(loss, DiscreteGaussianLoss) and loss.sigma >= _LIKE_GAUSSIAN:
        return GaussianLoss(loss.sensitivity / loss.sigma)
    return loss if isinstance(loss, GaussianLoss) else None


def _doubt(tilt: Array, one: Array, apart: Array) -> Array:
    """At least the error of K of one step: relative to the terms that were added, or to the exponents of them.

    Between the poles the terms add up to at most 2c D(P||Q), or 2(1-c) D(Q||P) of the mirrored law; outside to K.
    """
    k, mean, variance = np.abs(one[:, 0]), np.abs(one[:, 1]), one[:, 2]
    between = np.where(tilt > 0.5, np.maximum(1 - tilt, 0.0) * apart[1], np.maximum(tilt, 0.0) * apart[0])
    small = 64 * _UNIT * (3 * k + 2 * between)
    large = 16 * _UNIT * (2 * np.abs(tilt) * (mean + np.sqrt(variance)) + k + 20)
    either = np.where(k > 2 - _MILD, np.maximum(small, large), small)
    return np.asarray(np.where(k < _MILD, either, large) + _QUADRATURE)
