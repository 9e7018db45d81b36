"""Certified composition of a few samples of Gaussian noise with steps that have atoms: responses, Laplace noise, mixes.

No lattice holds both the narrow heap of the samples' loss and the atoms beside it, and no line its lack of smoothness.
`docs/proofs/spread.md` proves every bound.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from edgeworth.composition import closed_form
from edgeworth.composition.combined import CurveAnswers
from edgeworth.composition.spread.answers import SpreadAnswers
from edgeworth.composition.spread.graded import Graded
from edgeworth.composition.spread.law import one_step, power
from edgeworth.composition.spread.rest import Rest, engine_of, kinks_of
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from edgeworth.composition.spread.law import Side, SpreadLaw

__all__ = ["applies", "prepared", "prepared_alone", "reach_of_rest"]

_MOST_SAMPLES, _MOST_PARTS = 2_000, 3
_LARGEST_RATE = 0.05
_LEAST_MU, _LARGEST_MU = 0.01, 8.0
_LEFT = 6.0  # standard deviations on the left that are resolved
_NATS = 330.0  # how far the points reach: e^-330 = 1e-143 is beyond
_WORK = 1.2e10  # products of two masses if none were 0: about a second for the three laws
_NARROW, _MORE_WORK = 0.15, 3.0  # mu below which most of them are, and what that allows
_MOST_POINTS = 60_000  # each of which a reading asks the rest for
_IN_HEAP, _FAR_OUT = 8.0, 26.0  # standard deviations that are resolved, of all samples together and of one
_ALLOWED = 1e-8  # relative, of a reading: what all spreadings together may leave out of it
_FINEST, _COARSEST, _HALVINGS = 1e-4, 0.5, 20  # how much the density may change from a point to the next


def applies(total: TotalLoss) -> bool:
    """Whether some of the steps are a few samples of Gaussian noise, and an engine has all digits of the others.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-5)
    >>> applies(TotalLoss.of(sample**10 * ew.Laplace(3.0))), applies(TotalLoss.of(sample**10))
    (True, False)
    """
    samples, rest = _split(total)
    if not samples or not rest.parts or rest.support == (0.0, 0.0) or not total.is_exact:
        return False
    few = sum(n for _, n in samples) <= _MOST_SAMPLES and len(samples) <= _MOST_PARTS
    usual = all(_LEAST_MU <= _mu(loss) <= _LARGEST_MU and loss.rate <= _LARGEST_RATE for loss, _ in samples)
    return few and usual and kinks_of(rest) is not None and engine_of(rest) is not None


@lru_cache(maxsize=4)
def prepared(total: TotalLoss) -> SpreadAnswers:
    """The answers of a total loss; the last few are kept with their laws."""
    samples, rest = _split(total)
    kinks, answers = kinks_of(rest), engine_of(rest)
    if not samples or kinks is None or answers is None:
        raise Unsupported("there are no few samples here beside steps that another engine has all digits of")
    least = math.fsum(n * math.log1p(-loss.rate) for loss, n in samples)
    return SpreadAnswers(total, partial(_law, samples), least, Rest(rest, answers, kinks))


@lru_cache(maxsize=4)
def prepared_alone(total: TotalLoss) -> SpreadAnswers:
    """The answers of the samples of a total alone, from the same laws."""
    samples, nothing = _split(total)[0], TotalLoss((), is_finite=True)
    kinks = kinks_of(nothing)
    assert kinks is not None
    least = math.fsum(n * math.log1p(-loss.rate) for loss, n in samples)
    rest = Rest(nothing, CurveAnswers(closed_form.compose(nothing)), kinks)
    return SpreadAnswers(TotalLoss(samples, is_finite=True), partial(_law, samples), least, rest)


def reach_of_rest(total: TotalLoss) -> float:
    """The largest loss, in either direction, of all but the samples."""
    return max(abs(end) for end in _split(total)[1].support)


@lru_cache(maxsize=8)
def _split(total: TotalLoss) -> tuple[tuple[tuple[SampledLoss, int], ...], TotalLoss]:
    """The samples of Gaussian noise, and all else."""
    samples = tuple((loss, n) for loss, n in total.parts if isinstance(loss, SampledLoss) and _mu(loss) > 0 and n > 0)
    rest = tuple((loss, n) for loss, n in total.parts if not (isinstance(loss, SampledLoss) and _mu(loss) > 0))
    return samples, TotalLoss(rest, is_finite=True)


def _mu(loss: SampledLoss) -> float:
    return loss.base.mu if isinstance(loss.base, GaussianLoss) else 0.0


@lru_cache(maxsize=6)
def _law(samples: tuple[tuple[SampledLoss, int], ...], side: Side) -> SpreadLaw | None:
    """The law of all samples, on one side of the truth; None where the points are too few for one below."""
    grid, allowed = _grid(samples), _ALLOWED / sum(n for _, n in samples)
    found: SpreadLaw | None = None
    try:
        for loss, n in samples:
            assert isinstance(loss.base, GaussianLoss)
            law = power(one_step(grid, loss, loss.base, side, allowed), n)
            found = law if found is None else found.times(law)
    except ComputationFailed:
        return None
    return found


def _grid(samples: tuple[tuple[SampledLoss, int], ...]) -> Graded:
    """The finest points that the work allows."""
    products = sum(math.frexp(n)[1] + n.bit_count() for _, n in samples)
    most = _WORK * (_MORE_WORK if all(_mu(loss) < _NARROW for loss, _ in samples) else 1.0)

    def affordable(aim: float) -> bool:
        halves = _graded(samples, aim).halves
        return 8 * products * sum(half * half for half in halves) <= most and sum(halves) <= _MOST_POINTS

    coarse, fine = _COARSEST, _FINEST
    if not affordable(coarse):
        raise ComputationFailed("the losses of these samples have no points in common that can be had")
    for _ in range(_HALVINGS):
        middle = math.sqrt(coarse * fine)
        coarse, fine = (middle, fine) if affordable(middle) else (coarse, middle)
    return _graded(samples, coarse)


def _graded(samples: tuple[tuple[SampledLoss, int], ...], aim: float) -> Graded:
    """From well below the heap of one sample to where next to nothing lies beyond.

    A density e^(-x^2/2) changes by the factor e^(x dx) from a point to the next: |x| dx is `aim` or less, as far as
    octaves allow.
    """
    low = min(_nearest(loss) for loss, _ in samples)
    high = max(_farthest(loss) + 4 * n * loss.rate for loss, n in samples)
    octaves = max(math.ceil(math.log2(high / low)), 1)
    half = 2 * math.ceil(0.5 * low / _wanted(samples, low, aim))
    step, doubles = low / half, []
    for octave in range(1, octaves):
        doubles.append(2 * step <= _wanted(samples, low * 2.0**octave, aim))
        step *= 2 if doubles[-1] else 1
    return Graded(low / half, half, doubles)


def _wanted(samples: tuple[tuple[SampledLoss, int], ...], loss: float, aim: float) -> float:
    """The step at a loss above the least one at which x changes by aim/max(|x|, 2): dl = mu (1 - e^-l) dx.

    In the heap what n samples are raised by adds up, and farther out it is that of one which lies there. Where a sample
    has no mass it wants nothing.
    """
    steps = [math.inf]
    for sample, n in samples:
        mu, crowd = _mu(sample), loss / _heap(sample)
        if _nearest(sample) <= 2 * loss and loss <= 2 * (_farthest(sample) + n * _heap(sample)):
            x = [(math.log(math.expm1(min(l, 600.0))) - math.log(sample.rate)) / mu + mu / 2 for l in (loss, 2 * loss)]
            times, most = (math.sqrt(n), _IN_HEAP) if crowd < 2 * n else (1.0, _FAR_OUT)
            steps.append(aim * mu * -math.expm1(-loss) / (times * min(max(-x[0], x[1], 2.0), most)))
    return min(steps)


def _heap(loss: SampledLoss) -> float:
    """The loss above the least one of an outcome that says nothing: -log(1 - p)."""
    return -math.log1p(-loss.rate)


def _nearest(loss: SampledLoss) -> float:
    """That of an outcome so far on the other side that what lies beyond is of no account."""
    mu = _mu(loss)
    return _heap(loss) * math.exp(-min(_LEFT * mu + mu * mu / 2, 60.0))


def _farthest(loss: SampledLoss) -> float:
    """That of an outcome that lies so far out under the alternative."""
    mu = _mu(loss)
    steep = mu * (math.sqrt(2 * _NATS) + mu) - mu * mu / 2 + math.log(loss.rate) - math.log1p(-loss.rate)
    return math.log1p(math.exp(steep)) if steep < 40 else steep
