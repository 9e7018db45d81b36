"""A loss that takes few values, all of them listed: what a sum of few-valued losses is made of.

Sums of values have products of masses. A list of all pairs needs nothing but these, and keeps logarithms, which do not
underflow; a list in which close values are taken for one adds masses up, too, and keeps the masses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses.law import Array

__all__ = ["FewValues", "MergedValues", "PairedValues"]

_UNIT = 2.0**-53
_LEAST = 1e-200  # masses that are smaller under P and under Q are left out of merged values
_CLOSE = 1e-14  # of the largest loss: values that are taken for one


@dataclass(frozen=True, eq=False)
class FewValues:
    """Losses in rising order, certain up to `slack`, whose masses are certain up to a factor 1 +- `error`.

    What is left out weighs at most `lost` under P and under Q. A loss may be off by `stretch` of itself besides.
    """

    place: Array
    slack: float = field(default=0.0, kw_only=True)
    stretch: float = field(default=0.0, kw_only=True)
    error: float = field(default=0.0, kw_only=True)
    lost: float = field(default=0.0, kw_only=True)

    def _sums(self, other: FewValues) -> tuple[Array, NDArray[np.intp], float]:
        """The sums of all pairs in rising order, the numbers of these pairs, and the largest sum."""
        place = np.add.outer(self.place, other.place).ravel()
        order = np.argsort(place, kind="stable")
        return place[order], order, float(np.max(np.abs(place)))


@dataclass(frozen=True, eq=False)
class PairedValues(FewValues):
    """Values with the logarithms of their P-masses; those of Q are larger by the loss."""

    log_mass: Array

    def mirrored(self) -> PairedValues:
        """-L under Q."""
        error = self.error + 4 * _UNIT + self.slack
        log_mass = (self.log_mass + self.place)[::-1]
        certain = {"slack": self.slack, "stretch": self.stretch, "lost": self.lost}
        return PairedValues(-self.place[::-1], log_mass, error=error, **certain)

    def times(self, other: PairedValues) -> PairedValues:
        """The law of the sum, one value for each pair."""
        place, order, farthest = self._sums(other)
        log_mass = np.add.outer(self.log_mass, other.log_mass).ravel()
        deepest = float(np.max(np.abs(log_mass)))
        stretched = sum(law.stretch * float(np.max(np.abs(law.place))) for law in (self, other))
        slack = self.slack + other.slack + stretched + _UNIT * farthest
        error, lost = self.error + other.error + _UNIT * deepest, self.lost + other.lost
        return PairedValues(place, log_mass[order], slack=slack, error=error, lost=lost)


@dataclass(frozen=True, eq=False)
class MergedValues(FewValues):
    """Values with their masses under P and under Q."""

    null: Array
    alternative: Array

    def times(self, other: MergedValues) -> MergedValues:
        """The law of the sum, values that are close taken for one in their middle."""
        place, order, farthest = self._sums(other)
        (first,) = np.nonzero(np.append(True, np.diff(place) > _CLOSE * farthest))
        last = np.append(first[1:], place.size) - 1
        null, alternative = (
            np.add.reduceat(np.multiply.outer(one, two).ravel()[order], first)
            for one, two in ((self.null, other.null), (self.alternative, other.alternative))
        )
        merged = 0.5 * float(np.max(place[last] - place[first]))
        slack = self.slack + other.slack + merged + 4 * _UNIT * farthest
        error = self.error + other.error + (int(np.max(last - first)) + 4) * _UNIT
        middle, lost = 0.5 * (place[first] + place[last]), self.lost + other.lost
        return MergedValues(middle, null, alternative, slack=slack, error=error, lost=lost).without_the_smallest()

    def without_the_smallest(self) -> MergedValues:
        """What is below 1e-200 under both is left out."""
        kept = np.maximum(self.null, self.alternative) > _LEAST
        lost = self.lost + 2 * _LEAST * float(np.count_nonzero(~kept))
        place, null, alternative = self.place[kept], self.null[kept], self.alternative[kept]
        return MergedValues(place, null, alternative, slack=self.slack, error=self.error, lost=lost)
