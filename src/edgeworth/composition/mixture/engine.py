"""Certified composition of few steps with noise beside few-valued ones, as a mixture over the values of the latter.

One step has a formula, and so has Gaussian noise in any number of them; two are one formula integrated over the other;
more samples of Gaussian noise have lines, and steps that share one lattice Fourier sums.
`docs/proofs/mixture.md` proves every bound.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import contour, fourier, moments, spread
from edgeworth.composition.answered import Ends
from edgeworth.composition.combined import Combined
from edgeworth.composition.mixture.answers import Aim, Beside, LatticeBeside, OneBeside, Pair, by_answers, by_formula
from edgeworth.composition.mixture.atoms import atoms_of
from edgeworth.composition.mixture.formulas import Formula, Mixed
from edgeworth.composition.mixture.integrated import Integrated, can_be_integrated
from edgeworth.composition.mixture.remainder import Remainder, at_a_glance
from edgeworth.composition.mixture.two_lattices import lattice_and_values
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, LaplaceLoss, ReplacedGaussianLoss, ReplacedLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.composition.mixture.answers import Read
    from edgeworth.composition.profile_alone import ProfileAlone, Way
    from edgeworth.losses import MergedValues, PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = [
    "applies",
    "has_formulas",
    "has_normal_noise",
    "has_remainder",
    "has_two_lattices",
    "integrates_normal_noise",
    "prepared",
    "remainder_of",
]

_MOST_ATOMS, _MOST_BESIDE = 2**17, 100  # values beside one formula, and beside more
_MOST_FOR_TESTS = 1_000  # beside samples whose 1 - delta is read, most of whose terms cost nothing
_AIM, _QUICK, _COARSE = 5e-8, 1e-5, 1e-3  # relative widths: of a reading, of one on the way, of a glance
_LINES = 2e-7  # the same where lines are read, which take longer
_LITTLE = 1e-8  # of delta, which f does not ask for
_TWO = 2
_FEWEST_SAMPLES = 3


def applies(total: TotalLoss) -> bool:
    """Whether one step or two have formulas, or more are samples that have lines, and all others have few values.

    Or some share one lattice.

    >>> import edgeworth as ew
    >>> sample, response = ew.PoissonSampled(ew.Laplace(2.0), rate=0.1), ew.RandomizedResponse(0.5)
    >>> [applies(TotalLoss.of(sample**n * response)) for n in (1, 2, 3)]
    [True, True, False]
    """
    others, few_valued = _split(total)
    if has_two_lattices(total):
        return True
    if has_formulas(total):
        answered = _has_one_formula(others) or any(can_be_integrated(loss) for loss, _ in others.parts)
    else:
        answered = _are_samples(others) and bool(few_valued.parts)
    return answered and total.is_exact and _atoms(total) is not None


def has_formulas(total: TotalLoss) -> bool:
    """Whether one step or two with formulas, or Gaussian noise, are all that is not few-valued."""
    others = _split(total)[0]
    two = 1 <= _count(others) <= _TWO and all(_has_formula(loss) for loss, _ in others.parts)
    return two or _is_normal(others)


def has_normal_noise(total: TotalLoss) -> bool:
    """Whether Gaussian noise, in any number of steps, is beside steps with atoms: one formula for every value.

    >>> import edgeworth as ew
    >>> noise, response = ew.Gaussian(2.0) ** 30 * ew.Gaussian(3.0), ew.RandomizedResponse(0.5)
    >>> [has_normal_noise(TotalLoss.of(run)) for run in (noise, noise * response, noise * response * ew.Laplace(2.0))]
    [False, True, False]
    """
    others, few_valued = _split(total)
    return bool(few_valued.parts) and _is_normal(others)


def integrates_normal_noise(total: TotalLoss) -> bool:
    """Whether two samples of Gaussian noise beside few-valued steps are integrated: milliseconds for every value."""
    others, few_valued = _split(total)
    samples = [isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss) for loss, _ in others.parts]
    return _count(others) == _TWO and all(samples) and bool(few_valued.parts)


def has_remainder(total: TotalLoss) -> bool:
    """Whether 1 - delta has digits of its own: three samples or more that have lines beside few-valued steps.

    >>> import edgeworth as ew
    >>> sample, response = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-4), ew.RandomizedResponse(0.5)
    >>> [has_remainder(TotalLoss.of(sample**n * response)) for n in (2, 3, 300)]
    [False, True, True]
    """
    others, few_valued = _split(total)
    listed = bool(few_valued.parts) and atoms_of(few_valued, _MOST_FOR_TESTS) is not None
    return listed and total.is_exact and _are_samples(others)


@lru_cache(maxsize=4)
def remainder_of(total: TotalLoss, lines: Callable[[TotalLoss], Answers] = contour.prepared) -> Remainder:
    """1 - delta of a total loss; the last few are kept. `lines` answers for the samples alone."""
    others, few_valued = _split(total)
    atoms = atoms_of(few_valued, _MOST_FOR_TESTS)
    if atoms is None or not _are_samples(others):
        raise Unsupported("these are not samples of Gaussian noise beside steps that take few values")
    samples = lines(others)
    return Remainder(atoms, at_a_glance(samples), by_answers(samples))


def has_two_lattices(total: TotalLoss) -> bool:
    """Whether no step has noise, some share one lattice, and all others together take few values."""
    return total.is_exact and lattice_and_values(total) is not None


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, lines: Callable[[TotalLoss], Answers] = contour.prepared) -> ProfileAlone:
    """The answers of a total loss; the last few are kept. `lines` answers for three samples and more, alone."""
    split = lattice_and_values(total)
    if split is not None:
        return LatticeBeside(total, split.values, by_answers(fourier.prepared(split.lattice)))
    others, few_valued = _split(total)
    atoms = _atoms(total)
    if atoms is None or not applies(total):
        raise Unsupported("these are not few steps with noise beside steps that take few values")
    if _has_one_formula(others):
        formula = Formula(others)
        few = 1 < atoms.place.size <= _MOST_FOR_TESTS
        remainder = Remainder(atoms, by_formula(formula), by_formula(formula)) if few else None
        return OneBeside(total, Mixed(formula, atoms), remainder)
    if not has_formulas(total):
        rough: Answers = moments.prepared(others)
        if spread.applies_alone(others):
            rough = Combined(spread.prepared_alone(total), lambda: moments.prepared(others), _COARSE)
        profiles = by_answers(rough), by_answers(lines(others))
        known = spread.prepared(total) if spread.applies(total) else None
        return Beside(total, atoms, profiles, Aim(_LINES), Beside(total, atoms, profiles, Aim(_LINES, _LITTLE), known))
    integrated = _integrated(others)
    if not few_valued.parts:
        return Pair(total, integrated, _AIM, Pair(total, integrated, _QUICK))
    coarse, less, fine = (_by_cells(integrated, aim) for aim in (_COARSE, _QUICK, _AIM))
    return Beside(total, atoms, (coarse, fine), Aim(_AIM), Beside(total, atoms, (coarse, less), Aim(_QUICK)))


@lru_cache(maxsize=8)
def _split(total: TotalLoss) -> tuple[TotalLoss, TotalLoss]:
    """The steps with noise, and the few-valued ones."""
    noise, few_valued = (
        TotalLoss(tuple((loss, n) for loss, n in total.parts if n > 0 and loss.is_atomic == atomic), is_finite=True)
        for atomic in (False, True)
    )
    return noise, few_valued


def _atoms(total: TotalLoss) -> MergedValues | None:
    """All values of the few-valued steps; None where these are too many."""
    others, few_valued = _split(total)
    return atoms_of(few_valued, _MOST_ATOMS if _has_one_formula(others) else _MOST_BESIDE)


def _are_samples(others: TotalLoss) -> bool:
    """Whether these are three samples of Gaussian noise or more that have lines."""
    samples = [isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss) for loss, _ in others.parts]
    return all(samples) and _count(others) >= _FEWEST_SAMPLES and contour.answers_well(others)


def _count(total: TotalLoss) -> int:
    return sum(n for _, n in total.parts)


def _has_one_formula(others: TotalLoss) -> bool:
    return _count(others) == 1 or _is_normal(others)


def _is_normal(others: TotalLoss) -> bool:
    return bool(others.parts) and all(isinstance(loss, GaussianLoss) for loss, _ in others.parts)


def _has_formula(loss: PrivacyLoss) -> bool:
    if isinstance(loss, ReplacedGaussianLoss):
        return True
    base = loss.base if isinstance(loss, SampledLoss | ReplacedLoss) else loss
    return isinstance(base, GaussianLoss | LaplaceLoss)


def _integrated(others: TotalLoss) -> Integrated:
    """One of two steps integrated, that with Laplace noise first: its places are fewer."""
    losses = [loss for loss, n in others.parts for _ in range(n)]
    one, other = sorted(losses, key=lambda loss: (not can_be_integrated(loss), loss.support[1]))
    return Integrated(one, Formula(TotalLoss(((other, 1),), is_finite=True)))


def _by_cells(integrated: Integrated, aim: float) -> Read:
    """The profile of two steps."""

    def read(side: Way, t: Array, room: Array) -> Ends:
        ends = [integrated.at(side, x, aim, off) for x, off in zip(t.tolist(), room.tolist(), strict=True)]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))

    return read
