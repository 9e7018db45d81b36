"""The paper's Numerical: delta_n on a grid of losses, from delta_0 by n integrations against Q.

    delta_0(eps) = max(1 - e^eps, 0),
    delta_(k+1)(eps) = integral of q(x) delta_k(eps - L(x)) dx           (the paper prints it without the q)

On an even grid eps_j = jh the floor of eps_j - L is eps_j - h ceil(L/h): the n roundings commute with the n
integrals, and the recursion is the n-fold convolution of the law of h ceil(L/h) under Q, applied to delta_0. That is
how it is computed here: one Fourier transform for each different step, a power, one transform back. The cost does
not grow with n.

Rounding L up (the paper's floor) raises delta, rounding it down lowers it, so both together enclose the truth. Masses
under Q serve the forward direction; the same with the masses under P and L reversed serves the backward one, and each
of the two bounds the other's curve where it is weak. The interpolated variant splits the mass of each cell between
its ends, keeps the mean of L under Q, and bounds nothing. What the grid leaves out and what rounding adds is in the
certificate; docs/proofs/recursion.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import fft

from edgeworth.composition import closed_form
from edgeworth.composition.estimates import clt
from edgeworth.composition.result import ComposedCurve, nothing_ran, with_disclosure
from edgeworth.curves import Certificate, Identity, PiecewiseLinear, from_points
from edgeworth.curves.extremes import larger, smaller
from edgeworth.losses import ReplacedGaussianLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

    Progress = Callable[[str, int, int], None]

Rounding: TypeAlias = Literal["up", "down", "interpolate"]
Side: TypeAlias = Literal["null", "alternative"]

__all__ = ["Grid", "GridLaw", "compose", "convolve"]

_UNIT = 2.0**-53
_FFT_CONSTANT = 8.0  # of the bound C u log2(N) on the relative l2 error of one transform; see the proofs
_DISTRIBUTION_ERROR = 1e-15  # of Phi, exp and the sums around them, absolute, at an exact argument
_NATS = 34.0  # e^-34 = 2e-15: the mass that the grid may leave out
_SMALLEST_ALPHA = 1e-300
_POWER_ULPS = 2e-15  # relative: of vertices where two lines meet
_EVALUATION = 1e-14  # relative, of a curve between its vertices and of its profile below eps = 0
_FEWEST_POINTS, _MOST_POINTS = 2**16, 2**21


@dataclass(frozen=True, slots=True)
class Grid:
    """The losses first*h, (first+1)*h, …: `size` of them."""

    h: float
    first: int
    size: int

    @property
    def losses(self) -> Array:
        """The grid points."""
        return np.asarray(self.h * np.arange(self.first, self.first + self.size), dtype=np.float64)

    @classmethod
    def covering(cls, total: TotalLoss, points: int) -> Grid:
        """An even grid over the bulk of the total loss under P and Q, within its support, with room for the drift.

        Rounding moves every step by up to h, hence the sum of n by up to n h: with a bulk of width w the grid is
        w + 2nh wide, which fixes h = w/(points - 2n).
        """
        low, high = _bulk(total)
        steps = sum(n for _, n in total.parts)
        h = (high - low) / (points - 2 * steps - 8)
        return cls(h, math.floor(low / h) - steps - 2, points)


def _bulk(total: TotalLoss) -> tuple[float, float]:
    """Losses between which both laws have all but e^-NATS of their mass, by Chernoff's inequality.

    Q[T > l] <= e^(K(1+c) - cl) and P[T < l] <= e^(K(-c) + cl) for every c > 0; the best of some dozen tilts.
    """
    width = 1 / math.sqrt(float(total.tilted(np.array([0.5]), 2, (0.0, 1.0))[0, 2]))
    tilt = np.asarray(width * 1.4 ** np.arange(-4, 13), dtype=np.float64)
    least, greatest = total.steepest
    left, right = np.unique(np.minimum(tilt, -least)), np.unique(np.minimum(tilt, greatest - 1))
    reach = -float(left[-1]), 1 + float(right[-1])
    low = float(np.max(-(total.tilted(-left, 2, reach)[:, 0] + _NATS) / left))
    high = float(np.min((total.tilted(1 + right, 2, reach)[:, 0] + _NATS) / right))
    return max(low, total.support[0]), min(high, total.support[1])


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Masses on a grid; a bound on what fell off the grid and on the error that rounding leaves in any delta."""

    losses: Array
    mass: Array
    escaped: float
    rounding: float

    def reversed(self) -> GridLaw:
        """The law of -L, which turns masses under P into those of the alternative of the backward pair."""
        return GridLaw(-self.losses[::-1], self.mass[::-1], self.escaped, self.rounding)

    def curve(self) -> PiecewiseLinear:
        """The trade-off function of the masses as they are: an estimate."""
        return self._tradeoff(0.0)

    def lower(self) -> PiecewiseLinear:
        """A lower bound of f, from losses that were rounded up."""
        return self._tradeoff(min(self.escaped + self.rounding, 1.0))

    def upper(self) -> PiecewiseLinear:
        """An upper bound of f, from losses that were rounded down."""
        return self._tradeoff(-min(self.escaped + self.rounding, 1.0))

    def _tradeoff(self, correction: float) -> PiecewiseLinear:
        """The trade-off function of these masses under Q, with delta raised by `correction` (lowered if negative).

        Vertices: 1 - beta_k = sum of the masses beyond l_k, alpha_k = sum of e^-l times them. Where the curve
        of the masses leaves [0, 1 - alpha] the hull of what is inside is kept: f <= g implies f = f** <= g**.
        """
        above = np.concatenate([np.cumsum(self.mass[::-1])[::-1], [0.0]])
        with np.errstate(divide="ignore"):
            null = np.exp(np.minimum(np.log(self.mass) - self.losses, 600.0))
        alpha = np.concatenate([np.cumsum(null[::-1])[::-1], [0.0]])
        if correction < 0:  # an upper bound of f may not gain power at an alpha that only underflowed to 0
            alpha = np.where(above > 0, np.maximum(alpha, _SMALLEST_ALPHA), alpha)
        inside = slice(None, int(np.argmax(alpha <= 1)) - 1 if alpha[0] > 1 else None, -1)
        beta = 1.0 - (above[inside] + correction)
        return PiecewiseLinear.hull(alpha[inside], beta, start=min(1.0, 1.0 - correction))


