"""Few samples of little noise: all runs listed by how often every outcome happens, but for those too rare to count.

The loss of n equal steps depends on the numbers m_1, m_2, … of steps with each outcome alone, which have the mass

    n!/(m_1! m_2! …) P_1^m_1 P_2^m_2 …,      and the same under Q.

Outcomes are taken one after another, the rarest first. What is known of a run by then has a mass, too, that of all runs
which begin so; where it is too small under P and under Q they are left out together. `docs/proofs/rare-atoms.md`
proves it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from edgeworth.composition.lattice.enumerated import Enumeration
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues, SampledLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["applies", "are_few", "equal_steps", "listed", "prepared"]

_UNIT = 2.0**-53
_MOST_STEPS = 5_000
_MOST_ALONE, _MOST_OF_A_HALF = 2**17, 2**17  # runs of one list, and of each of two that stand for all pairs
_RARER = 10.0  # nats below what counts, at which runs are left out: there may be thousands of them
_WORK = 1.0  # units for a run that is tried
_MORE = 1 + 1e-9  # for the rounding of small sums
_HALF = -0.7  # less than its logarithm
_UNDERFLOW = 1e-290  # more than all masses that are no doubles
_NO_STEPS = PairedValues(np.zeros(1), np.zeros(1))


class _Atoms(NamedTuple):
    """The outcomes of one step, the rarest first: losses, the logarithms of P-masses, and the error of a loss."""

    loss: Array
    log_mass: Array
    place_error: float

    @property
    def log_rest(self) -> tuple[Array, Array]:
        """The logarithms of the masses of all outcomes from each one on, under P and under Q, each sum from its end."""
        both = (self.log_mass, self.log_mass + self.loss)
        null, alternative = (np.logaddexp.accumulate(logs[::-1])[::-1] for logs in both)
        return null, alternative


class _Runs(NamedTuple):
    """Runs by the numbers of the outcomes taken so far: how many steps are left, their loss, its size, and the mass."""

    left: Array
    place: Array
    size: Array
    log_mass: Array

    def some(self, chosen: NDArray[np.bool_]) -> _Runs:
        """Some of them."""
        return _Runs(*(column[chosen] for column in self))


def applies(total: TotalLoss) -> bool:
    """Whether all steps are equal samples with atoms, and few.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> sample = ew.PoissonSampled(ew.DiscreteGaussian(0.5), rate=1e-3)
    >>> applies(TotalLoss.of(sample**20)), applies(TotalLoss.of(sample**20 * ew.Laplace(1.0)))
    (True, False)
    """
    return len(total.parts) == 1 and _is_sample(*total.parts[0])


def _is_sample(loss: PrivacyLoss, n: int) -> bool:
    return isinstance(loss, SampledLoss) and loss.is_atomic and 0 < n <= _MOST_STEPS


def are_few(loss: PrivacyLoss, n: int) -> bool:
    """Whether these are few samples whose outcomes are finitely many."""
    return _is_sample(loss, n) and all(map(math.isfinite, loss.support))


def _atoms(loss: SampledLoss) -> _Atoms:
    place, log_mass = loss.nodes().held()
    order = np.argsort(np.maximum(log_mass, log_mass + place), kind="stable")
    return _Atoms(place[order], log_mass[order], loss.place_error)


def equal_steps(total: TotalLoss) -> tuple[SampledLoss, int]:
    """The step of such a total, whose outcomes are finitely many, and how often it is taken."""
    loss, n = total.parts[0]
    if not (len(total.parts) == 1 and isinstance(loss, SampledLoss) and are_few(loss, n)):
        raise Unsupported("these are not few equal samples with finitely many atoms")
    return loss, n


def listed(loss: SampledLoss, n: int, nats: float, most: int) -> PairedValues:
    """The runs of n steps, without those whose mass is too small under P and under Q; at most so many."""
    atoms = _atoms(loss)
    null, alternative = atoms.log_rest
    runs, lost = _Runs(np.array([float(n)]), np.zeros(1), np.zeros(1), np.zeros(1)), np.zeros(2)
    for number in range(atoms.loss.size - 1):
        log_after = float(null[number + 1]), float(alternative[number + 1])
        runs, dropped = _taken(runs, atoms, number, log_after, (n, nats, most))
        lost += dropped
    runs = _with(runs, atoms, atoms.loss.size - 1, runs.left)
    order, terms = np.argsort(runs.place, kind="stable"), atoms.loss.size + 8
    stretch = atoms.place_error + terms * _UNIT
    deepest = float(np.max(np.abs(runs.log_mass))) + math.lgamma(n + 2) + 4 * n
    return PairedValues(
        runs.place[order],
        runs.log_mass[order] + math.lgamma(n + 1),
        slack=stretch * float(np.max(runs.size - np.abs(runs.place))) * _MORE,
        stretch=stretch,
        error=8 * terms * _UNIT * deepest + 4 * stretch * float(np.max(runs.size)),
        lost=float(np.max(lost)) * _MORE + _UNDERFLOW,
    )


def _taken(
    runs: _Runs, atoms: _Atoms, number: int, log_after: tuple[float, float], limits: tuple[int, float, int]
) -> tuple[_Runs, Array]:
    """The runs with the number of steps of one more outcome, and at least the masses of those left out."""
    n, nats, most = limits
    kept, dropped, count = [], np.zeros(2), 0
    log_odds = float(atoms.log_mass[number]) - log_after[0]
    log_odds = max(log_odds, log_odds + float(atoms.loss[number]) + log_after[0] - log_after[1])
    for times in range(int(np.max(runs.left)) + 1):
        some = runs.some(runs.left >= times)
        spend(_WORK * some.left.size)
        some = _with(some, atoms, number, np.full(some.left.size, float(times)))
        ways = some.log_mass + math.lgamma(n + 1) - gammaln(some.left + 1)
        null, alternative = ways + some.left * log_after[0], ways + some.place + some.left * log_after[1]
        rare = np.maximum(null, alternative) < -nats - _RARER
        masses = np.array([float(np.sum(np.exp(null[rare]))), float(np.sum(np.exp(alternative[rare])))])
        dropped += masses
        if rare.all() and log_odds + math.log(n / (times + 1)) < _HALF:
            dropped += masses  # of all that would follow: at most half as much each time
            break
        kept.append(some.some(~rare))
        count += kept[-1].left.size
        if count > most:
            raise Unsupported("too many runs of these samples count")
    return _Runs(*(np.concatenate(column) for column in zip(*kept, strict=True))), dropped


def _with(runs: _Runs, atoms: _Atoms, number: int, times: Array) -> _Runs:
    """The runs with one outcome so many times."""
    loss, log_mass = float(atoms.loss[number]), float(atoms.log_mass[number])
    ways = times * log_mass - gammaln(times + 1)
    left, place = runs.left - times, runs.place + times * loss
    return _Runs(left, place, runs.size + times * abs(loss), runs.log_mass + ways)


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, nats: float, lists: int) -> EnumeratedAnswers:
    """The answers of a total loss from one list of all runs, or from two lists of the runs of half of the steps."""
    loss, n = equal_steps(total)
    if lists == 1:
        return EnumeratedAnswers(Enumeration.of_pairs(_NO_STEPS, listed(loss, n, nats, _MOST_ALONE)))
    halves = [listed(loss, steps, nats, _MOST_OF_A_HALF) for steps in (n // 2, n - n // 2)]
    return EnumeratedAnswers(Enumeration.of_pairs(*halves))
