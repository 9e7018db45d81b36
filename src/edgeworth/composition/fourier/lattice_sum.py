"""A sum of independent losses that all lie on one lattice: T = origin + m * step for whole numbers m."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.amplification import has_known_end, sampled_end
from edgeworth.composition.fourier.exact_exponent import ExactExponent
from edgeworth.composition.fourier.top_atoms import TopAtoms, TopPart
from edgeworth.losses import DiscreteGaussianLoss, Nodes, SampledLoss
from edgeworth.losses.moments import tilted_cumulants_of_nodes

if TYPE_CHECKING:
    from edgeworth.losses import Lattice, PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["LatticeSum", "RationalPoints", "lattice_sum"]

_UNIT = 2.0**-53
_ULPS = 2.0**-50  # relative: what a ratio of two spacings may be off a whole number
_MOST_DIVISIONS, _MOST_STRIDE = 12, 4096
_BEYOND = math.exp(-45.0)  # at least the tilted mass of the atoms that an endless law leaves out, within its tilts
_PER_SIGMA = 8  # atoms of discrete Gaussian noise in a standard deviation at the least: e^-631 is what fewer leave open


class RationalPoints(NamedTuple):
    """The lattice points as rational numbers, or to some fifty digits: T_m = anchor + (m - number) step."""

    anchor: Fraction
    step: Fraction
    number: int
    is_last: bool
    """Whether the anchor is the last point, and minus it the first."""

    @property
    def mirror(self) -> RationalPoints:
        """Of -T."""
        if self.is_last:
            return RationalPoints(self.anchor, self.step, int(2 * self.anchor / self.step) - self.number, is_last=True)
        return RationalPoints(-self.anchor, self.step, -self.number, is_last=False)

    def loss(self, m: int) -> Fraction:
        """T_m."""
        return self.anchor + (m - self.number) * self.step

    def first_past(self, loss: float) -> tuple[int, float]:
        """The first point beyond a loss less than the last one, and how far it is beyond: never 0, rounded once."""
        gap = self.anchor - Fraction(loss)
        steps = math.ceil(gap / self.step) - 1
        return self.number - steps, float(gap - steps * self.step)


@dataclass(frozen=True, eq=False)
class LatticeSum:
    """The parts as atoms, and the lattice that holds their sum."""

    parts: tuple[tuple[Nodes, int], ...]
    strides: tuple[int, ...]
    """The spacing of each part in steps of the lattice."""
    beyond: tuple[float, ...]
    """At least the tilted mass of the atoms that each part leaves out."""
    sigmas: tuple[float, ...]
    """In steps of the lattice, the sigma of each part of which only every m-th atom is kept, m <= sigma/8; or 0."""
    step: float
    offsets: tuple[float, ...]
    """A loss of each part, of which all others are whole numbers of its spacings away."""
    steepest: tuple[float, float]
    support: tuple[float, float]
    rounding: float
    """What different spacings may add to that which the rounding of T is relative to."""
    exponent: ExactExponent
    """The moments in decimals."""
    points: RationalPoints | None = None
    """The points themselves, where the doubles given make them rational numbers, or logarithms of such exponentials."""
    top: TopAtoms | None = None
    """The last atoms then, of T and of its mirror image."""

    @cached_property
    def origin(self) -> float:
        """T_0."""
        return math.fsum(n * offset for (_, n), offset in zip(self.parts, self.offsets, strict=True))

    @cached_property
    def steps(self) -> float:
        """How many steps there are."""
        return float(sum(n for _, n in self.parts))

    @cached_property
    def mirror(self) -> LatticeSum:
        """-T with P and Q exchanged: m becomes -m."""
        return LatticeSum(
            tuple((Nodes(-nodes.loss, nodes.log_weight + nodes.loss), n) for nodes, n in self.parts),
            self.strides,
            self.beyond,
            self.sigmas,
            self.step,
            tuple(-offset for offset in self.offsets),
            (1 - self.steepest[1], 1 - self.steepest[0]),
            (-self.support[1], -self.support[0]),
            self.rounding,
            self.exponent._replace(mirrored=not self.exponent.mirrored),
            None if self.points is None else self.points.mirror,
            self.top,
        )

    def loss(self, m: Array) -> Array:
        """T_m."""
        return np.asarray(self.origin + self.step * m)

    def size_of(self, loss: Array) -> Array:
        """What the rounding of a T_m is relative to."""
        return np.asarray(abs(self.origin) + np.abs(loss - self.origin) + self.rounding)

    def place(self, m: int) -> float:
        """T_m to all digits that are known."""
        return self.origin + self.step * m if self.points is None else float(self.points.loss(m))

    def doubt(self, loss: float) -> float:
        """What the rounding of a T_m near a loss may be, absolute."""
        if self.points is not None:
            return 2 * _UNIT * abs(loss)
        return _ULPS * float(self.size_of(np.array([loss]))[0])

    def first_past(self, loss: float) -> tuple[int, float]:
        """The first point beyond a loss and how far it is beyond, which may be wrong by the doubt."""
        if self.points is not None:
            return self.points.first_past(loss)
        m = self.point(loss) + 1
        return m, max(self.place(m) - loss, 0.0)

    def point(self, loss: float) -> int:
        """The last lattice point at or below a loss; within rounding of one it may be either."""
        return math.floor((loss - self.origin) / self.step)

    def moments(self, tilt: Array) -> Array:
        """Rows K(c), K'(c), K''(c): proposals, and bounds with some slack."""
        rows = np.zeros((tilt.size, 3))
        for nodes, n in self.parts:
            rows += float(n) * tilted_cumulants_of_nodes(nodes.loss, nodes.log_weight, tilt, 2)
        return rows


