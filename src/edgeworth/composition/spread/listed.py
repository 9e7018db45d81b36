"""Few samples with atoms beside a rest: all of their runs are listed, and every one meets the profile of the rest.

    delta(eps) = sum over all runs of Q[run] delta_R(eps - loss),    delta'(eps) = sum of P[run] delta'_R(eps + loss):

nothing is rounded to points. Runs that are too rare to count are left out (`rare_atoms.listed_runs`), and the deeper a
reading is the fewer of them. `docs/proofs/spread.md` proves it.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.rare_atoms.listed_runs import listed
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues

if TYPE_CHECKING:
    from edgeworth.composition.profile_alone import Way
    from edgeworth.composition.samples import Samples
    from edgeworth.composition.spread.noise_rest import NoiseRest
    from edgeworth.composition.spread.rest import Rest, Sides
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["ListedAnswers"]

_UNIT = 2.0**-53
_NATS = 30.0, 45.0, 60.0, 80.0, 105.0  # what is left out is rarer than e^-these, by more than e^-10
_MOST_RUNS, _MOST_PAIRS = 2**17, 2**20  # that are listed, and that are looked at
_RARER = 10.0  # nats below what counts, at which pairs of runs are left out
_NEGLIGIBLE = 1e-8  # of a reading: what is left out, and what need not be read closer
_MOST_ASKED = 2_000  # places at which the rest is asked for anew, those that leave most open
_RUN = 2.0  # units of work for a run
_NOT_LISTED = 1e-299  # at least the mass of outcomes that a sample does not list, under P and under Q
_TOO_MANY = "too many runs of these samples count"
_MORE = 1 + 1e-9  # for the rounding of small sums


class ListedAnswers(ProfileAlone):
    """Ends of delta from lists of all runs."""

    def __init__(self, total: TotalLoss, samples: Samples, rest: Rest | NoiseRest) -> None:
        super().__init__(total)
        self._samples, self._rest, self._law = samples, rest, cache(self._made)

    def _made(self, nats: float) -> PairedValues | None:
        """The runs that are not rarer than that; None where they are too many."""
        try:
            lists = [listed(loss, n, nats, _MOST_RUNS) for loss, n in self._samples]
            law = reduce(lambda one, other: _product(one, other, nats), lists)
        except Unsupported:
            return None
        steps = sum(n for _, n in self._samples)
        certain = {"slack": law.slack, "stretch": law.stretch, "error": law.error}
        return PairedValues(law.place, law.log_mass, lost=law.lost + steps * _NOT_LISTED, **certain)

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta at one eps, from the first list that leaves out nothing that counts, or the last there is."""
        found: tuple[float, float] | None = None
        for nats in _NATS:
            law = self._law(nats)
            if law is None:
                break
            found = self._summed(side, epsilon, law)
            if law.lost <= _NEGLIGIBLE * found[0]:
                break
        if found is None:
            raise Unsupported(_TOO_MANY)
        return found

    def _summed(self, side: Way, epsilon: float, law: PairedValues) -> tuple[float, float]:
        """Ends of the sum: every run is read as far to the safe side as its place may be off."""
        spend(_RUN * law.place.size)
        slack = law.slack + law.stretch * np.abs(law.place)
        mass = np.exp(law.log_mass + law.place if side == "forward" else law.log_mass)
        place = epsilon - law.place if side == "forward" else epsilon + law.place
        room = slack + 4 * _UNIT * (abs(epsilon) + np.abs(law.place))
        profile = self._rest.around(side, np.empty(0))
        low, high = _terms(profile, mass, place, room)
        if float(np.sum(high - low)) > _NEGLIGIBLE * float(np.sum(low)):
            near = place[np.argsort(low - high, kind="stable")[:_MOST_ASKED]]
            low, high = _terms(self._rest.around(side, near), mass, place, room)
        deepest = float(np.max(np.abs(law.log_mass)) + np.max(np.abs(law.place)))
        error = law.error + 2 * float(np.max(slack)) + (place.size + 8 * deepest + 16) * _UNIT
        least = -math.expm1(min(epsilon, 0.0)) * (1 - 4 * _UNIT)
        return max(float(np.sum(low)) * (1 - error), least), min(float(np.sum(high)) * (1 + error) + law.lost, 1.0)


def _terms(profile: Sides, mass: Array, place: Array, room: Array) -> tuple[Array, Array]:
    """Ends of every term."""
    return mass * profile.lower(place + room), mass * np.minimum(profile.upper(place - room), 1.0)


def _product(one: PairedValues, other: PairedValues, nats: float) -> PairedValues:
    """All pairs of runs that are not too rare under P and under Q, whose larger mass is added to what is lost."""
    if one.place.size * other.place.size > _MOST_PAIRS:
        raise Unsupported(_TOO_MANY)
    spend(_RUN * one.place.size * other.place.size)
    both = one.times(other)
    log_larger = np.maximum(both.log_mass, both.log_mass + both.place)
    kept = log_larger > -nats - _RARER
    if np.count_nonzero(kept) > _MOST_RUNS:
        raise Unsupported(_TOO_MANY)
    lost = both.lost + _MORE * float(np.sum(np.exp(log_larger[~kept])))
    certain = {"slack": both.slack, "stretch": both.stretch, "error": both.error}
    return PairedValues(both.place[kept], both.log_mass[kept], lost=lost, **certain)
