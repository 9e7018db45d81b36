"""One step on a lattice of losses: how each cell's mass is shared between its two ends.

The points are g_k = offset + (first + k) h. With X = e^L, a cell [g_k, g_(k+1)] gives to its right end the share

    right = E_P[(X - e^(g_k))/(e^(g_(k+1)) - e^(g_k)); L in the cell],

to its left end the rest: the mass and the mean of X stay what they are. Both shares are integrals of positive functions
and are computed as such, by Gauss-Legendre rules inside the cell, so every one of them is accurate relative to
itself. In a Poisson sample X is affine in the X of the base, so the share of a point of the cell depends only on where
it lies between the images of the ends in the base. Logarithms are kept: a mass of e^-800 counts after tilting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from edgeworth.composition.lattice.outside import NOTHING, TAIL_ERROR, Outside, atoms_outside, outside
from edgeworth.composition.lattice.placed import room, with_atoms
from edgeworth.composition.lattice.shares import (
    gaussian_error,
    gaussian_shares,
    laplace_shares,
    replaced_gaussian_shares,
    sampled_gaussian_shares,
)
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import (
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    ReplacedGaussianLoss,
    ReplacedLoss,
    SampledLoss,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses.law import Array

__all__ = ["Cells", "anchor", "cells", "period"]

_UNIT = 2.0**-53
_LARGEST_MU = 30.0  # up to which the panels of a wide cell resolve its integrand
_MOST_CELLS = 2**22  # left of a range, too, where a sample begins at 0


@dataclass(frozen=True, eq=False)
class Cells:
    """Logarithms of the shares of every cell, of the atoms on the points, and what lies outside.

    `above` has the masses right of the last point B under P and Q, and Q - e^B P = E[(X - e^B)_+] to its own relative
    precision; `below` those left of the first point A under P and Q, and P - e^-A Q. `error` bounds the
    relative error of every share and atom, `slack` the distance between a point and where an atom on it really is.
    """

    h: float
    offset: float
    first: int
    log_left: Array
    log_right: Array
    log_atoms: Array
    below: Outside
    above: Outside
    error: float
    slack: float

    @property
    def tail_error(self) -> float:
        """The relative error of the masses outside."""
        return TAIL_ERROR if max(*self.below, *self.above) > 0 else 0.0

    @property
    def last(self) -> int:
        """The number of the last point."""
        return self.first + self.log_left.size

    @property
    def points(self) -> Array:
        """The losses of the points."""
        return np.asarray(self.offset + self.h * np.arange(self.first, self.last + 1))


def anchor(loss: PrivacyLoss) -> float:
    """The offset of the points: an atom of the law, the end of its support, or 0."""
    lattice = loss.lattice
    if lattice is not None:
        return lattice.offset
    if isinstance(loss, ReplacedLoss):
        return 0.0
    least = loss.support[0]
    return least if math.isfinite(least) else 0.0


def period(loss: PrivacyLoss) -> float | None:
    """The length that must be a multiple of h for all atoms to lie on points; None where there is nothing to align."""
    if loss.lattice is not None:
        return loss.lattice.spacing if loss.lattice.log_null.size > 1 else None
    least, greatest = loss.support
    if not math.isfinite(greatest) or greatest == least:
        return None
    return greatest if isinstance(loss, ReplacedLoss) else greatest - least


@singledispatch
def cells(loss: PrivacyLoss, h: float, reach: tuple[float, float]) -> Cells:
    """The cells of one step between the losses of `reach`, widened to points and cut to the support."""
    if loss.lattice is not None:
        return _lattice_cells(loss, h, reach)
    if loss.is_atomic:
        return _atomic_cells(loss, h, reach)
    raise Unsupported(
        f'method="lattice" knows no cells for {type(loss).__name__}; use method="auto", which falls back on others'
    )


@cells.register
def _(loss: GaussianLoss, h: float, reach: tuple[float, float]) -> Cells:
    if loss.mu == 0:
        return _lattice_like(h, 0.0, 0, np.zeros(1))
    _check_mu(loss.mu)
    first, last = math.floor(reach[0] / h), max(math.ceil(reach[1] / h), math.floor(reach[0] / h) + 1)
    k = np.arange(first, last)
    x = np.asarray(k * (h / loss.mu) + loss.mu / 2, dtype=np.float64)
    shares = gaussian_shares(x, np.full(k.size, h / loss.mu), loss.mu)
    return _finished(loss, h, 0.0, first, shares, None, gaussian_error(x, h / loss.mu))


@cells.register
def _(loss: LaplaceLoss, h: float, reach: tuple[float, float]) -> Cells:
    if loss.theta == 0:
        return _lattice_like(h, 0.0, 0, np.zeros(1))
    first, last = _numbers(0.0, 2 * loss.theta, -loss.theta, h, reach)
    k = np.arange(first, last)
    x = np.asarray(k * (h / 2), dtype=np.float64)
    shares = laplace_shares(x, np.full(k.size, h / 2), loss.theta)
    atoms = _laplace_atoms(loss.theta)
    return _finished(loss, h, -loss.theta, first, shares, atoms, 32 * _UNIT)


@cells.register
def _(loss: SampledLoss, h: float, reach: tuple[float, float]) -> Cells:
    base, p = loss.base, loss.rate
    if isinstance(base, GaussianLoss):
        _check_mu(base.mu)
        offset = math.log1p(-p)
        if h > -offset:
            return _coarse_sample(loss, h, reach)
        first, last = _numbers(0.0, math.inf, offset, h, reach)
        edge = (1 - p) * np.expm1(h * np.arange(first, last + 1))  # X - (1-p) = p e^l, exactly 0 at the first point
        shares = sampled_gaussian_shares(edge, (1 - p) * math.expm1(h) * np.exp(h * np.arange(first, last)), base.mu, p)
        with np.errstate(divide="ignore"):
            x = np.log(edge / p) / base.mu + base.mu / 2
        return _finished(loss, h, offset, first, shares, None, gaussian_error(x[np.isfinite(x)], 1.0))
    if isinstance(base, LaplaceLoss):
        least, greatest = loss.support
        first, last = _numbers(0.0, greatest - least, least, h, reach)
        number = np.arange(first, last + 1)
        edge = p * math.exp(-base.theta) + math.exp(least) * np.expm1(h * number)
        lower = np.log(edge / p) + base.theta  # of l + theta = 2x
        length = np.log1p(math.exp(least) * math.expm1(h) * np.exp(h * number[:-1]) / edge[:-1])
        shares = laplace_shares(lower[:-1] / 2, length / 2, base.theta)
        return _finished(loss, h, least, first, shares, _laplace_atoms(base.theta, loss), 64 * _UNIT)
    return cells.dispatch(PrivacyLoss)(loss, h, reach)


@cells.register
def _(loss: ReplacedLoss, h: float, reach: tuple[float, float]) -> Cells:
    if loss.is_atomic or not isinstance(loss.base, GaussianLoss | LaplaceLoss):
        return cells.dispatch(PrivacyLoss)(loss, h, reach)
    if isinstance(loss.base, GaussianLoss):
        _check_mu(loss.base.mu)
    return _both_sides(loss, h, reach, lambda first, last: _replaced_half(loss, h, first, last))


def _replaced_half(loss: ReplacedLoss, h: float, first: int, last: int) -> tuple[Array, Array, Array, float]:
    """Shares of the cells and atoms on the points right of 0, from the base, and their relative error."""
    base, p, number = loss.base, loss.rate, np.arange(first, last + 1)
    edge = p + np.expm1(h * number)
    length = np.log1p(math.expm1(h) * np.exp(h * number[:-1]) / edge[:-1])
    lower = np.log1p(np.expm1(h * number) / p)
    if isinstance(base, GaussianLoss):
        x = lower / base.mu + base.mu / 2
        left, right = gaussian_shares(x[:-1], length / base.mu, base.mu)
        error = gaussian_error(x, 1.0)
        ends = np.full(number.size, -np.inf)
    else:
        assert isinstance(base, LaplaceLoss)
        left, right = laplace_shares((lower[:-1] + base.theta) / 2, length / 2, base.theta)
        error = 64 * _UNIT
        (_, mass), place = _laplace_atoms(base.theta)[1], loss.support[1]
        left, right, ends, _ = with_atoms(left, right, h, first, 0.0, [(place, mass)])
    below, above, alternative_below, _ = (float(side[0]) for side in base.distribution(np.zeros(1)))
    error += 8 * _UNIT / max(loss.at_zero, 1e-300) * (below + alternative_below + above)
    if first == 0:
        ends[0] = math.log(loss.at_zero) if loss.at_zero > 0 else -math.inf
    return left, right, ends, error


@cells.register
def _(loss: ReplacedGaussianLoss, h: float, reach: tuple[float, float]) -> Cells:
    def half(first: int, last: int) -> tuple[Array, Array, Array, float]:
        left, right, error = replaced_gaussian_shares(loss, h, first, last)
        return left, right, np.full(left.size + 1, -np.inf), error

    _check_mu(loss.mu)
    return _both_sides(loss, h, reach, half)


def _both_sides(
    loss: PrivacyLoss,
    h: float,
    reach: tuple[float, float],
    half: Callable[[int, int], tuple[Array, Array, Array, float]],
) -> Cells:
    """The cells of a symmetric law, of which P[L = -l] = e^l P[L = l], from those right of 0 between two numbers."""
    first, last = _span(loss.support[1], h, reach)
    start = max(first, -last, 0)
    left, right, ends, error = half(start, max(-first, last))
    at = h * np.arange(start, start + ends.size)
    lowest, whole = start, (left, right, ends)
    if first < 0:
        image = (right + at[1:])[::-1], (left + at[:-1])[::-1], (ends + at)[::-1]
        joined = tuple(np.concatenate(pair) for pair in zip((*image[:2], image[2][:-1]), whole, strict=True))
        lowest, whole = -start - left.size, (joined[0], joined[1], joined[2]) if last > 0 else image
    kept = slice(first - lowest, last - lowest)
    atoms = whole[2][first - lowest : last - lowest + 1]
    slack = 8 * _UNIT * h * max(-first, last)
    below, above = outside(loss, h * first, h * last)
    return Cells(h, 0.0, first, whole[0][kept], whole[1][kept], atoms, below, above, error, slack)


def _span(top: float, h: float, reach: tuple[float, float]) -> tuple[int, int]:
    """The first and last number of the points around a range within [-top, top], 0 among them if it is in the range."""

    def cover(end: float) -> int:
        return _numbers(0.0, top, 0.0, h, (0.0, max(end, 0.0)))[1]

    low, high = -cover(-reach[0]), cover(reach[1])
    if reach[0] > 0:
        return min(math.floor(reach[0] / h), high - 1), high
    if reach[1] < 0:
        return low, -min(math.floor(-reach[1] / h), -low - 1)
    return low, high


def _check_mu(mu: float) -> None:
    if mu > _LARGEST_MU:
        raise Unsupported(
            f'method="lattice" resolves Gaussian noise up to mu = {_LARGEST_MU:g}, here mu = {mu:g}; use method="auto"'
        )


def _numbers(least: float, greatest: float, offset: float, h: float, reach: tuple[float, float]) -> tuple[int, int]:
    """The first and last number of the points around `reach`, cut to the support offset + [least, greatest]."""
    if not 0 < h < math.inf:
        raise ComputationFailed(f"a lattice of step {h!r} holds no law")
    low, high = max(reach[0] - offset, least), min(reach[1] - offset, greatest)
    last = high / h
    last = round(last) if abs(last - round(last)) < 1e-6 else math.ceil(last)
    first = math.floor(low / h * (1 + 4 * _UNIT))
    return first, max(last, first + 1)


def _coarse_sample(loss: SampledLoss, h: float, reach: tuple[float, float]) -> Cells:
    """A sample of Gaussian noise whose whole left side lies in one cell.

    The cell ends at X = 1 - kp, a little left of the mean 1, so that the lowered law can leave the bulk there. Its left
    end gets E[(1 - kp - X)_+] = p ((1-k) Phi(x) - Phi(x - mu)) over the cell's length, with e^(mu x - mu^2/2) = 1-k.
    """
    assert isinstance(loss.base, GaussianLoss)
    mu, p = loss.base.mu, loss.rate
    k = min(0.1, 0.25 * mu)
    offset, rest = math.log1p(-k * p), 1 - k * p
    _, last = _numbers(0.0, math.inf, offset, h, reach)
    if last > _MOST_CELLS:
        raise ComputationFailed(f"a step of {h:g} makes too many cells")
    number = np.arange(last + 1)
    rise = rest * np.expm1(h * number)
    x = np.log1p(rise / p - k) / mu + mu / 2
    length = np.log1p(rest * math.expm1(h) * np.exp(h * number[:-1]) / ((1 - k) * p + rise[:-1])) / mu
    left, right = gaussian_shares(x[:-1], length, mu)
    to_left = p * float((1 - k) * ndtr(x[0]) - ndtr(x[0] - mu)) / (-math.expm1(-h) * rest)
    left = np.concatenate([[math.log(to_left)], left])
    right = np.concatenate([[math.log(float(ndtr(x[0])) - to_left)], right])
    return _finished(loss, h, offset, -1, (left, right), None, gaussian_error(x, 1.0) + 16 * _UNIT / min(mu, 1.0))


def _laplace_atoms(theta: float, image: SampledLoss | None = None) -> list[tuple[float, float]]:
    """Both atoms: loss and logarithm of the P-mass."""
    ends = (-theta, theta) if image is None else image.support
    return [(ends[0], -math.log(2)), (ends[1], -theta - math.log(2))]


def _finished(
    loss: PrivacyLoss,
    h: float,
    offset: float,
    first: int,
    shares: tuple[Array, Array],
    atoms: list[tuple[float, float]] | None,
    error: float,
) -> Cells:
    left, right, on_points, slack = with_atoms(*shares, h, first, offset, atoms or [])
    last = first + left.size
    below, above = outside(loss, offset + first * h, offset + last * h)
    least, greatest = loss.support
    if math.isfinite(least) and offset + first * h - least <= room(least, offset, h, last=False):
        below = NOTHING
    if math.isfinite(greatest) and greatest - (offset + last * h) <= room(greatest, offset, h, last=True):
        above = NOTHING
    slack += 8 * _UNIT * (abs(offset) + h * max(abs(first), abs(last)))
    return Cells(h, offset, first, left, right, on_points, below, above, error, slack)


def _lattice_like(h: float, offset: float, first: int, log_atoms: Array, error: float = 0.0) -> Cells:
    nothing = np.full(log_atoms.size - 1, -np.inf)
    slack = 8 * _UNIT * (abs(offset) + h * max(abs(first), abs(first + nothing.size)))
    return Cells(h, offset, first, nothing, nothing, log_atoms, NOTHING, NOTHING, error, slack)


def _lattice_cells(loss: PrivacyLoss, h: float, reach: tuple[float, float]) -> Cells:
    """Atoms that lie on points by construction; if h does not divide their spacing they are like any others."""
    lattice = loss.lattice
    assert lattice is not None
    stride = lattice.spacing / h
    if lattice.log_null.size > 1 and abs(stride - round(stride)) * lattice.log_null.size > 1e-6:
        return _atomic_cells(loss, h, reach)
    stride = max(round(stride), 1) if lattice.log_null.size > 1 else 1
    number = lattice.first + np.arange(lattice.log_null.size)
    with np.errstate(invalid="ignore"):
        place = np.asarray(lattice.offset + number * lattice.spacing, dtype=np.float64)
    kept = np.isfinite(lattice.log_null) & (place >= reach[0]) & (place <= reach[1])
    if not kept.any():
        kept[int(np.argmin(np.abs(place - reach[0])))] = True
    (held,) = np.nonzero(kept)
    first, last = int(held[0]), int(held[-1])
    atoms = np.full((last - first) * stride + 1, -np.inf)
    atoms[(held - first) * stride] = lattice.log_null[held]
    deepest = float(np.max(np.abs(lattice.log_null[held])))
    made = _lattice_like(h, lattice.offset, int(number[first]) * stride, atoms, (8 + 4 * deepest) * _UNIT)
    farthest = int(np.max(np.abs(number[[first, last]])))
    slack = made.slack + abs(h * stride - lattice.spacing) * farthest + 8 * _UNIT * lattice.spacing * farthest
    below, above = (
        atoms_outside(lattice.log_null[part], place[part], float(place[end]), endless=math.isinf(loss.support[side]))
        for side, part, end in ((0, slice(first), first), (1, slice(last + 1, None), last))
    )
    return Cells(h, made.offset, made.first, made.log_left, made.log_right, atoms, below, above, made.error, slack)


def _atomic_cells(loss: PrivacyLoss, h: float, reach: tuple[float, float]) -> Cells:
    """Atoms anywhere: on points where they happen to be, inside cells elsewhere."""
    offset = anchor(loss)
    place, log_mass = loss.nodes().held()
    first, last = _numbers(min(0.0, float(place[0]) - offset), max(0.0, float(place[-1]) - offset), offset, h, reach)
    nothing = np.full(last - first, -np.inf)
    atoms = list(zip(place.tolist(), log_mass.tolist(), strict=True))
    left, right, on_points, moved = with_atoms(nothing, nothing, h, first, offset, atoms)
    low, high = offset + first * h, offset + last * h
    before, behind = (np.array([room(x, offset, h, last=end) for x in place.tolist()]) for end in (False, True))
    below, above = (
        atoms_outside(log_mass[part], place[part], end, endless=math.isinf(loss.support[side]))
        for side, part, end in ((0, low - place > before, low), (1, place - high > behind, high))
    )
    error = (64 + 4 * float(np.max(np.abs(log_mass)))) * _UNIT
    slack = moved + 8 * _UNIT * (abs(offset) + h * max(abs(first), abs(last)))
    return Cells(h, offset, first, left, right, on_points, below, above, error, slack)