def lattice_sum(total: TotalLoss) -> LatticeSum | None:
    """The total as a sum on one lattice, or None where its parts do not share one by construction."""
    kept = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
    lattices = [loss.lattice for loss, _ in kept]
    if not kept or not total.is_exact or not all(_is_usable(lattice) for lattice in lattices):
        return None
    known: list[Lattice] = [lattice for lattice in lattices if lattice is not None]
    step = _common_step([lattice.spacing for lattice in known])
    if step is None:
        return None
    strides = tuple(round(lattice.spacing / step) for lattice in known)
    uneven = len({lattice.spacing for lattice in known}) > 1
    counts = [n for _, n in kept]
    reach = [lattice.spacing * (abs(lattice.first) + lattice.log_null.size) for lattice in known]
    sigmas = tuple(_sigma(loss, stride) for (loss, _), stride in zip(kept, strides, strict=True))
    points = _points(kept, known, strides)
    return LatticeSum(
        tuple((_thinned(loss) if sigma else loss.nodes(), n) for (loss, n), sigma in zip(kept, sigmas, strict=True)),
        strides,
        tuple(0.0 if math.isfinite(loss.support[1]) else _BEYOND for loss, _ in kept),
        sigmas,
        step,
        tuple(lattice.offset for lattice in known),
        total.steepest,
        total.support,
        math.fsum(n * most for most, n in zip(reach, counts, strict=True)) if uneven else 0.0,
        ExactExponent(tuple(kept)),
        points,
        _top(kept, known, strides, float(points.step)) if points is not None and points.is_last else None,
    )


def _points(
    kept: list[tuple[PrivacyLoss, int]], lattices: list[Lattice], strides: tuple[int, ...]
) -> RationalPoints | None:
    """The points, if all atoms are known to many digits and the spacings are multiples of one step."""
    anchor, number, steps = Fraction(0), 0, set()
    is_last = all(loss.largest is not None for loss, _ in kept)
    for (loss, n), lattice, stride in zip(kept, lattices, strides, strict=True):
        ends = _two_atoms(loss, lattice)
        if ends is None:
            return None
        (low, first), (high, last) = ends
        anchor += n * high
        number += n * stride * last
        steps.add((high - low) / ((last - first) * stride))
    return RationalPoints(anchor, steps.pop(), number, is_last) if len(steps) == 1 else None


def _two_atoms(loss: PrivacyLoss, lattice: Lattice) -> tuple[tuple[Fraction, int], tuple[Fraction, int]] | None:
    """Two atoms to many digits, each with its number, the last one of all if there is a last; None if not known.

    A law whose largest loss is a rational number has its atoms evenly from minus that to that.
    """
    first, last = lattice.first, lattice.first + lattice.log_null.size - 1
    if loss.largest is not None:
        return (-loss.largest, first), (loss.largest, last)
    if isinstance(loss, DiscreteGaussianLoss):
        half = loss.sensitivity / (2 * Fraction(loss.sigma) ** 2)
        return (-loss.sensitivity * half, 0), ((2 - loss.sensitivity) * half, 1)
    if isinstance(loss, SampledLoss) and loss.base.alternative_only == 0 and last - first == 1:
        end, rate = loss.base.largest, loss.rate
        if end is not None and has_known_end(end, rate):
            return (sampled_end(-end, rate), first), (sampled_end(end, rate), last)
    return None


def _top(
    kept: list[tuple[PrivacyLoss, int]], lattices: list[Lattice], strides: tuple[int, ...], step: float
) -> TopAtoms:
    """The last atoms: Q from the top is P from the bottom, of which the lattices have the logarithms."""
    parts = [
        TopPart(lattice.log_null, n, stride, lattice.spacing)
        for (_, n), lattice, stride in zip(kept, lattices, strides, strict=True)
    ]
    return TopAtoms(parts, step)


def _sigma(loss: PrivacyLoss, stride: int) -> float:
    """That of discrete Gaussian noise with more atoms than its transform needs, whose spacing is the step; or 0."""
    if stride != 1 or not isinstance(loss, DiscreteGaussianLoss) or loss.sigma < 2 * _PER_SIGMA:
        return 0.0
    return loss.sigma


def _thinned(loss: PrivacyLoss) -> Nodes:
    """Every m-th atom with m times its mass: the sums of e^(sL) P are the same but for e^-631, by Poisson summation.

    The weights are made anew, so that their logarithms have the ulps of small numbers.
    """
    assert isinstance(loss, DiscreteGaussianLoss)
    assert loss.lattice is not None
    sigma = loss.sigma
    m = int(sigma // _PER_SIGMA)
    places = loss.nodes().loss[::m]
    k = loss.lattice.first + m * np.arange(places.size, dtype=np.float64)
    rate = float(1 / (2 * Fraction(sigma) ** 2))
    return Nodes(places, -k * k * rate - math.log(sigma * math.sqrt(2 * math.pi) / m))


def _is_usable(lattice: Lattice | None) -> bool:
    """Whether there are two atoms or more, and no hole."""
    return lattice is not None and lattice.log_null.size > 1 and bool(np.isfinite(lattice.log_null).all())


def _common_step(spacings: list[float]) -> float | None:
    """The largest s/q, s the smallest spacing and q small, of which every spacing is a multiple to some ulps."""
    smallest = min(spacings)
    for parts in range(1, _MOST_DIVISIONS + 1):
        step = smallest / parts
        ratios = [spacing / step for spacing in spacings]
        if all(ratio < _MOST_STRIDE and abs(ratio - round(ratio)) <= _ULPS * ratio for ratio in ratios):
            return step
    return None
