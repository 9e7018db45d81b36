"""Many different steps of Laplace noise, with responses and discrete noise, along a line: no quadrature, no lattice.

With w = s - 1/2 the transform of one step is e^(-theta/2) (cosh(theta w) + sinh(theta w)/(2w)), and

    E[(X - u)_+] = 1/(2 pi i) ∫ M(s) u^(1-s)/(s(s-1)) ds,   Re s > 1,

with the other sign E[min(X, u)] for 0 < Re s < 1. The atoms of the total keep |M| from falling to 0, but 1/(s(s-1))
falls: the line is cut where the atoms' share over the frequency is negligible. `docs/proofs/residues.md`, section 8.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.contour.tilted_part import tilt_nodes
from edgeworth.composition.searched import SearchedAnswers
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import LaplaceLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["LaplaceLines", "lines_answer_well", "lines_apply", "prepared_lines"]

_UNIT = 2.0**-53
_FEWEST_NATS = 1.0  # of what the atoms of the total weigh: with more the line would be too long
_ENOUGH_NATS = 20.0  # with which nothing is left of them
_MOST_ATOMS, _MOST_STEPS = 200, 100_000
_ALIAS_NATS, _TAIL_NATS = 36.0, 34.0  # aliases, and what is cut off, are held below e^-36 and e^-34 of the reading
_MOST_WORK, _MOST_NODES = 1e7, 100_000  # nodes times steps of different kinds, and nodes
_FACTOR, _WAVE = 2.0, 0.4  # units of work for a node of a step, and for a wave
_FIRST, _RATIO, _MOST_RUNGS = 0.8, 1.12, 50  # tilts are 1 + 0.8 * 1.12^k standard deviations
_BETWEEN = (0.55, 0.65, 0.75, 0.85, 0.92)  # tilts for the overlap
_BEYOND = 0.1 * 2.0 ** np.arange(10)  # how far beyond the tilt Chernoff's bound of the aliases looks, in 1/std
_ROOM = 6.0  # nats by which a reading may be smaller than its guess
_LARGEST_EXPONENT = 600.0
_LEAST = 5e-324


def lines_apply(total: TotalLoss) -> bool:
    """Whether all steps are Laplace noise or have few atoms and mirror images, and enough of them have a density."""
    if not total.is_exact or sum(n for _, n in total.parts) > _MOST_STEPS or not all(map(_known, dict(total.parts))):
        return False
    return _nats(total) >= _FEWEST_NATS


def lines_answer_well(total: TotalLoss) -> bool:
    """Whether they apply and the atoms of the total weigh so little that the lines have nearly all digits."""
    return lines_apply(total) and _nats(total) >= _ENOUGH_NATS


def _nats(total: TotalLoss) -> float:
    """Minus the logarithm of about what the atoms of the total weigh."""
    return sum(n * math.log1p(loss.theta / 2) for loss, n in total.parts if isinstance(loss, LaplaceLoss))


def _known(loss: PrivacyLoss) -> bool:
    if isinstance(loss, LaplaceLoss):
        return True
    lattice = loss.lattice
    return (
        loss.is_symmetric
        and math.isfinite(loss.support[1])
        and lattice is not None
        and lattice.log_null.size <= _MOST_ATOMS
    )


@lru_cache(maxsize=4)
def prepared_lines(total: TotalLoss) -> LaplaceLines:
    """The answers of a total loss; the last few are kept."""
    return LaplaceLines(total)


class LaplaceLines(SearchedAnswers):
    """Ends of delta, epsilon and f; both directions are the same."""

    def __init__(self, total: TotalLoss) -> None:
        if not lines_apply(total):
            raise Unsupported("this line is for Laplace noise, responses and discrete noise of few values")
        super().__init__(moments.prepared(total), 0.0, symmetric=True)
        self._parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
        self._top = total.support[1]
        self._slack = 8 * _UNIT * math.fsum(n * loss.support[1] for loss, n in self._parts)
        self._spread = math.sqrt(float(total.cumulants(2).null[1]))
        self._rungs: list[tuple[float, float]] = []
        self._lines: dict[tuple[Kind, int], _Line] = {}

    def read(self, kind: Kind, t: Array) -> Ends:
        """Ends of one kind at every t. By symmetry reverse(t) = delta(-t) and overlap(t) = e^t overlap(-t)."""
        if kind == "reverse":
            return self.read("delta", -t)
        lower, upper = np.zeros(t.size), np.full(t.size, math.inf)
        place = np.abs(t) if kind == "overlap" else t
        numbers = np.array([self._number(kind, x) for x in place.tolist()], dtype=int)
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            lower[mine], upper[mine] = self._line(kind, number).ends(place[mine], self._slack)
        if kind == "overlap":
            scale = np.exp(np.minimum(t, 0.0))
            return Ends(scale * lower * (1 - 4 * _UNIT), np.minimum(scale * upper * (1 + 4 * _UNIT), 1.0))
        upper = np.where(t >= self._top + 2 * self._slack, 0.0, np.minimum(upper, 1.0))
        return Ends(np.minimum(lower, upper), upper)

    def _number(self, kind: Kind, t: float) -> int:
        """The line whose tilt suits a threshold: the last one whose mean is not right of it."""
        if kind == "overlap":
            return max((k for k, mean in enumerate(self._means_between) if mean <= t), default=0)
        number = 0
        while number + 1 < _MOST_RUNGS and self._rung(number + 1)[0] <= t:
            number += 1
        return number

    @cached_property
    def _means_between(self) -> list[float]:
        """K' at the tilts of the overlap."""
        return [self._moments_at(c)[1] for c in _BETWEEN]

    def _rung(self, number: int) -> tuple[float, float]:
        """K' at the tilt of that number, and about the log of delta there."""
        while len(self._rungs) <= number:
            c = self._tilt(len(self._rungs))
            k, mean, variance = self._moments_at(c)
            x = (c - 1) * math.sqrt(variance)
            self._rungs.append((mean, k - (c - 1) * mean - math.log1p(2.5 * x * (1 + x))))
        return self._rungs[number]

    def _tilt(self, number: int) -> float:
        return 1 + _FIRST * _RATIO**number / self._spread

    def _moments_at(self, c: float) -> tuple[float, float, float]:
        """K, K' and K'' at a tilt, roughly."""
        h = 1e-3 / self._spread
        low, middle, high = (self._log_moment(x)[0] for x in (c - h, c, c + h))
        return middle, (high - low) / (2 * h), max((high - 2 * middle + low) / h**2, (0.05 * self._spread) ** 2)

    def _log_moment(self, c: float) -> tuple[float, float]:
        """K(c), c != 1/2, and a bound on its error."""
        terms = [(n, *_log_moment(loss, c)) for loss, n in self._parts]
        value = math.fsum(n * k for n, k, _ in terms)
        return value, math.fsum(n * error for n, _, error in terms) + 4 * _UNIT * math.fsum(
            n * abs(k) for n, k, _ in terms
        )

    def _line(self, kind: Kind, number: int) -> _Line:
        if (kind, number) not in self._lines:
            self._lines[kind, number] = self._prepared(kind, number)
        return self._lines[kind, number]

    def _prepared(self, kind: Kind, number: int) -> _Line:
        c = self._tilt(number) if kind == "delta" else _BETWEEN[number]
        log_k = self._log_moment(c)
        if kind == "delta":
            (mean, _), (farthest, depth) = self._rung(number), self._rung(number + 1)
            depth -= _ROOM
        else:
            mean, farthest, depth = 0.0, 2 * self._means_between[number] + self._spread, log_k[0] - _ROOM
        pole = max(c, 1.0)
        right, left = (np.asarray(x + _BEYOND / self._spread, dtype=np.float64) for x in (pole, 1.0))
        k = [np.array([sum(self._log_moment(b)) for b in tilts.tolist()]) for tilts in (right, left)]
        outward = np.min((k[0] + (1 - right) * mean - depth + _ALIAS_NATS) / (right - c))
        inward = np.min((k[1] + left * farthest - depth + _ALIAS_NATS) / (left + c - 1))
        period = max(float(outward), float(inward), self._spread)
        return _Line(kind, self._parts, c, log_k, period, (right, k[0], left, k[1]))


