"""How far the range of every step goes: as far as one step alone can matter beside the others.

Everything that is chosen here decides only how narrow the ends are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.amplification import sampled_loss
from edgeworth.losses import GaussianLoss, ReplacedGaussianLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.lattice.plan import Goal, Parts
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["back", "reaches"]

_LEAST_VARIANCE = 1e-300
_REST = 1e-10  # of the reading: what the range of one step may cost
_NEARER = np.geomspace(1e-4, 1.0, 60)  # of the threshold, where a range may end
_SHORTEST = 1e-3  # standard deviations of the sum, of the range of a step
_FARTHEST = 38.0  # standard deviations of Gaussian noise that doubles can hold
_LARGEST_LOSS = 600.0
_LARGEST_EXPONENT = 700.0


def _deepest(loss: PrivacyLoss) -> tuple[float, float]:
    """The losses between which doubles can hold the masses."""
    if isinstance(loss, GaussianLoss):
        far = _FARTHEST * loss.mu + loss.mu**2 / 2
        return max(-far, -_LARGEST_LOSS), min(far, _LARGEST_LOSS)
    if isinstance(loss, ReplacedGaussianLoss):
        top = min(float(loss.at(np.array([_FARTHEST + loss.shift]))[0]), _LARGEST_LOSS)
        return -top, top
    if isinstance(loss, SampledLoss | ReplacedLoss) and isinstance(loss.base, GaussianLoss):
        far = _FARTHEST * loss.base.mu + loss.base.mu**2 / 2
        top = min(float(sampled_loss(np.array([far]), loss.rate)[0]), _LARGEST_LOSS)
        return (-top if isinstance(loss, ReplacedLoss) else math.log1p(-loss.rate)), top
    least, greatest = loss.support
    lattice = loss.lattice
    if lattice is not None:
        ends = lattice.offset + lattice.spacing * (lattice.first + np.array([0, lattice.log_null.size - 1]))
        return float(ends[0]), float(ends[1])
    if loss.is_atomic:  # an endless row of atoms is cut where their masses underflow
        places = loss.nodes().loss
        return float(np.min(places)), float(np.max(places))
    return least, greatest


def reaches(parts: Parts, goal: Goal, spread: float) -> list[tuple[float, float]]:
    """The range of each step: as far to the side that is read as one step alone can matter beside the others.

    Outcomes E with a step right of B > t add at least Q[E] - u P[E] to delta, and exactly that where the others cannot
    bring the sum below t again, however the step is distributed; so B need not be far beyond the threshold, and a heavy
    tail beyond it does not spoil the tilt. Where all that is right of a B below t weighs nothing beside the reading,
    the range ends there. Mirrored for the reverse.
    """
    ends = [_deepest(loss) for loss, _ in parts]
    if goal.kind == "overlap":
        return ends
    right = goal.kind == "delta"
    t = goal.greatest if right else -goal.least
    tried = t + spread * np.geomspace(0.5, 1e4, 80)
    if goal.reading > 0 and t > 0:
        tried = np.append(t * _NEARER, tried)
    lost, reading, growth = [], goal.reading, math.exp(min(t, _LARGEST_EXPONENT))
    for loss, n in parts:
        null_below, null_above, below, above = loss.distribution(np.append(tried, t) if right else -np.append(tried, t))
        weak, strong = (null_above, above) if right else (below, null_below)
        lost.append(n * np.maximum(weak * growth, np.where(np.append(tried, t) < t, strong, 0.0))[:-1])
        reading = max(reading, n * float(strong[-1] - growth * weak[-1]))
    returns = back(parts, t - tried, right=right)
    found = []
    for (least, greatest), mine in zip(ends, lost, strict=True):
        start, end = (least, greatest) if right else (-greatest, -least)
        enough = tried[mine * returns <= _REST / len(parts) * max(reading, 1e-320)]
        far = enough[(enough < end) & (enough > start + _SHORTEST * spread)]
        end = float(far[0]) if far.size else end
        found.append((least, end) if right else (-end, greatest))
    return found


def back(parts: Parts, t: Array, *, right: bool) -> Array:
    """P[T < t], or mirrored Q[-T < t], roughly: 0 beyond the support, or by Chernoff's inequality at some tilts.

    Where far outcomes on the left are too likely for these, by one of them alone.
    """
    least = sum(n * (loss.support[0] if right else -loss.support[1]) for loss, n in parts)
    moments = [loss.cumulants(2) for loss, _ in parts]
    variance = sum(n * float((m.null if right else m.alternative)[1]) for m, (_, n) in zip(moments, parts, strict=True))
    steep = np.geomspace(0.25, 30.0, 8) / math.sqrt(max(variance, _LEAST_VARIANCE))
    limit = min((-loss.steepest[0] if right else loss.steepest[1] - 1) for loss, _ in parts)
    steep = np.minimum(steep, limit)
    tilts = -steep if right else 1 + steep
    k = np.zeros(tilts.size)
    for loss, n in parts:
        k += n * loss.tilted(tilts, 2, (min(0.0, float(tilts[-1])), max(1.0, float(tilts[-1]))))[:, 0]
    bound = np.exp(np.minimum(np.min(k[:, None] + steep[:, None] * t, axis=0), 0.0))
    if math.isinf(least):
        bound = np.minimum(bound, _back_by_one(parts, t, right=right))
    return np.where(t < least, 0.0, bound)


def _back_by_one(parts: Parts, t: Array, *, right: bool) -> Array:
    """The same if one step goes half of the way, or the sum of steps that do not is normal."""
    one, variance = np.zeros(t.size), np.zeros(t.size)
    for loss, n in parts:
        null_below, _, _, above = loss.distribution(0.5 * t if right else -0.5 * t)
        one += n * (null_below if right else above)
        nodes = loss.nodes()
        share = np.exp(nodes.log_weight if right else nodes.log_weight + nodes.loss) * nodes.loss**2
        order = np.argsort(np.abs(nodes.loss))
        within = np.concatenate([[0.0], np.cumsum(share[order])])
        variance += n * within[np.searchsorted(np.abs(nodes.loss)[order], 0.5 * np.abs(t))]
    return np.asarray(np.minimum(one + np.exp(-0.125 * t * t / np.maximum(variance, _LEAST_VARIANCE)), 1.0))
