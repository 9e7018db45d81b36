"""Very many rare samples of noise with atoms: runs sorted by the outcomes that move the whole sum alone.

The loss of such a sum is a narrow bulk with rare jumps, too heavy-tailed for any one tilt. The jumps have few values,
so that the profile is a mixture of that of the bulk: of n - k steps that do not jump, beside all values of k that do,

    delta(eps) = sum over k and values v of  q_k(v) delta_(n-k)(eps - v),

and the same backward. What is rarer than counts is dropped. `docs/proofs/rare-atoms.md` proves it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard

import numpy as np

from edgeworth.composition import noisy_lines
from edgeworth.composition.answered import Ends, narrow
from edgeworth.composition.mixture.formulas import placed
from edgeworth.composition.noisy_lines.tilted_sum import Chernoff, TiltedSums
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.rare_atoms.merged_tails import NATS
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported
from edgeworth.losses import MergedValues, SampledLoss, TotalLoss
from edgeworth.losses.atomic import MovedAtoms

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Direction
    from edgeworth.composition.profile_alone import Way
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["Bulk", "JumpingAtoms", "Jumps", "Split", "applies", "are_few", "bulk_without", "prepared"]

_UNIT = 2.0**-53
_MOST_JUMPS, _MOST_VALUES = (12, 8, 5, 3), 4_000  # as many jumps as leave few enough values are tried
_MOST_SORTED = 40  # jumps, more of which are never asked for
_SMALL_RATE = 0.03  # above it far outcomes are part of the bulk
_FEWEST_NATS, _FEWEST_ATOMS = 40.0, 2  # of |phi| at most frequencies, and in a bulk
_MOST_IN_THE_MEAN = 3.0  # jumps, above which they are part of the bulk
_FAR = 4.0  # tilts times a loss, from which on it is far from the bulk
_SHARE = 0.3  # of the variance of the bulk, which the farthest of its atoms may have when tilted
_RARER = 12.0  # nats below the rarest runs that count, at which values of jumps are dropped
_NEGLIGIBLE = 0.1  # of what lines aim at, relative to a reading: what is not read closer
_LEAST = 1e-300  # the same of numbers that may underflow
_TOGETHER = 1e-4  # of the term that leaves most open, what the others leave that are read with it
_WORK = 25.0  # units of it for a value
_MORE = 1 + 1e-9  # for the rounding of small sums


class Split(NamedTuple):
    """Which part jumps, and how many of its atoms, from the least loss on, do not."""

    part: int
    kept: int


def applies(total: TotalLoss) -> bool:
    """Whether one kind of step is a sample with atoms at a small rate, of which there are enough to be smooth.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.DiscreteGaussian(1.0), rate=1e-5)
    >>> applies(TotalLoss.of(sample**100)), applies(TotalLoss.of(sample**2))
    (True, False)
    """
    nats = [-n * math.log(float(np.max(loss.atoms.null))) for loss, n in total.parts if _may_jump(loss) and loss.atoms]
    return len(nats) == 1 and nats[0] >= _FEWEST_NATS and noisy_lines.applies(total)


def _may_jump(loss: PrivacyLoss) -> TypeGuard[SampledLoss]:
    return isinstance(loss, SampledLoss) and loss.is_atomic and loss.rate < _SMALL_RATE


def are_few(total: TotalLoss, nats: float) -> bool:
    """Whether all outcomes that are heavy at the tilt of a reading are so rare that few of them are sorted."""
    if not applies(total):
        return False
    split = _split(total, nats, 0)
    return split is None or Jumps(*_jumping(total, split)).likely(nats) <= _MOST_JUMPS[0]


def _split(total: TotalLoss, nats: float, most: int) -> Split | None:
    """The part that jumps, and as few of its atoms as are heavy, or as leave up to `most` jumps if that is not 0."""
    number, (loss, n) = next((number, part) for number, part in enumerate(total.parts) if _may_jump(part[0]))
    assert isinstance(loss, SampledLoss)
    assert loss.atoms is not None
    kept, size = _kept(loss, n, nats), loss.atoms.loss.size
    if kept < size and Jumps(loss, n, kept).mean > _MOST_IN_THE_MEAN:
        return None
    while most > 0 and kept < size and Jumps(loss, n, kept).likely(nats) > min(most, n):
        kept += 1
    return Split(number, kept) if kept < size else None


def _jumping(total: TotalLoss, split: Split) -> tuple[SampledLoss, int, int]:
    loss, n = total.parts[split.part]
    assert isinstance(loss, SampledLoss)
    return loss, n, split.kept


def _kept(loss: SampledLoss, n: int, nats: float) -> int:
    """How many atoms make a bulk of which none is heavy at the tilt of a reading, sqrt(2 depth) over its deviation."""
    atoms = loss.atoms
    assert atoms is not None
    variance = np.cumsum(n * atoms.null * atoms.loss**2)
    tilt = math.sqrt(2 * (nats - NATS)) / np.sqrt(np.maximum(variance, 1e-300))
    with np.errstate(divide="ignore"):
        log_heavy = np.log(n * atoms.null) + tilt * atoms.loss + 2 * np.log(np.abs(atoms.loss)) - np.log(variance)
    far = (tilt * atoms.loss > _FAR) & (log_heavy > math.log(_SHARE))
    return max(int(np.argmax(far)), _FEWEST_ATOMS) if far.any() else atoms.loss.size


class Jumps:
    """The atoms of one of n steps that jump, and the masses of all of them."""

    def __init__(self, loss: SampledLoss, n: int, kept: int) -> None:
        atoms = loss.atoms
        assert atoms is not None
        self._n, place = n, atoms.loss[kept:]
        self.null, self.alternative = (math.fsum(mass[kept:].tolist()) for mass in (atoms.null, atoms.alternative))
        slack = loss.place_error * float(np.max(np.abs(place), initial=0.0))
        self.values = MergedValues(place, atoms.null[kept:], atoms.alternative[kept:], slack=slack, error=64 * _UNIT)

    @property
    def mean(self) -> float:
        """At least how many of the steps jump in the mean."""
        return self._n * max(self.null, self.alternative)

    def likely(self, nats: float, most: int = _MOST_JUMPS[0]) -> int:
        """More jumps than so many are rarer than e^-nats: at most (n a)^m/m!, a the mass of one jump; or `most` + 1."""
        log_mean = math.log(max(self.mean, 1e-300))
        rare = [(m + 1) * log_mean - math.lgamma(m + 2) < -nats for m in range(most + 1)]
        return int(np.argmax(rare)) if any(rare) else most + 1

    def rest(self, most: int) -> tuple[float, float]:
        """At least the masses of runs with more jumps, under P and under Q."""
        ways = (most + 1) * math.log(self._n) - math.lgamma(most + 2)
        null, alternative = (ways + (most + 1) * math.log(max(mass, 1e-300)) for mass in (self.null, self.alternative))
        return math.exp(null) * _MORE, math.exp(alternative) * _MORE

    def of_bulk(self) -> tuple[float, float]:
        """Logarithms of the masses of an outcome that does not jump, under P and under Q."""
        return math.log1p(-self.null), math.log1p(-self.alternative)


def bulk_without(total: TotalLoss, split: Split, jumps: int) -> TotalLoss:
    """All but so many steps that jump, given that no other does."""
    loss, n, _ = _jumping(total, split)
    atoms = loss.atoms
    assert atoms is not None
    null, alternative = Jumps(loss, n, split.kept).of_bulk()
    place = atoms.loss[: split.kept]
    off = loss.place_error * np.abs(place) + 4 * _UNIT * np.abs(place) + 32 * _UNIT * (abs(alternative) + abs(null))
    one = MovedAtoms(
        place - (alternative - null),
        atoms.null[: split.kept] * math.exp(-null),
        atoms.alternative[: split.kept] * math.exp(-alternative),
        off=off,
    )
    parts = [part for number, part in enumerate(total.parts) if number != split.part]
    return TotalLoss((*parts, (one, n - jumps)), is_finite=True)


class Bulk(Protocol):
    """The steps that do not jump, together."""

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of their profile."""


