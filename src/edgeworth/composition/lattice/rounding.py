"""Two laws on lattice points that enclose one step in convex order, tilted so that the tail to be read is not small.

With X = e^L and u = e^eps, delta(eps) = E_P[(X - u)_+] is a convex function of u. A law on the points is its polygon:

- `raised`: the chords of delta between the points. Each cell's mass goes to its ends, the mean of X is kept.
- `lowered`: a convex polygon below delta, which is lowered by c_k >= 0 at the points. Within a cell delta is least when
  its mass p sits at its mean of X, a share theta of the way along its length Delta; so the chord is below delta if

      (1-theta) c_k + theta c_(k+1) >= p theta (1-theta) Delta.

  In the mass at point k that takes away

      a_(k+1) e^h - a_k (1 + e^h) + a_(k-1),      a_k = c_k/Delta_k,

  so nothing cancels. Where that leaves less than nothing the polygon is not convex, and the point is left out.

A larger law in convex order has the larger delta at every eps, in both directions, and products keep the order: see
docs/proofs/lattice.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.log_sums import log_sum
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.lattice.cells import Cells
    from edgeworth.losses.law import Array

__all__ = ["PointLaw", "log_moment", "lowered", "raised"]

_LEAST_WEIGHT = 1e-12  # of both neighbours of a cell, for them to say how it is shared
_TINY = 1e-280
_MOST_REMOVALS = 20_000  # of points of one law; those that have a law below have lost some thousand at the most
_REMOVAL = 40.0  # units of work: some microseconds
_MOST_SCALE = 0.5  # of a law that rounding may take away or add
_RUN = 2**16  # points at a time: half a megabyte
_LISTED = 2**9  # cells at a time, of a recursion that goes on until it may end
_STEEPEST = 300.0  # nats that a tilt may add from one point to the next for the law below


@dataclass(frozen=True, eq=False)
class PointLaw:
    """Masses e^(c L - log_scale) P[L = g_k] on the points of a lattice; P[...] is certain up to a factor 1 +- error."""

    first: int
    mass: Array
    log_scale: float
    error: float


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Shares and atoms times e^(c (g_k - g_0) - log_scale), k the left point of the cell."""

    left: Array
    right: Array
    atoms: Array
    grow: float  # e^(ch), from one point to the next, or the most that laws of cells may have
    step: float  # e^h


def log_moment(cells: Cells, tilt: float) -> float:
    """K(c) = log E[e^(cL)] of the raised law, without what it has at +-inf."""
    return _scale(cells, tilt) + tilt * (cells.offset + cells.first * cells.h)


def _end_masses(cells: Cells) -> Array:
    """Logarithms of what the raised law puts on its end points for the mass outside.

    Right of the last point B: the P-mass at B, and Q - e^B P of Q at +inf. Left of the first point A, mirrored: the
    Q-mass at A, which is e^-A Q of P, and the rest of P at -inf.
    """
    with np.errstate(divide="ignore"):
        start = cells.offset + cells.first * cells.h
        return np.array([np.log(cells.below[1]) - start, np.log(cells.above[0])])


def _scale(cells: Cells, tilt: float) -> float:
    """The logarithm of the tilted mass of the raised law, from some thousand points at a time."""
    steep, sums = tilt * cells.h, [_end_masses(cells) + tilt * cells.h * np.array([0, cells.log_atoms.size - 1])]
    for start in range(0, cells.log_atoms.size, _RUN):
        atoms, left, right = (
            array[start : start + _RUN] for array in (cells.log_atoms, cells.log_left, cells.log_right)
        )
        rise = steep * np.arange(start, start + atoms.size)
        terms = [left + rise[: left.size], right + (rise[: right.size] + steep), atoms + rise]
        sums.append(np.array([log_sum(np.concatenate(terms))]))
    return log_sum(np.concatenate(sums))


def _tilted(cells: Cells, tilt: float, log_scale: float) -> _Tilted:
    rise = tilt * cells.h * np.arange(cells.log_atoms.size) - log_scale
    made = [log_share + rise[: log_share.size] for log_share in (cells.log_left, cells.log_right, cells.log_atoms)]
    with np.errstate(under="ignore"):
        left, right, atoms = (np.exp(exponent, out=exponent) for exponent in made)
    steep = max(min(tilt * cells.h, _STEEPEST), -_STEEPEST)
    return _Tilted(left, right, atoms, math.exp(steep), math.exp(cells.h))


