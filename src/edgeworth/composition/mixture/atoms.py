"""All values of a sum of few-valued losses, with their masses under P and under Q."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.by_squares import power
from edgeworth.errors import TooLarge
from edgeworth.losses import MergedValues

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["atoms_of"]

_UNIT = 2.0**-53
_BEYOND = math.exp(-700.0)  # what a law with infinitely many values has left out itself
_MOST_PAIRS = 2**20


def atoms_of(total: TotalLoss, most: int) -> MergedValues | None:
    """The values of a sum; None where some step has others than finitely many, or there are more than `most`.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> atoms_of(TotalLoss.of(ew.RandomizedResponse(0.5) ** 4), 10).place.round(9).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    found = MergedValues(np.zeros(1), np.ones(1), np.ones(1))
    for loss, n in total.parts:
        if not loss.is_atomic:
            return None
        try:
            found = _product(found, power(_one_step(loss), n, _product))
        except TooLarge:
            return None
        if found.place.size > most:
            return None
    return found


def _one_step(loss: PrivacyLoss) -> MergedValues:
    place, log_mass = loss.nodes().held()
    deepest = float(np.max(np.abs(log_mass)) + np.max(np.abs(place)))
    farthest = float(np.max(np.abs(place)))
    endless = not all(math.isfinite(end) for end in loss.support)
    lost = _BEYOND if endless else 0.0
    slack, error = 16 * _UNIT * farthest, (8 + 8 * deepest) * _UNIT
    null, alternative = np.exp(log_mass), np.exp(log_mass + place)
    return MergedValues(place, null, alternative, slack=slack, error=error, lost=lost).without_the_smallest()


def _product(one: MergedValues, other: MergedValues) -> MergedValues:
    """The values of a sum of two, if these are not too many."""
    pairs = one.place.size * other.place.size
    if pairs > _MOST_PAIRS:
        raise TooLarge(f"a sum of two losses would have {pairs} pairs of values")
    return one.times(other)
