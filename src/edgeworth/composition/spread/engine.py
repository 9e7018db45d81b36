"""Certified composition of a few samples of Gaussian or Laplace noise with steps that have atoms, or mixes of them.

No lattice holds both the narrow heap of the samples' loss and the atoms beside it, and no line its lack of smoothness.
`docs/proofs/spread.md` proves every bound.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from edgeworth.composition import closed_form, lattice
from edgeworth.composition.by_squares import power
from edgeworth.composition.combined import CurveAnswers
from edgeworth.composition.samples import Samples, density
from edgeworth.composition.spread import noise_rest
from edgeworth.composition.spread.answers import SpreadAnswers
from edgeworth.composition.spread.close_up import CloseAnswers
from edgeworth.composition.spread.effort import products_of_masses
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.spread.listed import ListedAnswers
from edgeworth.composition.spread.merged import MergedLaw
from edgeworth.composition.spread.noise_rest import NoiseRest
from edgeworth.composition.spread.resolution import Focus, apart, centred_for, graded_for
from edgeworth.composition.spread.rest import Rest, engine_of, kinks_of
from edgeworth.composition.spread.steps import one_step, shares_of
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import DiscreteGaussianLoss, GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.spread.graded import Graded
    from edgeworth.composition.spread.law import Side
    from edgeworth.losses import PrivacyLoss

__all__ = [
    "applies",
    "applies_alone",
    "has_atoms",
    "has_noise_alone",
    "prepared",
    "prepared_alone",
    "prepared_closely",
    "prepared_runs",
    "reach_of_rest",
    "samples_of",
]

_Law = TypeVar("_Law")
Effort: TypeAlias = Literal["usual", "near", "rough"]

_NORMAL = GaussianLoss, DiscreteGaussianLoss
_MOST_SAMPLES, _MOST_CENTRED, _MOST_PARTS = 2_000, 50_000, 3
_FARTHEST = 680.0  # a loss whose exponential is a double
_MOST_WITH_ATOMS = 400  # more of them have lines
_LEAST_RATE, _LARGEST_RATE, _LARGEST_LAPLACE_RATE = 1e-12, 0.5, 0.05
_DENSE = 1e-3  # n p^2, from which on lines have all digits of many samples
_LEAST_APART, _MOST_APART = 0.01, 8.0
_WORK = 1.2e10  # products of two masses if none were 0: about a second for the three laws
_NARROW, _MORE_WORK = 0.15, 3.0  # mu below which most of them are, as for Laplace noise, and what that allows
_NARROWEST_HEAP = 1e-3  # of the largest loss of Laplace noise, a deviation that its points resolve
_MOST_POINTS = 60_000  # each of which a reading asks the rest for
# How many times the work points may cost, and how much longer their steps are far out: near ones are for the heap.
_EFFORTS = {"usual": (1.0, 1.0), "near": (3.0, 5.0), "rough": (0.05, 1.0)}
_MOST_IN_FOCUS, _WORK_IN_FOCUS, _FINEST_IN_FOCUS = 300_000, 1.6e10, 1e-6  # the same of points for one reading
_MORE_FOR_TWO = 1.6  # what they may cost more of two samples, whose first points take little, and which have no lines
_CENTRED, _CENTRED_MU = 8, 1.5  # samples, and mu, from which on and up to which they are centred
_FINEST, _COARSEST, _HALVINGS = 1e-4, 0.5, 20  # how much the density may change from a point to the next


def applies(total: TotalLoss) -> bool:
    """Whether some of the steps are a few samples with noise, and an engine has all digits of the others.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-5)
    >>> applies(TotalLoss.of(sample**10 * ew.Laplace(3.0))), applies(TotalLoss.of(sample**10))
    (True, False)
    """
    return total.is_exact and _fit(*_split(total)) and not _is_listed(total)


def _is_listed(total: TotalLoss) -> bool:
    """Whether there is a list of all atoms, which has all digits."""
    return all(loss.is_atomic for loss, _ in total.parts) and lattice.prepared(total).exact


@lru_cache(maxsize=8)
def _fit(samples: Samples, rest: TotalLoss) -> bool:
    """Whether these samples can be put on points, beside a rest that is known."""
    known = bool(rest.parts) and rest.support != (0.0, 0.0)
    return known and _have_points(samples) and _known_rest(rest) is not None


def applies_alone(total: TotalLoss) -> bool:
    """Whether all steps are a few samples of Gaussian noise that can be put on points.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-5)
    >>> applies_alone(TotalLoss.of(sample**10 * ew.Laplace(3.0))), applies_alone(TotalLoss.of(sample**10))
    (False, True)
    """
    samples, rest = _parted(total, (GaussianLoss,))
    return total.is_exact and not rest.parts and _have_points(samples)


def _have_points(samples: Samples) -> bool:
    """Whether these samples can be put on points."""
    if not samples:
        return False
    sparse = _are_centred(samples) and density(samples) < _DENSE
    most = _MOST_CENTRED if sparse else _MOST_SAMPLES
    few = sum(n for _, n in samples) <= most and len(samples) <= _MOST_PARTS
    usual = all(
        _LEAST_APART <= apart(loss) <= _MOST_APART and low <= loss.rate <= high
        for loss, _ in samples
        for low, high in [_rates(loss)]
    )
    return few and usual and _have_points_in_common(samples)


@lru_cache(maxsize=8)
def _known_rest(rest: TotalLoss) -> Rest | NoiseRest | None:
    """The profile of the rest, by an engine that has all digits of it, or on points of its own."""
    kinks = kinks_of(rest)
    answers = None if kinks is None else engine_of(rest)
    if kinks is not None and answers is not None:
        return Rest(rest, answers, kinks)
    return NoiseRest(rest) if noise_rest.applies(rest) else None


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, *, rough: bool = False) -> SpreadAnswers:
    """The answers of a total loss, from few points if roughly is enough; the last few are kept with their laws."""
    samples, rest = _split(total)
    profile = _known_rest(rest)
    if not samples or profile is None:
        raise Unsupported("there are no few samples here beside steps that another engine has all digits of")
    return SpreadAnswers(total, partial(_law, samples, effort="rough" if rough else "usual"), profile)


@lru_cache(maxsize=4)
def prepared_closely(total: TotalLoss) -> CloseAnswers:
    """The same with points and places of the rest chosen for each reading."""
    if has_atoms(total):
        raise Unsupported("samples with atoms have the same points for all readings")
    return CloseAnswers(total, prepared(total), partial(_law, _split(total)[0]))


@lru_cache(maxsize=4)
def prepared_alone(total: TotalLoss, *, near: bool = False) -> SpreadAnswers:
    """The answers of the samples of a total alone, from the same laws, or from points that are closest in the heap."""
    samples, nothing = _parted(total, (GaussianLoss, LaplaceLoss))[0], TotalLoss((), is_finite=True)
    kinks = kinks_of(nothing)
    assert kinks is not None
    rest = Rest(nothing, CurveAnswers(closed_form.compose(nothing)), kinks)
    law = partial(_law, samples, effort="near" if near else "usual")
    return SpreadAnswers(TotalLoss(samples, is_finite=True), law, rest)


def has_atoms(total: TotalLoss) -> bool:
    """Whether some of the samples that are put on graded points have atoms, and these are few.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.DiscreteGaussian(2.0), rate=1e-3)
    >>> has_atoms(TotalLoss.of(sample**10 * ew.Laplace(3.0))), has_atoms(TotalLoss.of(sample**500 * ew.Laplace(3.0)))
    (True, False)
    """
    atomic = [n for loss, n in _split(total)[0] if loss.is_atomic]
    return 0 < sum(atomic) <= _MOST_WITH_ATOMS and applies(total)


@lru_cache(maxsize=4)
def prepared_runs(total: TotalLoss) -> ListedAnswers:
    """The answers of a total loss from lists of all runs of the samples with atoms beside all else."""
    samples, rest = _parted(total, (DiscreteGaussianLoss,))
    profile = _known_rest(rest) if samples and rest.parts else None
    if profile is None:
        raise Unsupported("there are no samples with atoms here beside steps that another engine has all digits of")
    return ListedAnswers(total, samples, profile)


def reach_of_rest(total: TotalLoss) -> float:
    """The largest loss, in either direction, of all but the samples."""
    return max(abs(end) for end in _split(total)[1].support)


def has_noise_alone(total: TotalLoss) -> bool:
    """Whether all beside the samples is noise that is put on points of its own."""
    return isinstance(_known_rest(_split(total)[1]), NoiseRest)


def samples_of(total: TotalLoss) -> Samples:
    """The samples that are put on graded points."""
    return _split(total)[0]


@lru_cache(maxsize=8)
def _split(total: TotalLoss) -> tuple[Samples, TotalLoss]:
    """The samples, and all else: those of Laplace noise are part of that where they cannot be among the former."""
    both = _parted(total, (*_NORMAL, LaplaceLoss))
    if any(isinstance(loss.base, LaplaceLoss) for loss, _ in both[0]) and not _fit(*both):
        normal = _parted(total, _NORMAL)
        return normal if _fit(*normal) else both
    return both


def _parted(total: TotalLoss, bases: tuple[type[PrivacyLoss], ...]) -> tuple[Samples, TotalLoss]:
    """The samples of noise of these kinds, and all else."""
    samples: list[tuple[SampledLoss, int]] = []
    rest: list[tuple[PrivacyLoss, int]] = []
    for loss, n in ((loss, n) for loss, n in total.parts if n > 0):
        if isinstance(loss, SampledLoss) and isinstance(loss.base, bases) and apart(loss) > 0:
            samples.append((loss, n))
        else:
            rest.append((loss, n))
    return tuple(samples), TotalLoss(tuple(rest), is_finite=True)


def _have_points_in_common(samples: Samples) -> bool:
    """Whether next to the largest loss of Laplace noise the heap of the samples of Gaussian noise is no mere point."""
    heaps = [apart(loss) * loss.rate * math.sqrt(n) for loss, n in samples if isinstance(loss.base, _NORMAL)]
    ranges = [loss.support[1] - loss.support[0] for loss, _ in samples if isinstance(loss.base, LaplaceLoss)]
    return min(heaps, default=1.0) >= _NARROWEST_HEAP * max(ranges, default=0.0)


def _rates(loss: SampledLoss) -> tuple[float, float]:
    """Between which its law has points; below that the places of atoms have too few digits."""
    if isinstance(loss.base, LaplaceLoss):
        return _LEAST_RATE, _LARGEST_LAPLACE_RATE
    return (_LEAST_RATE if loss.is_atomic else 0.0), _LARGEST_RATE


@lru_cache(maxsize=6)
def _law(
    samples: Samples, side: Side, *, effort: Effort = "usual", focus: Focus | None = None
) -> SpreadLaw | MergedLaw | None:
    """The law of all samples, on one side of the truth; None where the points are too few for one below."""
    if side != "above" and any(isinstance(loss.base, DiscreteGaussianLoss) for loss, _ in samples):
        return _merged_law(samples, effort=effort)
    grid = _grid(samples, effort=effort, focus=focus)
    try:
        return _product([(one_step(grid, loss, n, side), n) for loss, n in samples], SpreadLaw.times)
    except ComputationFailed:
        if side == "above":
            raise
        return None


@lru_cache(maxsize=2)
def _merged_law(samples: Samples, *, effort: Effort) -> MergedLaw:
    """The law below of samples some of which have atoms, for both directions."""
    grid = _grid(samples, effort=effort)
    return _product([(MergedLaw.of(grid, shares_of(grid, loss, n)), n) for loss, n in samples], MergedLaw.times)


def _product(steps: list[tuple[_Law, int]], times: Callable[[_Law, _Law], _Law]) -> _Law:
    """The law of the sum of so many of each."""
    return reduce(times, (power(one, n, times) for one, n in steps))


def _grid(samples: Samples, *, effort: Effort, focus: Focus | None = None) -> Graded:
    """The finest points that the work allows, which is more for those in a focus."""
    more, far = _EFFORTS[effort]
    points = centred_for if _are_centred(samples) else graded_for

    def affordable(aim: float) -> bool:
        grid = points(samples, aim, far, focus)
        if focus is not None:
            most = _WORK_IN_FOCUS * (_MORE_FOR_TWO if sum(n for _, n in samples) == 2 else 1.0)
            return sum(grid.halves) <= _MOST_IN_FOCUS and products_of_masses(grid, samples) <= most
        most = more * _WORK * (_MORE_WORK if _have_many_zeros(samples) else 1.0)
        few = sum(grid.halves) <= max(more, 1.0) * _MOST_POINTS
        return few and sum(_work(grid, loss, n) for loss, n in samples) <= most

    coarse, fine = _COARSEST, _FINEST if focus is None else _FINEST_IN_FOCUS
    far_out = any(loss.is_atomic for loss, _ in samples) and points(samples, coarse, far).ends[-1] > _FARTHEST
    if far_out or not affordable(coarse):
        raise ComputationFailed("the losses of these samples have no points in common that can be had")
    for _ in range(_HALVINGS):
        middle = math.sqrt(coarse * fine)
        coarse, fine = (middle, fine) if affordable(middle) else (coarse, middle)
    return points(samples, coarse, far, focus)


def _have_many_zeros(samples: Samples) -> bool:
    """Whether most masses of their laws are 0: those of Laplace noise, and of narrow heaps."""
    laplace = any(isinstance(loss.base, LaplaceLoss) for loss, _ in samples)
    return laplace or all(apart(loss) < _NARROW and not loss.is_atomic for loss, _ in samples)


def _are_centred(samples: Samples) -> bool:
    """Whether the points are on both sides of the heap: some samples of Gaussian noise that is not small."""
    many = sum(n for _, n in samples) >= _CENTRED
    return many and all(isinstance(loss.base, _NORMAL) and apart(loss) <= _CENTRED_MU for loss, _ in samples)


def _work(grid: Graded, loss: SampledLoss, n: int) -> float:
    """Products of two masses in all products of laws: m samples of Laplace noise reach m times as far as one.

    The last one stands for that with the other samples.
    """
    sizes = [min(2**k, n) for k in range(1, n.bit_length())] + [n] * n.bit_count()
    octaves = [(half * step, float(half * half)) for half, step in zip(grid.halves, grid.steps, strict=True)]
    farthest = [size * (loss.support[1] - loss.support[0]) for size in sizes]
    work = sum(pairs for far in farthest[:-1] for start, pairs in octaves if start <= far)
    sides = 1.3 if grid.below else 1.0  # most of what is below 0 has no mass
    return 8 * sides * (work + 2 * sum(pairs for _, pairs in octaves))