@dataclass(frozen=True, eq=False)
class StepLaw:
    """The rounded law of one step: masses on the multiples first*h, …, and the mass that was moved to the ends.

    `error` bounds the error of the distribution function at every edge of a cell.
    """

    first: int
    mass: Array
    moved: float
    error: float


def rounded_step(loss: PrivacyLoss, grid: Grid, rounding: Rounding, under: Side = "alternative") -> StepLaw:
    """The law of one step, each cell's mass at its upper end, its lower end, or shared between both."""
    first = _first_of_step(loss, grid)
    edges = np.asarray(grid.h * np.arange(first, first + grid.size), dtype=np.float64)
    below, above = _sides(loss, edges, under)
    cells = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))  # mass of l_j < L <= l_(j+1)
    cells = np.maximum(cells, 0.0)
    mass = np.zeros(grid.size)
    if rounding == "up":
        mass[1:] += cells
    elif rounding == "down":
        at_edge = _atoms_on(loss, edges, under)
        mass[:-1] += cells - at_edge[1:]
        mass += at_edge
    else:
        share = _upper_share(loss, edges, cells)
        mass[1:] += cells * share
        mass[:-1] += cells * (1 - share)
    at_first = _atoms_on(loss, edges[:1], under)[0]
    mass[0] += below[0] - (at_first if rounding == "down" else 0.0)
    mass[-1] += above[-1]
    return StepLaw(first, mass, float(below[0] - at_first + above[-1]), _distribution_error(loss, edges, under))


def _distribution_error(loss: PrivacyLoss, edges: Array, under: Side) -> float:
    """Of the distribution function at the edges: some ulps, but for samples near the end log(1-p) of their losses.

    There a computed value is the exact one at an edge some ulps away, and what those ulps can change is its error.
    """
    if not isinstance(loss, SampledLoss | ReplacedLoss | ReplacedGaussianLoss):
        return _DISTRIBUTION_ERROR
    nudged = [_sides(loss, edges * (1 + ulps), under)[0] for ulps in (-8 * _UNIT, 8 * _UNIT)]
    return _DISTRIBUTION_ERROR + float(np.max(np.abs(nudged[1] - nudged[0])))