class _Nothing:
    """No steps at all, whose profile is (1 - e^t)_+."""

    def delta(self, direction: Direction, epsilon: Array) -> Ends:  # noqa: ARG002 - the same in both
        """Ends of it."""
        value = -np.expm1(np.minimum(epsilon, 0.0))
        return Ends(value * (1 - 4 * _UNIT), value * (1 + 4 * _UNIT))

    def excess(self, direction: Direction, t: Array) -> Array:  # noqa: ARG002 - idem
        """What it is more than that."""
        return np.zeros(t.size)


class _Runs(NamedTuple):
    """All runs with so many jumps: the values of these, with all other masses, and the steps that do not jump."""

    values: MergedValues
    bulk: Bulk
    chernoff: Chernoff | _Nothing


class JumpingAtoms(ProfileAlone):
    """Ends of delta, from which f follows; `nats` is so deep that what is rarer is of no account."""

    def __init__(
        self,
        total: TotalLoss,
        split: Split,
        depth: tuple[float, float],
        bulk_of: Callable[[TotalLoss], Bulk],
        quick: ProfileAlone | None = None,
    ) -> None:
        """`depth`: the nats, and what share of a reading is of no account."""
        super().__init__(total, quick)
        self.split = split
        nats, self._negligible = depth
        n, jumps = total.parts[split.part][1], Jumps(*_jumping(total, split))
        most = min(jumps.likely(nats, _MOST_SORTED), n)
        self._runs, self._dropped = [], np.array(jumps.rest(most)) if most < n else np.zeros(2)
        values = MergedValues(np.zeros(1), np.ones(1), np.ones(1))
        for k in range(most + 1):
            weighed, bulk = _weighed(values, jumps.of_bulk(), n, k), bulk_without(total, split, k)
            others = TotalLoss(tuple(part for part in bulk.parts if part[1] > 0), is_finite=True)
            known = bool(others.parts)
            self._runs.append(_Runs(weighed, bulk_of(bulk), Chernoff(TiltedSums(others))) if known else _all(weighed))
            if k < most:
                values, dropped = _without_rare(values.times(jumps.values), n, k + 1, nats)
                self._dropped += dropped

    def surely_reached(self, direction: Direction, epsilon: float, delta: float) -> bool:
        """By quicker answers, or by its own."""
        if self._quick is not None and self._quick.surely_reached(direction, epsilon, delta):
            return True
        return super().surely_reached(direction, epsilon, delta)

    def at(self, side: Way, epsilon: float) -> tuple[float, float]:
        """The mixture over all values of jumps; lines are read where Chernoff's inequality leaves more than counts."""
        dropped = float(self._dropped[1 if side == "forward" else 0])
        spend(_WORK * sum(runs.values.place.size for runs in self._runs))
        terms = [_Terms(side, epsilon, runs) for runs in self._runs]
        gaps = [term.gap for term in terms]
        while True:
            most, number = max((float(np.max(gap)), number) for number, gap in enumerate(gaps))
            lower, left = math.fsum(term.lower for term in terms), math.fsum(float(np.sum(gap)) for gap in gaps)
            if left <= max(self._negligible * lower, dropped) or most <= _LEAST:
                break
            terms[number].read(gaps[number] >= _TOGETHER * most)
            gaps = [term.gap for term in terms]
        upper = math.fsum(term.upper for term in terms) + dropped
        return max(lower, -math.expm1(min(epsilon, 0.0)) * (1 - 4 * _UNIT)), min(upper * (1 + 16 * _UNIT), 1.0)


