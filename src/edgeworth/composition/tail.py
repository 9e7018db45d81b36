"""How small the characteristic function stays beyond the last node of a line, on all of [T, inf).

Two bounds on |phi(t)| of one tilted step, both proved in docs/proofs/contour.md:

- between two samples a < b:  |phi(t)| <= max(|phi(a)|, |phi(b)|) + (b - a)^2 V/8, V its variance,
  since the centred phi has |phi''| <= V and its chord stays below the larger end;
- far out:  |phi(t)| <= mass of x < x_k + TV of w/L' beyond x_k, over |t|, by parts on x > x_k, for any x_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeworth.losses.law import Array

    Moduli = Callable[[float, float], Array]

__all__ = ["Tail", "tail_beyond"]

_ENOUGH = 46.0  # nats: the tail starts below e^-46 of the peak, and has to stay below e^-37
_MOST_SAMPLES = 120


class Part(Protocol):
    """What the bounds need of one tilted step."""

    @property
    def count(self) -> int:
        """How often the step is taken."""

    @property
    def variation(self) -> float:
        """Total variation of w/L' on the whole line."""

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance, fourth central moment."""

    def far_bound(self, t: float) -> float:
        """At least |phi| at t and beyond."""


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


def tail_beyond(cut: float, parts: Sequence[Part], moduli: Moduli, gaussian: float) -> Tail:
    """The tail beyond the cut: samples until the bound by parts is deep enough, then that bound alone.

    `moduli(t, most)` gives an upper bound of |phi(t)| for every part, by quadratures good for frequencies up to `most`.
    """
    count = np.array([float(part.count) for part in parts])
    variance = np.array([part.moments()[1] * (1 + 1e-9) for part in parts])

    def log_far(t: float) -> float:
        bounds = np.array([min(1.0, part.far_bound(t)) for part in parts])
        return float(np.sum(count * np.log(bounds))) - gaussian * t * t / 2

    enough = _first_deep(cut, log_far)
    start, end, bound = _sampled(cut, enough, moduli, count, variance, gaussian)
    last, log_last, power = _power_law(enough, parts, gaussian)
    t = enough
    while t < last:
        start.append(t)
        bound.append(log_far(t))
        t = min(4 * t, last)
        end.append(t)
    # The nodes left out are a sum, not an integral: their bound must not rise anywhere.
    falling = np.maximum.accumulate(np.array([*bound, log_last])[::-1])[::-1]
    return Tail((*start, last), (*end, math.inf), tuple(map(float, falling)), power)


def _power_law(enough: float, parts: Sequence[Part], gaussian: float) -> tuple[float, float, float]:
    """Where |phi(t)| <= prod (TV_i/t)^n_i on the whole line is deep enough to end with, its log there, its power."""
    known = [(float(part.count), part.variation) for part in parts if math.isfinite(part.variation)]
    steps = math.fsum(n for n, _ in known)
    if not steps + gaussian > 0:
        raise TooLarge("no bound on the characteristic function at high frequencies is known for this composition")
    last = max([2 * enough, *(2 * variation for _, variation in known)])
    for _ in range(200):
        log_last = math.fsum(n * math.log(variation / last) for n, variation in known) - gaussian * last * last / 2
        if log_last < -_ENOUGH - 4:
            return last, log_last, steps + gaussian * last * last
        last *= 1.5
    raise TooLarge("the characteristic function falls too slowly at high frequencies for the line integral")


def _first_deep(cut: float, log_far: Callable[[float], float]) -> float:
    """The first frequency on a geometric ladder from which the bound by parts is deep enough; it only falls."""
    t = cut
    for _ in range(300):
        if log_far(t) < -_ENOUGH - 4:
            return t
        t *= 1.15
    raise TooLarge("no bound on the characteristic function at high frequencies is known for this composition")


def _sampled(
    cut: float, enough: float, moduli: Moduli, count: Array, variance: Array, gaussian: float
) -> tuple[list[float], list[float], list[float]]:
    """Segments between the cut and the frequency that is far enough, bounded by samples at their ends."""
    start: list[float] = []
    end: list[float] = []
    bound: list[float] = []
    t = cut
    here = moduli(cut, enough) if cut < enough else np.ones(count.size)
    while t < enough:
        if len(start) > _MOST_SAMPLES:
            raise TooLarge("the line integral's tail needs too many samples")
        depth = gaussian * t * t / 2 - float(np.sum(count * np.log(here)))
        length = math.sqrt(3.2 * depth / max(float(np.sum(count * variance / here)), 1e-300))
        for _ in range(30):
            following = min(t + length, enough)
            there = moduli(following, enough)
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
    return start, end, bound
