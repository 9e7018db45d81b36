"""The paper's Numerical: delta_n on a grid of losses, from delta_0 by n integrations against Q.

    delta_0(eps) = max(1 - e^eps, 0),   delta_(k+1)(eps) = integral of q(x) delta_k(eps - L(x)) dx     (with the missing q)

On an even grid eps_j = jh the floor of eps_j - L is eps_j - h ceil(L/h): the n roundings commute with the n integrals, and
the recursion is the n-fold convolution of the law of h ceil(L/h) under Q, applied to delta_0. That is how it is computed
here: one Fourier transform for each different step, a power, one transform back. The cost does not grow with n.

Rounding L up (the paper's floor) raises delta, rounding it down lowers it, so both together enclose the truth; the
interpolated variant splits the mass of each cell between its ends, keeps the mean of L under Q, and bounds nothing. What the
grid leaves out and what rounding adds is in the certificate; `docs/proofs/recursion.md` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import fft

from edgeworth.composition.result import ComposedCurve, nothing_ran, with_disclosure
from edgeworth.curves import Certificate, Identity, PiecewiseLinear

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

    Rounding = Literal["up", "down", "interpolate"]
    Progress = Callable[[str, int, int], None]

__all__ = ["Grid", "GridLaw", "compose", "convolve"]

_UNIT = 2.0**-53
_FFT_CONSTANT = 8.0  # of the bound C u log2(N) on the relative l2 error of one transform; see the proofs
_DISTRIBUTION_ERROR = 1e-15  # of one value of Phi, exp or expm1 and the few operations around it, absolute
_REACH = 9.0  # standard deviations beyond the means of both laws that the grid covers
_DEFAULT_POINTS = 2**16


@dataclass(frozen=True, slots=True)
class Grid:
    """The losses first*h, (first+1)*h, …: `size` of them."""

    h: float
    first: int
    size: int

    @property
    def losses(self) -> Array:
        """The grid points."""
        return self.h * np.arange(self.first, self.first + self.size)

    @classmethod
    def covering(cls, total: TotalLoss, points: int) -> Grid:
        """An even grid over the bulk of the total loss under P and under Q, within its support."""
        cumulants = total.cumulants(2)
        low = cumulants.null[0] - _REACH * math.sqrt(cumulants.null[1])
        high = cumulants.alternative[0] + _REACH * math.sqrt(cumulants.alternative[1])
        # Sampled losses have a long right tail under both laws; a quarter more on that side is cheap.
        high += 0.25 * (high - low)
        support = total.support
        low, high = max(low, support[0]), min(high, support[1])
        h = (high - low) / (points - 8)
        first = math.floor(low / h) - 2
        return cls(h, first, points)


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Masses under Q on a grid; what fell off the grid on either side; a bound on the error of any delta."""

    grid: Grid
    mass: Array
    escaped: float
    rounding: float

    def tradeoff(self, correction: float) -> PiecewiseLinear:
        """The trade-off function of these masses, with delta raised by `correction` (lowered where negative).

        Vertices: beta_k = sum of masses up to l_k, alpha_k = sum of e^-l times the masses beyond. Where the curve
        of the masses leaves [0, 1 - alpha] the hull of what is inside is kept: f <= g implies f = f** <= g**.
        """
        losses = self.grid.losses
        ratio = np.exp(-losses)
        above = np.concatenate([np.cumsum(self.mass[::-1])[::-1], [0.0]])
        alpha = np.concatenate([np.cumsum((self.mass * ratio)[::-1])[::-1], [0.0]])
        beta = np.concatenate([[0.0], np.cumsum(self.mass)])
        if correction > 0:
            beta, power = np.maximum(beta - correction, 0.0), above + correction
        else:
            beta, power = beta - correction, above + correction
        inside = alpha <= 1
        return PiecewiseLinear.hull(
            alpha[inside][::-1],
            beta[inside][::-1],
            power=power[inside][::-1],
            start=min(1.0, max(0.0, 1.0 - max(correction, 0.0))),
        )


def rounded_masses(loss: PrivacyLoss, grid: Grid, rounding: Rounding) -> Array:
    """Masses of one step under Q on the multiples of h from -size/2 to size/2, those beyond moved to the ends."""
    half = grid.size // 2
    edges = grid.h * np.arange(-half, half + 1)
    below, above = loss.distribution(edges)[2:]
    cells = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))  # Q[l_j < L <= l_(j+1)]
    cells = np.maximum(cells, 0.0)
    mass = np.zeros(2 * half + 1)
    if rounding == "up":
        mass[1:] += cells
    elif rounding == "down":
        at_edge = _atoms_on(loss, edges)
        mass[:-1] += cells - at_edge[1:]
        mass += at_edge
    else:
        upper = _upper_share(loss, edges, cells)
        mass[1:] += cells * upper
        mass[:-1] += cells * (1 - upper)
    mass[0] += below[0]
    mass[-1] += above[-1]
    return mass


