"""The runs of a total sorted by their jumps: steps whose outcome lies so far out that one of them moves the whole sum.

At a tiny rate the law of T is a narrow bulk with rare jumps, too heavy-tailed for any one tilt. Sorted by how many
steps jump and how far, it is a sum of measures each of which has a tilt of its own:

    P = sum over k_1, …, k_J of  n!/((n-k)! k_1! … k_J!)  bulk^(n-k) shell_1^(k_1) … shell_J^(k_J),   k = k_1 + … + k_J.

Bulk and shells are the law of one step times soft windows that add up to 1. Runs with more jumps than are followed,
and the rarest of the others, are dropped. `docs/proofs/jumps.md` proves every bound.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.sampled_gaussian import (
    Edge,
    SampledGaussian,
    Step,
    Steps,
    cut_for,
    log_dropped,
    log_overlap,
)
from edgeworth.composition.contour.steep_laplace import steepest_of
from edgeworth.composition.work import spend
from edgeworth.errors import TooLarge, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["DROPPED_NATS", "SMALL_RATE", "Jumps", "Shell", "applies", "likely_jumps", "sorted_runs"]

SMALL_RATE = 0.05  # above it the far outcomes are part of the bulk
_MOST_PARTS = 40  # different samples: each has its own shells
_MOST_TERMS = 200
_MOST_JUMPS = 40
_TILTS, _POINTS = np.geomspace(4e-5, 40.0, 120), 600  # in units of 1/std, and how many outcomes they are tried on
_OUTCOMES = np.linspace(0.0, 60.0, 1201)
_FARTHEST = 45.0  # no shell begins beyond
_NARROWEST = 1.4  # of a shell: its two soft ends stay apart
_APART = 8.5  # times the softness of both ends together is what a shell is wide: Phi(-8.5) = 1e-17
_ALLOWED = 1e-12
_LOST = 6.0  # sqrt(8 * 4.5): at most some 4.5 nats are lost between the middle of a shell and its ends
_STRAIGHT = 0.2  # of (log w)'', below which a shell is as wide as if it were this
_RISING = 0.8  # c mu r/x at which a tilted density is about to rise
_SOFTNESSES: list[float] = np.geomspace(0.15, 0.002, 20).tolist()
_SHARP, _DEEP = 0.01, -75.0  # the least of them, but for budgets below this: sharper ones take more nodes
_STAYS = 0.5  # how far beyond its edge the density may go
_BEYOND = 2.5  # times the tilt that balances a shell at its end
_SAFE_TILT = 1.2  # room in the guess of the tilt that a reading wants
_SHALLOW = 10.0  # nats
_MOST_DOUBLINGS = 10
DROPPED_NATS = 25.0  # what is dropped is this far below the reading
_RARE = 5.0  # nats below the budget at which the runs with given jumps are dropped
_RARER = 1.0  # more that the softness of the last edge may cost
_AT_ONCE, _CHOICE = 20_000, 25.0  # choices of jumps, and units of work for one
_ROUNDED = 1 + 1e-10  # log_ndtr and the exponential of numbers up to 750


class Shell(NamedTuple):
    """The jumps of one part between two edges, with logs of at least n times their masses under P and under Q."""

    part: int
    step: SampledGaussian
    log_masses: tuple[float, float]


class Jumps(NamedTuple):
    """Measures whose sum is the law of the total, but for what was dropped; the first has no jumps."""

    terms: tuple[Steps, ...]
    dropped: tuple[float, float]
    """At least the mass of the dropped runs, under P and under Q."""
    jumping: tuple[float, float]
    """At least the mass of all runs that jump."""


Counted: TypeAlias = "tuple[tuple[Step, int], ...]"


def applies(total: TotalLoss) -> bool:
    """Whether there are samples of Gaussian noise at a small rate, and not too many different ones.

    A lone sample that jumps leaves nothing of its bulk: Gaussian noise beside it has to smooth what is left.
    """
    steps = Steps.of(total)
    samples = [n for step, n in steps.others if _may_jump(step)]
    return 0 < len(samples) <= _MOST_PARTS and (sum(samples) > 1 or steps.gaussian > 0)


def _may_jump(step: Step) -> bool:
    return isinstance(step, SampledGaussian) and step.rate < SMALL_RATE


def likely_jumps(total: TotalLoss, log_reading: float) -> int:
    """How many jumps to follow for a reading of this logarithm, one at least.

    At the tilt c that it wants e^(cL) makes a valley, c mu r(x) = x, between the bulk of a step's outcomes and those
    far out. The best cut lies in it: as many jumps as leave e^-25 of the reading beyond.
    """
    samples = [(step, n) for step, n in Steps.of(total).others if isinstance(step, SampledGaussian) and _may_jump(step)]
    log_budget, most = log_reading - DROPPED_NATS, 1
    tilt = _tilt(samples, -log_reading, log_budget)
    for step, n in samples:
        (valley,) = np.nonzero(np.diff(np.sign(tilt * step.mu * step.posterior(_OUTCOMES) - _OUTCOMES)) > 0)
        if valley.size:
            log_mean = math.log(n) + log_dropped(step.mu, step.rate, float(_OUTCOMES[valley[0]]))[1]
            rare = [(m + 1) * log_mean - math.lgamma(m + 2) < log_budget for m in range(1, _MOST_JUMPS + 1)]
            most = max(most, int(np.argmax(rare)) + 1 if any(rare) else _MOST_JUMPS)
    return most


def _tilt(samples: list[tuple[SampledGaussian, int]], depth: float, log_budget: float) -> float:
    """About the tilt of a reading this many nats deep: the least c with c K'(c) - K(c) - K'(c) above that.

    K is that of the samples without what is dropped, by a rule that is good for a guess.
    """
    laws = []
    for step, n in samples:
        x = np.linspace(-12.0, cut_for(step.mu, step.rate, log_budget - math.log(n)), _POINTS)
        loss, log_weight = step.loss(x), -0.5 * x * x
        laws.append((loss, log_weight - float(np.logaddexp.reduce(log_weight)), n))
    variance = math.fsum(n * float(np.sum(np.exp(log_weight + 0.5 * loss) * loss**2)) for loss, log_weight, n in laws)
    tilts, k, mean = 1 + _TILTS / math.sqrt(variance), np.zeros(_TILTS.size), np.zeros(_TILTS.size)
    for loss, log_weight, n in laws:
        exponent = np.multiply.outer(tilts, loss) + log_weight
        top = np.max(exponent, axis=1)
        tilted = np.exp(exponent - top[:, None])
        whole = np.sum(tilted, axis=1)
        k, mean = k + n * (top + np.log(whole)), mean + n * (tilted @ loss) / whole
    deep = (tilts - 1) * mean - k > depth
    return float(tilts[int(np.argmax(deep))] if deep.any() else tilts[-1])


def sorted_runs(total: TotalLoss, log_budget: float, most: int) -> Jumps:
    """The runs with up to `most` jumps; what is dropped weighs about e^log_budget under Q, and is stated.

    The cut lies where m = most + 1 jumps or more are rarer than half of that: their mass is at most (sum of n a)^m/m!,
    a the mass beyond the cut.
    """
    whole = Steps.of(total)
    jumping = [number for number, (step, _) in enumerate(whole.others) if _may_jump(step)]
    log_far = (log_budget - math.log(2) + math.lgamma(most + 2)) / (most + 1) - math.log(len(jumping))
    tilt, sharpest = _far_tilt(total, log_budget), _SOFTNESSES[-1] if log_budget < _DEEP else _SHARP
    bulk, shells, mean_jumps = list(whole.others), [], []
    for number in jumping:
        step, n = whole.others[number]
        assert isinstance(step, SampledGaussian)
        first = cut_for(step.mu, step.rate, log_far - math.log(n))
        if first < step.mu + 1:
            raise Unsupported("the jumps of this composition are part of its bulk")
        last = cut_for(step.mu, step.rate, log_budget - _RARE - _RARER - math.log(n))
        rest, parts = _windows(step, _edges(step, first, last, tilt, sharpest))
        bulk[number] = rest, n
        mean_jumps.append(_log_jumping(rest, n))
        shells += [Shell(number, shell, _log_masses(shell, n)) for shell in parts]
    mean = np.logaddexp.reduce(mean_jumps, axis=0).tolist()
    return _assembled(whole, tuple(bulk), shells, mean, (log_budget, most))


def _far_tilt(total: TotalLoss, log_budget: float) -> float:
    """About the tilt of a reading as deep as this budget is for: that of a normal law, or some doublings of it.

    Where other steps have no more to give, beside the samples, it is far beyond that of a normal law.
    """
    depth = max(-log_budget - DROPPED_NATS, _SHALLOW)
    moments = LogMoments(Steps.of(total, log_budget))
    tilt = 1 + _SAFE_TILT * math.sqrt(2 * depth) * moments.width
    with suppress(TooLarge):  # a guess will do
        for _ in range(_MOST_DOUBLINGS):
            if tilt >= moments.steepest[1]:
                break
            k, mean, _ = moments(np.array([tilt]))[0].tolist()
            if not (tilt - 1) * mean - k < depth:
                break
            tilt *= 2
    return tilt


def _assembled(
    whole: Steps, bulk: Counted, shells: list[Shell], mean_jumps: list[float], wanted: tuple[float, int]
) -> Jumps:
    """The measures of all choices of jumps that are not too rare, the bulk first."""
    log_budget, most = wanted
    dropped = [math.exp((most + 1) * mean - math.lgamma(most + 2)) for mean in mean_jumps]
    terms = [_term(whole, bulk, Counter())]
    for jumps in range(1, most + 1):
        for chosen, log_mass in _choices(shells, jumps):
            rare = log_mass[1] < log_budget - _RARE
            dropped = [mass + float(np.sum(np.exp(log[rare]))) for mass, log in zip(dropped, log_mass, strict=True)]
            for numbers in chosen[~rare].tolist():
                counted = Counter(shells[number] for number in numbers)
                if all(n >= _jumps_of(number, counted) for number, (_, n) in enumerate(bulk)):
                    terms.append(_term(whole, bulk, counted))
        if len(terms) > _MOST_TERMS:
            raise Unsupported("too many kinds of jumps matter for this composition")
    null, alternative = (mass * _ROUNDED for mass in dropped)
    jumping = math.exp(mean_jumps[0]) * _ROUNDED, math.exp(mean_jumps[1]) * _ROUNDED
    return Jumps(tuple(terms), (null, alternative), jumping)


def _choices(shells: list[Shell], jumps: int) -> Iterator[tuple[NDArray[np.intp], Array]]:
    """All choices of so many jumps, some at a time: the shells of each, and logs of at least its masses.

    Equal ones stand side by side: the product of how often each has come by then is that of the k_j!.
    """
    log_masses = np.array([shell.log_masses for shell in shells]).T
    choices = combinations_with_replacement(range(len(shells)), jumps)
    while some := list(islice(choices, _AT_ONCE)):
        spend(_CHOICE * len(some))
        chosen = np.array(some, dtype=np.intp)
        again, rarity = np.ones(len(some)), np.zeros(len(some))
        for place in range(1, jumps):
            again = np.where(chosen[:, place] == chosen[:, place - 1], again + 1, 1.0)
            rarity += np.log(again)
        yield chosen, np.sum(log_masses[:, chosen], axis=2) - rarity


def _term(whole: Steps, bulk: Counted, chosen: Counter[Shell]) -> Steps:
    """The measure of the runs with these jumps."""
    others: list[tuple[Step, int]] = []
    ways = [-math.lgamma(count + 1) for count in chosen.values()]
    for number, (step, n) in enumerate(bulk):
        jumps = _jumps_of(number, chosen)
        ways += [math.log(n - j) for j in range(jumps)]
        if n > jumps:
            others.append((step, n - jumps))
    others += [(shell.step, count) for shell, count in chosen.items()]
    limits = [steepest_of(step) for step, _ in others]
    steepest = max(low for low, _ in limits), min(high for _, high in limits)
    return Steps(whole.gaussian, tuple(others), steepest, (0.0, 0.0), math.fsum(ways))


def _jumps_of(number: int, chosen: Counter[Shell]) -> int:
    return sum(count for shell, count in chosen.items() if shell.part == number)


def _softness(step: SampledGaussian, place: float, tilt: float, sharpest: float) -> float:
    """Of an edge: the largest with which e^(tilt L) does not carry the density beyond a cut there away.

    Nodes reach as far as it might; and those of narrower edges are closer.
    """
    for softness in _SOFTNESSES:
        if softness > sharpest and replace(step, cut=place, softness=softness).falling_from(tilt) <= place + _STAYS:
            return softness
    return sharpest


def _edges(step: SampledGaussian, first: float, last: float, tilt: float, sharpest: float) -> list[Edge]:
    """The edges of the shells from the cut outward, up to a last one beyond which all is dropped.

    Where a tilted density falls, c mu r < x, a shell goes on to where it would rise again. Where it rises, the tilt
    that balances it has c mu r = x, (log w)'' is about x mu (1 - r) - 1, and half a width d costs d^2/2 times as much.
    """
    far = float(step.loss(np.array([first]))[0])
    edges = [Edge(first, _softness(step, first, min(tilt, _SAFE_TILT * first * first / (2 * far)), sharpest))]
    while edges[-1].place < last - _NARROWEST:
        x = edges[-1].place
        ahead = np.linspace(x, x + _FARTHEST, 300)
        posterior = step.posterior(ahead)
        rising = tilt * step.mu * posterior > _RISING * ahead
        bend = x * step.mu * (1 - float(posterior[0])) - 1
        place = last
        if rising.any() and not (bend <= 0 and rising[0]):
            width = max(_NARROWEST, _LOST / math.sqrt(max(bend, _STRAIGHT)))
            place = max(x + width, float(ahead[int(np.argmax(rising))]))
        place = last if place > last - _NARROWEST else place
        balanced = place / (step.mu * float(step.posterior(np.array([place]))[0]))
        apart = math.sqrt(((place - x) / _APART) ** 2 - edges[-1].softness ** 2)
        edges.append(Edge(place, min(_softness(step, place, min(tilt, _BEYOND * balanced), sharpest), apart)))
    return edges


def _windows(step: SampledGaussian, edges: list[Edge]) -> tuple[SampledGaussian, list[SampledGaussian]]:
    """The bulk and the shells: at each edge what is beyond it is taken from all that is before it, the last one first.

    With F_j the share beyond the j-th edge, F_J + F_(J-1) (1 - F_J) + F_(J-2) (1 - F_(J-1)) (1 - F_J) + … = 1.
    """
    ends = [*edges[1:], Edge(math.inf, edges[-1].softness)]
    shells = [
        replace(
            step,
            start=start.place,
            start_softness=start.softness,
            cut=end.place,
            softness=end.softness,
            further=tuple(edges[number:]),
        )
        for number, (start, end) in enumerate(zip(edges, ends, strict=True), start=2)
    ]
    first, *further = edges
    return replace(step, cut=first.place, softness=first.softness, further=tuple(further)), shells


def _log_masses(shell: SampledGaussian, n: int) -> tuple[float, float]:
    """Logs of n times the masses beyond the start, under P and under Q: at least those of the shell."""
    null, alternative = log_dropped(shell.mu, shell.rate, shell.start, shell.start_softness)
    return math.log(n) + null, math.log(n) + alternative


def _log_jumping(bulk: SampledGaussian, n: int) -> tuple[float, float]:
    """Logs of at least n times the masses that the bulk does not have: those beyond its cut, and a little more.

    The little must be within the allowance for the moments of the bulk.
    """
    first = Edge(bulk.cut, bulk.softness)
    overlaps = [log_overlap(bulk.mu, bulk.rate, first, further) for further in bulk.further]
    logs = np.logaddexp.reduce([bulk.log_dropped, *overlaps], axis=0)
    if logs[1] > bulk.log_dropped[1] + _ALLOWED:
        raise Unsupported("the shells of this composition lie too close to one another")
    return math.log(n) + float(logs[0]), math.log(n) + float(logs[1])
