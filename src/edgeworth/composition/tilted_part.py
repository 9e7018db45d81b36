"""One step tilted by e^(cL): quadrature weights in x, and the numbers that bound its characteristic function.

For a Poisson sample of Gaussian noise, L(x) = log(1 - p + p e^(mu x - mu^2/2)) with x ~ N(0, 1) under P. The
trapezoidal rule in x converges exponentially, at a rate set by the strip in which the integrand is analytic. Every
bound is proved in docs/proofs/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.errors import TooLarge
from edgeworth.losses import GaussianLoss, SampledLoss
from edgeworth.losses.moments import excess

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

__all__ = ["NATS", "SUM_ROUNDING", "TiltedPart", "tilt_part"]

_UNIT = 2.0**-53
SUM_ROUNDING = 64 * _UNIT  # of a pairwise sum and its sines, relative to the sum of the terms' sizes
NATS = 46.0  # e^-46 = 1e-20: what each error of the quadrature may leave, relative to the peak
_MOST_POINTS = 60_000
_LARGEST_MU = 8.0
_LARGEST_BLOCK = 1_000_000
_STRIPS = (0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.4, 0.6, 0.85)  # candidates, as shares of theta = pi/2


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """One step tilted by e^(cL): quadrature weights, and the numbers that bound its characteristic function."""

    count: int
    loss: Array
    weight: Array
    """Weights of the tilted law, normalised."""
    noise: Array
    """Relative rounding error of each weight: the exponents c L - x^2/2 carry their own ulps."""
    log_moment: float
    """log E_P[e^(cL)]."""
    log_moment_error: float
    """Bound on its rounding error."""
    quadrature: float
    """Bound on the error of phi(t) by the quadrature in x, for |t| up to the frequency that was asked for."""
    mass_left: Array
    """Upper bounds of the tilted mass left of each node of an increasing sequence, the first one 0."""
    variation_right: Array
    """Total variation of w/L' right of the same nodes, so that |phi(t)| <= mass_left + variation_right/|t|."""

    @property
    def variation(self) -> float:
        """That of the whole line; inf where no such bound is known."""
        return float(self.variation_right[0])

    def far_bound(self, t: float) -> float:
        """At least |phi| at t and beyond: the best split of the line."""
        return float(np.min(self.mass_left + self.variation_right / t))

    def characteristic(self, t: Array) -> tuple[Array, Array]:
        """phi(t) - 1 = -2 sum v sin^2(tL/2) + i sum v sin(tL) with v the weights, and a bound on its error.

        Small losses make small terms: nothing of the size of one ulp of 1 is ever added.
        """
        values = np.empty(t.size, dtype=complex)
        error = np.empty(t.size)
        block = max(1, _LARGEST_BLOCK // self.loss.size)
        # Each weight is off by its own noise and by that of the normalisation; an angle tL by its own ulps.
        noise = self.weight * (self.noise + float(np.sum(self.weight * self.noise)) + SUM_ROUNDING)
        turned = 3 * _UNIT * float(np.sum(self.weight * np.abs(self.loss)))
        for start in range(0, t.size, block):
            part = slice(start, start + block)
            angle = t[part, None] * self.loss
            half = np.sin(angle / 2)
            values[part].real = -2 * np.sum(self.weight * half * half, axis=1)
            values[part].imag = np.sum(self.weight * np.sin(angle), axis=1)
            error[part] = np.sum(noise * np.minimum(np.abs(angle), 2.0), axis=1)
        return values, self.quadrature + error + turned * np.abs(t)

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance and fourth central moment of the tilted law."""
        mean = float(np.sum(self.weight * self.loss))
        square = (self.loss - mean) ** 2
        return mean, float(np.sum(self.weight * square)), float(np.sum(self.weight * square * square))


def tilt_part(loss: PrivacyLoss, count: int, c: float, frequency: float, nats: float = NATS) -> TiltedPart:
    """The part tilted by c, its quadrature good for frequencies up to the given one."""
    if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
        return _tilt_sampled_gaussian(loss.base.mu, loss.rate, count, c, frequency, nats)
    # A tilt as steep as the frequency makes panels short enough for the oscillation.
    steepest = max(abs(c), 1.0) + frequency
    if not loss.is_atomic and steepest * (loss.support[1] - loss.support[0]) > _MOST_POINTS:
        raise TooLarge("the quadrature of the loss would need too many points")
    nodes = loss.nodes((-steepest, steepest))
    exponent = c * nodes.loss + nodes.log_weight
    weight = np.exp(exponent - float(np.max(exponent)))
    log_moment, error = _log_moment(nodes.loss, nodes.log_weight, c)
    quadrature = 0.0 if loss.is_atomic else 1e-15
    weight /= float(np.sum(weight))
    noise = _noise(nodes.loss, nodes.log_weight, c)
    unknown = np.zeros(1), np.full(1, math.inf)
    return TiltedPart(count, nodes.loss, weight, noise, log_moment, error, quadrature, *unknown)


def _tilt_sampled_gaussian(
    mu: float, rate: float, count: int, c: float, frequency: float, nats: float = NATS
) -> TiltedPart:
    """Noisy SGD: the trapezoidal rule in x, with the strip and window that the frequency needs.

    On the line Im x = y, with theta = mu y < pi/2 and r the posterior of Q, |e^((c+it)L)| grows from the real line
    by at most e^(|t| min(theta, r tan theta)), and by cos(theta/2)^c where c < 0.
    """
    window = _window(mu, rate, c)
    best = None
    for share in _STRIPS:
        y = min(share * 0.5 * math.pi / mu, math.sqrt(2 * NATS))
        growth = _strip_growth(mu, rate, c, frequency, y, window)
        h = 2 * math.pi * y / (nats + growth)
        if best is None or h > best[0]:
            best = h, y, growth
    assert best is not None
    h, y, growth = best
    if (window[1] - window[0]) / h > _MOST_POINTS:
        raise TooLarge(f"the quadrature of the loss would need {(window[1] - window[0]) / h:.0f} points")
    x = np.asarray(h * np.arange(math.floor(window[0] / h), math.ceil(window[1] / h) + 1), dtype=np.float64)
    loss = _sampled_loss(mu, rate, x)
    exponent = c * loss - 0.5 * x * x
    weight = np.exp(exponent - float(np.max(exponent)))
    total = float(np.sum(weight))
    log_weight = math.log(h / math.sqrt(2 * math.pi)) - 0.5 * x * x
    log_moment, log_moment_error = _log_moment(loss, log_weight, c)
    error = 4.2 * math.exp(growth - 2 * math.pi * y / h)  # both sides of the strip, and the normalisation
    edge = float(weight[0] + weight[-1]) / total / h  # density at the ends; beyond, it falls faster than e^-|x|
    weight /= total
    splits = _splits(mu, rate, c, x, weight, h)
    noise = _noise(loss, log_weight, c)
    return TiltedPart(count, loss, weight, noise, log_moment, log_moment_error, error + 2 * edge, *splits)


def _noise(loss: Array, log_weight: Array, c: float) -> Array:
    """Relative rounding error of e^(cL + log weight): some ulps of each exponent, and of e^ itself."""
    return np.asarray(_UNIT * (8 + 4 * np.abs(c * loss) + 3 * np.abs(log_weight)))


def _log_moment(loss: Array, log_weight: Array, c: float) -> tuple[float, float]:
    """Log E_P[e^(cL)] without the cancellation of 1 + small, and a bound on its rounding error."""
    if abs(c) * float(np.max(np.abs(loss))) < 600.0:
        weight = np.exp(log_weight)
        raised, plain = weight * excess(c * loss), c * weight * excess(loss)
        gain = float(np.sum(raised - plain))
        noise = _noise(loss, log_weight, c) + _noise(loss, log_weight, 1.0) + SUM_ROUNDING
        error = float(np.sum(noise * (np.abs(raised) + np.abs(plain))))
        return math.log1p(gain), error / (1 + gain) + 2 * _UNIT * abs(math.log1p(gain))
    value = _log_sum(c * loss + log_weight)
    worst = float(np.max(_noise(loss, log_weight, c)[c * loss + log_weight > value - NATS]))
    return value, worst + SUM_ROUNDING + 4 * _UNIT * abs(value)


def _posterior(mu: float, rate: float, x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + (1 - rate) / rate * np.exp(np.clip(mu * mu / 2 - mu * x, -700, 700))))


def _sampled_loss(mu: float, rate: float, x: Array) -> Array:
    """L = log(1 - p + p e^(mu x - mu^2/2)), accurate where it is small and where it is large."""
    base = mu * x - mu * mu / 2
    small = np.log1p(rate * np.expm1(np.minimum(base, 40.0)))
    return np.where(base <= 40.0, small, base + math.log(rate) + (1 - rate) / rate * np.exp(-np.maximum(base, 40.0)))


def _window(mu: float, rate: float, c: float) -> tuple[float, float]:
    """Ends beyond which the laws tilted by c, and by 0 and 1 as K needs them, are below e^-NATS of their peaks."""
    far = math.sqrt(2 * (NATS + 10)) + 1
    x = np.linspace(min(0.0, c * mu) - far, max(1.0, c) * mu + far, 2000)
    loss = _sampled_loss(mu, rate, x)
    ends = []
    for tilt in {c, 0.0, 1.0}:
        exponent = tilt * loss - 0.5 * x * x
        kept = np.flatnonzero(exponent > np.max(exponent) - NATS - 4)
        ends.append((float(x[max(kept[0] - 1, 0)]), float(x[min(kept[-1] + 1, x.size - 1)])))
    return min(end[0] for end in ends), max(c * mu + 2.0, *(end[1] for end in ends))


def _strip_growth(mu: float, rate: float, c: float, frequency: float, y: float, window: tuple[float, float]) -> float:
    """At least the log of the integral of |w(x + iy)| for the frequency, relative to that of w(x)."""
    theta = mu * y
    reach = math.sqrt(2 * (NATS + frequency * theta))
    x = np.linspace(window[0] - reach, max(window[1], c * mu) + reach, 600)
    step = float(x[1] - x[0])
    exponent = c * _sampled_loss(mu, rate, x) - 0.5 * x * x
    rise = frequency * np.minimum(theta, _posterior(mu, rate, x) * math.tan(theta))
    # On each cell the larger end above, the smaller below, and what a bend of the exponent can add between them.
    above = _log_sum(np.maximum(exponent[1:], exponent[:-1]) + rise[1:])
    below = _log_sum(np.minimum(exponent[1:], exponent[:-1]))
    bend = step * step * (1 + abs(c) * mu * mu / 4) / 4
    return y * y / 2 + max(0.0, -c) * -math.log(math.cos(theta / 2)) + above - below + bend


def _log_sum(exponent: Array) -> float:
    top = float(np.max(exponent))
    return top + math.log(float(np.sum(np.exp(exponent - top))))


def _splits(mu: float, rate: float, c: float, x: Array, weight: Array, h: float) -> tuple[Array, Array]:
    """For every node: the mass left of it, and the total variation of w/L', L' = mu r, right of it with its jump.

    log w and log(w/L') have second derivatives within 1 + (|c|+1) mu^2/4 of 0, so an extremum between two nodes differs
    from the nearer of them by at most that times h^2/8: upper sums, raised by it, are at least the integral.
    """
    if mu > _LARGEST_MU:  # w/L' may still rise left of the window
        return np.zeros(1), np.full(1, math.inf)
    g = weight / h / (mu * _posterior(mu, rate, x))
    bend = h * h * (1 + (abs(c) + 1) * mu * mu / 4)
    right = np.concatenate([np.cumsum(np.abs(np.diff(g))[::-1])[::-1], [0.0]]) + g[-1] + g
    upper = np.concatenate([weight[:1], np.maximum(weight[1:], weight[:-1])])
    left = np.cumsum(upper) * math.exp(bend / 8)
    left[0] = 0.0  # the whole line: what the window leaves out is in the error of the quadrature
    return left, right * math.exp(bend / 2) * (1 + 1e-9)