def _exponent_error(cells: Cells, tilt: float, log_scale: float) -> float:
    """Of e^(log p + c k h - log_scale) with the logarithms rounded, where the result is at least e^-745."""
    largest = abs(tilt) * cells.h * cells.log_atoms.size + abs(log_scale)
    logs = (cells.log_left, cells.log_right, cells.log_atoms)
    deepest = -min(float(np.min(log, initial=0.0, where=log > -np.inf)) for log in logs)
    return 2.0**-53 * (8 * largest + min(64 + 8 * deepest, 4000.0))


def raised(cells: Cells, tilt: float) -> PointLaw:
    """Each cell's mass on its ends; what lies outside on the end points as far as that keeps the order."""
    log_scale = _scale(cells, tilt)
    rise = tilt * cells.h * np.arange(cells.log_atoms.size) - log_scale
    with np.errstate(under="ignore"):
        mass = np.exp(cells.log_atoms + rise)
        mass[:-1] += np.exp(cells.log_left + rise[:-1])
        mass[1:] += np.exp(cells.log_right + rise[1:])
        mass[[0, -1]] += np.exp(_end_masses(cells) + rise[[0, -1]])
    error = cells.error + cells.tail_error + _exponent_error(cells, tilt, log_scale)
    return PointLaw(cells.first, mass, log_scale + tilt * (cells.offset + cells.first * cells.h), error)


def lowered(cells: Cells, tilt: float, *, widened: bool = False, forward: bool = False) -> PointLaw:
    """The polygon below delta; what lies outside is dropped, which lowers delta in both directions.

    Each mass is lowered by its rounding error, and the law scaled down by what the rounding of c can have raised it.
    `widened` raises them instead: then E[min(X, u)] is at least that of the true law within the range.
    `forward` lowers delta(eps) alone, which the left end need not keep the mean of X for.
    """
    log_scale = _scale(cells, tilt)
    law = _tilted(cells, tilt, log_scale)
    error = cells.error + _exponent_error(cells, tilt, log_scale)
    log_scale += tilt * (cells.offset + cells.first * cells.h)
    if not (law.left.any() or law.right.any()):
        return PointLaw(cells.first, law.atoms, log_scale, error)
    if abs(tilt) * cells.h > _STEEPEST:
        raise ComputationFailed(f"a step of {cells.h:g} is too long for a tilt of {tilt:g}; the lattice needs another")
    error += 2.0**-48  # of the sums
    mass, gross, a = _convex_polygon(law, cells.h, tilt, forward=forward)
    sure = gross * (error if widened else -error)
    sure += mass
    # Doubles below 1e-290 are not accurate relative to themselves: they are dropped, or made so large.
    sure[(sure < _TINY) & (gross > 0)] = _TINY if widened else 0.0
    np.maximum(sure, 0.0, out=sure)
    scale = 4 * error * (1 + _largest_ratio(sure, a, cells.h, tilt))
    if not scale < _MOST_SCALE:
        raise ComputationFailed("rounding outweighs the law below this one; the lattice needs another step or tilt")
    sure *= 1 + scale if widened else 1 - scale
    return PointLaw(cells.first, sure, log_scale, 0.0)


def _largest_ratio(mass: Array, a: Array, h: float, tilt: float) -> float:
    """How many times c_k can be E[(X - e^(g_k))_+] or E[(e^(g_k) - X)_+] of the lowered law where these are not 0.

    At least one neighbour of a point with mass bounds each of them from below.
    """
    (held,) = np.nonzero(mass)
    if held.size < 2:
        return 0.0
    steps = tilt * h * np.diff(held)
    with np.errstate(over="ignore", under="ignore"):
        right = a[held[:-1]] / (mass[held[1:]] * np.exp(-steps))
        left = a[held[1:]] * math.exp(h) / (mass[held[:-1]] * np.exp(steps))
    return float(max(np.max(right), np.max(left)))


