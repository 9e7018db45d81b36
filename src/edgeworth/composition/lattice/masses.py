"""One step as finitely many positive masses whose Fourier transform is that of the step up to a given frequency.

Atoms stay what they are. A density is replaced by Gauss-Legendre nodes on panels which are so short that the integrand
e^((c+it)L) times the density is tame on an ellipse around each of them, for every |t| up to the frequency;
docs/proofs/lattice.md, section 7, has the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from edgeworth.amplification import base_loss, sampled_loss
from edgeworth.composition.lattice.outside import NOTHING, Outside, atoms_outside, outside
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

__all__ = ["Masses", "masses"]

_UNIT = 2.0**-53
_POINT, _SHARE = np.polynomial.legendre.leggauss(64)
_LOG_SHARE = np.log(_SHARE)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_LOG_REST = math.log(64 / 15 / (1 - 3.0**-2)) - 126 * math.log(3.0)  # of 64 nodes on the ellipse of parameter 3
_LONG, _TALL = 5 / 3, 4 / 3  # its half axes
_STEEPER = 1.25  # |L'| on the ellipse, at most, over L' at the right end of the panel
_FARTHEST = 38.0  # standard deviations of Gaussian noise that doubles can hold
_MOST_NODES = 2_400_000  # 20 MB an array
_SAMPLES = 20_001  # at which the lengths of the panels are chosen
_BLOCK = 2**10  # panels at a time: half a megabyte


@dataclass(frozen=True, eq=False)
class Masses:
    """Places and logarithms of P-masses, in order of the places.

    `error` bounds the error of the transform of the law tilted by the tilt asked for, over its mass; `slack` the
    distance between a place and where the mass really is; `below` and `above` are what lies outside, as in `Cells`.
    """

    place: Array
    log_mass: Array
    ends: tuple[float, float]
    below: Outside
    above: Outside
    error: float
    slack: float

    @cached_property
    def farthest(self) -> float:
        """The largest |loss|."""
        return float(max(abs(self.place[0]), abs(self.place[-1])))


class Density(NamedTuple):
    """A density in x of a base with loss `slope` x + `offset`, seen at a rate."""

    low: float
    high: float
    slope: float
    offset: float
    rate: float
    log_density: Callable[[Array], Array]
    steepness: Callable[[Array], Array]  # of the logarithm of the density
    bend: float  # of the same: its second derivative

    def loss(self, x: Array) -> Array:
        base = self.slope * x + self.offset
        return base if self.rate == 1 else sampled_loss(base, self.rate)

    def rise(self, x: Array) -> Array:
        """L'(x): the slope times the posterior of the base."""
        if self.rate == 1:
            return np.full(x.size, self.slope)
        base = np.minimum(self.slope * x + self.offset, 700.0)
        odds = self.rate * np.exp(base)
        return np.asarray(self.slope * odds / (1 - self.rate + odds))

    def bounds(self, start: Array, end: Array) -> tuple[Array, Array]:
        """At least the steepness, and L', on panels: L' rises."""
        return np.maximum(self.steepness(start), self.steepness(end)), self.rise(end)


class ReplacedDensity(NamedTuple):
    """The density phi D of a mixture, D(x) = 1 - p + p e^(-ax - a^2/2), and L' = a (r(x) + r(-x)), r rising."""

    low: float
    high: float
    law: ReplacedGaussianLoss

    @property
    def slope(self) -> float:
        """The distance of L from where it is singular is pi over this."""
        return self.law.shift

    @property
    def bend(self) -> float:
        """Of log phi."""
        return 1.0

    def loss(self, x: Array) -> Array:
        return self.law.at(x)

    def log_density(self, x: Array) -> Array:
        return self.law.log_density(x)

    def rise(self, x: Array) -> Array:
        """L'(x)."""
        return self.law.slope(x)

    def steepness(self, x: Array) -> Array:
        """|x| of log phi, and |(log D)'| = a r(-x), which is larger by _STEEPER on the ellipse."""
        return np.asarray(np.abs(x) + _STEEPER * self.law.shift * self.law.share(-x))

    def bounds(self, start: Array, end: Array) -> tuple[Array, Array]:
        """At least the steepness, and L', on panels."""
        left = self.law.shift * self.law.share(-start)
        return (
            np.maximum(np.abs(start), np.abs(end)) + _STEEPER * left,
            left + self.law.shift * self.law.share(end),
        )