def _sides(loss: PrivacyLoss, edges: Array, under: Side) -> tuple[Array, Array]:
    null_below, null_above, below, above = loss.distribution(edges)
    return (null_below, null_above) if under == "null" else (below, above)


def _first_of_step(loss: PrivacyLoss, grid: Grid) -> int:
    """Where the law of a step begins: at the end of its support, or half a grid before its centre."""
    cumulants = loss.cumulants(2)
    centre = 0.5 * (cumulants.null[0] + cumulants.alternative[0]) / grid.h
    start = centre - grid.size // 2
    return math.floor(max(loss.support[0] / grid.h, float(start))) - 1


def _atoms_on(loss: PrivacyLoss, edges: Array, under: Side) -> Array:
    """The masses of L = l_j for atoms that lie on the grid exactly: rounding down leaves them where they are."""
    if not loss.is_atomic:
        return np.zeros(edges.size)
    nodes = loss.nodes()
    atom = np.exp(nodes.log_weight + (nodes.loss if under == "alternative" else 0.0))
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


def convolve(
    total: TotalLoss,
    grid: Grid,
    rounding: Rounding,
    under: Side = "alternative",
    progress: Progress | None = None,
) -> GridLaw:
    """The law of the sum of the rounded losses on the grid: powers of Fourier transforms, one for each step."""
    size = fft.next_fast_len(grid.size, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    error, offset = 0.0, 0
    steps: list[tuple[StepLaw, int]] = []
    for done, (loss, n) in enumerate(total.parts):
        step = rounded_step(loss, grid, rounding, under)
        steps.append((step, n))
        transform = fft.rfft(step.mass, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            spectrum *= np.where(transform == 0, 0.0, np.exp(n * np.log(transform)))
        offset += n * step.first
        share = _FFT_CONSTANT * _UNIT * math.log2(size) * float(np.linalg.norm(step.mass)) * math.sqrt(size)
        error += n * (share + step.error)
        if progress is not None:
            progress("recursion", done + 1, len(total.parts))
    circular = np.maximum(fft.irfft(spectrum, size), 0.0)
    positions = (np.arange(grid.first, grid.first + grid.size) - offset) % size
    error += _FFT_CONSTANT * _UNIT * math.log2(size) * math.sqrt(size) + 3 * grid.size * _UNIT
    escaped = sum(n * step.moved for step, n in steps)
    escaped += sum(_beyond(steps, grid, sign) for sign in (1, -1))
    return GridLaw(grid.losses, circular[positions], min(escaped, 1.0), error)


def _beyond(steps: list[tuple[StepLaw, int]], grid: Grid, sign: int) -> float:
    """At least the mass of the rounded sum beyond the grid, on its right (sign +1) or left (-1), by Chernoff."""
    end = grid.first + grid.size - 1 if sign > 0 else grid.first
    farthest = 0
    for step, n in steps:
        held = np.flatnonzero(step.mass)
        farthest += n * (step.first + int(held[-1] if sign > 0 else held[0]))
    if sign * (end - farthest) >= 0:
        return 0.0
    best = 1.0
    for c in 20 / (grid.h * grid.size) * 2.0 ** np.arange(-4, 8):
        exponent = -sign * c * grid.h * end
        for step, n in steps:
            losses = sign * c * grid.h * np.arange(step.first, step.first + step.mass.size)
            alive = step.mass > 0
            top = float(np.max(losses[alive]))
            exponent += n * (top + math.log(float(np.sum(step.mass[alive] * np.exp(losses[alive] - top)))))
        best = min(best, math.exp(min(exponent, 0.0)))
    return best


def compose(
    total: TotalLoss, *, degree: int = 2, points: int | None = None, progress: Progress | None = None
) -> ComposedCurve:
    """The enclosure by rounding up and down, with the interpolated variant as the value."""
    del degree  # the expansions' own
    if nothing_ran(total):
        curve = with_disclosure(Identity(), total)
        return ComposedCurve(curve, Certificate("recursion", certified=True, sources={}), curve, curve)
    size = points or _points_for(sum(n for _, n in total.parts))
    if size > _MOST_POINTS or not float(total.tilted(np.array([0.5]), 2, (0.0, 1.0))[0, 2]) > 0:
        return _too_many_steps(total)  # or laws so far apart that nothing lies between them
    grid = Grid.covering(total, size)
    up, down = (convolve(total, grid, r, "alternative", progress) for r in ("up", "down"))
    # Backward, L becomes -L: its rounding up is L's rounding down, with the masses under P.
    back_up, back_down = (convolve(total, grid, r, "null", progress).reversed() for r in ("down", "up"))
    finite = larger(up.lower(), back_up.lower().inverse())
    simple = _basic_composition(total)
    lower = with_disclosure(finite if simple is None else larger(finite, simple), total)
    upper = with_disclosure(smaller(down.upper(), back_down.upper().inverse()), total)
    value = with_disclosure(convolve(total, grid, "interpolate", "alternative", progress).curve(), total)
    sources = {
        "grid step": grid.h,
        "mass outside the grid": up.escaped,
        "rounding of transforms and distribution functions": up.rounding,
    }
    if not total.is_exact:
        note = "the densities are black boxes: their cell masses are sums over quadrature nodes, not bounds"
        return ComposedCurve(value, Certificate("recursion", certified=False, sources=sources, notes=(note,)))
    return ComposedCurve(value, Certificate("recursion", certified=True, sources=sources), lower, upper, _EVALUATION)


def _basic_composition(total: TotalLoss) -> PiecewiseLinear | None:
    """A lower bound of f from delta(sum of eps_i) <= sum of delta_i(eps_i), with the eps spread evenly over the steps.

    Loose, but exact where hardly anything leaks: there one step of the grid is more than the whole loss.
    """
    curves = [(closed_form.one_step(loss), n) for loss, n in total.parts]
    profiles = [(curve.profile(), n) for curve, n in curves if curve is not None]
    if len(profiles) < len(curves):
        return None
    steps = sum(n for _, n in profiles)
    epsilon = np.concatenate([[0.0], np.geomspace(1e-12, 700.0, 300)])
    forward = sum(n * profile(epsilon / steps) for profile, n in profiles)
    backward = sum(n * profile.reverse()(epsilon / steps) for profile, n in profiles)
    room = 1 + 1e-12 * steps
    forward, backward = (np.minimum(np.minimum(delta, 1.0) * room, 1.0) for delta in (forward, backward))
    # the line of the backward direction at eps is that of the forward one at -eps
    delta = np.concatenate([forward, -np.expm1(-epsilon) + np.exp(-epsilon) * backward])
    return _lowered(from_points(np.concatenate([epsilon, -epsilon]), np.minimum(delta, 1.0), symmetric=False))


def _lowered(f: PiecewiseLinear) -> PiecewiseLinear:
    """The curve f with powers that are surely too large, though they, and what is read of them, are rounded."""
    power = np.minimum(f.vertex_power * (1 + _POWER_ULPS), 1.0)
    return PiecewiseLinear.hull(f.alpha, 1 - power, power=power, acceptance=f.acceptance, start=1 - float(power[0]))


def _points_for(steps: int) -> int:
    """Grid points so that the drift takes at most a quarter of them."""
    return max(_FEWEST_POINTS, 1 << (8 * max(steps, 1) - 1).bit_length())


def _too_many_steps(total: TotalLoss) -> ComposedCurve:
    """What can be said of more steps than any grid can round: basic composition below, perfect privacy above."""
    simple = _basic_composition(total)
    lower = with_disclosure(PiecewiseLinear([0.0, 1.0], [0.0, 0.0]) if simple is None else simple, total)
    upper = with_disclosure(Identity(), total)
    note = (
        f"more steps than a grid of {_MOST_POINTS} losses can round: the ends are basic composition and perfect privacy"
    )
    certificate = Certificate("recursion", certified=total.is_exact, sources={}, notes=(note,))
    return ComposedCurve(clt.compose(total).value, certificate, lower, upper, _EVALUATION)
