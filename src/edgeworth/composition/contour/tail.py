"""How small the characteristic function stays beyond the last node of a line, on all of [T, inf).

Two bounds on |phi(t)| of one tilted step, both proved in docs/proofs/contour.md:

- between two samples a < b:  |phi(t)| <= max(|phi(a)|, |phi(b)|) + (b - a)^2 V/8, V its variance,
  since the centred phi has |phi''| <= V and its chord stays below the larger end;
- far out:  |phi(t)| <= mass of x < x_k + TV of w/L' beyond x_k, over |t|, by parts on x > x_k, for any x_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeworth.losses.law import Array


__all__ = [
    "ALLOWED",
    "ENOUGH",
    "Far",
    "Guess",
    "Part",
    "Segments",
    "Tail",
    "far_enough",
    "first_negligible",
    "log_far",
    "sampled",
    "tail_beyond",
]

ENOUGH = 4.0  # nats: far out the tail may be this much higher than at the cut, and between samples this much:
ALLOWED = 7.0
_CLOSE, _USUAL_CLOSE = np.array([1.02, 1.07, 1.13, 1.22, 1.5]), 2
_APART, _USUAL_APART = np.array([1.0, 1.15, 1.35, 1.6, 2.1]), 3
_MOST_SAMPLES = 400
_MOST_HALVINGS = 12
_GROWTH = 1.5  # of the first samples' frequencies


class Part(Protocol):
    """What the bounds need of one tilted step."""

    @property
    def count(self) -> int:
        """How often the step is taken."""

    @property
    def variation(self) -> float:
        """|phi(t)| <= variation/t."""

    @property
    def atoms(self) -> float:
        """|phi(t)| <= atoms + decay/t."""

    @property
    def decay(self) -> float:
        """The other number of that bound."""

    @property
    def atoms_are_read(self) -> bool:
        """Whether runs of these atoms are part of what is read."""

    @property
    def alone(self) -> bool:
        """Whether only the bound far out is used: a jump, whose phi turns too fast to be sampled."""

    def variance(self) -> float:
        """Of the tilted law."""

    def log_far_bound(self, t: Array) -> Array:
        """At least log |phi| at each t and beyond it."""

    def moduli(self, t: Array) -> Array:
        """At least |phi| at each t, up to the frequency that the part was made for."""


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


class Guess(NamedTuple):
    """About the frequency from which on |phi| is small, and whether that is sure of its bounds."""

    frequency: float
    is_sure: bool = False

    @property
    def stairs(self) -> Array:
        """Where |phi| may be far enough."""
        return np.asarray((_CLOSE if self.is_sure else _APART) * self.frequency)

    @property
    def usual(self) -> float:
        """The stair for which parts are made: most lines end there, and further out they take more points."""
        return float(self.stairs[_USUAL_CLOSE if self.is_sure else _USUAL_APART])

    def farther(self, times: float = 2.0) -> Guess:
        """One that is this much farther out, and sure of nothing."""
        return Guess(times * self.frequency)


class Far(NamedTuple):
    """Frequencies from the first that is far enough on, and at least log |phi| at each and beyond it."""

    t: Array
    log_bound: Array

    def starting_at(self, t: float) -> Far:
        """The same from a frequency on that is not before the first: a bound holds beyond its own, too.

        >>> far = Far(np.array([1.0, 2.0, 3.0]), np.array([-4.0, -5.0, -6.0])).starting_at(2.5)
        >>> far.t.tolist(), far.log_bound.tolist()
        ([2.5, 3.0], [-5.0, -6.0])
        """
        passed = int(np.searchsorted(self.t, t, side="right"))
        return Far(np.append(t, self.t[passed:]), self.log_bound[passed - 1 :])


class Segments(NamedTuple):
    """Neighbouring segments [start, end), each with an upper bound of log |phi|."""

    start: list[float]
    end: list[float]
    log_bound: list[float]


def far_enough(t: Array, parts: Sequence[Part], gaussian: float, nats: float) -> Far | None:
    """Those of the frequencies from which on |phi| stays below about e^-nats; None if none does."""
    log_bound = log_far(t, parts, gaussian)
    (deep,) = (log_bound < ENOUGH - nats).nonzero()
    return Far(t[deep[0] :], log_bound[deep[0] :]) if deep.size else None


def first_negligible(log_bound: Array, between: Array, nats: float) -> int:
    """The first node at which |phi| is below e^-nats and from which on it stays low; or the last one."""
    (high,) = (between > ALLOWED - nats).nonzero()
    first = int(high[-1]) + 1 if high.size else 0
    (low,) = (log_bound[first:] < -nats).nonzero()
    return first + int(low[0]) if low.size else log_bound.size - 1


def log_far(t: Array, parts: Sequence[Part], gaussian: float) -> Array:
    """At least log |phi| of the whole at each t and beyond it."""
    total = -gaussian * t * t / 2
    for part in parts:
        total = total + part.count * part.log_far_bound(t)
    return np.asarray(total)


def tail_beyond(near: Segments, far: Far, parts: Sequence[Part], gaussian: float, nats: float) -> Tail:
    """The tail: segments up to the first frequency that is far enough, then the bounds there, then a power law."""
    (start, end, bound), beyond = near, far.t.tolist()
    last, log_last, power = _power_law(beyond[-1], parts, gaussian, -nats)
    if gaussian == 0 and all(math.isinf(part.variation) for part in parts):
        # Runs of atoms are not read: |phi less atoms| <= |phi| + atoms, and no bound is below the atoms.
        bound = [height + math.log(2) for height in bound]
    # The nodes left out are a sum, not an integral: their bound must not rise anywhere.
    falling = accumulate([log_last, *far.log_bound[::-1].tolist(), *bound[::-1]], max)
    return Tail((*start, *beyond, last), (*end, *beyond[1:], last, math.inf), tuple(falling)[::-1], power)


def _power_law(enough: float, parts: Sequence[Part], gaussian: float, allowed: float) -> tuple[float, float, float]:
    """Where |phi(t)| <= prod (TV_i/t)^n_i on the whole line is deep enough to end with, its log there, its power."""
    known = [(float(part.count), part.variation) for part in parts if math.isfinite(part.variation)]
    steps = math.fsum(n for n, _ in known)
    if not steps + gaussian > 0:
        return _atoms_apart(enough, parts, allowed)
    last = max([2 * enough, *(2 * variation for _, variation in known)])
    for _ in range(200):
        log_last = math.fsum(n * math.log(variation / last) for n, variation in known) - gaussian * last * last / 2
        if log_last < allowed:
            return last, log_last, steps + gaussian * last * last
        last *= 1.5
    raise TooLarge("the characteristic function falls too slowly at high frequencies for the line integral")


def _atoms_apart(enough: float, parts: Sequence[Part], allowed: float) -> tuple[float, float, float]:
    """Where atoms remain, for prod (a_i + d_i/t)^n_i less its limit: at most itself times sum n_i d_i/(a_i t).

    Steps whose atoms are read are a factor of both.
    """
    slope = math.fsum(part.count * part.decay / part.atoms for part in parts if not part.atoms_are_read)
    if not slope > 0:
        raise TooLarge("no bound on the characteristic function at high frequencies is known for this composition")
    last = max(4 * enough, 4 * slope)
    log_last = float(log_far(np.array([last]), parts, 0.0)[0]) + math.log(slope / last)
    if log_last > allowed:
        raise TooLarge("the atoms of this composition weigh too much for the line integral")
    return last, log_last, 1.0


def sampled(cut: float, enough: float, parts: Sequence[Part], gaussian: float, allowed: float) -> Segments:
    """Segments between the cut and the frequency that is far enough, bounded by samples at their ends.

    Too long a segment is halved until its bound is deep enough.
    """
    jumps = [part for part in parts if part.alone]
    parts = [part for part in parts if not part.alone]
    # Up to 1/std frequencies grow geometrically; beyond, a segment longer than 1/(2 std) proves little, nor does one
    # that may add more than some nats to the bound of all steps together.
    variance = [part.variance() * (1 + 1e-9) for part in parts]
    whole = math.fsum(part.count * v for part, v in zip(parts, variance, strict=True))
    longest = min(0.5 / math.sqrt(max(variance)), math.sqrt(8 * ALLOWED / whole))
    edges = [cut]
    while edges[-1] < enough:
        edges.append(min(edges[-1] + min((_GROWTH - 1) * edges[-1], longest), enough))
        if len(edges) > _MOST_SAMPLES:
            raise TooLarge("the line integral's tail needs too many samples")
    t = np.array(edges)
    moduli = np.array([part.moduli(t) for part in parts]).reshape(len(parts), t.size)
    count = np.array([float(part.count) for part in parts])
    for _ in range(_MOST_HALVINGS):
        length = np.diff(t)
        rise = np.maximum(moduli[:, 1:], moduli[:, :-1]) + np.multiply.outer(variance, length**2 / 8)
        bound = count @ np.log(np.minimum(rise, 1.0)) + log_far(t[:-1], jumps, gaussian)
        (shallow,) = np.nonzero(bound > allowed)
        if not shallow.size:
            return Segments(t[:-1].tolist(), t[1:].tolist(), bound.tolist())
        if t.size + shallow.size > _MOST_SAMPLES:
            break
        halves = t[shallow] + length[shallow] / 2
        new = np.array([part.moduli(halves) for part in parts]).reshape(len(parts), halves.size)
        t, moduli = np.insert(t, shallow + 1, halves), np.insert(moduli, shallow + 1, new, axis=1)
    raise TooLarge("the characteristic function does not fall fast enough for the line integral")
