"""Ends of the profile of one step, or of several, that have one formula, alone or beside few-valued steps.

Beside losses l_j with masses p_j under P and q_j under Q

    delta(t) = sum of q_j delta_1(t - l_j),    delta'(t) = sum of p_j delta'_1(t + l_j).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import closed_form
from edgeworth.composition.work import spend
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import MergedValues, PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Formula", "Mixed", "placed"]

_UNIT = 2.0**-53
_ULPS = 8 * _UNIT  # of the largest loss, and of what a sample adds to its logarithm
_LOST = 1e-310  # more than is lost of a number that underflows
_MANY, _RUN = 4_096, 64  # values that are looked at one by one, and how many neighbours are first taken for one
_FORMULA = 20.0  # units of work for both ends at one place
_NEGLIGIBLE = 1e-14  # of a reading: what all of these may leave open


class Formula:
    """One step, or Gaussian noise in any number of them."""

    def __init__(self, total: TotalLoss) -> None:
        composed = closed_form.compose(total)
        assert composed.lower is not None
        assert composed.upper is not None
        over, under = composed.lower.profile(), composed.upper.profile()
        self._over = {"forward": over, "backward": over.reverse()}
        self._under = {"forward": under, "backward": under.reverse()}
        self._ends = np.array([end for end in total.support if math.isfinite(end)])
        self._rounding, self._shift = composed.rounding, min(composed.shift, self._moved(total.parts[0][0]))

    def lower(self, side: Way, t: Array) -> Array:
        """At most delta at every t."""
        return np.maximum(self._under[side](t + self._room(t)) * (1 - self._rounding) - _LOST, 0.0)

    def upper(self, side: Way, t: Array) -> Array:
        """At least delta at every t."""
        return np.minimum(self._over[side](t - self._room(t)) * (1 + self._rounding) + _LOST, 1.0)

    def _room(self, t: Array) -> Array:
        """As far as rounding may have moved t, or an end of the support."""
        farthest = float(np.max(np.abs(self._ends), initial=0.0))
        return np.asarray(self._shift + 8 * _UNIT * (np.abs(t) + farthest))

    def _moved(self, loss: PrivacyLoss) -> float:
        """How far rounding of the loss of the base, which is bounded, moves that of its sample."""
        if not isinstance(loss, SampledLoss) or not math.isfinite(loss.base.support[1]):
            return math.inf
        farthest, base = float(np.max(np.abs(self._ends))), loss.base.support[1]
        posterior = math.exp(min(math.log(loss.rate) + base - loss.support[1], 0.0))
        return _ULPS * (farthest + posterior * (1 + base - math.log(loss.rate)))

    def kinks(self, side: Way) -> Array:
        """The ends of the support."""
        return self._ends if side == "forward" else -self._ends


class Mixed:
    """One step beside few-valued ones."""

    def __init__(self, one: Formula, atoms: MergedValues) -> None:
        self._one, self._atoms = one, atoms

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at one eps."""
        atoms = self._atoms
        place, room, mass = placed(atoms, side, epsilon)
        error = atoms.error + (place.size + 4) * _UNIT
        left, right = place - room, place + room
        if place.size > _MANY:
            left, right, mass = self._with_runs(side, left, right, mass)
        spend(_FORMULA * mass.size)
        lower = float(mass @ self._one.lower(side, right)) * (1 - error)
        upper = float(mass @ self._one.upper(side, left)) * (1 + error) + atoms.lost
        return lower, min(upper, 1.0)

    def _with_runs(self, side: Way, left: Array, right: Array, mass: Array) -> tuple[Array, Array, Array]:
        """The same places, runs of neighbours taken for one wherever that leaves next to nothing open.

        delta_1 does not rise: between the least and the greatest place of a run it is between its values there.
        """
        first = np.arange(0, mass.size, _RUN)
        least, greatest = np.minimum.reduceat(left, first), np.maximum.reduceat(right, first)
        whole = np.add.reduceat(mass, first)
        low, high = whole * self._one.lower(side, greatest), whole * self._one.upper(side, least)
        order = np.argsort(high - low, kind="stable")
        open_ = np.cumsum((high - low)[order]) > _NEGLIGIBLE * float(np.sum(low))
        apart = np.zeros(first.size, dtype=bool)
        apart[order[open_]] = True
        each = np.repeat(apart, np.diff(np.append(first, mass.size)))
        return (
            np.concatenate([least[~apart], left[each]]),
            np.concatenate([greatest[~apart], right[each]]),
            np.concatenate([whole[~apart], mass[each]]),
        )


def placed(atoms: MergedValues, side: Way, epsilon: float) -> tuple[Array, Array, Array]:
    """Where the profile of one step is read beside every value, how far off that may be, and with what mass."""
    sign, mass = (-1, atoms.alternative) if side == "forward" else (1, atoms.null)
    room = atoms.slack + 4 * _UNIT * (abs(epsilon) + np.abs(atoms.place))
    return epsilon + sign * atoms.place, room, mass