def _convex_polygon(law: _Tilted, h: float, tilt: float, *, forward: bool) -> tuple[Array, Array, Array]:
    """Masses >= 0: where leaving out points reaches an end, more of the first or last cells are joined there."""
    joined, left = [0, 0], _MOST_REMOVALS
    while True:
        mass, gross, a = _polygon(law, joined, free=forward and joined[0] == 0)
        side, removed = _remove_reflex(mass, gross, h, tilt, left)
        spend(0.8 * law.atoms.size + 10 * sum(joined) + _REMOVAL * removed)
        if side is None:
            return mass, gross, a
        joined[side] = 2 * joined[side] + 1
        left -= removed


def _needs(law: _Tilted) -> tuple[Array, Array]:
    """How much each cell lowers its left and right end, over Delta: more where there is more mass to lower.

    p theta (1-theta) at both ends would do, but beyond a cliff that is more than delta itself. With weights m at the
    ends p theta (1-theta) m/((1-theta) m_left + theta m_right) does as well; m is the lesser of the cells that meet.
    """
    needs = np.empty(law.left.size), np.empty(law.left.size)
    whole = np.zeros(law.left.size + 2)
    np.add(law.left, law.right, out=whole[1:-1])
    for start in range(0, law.left.size, _RUN):
        run = slice(start, start + _RUN)
        p, m = whole[1:-1][run], np.minimum(whole[:-1][start : start + _RUN + 1], whole[1:][start : start + _RUN + 1])
        needs[0][run], needs[1][run] = _some_needs(p, law.left[run], law.right[run], m)
    return needs


