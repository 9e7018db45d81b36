"""All values of a sum of few-valued losses, with their masses under P and under Q."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Atoms", "atoms_of"]

_UNIT = 2.0**-53
_LEAST = 1e-200  # masses that are smaller under P and under Q are left out
_BEYOND = math.exp(-700.0)  # what a law with infinitely many values has left out itself
_CLOSE = 1e-14  # of the largest loss: values that are taken for one
_MOST_PAIRS = 2**18


@dataclass(frozen=True, eq=False)
class Atoms:
    """Rising losses with their masses: certain up to `slack`, and up to a factor 1 +- `error`.

    What is left out weighs at most `lost` under P and under Q.
    """

    place: Array
    null: Array
    alternative: Array
    slack: float = 0.0
    error: float = 0.0
    lost: float = 0.0

    def times(self, other: Atoms) -> Atoms:
        """The law of the sum, values that are close taken for one in their middle."""
        place = np.add.outer(self.place, other.place).ravel()
        order = np.argsort(place, kind="stable")
        place, farthest = place[order], float(np.max(np.abs(place)))
        (first,) = np.nonzero(np.append(True, np.diff(place) > _CLOSE * farthest))
        last = np.append(first[1:], place.size) - 1
        null, alternative = (
            np.add.reduceat(np.multiply.outer(one, two).ravel()[order], first)
            for one, two in ((self.null, other.null), (self.alternative, other.alternative))
        )
        merged = 0.5 * float(np.max(place[last] - place[first]))
        slack = self.slack + other.slack + merged + 4 * _UNIT * farthest
        error = self.error + other.error + (int(np.max(last - first)) + 4) * _UNIT
        middle = 0.5 * (place[first] + place[last])
        return Atoms(middle, null, alternative, slack, error, self.lost + other.lost).without_the_smallest()

    def without_the_smallest(self) -> Atoms:
        """What is below 1e-200 under both is left out."""
        kept = np.maximum(self.null, self.alternative) > _LEAST
        lost = self.lost + 2 * _LEAST * float(np.count_nonzero(~kept))
        return Atoms(self.place[kept], self.null[kept], self.alternative[kept], self.slack, self.error, lost)


def atoms_of(total: TotalLoss, most: int) -> Atoms | None:
    """The values of a sum; None where some step has others than finitely many, or there are more than `most`.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> atoms_of(TotalLoss.of(ew.RandomizedResponse(0.5) ** 4), 10).place.round(9).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    found = Atoms(np.zeros(1), np.ones(1), np.ones(1))
    for loss, n in total.parts:
        one = _one_step(loss) if loss.is_atomic else None
        power = None if one is None else _power(one, n)
        if power is None or found.place.size * power.place.size > _MOST_PAIRS:
            return None
        found = found.times(power)
        if found.place.size > most:
            return None
    return found


def _one_step(loss: PrivacyLoss) -> Atoms:
    nodes = loss.nodes()
    held = np.isfinite(nodes.log_weight)
    place, log_mass = nodes.loss[held], nodes.log_weight[held]
    deepest = float(np.max(np.abs(log_mass)) + np.max(np.abs(place)))
    farthest = float(np.max(np.abs(place)))
    endless = not all(math.isfinite(end) for end in loss.support)
    lost = _BEYOND if endless else 0.0
    made = Atoms(
        place, np.exp(log_mass), np.exp(log_mass + place), 16 * _UNIT * farthest, (8 + 8 * deepest) * _UNIT, lost
    )
    return made.without_the_smallest()


def _power(one: Atoms, n: int) -> Atoms | None:
    """The sum of n copies, by squares; None where it has too many values."""
    found: Atoms | None = None
    while n:
        if n % 2:
            if found is not None and found.place.size * one.place.size > _MOST_PAIRS:
                return None
            found = one if found is None else found.times(one)
        n //= 2
        if n:
            if one.place.size**2 > _MOST_PAIRS:
                return None
            one = one.times(one)
    return found
