"""Steps that make a narrow heap beside others whose values are few and far apart: one heap around every value.

A line sees all heaps at once: it has to be as long as these are narrow, and as fine as they are far apart. Beside every
value there is the same narrow law, which other engines know by itself.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends, narrow
from edgeworth.composition.contour.one_far import log_one_far
from edgeworth.composition.mixture.answers import by_answers, by_formula, summed
from edgeworth.composition.mixture.atoms import atoms_of
from edgeworth.composition.mixture.formulas import Formula, placed
from edgeworth.composition.mixture.remainder import Remainder
from edgeworth.composition.noisy_lines.step_waves import is_known
from edgeworth.composition.noisy_lines.tilted_sum import Chernoff, TiltedSums
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.rare_atoms.merged_tails import merged
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, ReplacedLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.composition.mixture.answers import Read
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import MergedValues, PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["AroundValues", "Heaps", "around_values", "heaps", "listed_values", "may_list_values"]

_MOST_VALUES = 4_000  # a glance at each of so many is a millisecond
_FAR = 12.0  # standard deviations of a heap, from one value to the next
_HEAVY = 1e-9  # mass of an outcome that counts as one
_UNIT = 2.0**-53
_ULPS = 64 * _UNIT  # of the largest loss, which is a sum of some
_OPEN = 2e-8  # of a reading: what terms that are not read may leave open, where no more digits are asked for
_TOGETHER = 1e-4  # of the term that leaves most open, what the others leave that are read with it
_STEPS = np.append(0.0, np.geomspace(0.1, 2e3, 80))  # standard deviations of a heap, for a glance
_NATS = 30.0, 60.0, 120.0, 300.0  # rarer than e^-these are the outcomes that are merged for a glance
_SLIGHT = np.geomspace(0.1, 100.0, 30)  # tilts for a glance at large losses
_OTHER: dict[Way, Way] = {"forward": "backward", "backward": "forward"}
_LEAST_LOG = -700.0  # of a bound far out: what is less would underflow
_NOTHING = 1e-300  # of a reading, below which numbers may underflow


class Heaps(NamedTuple):
    """The steps of a heap, and all values around which there is one."""

    heap: TotalLoss
    values: MergedValues


@lru_cache(maxsize=8)
def heaps(total: TotalLoss) -> Heaps | None:
    """The steps whose values are far apart beside all others; None where there are none, or too many values.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.DiscreteGaussian(3.0), rate=0.001)
    >>> heaps(TotalLoss.of(sample**50 * ew.RandomizedResponse(1.5) ** 2)).values.place.round(9).tolist()
    [-3.0, 0.0, 3.0]
    >>> heaps(TotalLoss.of(sample**50 * ew.Laplace(1.0) * ew.RandomizedResponse(1.5))) is None
    True
    """
    parts = sorted((part for part in total.parts if part[1] > 0), key=lambda part: -_apart(part[0]))
    for cut in range(len(parts) - 1, 0, -1):
        far, near = (TotalLoss(tuple(some), is_finite=True) for some in (parts[:cut], parts[cut:]))
        if _can_be_read(near) and _apart(parts[cut - 1][0]) > _FAR * _spread(near):
            values = atoms_of(far, _MOST_VALUES)
            return None if values is None else Heaps(near, values)
    return None


@lru_cache(maxsize=8)
def listed_values(total: TotalLoss) -> Heaps | None:
    """All steps that are no samples and take few values, as many as can be listed, beside the others, however wide.

    >>> import edgeworth as ew
    >>> run = ew.Laplace(1.0) ** 9 * ew.RandomizedResponse(1.5) ** 2 * ew.DiscreteLaplace(9.0) ** 10**6
    >>> found = listed_values(TotalLoss.of(run))
    >>> found.values.place.round(9).tolist(), len(found.heap.parts)
    ([-3.0, 0.0, 3.0], 2)
    """
    parts = [part for part in total.parts if part[1] > 0]
    listed = sorted((part for part in parts if _takes_few_values(part[0])), key=lambda part: -_apart(part[0]))
    others = [part for part in parts if not _takes_few_values(part[0])]
    for cut in range(len(listed), 0, -1) if others else ():
        rest = TotalLoss((*others, *listed[cut:]), is_finite=True)
        values = atoms_of(TotalLoss(tuple(listed[:cut]), is_finite=True), _MOST_VALUES)
        if values is not None:
            return Heaps(rest, values) if _spread(rest) > 0 else None
    return None


def may_list_values(total: TotalLoss) -> bool:
    """Whether there are such steps and others: nothing is listed to find that out."""
    return len({_takes_few_values(loss) for loss, n in total.parts if n > 0}) > 1


def _takes_few_values(loss: PrivacyLoss) -> bool:
    return loss.is_atomic and not isinstance(loss, SampledLoss | ReplacedLoss)


def _can_be_read(heap: TotalLoss) -> bool:
    """Whether all steps are of kinds that others answer for; one step with atoms is a list of values itself."""
    alone = sum(n for _, n in heap.parts) == 1 and heap.parts[0][0].is_atomic
    return not alone and all(is_known(loss) or _is_gaussian(loss) for loss, _ in heap.parts)


def _is_gaussian(loss: PrivacyLoss) -> bool:
    return isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss)


def _apart(loss: PrivacyLoss) -> float:
    """The least distance of two values that count; 0 for noise."""
    if not loss.is_atomic:
        return 0.0
    place, log_mass = loss.nodes().held()
    counts = np.exp(np.maximum(log_mass, log_mass + place)) > _HEAVY
    return float(np.min(np.diff(np.sort(place[counts])), initial=math.inf)) if np.count_nonzero(counts) > 1 else 0.0


def _spread(total: TotalLoss) -> float:
    """The larger standard deviation of the loss under P and under Q."""
    cumulants = total.cumulants(2)
    return math.sqrt(max(float(cumulants.null[1]), float(cumulants.alternative[1])))


def around_values(
    total: TotalLoss, answers: Callable[[TotalLoss], Answers], found: Heaps | None = None, fine: float = _OPEN
) -> AroundValues:
    """The answers of a total; those of a heap are given, if it has no formula. What is no heap has to be `found`.

    A reading is made at least as narrow as `fine`, if those of the heap are.
    """
    found = heaps(total) if found is None else found
    if found is None:
        raise Unsupported("these are not steps whose values are few and far apart beside others")
    read = by_formula(Formula(found.heap)) if _has_formula(found.heap) else by_answers(answers(found.heap))
    return AroundValues(total, found, read, min(fine, _OPEN))


def _has_formula(heap: TotalLoss) -> bool:
    """Whether the heap is one step with noise, or Gaussian noise in any number of them."""
    if all(isinstance(loss, GaussianLoss) for loss, _ in heap.parts):
        return True
    return sum(n for _, n in heap.parts) == 1 and not heap.parts[0][0].is_atomic


class AroundValues(ProfileAlone):
    """Ends of delta from the profile of one heap: that takes long, and is read where Chernoff leaves most open.

    `remainder` has digits of 1 - delta, of which a small f is made.
    """

    def __init__(self, total: TotalLoss, found: Heaps, read: Read, open_: float = _OPEN) -> None:
        """`read`: the profile of the heap; `open_`: of a reading, what terms that are not read may leave open."""
        super().__init__(total)
        self._values, self._read, self._glance = found.values, read, _at_a_glance(found.heap)
        self._open = open_
        self.remainder = Remainder(self._values, self._glance, self._read)

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """Ends of delta: the sum over all values."""
        place, room, mass = placed(self._values, side, epsilon)
        ends = self._glance(side, place, room)
        unread = np.ones(place.size, dtype=bool)
        while True:
            gap = np.where(unread, mass * (ends.upper - ends.lower), 0.0)
            if float(np.sum(gap)) <= max(self._open * float(mass @ ends.lower), _NOTHING):
                break
            asked = gap >= _TOGETHER * float(np.max(gap))
            narrow(ends, np.flatnonzero(asked), self._read(side, place[asked], room[asked]))
            unread &= ~asked
        return summed(self._values, mass, ends, epsilon)


def _at_a_glance(heap: TotalLoss) -> Read:
    if all(is_known(loss) for loss, _ in heap.parts):
        return _by_chernoff(heap)
    return _by_steps(heap, moments.prepared(heap), _spread(heap))


def _by_steps(heap: TotalLoss, quick: Answers, spread: float) -> Read:
    """The profile of quick answers at some places, each of which says at most what it is to the right of it.

    Far out, of samples of Gaussian noise, what one loss that is far out says. Left of 0 the profile is 1 - e^t, and e^t
    times that of the other direction at -t.
    """
    places = spread * _STEPS
    known = cache(lambda side: np.minimum.accumulate(quick.delta(side, places).upper))

    def most(side: Way, t: Array) -> Array:
        near = known(side)[np.searchsorted(places, t, side="right") - 1]
        log_far = log_one_far(heap, side, t)
        far = np.where(log_far == -math.inf, 0.0, np.exp(np.clip(log_far, _LEAST_LOG, 0.0)))
        return np.asarray(np.minimum(near, far))

    def read(side: Way, t: Array, room: Array) -> Ends:
        right, left = t + room, t - room
        least = -np.expm1(np.minimum(right, 0.0)) * (1 - 4 * _UNIT)
        excess = np.empty(t.size)
        ahead = left >= 0
        excess[ahead] = most(side, left[ahead])
        excess[~ahead] = np.exp(left[~ahead]) * most(_OTHER[side], -left[~ahead]) * (1 + 4 * _UNIT)
        return Ends(least, np.minimum(-np.expm1(np.minimum(left, 0.0)) * (1 + 4 * _UNIT) + excess, 1.0))

    return read


def _by_chernoff(total: TotalLoss) -> Read:
    """The profile of a total is at least (1 - e^t)_+, and at most what Chernoff adds to that.

    Beyond the largest loss, and below the least, nothing is added. Without the farthest outcomes of discrete noise
    steeper tilts say more, and what these weigh is added.
    """
    laws = [merged(total, nats) for nats in _NATS]
    largest = {"forward": total.support[1] * (1 + _ULPS), "backward": -total.support[0] * (1 + _ULPS)}
    lost = [{"forward": law.alternative, "backward": law.null} for law in laws]
    bounds = [Chernoff(TiltedSums(law.total), _SLIGHT) for law in laws]

    def read(side: Way, t: Array, room: Array) -> Ends:
        right, left = t + room, t - room
        least = -np.expm1(np.minimum(right, 0.0)) * (1 - 4 * _UNIT)
        excess = np.min([one.excess(side, left) + more[side] for one, more in zip(bounds, lost, strict=True)], axis=0)
        excess[(left > largest[side]) | (right < -largest[_OTHER[side]])] = 0.0
        return Ends(least, np.minimum(-np.expm1(np.minimum(left, 0.0)) * (1 + 4 * _UNIT) + excess, 1.0))

    return read
