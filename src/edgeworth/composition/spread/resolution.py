"""How fine the points have to be, and how far they reach, for the losses of some samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import ndtr, ndtri

from edgeworth.composition.spread.graded import Graded
from edgeworth.losses import DiscreteGaussianLoss, GaussianLoss, LaplaceLoss

if TYPE_CHECKING:
    from edgeworth.losses import SampledLoss

__all__ = ["Focus", "apart", "centre", "centred_for", "graded_for"]

_LEFT = 6.0  # standard deviations on the left that are resolved
_NATS = 330.0  # how far the points reach: e^-330 = 1e-143 is beyond
_IN_HEAP, _FAR_OUT = 8.0, 13.0  # standard deviations that are resolved, of all samples together and of one
_IN_CROWD = 32.0  # of a loss, the step that resolves a crowd of samples which reaches it
_ATOMS = 16.0  # upper ones of Laplace noise in a sum: 2^-16 of it, next to which coarser points would raise a lot
_BEYOND_HEAP = 4.0  # times the loss of all samples that say nothing, beyond which one has jumped
_FARTHEST = 600.0  # a loss whose exponential is a double
_FEWEST = 16.0  # points in half of the first octave, where steps are to come close to a given one
_BITS = 30  # of a step, so that its multiples are doubles


class Focus(NamedTuple):
    """The octave that a reading depends on most, and the last one that counts for it at all."""

    octave: int
    last: int
    share: float = 1.0
    """Of the way to its end, where octaves are to end instead: there steps double."""


def graded_for(
    samples: tuple[tuple[SampledLoss, int], ...], aim: float, far: float = 1.0, focus: Focus | None = None
) -> Graded:
    """From well below the heap of one sample to where next to nothing lies beyond.

    A density e^(-x^2/2) changes by the factor e^(x dx) from a point to the next: |x| dx is `aim` or less, as far as
    octaves allow, and `far` times that beyond the heap. The multiples of the largest loss of Laplace noise, of the part
    that has most steps, are points. With a focus that change is `aim` in its octave, and other steps are as it asks.
    """
    low, high = min(_nearest(loss) for loss, _ in samples), min(_reach(samples), _FARTHEST)
    laplace = [(n, _farthest(loss)) for loss, n in samples if isinstance(loss.base, LaplaceLoss)]
    n, period = max(laplace, default=(0, 1.5 * low))
    before = max(math.ceil(math.log2(period / (1.5 * low))), 0)
    low = period / 1.5 * 0.5**before  # its multiples by powers of two are in the middle of octaves
    low *= 1.0 if focus is None or laplace else focus.share
    places = [low * 2.0**j for j in range(max(math.ceil(math.log2(high / low)), 1))]
    wanted = [_wanted(samples, place, aim * _coarser(samples, place, far)) for place in places]
    wanted = wanted if focus is None else _focused(samples, wanted[focus.octave], focus)
    aligned = sum(low * 2.0**j < n * period for j in range(1, len(wanted)))  # octaves that have such multiples
    half = 2 * math.ceil(0.5 * low / wanted[0]) if focus is None or laplace else _first_half(low, wanted, focus)
    even = 2 ** max(sum(_doubles(low / half, wanted)[:aligned]) - before + 1, 1)
    half = even * math.ceil(half / even)
    doubles = _doubles(low / half, wanted, (aligned, before + (half & -half).bit_length() - 2))
    return Graded(_of_few_bits(low / half), half, doubles)


def centred_for(
    samples: tuple[tuple[SampledLoss, int], ...], aim: float, far: float = 1.0, focus: Focus | None = None
) -> Graded:
    """On both sides of 0, about which the samples are centred: the heap of any number of them is then an octave.

    Below 0 the points reach twice as far as the least loss.
    """
    low, high = min(_heap(loss) for loss, _ in samples), min(_reach(samples), _FARTHEST)
    low *= 1.0 if focus is None else focus.share
    places = [low * 2.0**j for j in range(max(math.ceil(math.log2(high / low)), 1))]
    wanted = [_centred_step(samples, place, aim * _coarser(samples, place, far)) for place in places]
    first = min(wanted[0], *(aim * _least_scale(loss) for loss, _ in samples))
    if focus is not None:
        wanted = _focused(samples, wanted[focus.octave], focus)
    half = 2 * math.ceil(0.5 * low / first) if focus is None else _first_half(low, wanted, focus)
    lowest = 2 * math.fsum(n * _heap(loss) for loss, n in samples)
    below = min(max(math.ceil(math.log2(lowest / low)), 1), len(wanted))
    return Graded(_of_few_bits(low / half), half, _doubles(low / half, wanted), below)


def _focused(samples: tuple[tuple[SampledLoss, int], ...], step: float, focus: Focus) -> list[float]:
    """Steps with which all octaves together leave least open of a reading, for a given one in the octave in focus.

    A step h in an octave before it adds about h^2 to the variance of each of n samples, and in this octave to that of
    one, as often as laws are multiplied; it costs 2^(2j)/h^2 in octave j. That is best with h^4 as 2^(2j)/n. In the
    octaves after it steps double, as they may.
    """
    n = sum(n for _, n in samples)
    finer = min((2 + 2 * math.log2(n)) / n, 1.0) ** 0.25
    before = [step * finer * 0.5 ** (0.5 * (focus.octave - j)) for j in range(focus.octave)]
    return before + [step * 2.0**j for j in range(focus.last + 1 - focus.octave)]


def _first_half(low: float, wanted: list[float], focus: Focus) -> int:
    """Points in half of the first octave, some at least, such that doubled steps come close to that of the focus."""
    fewest = max(low / min(wanted), _FEWEST)
    doublings = math.floor(math.log2(fewest * wanted[focus.octave] / low))
    return 2 * math.ceil(0.5 * low * 2.0**doublings / wanted[focus.octave])


def _coarser(samples: tuple[tuple[SampledLoss, int], ...], loss: float, far: float) -> float:
    """How many times as long steps may be beyond the heap of all samples: for u in it (x - u)_+ is straight there."""
    return far if loss > _BEYOND_HEAP * math.fsum(n * _heap(sample) for sample, n in samples) else 1.0


def centre(loss: SampledLoss, n: int) -> float:
    """How far above its least loss one of n samples is in the middle of their heap, without the rarest jumps."""
    return float(_heap(loss) * ndtr(ndtri(1 - 0.5 / n) - apart(loss)))


def _centred_step(samples: tuple[tuple[SampledLoss, int], ...], loss: float, aim: float) -> float:
    """That of one sample which jumps, and so much of a loss where a crowd of them reaches it."""
    steps = [aim * _normal_scale(sample, 1, loss) for sample, _ in samples]
    deviation = math.sqrt(math.fsum(n * (_heap(loss) * math.expm1(min(apart(loss), 3.0))) ** 2 for loss, n in samples))
    return min(*steps, aim * loss / _IN_CROWD) if loss < _IN_HEAP * deviation else min(steps)


def _least_scale(loss: SampledLoss) -> float:
    """Half of the step at which the loss of one sample changes by 1 two standard deviations on the left."""
    mu = apart(loss)
    return 0.5 * mu * _heap(loss) * math.exp(-2 * mu - mu * mu / 2)


def apart(loss: SampledLoss) -> float:
    """How far apart the two laws of the noise are, in its own scale: mu, or theta; 0 for what is no such noise."""
    if isinstance(loss.base, DiscreteGaussianLoss):
        return loss.base.sensitivity / loss.base.sigma
    if isinstance(loss.base, GaussianLoss):
        return loss.base.mu
    return loss.base.theta if isinstance(loss.base, LaplaceLoss) else 0.0


def _doubles(step: float, wanted: list[float], most: tuple[int, int] = (0, 0)) -> list[bool]:
    """Which octaves double the step: where that is fine enough, the first ones not more often than so many times."""
    found: list[bool] = []
    for octave, fine in enumerate(wanted[1:]):
        found.append(2 * step <= fine and (octave >= most[0] or sum(found) < most[1]))
        step *= 2 if found[-1] else 1
    return found


def _of_few_bits(step: float) -> float:
    """The next number below with so few digits that the points are whole multiples of it without rounding."""
    share, power = math.frexp(step)
    return math.ldexp(math.floor(math.ldexp(share, _BITS)), power - _BITS)


def _reach(samples: tuple[tuple[SampledLoss, int], ...]) -> float:
    """Farther out than one sample of Gaussian noise beside a crowd, or all samples of Laplace noise together, go."""
    normal = [_farthest(loss) + 4 * n * loss.rate for loss, n in samples if not isinstance(loss.base, LaplaceLoss)]
    return max(normal, default=0.0) + 1.01 * math.fsum(
        n * _farthest(loss) for loss, n in samples if isinstance(loss.base, LaplaceLoss)
    )


def _wanted(samples: tuple[tuple[SampledLoss, int], ...], loss: float, aim: float) -> float:
    """The largest step at a loss above the least one that resolves all samples which have mass there."""
    steps = [math.inf]
    for sample, n in samples:
        if _nearest(sample) <= 2 * loss and loss <= 2 * (_farthest(sample) + n * _heap(sample)):
            scale = _laplace_scale if isinstance(sample.base, LaplaceLoss) else _normal_scale
            steps.append(aim * scale(sample, n, loss))
    return min(steps)


def _normal_scale(sample: SampledLoss, n: int, loss: float) -> float:
    """The step at which x changes by 1/max(|x|, 2), dl = mu (1 - e^-l) dx, or an eighth of the deviation of k samples.

    k of them lie where l is k heaps, with a deviation of mu sqrt(k) heaps, and farther out one that jumped does.
    """
    mu, heap = apart(sample), _heap(sample)
    x = [(math.log(math.expm1(min(l, 600.0))) - math.log(sample.rate)) / mu + mu / 2 for l in (loss, 2 * loss)]
    in_heap = loss < 2 * n * heap
    far = min(max(-x[0], x[1], 2.0), _IN_HEAP if in_heap else _FAR_OUT)
    one = mu * -math.expm1(-loss) / far * max(x[0] / _FAR_OUT, 1.0) ** 4
    return min(one, mu * math.sqrt(max(loss, heap) * heap) / _IN_HEAP) if in_heap else one


def _laplace_scale(sample: SampledLoss, n: int, loss: float) -> float:
    """An eighth of what the loss of one sample changes by with that of its base, or of the deviation of k.

    dl = (r + 1 - e^-l) dy, r = p e^-theta, of which 0 < y < min(2 theta, 1) matters; k samples lie where l is k heaps.
    """
    assert isinstance(sample.base, LaplaceLoss)
    theta, heap = sample.base.theta, _heap(sample)
    least, held = sample.rate * math.exp(-theta), min(2 * theta, 1.0)
    farthest = _farthest(sample)
    loss = farthest if farthest < loss < _ATOMS * farthest else loss
    crowd = min(max(loss / heap, 1.0), n)
    one, many = max(least, -math.expm1(-loss)), max(least, -math.expm1(-heap)) * math.sqrt(crowd)
    return held * min(one, many) / _IN_HEAP


def _heap(loss: SampledLoss) -> float:
    """About the loss above the least one of an outcome that says nothing, -log(1 - p), or the mean of it."""
    if isinstance(loss.base, LaplaceLoss):
        return -math.log1p(loss.rate * math.expm1(-loss.base.theta))
    return -math.log1p(-loss.rate)


def _nearest(loss: SampledLoss) -> float:
    """That of an outcome so far on the other side that what lies beyond is of no account."""
    if isinstance(loss.base, LaplaceLoss):
        return min(loss.rate * math.exp(-loss.base.theta), _farthest(loss))
    mu = apart(loss)
    return _heap(loss) * math.exp(-min(_LEFT * mu + mu * mu / 2, 60.0))


def _farthest(loss: SampledLoss) -> float:
    """That of an outcome that lies so far out under the alternative."""
    if isinstance(loss.base, LaplaceLoss):
        return loss.support[1] - loss.support[0]
    mu = apart(loss)
    steep = mu * (math.sqrt(2 * _NATS) + mu) - mu * mu / 2 + math.log(loss.rate) - math.log1p(-loss.rate)
    return math.log1p(math.exp(steep)) if steep < 40 else steep
