"""One tilt of a law on a lattice: its Fourier sum over a period, prepared once and read many times.

All losses of the total lie on T_m = origin + m g. With M(s) = E_P[e^(sT)], y = e^(-gs) and s = c + 2 pi i r/(N g),

    P[T >= T_m]            = mean over r of M(s) e^(-s T_m) / (1 - y)                                     for c > 0,
    Q[T >= T_m]            = mean over r of M(s) e^((1-s) T_m) / (1 - y e^g)                              for c > 1,
    delta(T_m)             = mean over r of M(s) e^((1-s) T_m) y (e^g - 1) / ((1 - y e^g)(1 - y))         for c > 1,

each up to aliases, the same quantity N lattice points away, which are all >= 0. Far from r = 0 the terms are negligible
and are not taken. Every bound is proved in docs/proofs/fourier.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeworth.composition.answered import Ends
from edgeworth.composition.contour.certified_moment import SUM_ROUNDING
from edgeworth.composition.contour.tilted_part import TiltedPart, tilt_nodes
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed, TooLarge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.fourier.lattice_sum import LatticeSum
    from edgeworth.losses.law import Array

    Complex = NDArray[np.complex128]

__all__ = ["FourierLine", "Kind"]

#: P[T >= T_m], that times e^(T_m), Q[T >= T_m], delta(T_m)
Kind: TypeAlias = Literal["alpha", "weighted", "power", "delta"]

_UNIT = 2.0**-53
_ALIAS_NATS = 38.0  # aliases are held below e^-38 = 3e-17 of the reading
_TAIL_NATS = 42.0  # and the terms that are left out below e^-42 of the first one
_BEYOND = 0.1 * 2.0 ** np.arange(10)  # how far beyond the tilt Chernoff's bound of the aliases looks, in 1/std
_SLACK = 1e-9  # of K at those tilts, relative and absolute, where only a bound is wanted; and of every step:
_STEP_SLACK = 1e-14
_MOST_WORK = 3e7  # frequencies times atoms
_FINE = 1e-11  # an error of K(c) + (pole - c) T_m beyond which decimals are worth their time
_READ, _WAVE = 500.0, 0.3  # units of work for a reading, and for a wave
_FEW_TERMS = 64  # all of them are taken
_MOST_TERMS = 50_000
_MOST_POINTS = 1e15  # of a period: its frequencies stay whole multiples of the first
_LARGEST_EXPONENT = 600.0
_LEAST = 5e-324
_MOST_EXACT = 2.0**53  # whole numbers below are doubles


class _Terms(NamedTuple):
    """The terms of a sum, and its error: a fixed part, and one that grows with the threshold's distance."""

    term: Complex
    fixed: float
    growing: float