@singledispatch
def masses(loss: PrivacyLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    """The masses of one step between the losses of `reach`."""
    del tilt, frequency
    if not loss.is_atomic:
        raise Unsupported(
            f'method="lattice" knows no masses for {type(loss).__name__}; use method="auto", which falls back on others'
        )
    place, log_mass = loss.nodes().held()
    room = 1e-12 * float(np.max(np.abs(place)))  # the ends of the range are themselves atoms
    inside = (place >= reach[0] - room) & (place <= reach[1] + room)
    if not inside.any():
        inside[int(np.argmin(np.abs(place - reach[0])))] = True
    first, last = (int(k) for k in np.flatnonzero(inside)[[0, -1]])
    # What lies outside is counted from the end of the range, not from the last atom: nearer to where it is.
    low = min(float(place[first]), reach[0]) if first > 0 else float(place[0])
    high = max(float(place[last]), reach[1]) if last < place.size - 1 else float(place[-1])
    below, above = (
        atoms_outside(log_mass[part], place[part], end, endless=math.isinf(loss.support[side]))
        for side, part, end in ((0, slice(first), low), (1, slice(last + 1, None), high))
    )
    place, log_mass = place[first : last + 1], log_mass[first : last + 1]
    error = (64 + 4 * float(np.max(np.abs(log_mass)))) * _UNIT
    farthest = max(abs(low), abs(high))
    return Masses(place, log_mass, (low, high), below, above, error, 16 * _UNIT * farthest)


@masses.register
def _(loss: GaussianLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    ends = tuple(np.clip((np.array(reach) + loss.mu**2 / 2) / loss.mu, -_FARTHEST, _FARTHEST + loss.mu).tolist())
    density = _gaussian(loss.mu, 1.0, ends[0], ends[1])
    return _finished(loss, _nodes(density, tilt, frequency), _ends(density), [])


@masses.register
def _(loss: LaplaceLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    density = _laplace(loss.theta, 1.0, max(reach[0], -loss.theta), min(reach[1], loss.theta))
    return _finished(loss, _nodes(density, tilt, frequency), _ends(density), _laplace_atoms(loss.theta, loss, reach))


@masses.register
def _(loss: SampledLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    base, p = loss.base, loss.rate
    if loss.is_atomic or not isinstance(base, GaussianLoss | LaplaceLoss):
        return masses.dispatch(PrivacyLoss)(loss, reach, tilt, frequency)
    low, high = (float(end) for end in base_loss(np.array(reach), p))
    if isinstance(base, GaussianLoss):
        shift = base.mu / 2
        low, high = (min(max(end / base.mu + shift, -_FARTHEST), _FARTHEST + base.mu) for end in (low, high))
        density = _gaussian(base.mu, p, low, high)
        return _finished(loss, _nodes(density, tilt, frequency), _ends(density), [])
    density = _laplace(base.theta, p, max(low, -base.theta), min(high, base.theta))
    return _finished(loss, _nodes(density, tilt, frequency), _ends(density), _laplace_atoms(base.theta, loss, reach))


@masses.register
def _(loss: ReplacedLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    """The right half from the base; the left half is its mirror image, with the masses that Q has on the right."""
    base, p = loss.base, loss.rate
    if loss.is_atomic or not isinstance(base, GaussianLoss | LaplaceLoss):
        return masses.dispatch(PrivacyLoss)(loss, reach, tilt, frequency)
    top = max(-reach[0], reach[1])
    high = float(base_loss(np.array([top]), p)[0])
    if isinstance(base, GaussianLoss):
        density = _gaussian(base.mu, p, base.mu / 2, min(high / base.mu + base.mu / 2, _FARTHEST + base.mu))
        atoms = []
    else:
        density = _laplace(base.theta, p, 0.0, min(high, base.theta))
        atoms = _laplace_atoms(base.theta, loss, (math.inf, top))
    place, log_mass, error = _nodes(density, abs(tilt) + 1, frequency)
    for at, log_weight in atoms:
        place, log_mass = np.append(place, at), np.append(log_mass, log_weight)
    end = atoms[0][0] if atoms else _ends(density)[1]
    centre = ([0.0], [math.log(loss.at_zero)]) if loss.at_zero > 0 else ([], [])
    below, above, alternative_below, _ = (float(side[0]) for side in base.distribution(np.zeros(1)))
    error += 8 * _UNIT / max(loss.at_zero, 1e-300) * (below + alternative_below + above)
    log_mass = np.concatenate([(log_mass + place)[::-1], centre[1], log_mass])
    place = np.concatenate([-place[::-1], centre[0], place])
    return _finished(loss, (place, log_mass, error), (-end, end), [])


@masses.register
def _(loss: ReplacedGaussianLoss, reach: tuple[float, float], tilt: float, frequency: float) -> Masses:
    farthest = _FARTHEST + loss.shift
    low, high = np.clip(loss.place(np.array(reach)), -farthest, farthest).tolist()
    density = ReplacedDensity(low, high, loss)
    place, log_mass, error = _nodes(density, tilt, frequency)
    exponents = loss.shift * (loss.shift + max(-low, high))
    return _finished(loss, (place, log_mass, error + 8 * exponents * _UNIT), _ends(density), [])


def _gaussian(mu: float, rate: float, low: float, high: float) -> Density:
    return Density(low, high, mu, -mu * mu / 2, rate, lambda x: -0.5 * x * x - _LOG_ROOT_TWO_PI, np.abs, 1.0)


def _laplace(theta: float, rate: float, low: float, high: float) -> Density:
    """In the loss of the base: e^(-(x + theta)/2)/4 on |x| < theta."""
    return Density(
        low,
        high,
        1.0,
        0.0,
        rate,
        lambda x: -0.5 * (x + theta) - 2 * math.log(2),
        lambda x: np.full(x.size, 0.5),
        0.0,
    )


def _laplace_atoms(theta: float, loss: PrivacyLoss, reach: tuple[float, float]) -> list[tuple[float, float]]:
    """The atoms at both ends of the support that lie within the range."""
    least, greatest = loss.support
    room = 1e-12 * (abs(least) + abs(greatest))
    both = [(least, -math.log(2)), (greatest, -theta - math.log(2))]
    return [both[0]] * (reach[0] <= least + room) + [both[1]] * (reach[1] >= greatest - room)


def _ends(density: Density | ReplacedDensity) -> tuple[float, float]:
    ends = density.loss(np.array([density.low, density.high]))
    return float(ends[0]), float(ends[1])


def _panels(density: Density | ReplacedDensity, tilt: float, frequency: float) -> Array:
    """Edges of panels, each about as short as its own place asks for."""
    x = np.linspace(density.low, density.high, _SAMPLES)
    rise = density.rise(x)
    wanted = density.steepness(x) / 2 + density.bend / 1.2 + density.slope / 0.225
    wanted = 0.5 * (wanted + (frequency / 48 + abs(tilt)) * rise)
    done = np.concatenate([[0.0], np.cumsum(0.5 * (wanted[1:] + wanted[:-1]) * np.diff(x))])
    count = math.ceil(1.02 * float(done[-1])) + 1
    if count * _POINT.size > _MOST_NODES:
        raise ComputationFailed(f"{count * _POINT.size} nodes for one step are more than {_MOST_NODES}")
    edges = np.interp(np.linspace(0.0, float(done[-1]), count + 1), done, x)
    edges[0], edges[-1] = density.low, density.high
    return np.asarray(edges)


def _nodes(density: Density | ReplacedDensity, tilt: float, frequency: float) -> tuple[Array, Array, float]:
    """Losses and logarithms of masses at the nodes, and the relative error of the transform."""
    if not density.high > density.low:
        return np.empty(0), np.empty(0), 0.0
    edges = _panels(density, tilt, frequency)
    half = 0.5 * np.diff(edges)
    place, log_mass = np.empty((half.size, _POINT.size)), np.empty((half.size, _POINT.size))
    for start in range(0, half.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        x = (edges[:-1][part] + half[part])[:, None] + half[part][:, None] * _POINT
        place[part] = density.loss(x.ravel()).reshape(x.shape)
        log_mass[part] = density.log_density(x.ravel()).reshape(x.shape) + (np.log(half[part])[:, None] + _LOG_SHARE)
    steep, rise = density.bounds(edges[:-1], edges[1:])
    on_ellipse = half * (_LONG * steep + _STEEPER * ((_LONG + _TALL) * abs(tilt) + _TALL * frequency) * rise)
    on_ellipse += 0.5 * density.bend * (_TALL * half) ** 2
    on_panel = half * (steep + abs(tilt) * rise) + 0.5 * density.bend * half**2
    if density.slope * float(np.max(half)) * _TALL > 0.3:
        raise ComputationFailed("a panel is too long for the loss to be analytic around it")
    error = math.exp(min(_LOG_REST + float(np.max(on_ellipse + on_panel)), 0.0))
    error += (64 + 8 * float(np.max(np.abs(edges))) ** 2 * density.bend) * _UNIT
    return place.ravel(), log_mass.ravel(), error


def _finished(
    loss: PrivacyLoss,
    nodes: tuple[Array, Array, float],
    ends: tuple[float, float],
    atoms: list[tuple[float, float]],
) -> Masses:
    place, log_mass, error = nodes
    if not place.size + len(atoms):
        raise ComputationFailed("no mass that doubles can hold lies in the range of a step")
    for at, log_weight in atoms:
        left = place.size == 0 or at <= place[0]
        place = np.concatenate([[at], place] if left else [place, [at]])
        log_mass = np.concatenate([[log_weight], log_mass] if left else [log_mass, [log_weight]])
        ends = (at, ends[1]) if left else (ends[0], at)
    below, above = outside(loss, *ends)
    support = loss.support
    if ends[0] <= support[0]:
        below = NOTHING
    if ends[1] >= support[1]:
        above = NOTHING
    farthest = max(abs(ends[0]), abs(ends[1]))
    return Masses(place, log_mass, ends, below, above, error, 16 * _UNIT * farthest)


def far_left(loss: PrivacyLoss) -> float:
    """The logarithm of the P-mass of a sample of Gaussian noise that lies left of all its nodes."""
    sampled = isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss)
    return float(log_ndtr(-_FARTHEST)) if sampled else -math.inf
