"""The mean of a convex function of x = e^L over the law of one step L: between chords and Jensen's inequality.

Of a cell [a, b] of x that has mass, l is the share of its left and r that of its right end, with the mean of x kept:

    (l + r) g((l a + r b)/(l + r)) <= E[g(x); x in the cell] <= l g(a) + r g(b).

Cells are cut until the two are as close as is asked for. `docs/proofs/mixture.md` proves it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from edgeworth.amplification import base_loss, sampled_loss
from edgeworth.composition.lattice.shares import gaussian_error, gaussian_shares, laplace_shares
from edgeworth.composition.work import spend
from edgeworth.losses import GaussianLoss, LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.mixture.formulas import Formula
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["Integrated", "can_be_integrated"]

_UNIT = 2.0**-53
_FAR = 38.0  # standard deviations, beyond which a normal law has 1e-315
_LARGEST_MU = 14.0  # e^(mu (38 + mu)) is a double
_LARGEST_THETA = 300.0
_FIRST_CELLS = 2.0  # in a standard deviation
_FIRST_OF_LAPLACE = 64
_MOST_CELLS, _MOST_PIECES, _MOST_ROUNDS = 40_000, 8, 12
_CELL = 20.0  # units of work for a cell
_NARROWEST = 1e-12  # relative, of a cell that is cut
_NOTHING = 1e-305  # more than all that is left out
_LOGS = 1e-12  # relative: sums and exponentials of logarithms of masses that doubles hold


class _Asked(NamedTuple):
    """A direction, epsilon, and how far off that may be."""

    side: Way
    epsilon: float
    room: float


class _Cells(NamedTuple):
    """Cells in the place of the noise, upper ends of the other profile at their ends, and both ends of their means."""

    left: Array
    right: Array
    at_left: Array
    at_right: Array
    lower: Array
    upper: Array


def can_be_integrated(loss: PrivacyLoss) -> bool:
    """Whether the law of this step has shares: Laplace noise, or a sample of that or of Gaussian noise."""
    if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
        return 0 < loss.base.mu <= _LARGEST_MU
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return isinstance(base, LaplaceLoss) and 0 < base.theta <= _LARGEST_THETA


class Integrated:
    """The profile of one step beside another one that has a formula."""

    def __init__(self, loss: PrivacyLoss, other: Formula) -> None:
        self._base: PrivacyLoss = loss.base if isinstance(loss, SampledLoss) else loss
        self._rate = loss.rate if isinstance(loss, SampledLoss) else 1.0
        self._other = other
        if isinstance(self._base, GaussianLoss):
            mu = self._base.mu
            self._slope, self._offset = mu, -mu * mu / 2
            self._range = -_FAR, _FAR + mu
            self._count = math.ceil((2 * _FAR + mu) * _FIRST_CELLS)
        else:
            assert isinstance(self._base, LaplaceLoss)
            self._slope, self._offset = 2.0, -self._base.theta
            self._range, self._count = (0.0, self._base.theta), _FIRST_OF_LAPLACE
        self._error = gaussian_error(np.array(self._range), 1.0) + _LOGS

    def at(self, side: Way, epsilon: float, aim: float, room: float = 0.0) -> tuple[float, float]:
        """Ends of delta at every eps within `room` of this one, apart by the share `aim` of it if cells allow."""
        asked = _Asked(side, epsilon, room)
        fixed = self._of_atoms(asked)
        place = np.unique(np.concatenate([np.linspace(*self._range, self._count), self._turns(asked)]))
        known = self._read(asked, *self._loss(place), -1)
        cells = self._filled(asked, place[:-1], place[1:], known[:-1], known[1:])
        for _ in range(_MOST_ROUNDS):
            lower, upper = float(np.sum(cells.lower)) + fixed[0], float(np.sum(cells.upper)) + fixed[1]
            open_ = aim * (lower if lower > 0 else upper)
            if upper - lower <= open_ or upper < _NOTHING or cells.left.size >= _MOST_CELLS:
                break
            before, cells = cells, self._cut(asked, cells, 0.5 * open_)
            if cells is before:
                break
        error = 2 * self._error + (cells.left.size + 16) * _UNIT
        lower, upper = lower * (1 - error), upper * (1 + error) + _NOTHING
        return max(lower, -math.expm1(min(epsilon + room, 0.0)) * (1 - 4 * _UNIT)), min(upper, 1.0)

    def _cut(self, asked: _Asked, cells: _Cells, aim: float) -> _Cells:
        """Every cell into k equal ones: that leaves 1/k^2 of its gap, so k ~ gap^(1/3) leaves least altogether."""
        root, width = np.cbrt(np.maximum(cells.upper - cells.lower, 0.0)), cells.right - cells.left
        whole = float(np.sum(root))
        share = min(math.sqrt(whole / aim), _MOST_CELLS / whole)
        pieces = np.clip(np.ceil(share * root), 1, _MOST_PIECES).astype(np.int64)
        many = (pieces > 1) & (width > _NARROWEST * (1 + np.abs(cells.left)))
        if not many.any():
            return cells
        count = pieces[many]
        number = np.arange(int(np.sum(count))) - np.repeat(np.cumsum(count) - count, count)
        first, last = number == 0, number + 1 == np.repeat(count, count)
        left = np.repeat(cells.left[many], count) + number * np.repeat(width[many] / count, count)
        known = np.empty(left.size)
        known[first] = cells.at_left[many]
        known[~first] = self._read(asked, *self._loss(left[~first]), -1)
        right, after = np.append(left[1:], 0.0), np.append(known[1:], 0.0)
        right[last], after[last] = cells.right[many], cells.at_right[many]
        fresh = self._filled(asked, left, right, known, after)
        return _Cells(*(np.concatenate([old[~many], new]) for old, new in zip(cells, fresh, strict=True)))

    def _filled(self, asked: _Asked, left: Array, right: Array, at_left: Array, at_right: Array) -> _Cells:
        """Both ends of the mean in every cell, from the other profile at its ends and at its mean."""
        spend(_CELL * left.size)
        log_left, log_right = self._shares(left, right)
        (first, off), (last, far_off) = self._loss(left), self._loss(right)
        lean = -1 if asked.side == "forward" else 1  # to where the function is smaller
        share = expit(log_right - log_left) * (1 + lean * 2 * self._error)
        mean = first + np.log1p(np.expm1(last - first) * share)
        lower = self._read(asked, mean, np.maximum(off, far_off), 1)
        lower *= _weight(asked, np.logaddexp(log_left, log_right), mean)
        upper = _weight(asked, log_left, first) * at_left + _weight(asked, log_right, last) * at_right
        return _Cells(left, right, at_left, at_right, lower, upper)

    def _loss(self, place: Array) -> tuple[Array, Array]:
        """L at a place of the noise, and how far off it may be."""
        base = self._slope * place + self._offset
        if self._rate == 1:
            return base, 4 * _UNIT * (np.abs(base) - 2 * self._offset)
        loss = sampled_loss(base, self._rate)
        posterior = np.exp(np.minimum(base + math.log(self._rate) - loss, 0.0))
        return loss, 4 * _UNIT * (np.abs(loss) + posterior * (np.abs(base) - 2 * self._offset))

    def _shares(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Logarithms of both shares of every cell."""
        if isinstance(self._base, GaussianLoss):
            return gaussian_shares(left, right - left, self._slope, right=right)
        assert isinstance(self._base, LaplaceLoss)
        return laplace_shares(left, right - left, self._base.theta)

    def _read(self, asked: _Asked, loss: Array, off: Array, outward: int) -> Array:
        """An end of delta(eps - L), or delta'(eps + L), of the other step, at losses that may be off."""
        place = asked.epsilon + (-loss if asked.side == "forward" else loss)
        place += outward * (asked.room + 2 * off + 8 * _UNIT * (abs(asked.epsilon) + np.abs(loss)))
        return self._other.lower(asked.side, place) if outward > 0 else self._other.upper(asked.side, place)

    def _of_atoms(self, asked: _Asked) -> tuple[float, float]:
        """The atoms of Laplace noise, of masses 1/2 and e^-theta/2 at the ends."""
        if not isinstance(self._base, LaplaceLoss):
            return 0.0, 0.0
        loss, off = self._loss(np.array(self._range))
        weight = _weight(asked, np.array([0.0, -self._base.theta]) - math.log(2), loss)
        return float(weight @ self._read(asked, loss, off, 1)), float(weight @ self._read(asked, loss, off, -1))

    def _turns(self, asked: _Asked) -> Array:
        """Places at which the function may have kinks: where eps - L, or eps + L, is an end of the other support."""
        kinks = self._other.kinks(asked.side)
        loss = asked.epsilon - kinks if asked.side == "forward" else kinks - asked.epsilon
        if self._rate < 1:
            loss = base_loss(loss, self._rate)
        place = (loss - self._offset) / self._slope
        return np.asarray(place[(place > self._range[0]) & (place < self._range[1])])


def _weight(asked: _Asked, log_mass: Array, loss: Array) -> Array:
    """The mass under x P, or under P backward."""
    return np.exp(log_mass + loss) if asked.side == "forward" else np.exp(log_mass)
