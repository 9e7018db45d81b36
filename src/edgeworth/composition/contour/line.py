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
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
from edgeworth.composition.contour.tail import Tail, first_deep, log_far, tail_beyond
from edgeworth.composition.contour.tilted_part import NATS, SUM_ROUNDING, TiltedPart, tilt_part
from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["Line"]

_UNIT = 2.0**-53
_LADDER = np.array(
    [1.0, 1.15, 1.35, 1.6, 2.0, 2.6, 3.5]
)  # frequencies at which |phi|^n may be small enough, in units of the first guess
_FIRST_TRIED = 5  # of these; the rest is for what lies beyond the last node
_MANY_NODES, _MOST_NODES = 4_000, 500_000
_MOST_WINDOWED = 40_000  # the same where jumps are dropped or sorted: other lines will do as well
_MOST_WORK = 3e8  # nodes of the line times nodes in x
_MOST_WAVES = 2e6  # waves that are kept at a time
_LARGEST = 600.0  # of an exponent
_FEWER_NATS = 30.0  # where many nodes would be needed for all digits
_FAR_LADDER = 1.1 ** np.arange(13)
_LARGEST_BLOCK = 1_000_000  # of waves that are made at a time
_LONG = 50_000  # nodes at a time


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The Gaussian steps of a total, tilted: phi is known in closed form."""

    variance: float
    c: float

    @property
    def log_moment(self) -> float:
        """K(c) = mu^2 c (c-1)/2."""
        return self.variance * self.c * (self.c - 1) / 2


class Terms(NamedTuple):
    """The terms phi(t)/den(t) of a sum, and its error: a fixed part, and one that grows with the threshold's size."""

    term: Array
    """Real parts and imaginary parts with their signs turned, in turn; then zeros, to the size of a row of waves."""
    fixed: float
    growing: float


