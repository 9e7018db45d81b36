"""Nodes along x for one sample: even ones, or for the log moments of one with sharp edges Gauss-Legendre panels.

Even nodes have to be as close everywhere as the sharpest edge wants them; panels are short next to the edges alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["Sharp", "even_nodes", "fewest_nodes", "panels"]

_MOST_NODES, _MOST_FOR_MOMENTS = 60_000, 1 << 21
_MANY, _WORTH = 1_500, 0.7  # even nodes, from which on panels are tried, and what share of them those may be
_POINT, _SHARE = np.polynomial.legendre.leggauss(20)
_LONGEST = 0.5  # of a panel: the density of the noise, and waves along the loss
_SHORT = 2.0  # of one next to an edge, in units of its softness
_AROUND = 12.0  # how far on either side of an edge they are short, in the same units


class Sharp(NamedTuple):
    """An edge, and how far beyond its surroundings tilted laws may be carried, before it and after it."""

    place: float
    softness: float
    before: float = 0.0
    after: float = 0.0


def even_nodes(h: float, window: tuple[float, float], most: int = _MOST_NODES) -> Array:
    """Multiples of h that cover the window."""
    if (window[1] - window[0]) / h > most:
        raise TooLarge(f"the quadrature of the loss would need {(window[1] - window[0]) / h:.0f} points")
    return h * np.arange(math.floor(window[0] / h), math.ceil(window[1] / h) + 1, dtype=np.float64)


def fewest_nodes(h: float, window: tuple[float, float], edges: list[Sharp]) -> tuple[Array, Array | float]:
    """Nodes in the window, and logs of their weights: even ones, or panels if these are far fewer."""
    even = (window[1] - window[0]) / h
    few = panels(window, edges, int(min(_WORTH * even, _MOST_FOR_MOMENTS))) if even > _MANY else None
    return few if few is not None else (even_nodes(h, window, _MOST_FOR_MOMENTS), math.log(h))


def panels(window: tuple[float, float], edges: list[Sharp], most: int) -> tuple[Array, Array] | None:
    """Nodes in the window, and logs of their weights; None if they would be more than so many.

    >>> x, log_weight = panels((-10.5, 10.5), [Sharp(3.0, 0.01)], 2000)
    >>> bool(abs(np.exp(log_weight - x * x / 2).sum() - math.sqrt(2 * math.pi)) < 1e-15 * x.size)
    True
    """
    if (window[1] - window[0]) / _LONGEST * _POINT.size > most:
        return None
    ends = [np.array(window), np.arange(window[0], window[1], _LONGEST)]
    for edge in edges:
        short, around = _SHORT * edge.softness, _AROUND * edge.softness
        if not window[0] - around < edge.place < window[1] + around:
            continue
        first = min(around + edge.before, max(edge.place - window[0], 0.0))
        last = min(around + edge.after, max(window[1] - edge.place, 0.0))
        if (first + last) / short > most:
            return None
        growing = short * 2.0 ** np.arange(math.ceil(math.log2(max(_LONGEST / short, 1.0))) + 1) - short
        places = np.arange(-math.ceil(first / short), math.ceil(last / short) + 1) * short
        ends.append(edge.place + np.concatenate([places, places[0] - growing, places[-1] + growing]))
    every = np.unique(np.clip(np.concatenate(ends), *window))
    middle, half = 0.5 * (every[1:] + every[:-1]), 0.5 * (every[1:] - every[:-1])
    if half.size * _POINT.size > most:
        return None
    x = (middle[:, None] + half[:, None] * _POINT).ravel()
    return x, np.log((half[:, None] * _SHARE).ravel())
