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
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.log_moments import LogMoments
from edgeworth.composition.sampled_gaussian import SampledGaussian, Step, Steps, cut_for, log_dropped
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss

__all__ = ["Jumps", "Shell", "applies", "sorted_runs"]

_SMALL_RATE = 0.03  # above it the far outcomes are part of the bulk
_MOST_PARTS = 3  # different samples: each has its own shells
_MOST_TERMS = 200
_FARTHEST = 45.0  # no shell begins beyond
_NARROWEST = 1.4  # of a shell: its two soft ends stay apart
_LOST = 6.0  # sqrt(8 * 4.5): at most some 4.5 nats are lost between the middle of a shell and its ends
_CONCAVE = 4.0  # x mu (1 - r) below which one more end would gain nothing
_RISING = 0.8  # c mu r/x at which a tilted density is about to rise
_SHARPEST, _SOFTEST = 0.02, 0.15
_SAFE_TILT = 1.2  # room in the guess of the tilt that a reading wants
_SHALLOW = 10.0  # nats
_DROPPED_NATS = 25.0  # what is dropped is this far below the reading
_RARE = 5.0  # nats below the budget at which the runs with given jumps are dropped
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
    """Whether there are samples of Gaussian noise at a small rate, and not too many different ones."""
    samples = [n for step, n in Steps.of(total).others if _may_jump(step)]
    return 0 < len(samples) <= _MOST_PARTS and sum(samples) > 1


def _may_jump(step: Step) -> bool:
    return isinstance(step, SampledGaussian) and step.rate < _SMALL_RATE


def sorted_runs(total: TotalLoss, log_budget: float, most: int) -> Jumps:
    """The runs with up to `most` jumps; what is dropped weighs about e^log_budget under Q, and is stated.

    The cut lies where m = most + 1 jumps or more are rarer than half of that: their mass is at most (sum of n a)^m/m!,
    a the mass beyond the cut.
    """
    whole = Steps.of(total)
    jumping = [number for number, (step, _) in enumerate(whole.others) if _may_jump(step)]
    log_far = (log_budget - math.log(2) + math.lgamma(most + 2)) / (most + 1) - math.log(len(jumping))
    tilt = 1 + _SAFE_TILT * math.sqrt(2 * max(-log_budget - _DROPPED_NATS, _SHALLOW)) * LogMoments(whole).width
    bulk, shells = list(whole.others), []
    for number in jumping:
        step, n = whole.others[number]
        assert isinstance(step, SampledGaussian)
        first = cut_for(step.mu, step.rate, log_far - math.log(n))
        if first < step.mu + 1:
            raise Unsupported("the jumps of this composition are part of its bulk")
        soft = replace(step, softness=_softness(step, first, tilt))
        bulk[number] = replace(soft, cut=first), n
        shells += [Shell(number, shell, _log_masses(shell, n)) for shell in _shells(soft, first, tilt)]
    return _assembled(whole, tuple(bulk), shells, log_budget, most)


def _assembled(whole: Steps, bulk: Counted, shells: list[Shell], log_budget: float, most: int) -> Jumps:
    """The measures of all choices of jumps that are not too rare, the bulk first."""
    mean_jumps = [_log_mean_jumps(shells, side) for side in (0, 1)]
    dropped = [math.exp((most + 1) * mean - math.lgamma(most + 2)) for mean in mean_jumps]
    terms = [_term(whole, bulk, Counter())]
    for jumps in range(1, most + 1):
        for chosen in map(Counter, combinations_with_replacement(shells, jumps)):
            rarity = math.fsum(math.lgamma(count + 1) for count in chosen.values())
            log_mass = [sum(k * shell.log_masses[side] for shell, k in chosen.items()) - rarity for side in (0, 1)]
            if log_mass[1] < log_budget - _RARE:
                dropped = [mass + math.exp(log) for mass, log in zip(dropped, log_mass, strict=True)]
            elif all(n >= _jumps_of(number, chosen) for number, (_, n) in enumerate(bulk)):
                terms.append(_term(whole, bulk, chosen))
        if len(terms) > _MOST_TERMS:
            raise Unsupported("too many kinds of jumps matter for this composition")
    null, alternative = (mass * _ROUNDED for mass in dropped)
    jumping = math.exp(mean_jumps[0]) * _ROUNDED, math.exp(mean_jumps[1]) * _ROUNDED
    return Jumps(tuple(terms), (null, alternative), jumping)


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
    limits = [step.steepest for step, _ in others]
    steepest = max(low for low, _ in limits), min(high for _, high in limits)
    return Steps(whole.gaussian, tuple(others), steepest, (0.0, 0.0), math.fsum(ways))


def _jumps_of(number: int, chosen: Counter[Shell]) -> int:
    return sum(count for shell, count in chosen.items() if shell.part == number)


def _softness(step: SampledGaussian, first: float, tilt: float) -> float:
    """Sharp enough for the tilt: e^(cL) times a soft cut at X has a peak at X + c mu s^2 if L is linear there."""
    linear_from = (step.mu**2 / 2 - math.log(step.rate)) / step.mu
    room = max(linear_from - first, 2 * _SOFTEST)
    return min(max(math.sqrt(room / (2 * tilt * step.mu)), _SHARPEST), _SOFTEST)


def _shells(step: SampledGaussian, first: float, tilt: float) -> list[SampledGaussian]:
    """The shells from the cut outward; the last one has no end.

    Where a tilted density falls, c mu r < x, a shell goes on to where it would rise again. Where it rises, the tilt
    that balances it has c mu r = x, (log w)'' is about x mu (1 - r), and half a width d costs d^2/2 times as much.
    """
    edges = [first]
    while edges[-1] < _FARTHEST:
        x = edges[-1]
        ahead = np.linspace(x, x + _FARTHEST, 300)
        posterior = step.posterior(ahead)
        rising = tilt * step.mu * posterior > _RISING * ahead
        bend = x * step.mu * (1 - float(posterior[0]))
        if (bend <= _CONCAVE and rising[0]) or not rising.any():
            break
        width = max(_NARROWEST, _LOST / math.sqrt(max(bend, 1.0)))
        edges.append(max(x + width, float(ahead[int(np.argmax(rising))])))
    return [replace(step, start=start, cut=cut) for start, cut in pairwise([*edges, math.inf])]


def _log_masses(shell: SampledGaussian, n: int) -> tuple[float, float]:
    """Logs of n times the masses beyond the start, under P and under Q: at least those of the shell."""
    null, alternative = log_dropped(shell.mu, shell.rate, shell.start, shell.softness)
    return math.log(n) + null, math.log(n) + alternative


def _log_mean_jumps(shells: list[Shell], side: int) -> float:
    """Log of the mean number of jumps: for each part what lies beyond its first edge."""
    first: dict[int, float] = {}
    for shell in shells:
        first.setdefault(shell.part, shell.log_masses[side])
    return float(np.logaddexp.reduce(list(first.values())))
