"""Samples of discrete Gaussian noise without its farthest outcomes: merged, with what that may change added.

A tilt that suits the loss of very many rare samples makes outcomes heavy that have next to no mass, and more of them
the steeper it is. Merging outcomes is post-processing: it lowers delta, by at most the mass of all runs with such an
outcome. `docs/proofs/rare-atoms.md` proves it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.work import WorkSpent
from edgeworth.errors import Unsupported
from edgeworth.losses import DiscreteGaussianLoss, SampledLoss, TotalLoss
from edgeworth.losses.atomic import AtomicLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["FEW_SAMPLES", "NATS", "Levels", "MergedTails", "applies", "merged"]

NATS = 23.0  # below a reading, what is merged is of no account: e^-23 = 1e-10
_MOST_DECIMALS = 4000  # atoms in decimal arithmetic: a fifth of a second
_NOT_LISTED = math.exp(-690.0)  # at least what a law leaves out, in one step
_LEAST_KNOWN = 1e-4  # of the upper end of a delta that is not known well, at what it is taken for
_ROUNDING = 2.0**-51
_MORE = 1 + 1e-9  # for the rounding of small sums


class Merged(NamedTuple):
    """A total without its farthest outcomes, and at least the masses of the runs that have one, under P and under Q."""

    total: TotalLoss
    null: float
    alternative: float


def applies(total: TotalLoss) -> bool:
    """Whether there are samples with atoms, of which those of discrete Gaussian noise have endlessly many.

    >>> import edgeworth as ew
    >>> applies(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(2.0), rate=1e-4) ** 100))
    True
    >>> applies(TotalLoss.of(ew.DiscreteGaussian(2.0) ** 100))
    False
    """
    return total.is_exact and any(isinstance(loss, SampledLoss) and loss.is_atomic for loss, _ in total.parts)


@lru_cache(maxsize=8)
def merged(total: TotalLoss, nats: float) -> Merged:
    """The total with all outcomes beyond merged on either side, which happen in less than e^-nats of all runs."""
    parts: list[tuple[PrivacyLoss, int]] = []
    null = alternative = 0.0
    for loss, n in total.parts:
        if isinstance(loss, SampledLoss) and isinstance(loss.base, DiscreteGaussianLoss):
            base, lost_null, lost_alternative = _merged_base(loss.base, nats + math.log(n * len(total.parts)))
            parts.append((SampledLoss(base, loss.rate), n))
            null += n * (lost_null + _NOT_LISTED)
            alternative += n * ((1 - loss.rate) * lost_null + loss.rate * lost_alternative + _NOT_LISTED)
        else:
            parts.append((loss, n))
    return Merged(TotalLoss(tuple(parts), is_finite=total.is_finite), null * _MORE, alternative * _MORE)


def _merged_base(base: DiscreteGaussianLoss, nats: float) -> tuple[AtomicLoss, float, float]:
    """The noise with what is rarer than e^-nats under both laws merged on either side, and the masses of that."""
    rare = 0.5 * math.exp(-nats)
    first = max(int(np.searchsorted(np.cumsum(base.null), rare)) - 1, 0)
    last = base.null.size - 1 - max(int(np.searchsorted(np.cumsum(base.alternative[::-1]), rare)) - 1, 0)
    inner = slice(first + 1, last)
    tails = [(base.loss[: first + 1][::-1], base.null[: first + 1][::-1]), (base.loss[last:], base.null[last:])]
    (low, low_null), (high, high_null) = (_one_atom(*tail) for tail in tails)
    low_alternative, high_alternative = (float(np.sum(base.alternative[s])) for s in (np.s_[: first + 1], np.s_[last:]))
    made = _MergedNoise(
        np.concatenate([[low], base.loss[inner], [high]]),
        np.concatenate([[low_null], base.null[inner], [high_null]]),
        np.concatenate([[low_alternative], base.alternative[inner], [high_alternative]]),
        noise=base,
        inner=inner,
    )
    return made, low_null + high_null, low_alternative + high_alternative


@dataclass(frozen=True, eq=False, kw_only=True)
class _MergedNoise(AtomicLoss):
    """The noise, which knows itself in decimals, too."""

    noise: DiscreteGaussianLoss
    inner: slice

    def decimal_nodes(self, digits: int) -> DecimalNodes | None:
        """The atoms in decimal arithmetic; None where the noise has so many that this takes long."""
        shift, size = self.noise.sensitivity, self.noise.null.size
        if size > _MOST_DECIMALS:
            return None
        with localcontext(prec=digits + 10):
            rate = 1 / (2 * Decimal(self.noise.sigma) ** 2)
            numbers = [n - (size - shift - 1) // 2 for n in range(size)]
            weight = [(-rate * k * k).exp() for k in numbers]
            whole, loss = sum(weight, Decimal(0)), [(2 * k - shift) * shift * rate for k in numbers]
            atoms = [(x, w / whole) for x, w in zip(loss, weight, strict=True)]
            last = self.inner.stop
            merged_atoms = [_one_decimal(atoms[: self.inner.start]), *atoms[self.inner], _one_decimal(atoms[last:])]
            return [x for x, _ in merged_atoms], [w for _, w in merged_atoms]


def _one_decimal(atoms: list[tuple[Decimal, Decimal]]) -> tuple[Decimal, Decimal]:
    """The loss and the mass of outcomes merged."""
    null = sum((w for _, w in atoms), Decimal(0))
    return (sum((w * x.exp() for x, w in atoms), Decimal(0)) / null).ln(), null


def _one_atom(loss: Array, null: Array) -> tuple[float, float]:
    """The loss and the mass of outcomes merged, the nearest first: l_0 + log of the mean of e^(l - l_0)."""
    mass = float(np.sum(null))
    return float(loss[0]) + math.log1p(float(np.sum(null * np.expm1(loss - loss[0]))) / mass), mass


class Levels(NamedTuple):
    """How rare, in nats, is what may be merged, and how many nats below a reading it is of no account."""

    nats: tuple[float, ...] = (45.0, 60.0, 80.0, 105.0, 140.0, 200.0, 300.0, 450.0)
    below: float = NATS

    def of(self, reading: float) -> float:
        """The first level that is deep enough for a reading, or the last."""
        wanted = self.below - math.log(max(reading, 1e-300))
        return next((level for level in self.nats if level >= wanted), self.nats[-1])

    def after(self, nats: float) -> float:
        """The next one, or the last."""
        return next((level for level in self.nats if level > nats), self.nats[-1])


_USUAL = Levels()
_NATS = *range(25, 45, 4), *range(45, 110, 8), *range(110, 310, 20), 450
FEW_SAMPLES = Levels(tuple(map(float, _NATS)), below=18.5)  #: of few samples, of which every outcome more is a cost


class MergedTails:
    """Answers of a total from those of the same with its farthest outcomes merged, so few that they do not count."""

    def __init__(
        self,
        total: TotalLoss,
        answers: Callable[[TotalLoss, float], Answers],
        levels: Levels = _USUAL,
        quick: Answers | None = None,
    ) -> None:
        """`quick`: answers that say how deep a delta is, roughly."""
        self._total, self._answers_of, self._levels, self._quick = total, answers, levels, quick

    def _at(self, nats: float) -> tuple[Answers, Merged]:
        found = merged(self._total, nats)
        return self._answers_of(found.total, nats), found

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps: merging lowers it by at most what was merged."""

        def ask(answers: Answers, x: Array, lost: float) -> Ends:
            ends = answers.delta(direction, x)
            return Ends(ends.lower, np.minimum((ends.upper + lost) * (1 + _ROUNDING), 1.0))

        first = np.full(epsilon.size, self._levels.nats[0])
        if self._quick is not None:
            low, high = self._quick.delta(direction, epsilon)
            first[:] = [self._levels.of(min(max(x, _LEAST_KNOWN * y), 1.0)) for x, y in zip(low, high, strict=True)]
        return self._deep_enough(direction, epsilon, ask, first)

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f: it is the supremum of 1 - delta(t) - e^t alpha, so merging raises it by no more than that."""

        def ask(answers: Answers, x: Array, lost: float) -> Ends:
            ends = answers.tradeoff(direction, x)
            return Ends(np.maximum((ends.lower - lost) * (1 - _ROUNDING), 0.0), ends.upper)

        return self._deep_enough(direction, alpha, ask, np.full(alpha.size, self._levels.nats[0]))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of eps: its upper end at delta less what was merged is one."""
        return one_by_one(delta, partial(self._epsilon, direction), (0.0, math.inf))

    def _epsilon(self, direction: Direction, delta: float) -> tuple[float, float]:
        answers, found = self._at(self._levels.of(delta) if 0 < delta < 1 else self._levels.nats[-1])
        lost = _lost(found, direction)
        if not lost < delta < 1:
            raise Unsupported("merged tails say nothing of so small a delta, or of 1")
        whole = answers.epsilon(direction, np.array([delta]))
        less = answers.epsilon(direction, np.array([(delta - lost) * (1 - _ROUNDING)]))
        return float(whole.lower[0]), float(less.upper[0])

    def _deep_enough(
        self, direction: Direction, places: Array, ask: Callable[[Answers, Array, float], Ends], first: Array
    ) -> Ends:
        """Every reading with so little merged that it does not count, if possible."""
        lower, upper, wanted = np.zeros(places.size), np.ones(places.size), first
        with suppress(WorkSpent):
            for level in self._levels.nats:
                (mine,) = np.nonzero(wanted == level)
                if mine.size:
                    answers, found = self._at(level)
                    low, high = ask(answers, places[mine], _lost(found, direction))
                    lower[mine], upper[mine] = np.maximum(lower[mine], low), np.minimum(upper[mine], high)
                    wanted[mine] = [self._levels.of(x) if x > 0 else self._levels.after(level) for x in low.tolist()]
        return Ends(lower, upper)

    def bridge(self) -> tuple[float, float]:
        """That of the total with next to nothing merged, and what was merged."""
        answers, found = self._at(self._levels.nats[-1])
        low, high = answers.bridge()
        lost = _lost(found, "both")
        return low + lost, high + lost


def _lost(found: Merged, direction: Direction) -> float:
    if direction == "forward":
        return found.alternative
    return found.null if direction == "backward" else max(found.null, found.alternative)
