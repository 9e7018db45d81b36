"""The law of one tilted sample of Gaussian noise on a line Im x = y: few nodes, and good for every frequency.

On the real line e^(itL) turns faster the larger t is, and the trapezoidal rule needs a node for every turn. Higher up
it falls as well: |e^(itL)| = e^(-t Im L) with Im L > 0, most where L turns most. The rule on Im x = y errs by what the
integrand is on Im x = 0 and on Im x = 2y, and neither grows with t. Proved in docs/proofs/contour.md, section 5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr, wofz

from edgeworth.composition.contour.quadrature import even_nodes
from edgeworth.composition.contour.strip import is_steep, strip_growth, turned_by
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Edge, SampledGaussian
    from edgeworth.losses.law import Array

    Complex = NDArray[np.complex128]

__all__ = ["Raised", "raised"]

_UNIT = 2.0**-53
_HEIGHTS = 0.8 ** np.arange(40)  # candidates for y, in units of the highest: this, or this share of pi/(2 mu)
_HIGHEST, _WIDEST = 1.2, 0.95
_MOST_GROWTH = 1.0  # nats by which the sizes of the weights may add up to more than 1
_FADDEEVA = 2e-13  # relative error of the complex error function
_EDGE = 4.0  # units of work for a node at an edge
_LARGE = 40.0  # of a log-odds: beyond, L is almost linear
_SOME = 2.0 ** (0.5 * np.arange(-39, 1))  # frequencies, relative to the highest


class Raised(NamedTuple):
    """Losses and weights at the nodes x + iy, the weights normalised."""

    loss: Complex
    weight: Complex
    size: Array
    """At least the sizes of the weights."""
    noise: Array
    """Rounding error of each weight, relative to its size."""
    blur: Array
    """Rounding error of each loss."""
    quadrature: float
    """Bound on the error of phi(t), for every t >= 0."""

    def error(self, t: Array, rounding: float, turning: float) -> Array:
        """Of the sums of v (e^(itL) - 1), in which |e^(itL) - 1| and its pieces are at most min(|tL|, 4).

        Terms are rounded relative to that. Angles tL are off by `turning` of themselves and by t times the blur, which
        e^(-t Im L/2) damps. All of it grows with t: the bound at the next of some frequencies holds.
        """
        whole = float(self.size @ self.noise) + rounding * float(np.sum(self.size))  # of the normalisation
        share, length = self.size * (self.noise + (whole + rounding)), np.abs(self.loss)
        turned = self.size * (self.blur + turning * length)
        linear = float(share @ length + np.sum(turned)) * t
        some = (float(np.max(t)) * _SOME)[:, None]
        longest = 2 / (math.e * np.maximum(self.loss.imag, 1e-300))  # at least t e^(-t Im L/2)
        bound = np.minimum(some * length, 4.0) @ share + np.minimum(some, longest) @ turned
        return np.asarray(self.quadrature + np.minimum(linear, bound[np.searchsorted(some[:, 0], t)]))


def raised(step: SampledGaussian, c: float, nats: float, window: tuple[float, float]) -> Raised:
    """The nodes above the window, at the height that lets them be farthest apart."""
    y = np.asarray(min(_WIDEST * 0.5 * math.pi / step.mu, _HIGHEST) * _HEIGHTS, dtype=np.float64)
    growth, doubled = _growth(step, c, y, window), _growth(step, c, 2 * y, window)
    spacing = np.where(growth < _MOST_GROWTH, 2 * math.pi * y / (nats + doubled + math.log(2)), 0.0)
    best = int(np.argmax(spacing))
    h, height = float(spacing[best]), float(y[best])
    x = even_nodes(h, window)
    (loss, blur), exponent = _loss(step, x, height), -0.5 * x * x - 1j * height * x  # e^(y^2/2) is left out
    noise = 24 * _UNIT + _UNIT * (2 * np.abs(c * loss) + 5 * np.abs(exponent)) + abs(c) * blur
    if not step.is_whole:
        log_window, window_noise = _log_window(step, x, height)
        exponent, noise = exponent + log_window, noise + window_noise
    real = c * step.loss(x) + step.log_density(x)
    top = float(np.max(real))
    weight = np.exp(exponent + c * loss - top)
    whole = complex(np.sum(weight))
    if is_steep(step, c):
        real += turned_by(c, step.mu * height, step.posterior(x))
    else:
        real += float(growth[best]) - height * height / 2
    size = np.exp(real - top + (math.log(2 * math.pi) / 2 + 1e-9))
    size /= abs(whole)
    edge = float(size[0] + size[-1]) / h  # density at the ends; beyond, it falls faster than e^-|x|
    return Raised(loss, weight / whole, size, noise, blur, 4.2 * math.exp(-nats) + 2 * edge)


def _growth(step: SampledGaussian, c: float, y: Array, window: tuple[float, float]) -> Array:
    """At least the log of the integral of |w(x + iy)| over that of w(x), for falling y.

    |e^(cL)| grows by cos(mu y/2)^c at most where c < 0; at steep tilts a closer look is taken where mu y <= pi/2.
    """
    growth = np.asarray(step.strip_factor * y * y / 2 + min(c, 0.0) * np.log(np.cos(step.mu * y / 2)))
    low = step.mu * y <= 0.5 * math.pi
    if is_steep(step, c) and low.any():
        growth[low] = np.minimum(growth[low], strip_growth(step, c, 0.0, y[low][::-1], window)[::-1])
    return growth


def _loss(step: SampledGaussian, x: Array, height: float) -> tuple[Complex, Array]:
    """L(x + iy) = log(1 - p + p e^(b + i theta)) with b = mu x - mu^2/2 and theta = mu y, and its rounding error.

    Of 1 + z, z = p (e^(b + i theta) - 1), it is taken where that is not far from 1, else of a sum that cannot cancel.
    """
    p, theta, base = step.rate, step.mu * height, step.mu * x - step.mu * step.mu / 2
    near = np.minimum(base, _LARGE)
    odds = p * np.exp(near)
    re = p * (np.expm1(near) * math.cos(theta) - 2 * math.sin(theta / 2) ** 2)
    whole, im = (1 - p) + odds * math.cos(theta), odds * math.sin(theta)
    square = 2 * re + re * re + im * im
    log_size = np.where(square > -0.5, 0.5 * np.log1p(np.maximum(square, -0.5)), np.log(np.hypot(whole, im)))
    rest = (1 - p) / p * np.exp(-np.maximum(base, _LARGE) - 1j * theta)
    loss = np.where(base <= _LARGE, log_size + 1j * np.arctan2(im, whole), base + 1j * theta + math.log(p) + rest)
    moved = 1.5 * step.posterior(x) * (2 * step.mu * np.abs(x) + step.mu * step.mu)  # by the rounding of b
    return loss, np.asarray(_UNIT * (80 * np.abs(loss) + moved))


def _log_window(step: SampledGaussian, x: Array, height: float) -> tuple[Complex, Array]:
    """Log chi(x + iy), the sum over all edges, and its error relative to the bound on |chi|."""
    spend(_EDGE * x.size * len(step.edges))
    logs, noise = zip(*(_log_edge(edge, sign, x, height) for edge, sign in step.edges), strict=True)
    return np.sum(logs, axis=0), np.sum(noise, axis=0)


def _log_edge(edge: Edge, sign: float, x: Array, height: float) -> tuple[Complex, Array]:
    """Log Phi(w), w = +-(x + iy - X)/s, and its error relative to e^(y^2/(2 s^2)) Phi(Re w).

    Phi(-w) = e^(-w^2/2) wofz(i w/sqrt(2))/2 where Re w >= 0; inside the edge Phi(w) is 1 less that.
    """
    w = sign * (x - edge.place + 1j * height) / edge.softness
    right = w.real < 0
    outer = np.where(right, -w, w)
    log_outer = -0.5 * outer * outer + np.log(0.5 * wofz(1j * outer / math.sqrt(2)))
    log_window = np.where(right, log_outer, np.log(1 - np.exp(np.where(right, -1.0, log_outer))))
    # A node off by an ulp moves w; 1 less a small number is known to ulps.
    moved = _UNIT * (2 * np.abs(x) + 4 * edge.softness * np.abs(w)) * edge.log_share(x, sign)[1]
    unsure = np.where(right, 1.0, 2 * np.exp(log_ndtr(-np.abs(w.real))))
    return log_window, np.asarray(moved + 4 * _UNIT + _FADDEEVA * unsure)
