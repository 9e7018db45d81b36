"""How much the law of a tilted sample of Gaussian noise grows off the real line, on Im x = y.

What the trapezoidal rule leaves out is e^(-2 pi y/h) of that. Proved in docs/proofs/contour.md, section 5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour.certified_moment import NATS

if TYPE_CHECKING:
    from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    from edgeworth.losses.law import Array

__all__ = ["HIGHEST", "bend_of_turned", "is_steep", "strip_growth", "turned_by"]

_CELLS = np.linspace(0.0, 1.0, 150)
HIGHEST = 0.57  # of pi: there and below, the sums in the bound far out are as exact as the weights
_STEEP = 30.0  # nats that a tilt to the left adds there
_LOW = 200.0  # a frequency, times an angle
_MOST_BEND = 1e6  # nats: a cell of so much says nothing


def strip_growth(step: SampledGaussian, c: float, frequency: float, y: Array, window: tuple[float, float]) -> Array:
    """At least the log of the integral of |w(x + iy)| for the frequency, relative to that of w(x); for each rising y.

    At a steep tilt theta = mu y must not be beyond pi/2.
    """
    theta = step.mu * y
    # A wide strip has to look far: at high frequencies each has its own cells.
    looking = theta[-1:] if math.isinf(step.cut) or frequency * theta[-1] < _LOW else theta
    first, last = np.array([_strip_range(step, c, frequency, one, window) for one in looking.tolist()]).T
    x = first[:, None] + (last - first)[:, None] * _CELLS
    cells = _steep_cells if is_steep(step, c) else _cells
    above, below = cells(step, c, theta[:, None], x)
    above = above + frequency * np.minimum(theta[:, None], np.tan(theta)[:, None] * step.posterior(x[:, 1:]))
    most = above.max(axis=1)
    # Exponents that underflow are slow: above they are raised, below left out.
    log_above = most + np.log(np.exp(np.maximum(above - most[:, None], -700.0)).sum(axis=1))
    with np.errstate(divide="ignore"):  # too coarse a grid sees nothing, and says inf
        log_below = np.log(np.exp(below, where=below > -700.0, out=np.zeros(below.shape)).sum(axis=1))
    return np.asarray(step.strip_factor * y * y / 2 + log_above - log_below)


def _cells(step: SampledGaussian, c: float, theta: Array, x: Array) -> tuple[Array, Array]:
    """Logs of bounds of |w| on Im x = y and of w on every cell: |e^(cL)| grows by cos(theta/2)^c at most where c < 0.

    The larger end above, the smaller below, and what a bend of the exponent can add between them.
    """
    every = x.ravel()  # its last is its largest: the widest strip looks farthest
    exponent = (c * step.loss(every) + step.log_density(every)).reshape(x.shape)
    exponent -= exponent.max(axis=1, keepdims=True)
    bend = (x[:, 1] - x[:, 0]) ** 2 * step.bend(c) / 4
    above = np.maximum(exponent[:, 1:], exponent[:, :-1]) + bend[:, None]
    if c < 0:
        above = above + c * np.log(np.cos(theta / 2))
    return above, np.minimum(exponent[:, 1:], exponent[:, :-1])


def _steep_cells(step: SampledGaussian, c: float, theta: Array, x: Array) -> tuple[Array, Array]:
    """Logs of bounds of the means of |w| on Im x = y and of w on every cell, for c < 0: both exponents are concave.

    Chords above, with the e^(B gap^2/8) that a bend of at most B adds; below the middle of the chord, by Jensen's
    inequality.
    """
    every = x.ravel()
    exponent = (c * step.loss(every) + step.log_density(every)).reshape(x.shape)
    exponent -= exponent.max(axis=1, keepdims=True)
    posterior = step.posterior(x)
    grown = exponent + turned_by(c, theta, posterior)
    bend = step.strip_factor + bend_of_turned(step, c, theta, np.minimum(posterior[:, 1:], 0.5))
    gap = (x[:, 1] - x[:, 0])[:, None]
    above = np.logaddexp(grown[:, 1:], grown[:, :-1]) - math.log(2) + np.minimum(gap * gap * bend / 8, _MOST_BEND)
    return above, 0.5 * (exponent[:, 1:] + exponent[:, :-1])


def is_steep(step: SampledGaussian, c: float) -> bool:
    """Whether a tilt to the left makes so much of cos(theta/2)^c that growth is counted cell by cell; without a cut."""
    highest = min(HIGHEST * math.pi, 12.0 * step.mu)
    return c < 0 and step.is_whole and c * math.log(math.cos(highest / 2)) > _STEEP


def turned_by(c: float, theta: float | Array, posterior: float | Array) -> Array:
    """Log |e^(cL)| on Im x = y less that on the real line: |1 - r + r e^(i theta)|^2 = 1 - 4 r (1-r) sin^2(theta/2)."""
    return np.asarray(0.5 * c * np.log1p(-4 * posterior * (1 - posterior) * np.sin(0.5 * theta) ** 2))


def bend_of_turned(step: SampledGaussian, c: float, theta: float | Array, posterior: Array) -> Array:
    """At least |c (Re L(x + iy))''| for every posterior up to this one, and for all of them if it is 1/2.

    It is at most |c| mu^2 |rho (1 - rho)|, rho = r e^(i theta)/(1 - r + r e^(i theta)).
    """
    turning = posterior * (1 - posterior)
    return np.asarray(abs(c) * step.mu**2 * turning / (1 - 4 * turning * np.sin(0.5 * theta) ** 2))


def _strip_range(
    step: SampledGaussian, c: float, frequency: float, theta: float, window: tuple[float, float]
) -> tuple[float, float]:
    """Ends beyond which w e^rise, rise = |t| min(theta, r tan theta), has less than e^-NATS of its integral."""
    rise = frequency * math.tan(theta)
    there = step.posterior_at(window[0])
    first = min(rise * there, frequency * theta)  # left of the window it is at most this
    if is_steep(step, c):
        first += float(turned_by(c, theta, min(there, 0.5)))
    left = window[0] - math.sqrt(2 * (NATS + first))
    deep = math.sqrt(2 * NATS)
    right = max(window[1], min(c * step.mu, step.falling_from(c))) + deep + math.sqrt(2 * frequency * theta)
    if math.isinf(step.cut):
        return left, right
    # The rise has a slope of at most t tan(theta) mu r, as if the tilt were that much steeper.
    far = max(window[1], step.falling_from(max(c, 0.0) + rise))
    return left, min(right, far + deep, max(far, step.cut) + 14 * step.softness)
