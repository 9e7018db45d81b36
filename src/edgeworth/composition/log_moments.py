"""K(c) = log E_P[e^(cT)] and its first two derivatives at real tilts, all parts of a total at once.

The values only propose: where a line goes, and how Chernoff's inequality bounds what is far. The line itself has its
own, certified K.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.sampled_gaussian import SampledGaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["LogMoments"]

_END = 1e-12  # a weight at the last node, relative to the largest, that says the nodes do not reach: K = inf
_BETWEEN = -1  # the nodes for tilts from 0 to 1
_FIRST_REACH = 8.0  # of the nodes, in units of 1/std; every further set reaches twice as far


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
        self._sets: dict[int, _Nodes] = {_BETWEEN: self._nodes((0.0, 1.0))}
        self.width = 1 / math.sqrt(float(self._rows(np.array([0.5]), self._sets[_BETWEEN])[0, 2]))

    def __call__(self, tilt: Array) -> Array:
        """Rows K(c), K'(c), K''(c)."""
        farthest = max(float(np.max(tilt)) - 1, -float(np.min(tilt)), 0.0) / (_FIRST_REACH * self.width)
        level = max(0, math.ceil(math.log2(farthest))) if farthest > 0 else _BETWEEN
        if level not in self._sets:
            reach = _FIRST_REACH * self.width * 2.0**level
            self._sets[level] = self._nodes((max(-reach, self.steepest[0]), min(1 + reach, self.steepest[1])))
        return self._rows(tilt, self._sets[level])

    def _nodes(self, reach: tuple[float, float]) -> _Nodes:
        nodes = [loss.nodes(reach) for loss, _ in self._others]
        size = np.array([part.loss.size for part in nodes], dtype=np.intp)
        if not nodes:
            return _Nodes(np.zeros(0), np.zeros(0), size, size, size > 0)
        start = np.cumsum(size) - size
        loss = np.concatenate([part.loss for part in nodes])
        open_ = np.array([isinstance(step, SampledGaussian) for step, _ in self._others])
        return _Nodes(loss, np.concatenate([part.log_weight for part in nodes]), start, size, open_)

    def _rows(self, tilt: Array, nodes: _Nodes) -> Array:
        c = tilt[:, None]
        v = self._gaussian
        rows = np.concatenate([v * c * (c - 1) / 2 + self._log_ways, v * (c - 0.5), np.full_like(c, v)], axis=1)
        if nodes.size.size == 1:
            rows += self._count[0] * _one_part(tilt, nodes)
        elif nodes.size.size:
            for row, one in zip(rows, tilt.tolist(), strict=True):
                np.add(row, self._count @ _many_parts(one, nodes), out=row)
        return rows


def _one_part(tilt: Array, nodes: _Nodes) -> Array:
    """Rows K, K', K'' of one step."""
    weight = np.multiply.outer(tilt, nodes.loss)
    weight += nodes.log_weight
    top = weight.max(axis=1)
    weight -= top[:, None]
    np.exp(weight, out=weight)
    whole = weight.sum(axis=1)
    mean = weight @ nodes.loss / whole
    off = nodes.open[0] & (np.maximum(weight[:, 0], weight[:, -1]) > _END)
    weight *= (nodes.loss - mean[:, None]) ** 2
    return np.column_stack([np.where(off, math.inf, top + np.log(whole)), mean, weight.sum(axis=1) / whole])


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
