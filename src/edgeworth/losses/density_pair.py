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
_FALSE_POSITIONS = 8  # between two of fifteen nodes on a panel on which L is smooth
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
        """The range of L over the panels, which leave out some 1e-40 on either side."""
        loss = self._nodes.loss if self._nodes.loss.size == 1 else self._in_order[1]
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
    def _panels(self) -> Array:
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
        return panels[np.argsort(panels[:, 0], kind="stable")]

    @cached_property
    def _nodes(self) -> Nodes:
        x, share = self._points(self._panels)
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
        """By the distribution functions in x where L is monotone in x; otherwise sums over the nodes."""
        direction = self._direction
        if not direction or self._nodes.loss.size == 1:
            return self._sums(loss)
        x = self._boundary(loss, direction)
        left, right = self._overlap
        sides = []
        for law, outside in ((self.null, self.null_only), (self.alternative, self.alternative_only)):
            before, after = law.cdf(x) - law.cdf(left), law.sf(x) - law.sf(right)
            below, above = (before, after) if direction > 0 else (after, before)
            sides += [np.clip(part / (1 - outside), 0.0, 1.0) for part in (below, above)]
        return sides[0], sides[1], sides[2], sides[3]

    @cached_property
    def _direction(self) -> int:
        """+1 where L rises with x, -1 where it falls, 0 where it does both; at the nodes, up to their rounding."""
        steps = np.diff(self._in_order[1])
        noise = 1e-12 * (1 + np.max(np.abs(self._in_order[1])))
        return 1 if (steps > -noise).all() else -1 if (steps < noise).all() else 0

    @cached_property
    def _in_order(self) -> tuple[Array, Array]:
        """The nodes x and their losses where these are finite, with the ends of the panels."""
        x = np.unique(np.concatenate([self._points(self._panels)[0], self._panels.ravel()]))
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = self._log_ratio(x)
        alive = np.abs(loss) < _LARGEST_LOSS
        return x[alive], loss[alive]

    def _boundary(self, loss: Array, direction: int) -> Array:
        """Where L crosses l: the least x beyond which the other side begins, by false position between two nodes."""
        x, values = self._in_order
        rising = np.maximum.accumulate(direction * values)
        target = direction * loss
        at = np.searchsorted(rising, target, side="right" if direction > 0 else "left")
        inside = (at > 0) & (at < x.size)
        low, high = x[np.clip(at - 1, 0, x.size - 1)], x[np.clip(at, 0, x.size - 1)]
        before = rising[np.clip(at - 1, 0, x.size - 1)] - target
        after = rising[np.clip(at, 0, x.size - 1)] - target
        for _ in range(_FALSE_POSITIONS):
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(after > before, -before / (after - before), 0.5)
                middle = low + np.clip(share, 0.0, 1.0) * (high - low)
                value = direction * self._log_ratio(middle) - target
            left = value <= 0 if direction > 0 else value < 0
            # The end that stays counts half (Illinois): false position alone creeps up from one side.
            after = np.where(left, after / 2, value)
            before = np.where(left, value, before / 2)
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        place = np.where(left, low, high)
        return np.where(inside, place, np.where(at > 0, self._overlap[1], self._overlap[0]))

    def _sums(self, loss: Array) -> tuple[Array, Array, Array, Array]:
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
