"""K(c) = log E_P[e^(cT)] and its first two derivatives at real tilts, all parts of a total at once.

The values only propose: where a line goes, and how Chernoff's inequality bounds what is far. The line itself has its
own, certified K.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.contour.sampled_gaussian import SampledGaussian, sampled_variance
from edgeworth.composition.contour.steep_laplace import real_nodes
from edgeworth.composition.contour.tail import ENOUGH, Guess
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed
from edgeworth.losses import ReplacedGaussianLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["LogMoments"]

_END = 1e-12  # a weight at the last node, relative to the largest, that says the nodes do not reach: K = inf
_BETWEEN = -1  # the nodes for tilts from 0 to 1
_FIRST_REACH = 24.0  # of the nodes beyond 1, in units of 1/std; every further set reaches twice as far
_LEFT_OF_0 = 0.6  # of it, as far left of 0
_MOST_SETS = 3  # of nodes that are kept
_MOST_PUSH = 100.0  # of a tilt by the first reach, on x: so few nodes that one set serves the centre as well
_CENTRE = np.array([0.0, 0.5, 1.0])
_LEFT = 0.7 * 1.6 ** np.arange(7)  # of 0, in units of 1/std: tilts at which K bounds the backward profile
_EQUAL_STEPS, _OTHER_STEPS = 0.4690, 0.5600  # Shevtsova (2011, 2010): constants of Berry and Esseen
_EXPONENTIAL, _MOMENTS, _WAVES = 0.15, 0.35, 1.2  # units of work for a node: its weight, moments of it, and its waves
_DEEP = 0.7  # of the nats wanted: some more frequencies are tried anyway
_MOST_DOUBLINGS = 6  # beyond, the nodes are too far apart to tell
_NEARLY_NORMAL = 0.2  # by how much bounds on shifted lines may fall short of those of a normal law


class _Nodes(NamedTuple):
    """The quadrature nodes of all parts but the Gaussian ones, one part after the other."""

    loss: Array
    log_weight: Array
    start: NDArray[np.intp]
    size: NDArray[np.intp]
    open: NDArray[np.bool_]
    """Whether a part's law goes on beyond its nodes."""


