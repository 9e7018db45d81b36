"""Which circle serves which threshold, and the largest sum of moduli on circles."""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.residues.expansion import Expansion
    from edgeworth.losses.law import Array

__all__ = ["RANGE_NATS", "Guide", "Kind", "Station", "Sup", "guide", "ladder", "log_poles", "stations"]

#: what is read at t: E_P[(e^T - e^t)_+], P[T > t] or Q[T > t]
Kind: TypeAlias = Literal["delta", "alpha", "power"]

_RATIO = 1.2  # of neighbouring radii; 1/2 lies in the middle of two of them
_MARGIN = 8  # radii at either end of the ladder that only bound aliases
RANGE_NATS = 8.0  # that one circle serves, if the guide has so many t
_NEAREST = 1e-18  # of the largest loss, beside it: what a threshold may be away is half an ulp, or less by chance


class Guide(NamedTuple):
    """Some t in order, the number of the best radius and the best tilt at each, and about how large log delta is."""

    t: Array
    best: NDArray[np.intp]
    tilt: Array
    log_size: Array


class Station(NamedTuple):
    """The number of a radius, the smallest t that it serves here, a t among these, and the best tilt there."""

    number: int
    start: float
    centre: float
    tilt: float
    reach: float
    """How far from the centre the t are that it serves, but for those beyond both ends of the guide."""


def ladder(expansion: Expansion) -> Array:
    """The radii."""
    least, greatest = 5e-3 / expansion.largest, (expansion.laplace_steps + 10) / (_NEAREST * expansion.largest)
    first = math.floor(math.log(2 * min(least, 0.05)) / math.log(_RATIO))
    last = math.ceil(math.log(2 * max(greatest, 50.0)) / math.log(_RATIO))
    return np.asarray(0.5 * _RATIO ** (np.arange(first, last) + 0.5))


def guide(expansion: Expansion, radii: Array) -> Guide:
    """The best circle for some hundreds of t.

    It minimises the larger of the integrand at z = rho, where it is M e^(-zt) over its poles, and at z = i rho,
    where the terms with tau > t are at most (1 + q^2)^(N/2) times their weights, which Chernoff bounds.
    """
    share = np.concatenate([1 - np.linspace(-1, 0.9, 150) ** 3, np.geomspace(0.3, _NEAREST, 58)])
    t = np.unique(-expansion.largest * share)
    q, room = 0.5 / radii, -t[:, None]
    tilted = log_sum(expansion, np.ones(1), np.ones(1), radii) + radii * room
    tilt = radii[np.argmin(tilted, axis=1)]
    ahead = log_sum(expansion, 1 + q, np.abs(1 - q), radii) + radii * room
    beside = expansion.laplace_steps / 2 * np.log1p(q * q) + np.min(tilted, axis=1, keepdims=True)
    size = np.maximum(ahead, beside) + log_poles("delta", radii)
    best = _MARGIN + np.argmin(size[:, _MARGIN:-_MARGIN], axis=1)
    return Guide(t, best, tilt, np.min(size, axis=1) + expansion.front(t, null=False)[0])


def stations(known: Guide, radii: Array) -> list[Station]:
    """Runs of t with one best radius, cut where the integrand changes by more than RANGE_NATS; by t."""
    t, best, tilt, _ = known
    edges = [0]
    for k in range(1, t.size):
        if best[k] != best[k - 1] or radii[best[k]] * (t[k] - t[edges[-1]]) > RANGE_NATS:
            edges.append(k)
    found = []
    for first, end in zip(edges, [*edges[1:], t.size], strict=True):
        start = float(t[first]) if first else -math.inf
        middle = (first + end - 1) // 2
        reach = max(float(t[min(end, t.size - 1)] - t[middle]), float(t[middle] - t[first]))
        found.append(Station(int(best[first]), start, float(t[middle]), float(tilt[middle]), reach))
    return found


class Sup:
    """Upper bounds of the sum of the moduli of all terms with tau > t on circles |z| = rho, without poles and e^front.

    With x = cos(angle) and q = 1/(2 rho): |1 +- w|^2 = 1 + q^2 +- 2qx. The interval [-1, 1] is cut into cells and every
    factor is taken at the end where it is largest; e^(rho x (tau - t)) <= e^(y (tau - t)) for every y >= rho x.
    """

    def __init__(self, expansion: Expansion, radii: Array, tilt: float) -> None:
        self._expansion = expansion
        steps = sum(step.n for step in expansion.steps)
        edges = np.linspace(-1.0, 1.0, 2 * int(np.clip(steps / 4, 32, 512)) + 1)
        rho = radii[:, None]
        q = 0.5 / rho
        up = np.sqrt((1 - q) ** 2 + 2 * q * (1 + edges[1:]))
        down = np.sqrt((1 - q) ** 2 + 2 * q * (1 - edges[:-1]))
        self._tilt = np.maximum(rho * edges[1:], tilt)
        self._steepest = rho + np.maximum(rho, tilt)
        self._log = log_sum(expansion, up, down, self._tilt)

    def rows(self, which: list[int]) -> Sup:
        """The same on some of the circles."""
        some = copy(self)
        some._log, some._tilt, some._steepest = self._log[which], self._tilt[which], self._steepest[which]  # noqa: SLF001 - its own
        return some

    def log(self, t: Array) -> Array:
        """The logarithms of the bounds: rows are radii, columns t."""
        cells = self._log[:, None] - self._tilt[:, None] * t[:, None]
        # Terms may be kept whose tau lies below t by twice its rounding; and these logarithms are rounded.
        return np.asarray(np.max(cells, axis=2)) + 2 * self._expansion.place_error(t) * self._steepest + 1e-9


def log_sum(expansion: Expansion, up: Array, down: Array, tilt: Array) -> Array:
    """The logarithm of the sum of all weights times up^((N+m)/2) down^((N-m)/2) e^(-tilt (largest - tau))."""
    logs = np.zeros(np.broadcast_shapes(up.shape, tilt.shape))
    for step in expansion.steps:
        top, inner = float(np.max(step.terms.tau)), 0.0
        for weight, m, tau in zip(*step.terms, strict=True):
            inner = inner + (up if m > 0 else down if m < 0 else 1.0) * np.exp(weight - tilt * (top - tau))
        logs += step.n * np.log(inner)
    return logs


def log_poles(kind: Kind, rho: Array) -> Array:
    """The logarithm of the largest |z/poles| on |z| = rho."""
    distance = np.abs(rho - 0.5) * (rho + 0.5 if kind == "delta" else 1.0)
    return np.asarray(np.log(rho / distance))
