"""Nodes for the log moments of a sample with sharp edges: Gauss-Legendre panels, short next to the edges alone.

Even nodes would have to be as close everywhere as the sharpest edge wants them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeworth.losses.law import Array

__all__ = ["Sharp", "panels"]

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


def panels(window: tuple[float, float], edges: Iterable[Sharp], most: int) -> tuple[Array, Array] | None:
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