class LogMoments:
    """K, K' and K'' of a total loss. One tilt gives the same bits in every company: its reach fixes its nodes."""

    def __init__(self, steps: Steps) -> None:
        self.steepest, self._gaussian, self._others = steps.steepest, steps.gaussian, steps.others
        self._log_ways = steps.log_ways
        self._count = np.array([float(n) for _, n in self._others])
        self.steps = float(self._count.sum())
        self._first_reach = _rough_reach(steps)
        self._sets: dict[tuple[int, tuple[float, float]], _Nodes] = {}
        self._lowest = 0 if self._first_reach else _BETWEEN
        tilts = _CENTRE
        if self._first_reach and self._count.size == 1:  # of one step, more tilts at once take little more time
            tilts = np.concatenate([_CENTRE, self._tilts_left(self._first_reach / _FIRST_REACH)])
        centre = self._rows(tilts, self._set(self._lowest))
        self._left = tilts[3:], centre[3:, 0]
        self.log_mass = {0.0: float(centre[0, 0]), 1.0: float(centre[2, 0])}
        self.mean_under_p, self.middle, self.mean_under_q = centre[:3, 1].tolist()
        self.variance_under_p, middle, self.variance_under_q = centre[:3, 2].tolist()
        self.spread = math.sqrt(middle)
        if not self.spread > 0:
            raise ComputationFailed("the variance of the loss underflows: no line can be placed")
        self.width = 1 / self.spread
        self._first_reach = self._first_reach or _FIRST_REACH * self.width

    def __call__(self, tilt: Array) -> Array:
        """Rows K(c), K'(c), K''(c)."""
        return self._rows(tilt, self._reaching(tilt))

    def log(self, tilt: Array) -> Array:
        """K(c) alone."""
        nodes = self._reaching(tilt)
        log = 0.5 * self._gaussian * tilt * (tilt - 1) + self._log_ways
        if nodes.size.size == 1:
            spend(_EXPONENTIAL * tilt.size * nodes.loss.size)
            top, weight = _weights(tilt, nodes)
            return np.asarray(log + self._count[0] * _log_whole(top, weight, np.add.reduce(weight, axis=1), nodes))
        return np.array([self._rows(np.array([c]), nodes)[0, 0] for c in tilt.tolist()])

    def left_of_0(self) -> tuple[Array, Array]:
        """Some tilts left of 0, and K there."""
        if not self._left[0].size:
            tilts = self._tilts_left(self.width)
            self._left = tilts, self.log(tilts)
        return self._left

    def _tilts_left(self, width: float) -> Array:
        return np.asarray(np.maximum(-width * _LEFT, self.steepest[0]))

    def normal_row(self, c: float) -> tuple[float, float, float]:
        """K'(c), sqrt(K''(c)), and how far the tilted distribution function can be from that of a normal law.

        By the inequality of Berry and Esseen: C sum n E|L - m|^3/K''^1.5, C as known for equal and for other steps.
        """
        nodes = self._reaching(np.array([c]))
        mean, variance, third = self._gaussian * (c - 0.5), self._gaussian, 0.0  # Gaussian steps are at no distance
        if nodes.size.size:
            spend(_MOMENTS * nodes.loss.size)
            sums = self._count @ _central_moments(c, nodes)
            mean, variance, third = mean + float(sums[0]), variance + float(sums[1]), float(sums[2])
        constant = _EQUAL_STEPS if nodes.size.size == 1 and not self._gaussian else _OTHER_STEPS
        return mean, math.sqrt(variance), constant * third / variance**1.5

    def _reaching(self, tilt: Array) -> _Nodes:
        """The nodes for these tilts."""
        tilts = tilt.tolist()
        right, left = max(tilts) - 1, -min(tilts) / _LEFT_OF_0
        farthest = max(right, left, 0.0) / self._first_reach
        level = max(0, math.ceil(math.log2(farthest))) if farthest > 0 else self._lowest
        if self._lowest == _BETWEEN and not right > 0 < left:
            return self._set(level, (float(left > 0), float(right > 0)))
        return self._set(level)

    def _set(self, level: int, sides: tuple[float, float] = (1.0, 1.0)) -> _Nodes:
        """The nodes of one level: each reaches twice as far as the one before, to the left and to the right, or one."""
        if (level, sides) not in self._sets:
            while len(self._sets) >= _MOST_SETS:
                del self._sets[next(iter(self._sets))]  # the oldest: hundreds of sorted runs would keep many each
            reach = 0.0 if level == _BETWEEN else self._first_reach * 2.0**level
            left, right = -_LEFT_OF_0 * reach * sides[0], 1 + reach * sides[1]
            self._sets[level, sides] = self._nodes((max(left, self.steepest[0]), min(right, self.steepest[1])))
        return self._sets[level, sides]

    def falls_from(self, c: float, variance: float, nats: float) -> Guess:
        """About the frequency from which on |phi| is below e^-nats, or its bounds are where they can be told.

        Only samples of Gaussian noise have nodes that are fine enough to tell.
        """
        normal, nodes = math.sqrt(2 * nats / variance), self._reaching(np.array([c]))
        if not nodes.size.size or not nodes.open.all():
            return Guess(normal)
        spend(_WAVES * nodes.loss.size)
        weight = _relative(c * nodes.loss + nodes.log_weight, nodes)
        whole = np.add.reduceat(weight, nodes.start)
        bounded = self._bounded_from(nodes, weight, whole, nats - ENOUGH)
        if bounded is not None:
            return Guess(bounded, is_sure=True)
        return Guess(self._fallen_from(normal, nodes, weight, whole.tolist(), nats))

    def _bounded_from(self, nodes: _Nodes, weight: Array, whole: Array, nats: float) -> float | None:
        """About the frequency from which on bounds on shifted lines are below e^-nats, where they are nearly normal.

        On Im x = y they are y^2/2 + log E e^(-t mu y r), about y^2/2 - t y m + (t y)^2 v/2 with m = mu E r and v =
        mu^2 Var r, and at best -(t m)^2/(2 (1 + t^2 v)): of n steps -nats at t^2 = 2 nats/(n m^2) (1 + s + s^2 + …),
        s = 2 nats v/(n m^2). The posterior is r = 1 - (1 - p) e^-L.
        """
        steps = [step for step, _ in self._others if isinstance(step, SampledGaussian) and not step.is_jump]
        if len(steps) < len(self._others):
            return None
        mu, rate = np.array([(step.mu, step.rate) for step in steps]).T
        gain = -np.expm1(-nodes.loss)
        weighted = weight * gain
        mean = np.add.reduceat(weighted, nodes.start) / whole
        spread = np.maximum(np.add.reduceat(weighted * gain, nodes.start) / whole - mean * mean, 0.0)
        slope = self._count * np.square(mu * (rate + (1 - rate) * mean))
        square = 2 * nats / (float(slope.sum()) + self._gaussian)
        fallen = square * (float((slope / (1 + square * np.square(mu * (1 - rate)) * spread)).sum()) + self._gaussian)
        short = 2 * nats / fallen - 1
        return math.sqrt(square * (1 + short * (1 + short))) if short < _NEARLY_NORMAL else None

    def _fallen_from(self, normal: float, nodes: _Nodes, weight: Array, whole: list[float], nats: float) -> float:
        """That of a normal law, or some doublings of it, by |phi| itself."""
        wave = np.exp((1j * normal) * nodes.loss)
        for doublings in range(_MOST_DOUBLINGS + 1):
            frequency = normal * 2.0**doublings
            sums = np.add.reduceat(weight * wave, nodes.start).tolist()
            parts = zip(self._others, sums, whole, strict=True)
            log_size = math.fsum(n * math.log(max(abs(one) / all_, 1e-300)) for (_, n), one, all_ in parts)
            if log_size - 0.5 * self._gaussian * frequency**2 < -_DEEP * nats:
                return frequency
            wave *= wave  # at twice the frequency
        return normal

    def _nodes(self, reach: tuple[float, float]) -> _Nodes:
        nodes = [real_nodes(step, reach) for step, _ in self._others]
        size = np.array([part.loss.size for part in nodes], dtype=np.intp)
        open_ = np.array(
            [isinstance(step, SampledGaussian | ReplacedGaussianLoss) for step, _ in self._others], dtype=bool
        )
        if len(nodes) == 1:
            return _Nodes(nodes[0].loss, nodes[0].log_weight, np.zeros(1, dtype=np.intp), size, open_)
        loss = np.concatenate([np.zeros(0), *(part.loss for part in nodes)])
        log_weight = np.concatenate([np.zeros(0), *(part.log_weight for part in nodes)])
        return _Nodes(loss, log_weight, np.cumsum(size) - size, size, open_)

    def _rows(self, tilt: Array, nodes: _Nodes) -> Array:
        spend(_MOMENTS * tilt.size * nodes.loss.size)
        if nodes.size.size == 1 and self._gaussian == self._log_ways == 0:
            return np.asarray(self._count[0] * _one_part(tilt, nodes))
        v, rows = self._gaussian, np.empty((tilt.size, 3))
        rows[:, 0], rows[:, 1], rows[:, 2] = v * tilt * (tilt - 1) / 2 + self._log_ways, v * (tilt - 0.5), v
        if nodes.size.size == 1:
            rows += self._count[0] * _one_part(tilt, nodes)
        elif nodes.size.size:
            for row, one in zip(rows, tilt.tolist(), strict=True):
                np.add(row, self._count @ _many_parts(one, nodes), out=row)
        return rows


