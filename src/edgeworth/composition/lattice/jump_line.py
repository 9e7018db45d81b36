"""The law of a sum in which at least one step jumps, along a vertical line.

Samples are split at a cut, nu below it and kappa above. The sum of n steps has the measure (nu + kappa)^n, that of runs
without a jump nu^n, and the rest

    J = (nu + kappa)^n - nu^n = nu^n (e^W - 1),     W = sum of n_i log(1 + kappa_i/nu_i),

has a Fourier transform that is right relative to J itself, however much more likely a run without a jump is. That one
can hardly reach the threshold: Chernoff's inequality bounds what it adds. docs/proofs/lattice.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.lattice.smoothed import Line
from edgeworth.composition.lattice.transforms import UNIT, Transform

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.lattice.smoothed import Spectrum
    from edgeworth.losses.law import Array

__all__ = ["JumpLine", "log_rest"]

_NOTHING = 1e-250  # a transform that is taken for 0
_LINEAR = -37.0  # of a logarithm, below which log(1 + x) and e^x - 1 are x
_DIRECT = 0.5  # |kappa/nu| from which on the logarithm of 1 + kappa/nu is taken as it is
_TILTS = tuple(1 + 1.6**k for k in range(-12, 32))  # tried for runs without a jump


def log_rest(steps: list[tuple[float, float, int]]) -> float:
    """log(prod (e^a + e^b)^n - prod e^(a n)) for some (a, b, n); b may be -inf.

    >>> round(math.exp(log_rest([(math.log(2.0), math.log(1.0), 2), (0.0, -math.inf, 5)])), 12)
    5.0
    >>> round(log_rest([(0.0, -1000.0, 1)]), 9)
    -1000.0
    """
    log_rise = float(np.logaddexp.reduce([math.log(n) + _log_log1p(b - a) for a, b, n in steps]))
    if log_rise < _LINEAR:  # e^rise - 1 is rise to the last bit, which may be less than any double
        return math.fsum(n * a for a, _, n in steps) + log_rise
    rise = math.exp(log_rise)
    return math.fsum(n * a for a, _, n in steps) + rise + math.log(-math.expm1(-rise))


def _log_log1p(d: float) -> float:
    """Log log(1 + e^d)."""
    return d if d < _LINEAR else math.log(float(np.logaddexp(0.0, d)))


@dataclass(frozen=True, eq=False)
class JumpLine(Line):
    """The same of J: `steps` have the transforms below the cut, and `jumps` those above it, or None."""

    jumps: list[Transform | None]

    def combined(self, log_of: Callable[[Transform], float]) -> float:
        """The logarithm of J of what all steps have the logarithms of, below the cut and above."""
        pairs = zip(self.steps, self.jumps, strict=True)
        return log_rest([(log_of(step), log_of(jump) if jump else -math.inf, n) for (step, n), jump in pairs])

    @property
    def error(self) -> float:
        """J is a polynomial of degree n, with coefficients >= 0: relative errors add up as those of a product."""
        pairs = zip(self.steps, self.jumps, strict=True)
        worst = [(max(step.error, jump.error if jump else 0.0), n) for (step, n), jump in pairs]
        return 4 * math.fsum(n * (error + 16 * UNIT) for error, n in worst)

    @property
    def depth(self) -> float:
        """The sizes of all logarithms that were added."""
        pairs = zip(self.steps, self.jumps, strict=True)
        return math.fsum(
            n * (abs(step.log_scale) + (abs(jump.log_scale) if jump else 0.0)) for (step, n), jump in pairs
        )

    def besides(self, t: Array) -> Array:
        """The logarithm of at least what runs without a jump add to delta: M(b) e^((1-b) t) of nu alone, any b > 1."""
        logs = [math.fsum(n * step.log_moment(b) for step, n in self.steps) + (1 - b) * t for b in _TILTS]
        return np.asarray(np.min(logs, axis=0)) + 1e-9

    def power(self, run: slice) -> tuple[Spectrum, Array]:
        """J of the transforms, over J of the scales, and a bound of its error, at some of the frequencies.

        A polynomial with coefficients >= 0 changes by at most p(|x| + |d|) - p(|x|).
        """
        number = np.arange(run.start, run.stop)
        log_base, rise = np.zeros(number.size, dtype=complex), np.zeros(number.size, dtype=complex)
        sizes, mosts = (_Rest(number.size) for _ in range(2))
        count = 0
        for (step, n), jump in zip(self.steps, self.jumps, strict=True):
            nu, count = step.values[run], count + n
            held = np.abs(nu) > _NOTHING
            nu = np.where(held, nu, _NOTHING)
            log_base += n * np.log(nu)
            error, kappa, kappa_error = step.errors(run), np.zeros(number.size, dtype=complex), np.zeros(number.size)
            if jump is not None:
                share = math.exp(jump.log_scale - step.log_scale)
                turn = (number * (jump.first - step.first)) % self.size
                kappa = share * jump.values[run] * np.exp(-2j * math.pi / self.size * turn)
                kappa_error = share * (jump.errors(run) + 8 * math.pi * UNIT)
                rise += n * _log1p(kappa / nu)
            sizes.add(np.where(held, np.abs(nu), 0.0), np.abs(kappa), n)
            mosts.add(np.abs(nu) + error, np.abs(kappa) + kappa_error, n)
        whole = self.combined(lambda step: step.log_scale) - math.fsum(n * step.log_scale for step, n in self.steps)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.where(
                rise.real < 1,
                np.exp(log_base - whole) * np.expm1(rise),
                np.exp(log_base + rise - whole) - np.exp(log_base - whole),
            )
        most = mosts.value(whole)
        steep = 1 + np.maximum(mosts.rise, sizes.rise)
        doubt = np.maximum(most - sizes.value(whole), 0.0) + most * steep * (64 * math.pi * UNIT * (count + 1))
        known = np.isfinite(value)
        return np.where(known, value, 0.0), np.where(known, doubt, most + doubt)


class _Rest:
    """J of the moduli a of nu and b of kappa, at every frequency."""

    def __init__(self, size: int) -> None:
        self._log_base, self.rise = np.zeros(size), np.zeros(size)

    def add(self, a: Array, b: Array, n: int) -> None:
        """Another part, n times; where a is 0 nothing is claimed."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self._log_base += n * np.log(a)
            self.rise += np.where(a > 0, n * np.log1p(b / a), 0.0)

    def value(self, whole: float) -> Array:
        """e^(base + rise) (1 - e^-rise), over e^whole."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(self._log_base + self.rise - whole) * -np.expm1(-self.rise))


def _log1p(z: Spectrum) -> Spectrum:
    """log(1 + z), right relative to |z|; NumPy's own is not for small complex z."""
    x, y = z.real, z.imag
    near = np.abs(z) < _DIRECT
    with np.errstate(divide="ignore", over="ignore"):
        small = 0.5 * np.log1p(np.where(near, x * (2 + x) + y * y, 0.0))
        real = np.where(near, small, np.log(np.abs(1 + z)))
    return np.asarray(real + 1j * np.arctan2(y, 1 + x))
