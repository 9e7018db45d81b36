"""Certified ends of delta and epsilon of one step or two beside few-valued ones, of more samples, or of a lattice.

Beside losses l_j with masses p_j under P and q_j under Q, the profile of all is a mixture of that of the others,

    delta(eps) = sum of q_j delta_S(eps - l_j),    delta'(eps) = sum of p_j delta'_S(eps + l_j).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends, narrow
from edgeworth.composition.mixture.formulas import placed
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.work import to_the_end

if TYPE_CHECKING:
    from typing import Protocol

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Answers
    from edgeworth.composition.mixture.formulas import Formula, Mixed
    from edgeworth.composition.mixture.integrated import Integrated
    from edgeworth.composition.mixture.remainder import Remainder
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import MergedValues, TotalLoss
    from edgeworth.losses.law import Array

    class Read(Protocol):
        """Ends of the profile of the others, at all that is within `room` of some places."""

        def __call__(self, side: Way, t: Array, room: Array) -> Ends: ...


__all__ = ["Aim", "Beside", "LatticeBeside", "OneBeside", "Pair", "by_answers", "by_formula", "summed"]

_UNIT = 2.0**-53
_MOST_ASKED = 24  # places at a time
_OPEN = 0.25  # of what is aimed at: what may be left open by terms that are not read again
_TOO_SMALL = 1e-31  # a delta of which no more digits are asked for


class OneBeside(ProfileAlone):
    """One formula beside few-valued steps."""

    CLOSE = 1e-13  #: nine digits of a small epsilon are worth another sum

    def __init__(self, total: TotalLoss, mixed: Mixed, remainder: Remainder | None = None) -> None:
        super().__init__(total)
        self._mixed, self.remainder = mixed, remainder

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta: a sum of formulas."""
        lower, upper = self._mixed.at(side, epsilon)
        return max(lower, -math.expm1(min(epsilon, 0.0)) * (1 - 4 * _UNIT)), upper


class Pair(ProfileAlone):
    """Two steps."""

    def __init__(self, total: TotalLoss, integrated: Integrated, aim: float, quick: ProfileAlone | None = None) -> None:
        super().__init__(total, quick)
        self._integrated, self._aim = integrated, aim

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta: the formula of one step integrated over the other."""
        return self._integrated.at(side, epsilon, self._aim)


class Aim(NamedTuple):
    """How much of a reading may be left open, as a share of it or as such: whichever is more."""

    relative: float
    absolute: float = 0.0


class Beside(ProfileAlone):
    """Steps of which a coarse and a fine profile are known beside few-valued ones.

    The fine one takes time, and is asked for where the coarse one leaves most open.
    """

    def __init__(
        self,
        total: TotalLoss,
        atoms: MergedValues,
        profiles: tuple[Read, Read],
        aim: Aim,
        quick: ProfileAlone | None = None,
    ) -> None:
        super().__init__(total, quick)
        self._atoms, self._aim = atoms, aim
        self._coarse, self._fine = profiles

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta: the sum over all values."""
        place, room, mass = placed(self._atoms, side, epsilon)
        ends = self._coarse(side, place, room)
        asked = self._wide(mass, ends)
        if asked.size:
            narrow(ends, asked, self._fine(side, place[asked], room[asked]))
        return summed(self._atoms, mass, ends, epsilon)

    def _wide(self, mass: Array, ends: Ends) -> NDArray[np.intp]:
        """The terms that leave most open, so many that the others leave next to nothing."""
        gap, whole = mass * (ends.upper - ends.lower), float(mass @ ends.upper)
        order = np.argsort(-gap, kind="stable")
        left = np.cumsum(gap[order][::-1])[::-1]
        most = max(_OPEN * self._aim.relative * float(mass @ ends.lower), self._aim.absolute)
        needed = int(np.count_nonzero(left > most))
        return order[: min(needed, _MOST_ASKED)] if whole > _TOO_SMALL else order[:0]


class LatticeBeside(ProfileAlone):
    """Steps of one lattice, whose profile is quick to read, beside few-valued ones."""

    def __init__(self, total: TotalLoss, atoms: MergedValues, read: Read) -> None:
        super().__init__(total)
        self._atoms, self._read = atoms, read

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta: the sum over all values."""
        place, room, mass = placed(self._atoms, side, epsilon)
        return summed(self._atoms, mass, self._read(side, place, room), epsilon)


def summed(atoms: MergedValues, mass: Array, ends: Ends, epsilon: float) -> tuple[float, float]:
    """Ends of the sum over all values of mass times a term, which is at least 1 - e^eps."""
    error = atoms.error + (mass.size + 4) * _UNIT
    low, high = float(mass @ ends.lower) * (1 - error), float(mass @ ends.upper) * (1 + error) + atoms.lost
    return max(low, -math.expm1(min(epsilon, 0.0)) * (1 - 4 * _UNIT)), min(high, 1.0)


def by_answers(answers: Answers) -> Read:
    """The profile of an engine: it does not rise, so both sides of the room bound it."""

    def read(side: Way, t: Array, room: Array) -> Ends:
        with to_the_end():
            lower, upper = answers.delta(side, np.concatenate([t + room, t - room]))
        return Ends(lower[: t.size].copy(), upper[t.size :].copy())

    return read


def by_formula(formula: Formula) -> Read:
    """The profile of a step that has a formula."""

    def read(side: Way, t: Array, room: Array) -> Ends:
        return Ends(formula.lower(side, t + room), formula.upper(side, t - room))

    return read