def _rough_reach(steps: Steps) -> float:
    """About the first reach, by a formula for the variance; 0 where there is none."""
    samples = [(step, n) for step, n in steps.others if isinstance(step, SampledGaussian) and not step.is_jump]
    if not samples or len(samples) < len(steps.others):
        return 0.0
    variance = steps.gaussian + math.fsum(n * sampled_variance(step.mu, step.rate) for step, n in samples)
    reach = _FIRST_REACH / math.sqrt(variance) if variance > 0 else math.inf
    return reach if reach * max(step.mu for step, _ in samples) < _MOST_PUSH else 0.0


def _weights(tilt: Array, nodes: _Nodes) -> tuple[Array, Array]:
    """The log of the largest weight of one part at every tilt, and the weights relative to it."""
    weight = tilt[:, None] * nodes.loss
    weight += nodes.log_weight
    top = np.maximum.reduce(weight, axis=1)
    weight -= top[:, None]
    return top, np.exp(weight, out=weight)


def _log_whole(top: Array, weight: Array, whole: Array, nodes: _Nodes) -> Array:
    """Log of the whole of the weights; inf where the nodes do not reach."""
    log = np.log(whole)
    log += top
    ends = weight[:, :: weight.shape[1] - 1]
    if nodes.open[0] and ends.max() > _END:
        log[ends.max(axis=1) > _END] = math.inf
    return np.asarray(log)


