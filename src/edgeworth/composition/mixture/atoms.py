"""All values of a sum of few-valued losses, with their masses under P and under Q."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses import MergedValues

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["atoms_of"]

_UNIT = 2.0**-53
_BEYOND = math.exp(-700.0)  # what a law with infinitely many values has left out itself
_MOST_PAIRS = 2**18


def atoms_of(total: TotalLoss, most: int) -> MergedValues | None:
    """The values of a sum; None where some step has others than finitely many, or there are more than `most`.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> atoms_of(TotalLoss.of(ew.RandomizedResponse(0.5) ** 4), 10).place.round(9).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    found = MergedValues(np.zeros(1), np.ones(1), np.ones(1))
    for loss, n in total.parts:
        one = _one_step(loss) if loss.is_atomic else None
        power = None if one is None else _power(one, n)
        if power is None or found.place.size * power.place.size > _MOST_PAIRS:
            return None
        found = found.times(power)
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


def _power(one: MergedValues, n: int) -> MergedValues | None:
    """The sum of n copies, by squares; None where it has too many values."""
    found: MergedValues | None = None
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