class _Terms:
    """The terms of all runs with so many jumps at one eps, as far as they are known."""

    def __init__(self, side: Way, epsilon: float, runs: _Runs) -> None:
        self._side: Way = side
        self._runs, values = runs, runs.values
        self._place, self._room, self._mass = placed(values, side, epsilon)
        right, left = self._place + self._room, self._place - self._room
        least = -np.expm1(np.minimum(right, 0.0)) * (1 - 4 * _UNIT)
        most = -np.expm1(np.minimum(left, 0.0)) * (1 + 4 * _UNIT) + runs.chernoff.excess(side, left)
        self._ends, self._is_read = Ends(least, np.minimum(most, 1.0)), np.zeros(least.size, dtype=bool)
        self._error = values.error + (least.size + 8) * _UNIT

    @property
    def gap(self) -> Array:
        """What every term leaves open; of those that are read nothing can be done about it."""
        return np.where(self._is_read, 0.0, self._mass * (self._ends.upper - self._ends.lower))

    @property
    def lower(self) -> float:
        """At most the sum of all terms."""
        return float(self._mass @ self._ends.lower) * (1 - self._error)

    @property
    def upper(self) -> float:
        """At least the sum of all terms, and of what was left out."""
        return float(self._mass @ self._ends.upper) * (1 + self._error) + self._runs.values.lost

    def read(self, some: NDArray[np.bool_]) -> None:
        """Read lines for some of the terms."""
        place, room = self._place[some], self._room[some]
        ends = self._runs.bulk.delta(self._side, np.concatenate([place + room, place - room]))
        narrow(self._ends, np.flatnonzero(some), Ends(ends.lower[: place.size], ends.upper[place.size :]))
        self._is_read |= some


