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
from contextlib import nullcontext
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour.certified_moment import NATS, SUM_ROUNDING
from edgeworth.composition.contour.parts_of_a_line import Along, Gaussian, Reach, Terms
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
from edgeworth.composition.contour.tail import (
    ALLOWED,
    Far,
    Guess,
    Segments,
    far_enough,
    first_negligible,
    log_far,
    sampled,
    tail_beyond,
)
from edgeworth.composition.contour.tilted_part import TiltedPart, tilt_part
from edgeworth.composition.contour.waves import logarithm
from edgeworth.composition.one_thread import one_thread
from edgeworth.composition.work import spend
from edgeworth.errors import TooLarge
from edgeworth.losses import ReplacedGaussianLoss

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Steps
    from edgeworth.losses.law import Array

__all__ = ["LARGEST", "Line"]

_UNIT = 2.0**-53
_MANY_NODES, _MOST_NODES = 4_000, 500_000
_MOST_WINDOWED = 40_000  # the same where jumps are dropped or sorted: other lines will do as well
_MOST_WORK = 3e8  # nodes of the line times nodes in x
_MOST_WAVES = 2e6  # waves that are kept at a time
LARGEST = 600.0  # of an exponent
_FARTHEST = 1e30  # of a threshold
_MOST_SCALE = 0.5  # of what is unknown of K
_CANCELS = 1e4  # nats of K, from which on they are cancelled exactly
_LARGEST_FRONT = 2 * LARGEST  # more than all exponents of a front that counts, and than |log(h/pi)|
_ROOM = 1 + 1e-6  # for the errors of errors
_FEWER_NATS = 30.0  # where many nodes would be needed for all digits
_NEARLY_ENOUGH = 1.0  # nats by which bounds made for another frequency may be lower
_FAR_LADDER = 1.1 ** np.arange(13)
_TERM = 0.02  # units of work for a term of a sum
_LARGEST_BLOCK = 1_000_000  # of waves that are made at a time
_LONG = 50_000  # nodes at a time
_LONG_PRODUCT = 2_000  # nodes, about, whose products of matrices a BLAS library shares out to threads