class _Line:
    """The sum along one line, prepared once and read many times."""

    def __init__(
        self,
        kind: Kind,
        parts: list[tuple[PrivacyLoss, int]],
        c: float,
        log_moment: tuple[float, float],
        period: float,
        beyond: tuple[Array, Array, Array, Array],
    ) -> None:
        self.kind, self.c, self.period, self.beyond = kind, c, period, beyond
        self.k, self.k_error = log_moment
        step = 2 * math.pi / period
        most = min(_MOST_NODES, int(_MOST_WORK / len(parts)))
        count = 64
        while count < most and _log_atoms(parts, c, step * count) - math.log(step * count * period) > -_TAIL_NATS:
            count *= 2
        count = min(count, most)
        y = np.asarray(step * np.arange(count + 1), dtype=np.float64)
        spend(_FACTOR * len(parts) * y.size)
        value, bound, relative = _product(parts, c, y)
        s = c + 1j * y
        kernel = (1.0 if kind == "delta" else -1.0) / (s * (s - 1))
        double = np.full(y.size, 2.0)
        double[0] = 1.0
        modulus = double * bound * np.abs(kernel)
        self._y, self._term = y, double * value * kernel
        self._fixed = float(np.sum(modulus * np.minimum(relative + (2 * count + 64) * _UNIT, 2.0)))
        self._growing = 4 * _UNIT * float(np.sum(modulus * y))
        log_tail = _log_atoms(parts, c, float(y[-1])) + math.log(2 / (step * float(y[-1])))
        self._fixed += math.exp(min(log_tail, _LARGEST_EXPONENT))  # what is cut off: 2 B/(step T), over the period

    def ends(self, t: Array, slack: float) -> tuple[Array, Array]:
        """Ends at every t, of a law whose losses are certain up to the slack."""
        exponent = self.k + (1 - self.c) * t
        doubt = self.k_error + 8 * _UNIT * (abs(self.k) + (1 + self.c) * np.abs(t)) + slack
        if np.any(exponent > _LARGEST_EXPONENT) or np.any(doubt > 0.5):
            raise ComputationFailed("a reading leaves the range of doubles")
        front = np.exp(exponent)
        spend(_WAVE * t.size * self._y.size)
        wave = np.exp(np.multiply.outer(t, -1j * self._y))
        value = front / self.period * (wave @ self._term).real
        error = front / self.period * (self._fixed + self._growing * np.abs(t)) * np.exp(doubt)
        error = (error + np.abs(value) * np.expm1(doubt) + 2 * slack * front) * (1 + 1e-9)
        line, size = self._straight(t)
        value, error, rest = value - line, error + self._doubt(t) * size + 2 * _LEAST, self._aliases(t)
        less, more = (rest, 0.0) if self.kind == "delta" else (0.0, rest)
        return np.maximum(value - error - less, 0.0), np.maximum(value + error + more, _LEAST)

    def _doubt(self, t: Array) -> Array:
        """Of their exponents, and some ulps."""
        return np.asarray(_UNIT * (16 + 4 * ((self.c + 1) * self.period + np.abs(t))))

    def _straight(self, t: Array) -> tuple[Array, Array]:
        """The aliases as far as they are straight lines in e^t, and the sum of their moduli.

        Far left delta is 1 - u and the overlap u, far right the overlap is 1.
        """
        near, far = abs(self.c - 1) * self.period, self.c * self.period
        ones = math.exp(-near) / -math.expm1(-near)
        growing = np.exp(np.minimum(t - far, _LARGEST_EXPONENT)) / -math.expm1(-far)
        return np.asarray(ones - growing if self.kind == "delta" else ones + growing), np.asarray(ones + growing)

    def _aliases(self, t: Array) -> Array:
        """At least the sum of what the aliases differ by from these: E[(X - u)_+] on the right, E[(u - X)_+] left."""
        right, k_right, left, k_left = self.beyond
        gap = (right - self.c) * self.period
        outward = (k_right - gap - np.log(-np.expm1(-gap)))[:, None] + np.multiply.outer(1 - right, t)
        gap = (left + self.c - 1) * self.period
        inward = (k_left - gap - np.log(-np.expm1(-gap)))[:, None] + np.multiply.outer(left, t)
        most = [np.exp(np.minimum(np.min(logs, axis=0), _LARGEST_EXPONENT)) for logs in (outward, inward)]
        return np.asarray(most[0] + most[1])