def _one_part(tilt: Array, nodes: _Nodes) -> Array:
    """Rows K, K', K'' of one step."""
    top, weight = _weights(tilt, nodes)
    whole, rows = np.add.reduce(weight, axis=1), np.empty((tilt.size, 3))
    rows[:, 0] = _log_whole(top, weight, whole, nodes)
    mean = rows[:, 1] = np.add.reduce(weight * nodes.loss, axis=1) / whole
    weight *= np.square(nodes.loss - mean[:, None])
    rows[:, 2] = np.add.reduce(weight, axis=1) / whole
    return rows


def _relative(exponent: Array, nodes: _Nodes) -> Array:
    """The exponentials, relative to the largest of each part."""
    if nodes.size.size == 1:
        return np.asarray(np.exp(exponent - exponent.max()))
    return np.asarray(np.exp(exponent - np.repeat(np.maximum.reduceat(exponent, nodes.start), nodes.size)))


def _central_moments(c: float, nodes: _Nodes) -> Array:
    """E L, E(L - E L)^2 and E|L - E L|^3 at one tilt, a row for each part."""
    weight = _relative(c * nodes.loss + nodes.log_weight, nodes)
    whole = np.add.reduceat(weight, nodes.start)
    mean = np.add.reduceat(weight * nodes.loss, nodes.start) / whole
    off = np.abs(nodes.loss - (np.repeat(mean, nodes.size) if nodes.size.size > 1 else mean))
    weight *= off * off
    variance = np.add.reduceat(weight, nodes.start) / whole
    weight *= off
    return np.column_stack([mean, variance, np.add.reduceat(weight, nodes.start) / whole])


def _many_parts(c: float, nodes: _Nodes) -> Array:
    """The same for one tilt, a row for each part."""
    exponent = c * nodes.loss + nodes.log_weight
    top = np.maximum.reduceat(exponent, nodes.start)
    weight = np.exp(exponent - np.repeat(top, nodes.size))
    whole = np.add.reduceat(weight, nodes.start)
    mean = np.add.reduceat(weight * nodes.loss, nodes.start) / whole
    off = nodes.open & (np.maximum(weight[nodes.start], weight[nodes.start + nodes.size - 1]) > _END)
    weight *= (nodes.loss - np.repeat(mean, nodes.size)) ** 2
    log_whole = np.where(off, math.inf, top + np.log(whole))
    return np.column_stack([log_whole, mean, np.add.reduceat(weight, nodes.start) / whole])