class Line:
    """The integrand on Re s = c at t = 0, h, …, Nh, with bounds on all that the sum leaves out."""

    def __init__(self, steps: Steps, c: float, period: float, guess: float) -> None:
        """Prepare the line; `period` = 2 pi/h is the distance of the aliases in the loss, |phi| is small at `guess`."""
        if not math.isfinite(period):
            raise TooLarge("no bound on the aliases of the line integral is known")
        self.c, self.period = c, period
        self.h = 2 * math.pi / period
        self._gaussian, self._others = Gaussian(steps.gaussian, c), steps.others
        self._parts, self._tail, self.cut = self._until_negligible(guess)
        self.t = np.asarray(self.h * np.arange(math.ceil(self.cut / self.h) + 1), dtype=np.float64)
        self.log_phi, self.log_bound, self.relative = self._along_the_line()
        self.k = steps.log_ways + self._gaussian.log_moment + math.fsum(p.count * p.log_moment for p in self._parts)
        self.k_error = 8 * _UNIT * (abs(self._gaussian.log_moment) + abs(steps.log_ways)) + math.fsum(
            p.count * (p.log_moment_error + self._moment_quadrature(p) + 4 * _UNIT * abs(p.log_moment))
            for p in self._parts
        )
        smooth = self._gaussian.variance > 0 or any(p.shifted is not None for p in self._parts)
        log_atoms = math.fsum(p.count * math.log(p.atoms) for p in self._parts)
        self._atoms = 0.0 if smooth else math.exp(log_atoms)  # the runs of atoms only, which are not read
        self._turn = -1j * self.h * np.arange(math.isqrt(self.t.size - 1) + 1)
        self._terms: dict[tuple[float, ...], Terms] = {}

    def _until_negligible(self, guess: float) -> tuple[list[TiltedPart], Tail, float]:
        """The parts, the tail, and a frequency T at which |phi|^n has fallen below e^-NATS, or what is affordable."""
        parts: list[TiltedPart] = []
        windowed = any(isinstance(step, SampledGaussian) and not step.is_whole for step, _ in self._others)
        most_nodes = _MOST_WINDOWED if windowed else _MOST_NODES
        for _ in range(40):
            most = _LADDER[-1] * guess + self.h
            parts = [
                part if part is not None and part.raised is not None else tilt_part(step, n, self.c, most)
                for part, (step, n) in zip_longest(parts, self._others)
            ]
            found = self._many_nodes(guess, parts) if guess > _MANY_NODES * self.h else self._few_nodes(guess, parts)
            if found is not None:
                self._check_size(found[2], found[0])
                return found
            guess *= _LADDER[4]
            if guess > most_nodes * self.h:
                break
        raise TooLarge("the characteristic function falls too slowly for the line integral")

    def _few_nodes(self, guess: float, parts: list[TiltedPart]) -> tuple[list[TiltedPart], Tail, float] | None:
        """The cut where |phi| is small by its values, if it is near the guess; samples show that it stays small."""
        variance = self._gaussian.variance
        deep = self._log_bound(parts, _LADDER[:_FIRST_TRIED] * guess) < -NATS
        if not deep.any():
            return None
        later = np.asarray(_LADDER[int(np.argmax(deep)) :] * guess, dtype=np.float64)
        cut, enough = float(later[0]), first_deep(later, parts, variance, NATS)
        if math.isinf(enough) and all(part.shifted is None for part in parts):
            # Laplace noise: high frequencies cost little, and its density alone falls slowly.
            enough = first_deep(np.asarray(cut * 2.0 ** np.arange(1, 40)), parts, variance, NATS)
            parts = [tilt_part(step, n, self.c, enough if math.isfinite(enough) else cut) for step, n in self._others]
        if math.isinf(enough):
            return None
        try:
            return parts, tail_beyond(cut, enough, parts, variance, NATS), cut
        except TooLarge:  # too many samples
            return self._many_nodes(guess, parts)

    def _many_nodes(self, guess: float, parts: list[TiltedPart]) -> tuple[list[TiltedPart], Tail, float] | None:
        """The cut where the bound far out is small, if it is near the guess: thirteen digits are enough here.

        The terms of a profile fall with 1/t^2 besides, those of a tail with 1/t.
        """
        t = np.asarray(_FAR_LADDER * guess, dtype=np.float64)
        nats = _FEWER_NATS - np.log1p(t / (1 + abs(self.c)))
        deep = log_far(t, parts, self._gaussian.variance) < -nats
        if not deep.any():
            return None
        cut, wanted = float(t[np.argmax(deep)]), float(nats[np.argmax(deep)])
        return parts, tail_beyond(cut, cut, parts, self._gaussian.variance, wanted), cut

    def _check_size(self, cut: float, parts: list[TiltedPart]) -> None:
        """Before the nodes are made: there may be too many of them."""
        nodes, points = cut / self.h, max([1, *(part.points for part in parts)])
        if nodes > _MOST_NODES or nodes * points > _MOST_WORK or math.sqrt(nodes) * points > _MOST_WAVES:
            raise TooLarge(f"the line integral would need {nodes:.0f} nodes of {points} points each")

    def _moment_quadrature(self, part: TiltedPart) -> float:
        """What the quadrature leaves in log M(c): of e^(cL) itself, and of e^L, whose mean is taken to be 1."""
        if part.alone:
            return 2 * part.quadrature
        plain = (abs(self.c) + abs(self.c - 1)) * math.exp(-min(part.log_moment, 700.0))
        return 2 * part.quadrature * (1 + plain)

    def _log_bound(self, parts: list[TiltedPart], t: Array) -> Array:
        """An upper bound of log |phi(t)| of the whole; of jumps that which holds beyond t as well."""
        falling = [part for part in parts if not part.alone]
        bound = self._product(t, falling, [part.characteristic(t) for part in falling])[1]
        return bound + log_far(t, [part for part in parts if part.alone], 0.0)

    def _along_the_line(self) -> tuple[NDArray[np.complex128], Array, Array]:
        """The products at all nodes; of a long line some at a time, for want of memory."""
        values = [part.on_even_grid(self.h, self.t.size) for part in self._parts]
        if self.t.size <= _LONG:
            return self._product(self.t, self._parts, values)
        log_phi, log_bound, relative = np.empty(self.t.size, dtype=complex), *np.empty((2, self.t.size))
        for start in range(0, self.t.size, _LONG):
            some = slice(start, start + _LONG)
            pieces = [(d[some], error[some]) for d, error in values]
            log_phi[some], log_bound[some], relative[some] = self._product(self.t[some], self._parts, pieces)
        return log_phi, log_bound, relative

    def _product(
        self, t: Array, parts: list[TiltedPart], values: list[tuple[NDArray[np.complex128], Array]]
    ) -> tuple[NDArray[np.complex128], Array, Array]:
        """Log phi(t) of the whole; an upper bound of log |phi|; the relative error of phi."""
        log_phi = (-0.5 * self._gaussian.variance * t * t).astype(complex)
        log_phi += 1j * t * self._gaussian.variance * (self.c - 0.5)
        log_bound, relative = -0.5 * self._gaussian.variance * t * t, 8 * _UNIT * np.abs(log_phi)
        for part, (d, error) in zip(parts, values, strict=True):
            x, y = d.real, d.imag
            modulus = np.hypot(1 + x, y)
            with np.errstate(divide="ignore"):
                log_modulus = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(2 * x + x * x + y * y), np.log(modulus))
                log_part = np.where(modulus > 0, log_modulus + error / np.maximum(modulus, 1e-300), math.inf)
                log_bound = log_bound + part.count * np.minimum(np.log(modulus + error), log_part)
            angle = part.count * np.arctan2(y, 1 + x)
            log_phi += part.count * log_modulus + 1j * angle
            relative = relative + part.count * error / (modulus + error) + 4 * _UNIT * np.abs(angle)
        return log_phi, log_bound, relative

    def _prepared(self, poles: tuple[float, ...]) -> Terms:
        """The terms of the sum for one set of poles, with the parts of the error that no threshold changes."""
        if poles not in self._terms:
            term = np.zeros(self._turn.size**2, dtype=complex)
            fixed = math.exp(self._tail.log_integral(len(poles))) / self.h if poles else 0.0
            growing = 0.0
            for start in range(0, self.t.size, _LONG):
                some = slice(start, min(start + _LONG, self.t.size))
                term[some], more, steeper = self._some_terms(poles, some)
                fixed, growing = fixed + more, growing + steeper
            self._terms[poles] = Terms(term.view(np.float64), fixed, growing)
        return self._terms[poles]

    def _some_terms(self, poles: tuple[float, ...], some: slice) -> tuple[NDArray[np.complex128], float, float]:
        """Those at some of the nodes, and what they add to the two parts of the error."""
        t = self.t[some]
        s = self.c + 1j * t
        den = np.ones(t.size, dtype=complex)
        for pole in poles:
            den = den * (s - pole)
        half = np.where(t == 0, 0.5, 1.0)
        size = np.abs(den)
        modulus = half * np.exp(self.log_bound[some]) / size
        fixed = float(np.sum(modulus * (np.minimum(self.relative[some] + 32 * _UNIT, 2.0) + SUM_ROUNDING)))
        fixed += self._atoms * float(np.sum(half / size))
        return np.conj(half * np.exp(self.log_phi[some]) / den), fixed, 4 * _UNIT * float(np.sum(modulus * t))

    def _wave(self, threshold: Array) -> Array:
        """e^(-i t x) at every node t, one row for each threshold x, real and imaginary parts in turn.

        The nodes are even: those waves are products of 2 sqrt(N) of them, each within some ulps of |t x|.
        """
        turn = threshold[:, None] * self._turn
        product = np.exp(self._turn.size * turn)[:, :, None] * np.exp(turn)[:, None, :]
        return np.asarray(product.reshape(threshold.size, -1).view(np.float64))

    def front(self, exponent: Array) -> Array:
        """(h/pi) e^(K + exponent), what stands before the sum; far from its saddle point the line says nothing."""
        return np.asarray(np.exp(np.minimum(self.k + exponent, _LARGEST)) * (self.h / math.pi))

    def values(self, front: Array, threshold: Array, *kinds: tuple[float, ...]) -> list[Array]:
        """(h/pi) Re sum' of e^(K + exponent - i t x) phi(t)/den(t), for several sets of poles.

        den is the product of s - pole with s = c + it. The first term counts half. The real part of a product of
        complex numbers is a sum of two products of reals.
        """
        sums = np.empty((len(kinds), threshold.size))
        rows = max(1, _LARGEST_BLOCK // self._turn.size**2)
        for start in range(0, threshold.size, rows):
            some = slice(start, start + rows)
            wave = self._wave(threshold[some])
            for row, poles in zip(sums, kinds, strict=True):
                # A row's sum must not depend on how many rows there are, as that of a matrix product does.
                row[some] = np.add.reduce(wave * self._prepared(poles).term, axis=1)
        return list(front * sums)

    def sum(self, exponent: Array, threshold: Array, poles: tuple[float, ...]) -> tuple[Array, Array]:
        """The value at every threshold, and a bound on its error but for aliases."""
        front = self.front(exponent)
        (value,) = self.values(front, threshold, poles)
        return value, self.error(front, exponent, threshold, value, poles)

    def error(self, front: Array, exponent: Array, threshold: Array, value: Array, poles: tuple[float, ...]) -> Array:
        """A bound on the error of the value but for aliases; inf where the line says nothing."""
        terms = self._prepared(poles)
        scale = self.k_error + 8 * _UNIT * (abs(self.k) + np.abs(exponent))
        growth = np.expm1(np.minimum(scale, 1.0))
        with np.errstate(over="ignore"):  # a threshold far astray: the error is infinite
            error = front * (1 + growth) * (terms.fixed + terms.growing * np.abs(threshold)) + np.abs(value) * growth
            error *= 1 + 1e-6
        error[(self.k + exponent >= _LARGEST) | (scale >= 1.0)] = math.inf
        return np.asarray(error)