def _log_moment(loss: PrivacyLoss, c: float) -> tuple[float, float]:
    """Log E[e^(cL)] of one step, and a bound on its error."""
    if isinstance(loss, LaplaceLoss):
        a = abs(c - 0.5)
        value = (a - 0.5) * loss.theta + math.log(_share(loss.theta, a))
        return value, _UNIT * (16 + 8 * (1 + a) * loss.theta)
    part = tilt_nodes(loss.nodes(), 1, c)
    return part.log_moment, part.log_moment_error


def _share(theta: float, a: float) -> float:
    """e^(-a theta) (cosh(a theta) + sinh(a theta)/(2a)) for a > 0: a sum of positive terms."""
    return 0.5 * (1 + math.exp(-2 * a * theta)) - 0.25 * math.expm1(-2 * a * theta) / a


def _log_atoms(parts: list[tuple[PrivacyLoss, int]], c: float, y: float) -> float:
    """The log of at least |phi| of the sum at all frequencies from y on, which falls with y.

    |cosh(theta w)| and |sinh(theta w)| are at most cosh(theta a), and |w| >= y.
    """
    a = abs(c - 0.5)
    logs = [
        n * math.log(min(0.5 * (1 + math.exp(-2 * a * loss.theta)) * (1 + 0.5 / y) / _share(loss.theta, a), 1.0))
        for loss, n in parts
        if isinstance(loss, LaplaceLoss)
    ]
    return math.fsum(logs) * (1 - 1e-12) + 1e-12


