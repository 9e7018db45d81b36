"""How small the characteristic function stays beyond the last node of a line, on all of [T, inf).

Two bounds on |phi(t)| of one tilted step, both proved in docs/proofs/contour.md:

- between two samples a < b:  |phi(t)| <= max(|phi(a)|, |phi(b)|) + (b - a)^2 V/8, V its variance,
  since the centred phi has |phi''| <= V and its chord stays below the larger end;
- far out:  |phi(t)| <= TV(w/L')/|t|, by parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses.law import Array

__all__ = ["Tail", "far_end", "tail_beyond"]

_ENOUGH = 46.0  # nats: the tail starts below e^-46 of the peak, and has to stay below e^-37
_MOST_SAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Tail:
    """Segments [start, end) that cover [T, inf), each with an upper bound of log |phi|; the last has no end."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    log_bound: tuple[float, ...]
    last_power: float
    """On the last segment |phi(t)| <= e^bound (start/t)^last_power."""

    def log_integral(self, q: int) -> float:
        """At least log of the integral of |phi(t)| t^-q over [T, inf), for q = 1 or 2."""
        pieces = []
        for a, b, bound in zip(self.start[:-1], self.end[:-1], self.log_bound[:-1], strict=True):
            length = math.log(b / a) if q == 1 else 1 / a - 1 / b
            pieces.append(bound + math.log(length))
        a = self.start[-1]
        pieces.append(self.log_bound[-1] + (1 - q) * math.log(a) - math.log(self.last_power + q - 1))
        top = max(pieces)
        return top + math.log(math.fsum(math.exp(piece - top) for piece in pieces))


class FarEnd(NamedTuple):
    """From `start` on, |phi(t)| <= e^log_bound (start/t)^power."""

    start: float
    log_bound: float
    power: float


def tail_beyond(
    cut: float, far: FarEnd, moduli: Callable[[float], Array], count: Array, variance: Array, gaussian: float
) -> Tail:
    """The tail beyond the cut; `moduli(t)` gives an upper bound of |phi(t)| for every part, up to the far end."""
    start, end, bound = [], [], []
    t, here = cut, moduli(cut)
    while t < far.start:
        if len(start) > _MOST_SAMPLES:
            raise TooLarge("the line integral's tail needs too many samples")
        depth = gaussian * t * t / 2 - float(np.sum(count * np.log(here)))
        length = math.sqrt(3.2 * depth / max(float(np.sum(count * variance / here)), 1e-300))
        for _ in range(40):
            following = min(t + length, far.start)
            there = moduli(following)
            rise = np.minimum(np.maximum(here, there) + (following - t) ** 2 * variance / 8, 1.0)
            log_bound = float(np.sum(count * np.log(rise))) - gaussian * t * t / 2
            if log_bound < -0.8 * _ENOUGH:
                break
            length *= 0.6
        else:
            raise TooLarge("the characteristic function does not fall fast enough for the line integral")
        start.append(t)
        end.append(following)
        bound.append(log_bound)
        t, here = following, there
    return Tail((*start, far.start), (*end, math.inf), (*bound, far.log_bound), far.power)


def far_end(cut: float, variation: Array, count: Array, gaussian: float) -> FarEnd:
    """A frequency from which the bound by parts, with that of Gaussian noise, is deep enough."""
    t = cut
    for _ in range(400):
        helps = variation < t
        with np.errstate(divide="ignore"):
            log_bound = float(np.sum(np.where(helps, count * np.log(np.minimum(variation / t, 1.0)), 0.0)))
        log_bound -= gaussian * t * t / 2
        power = float(np.sum(np.where(helps, count, 0.0))) + gaussian * t * t
        if log_bound < -_ENOUGH - 10 and power > 0:
            return FarEnd(t, log_bound, power)
        t *= 1.15
    raise TooLarge("no bound on the characteristic function at high frequencies is known for this composition")
