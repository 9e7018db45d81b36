"""The ladder of thresholds: fixed by the law alone, so one argument gives the same bits in every company.

Rungs are prepared when they are first asked for and kept. Rough rungs find the place of a root, and one fine rung
encloses it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.lattice.plan import Goal, common_step
from edgeworth.composition.lattice.refine import prepare, refined
from edgeworth.composition.work import spent
from edgeworth.errors import ComputationFailed
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.lattice.rung import Rung
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

    _Name = tuple[Kind, int, float | None]

__all__ = ["FINE", "LONGEST_STRIDE", "ROUNDING", "Ladder", "keep"]

FINE = 4e-7  # the relative width that rungs aim at where nothing else is asked for …
_TESTS = 0.125  # … and of that where f is a difference
ROUNDING = 1e-15
_MOST_RUNGS = 120  # on either side of the middle: up to 2e8 standard deviations from it, or 2e-12 of the way to an end
LONGEST_STRIDE = 8  # rungs: three times the distance from the middle, or a sixth of that from an end
_LEAST_SPREAD = 1e-6  # of how far the alternative lies, so that the rungs reach it where the null law has next to none
_FARTHEST = 1e12
_GROWTH = 0.15  # rungs are a standard deviation long in the middle, and 16 % of the distance from it far out
_NEARER = 0.2  # of the distance to the end of the support, the longest rung there
_MOST_KEPT = 24  # rungs, rough and fine
MOST_WORK = 4e7  # for one reading in one direction, two or three seconds; more where laws may have more points
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def keep(kept: dict[_Key, _Value], key: _Key, value: _Value, most: int = _MOST_KEPT) -> None:
    """Remember a value, and forget the oldest when there are too many: a fine rung takes some megabytes."""
    while len(kept) >= most:
        del kept[next(iter(kept))]
    kept[key] = value


class Ladder:
    """The rungs of a total loss, numbered outwards from its middle: from 0 on to the right.

    A reading has so much work to spend: when it is spent, rough rungs are refined no more, and no new ones are made.
    """

    def __init__(self, total: TotalLoss, fine: float = FINE, *, patient: bool = False) -> None:
        self.total, self.fine, self.fine_test, self._patient = total, fine, _TESTS * fine, patient
        self.parts = tuple((loss, n) for loss, n in total.parts if loss.support != (0.0, 0.0) and n > 0)
        cumulants = total.cumulants(2)
        far = abs(float(cumulants.alternative[0])) + math.sqrt(max(float(cumulants.alternative[1]), 0.0))
        self.spread = max(math.sqrt(max(float(cumulants.null[1]), 1e-300)), _LEAST_SPREAD * min(far, _FARTHEST))
        self.middle = 0.5 * float(cumulants.null[0] + cumulants.alternative[0])
        smooth = any(isinstance(loss, SampledLoss) and not loss.is_atomic for loss, _ in self.parts)
        self.exact = common_step(self.parts)[1]
        left = self._side(-1.0, total.support[0] if smooth else -math.inf)
        right = self._side(1.0, math.inf if self.exact else total.support[1])
        self._thresholds = np.array([*left[:0:-1], *right])
        self._rungs: dict[_Name, tuple[Rung, float]] = {}
        self.moments = moments.prepared(total)
        self._paid: set[_Name] = set()
        self._left = self._most = (2 if patient else 1) * MOST_WORK

    def _side(self, sign: float, end: float) -> list[float]:
        """Thresholds from the middle outwards: a standard deviation apart at first, then in geometric steps.

        The steps grow away from the middle, and shrink towards an end of the support that is no atom.
        """
        made = [self.middle]
        for number in range(_MOST_RUNGS):
            step = self.spread * (math.sinh(_GROWTH * (number + 1)) - math.sinh(_GROWTH * number)) / _GROWTH
            made.append(made[-1] + sign * min(step, _NEARER * abs(end - made[-1])))
        return made

    def threshold(self, number: int) -> float:
        """Where the rung of that number begins."""
        return float(self._thresholds[number + _MOST_RUNGS])

    def number(self, t: float) -> int:
        """The number of the rung of a threshold."""
        place = int(np.searchsorted(self._thresholds, t, side="right")) - 1 - _MOST_RUNGS
        return max(-_MOST_RUNGS, min(_MOST_RUNGS - 1, place))

    def has(self, number: int) -> bool:
        """Whether there is a rung of that number."""
        return -_MOST_RUNGS <= number < _MOST_RUNGS

    def rung(self, kind: Kind, number: int, width: float | None) -> Rung:
        """The rung of that number, made when it is first asked for; a rough one, of no width, shows where a root is."""
        key = kind, number, width
        if self._left <= 0 and key not in self._paid:
            if width is not None:
                return self.rung(kind, number, None)
            raise ComputationFailed("the lattice takes too long for this reading; use another method")
        rough = None if width is None else self.rung(kind, number, None)
        if rough is not None and self._left <= 0 and key not in self._paid:
            return rough
        if key not in self._rungs:
            before = spent()
            made = self._rough(kind, number) if rough is None or width is None else refined(rough, width)
            keep(self._rungs, key, (made, spent() - before))
        made, cost = self._rungs[key]
        if key not in self._paid:
            self._paid.add(key)
            self._left -= cost
        return made

    def _rough(self, kind: Kind, number: int) -> Rung:
        goal = Goal(kind, self.threshold(number), self.threshold(number + 1), self.fine, self._patient)
        return prepare(self.parts, goal, self.spread)

    def refill(self) -> None:
        """A new reading begins, and may take as much work as any other.

        It pays for every rung that it uses, even if that is known: it ends alike in every company.
        """
        self._paid.clear()
        self._left = self._most

    def read(self, kind: Kind, t: Array, width: float | None) -> Ends:
        """Ends of one kind of reading at every t, rung by rung; beyond the last one nothing is known."""
        numbers = np.array([self.number(x) for x in t.tolist()], dtype=int)
        lower, upper = np.zeros(t.size), np.ones(t.size)
        reached = (t >= self._thresholds[0]) & (t <= self._thresholds[-1])
        for number in np.unique(numbers[reached]):
            mine = (numbers == number) & reached
            lower[mine], upper[mine] = self.rung(kind, int(number), width).ends(t[mine])
        return Ends(lower, upper)