class FourierLine:
    """The law tilted by e^(cT): readings near its mean."""

    def __init__(self, law: LatticeSum, c: float, pole: float, log_least: float) -> None:
        """Prepare the line at c > pole, 0 or 1, for readings down to the size e^log_least."""
        self.c, self.law = c, law
        self.k_guess, self.centre, variance = law.moments(np.array([c]))[0].tolist()
        self.spread = math.sqrt(max(variance, (0.05 * law.step) ** 2))
        self._beyond = self._chernoff()
        self.size = self._period(pole, log_least)
        parts, self._centre = _centred([tilt_nodes(nodes, n, c) for nodes, n in law.parts], law)
        atoms = sum(part.loss.size for part in parts)
        self.count, log_left_out = self._terms_needed(parts, atoms)
        self.h = 2 * math.pi / (self.size * law.step)
        self.t = np.asarray(self.h * np.arange(self.count), dtype=np.float64)
        self.log_phi, self.log_bound, self.relative = _product(parts, self.h, self.count, law.beyond)
        self.k = math.fsum(part.count * part.log_moment for part in parts)
        self.k_error = math.fsum(
            part.count * (part.log_moment_error + 4 * _UNIT * abs(part.log_moment) + 2 * beyond)
            for part, beyond in zip(parts, law.beyond, strict=True)
        )
        if abs(self.k - self.k_guess) > self._slack(np.asarray(self.k_guess)):
            raise ComputationFailed("the two sums for the moment of the Fourier sum disagree")
        self._left_out = math.exp(log_left_out)
        self._terms: dict[Kind, _Terms] = {}

    # --- what has to be taken

    def _chernoff(self) -> tuple[Array, Array]:
        """Tilts beyond this one, and at least K there."""
        tilt = np.asarray(self.c + _BEYOND / self.spread, dtype=np.float64)
        tilt = tilt[tilt < self.law.steepest[1]]
        k = self.law.moments(tilt)[:, 0] if tilt.size else tilt
        known = np.isfinite(k)
        return tilt[known], k[known] + self._slack(k[known])

    def _slack(self, k: Array) -> Array:
        return np.asarray(_SLACK * (1 + np.abs(k)) + _STEP_SLACK * self.law.steps)

    def _period(self, pole: float, log_value: float) -> int:
        """An odd number of lattice points such that aliases are below e^-NATS of what is read."""
        tilt, k = self._beyond
        if not tilt.size:
            raise TooLarge("no bound on the aliases of the Fourier sum is known: too steep a tilt for the atoms kept")
        inward = (_ALIAS_NATS - log_value) / (self.c - pole)
        outward = float(np.min((k + (pole - tilt) * self.centre - log_value + _ALIAS_NATS) / (tilt - self.c)))
        if not max(inward, outward) < _MOST_POINTS * self.law.step:
            raise TooLarge(f"the period of the Fourier sum would hold more than {_MOST_POINTS:g} points")
        steps = max(max(inward, outward) / self.law.step, 1.0, 2 * max(self.law.sigmas))
        return 2 * math.ceil(steps / 2) + 1

    def _terms_needed(self, parts: list[TiltedPart], atoms: int) -> tuple[int, float]:
        """How many terms are taken on one side, and the log of at least |phi| on all the others."""
        half = (self.size + 1) // 2
        if half <= _FEW_TERMS and not any(self.law.sigmas):
            return half, -math.inf
        turn = _first_negligible(parts, self.law, _TAIL_NATS)
        count = half if math.isinf(turn) else min(half, math.ceil(turn * self.size / (2 * math.pi)) + 1)
        if count * atoms > _MOST_WORK or count > _MOST_TERMS:
            raise TooLarge(f"the Fourier sum would need {count} terms of {atoms} atoms each")
        return count, (-_TAIL_NATS if count < half else -math.inf)

    # --- readings

    def _prepared(self, kind: Kind) -> _Terms:
        """The terms of one kind, with the part of the error that no threshold changes."""
        if kind not in self._terms:
            kernel = _kernel(kind, self.law.step, self.c, self.law.step * self.t)
            double = np.full(self.count, 2.0)
            double[0] = 1.0
            modulus = double * np.exp(self.log_bound) * np.abs(kernel)
            rounding = SUM_ROUNDING + (2 * self.count + 64) * _UNIT  # a dot product adds one after the other
            fixed = float(np.sum(modulus * np.minimum(self.relative + rounding, 2.0)))
            # |kernel| falls from r = 0 on: what is left out is at most the largest of it, once for every point.
            fixed += self._left_out * self.size * float(np.abs(kernel[-1]))
            growing = 4 * _UNIT * float(np.sum(modulus * self.t))
            self._terms[kind] = _Terms(double * np.exp(self.log_phi) * kernel, fixed, growing)
        return self._terms[kind]

    def values(self, kind: Kind, m: Array) -> tuple[Array, Array]:
        """The sums of one kind at lattice points m, and bounds on their errors but for aliases."""
        threshold = self.law.loss(m)
        terms = self._prepared(kind)
        away = self.law.step * (m - self._centre)
        spend(_READ + _WAVE * away.size * self.t.size)
        wave = np.exp(np.multiply.outer(away, -1j * self.t))
        log_front, scale = self._log_front(0.0 if kind == "alpha" else 1.0, m, threshold)
        front = np.exp(np.minimum(log_front, _LARGEST_EXPONENT)) / self.size
        value = front * np.sum(wave * terms.term, axis=1).real
        numbers = np.abs(m) + abs(self._centre)
        size = np.abs(away) + np.where(numbers < _MOST_EXACT, 0.0, self.law.step * numbers)
        error = front * (terms.fixed + terms.growing * size) * np.exp(np.minimum(scale, 1.0))
        error = (error + np.abs(value) * np.expm1(np.minimum(scale, 1.0))) * (1 + 1e-6)
        sane = (log_front < _LARGEST_EXPONENT) & (scale < 1.0)
        return value, np.where(sane, error, math.inf)

    def _log_front(self, pole: float, m: Array, threshold: Array) -> tuple[Array, Array]:
        """K(c) + (pole - c) T_m and its error; in decimals where doubles have too few digits, of very many steps."""
        tilt = pole - self.c
        exponent = self.k + tilt * threshold
        error = self.k_error + 8 * _UNIT * (abs(self.k) + abs(tilt) * self.law.size_of(threshold))
        if self.law.points is None or not float(np.max(error, initial=0.0)) > _FINE:
            return exponent, error
        exact = [self.law.exponent.at(self.c, pole, self.law.points.loss(int(x))) for x in m.tolist()]
        if None in exact:
            return exponent, error
        return np.array(exact, dtype=np.float64), 8 * _UNIT * np.abs(np.array(exact, dtype=np.float64))

    def ends(self, kind: Kind, m: Array) -> Ends:
        """Both ends at every lattice point m."""
        value, error = self.values(kind, m)
        ceiling = np.exp(np.minimum(self._log_ceiling(kind, self.law.loss(m)), 0.0))
        lower = np.maximum(value - error - self._aliases(kind, self.law.loss(m)), 0.0)
        upper = np.minimum(value + error, ceiling)
        # What underflows is not 0.
        upper = np.maximum(upper, _LEAST)
        return Ends(np.minimum(np.where(np.isfinite(lower), lower, 0.0), upper), upper)

    def _log_ceiling(self, kind: Kind, threshold: Array) -> Array:
        """Chernoff's bound at the tilt itself."""
        return np.asarray(
            self.k_guess
            + self._slack(np.asarray(self.k_guess))
            + ((0.0 if kind == "alpha" else 1.0) - self.c) * threshold
        )

    def _aliases(self, kind: Kind, threshold: Array) -> Array:
        """At least the sum of the aliases: the inward ones by 1 each, the outward ones by Chernoff."""
        period = self.size * self.law.step
        pole = 0.0 if kind == "alpha" else 1.0
        tilt, k = self._beyond
        gap = tilt - self.c
        log_first = np.array([one - _log_expm1(x) for one, x in zip(k.tolist(), (gap * period).tolist(), strict=True)])[
            :, None
        ]
        outward = np.min(log_first + np.multiply.outer(pole - tilt, threshold), axis=0)
        by_one = threshold * (kind == "weighted") - _log_expm1(self.c * period)
        # e^x P[T >= x] <= Q[T >= x] <= 1 as well, once e^x is part of what is read
        by_power = (
            by_one if kind == "alpha" or self.c <= 1 else np.full(threshold.size, -_log_expm1((self.c - 1) * period))
        )
        inward = np.minimum(by_one, by_power) if kind in ("alpha", "weighted") else by_power
        return np.asarray(np.exp(np.minimum(outward, 700.0)) + np.exp(np.minimum(inward, 700.0)))