def _some_needs(p: Array, left: Array, right: Array, m: Array) -> tuple[Array, Array]:
    """Those of some cells of mass p with these shares, m the weights at their ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        theta, rest = (np.where(p > 0, share / p, 0.0) for share in (right, left))
        at_left, at_right = (np.where(p > 0, weight / p, 0.0) for weight in (m[:-1], m[1:]))
        mean = rest * at_left + theta * at_right
        alone = ~(mean > _LEAST_WEIGHT)
        sag = p * rest * theta
        return np.where(alone, sag, sag * (at_left / mean)), np.where(alone, sag, sag * (at_right / mean))


def _polygon(law: _Tilted, joined: list[int], *, free: bool) -> tuple[Array, Array, Array]:
    """Masses of the polygon through delta - c, the sums of the terms that each is a difference of, and c_k/Delta_k."""
    left_need, right_need = _needs(law)
    size = law.atoms.size
    a = np.zeros(size)
    a[:-1] = left_need
    a[1:] = np.maximum(a[1:], right_need * (law.grow / law.step))
    start, start_mass, left_a = _start(law, left_need, joined[0])
    stop, stop_mass, right_a = _stop(law, right_need, joined[1])
    if stop - start < 3:
        raise ComputationFailed("too few cells for a law below this one; the lattice needs a smaller step")
    a[stop - 1], a[stop] = right_a
    if free:
        start, start_mass = _free_start(law, a)
    else:
        a[start], a[start + 1] = left_a
    del left_need, right_need
    mass, gross = np.zeros(size), np.zeros(size)
    for begin in range(start + 1, stop, _RUN):
        inner = slice(begin, min(begin + _RUN, stop))
        up = law.atoms[inner] + law.left[inner] + law.right[begin - 1 : inner.stop - 1] * law.grow
        after = a[begin + 1 : inner.stop + 1] * (law.step / law.grow)
        before = a[begin - 1 : inner.stop - 1] * law.grow
        mass[inner] = up - ((after - a[inner]) + (before - a[inner] * law.step))
        gross[inner] = up + after + before + a[inner] * (1 + law.step)
    mass[start], mass[stop] = start_mass, stop_mass
    gross[[start, stop]] = mass[[start, stop]]
    if free:
        gross[start] += 2 * float(a[start + 1]) * law.step / law.grow
    return mass, gross, a


def _free_start(law: _Tilted, a: Array) -> tuple[int, float]:
    """The first point where the mean of X need not be kept: the line on the far left is lowered by its c as well.

    It is lowered as far as leaves no negative mass on the first point.
    """
    start = int(np.flatnonzero((law.left > 0) | (law.atoms[:-1] > 0))[0])
    held = float(law.atoms[start] + law.left[start])
    taken = float(a[start + 1]) * law.step / law.grow
    a[start] = max(float(a[start]), taken - held)
    return start, max(held + float(a[start]) - taken, 0.0)


def _start(law: _Tilted, need: Array, joined: int) -> tuple[int, float, tuple[float, float]]:
    """Where the polygon leaves the line that delta is on the far left: point j, its mass, and a_j and a_(j+1).

    All mass F left of the point stays on it. With R = E[(e^(g_j) - X)_+], c_j = R and c_(j+1) = R + (left share of the
    first cell) Delta, which is enough as soon as the second cell needs no more.
    """
    (held,) = np.nonzero((law.left > 0) | (law.atoms[:-1] > 0))
    j, r, below = int(held[0]), 0.0, float(law.atoms[int(held[0])])
    least, step, grow = j + joined, law.step, law.grow
    while j + 1 < need.size:
        run = slice(j, min(j + _LISTED, need.size - 1))
        after = slice(run.start + 1, run.stop + 1)
        rows = (row.tolist() for row in (need[after], law.left[run], law.right[run], law.atoms[after]))
        for needed, left, right, atom in zip(*rows, strict=True):
            if j >= least and not needed * step / grow > r + left:
                return j, below, (r, (r + left) / step * grow)
            r = (r + below + left) / step * grow
            below = (below + (left + right)) * grow + atom
            j += 1
    return j, below, (r, (r + float(law.left[j])) / step * grow)


def _stop(law: _Tilted, need: Array, joined: int) -> tuple[int, float, tuple[float, float]]:
    """The mirror image: point J, all mass right of it, and a_(J-1) and a_J."""
    (held,) = np.nonzero((law.right > 0) | (law.atoms[1:] > 0))
    j = int(held[-1]) + 1
    r, above = 0.0, float(law.atoms[j])  # at point j: E[(X - e^(g_j))_+]/Delta_(j-1), and the mass from j on
    greatest, step, grow = j - joined, law.step, law.grow
    while j >= 2:
        run = slice(max(j - _LISTED, 1), j)
        before = slice(run.start - 1, run.stop - 1)
        rows = (row[::-1].tolist() for row in (need[before], law.left[run], law.right[run], law.atoms[run]))
        for needed, left, right, atom in zip(*rows, strict=True):
            if j <= greatest and not needed / step * grow > r / grow + right:
                return j, above, (r / grow + right, r / step)
            r = (r / grow + above / grow + right) * step
            above = above / grow + (left + right) + atom
            j -= 1
    return j, above, (r / grow + float(law.right[j - 1]), r / step)


def _remove_reflex(mass: Array, gross: Array, h: float, tilt: float, most: int) -> tuple[int | None, int]:
    """Leave out points of negative mass, which their neighbours share so that mass and mean of X are kept.

    The polygon is above the chord of the neighbours at such a point: replaced by the chord, it is lower. Returns the
    end (0 left, 1 right) that would have to go, or None when all masses are >= 0; and how many points were left out.
    """
    todo = [int(k) for k in np.flatnonzero(mass < 0)]
    if not todo:
        return None, 0
    (held,) = np.nonzero(mass)
    place = np.zeros(mass.size, dtype=np.int64)
    place[held] = np.arange(held.size)
    before, after = np.arange(-1, held.size - 1), np.arange(1, held.size + 1)
    removed = 0
    while todo:
        k = todo.pop()
        if not mass[k] < 0:
            continue
        i = int(place[k])
        if before[i] < 0 or after[i] >= held.size:
            return (0 if before[i] < 0 else 1), removed
        if removed == most:
            spend(_REMOVAL * removed)
            raise ComputationFailed("no polygon below this law was found; the lattice needs a smaller step")
        left, right = int(held[before[i]]), int(held[after[i]])
        to_right = math.expm1((k - left) * h) / math.expm1((right - left) * h)
        for neighbour, share in ((left, 1 - to_right), (right, to_right)):
            part = share * float(mass[k]) * math.exp(tilt * h * (neighbour - k))
            mass[neighbour] += part
            gross[neighbour] -= part
            if mass[neighbour] < 0:
                todo.append(neighbour)
        mass[k], gross[k] = 0.0, 0.0
        after[before[i]], before[after[i]] = after[i], before[i]
        removed += 1
    return None, removed
