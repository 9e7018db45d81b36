"""Other steps beside a bulk, in one direction: their moments, and their transforms at a tilt."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.masses import Masses, masses
from edgeworth.composition.lattice.outside import NOTHING
from edgeworth.composition.lattice.transforms import transform
from edgeworth.composition.rare_atoms.laplace_wave import laplace_wave
from edgeworth.errors import Unsupported
from edgeworth.losses import LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.lattice.transforms import Transform
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

    Part = tuple[PrivacyLoss, int]

__all__ = ["NOTHING_BESIDE", "Beside"]

_ROUGHLY = 8.0  # the frequency for which nodes are taken that choose tilts and windows


class Beside:
    """Steps with finitely many atoms, or with noise that is bounded; mirrored, -L under Q."""

    def __init__(self, parts: tuple[Part, ...], *, mirrored: bool = False) -> None:
        self._parts, self._mirrored = parts, mirrored
        if not all(math.isfinite(end) for loss, _ in parts for end in loss.support):
            raise Unsupported("what is beside a bulk has finite losses")

    @property
    def kinds(self) -> int:
        """How many different steps there are."""
        return len(self._parts)

    @cached_property
    def _rough(self) -> list[tuple[Array, Array, int]]:
        held = [(self._masses(loss, 0.5, _ROUGHLY), n) for loss, n in self._parts]
        return [(law.place, law.log_mass, n) for law, n in held]

    def log_moments(self, tilt: Array) -> Array:
        """K(c) of all at some tilts, roughly."""
        found = np.zeros(tilt.size)
        for place, log_mass, n in self._rough:
            exponent = log_mass + np.multiply.outer(tilt, place)
            top = np.max(exponent, axis=1)
            found += n * (top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))
        return found

    def spread(self, tilt: float) -> float:
        """The standard deviation at a tilt, roughly."""
        variance = 0.0
        for place, log_mass, n in self._rough:
            exponent = log_mass + tilt * place
            weight = np.exp(exponent - np.max(exponent))
            weight /= np.sum(weight)
            variance += n * float(weight @ (place - weight @ place) ** 2)
        return math.sqrt(variance)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the largest loss."""
        low, high = (math.fsum(n * loss.support[end] for loss, n in self._parts) for end in (0, 1))
        return (-high, -low) if self._mirrored else (low, high)

    @cached_property
    def slack(self) -> float:
        """How far off the losses of all may be together."""
        return math.fsum(n * _slack(loss) for loss, n in self._parts)

    def transforms(self, tilt: float, h: float, size: int) -> list[tuple[Transform, int]]:
        """Those of the tilted steps, right up to the last frequency of points h apart."""
        return [(self._transform(loss, tilt, h, size), n) for loss, n in self._parts]

    def _transform(self, loss: PrivacyLoss, tilt: float, h: float, size: int) -> Transform:
        if isinstance(loss, LaplaceLoss):  # the same when mirrored
            return laplace_wave(loss.theta, tilt, h, size)
        return transform(self._masses(loss, tilt, math.pi / h), tilt, h, size)

    def _masses(self, loss: PrivacyLoss, tilt: float, frequency: float) -> Masses:
        """The masses of one step: mirrored and tilted by c it is the same law as when tilted by 1 - c."""
        law = masses(loss, loss.support, 1 - tilt if self._mirrored else tilt, frequency)
        if law.below != NOTHING or law.above != NOTHING:
            raise Unsupported("what is beside a bulk has finite losses")
        if not self._mirrored:
            return law
        place, log_mass, ends = -law.place[::-1], (law.log_mass + law.place)[::-1], (-law.ends[1], -law.ends[0])
        return Masses(place.copy(), log_mass.copy(), ends, NOTHING, NOTHING, law.error, law.slack)


def _slack(loss: PrivacyLoss) -> float:
    """At least how far a loss, and the point of a transform that it is taken to, may be off."""
    farthest = max(map(abs, loss.support))
    own = loss.place_error if isinstance(loss, SampledLoss) else 16 * 2.0**-53
    return (own + 2.0**-49) * farthest


NOTHING_BESIDE = Beside(())