class Line:
    """The integrand on Re s = c at t = 0, h, …, Nh, with bounds on all that the sum leaves out."""

    def __init__(self, steps: Steps, c: float, period: float, guess: Guess) -> None:
        """Prepare the line; `period` = 2 pi/h is the distance of the aliases in the loss, |phi| small at the guess."""
        if not math.isfinite(period):
            raise TooLarge("no bound on the aliases of the line integral is known")
        self.c, self.period = c, period
        self.h = 2 * math.pi / period
        self._gaussian, self._others = Gaussian(steps.gaussian, c), steps.others
        parts, self._tail, self.cut, along = self._until_negligible(guess)  # large, and not kept
        self.t = self._nodes(math.ceil(self.cut / self.h) + 1 if along is None else along.relative.size)
        self.log_phi, self.log_bound, self.relative = along or self._along_the_line(parts)
        products = [(p.count, p.log_moment) for p in parts]
        self.k = steps.log_ways + self._gaussian.log_moment + math.fsum(n * k for n, k in products)
        self.k_error = 8 * _UNIT * (abs(self._gaussian.log_moment) + abs(steps.log_ways)) + math.fsum(
            p.count * (p.log_moment_error + self._moment_quadrature(p)) for p in parts
        )
        self._exact_k: Fraction | None = None
        self.cancels = abs(self.k) > _CANCELS  # K is so large that the rest of an exponent has to cancel it exactly
        if self.cancels:
            parts_of_k = [Fraction(steps.log_ways), Fraction(self._gaussian.log_moment)]
            self._exact_k = sum((n * Fraction(k) for n, k in products), sum(parts_of_k, Fraction()))
        else:
            self.k_error += 4 * _UNIT * math.fsum(abs(n * k) for n, k in products)
        smooth = self._gaussian.variance > 0 or any(p.shifted is not None for p in parts)
        log_atoms = _log_unread(parts)
        self._atoms = 0.0 if smooth else math.exp(log_atoms)  # the runs of atoms only, which are not read
        self.log_front = self.k + math.log(self.h / math.pi)
        size = abs(self.k) + abs(self.log_front) if self._exact_k is None else _LARGEST_FRONT
        self._scale = _ROOM * (self.k_error + 8 * _UNIT * size)
        if not self._scale < _MOST_SCALE:
            raise TooLarge("K is known too badly for the line integral")
        self._side = math.isqrt(self.t.size - 1) + 1
        turn = -1j * self.h * np.arange(self._side)
        self._turns = np.concatenate([self._side * turn, turn])
        self._terms: dict[tuple[float, ...], Terms] = {}

    def _nodes(self, count: int) -> Array:
        """As many even ones, from 0 on."""
        return np.asarray(self.h * np.arange(count), dtype=np.float64)

    def _until_negligible(self, guess: Guess) -> Reach:
        """The parts, the tail, and a frequency T at which |phi|^n has fallen below e^-NATS, or what is affordable."""
        parts: list[TiltedPart] = []
        windowed = any(isinstance(step, SampledGaussian) and not step.is_whole for step, _ in self._others)
        most_nodes = _MOST_WINDOWED if windowed else _MOST_NODES
        for number in range(40):
            with self._threads(guess):
                many = guess.frequency > _MANY_NODES * self.h
                farthest = float(_FAR_LADDER[-1]) * guess.frequency if many else guess.usual
                parts = self._tilted(parts, farthest + self.h)
                self._check_atoms(parts, most_nodes * self.h)
                found = self._many_nodes(guess, parts) if many else self._few_nodes(guess, parts)
            if found is not None:
                return found
            if number == 0 and not self._ever_falls(parts, guess, most_nodes * self.h):
                break
            guess = guess.farther()
            if guess.frequency > most_nodes * self.h:
                break
        raise TooLarge("the characteristic function falls too slowly for the line integral")

    def _threads(self, guess: Guess) -> AbstractContextManager[object]:
        """One thread for products as long as such a line has; a short one is done before threads are counted."""
        return one_thread() if guess.frequency > _LONG_PRODUCT * self.h else nullcontext()

    def _ever_falls(self, parts: list[TiltedPart], guess: Guess, most: float) -> bool:
        """Whether |phi| may be small at the farthest frequency that will be tried: if not, no guess before it will do.

        Its bounds fall with the frequency; those made for another one may be a little lower.
        """
        last = guess.farther(2.0 ** max(math.floor(math.log2(most / guess.frequency)), 0))
        farthest = float(_FAR_LADDER[-1]) * last.frequency
        samples = [isinstance(step, SampledGaussian) for step, _ in self._others]
        with self._threads(guess):
            far = [
                tilt_part(step, n, self.c, farthest) if sample else part
                for sample, part, (step, n) in zip(samples, parts, self._others, strict=True)
            ]
            log_bound = log_far(np.array([farthest]), far, self._gaussian.variance)
        nats = _FEWER_NATS - math.log1p(farthest / (1 + abs(self.c)))
        return bool(log_bound[0] < _NEARLY_ENOUGH - nats) or any(
            isinstance(step, ReplacedGaussianLoss) for step, _ in self._others
        )

    def _check_atoms(self, parts: list[TiltedPart], farthest: float) -> None:
        """At high frequencies nothing is left of |phi| but the runs of atoms: they may be too likely for any line."""
        if self._gaussian.variance == 0 and all(part.shifted is None for part in parts):
            log_atoms = _log_unread(parts)
            if -log_atoms < min(NATS, _FEWER_NATS - math.log1p(farthest / (1 + abs(self.c)))):
                raise TooLarge("runs of nothing but atoms are too likely for the line integral")

    def _tilted(self, parts: list[TiltedPart], frequency: float) -> list[TiltedPart]:
        """The parts, good for frequencies up to the given one; those above the real line, and formulas, are for all."""
        return [
            part if part is not None and part.is_good_for_all else tilt_part(step, n, self.c, frequency)
            for part, (step, n) in zip_longest(parts, self._others)
        ]

    def _few_nodes(self, guess: Guess, parts: list[TiltedPart]) -> Reach | None:
        """Nodes up to where the bound far out is small, if that is near the guess; of these, as many as it takes."""
        variance, stairs = self._gaussian.variance, guess.stairs
        far = far_enough(stairs, parts, variance, NATS)
        last = float(stairs[-1] if far is None else far.t[0])
        if far is None and all(part.shifted is None for part in parts):
            # Laplace noise: high frequencies cost little, and its density alone falls slowly.
            far = far_enough(np.asarray(last * 2.0 ** np.arange(1, 40)), parts, variance, NATS)
            parts = [tilt_part(step, n, self.c, float(far.t[0]) if far else last) for step, n in self._others]
        elif far is not None and last > guess.usual:
            parts = self._tilted(parts, last + self.h)
        if far is None:
            return None
        self._check_size(last, parts)
        t = self._nodes(math.ceil(last / self.h) + 1)
        values = [part.on_even_grid(self.h, t.size) for part in parts]
        along = self._product(t, parts, values)
        between = self._between(t, parts, values, stairs)
        number = first_negligible(along.log_bound, between, NATS)
        near, apart = Segments([], [], []), last < far.t[0]
        if number < t.size - 1:
            near = Segments([float(t[number])], [last], [float(between[number:].max())])
        elif not apart:
            far = far.starting_at(float(t[-1]))
        elif not along.log_bound[-1] < -NATS:
            return None
        if apart:
            try:
                more = sampled(last, float(far.t[0]), parts, variance, ALLOWED - NATS)
            except TooLarge:  # too many samples
                return self._many_nodes(guess, parts)
            near = Segments(*(one + other for one, other in zip(near, more, strict=True)))
        tail = tail_beyond(near, far, parts, variance, NATS)
        return Reach(parts, tail, float(t[number]), along.up_to(number + 1))

    def _between(
        self,
        t: Array,
        parts: list[TiltedPart],
        values: list[tuple[NDArray[np.complex128], Array]],
        stairs: Array,
    ) -> Array:
        """At least log |phi| from each node to the next: by its values there, and of jumps as it is far out.

        The chord between two values stays below the larger one, and |phi| of a step is above it by V h^2/8 at most.
        """
        log_bound = -0.5 * self._gaussian.variance * t[:-1] * t[:-1]
        for part, (d, error) in zip(parts, values, strict=True):
            if not part.alone:
                modulus = np.hypot(1 + d.real, d.imag) + error
                rise = part.variance() * self.h * self.h * (0.125 * (1 + 1e-9))
                larger = np.maximum(modulus[1:], modulus[:-1]) + rise
                log_bound += part.count * np.log(np.minimum(larger, 1.0))
        jumps = [part for part in parts if part.alone]
        if jumps:
            heights = np.append(0.0, log_far(stairs, jumps, 0.0))
            log_bound += heights[np.searchsorted(stairs, t[:-1], side="right")]
        return log_bound

    def _many_nodes(self, guess: Guess, parts: list[TiltedPart]) -> Reach | None:
        """The cut where the bound far out is small, if it is near the guess: thirteen digits are enough here.

        The terms of a profile fall with 1/t^2 besides, those of a tail with 1/t.
        """
        t = np.asarray(_FAR_LADDER * guess.frequency, dtype=np.float64)
        nats = _FEWER_NATS - np.log1p(t / (1 + abs(self.c)))
        log_bound = log_far(t, parts, self._gaussian.variance)
        deep = log_bound < -nats
        if not deep.any():
            return None
        first = int(deep.argmax())
        cut, wanted = float(t[first]), float(nats[first])
        self._check_size(cut, parts)
        far = Far(t[first:], log_bound[first:])
        return Reach(parts, tail_beyond(Segments([], [], []), far, parts, self._gaussian.variance, wanted), cut)

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

    def _along_the_line(self, parts: list[TiltedPart]) -> Along:
        """The products at all nodes; of a long line some at a time, for want of memory."""
        with one_thread():
            values = [part.on_even_grid(self.h, self.t.size) for part in parts]
        if self.t.size <= _LONG:
            return self._product(self.t, parts, values)
        log_phi, log_bound, relative = np.empty(self.t.size, dtype=complex), *np.empty((2, self.t.size))
        for start in range(0, self.t.size, _LONG):
            some = slice(start, start + _LONG)
            pieces = [(d[some], error[some]) for d, error in values]
            log_phi[some], log_bound[some], relative[some] = self._product(self.t[some], parts, pieces)
        return Along(log_phi, log_bound, relative)

    def _product(self, t: Array, parts: list[TiltedPart], values: list[tuple[NDArray[np.complex128], Array]]) -> Along:
        """Of the whole, from the values of its parts."""
        variance, log_phi = self._gaussian.variance, np.zeros(t.size, dtype=complex)
        log_bound, relative = np.zeros((2, t.size))
        if variance > 0:
            log_bound = log_phi.real = -0.5 * variance * t * t
            log_phi.imag = t * (variance * (self.c - 0.5))
            relative = 8 * _UNIT * np.abs(log_phi)
        for part, (d, error) in zip(parts, values, strict=True):
            log, modulus = logarithm(d)
            share = error / modulus
            log *= part.count
            log_phi += log
            log_bound += log.real + part.count * np.log1p(share)
            relative += part.count * (share / (1 + share)) + 4 * _UNIT * np.abs(log.imag)
        return Along(log_phi, log_bound, relative)

    def _prepared(self, poles: tuple[float, ...]) -> Terms:
        """The terms of the sum for one set of poles, with the parts of the error that no threshold changes."""
        if poles not in self._terms:
            term = np.zeros(self._side**2, dtype=complex)
            fixed = math.exp(self._tail.log_integral(len(poles))) / self.h if poles else 0.0
            growing = 0.0
            for start in range(0, self.t.size, _LONG):
                some = slice(start, min(start + _LONG, self.t.size))
                term[some], more, steeper = self._some_terms(poles, some)
                fixed, growing = fixed + more, growing + steeper
            self._terms[poles] = Terms(term.reshape(self._side, self._side), _ROOM * fixed, _ROOM * growing)
        return self._terms[poles]

    def _some_terms(self, poles: tuple[float, ...], some: slice) -> tuple[NDArray[np.complex128], float, float]:
        """Those at some of the nodes, and what they add to the two parts of the error."""
        t = self.t[some]
        den = np.ones(t.size, dtype=complex)
        for pole in poles:
            den *= (self.c - pole) + 1j * t
        size = np.abs(den)
        modulus = np.exp(self.log_bound[some]) / size
        term = np.asarray(np.exp(self.log_phi[some]) / den, dtype=complex)
        if some.start == 0:  # t = 0, which both halves of the line share
            modulus[0], term[0] = 0.5 * modulus[0], 0.5 * term[0]
        rounding = SUM_ROUNDING + 2 * self._side * _UNIT  # of a sum of rows, each added one after the other
        fixed = float(np.add.reduce(modulus * (np.minimum(self.relative[some] + 32 * _UNIT, 2.0) + rounding)))
        if self._atoms:
            fixed += self._atoms * float(np.sum(1 / size))
        return term, fixed, 4 * _UNIT * float(np.add.reduce(modulus * t))

    def exponent(self, pole: float, threshold: Array) -> Array:
        """K + log(h/pi) + (pole - c) t, from fractions: right to some ulps of itself."""
        assert self._exact_k is not None
        log_step, slope = math.log(self.h / math.pi), Fraction(pole) - Fraction(self.c)
        return np.array([float(self._exact_k + slope * Fraction(t)) + log_step for t in threshold.tolist()])

    def front(self, exponent: Array) -> Array:
        """(h/pi) e^(K + exponent), what stands before the sum; far from its saddle point the line says nothing."""
        return np.asarray(np.exp(np.minimum(self.log_front + exponent, LARGEST)))

    def sums(self, threshold: Array, *kinds: tuple[float, ...]) -> list[Array]:
        """Re sum' of e^(-i t x) phi(t)/den(t), for several sets of poles.

        den is the product of s - pole with s = c + it. The first term counts half.
        """
        rows = max(1, _LARGEST_BLOCK // self._side)
        if threshold.size > rows:
            some = [self.sums(threshold[start : start + rows], *kinds) for start in range(0, threshold.size, rows)]
            return [np.concatenate(pieces) for pieces in zip(*some, strict=True)]
        spend(_TERM * threshold.size * self._side**2 * len(kinds))
        waves = np.exp(threshold[:, None] * self._turns)
        return [self._sum(waves, self._prepared(poles).term) for poles in kinds]

    def _sum(self, waves: NDArray[np.complex128], term: NDArray[np.complex128]) -> Array:
        """Over the square of nodes: e^(-i t x) at t = (k m + j) h is the product of its values at k m h and at j h.

        One row's sum must not depend on how many rows there are, as that of a matrix product does.
        """
        rows = np.einsum("xj,kj->xk", waves[:, self._side :], term)
        rows *= waves[:, : self._side]
        return np.asarray(np.add.reduce(rows.real, axis=1))

    def error(self, front: Array, steepness: float, threshold: Array, value: Array, poles: tuple[float, ...]) -> Array:
        """A bound on the error of front times a sum, but for aliases; the exponent in the front is this steep.

        A front so large that it was capped makes an error beyond every probability, and one that underflows belongs
        to a reading that does.
        """
        terms, size = self._prepared(poles), np.minimum(np.abs(threshold), _FARTHEST)
        scale = self._scale + (0.0 if self.cancels else 8 * _ROOM * _UNIT * steepness) * size
        growth = scale * (1 + scale)  # at least e^scale - 1
        return np.asarray(front * ((1 + growth) * (terms.fixed + terms.growing * size)) + np.abs(value) * growth)


def _log_unread(parts: list[TiltedPart]) -> float:
    """The log of at least the tilted mass of the runs of atoms that are not read."""
    return math.fsum(part.count * math.log(part.atoms) for part in parts if not part.atoms_are_read)
