"""Any two densities on the line, by adaptive quadrature in x.

The densities are black boxes: nothing about them can be proved from their values, so what is built on this law
is never certified. Panels start at quantiles of both laws down to 1e-40 on either side, which follows heavy
tails geometrically, and are halved until Gauss–Legendre rules on a panel and on its halves agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.errors import ComputationFailed
from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import DensityPair

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["DensityPairLoss"]

_POINT, _SHARE = np.polynomial.legendre.leggauss(15)
_MOST_PANELS = 20_000
_TOLERANCE = 1e-15
_LARGEST_LOSS = 1e5  # beyond, log p and log q have no common digits left
_SMALLEST_LOSS = 1e-14  # a log-ratio that is only the rounding of two equal densities


@dataclass(frozen=True, eq=False)
class DensityPairLoss(PrivacyLoss):
    """The loss between two frozen continuous distributions of scipy.stats."""

    null: Any
    alternative: Any

    @property
    def is_exact(self) -> bool:
        """False: a density given as a program can be sampled, not bounded."""
        return False

    @cached_property
    def _overlap(self) -> tuple[float, float]:
        """The interval on which both densities may be positive."""
        (a, b), (c, d) = self.null.support(), self.alternative.support()
        if not max(a, c) < min(b, d):
            raise ComputationFailed("the supports of the two densities do not overlap: nothing is private")
        return float(max(a, c)), float(min(b, d))

    @cached_property
    def null_only(self) -> float:
        """P's mass outside Q's support."""
        left, right = self._overlap
        return float(self.null.cdf(left) + self.null.sf(right))

    @cached_property
    def alternative_only(self) -> float:
        """Q's mass outside P's support."""
        left, right = self._overlap
        return float(self.alternative.cdf(left) + self.alternative.sf(right))

    @cached_property
    def support(self) -> tuple[float, float]:
        """The range of L over the nodes."""
        loss = self.nodes().loss
        return float(np.min(loss)), float(np.max(loss))

    def _log_ratio(self, x: Array) -> Array:
        shift = np.log1p(-self.null_only) - np.log1p(-self.alternative_only)
        return np.asarray(self.alternative.logpdf(x) - self.null.logpdf(x) + shift)

    def _first_edges(self) -> Array:
        tail = 10.0 ** -np.array([40, 30, 22, 16, 12, 9, 7, 5, 4, 3, 2, 1.3, 1, 0.7, 0.5])
        points = [law.ppf(tail) for law in (self.null, self.alternative)]
        points += [law.isf(tail) for law in (self.null, self.alternative)]
        points += [np.array([law.median()]) for law in (self.null, self.alternative)]
        left, right = self._overlap
        inside = np.unique(np.clip(np.concatenate(points), left, right))
        return np.asarray(inside[np.isfinite(inside)])

    @cached_property
    def _nodes(self) -> Nodes:
        """Panels are halved while the moments 0, 2 and 4 of L under P or Q still move."""
        edges = self._first_edges()
        todo = np.column_stack([edges[:-1], edges[1:]])
        kept: list[Array] = []
        scale = np.zeros(6)
        for _ in range(60):
            middle = todo.mean(axis=1)
            halves = np.concatenate([np.column_stack([todo[:, 0], middle]), np.column_stack([middle, todo[:, 1]])])
            whole = self._panel_moments(todo)
            split = self._panel_moments(halves)
            split = split[: len(todo)] + split[len(todo) :]
            scale = np.maximum(scale, np.abs(split).sum(axis=0))
            wrong = (np.abs(whole - split) > _TOLERANCE * scale + 1e-300).any(axis=1)
            wrong &= (middle > todo[:, 0]) & (middle < todo[:, 1])
            kept.append(todo[~wrong])
            todo = np.concatenate([halves[: len(wrong)][wrong], halves[len(wrong) :][wrong]])
            if not len(todo):
                break
            if len(todo) + sum(map(len, kept)) > _MOST_PANELS:
                break
        panels = np.concatenate([*kept, todo])
        x, share = self._points(panels)
        with np.errstate(divide="ignore"):
            log_weight = self.null.logpdf(x) - np.log1p(-self.null_only) + np.log(share)
            loss = self._log_ratio(x)
        alive = np.isfinite(log_weight) & (np.abs(loss) < _LARGEST_LOSS)
        if np.max(np.abs(loss[alive]), initial=0.0) < _SMALLEST_LOSS:
            return Nodes(np.zeros(1), np.zeros(1))
        return Nodes(loss[alive], log_weight[alive])

    @staticmethod
    def _points(panels: Array) -> tuple[Array, Array]:
        half = (panels[:, 1:] - panels[:, :1]) / 2
        return (panels[:, :1] + half * (1 + _POINT)).ravel(), (half * _SHARE).ravel()

    def _panel_moments(self, panels: Array) -> Array:
        x, share = self._points(panels)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            null, alternative = self.null.pdf(x) * share, self.alternative.pdf(x) * share
            loss = np.where((null > 0) & (alternative > 0), self._log_ratio(x), 0.0)
        columns = [mass * loss**r for mass in (null, alternative) for r in (0, 2, 4)]
        return np.column_stack([column.reshape(len(panels), -1).sum(axis=1) for column in columns])

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:  # noqa: ARG002 - panels follow P and Q
        """Gauss–Legendre nodes on the adapted panels."""
        return self._nodes

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Sums over the nodes: the node's whole weight sits at its own loss."""
        nodes = self._nodes
        order = np.argsort(nodes.loss, kind="stable")
        values, log_null = nodes.loss[order], nodes.log_weight[order]
        at = np.searchsorted(values, loss, side="right")
        sides = []
        for mass in (np.exp(log_null), np.exp(log_null + values)):
            mass = mass / mass.sum()  # noqa: PLW2901 - the quadrature's own normalisation
            sides += [np.concatenate([[0.0], np.cumsum(mass)])[at]]
            sides += [np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])[at]]
        return sides[0], sides[1], sides[2], sides[3]


@privacy_loss.register
def _(mechanism: DensityPair) -> PrivacyLoss:
    return DensityPairLoss(mechanism.null, mechanism.alternative)