def _all(values: MergedValues) -> _Runs:
    """The runs of which every step jumps, and nothing is beside them."""
    return _Runs(values, _Nothing(), _Nothing())


def _weighed(values: MergedValues, log_bulk: tuple[float, float], n: int, k: int) -> MergedValues:
    """The values of k jumps, moved by what the others add, with the masses of all runs that have them."""
    null, alternative = log_bulk
    ways = math.fsum(math.log1p(-j / n) for j in range(k)) + k * math.log(n) - math.lgamma(k + 1)
    weights = [math.exp(ways + (n - k) * log) for log in (null, alternative)]
    shift = (n - k) * (alternative - null)
    size = (n - k) * (abs(null) + abs(alternative))
    error = values.error + 64 * _UNIT * (4 + size + k * math.log(n) + math.lgamma(k + 1))
    slack = values.slack + 64 * _UNIT * size + 4 * _UNIT * float(np.max(np.abs(values.place)))
    place, masses = values.place + shift, (values.null * weights[0], values.alternative * weights[1])
    return MergedValues(place, *masses, slack=slack, error=error, lost=values.lost)


def _without_rare(values: MergedValues, n: int, k: int, nats: float) -> tuple[MergedValues, Array]:
    """The values of k jumps that are not too rare among n steps, and at least the masses of the others."""
    ways = math.exp(k * math.log(n) - math.lgamma(k + 1))
    kept = np.maximum(values.null, values.alternative) * ways > math.exp(-nats - _RARER)
    if np.count_nonzero(kept) > _MOST_VALUES:
        raise Unsupported("too many values of jumps count")
    dropped = ways * _MORE * np.array([float(np.sum(values.null[~kept])), float(np.sum(values.alternative[~kept]))])
    some = values.place[kept], values.null[kept], values.alternative[kept]
    return MergedValues(*some, slack=values.slack, error=values.error), dropped + ways * values.lost


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, nats: float, fine: float) -> JumpingAtoms | None:
    """The answers of a total loss, the last few of which are kept; None where nothing jumps, or too much does."""
    if not applies(total):
        return None
    for most in _MOST_JUMPS:
        split = _split(total, nats, most)
        if split is None:
            return None
        with suppress(Unsupported):
            depth = nats, _NEGLIGIBLE * fine
            return JumpingAtoms(total, split, depth, lambda bulk: noisy_lines.prepared(bulk, fine))
    return None