def _product(parts: list[tuple[PrivacyLoss, int]], c: float, y: Array) -> tuple[NDArray[np.complex128], Array, Array]:
    """Phi of the sum at frequencies y, at least its modulus, and its relative error beside that modulus."""
    value, log_bound, relative = np.ones(y.size, dtype=complex), np.zeros(y.size), np.zeros(y.size)
    for loss, n in parts:
        phi, error = _laplace(loss.theta, c, y) if isinstance(loss, LaplaceLoss) else _atoms(loss, c, y)
        modulus = np.abs(phi)
        log_most = np.log(modulus + error)
        log_bound += n * np.minimum(log_most, 0.0)
        relative += n * error / (modulus + error)
        if n == 1:
            value *= phi
            relative += 8 * _UNIT
        else:
            log_phi = np.log(np.maximum(modulus, 1e-300)) + 1j * np.angle(phi)
            value *= np.exp(n * np.maximum(log_phi.real, -700.0 / n) + 1j * n * log_phi.imag)
            relative += n * _UNIT * (16 + 4 * np.abs(log_phi.real)) + 8 * _UNIT
    return value, np.exp(log_bound), relative


def _laplace(theta: float, c: float, y: Array) -> tuple[NDArray[np.complex128], Array]:
    """Phi of one step of Laplace noise, c > 1/2, and a bound on its error, absolute."""
    a = c - 0.5
    turn = np.exp(1j * (theta * y))
    half = 0.5 / (a + 1j * y)
    phi = 0.5 * (turn * (1 + half) + math.exp(-2 * a * theta) * np.conj(turn) * (1 - half)) / _share(theta, a)
    return phi, (1 + 0.5 / a) * _UNIT * (2 * theta * y + 20)


def _atoms(loss: PrivacyLoss, c: float, y: Array) -> tuple[NDArray[np.complex128], Array]:
    """Phi of one step with few atoms, and a bound on its error, absolute."""
    part = tilt_nodes(loss.nodes(), 1, c)
    phi = np.zeros(y.size, dtype=complex)
    for place, weight in zip(part.loss.tolist(), part.weight.tolist(), strict=True):
        phi += weight * np.exp(1j * (place * y))
    noise = 2 * float(part.weight @ part.noise) + (2 * part.loss.size + 16) * _UNIT
    return phi, noise + 4 * _UNIT * float(part.weight @ np.abs(part.loss)) * y
