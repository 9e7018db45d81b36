"""The loss of a few steps of Laplace noise, or of samples of it, on even points: laws on either side, value by value.

Every step is raised, lowered or widened onto the points as on a lattice. Sums of not too many points are
convolved directly: all terms are positive, so every mass keeps its digits. `docs/proofs/enclosed.md` proves it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import fft

from edgeworth.composition.by_squares import power
from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.rounding import PointLaw, lowered, raised
from edgeworth.composition.one_thread import convolution
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed
from edgeworth.losses import PairedValues

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

    Part = tuple[PrivacyLoss, int]

__all__ = ["Side", "length", "noise_law", "points_apart"]

#: laws whose E[(X - u)_+] and E[(u - X)_+] are above or below the true ones, and whose E[min(X, u)] are less or more
Side: TypeAlias = Literal["above", "below", "less", "more"]

_UNIT = 2.0**-53
_LOST = 1e-270  # more than what underflows of a product of masses weighs under P and under Q, for losses up to 80
_TILT = 0.5  # of the laws that are convolved: between P and Q
_FEWEST_CELLS = 16  # of a step, for a law below it on points
_MOST_DIRECTLY = 2.0**28  # products of two masses: a third of a second
_TRANSFORM = 8.0  # of the relative error of a transform in l2, over u log2 of its length
_SUMS_AT_ONCE, _POINTS_AT_ONCE = 100.0, 10.0  # products of two masses, and points of transforms, in a unit of work


class _Points(NamedTuple):
    """Tilted masses on even points from the first one on, their relative error, and what each may be off besides."""

    mass: Array
    error: float
    off: float = 0.0

    def times(self, other: _Points) -> _Points:
        """The law of the sum: sums of positive terms, or transforms where these are too many."""
        few, wholes = min(self.mass.size, other.mass.size), (float(np.sum(self.mass)), float(np.sum(other.mass)))
        off = self.off * wholes[1] + other.off * wholes[0] + few * self.off * other.off
        error = self.error + other.error + (few + 4) * _UNIT
        if self.mass.size * other.mass.size <= _MOST_DIRECTLY:
            spend(self.mass.size * other.mass.size / _SUMS_AT_ONCE)
            return _Points(convolution(self.mass, other.mass), error, 1.01 * off)
        mass, rounding = _by_transforms(self.mass, other.mass)
        return _Points(mass, error, 1.01 * (off + rounding))


def _by_transforms(one: Array, other: Array) -> tuple[Array, float]:
    """The convolution by Fourier transforms, and at least the error of every term of it."""
    size = one.size + other.size - 1
    circle = fft.next_fast_len(size, real=True)
    made = fft.irfft(fft.rfft(one, circle) * fft.rfft(other, circle), circle)[:size]
    norms = [float(np.sum(mass)) * float(np.linalg.norm(rest)) for mass, rest in ((one, other), (other, one))]
    spend(circle / _POINTS_AT_ONCE)
    return np.maximum(made, 0.0), 2 * _TRANSFORM * _UNIT * math.log2(circle) * sum(norms)


def length(parts: tuple[Part, ...]) -> float:
    """From the least to the largest loss of the sum."""
    return math.fsum(n * (loss.support[1] - loss.support[0]) for loss, n in parts)


def points_apart(parts: tuple[Part, ...], most: int) -> float:
    """A distance of at most so many points, of which the steps that reach farthest have both their atoms on points."""
    far = max(parts, key=lambda part: part[1] * (part[0].support[1] - part[0].support[0]))[0]
    reach = far.support[1] - far.support[0]
    return reach / max(math.floor(reach / length(parts) * (most - 2 * len(parts))), 1)


def noise_law(parts: tuple[Part, ...], h: float, side: Side) -> PairedValues:
    """The law of the sum on points h apart, on one side of the truth: what a mass may be off goes to that side, too."""
    law, first, log_scale, slack = _convolved(parts, h, {"below": "lowered", "more": "widened"}.get(side, "raised"))
    mass = law.mass + law.off if side in {"above", "more"} else np.maximum(law.mass - law.off, 0.0)
    (kept,) = np.nonzero(mass)
    place = np.asarray(first + h * kept, dtype=np.float64)
    log_mass = np.log(mass[kept]) + (log_scale - _TILT * place)
    error = law.error + 8 * _UNIT * (1 + abs(log_scale) + float(np.max(np.abs(log_mass)))) + slack
    lost = mass.size * _LOST if side in {"above", "more"} else 0.0
    return PairedValues(place, log_mass, slack=slack, error=error, lost=lost)


@lru_cache(maxsize=3)
def _convolved(parts: tuple[Part, ...], h: float, how: str) -> tuple[_Points, float, float, float]:
    """The sum, tilted, over e^log_scale; its first point, that logarithm, and how far off the points may be."""
    found: _Points | None = None
    first, log_scale, slack, far = 0.0, 0.0, 0.0, 0.0
    for loss, n in parts:
        held = cells(loss, h, loss.support)
        if max(*held.below, *held.above) > 0:
            raise ComputationFailed("some of this noise lies beyond its points")
        if how == "raised":
            law, offset = raised(held, _TILT), held.offset
        elif held.log_left.size < _FEWEST_CELLS:  # all of it on its mean, X = 1, is the least law of all
            law, offset = PointLaw(0, np.ones(1), 0.0, 0.0), 0.0
        else:
            law, offset = lowered(held, _TILT, widened=how == "widened"), held.offset
        copies = power(_Points(law.mass, law.error), n, _Points.times)
        found = copies if found is None else found.times(copies)
        first, log_scale = first + n * (offset + h * law.first), log_scale + n * law.log_scale
        slack += n * held.slack
        far += n * (abs(held.offset) + h * (abs(law.first) + law.mass.size))
    assert found is not None
    return found, first, log_scale, slack + 16 * _UNIT * far
