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

from edgeworth.composition.tail import Tail, tail_beyond
from edgeworth.composition.tilted_part import NATS, SUM_ROUNDING, TiltedPart, tilt_part
from edgeworth.errors import TooLarge
from edgeworth.losses import GaussianLoss

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Line"]

_UNIT = 2.0**-53
_COARSE_NATS = 7.0  # e^-7 = 1e-3: enough for a modulus that only has to be clearly below 1
_MOST_NODES = 6000
_MOST_WORK = 1e7  # nodes of the line times nodes in x


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
        self.t = np.asarray(self.h * np.arange(math.ceil(self.cut / self.h) + 1), dtype=np.float64)
        self.log_phi, self.log_bound, self.relative = self._at(self._parts, self.t)
        self.k = self._gaussian.log_moment + math.fsum(p.count * p.log_moment for p in self._parts)
        self.k_error = 8 * _UNIT * abs(self._gaussian.log_moment) + math.fsum(
            p.count * (p.log_moment_error + self._moment_quadrature(p) + 4 * _UNIT * abs(p.log_moment))
            for p in self._parts
        )
        self._tail = self._bound_tail()

    def _until_negligible(self) -> tuple[list[TiltedPart], float]:
        """The parts, and a frequency T at which |phi|^n has fallen below e^-NATS."""
        rows = self.total.tilted(np.array([self.c]), 2, (min(self.c, 0.0), max(self.c, 1.0)))
        cut = math.sqrt(2 * NATS / float(rows[0, 2]))
        for _ in range(40):
            parts = [tilt_part(loss, n, self.c, cut + self.h) for loss, n in self._others]
            depth = -float(self._at(parts, np.array([cut]))[1][0])
            if depth > NATS:
                return parts, cut
            cut *= min(2.0, max(1.1, math.sqrt(NATS / max(depth, 1.0))))
            if cut / self.h * max(1, *(part.loss.size for part in parts), 1) > _MOST_WORK or cut / self.h > _MOST_NODES:
                break
        raise TooLarge("the characteristic function falls too slowly for the line integral")

    def _moment_quadrature(self, part: TiltedPart) -> float:
        """What the quadrature leaves in log M(c): of e^(cL) itself, and of e^L, whose mean is taken to be 1."""
        plain = (abs(self.c) + abs(self.c - 1)) * math.exp(-min(part.log_moment, 700.0))
        return 2 * part.quadrature * (1 + plain)

    def _at(self, parts: list[TiltedPart], t: Array) -> tuple[Array, Array, Array]:
        """Log phi(t) of the whole; an upper bound of log |phi|; the relative error of phi."""
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
        steps = math.fsum(p.count for p in self._parts)
        levels: dict[int, list[TiltedPart]] = {}

        def moduli(t: float, most: float) -> Array:
            level = max(0, math.ceil(math.log(t / self.cut, 4)))
            if level not in levels:
                nats = max(_COARSE_NATS, math.log(max(1.0, steps)) - 1.386 * level + 3)
                frequency = min(self.cut * 4.0**level, most)
                levels[level] = [tilt_part(loss, n, self.c, frequency, nats) for loss, n in self._others]
            found = [part.characteristic(np.array([t])) for part in levels[level]]
            return np.array([min(1.0, abs(1 + d[0]) + float(error[0])) for d, error in found])

        return tail_beyond(self.cut, self._parts, moduli, self._gaussian.variance)

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
        # Far from its saddle point the line says nothing; an infinite error says so.
        front = np.exp(np.minimum(self.k + exponent, 600.0)) * self.h / math.pi
        value = front * np.sum(half * np.exp(arg.real) * np.cos(arg.imag), axis=1)
        modulus = half * np.exp(self.log_bound) / np.abs(den)
        phase = 4 * _UNIT * (np.abs(np.outer(frequency, self.t)) + 8)
        relative = np.minimum(self.relative + phase, 2.0)
        inner = np.sum(modulus * relative, axis=1) + SUM_ROUNDING * np.sum(modulus)
        outer = math.exp(self._tail.log_integral(len(poles))) / math.pi if poles else 0.0
        scale = self.k_error + 8 * _UNIT * (abs(self.k) + np.abs(exponent))
        error = front * (inner + outer * math.pi / self.h) + np.abs(value) * np.expm1(np.minimum(scale, 600.0))
        return value, np.where(self.k + exponent < 600.0, error * (1 + 1e-6), math.inf)