def _log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0."""
    return x + math.log(-math.expm1(-x))


def _kernel(kind: Kind, g: float, c: float, angle: Array) -> Complex:
    """The sum of the powers of y = e^(-gc - i angle) that the kind is the mean of, in closed form."""
    whole = _one_less_power(c * g, angle)
    if kind in ("alpha", "weighted"):
        return np.asarray(1 / whole)
    shifted = _one_less_power((c - 1) * g, angle)
    if kind == "power":
        return np.asarray(1 / shifted)
    first = np.exp(-(c - 1) * g - 1j * angle) * -math.expm1(-g)
    return np.asarray(first / (shifted * whole))


def _one_less_power(a: float, angle: Array) -> Complex:
    """1 - e^(-a - i angle), with no cancellation where both are small."""
    result = np.empty(angle.size, dtype=complex)
    result.real = -math.expm1(-a) + 2 * math.exp(-a) * np.sin(angle / 2) ** 2
    result.imag = math.exp(-a) * np.sin(angle)
    return result


def _centred(parts: list[TiltedPart], law: LatticeSum) -> tuple[list[TiltedPart], float]:
    """The parts with their losses counted from the likeliest of each, and the number of the point of all of these.

    So the angles t L are multiples of t g that are not larger than they must be, and so is that of a threshold.
    """
    centred, centre = [], 0
    for part, stride, offset in zip(parts, law.strides, law.offsets, strict=True):
        spacing, likeliest = stride * law.step, float(part.loss[np.argmax(part.weight)])
        centred.append(replace(part, loss=spacing * np.round((part.loss - likeliest) / spacing)))
        centre += part.count * stride * round((likeliest - offset) / spacing)
    return centred, float(centre)


def _product(parts: list[TiltedPart], h: float, count: int, beyond: tuple[float, ...]) -> tuple[Complex, Array, Array]:
    """Log phi of the sum at t = 0, h, …; at least log |phi|; the relative error of phi.

    `beyond` bounds the tilted mass of the atoms of each part that were not kept.
    """
    log_phi = np.zeros(count, dtype=complex)
    log_bound, relative = np.zeros(count), np.zeros(count)
    for part, missing in zip(parts, beyond, strict=True):
        d, error = part.on_even_grid(h, count)
        error = error + 4 * missing
        x, y = d.real, d.imag
        modulus = np.hypot(1 + x, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_modulus = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(2 * x + x * x + y * y), np.log(modulus))
            bound = np.fmin(np.log(modulus + error), log_modulus + error / modulus)
        log_bound = log_bound + part.count * np.minimum(bound, 0.0)
        step = part.count * np.maximum(log_modulus, -1e3) + 1j * part.count * np.arctan2(y, 1 + x)
        log_phi += step
        relative = relative + part.count * error / (modulus + error) + 8 * _UNIT * np.abs(step)
    return log_phi, log_bound, relative


def _first_negligible(parts: list[TiltedPart], law: LatticeSum, nats: float) -> float:
    """An angle (of one lattice step) from which on, up to pi, |phi| of the sum is below e^-nats; inf if none is.

    For atoms a, b that are D steps apart |a + b e^(iD u)| <= a + b - 2ab/(a + b) sin^2(D u/2); with disjoint pairs
    |phi(u)| <= 1 - 2 H_D sin^2(D u/2), H_D the sum of ab/(a + b). D = 2^i serves the angles from pi/(2D) to pi/D, and
    the largest D all smaller ones. Only parts whose stride is the step itself are asked. Discrete Gaussian noise that
    was thinned has |phi(u)| = e^(-sigma^2 u^2/2) as long as that counts.
    """
    kinds = zip(parts, law.strides, law.sigmas, strict=True)
    asked = [part for part, stride, sigma in kinds if stride == 1 and not sigma]
    variance = math.fsum(part.count * sigma**2 for part, sigma in zip(parts, law.sigmas, strict=True))
    best = math.sqrt(2 * nats / variance) * (1 + 1e-9) if variance else math.inf
    if not asked:
        return best
    most = max(part.weight.size for part in asked)
    for power in range(max(1, most.bit_length())):
        apart = 2**power
        pairs = [(part.count, _pairs(part.weight, apart)) for part in asked]
        if math.fsum(n * math.log1p(-share) for n, share in pairs) > -nats:
            break  # not deep enough at pi/(2D) … pi/D, which every larger D needs
        best = min(best, _angle(pairs, apart, nats))
    return best


def _angle(pairs: list[tuple[int, float]], apart: int, nats: float) -> float:
    """The least angle u at which the sum of n log(1 - 2 H sin^2(D u/2)) has fallen to -nats, from above."""
    low, high = 0.0, 0.5  # of sin^2, which is 1/2 at pi/(2D)
    for _ in range(50):
        middle = (low + high) / 2
        deep = math.fsum(n * math.log1p(-2 * share * middle) for n, share in pairs) <= -nats
        low, high = (low, middle) if deep else (middle, high)
    return 2 * math.asin(math.sqrt(high)) / apart * (1 + 1e-9)


def _pairs(weight: Array, apart: int) -> float:
    """H_D: the sum of ab/(a + b) over disjoint pairs of atoms D places apart, a little less."""
    blocks = -(-weight.size // (2 * apart))
    padded = np.zeros(blocks * 2 * apart)
    padded[: weight.size] = weight
    a, b = padded.reshape(blocks, 2, apart).transpose(1, 0, 2)
    both = a + b
    share = np.divide(a * b, both, out=np.zeros_like(both), where=both > 0)
    return min(float(np.sum(share)) * (1 - 1e-9), 0.5)