def _atoms_on(loss: PrivacyLoss, edges: Array) -> Array:
    """Q[L = l_j] for atoms that lie on the grid exactly: rounding down leaves them where they are."""
    if not loss.is_atomic:
        return np.zeros(edges.size)
    nodes = loss.nodes()
    atom = np.exp(nodes.log_weight + nodes.loss)
    masses = np.zeros(edges.size)
    place = np.searchsorted(edges, nodes.loss)
    hit = (place < edges.size) & (edges[np.minimum(place, edges.size - 1)] == nodes.loss)
    np.add.at(masses, place[hit], atom[hit])
    return masses


def _upper_share(loss: PrivacyLoss, edges: Array, cells: Array) -> Array:
    """The share of each cell's mass that goes to its upper end: where the mean of L under Q lies in the cell.

    Trapezoidal in the distribution function at four points inside the cell, exact for a smooth one up to h^3.
    """
    inner = edges[:-1, None] + np.diff(edges)[:, None] * np.array([0.125, 0.375, 0.625, 0.875])
    below = loss.distribution(inner.ravel())[2].reshape(inner.shape)
    start = loss.distribution(edges[:-1])[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = (below - start[:, None]).mean(axis=1) / cells  # mean of the conditional cdf = 1 - mean position
    return np.where(cells > 1e-14, np.clip(1 - filled, 0.0, 1.0), 0.5)


def convolve(total: TotalLoss, grid: Grid, rounding: Rounding, progress: Progress | None = None) -> GridLaw:
    """The law of the sum of the rounded losses on the grid: powers of Fourier transforms, one for each step."""
    half = grid.size // 2
    size = fft.next_fast_len(2 * half + 1, real=True)
    spectrum: Array | complex = np.ones(size // 2 + 1, dtype=complex)
    error, offset = 0.0, 0
    steps = []
    for done, (loss, n) in enumerate(total.parts):
        mass = rounded_masses(loss, grid, rounding)
        steps.append((mass, n))
        transform = fft.rfft(mass, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            spectrum = spectrum * np.where(transform == 0, 0.0, np.exp(n * np.log(transform)))
        offset += n * -half
        share = _FFT_CONSTANT * _UNIT * math.log2(size) * float(np.linalg.norm(mass)) * math.sqrt(size)
        error += n * (share + _DISTRIBUTION_ERROR)
        if progress is not None:
            progress("recursion", done + 1, len(total.parts))
    circular = np.maximum(fft.irfft(np.asarray(spectrum), size), 0.0)
    positions = (np.arange(grid.first, grid.first + grid.size) - offset) % size
    mass = np.where(np.arange(grid.size) < size, circular[positions], 0.0)
    error += _FFT_CONSTANT * _UNIT * math.log2(size) * math.sqrt(size) + grid.size * _UNIT
    return GridLaw(grid, mass, _escaped(steps, grid, half), error)


def _escaped(steps: list[tuple[Array, int]], grid: Grid, half: int) -> float:
    """At least the mass of the rounded sum outside the grid, by Chernoff's inequality on either side."""
    losses = grid.h * np.arange(-half, half + 1)
    scale = 1.0 / max(grid.h * grid.size / 20, 1e-300)
    sides = []
    for sign, end in ((1.0, grid.first + grid.size - 1), (-1.0, -grid.first)):
        best = 1.0
        for c in scale * 1.5 ** np.arange(-8, 16):
            exponent = -c * grid.h * end
            for mass, n in steps:
                with np.errstate(over="ignore"):
                    growth = float(np.sum(mass * np.expm1(np.minimum(sign * c * losses, 700.0))))
                exponent += n * math.log1p(max(growth + float(np.sum(mass)) - 1.0, -1 + 1e-300))
            best = min(best, math.exp(min(exponent, 0.0)))
        sides.append(best)
    return sum(sides)


def compose(
    total: TotalLoss, *, degree: int = 2, points: int = _DEFAULT_POINTS, progress: Progress | None = None
) -> ComposedCurve:  # the degree is the expansions' own
    """The enclosure by rounding up and down, with the interpolated variant as the value."""
    del degree
    if nothing_ran(total):
        curve = with_disclosure(Identity(), total)
        return ComposedCurve(curve, Certificate("recursion", certified=True, sources={}), curve, curve)
    grid = Grid.covering(total, points)
    up, down, middle = (convolve(total, grid, r, progress) for r in ("up", "down", "interpolate"))
    slack = up.escaped + up.rounding
    lower = with_disclosure(up.tradeoff(slack), total)
    upper = with_disclosure(down.tradeoff(-(down.escaped + down.rounding)), total)
    value = with_disclosure(middle.tradeoff(0.0), total)
    sources = {
        "grid step": grid.h,
        "mass outside the grid": up.escaped,
        "rounding of transforms and distribution functions": up.rounding,
    }
    if not total.is_exact:
        note = "the densities are black boxes: their cell masses are sums over quadrature nodes, not bounds"
        return ComposedCurve(value, Certificate("recursion", certified=False, sources=sources, notes=(note,)))
    return ComposedCurve(value, Certificate("recursion", certified=True, sources=sources), lower, upper)
