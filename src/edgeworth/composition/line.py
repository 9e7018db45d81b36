"""One vertical line Re s = c in the plane of the transform, prepared once and read many times.

With M(s) = E_P[e^(sT)], K = log M and phi(t) = M(c + it)/M(c), the characteristic function of the law tilted by e^(cT),

    delta(eps)           = 1/(2 pi i) integral of e^(K(s) + eps(1-s)) / (s(s-1)) ds        for c > 1,
    P[T > t]             = 1/(2 pi i) integral of e^(K(s) - st) / s ds                     for c > 0,
    Q[T <= t]            = 1/(2 pi i) integral of e^(K(s) - (s-1)t) / (1-s) ds             for c < 1,

and for c < 0 the first integral is e^eps times the profile of the backward direction at -eps. The trapezoidal rule with
spacing h has four errors, all bounded here: aliasing, truncation at T, the quadrature of phi, rounding. Every bound is
proved in docs/proofs/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.tail import Tail, far_end, tail_beyond
from edgeworth.errors import TooLarge
from edgeworth.losses import GaussianLoss, SampledLoss
from edgeworth.losses.moments import excess

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Line"]

_UNIT = 2.0**-53
_SUM_ROUNDING = 64 * _UNIT  # of a pairwise sum, its weights and its sines, relative to the sum of the terms' sizes
_NATS = 46.0  # e^-46 = 1e-20: what each of the four errors may leave, relative to the reading
_COARSE_NATS = 7.0  # e^-7 = 1e-3: enough for a modulus that only has to be clearly below 1
_MOST_NODES = 6000
_LARGEST_BLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """One step tilted by e^(cL): quadrature weights, and the numbers that bound its characteristic function."""

    count: int
    loss: Array
    weight: Array
    """Weights of the tilted law, normalised."""
    log_moment: float
    """log E_P[e^(cL)]."""
    log_moment_error: float
    """Bound on its rounding error."""
    quadrature: float
    """Bound on the error of phi(t) by the quadrature in x, for |t| up to the frequency that was asked for."""
    variation: float
    """Total variation of w/L', so that |phi(t)| <= variation/|t|; inf where no such bound is known."""

    def characteristic(self, t: Array) -> tuple[Array, Array]:
        """phi(t) - 1 = -2 sum v sin^2(tL/2) + i sum v sin(tL) with v the weights, and a bound on its error.

        Small losses make small terms: nothing of the size of one ulp of 1 is ever added.
        """
        values = np.empty(t.size, dtype=complex)
        size = np.empty(t.size)
        block = max(1, _LARGEST_BLOCK // self.loss.size)
        for start in range(0, t.size, block):
            part = slice(start, start + block)
            angle = t[part, None] * self.loss
            half = np.sin(angle / 2)
            values[part].real = -2 * np.sum(self.weight * half * half, axis=1)
            values[part].imag = np.sum(self.weight * np.sin(angle), axis=1)
            size[part] = np.sum(self.weight * np.minimum(np.abs(angle), 2.0), axis=1)
        return values, self.quadrature + _SUM_ROUNDING * size * (1 + np.log1p(np.abs(t) * self._largest()))

    def _largest(self) -> float:
        return float(np.max(np.abs(self.loss)))

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance and fourth central moment of the tilted law."""
        mean = float(np.sum(self.weight * self.loss))
        square = (self.loss - mean) ** 2
        return mean, float(np.sum(self.weight * square)), float(np.sum(self.weight * square * square))


def tilt_part(loss: PrivacyLoss, count: int, c: float, frequency: float, nats: float = _NATS) -> TiltedPart:
    """The part tilted by c, its quadrature good for frequencies up to the given one."""
    if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
        return _tilt_sampled_gaussian(loss.base.mu, loss.rate, count, c, frequency, nats)
    # A tilt as steep as the frequency makes panels short enough for the oscillation.
    steepest = max(abs(c), 1.0) + frequency
    nodes = loss.nodes((-steepest, steepest))
    exponent = c * nodes.loss + nodes.log_weight
    weight = np.exp(exponent - float(np.max(exponent)))
    log_moment, error = _log_moment(nodes.loss, nodes.log_weight, c)
    quadrature = 0.0 if loss.is_atomic else 1e-15
    return TiltedPart(count, nodes.loss, weight / float(np.sum(weight)), log_moment, error, quadrature, math.inf)


def _tilt_sampled_gaussian(
    mu: float, rate: float, count: int, c: float, frequency: float, nats: float = _NATS
) -> TiltedPart:
    """Noisy SGD: the trapezoidal rule in x, with the strip and window that the frequency needs.

    On the line Im x = y, with theta = mu y < pi/2 and r the posterior of Q, |e^((c+it)L)| grows from the real line
    by at most e^(|t| min(theta, r tan theta)), and by cos(theta/2)^c where c < 0.
    """
    window = _window(mu, rate, c)
    best = None
    for share in (0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.4, 0.6, 0.85):
        y = min(share * 0.5 * math.pi / mu, math.sqrt(2 * _NATS))
        growth = _strip_growth(mu, rate, c, frequency, y, window)
        h = 2 * math.pi * y / (nats + growth)
        if best is None or h > best[0]:
            best = h, y, growth
    assert best is not None
    h, y, growth = best
    x = h * np.arange(math.floor(window[0] / h), math.ceil(window[1] / h) + 1)
    loss = _sampled_loss(mu, rate, x)
    exponent = c * loss - 0.5 * x * x
    weight = np.exp(exponent - float(np.max(exponent)))
    total = float(np.sum(weight))
    log_moment, log_moment_error = _log_moment(loss, math.log(h / math.sqrt(2 * math.pi)) - 0.5 * x * x, c)
    error = 2.1 * math.exp(growth - 2 * math.pi * y / h)  # 1/(e^a - 1) <= 1.05 e^-a for a >= NATS
    edge = float(weight[0] + weight[-1]) / total / h  # density at the ends; beyond, it falls faster than e^-|x|
    weight /= total
    variation = _variation(mu, rate, c, x, weight, h)
    return TiltedPart(count, loss, weight, log_moment, log_moment_error, error + 2 * edge, variation)


def _log_moment(loss: Array, log_weight: Array, c: float) -> tuple[float, float]:
    """log E_P[e^(cL)] without the cancellation of 1 + small, and a bound on its rounding error."""
    if abs(c) * float(np.max(np.abs(loss))) < 600.0:
        weight = np.exp(log_weight)
        raised, plain = weight * excess(c * loss), c * weight * excess(loss)
        gain = float(np.sum(raised - plain))
        size = float(np.sum(np.abs(raised)) + np.sum(np.abs(plain)))
        return math.log1p(gain), _SUM_ROUNDING * size / (1 + gain)
    value = _log_sum(c * loss + log_weight)
    return value, _SUM_ROUNDING * (1 + abs(value))


def _posterior(mu: float, rate: float, x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + (1 - rate) / rate * np.exp(np.clip(mu * mu / 2 - mu * x, -700, 700))))


def _sampled_loss(mu: float, rate: float, x: Array) -> Array:
    """L = log(1 - p + p e^(mu x - mu^2/2)), accurate where it is small and where it is large."""
    base = mu * x - mu * mu / 2
    small = np.log1p(rate * np.expm1(np.minimum(base, 40.0)))
    return np.where(base <= 40.0, small, base + math.log(rate) + (1 - rate) / rate * np.exp(-np.maximum(base, 40.0)))


def _window(mu: float, rate: float, c: float) -> tuple[float, float]:
    """Ends beyond which the laws tilted by c, and by 0 and 1 as K needs them, are below e^-NATS of their peaks."""
    far = math.sqrt(2 * (_NATS + 10)) + 1
    x = np.linspace(min(0.0, c * mu) - far, max(1.0, c) * mu + far, 2000)
    loss = _sampled_loss(mu, rate, x)
    ends = []
    for tilt in {c, 0.0, 1.0}:
        exponent = tilt * loss - 0.5 * x * x
        kept = np.flatnonzero(exponent > np.max(exponent) - _NATS - 4)
        ends.append((float(x[max(kept[0] - 1, 0)]), float(x[min(kept[-1] + 1, x.size - 1)])))
    return min(end[0] for end in ends), max(end[1] for end in ends)


def _strip_growth(mu: float, rate: float, c: float, frequency: float, y: float, window: tuple[float, float]) -> float:
    """At least the log of the integral of |w(x + iy)| for the frequency, relative to that of w(x)."""
    theta = mu * y
    reach = math.sqrt(2 * (_NATS + frequency * theta))
    x = np.linspace(window[0] - reach, window[1] + reach, 600)
    step = float(x[1] - x[0])
    exponent = c * _sampled_loss(mu, rate, x) - 0.5 * x * x
    rise = frequency * np.minimum(theta, _posterior(mu, rate, x) * math.tan(theta))
    ratio = _log_sum(exponent + rise) - _log_sum(exponent)
    slope = abs(c) * mu + frequency * mu * math.tan(theta) / 4 + max(abs(window[0]), abs(window[1]))
    return y * y / 2 + max(0.0, -c) * -math.log(math.cos(theta / 2)) + ratio + min(step * slope, 8.0)


def _log_sum(exponent: Array) -> float:
    top = float(np.max(exponent))
    return top + math.log(float(np.sum(np.exp(exponent - top))))


def _variation(mu: float, rate: float, c: float, x: Array, weight: Array, h: float) -> float:
    """At least the total variation of w/L' with L' = mu r.

    log(w/L') has second derivative at least -(1 + (|c|+1) mu^2/4), so a maximum between two nodes exceeds the larger of
    them by at most that times h^2/8; the ends of the window contribute what they hold.
    """
    density = weight / h
    g = density / (mu * _posterior(mu, rate, x))
    bend = 1 + (abs(c) + 1) * mu * mu / 4
    inner = float(np.sum(np.abs(np.diff(g)))) + float(g[0] + g[-1])
    return inner * math.exp(h * h * bend / 4) * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The Gaussian steps of a total, tilted: phi is known in closed form."""

    variance: float
    c: float

    @property
    def log_moment(self) -> float:
        """K(c) = mu^2 c (c-1)/2."""
        return self.variance * self.c * (self.c - 1) / 2


class Line:
    """The integrand on Re s = c at t = 0, h, …, Nh, with bounds on all that the sum leaves out."""

    def __init__(self, total: TotalLoss, c: float, period: float) -> None:
        """Prepare the line; `period` = 2 pi/h is the distance of the aliases in the loss."""
        self.total, self.c, self.period = total, c, period
        self.h = 2 * math.pi / period
        gaussians = [(loss.mu, n) for loss, n in total.parts if isinstance(loss, GaussianLoss)]
        self._gaussian = Gaussian(math.fsum(n * mu * mu for mu, n in gaussians), c)
        self._others = [(loss, n) for loss, n in total.parts if not isinstance(loss, GaussianLoss)]
        self._parts, self.cut = self._until_negligible()
        if self.cut / self.h > _MOST_NODES:
            raise TooLarge(f"the line integral would need {self.cut / self.h:.0f} nodes")
        self.t = self.h * np.arange(math.ceil(self.cut / self.h) + 1)
        self.log_phi, self.log_bound, self.relative = self._at(self._parts, self.t)
        self.k = self._gaussian.log_moment + math.fsum(p.count * p.log_moment for p in self._parts)
        self.k_error = 8 * _UNIT * abs(self._gaussian.log_moment) + math.fsum(
            p.count * (p.log_moment_error + 2 * p.quadrature + 4 * _UNIT * abs(p.log_moment)) for p in self._parts
        )
        self._tail = self._bound_tail()

    def _until_negligible(self) -> tuple[list[TiltedPart], float]:
        """The parts, and a frequency T at which |phi|^n has fallen below e^-NATS."""
        rows = self.total.tilted(np.array([self.c]), 2, (min(self.c, 0.0), max(self.c, 1.0)))
        cut = math.sqrt(2 * _NATS / float(rows[0, 2]))
        for _ in range(40):
            parts = [tilt_part(loss, n, self.c, cut) for loss, n in self._others]
            depth = -float(self._at(parts, np.array([cut]))[1][0])
            if depth > _NATS or cut / self.h > _MOST_NODES:
                return parts, cut
            cut *= min(2.0, max(1.1, math.sqrt(_NATS / max(depth, 1.0))))
        return parts, cut

    def _at(self, parts: list[TiltedPart], t: Array) -> tuple[Array, Array, Array]:
        """log phi(t) of the whole; an upper bound of log |phi|; the relative error of phi."""
        log_phi = (-0.5 * self._gaussian.variance * t * t).astype(complex)
        log_phi += 1j * t * self._gaussian.variance * (self.c - 0.5)
        log_bound, relative = -0.5 * self._gaussian.variance * t * t, 8 * _UNIT * np.abs(log_phi)
        for part in parts:
            d, error = part.characteristic(t)
            x, y = d.real, d.imag
            modulus = np.hypot(1 + x, y)
            with np.errstate(divide="ignore"):
                log_modulus = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(2 * x + x * x + y * y), np.log(modulus))
                log_bound = log_bound + part.count * np.minimum(np.log(modulus + error), log_modulus + error / modulus)
            angle = part.count * np.arctan2(y, 1 + x)
            log_phi += part.count * log_modulus + 1j * angle
            relative = relative + part.count * error / (modulus + error) + 4 * _UNIT * np.abs(angle)
        return log_phi, log_bound, relative

    def _bound_tail(self) -> Tail:
        """What lies beyond the cut, from the parts again with quadratures good for ever higher frequencies.

        A modulus only has to be clearly below 1: the error may grow as 1 - |phi| does, at least like t/T.
        """
        count = np.array([float(p.count) for p in self._parts])
        variation = np.array([p.variation for p in self._parts])
        variance = np.array([p.moments()[1] for p in self._parts])
        gaussian = self._gaussian.variance
        far = far_end(self.cut, variation, count, gaussian)
        levels: dict[int, list[TiltedPart]] = {}

        def moduli(t: float) -> Array:
            level = max(0, math.ceil(math.log(t / self.cut, 4)))
            if level not in levels:
                frequency = min(self.cut * 4.0**level, far.start)
                nats = max(_COARSE_NATS, math.log(max(1.0, float(np.sum(count)))) - 1.386 * level + 3)
                levels[level] = [tilt_part(loss, n, self.c, frequency, nats) for loss, n in self._others]
            found = [part.characteristic(np.array([t])) for part in levels[level]]
            return np.array([min(1.0, abs(1 + d[0]) + float(error[0])) for d, error in found])

        return tail_beyond(self.cut, far, moduli, count, variance, gaussian)

    def sum(self, exponent: Array, frequency: Array, poles: tuple[float, ...]) -> tuple[Array, Array]:
        """(h/pi) Re sum' of e^(K + exponent + i t frequency) phi(t)/den(t), and a bound on its error but for aliases.

        den is the product of s - pole, with s = c + it; the first term counts half.
        """
        s = self.c + 1j * self.t
        den = np.prod([np.ones(s.size), *(s - pole for pole in poles)], axis=0)
        term_log = self.log_phi - np.log(den)
        arg = term_log + 1j * np.outer(frequency, self.t)
        half = np.ones(self.t.size)
        half[0] = 0.5
        front = np.exp(self.k + exponent) * self.h / math.pi
        value = front * np.sum(half * np.exp(arg.real) * np.cos(arg.imag), axis=1)
        modulus = half * np.exp(self.log_bound) / np.abs(den)
        phase = 4 * _UNIT * (np.abs(np.outer(frequency, self.t)) + 8)
        relative = np.minimum(self.relative + phase, 2.0)
        inner = np.sum(modulus * relative, axis=1) + _SUM_ROUNDING * np.sum(modulus)
        outer = math.exp(self._tail.log_integral(len(poles))) / math.pi if poles else 0.0
        scale = self.k_error + 8 * _UNIT * (abs(self.k) + np.abs(exponent))
        error = front * inner + np.exp(self.k + exponent) * outer + np.abs(value) * np.expm1(scale)
        return value, error * (1 + 1e-6)
