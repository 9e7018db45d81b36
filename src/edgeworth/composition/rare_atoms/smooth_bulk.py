"""The bulk of few samples with atoms, at all places at once: one Fourier transform for a tilt and a little noise.

The losses of n steps without a jump lie close together, but so few steps do not smooth: a line would be long, and there
is one for every value of jumps. With a little Gaussian noise a transform of some hundred thousand points gives the
profile at all places of a range (`lattice.smoothed`), which is certain up to v c^2 of itself, v the variance of the
noise and c the tilt there, however few the steps are. A few tilts serve all places that count.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import fft

from edgeworth.composition.answered import Ends
from edgeworth.composition.lattice.masses import Masses
from edgeworth.composition.lattice.outside import NOTHING
from edgeworth.composition.lattice.smoothed import Line, smoothed
from edgeworth.composition.lattice.transforms import REACH, transform
from edgeworth.composition.rare_atoms.beside_bulk import NOTHING_BESIDE, Beside
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.lattice.smoothed import SmoothTail
    from edgeworth.composition.lattice.transforms import Transform
    from edgeworth.losses.atomic import MovedAtoms
    from edgeworth.losses.law import Array

__all__ = ["SmoothBulk", "StepLaw"]

_UNIT = 2.0**-53
_MOST_POINTS = 2**20  # of a transform: 16 MB
_MOST_KEPT, _MOST_READ = 2**22, 3 * 2**20  # points of all transforms, and of all readings: 32 MB and 48 MB
_EXCESS = 7.0  # nats between a reading and the scale of the tilt that serves it
_STEEPER = 4.0  # times as steep is the next tilt, at the most
_OUTSIDE = 32.0  # nats: the tilted mass outside a window
_MOST_RUNGS, _STEEPEST = 80, 1e15
_BETWEEN = np.linspace(0.1, 0.9, 9)  # of the way from one tilt to the next
_NEARBY = np.geomspace(0.2, 40.0, 24)  # tilts tried for the ends of a window, in 1/std
_HALVINGS = 8
_TENTH = 0.1
_MASSES = 64 * _UNIT  # relative error of a mass
_LONGER = 1.02  # a period than what it holds
_BESIDE = 4  # points at either end of a row that only serve others
_LADDER = 2_000.0  # units of work for a tilt


class StepLaw(NamedTuple):
    """The atoms of one step that does not jump: losses, each up to an error, and the logarithms of P-masses."""

    place: Array
    log_mass: Array
    off: float

    @classmethod
    def of(cls, atoms: MovedAtoms) -> StepLaw:
        """Those of a list."""
        held = atoms.null > 0
        return cls(atoms.loss[held], np.log(atoms.null[held]), float(np.max(atoms.off[held])))

    def mirrored(self) -> StepLaw:
        """-L under Q."""
        return StepLaw(-self.place[::-1], (self.log_mass + self.place)[::-1], self.off)

    @property
    def farthest(self) -> float:
        """The largest |loss|."""
        return float(max(abs(self.place[0]), abs(self.place[-1])))

    def log_moments(self, tilt: Array) -> Array:
        """K(c) at some tilts, roughly: they choose tilts and windows."""
        exponent = self.log_mass + np.multiply.outer(tilt, self.place)
        top = np.max(exponent, axis=1)
        return np.asarray(top + np.log(np.sum(np.exp(exponent - top[:, None]), axis=1)))

    def _tilted(self, tilt: float) -> Array:
        exponent = self.log_mass + tilt * self.place
        weight = np.exp(exponent - np.max(exponent))
        return np.asarray(weight / np.sum(weight))

    def spread(self, tilt: float) -> float:
        """The standard deviation at a tilt."""
        weight = self._tilted(tilt)
        return max(math.sqrt(float(weight @ (self.place - weight @ self.place) ** 2)), 1e-300)

    def lump(self, tilt: float) -> float:
        """The loss from which on all larger ones have a tenth of the second moment at a tilt."""
        share = np.cumsum((self._tilted(tilt) * self.place**2)[::-1])
        return float(self.place[::-1][int(np.searchsorted(share, _TENTH * share[-1]))])


class _Rung(NamedTuple):
    """A tilt, that of the next rung, the steepest tilt of what is read between, and the law's window."""

    tilt: float
    following: float
    steepest: float
    window: tuple[float, float]


class _Sum(NamedTuple):
    """So many steps, and what is beside them."""

    law: StepLaw
    steps: int
    beside: Beside

    def log_moments(self, tilt: Array) -> Array:
        """K(c) of all at some tilts, roughly."""
        return self.steps * self.law.log_moments(tilt) + self.beside.log_moments(tilt)

    def spread(self, tilt: float) -> float:
        """The standard deviation at a tilt."""
        return math.hypot(math.sqrt(self.steps) * self.law.spread(tilt), self.beside.spread(tilt))

    def where_equal(self, low: float, high: float) -> float:
        """Where the scales e^(K(c) - ct) of two tilts are the same."""
        k = self.log_moments(np.array([low, high]))
        return float(k[1] - k[0]) / (high - low)

    def window(self, tilt: float) -> tuple[float, float]:
        """Losses outside of which there is next to no mass at a tilt, by Chernoff's inequality."""
        shift = _NEARBY / self.spread(tilt)
        k = self.log_moments(tilt + np.concatenate([[0.0], shift, -shift]))
        right, left = (k[some] - k[0] + _OUTSIDE for some in (np.s_[1 : shift.size + 1], np.s_[shift.size + 1 :]))
        ends = [self.steps * float(self.law.place[end]) + self.beside.ends[end] for end in (0, -1)]
        return max(ends[0], float(np.max(-left / shift))), min(ends[1], float(np.min(right / shift)))


class _Between(NamedTuple):
    """Where the scales of two tilts are the same, how far above the least of any, in nats, and the tilt of that."""

    place: float
    excess: float
    tilt: float


def _between(law: _Sum, low: float, high: float) -> _Between:
    tilts = low + (high - low) * np.concatenate([[0.0], _BETWEEN, [1.0]])
    k = law.log_moments(tilts)
    place = float(k[-1] - k[0]) / (high - low)
    scale = k - tilts * place
    least = int(np.argmin(scale))
    return _Between(place, float(scale[0] - scale[least]), float(tilts[least]))


def _next_tilt(law: _Sum, tilt: float) -> tuple[float, _Between]:
    """The greatest tilt of which all readings between are served well by either, and what is between."""
    low, high = tilt, 1 + _STEEPER * (tilt - 1)
    found = _between(law, tilt, high)
    if found.excess <= _EXCESS:
        return high, found
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _between(law, tilt, middle).excess <= _EXCESS else (low, middle)
    return high, _between(law, tilt, high)


def _rungs(law: _Sum, nats: float) -> list[_Rung]:
    """Tilts for all places from the left end on to where the profile is rarer than e^-nats.

    The first reaches as far left as the law has mass: 1 - e^t + E[(e^t - X)_+] has digits at the tilts of delta, too.
    """
    made: list[_Rung] = []
    tilt = 1 + 1 / max(abs(law.window(0.0)[0]), law.steps * law.law.spread(1.0), 1e-300)
    while len(made) < _MOST_RUNGS and tilt < _STEEPEST:
        following, end = _next_tilt(law, tilt)
        spend(_LADDER)
        made.append(_Rung(tilt, following, end.tilt, law.window(tilt)))
        tilt = following
        if float(law.log_moments(np.array([tilt]))[0]) - (tilt - 1) * end.place < -nats:
            break
    return made


class _Points(NamedTuple):
    """The transforms of a step and of what is beside at the tilt of a rung, and the points that they are for."""

    rung: _Rung
    step: Transform
    beside: list[tuple[Transform, int]]
    h: float
    size: int


class SmoothBulk:
    """The profile of n steps or fewer in one direction, certain up to `fine` of itself where that can be had."""

    def __init__(self, law: StepLaw, n: int, nats: float, fine: float, beside: Beside = NOTHING_BESIDE) -> None:
        self._law, self._n, self._nats, self._fine, self._beside = law, n, nats, fine, beside
        self._points: dict[int, _Points] = {}
        self._tails: dict[tuple[int, int], SmoothTail] = {}
        self._ranges: dict[int, Array] = {}

    @cached_property
    def _ladder(self) -> list[_Rung]:
        return _rungs(_Sum(self._law, self._n, self._beside), self._nats)

    def most_points(self) -> float:
        """How many points the longest transform would have."""
        rungs = range(len(self._ladder))
        return max((self._period(number) / self._finest(number) for number in rungs), default=0.0)

    def largest_lump(self) -> float:
        """How many nats one of its largest losses that count adds to a tilted law: between lumps a tilt is no guide."""
        return max((rung.steepest * self._law.lump(rung.steepest) for rung in self._ladder), default=0.0)

    def _range(self, steps: int) -> Array:
        """Places of so many steps: the first that is read, and up to where each of the rungs serves."""
        if steps not in self._ranges:
            law = _Sum(self._law, steps, self._beside)
            ends = [law.where_equal(rung.tilt, rung.following) for rung in self._ladder]
            self._ranges[steps] = np.array([law.window(0.0)[0], *ends])
        return self._ranges[steps]

    def _period(self, number: int) -> float:
        low, high = map(float, self._range(self._n)[number : number + 2])
        window = self._ladder[number].window
        return _LONGER * max(window[1] - low, high - window[0], high - low)

    def _finest(self, number: int) -> float:
        """The distance of points that resolve so little noise as leaves the steepest reading certain."""
        return math.pi * math.sqrt(self._fine) / (REACH * self._ladder[number].steepest)

    def delta(self, steps: int, t: Array) -> Ends:
        """Ends of the profile of so many steps; where no tilt serves them, those of any law."""
        lower, upper = np.zeros(t.size), np.ones(t.size)
        if not self._ladder:  # there is none for a law of one loss
            return Ends(lower, upper)
        which = np.searchsorted(self._range(steps)[1:], t)
        which[t < self._range(steps)[0]] = len(self._ladder)
        for number in np.unique(which[which < len(self._ladder)]).tolist():
            (some,) = np.nonzero(which == number)
            lower[some], upper[some] = self._read(number, steps, t[some])
        return Ends(lower, upper)

    def _read(self, number: int, steps: int, t: Array) -> Ends:
        """By the tilt of one rung; places are certain up to s: e^-s delta'(t + s) <= delta(t) <= e^s delta'(t - s)."""
        slack = steps * (self._law.off + 2.0**-49 * self._law.farthest) + self._beside.slack
        tail = self._tail(number, steps, slack)
        window, growth = tail.window, math.exp(slack)
        first, last = (window.offset + window.h * (window.first + k) for k in (_BESIDE, window.size - 1 - _BESIDE))
        known = (t - slack > first) & (t + slack < last)
        lower, upper = tail.ends(t + slack)[0] / growth, tail.ends(t - slack)[1] * growth
        more = 1 + 4 * _UNIT
        return Ends(np.where(known, lower / more, 0.0), np.where(known, np.minimum(upper * more, 1.0), 1.0))

    def _tail(self, number: int, steps: int, slack: float) -> SmoothTail:
        if (number, steps) not in self._tails:
            points = self._of_rung(number)
            parts = [(points.step, steps)] * (steps > 0) + points.beside
            line = Line("delta", parts, points.rung.tilt, points.h, points.size)
            low, high = map(float, self._range(steps)[number : number + 2])
            made = smoothed(line, (low - 2 * slack, high + 2 * slack))
            held = made.window.size + sum(tail.window.size for tail in self._tails.values())
            while self._tails and held > _MOST_READ:
                held -= self._tails.pop(next(iter(self._tails))).window.size
            self._tails[number, steps] = made
        return self._tails[number, steps]

    def _of_rung(self, number: int) -> _Points:
        """The noise is as little as the steepest reading asks for, or as the points that there may be can resolve."""
        if number not in self._points:
            rung, period = self._ladder[number], self._period(number)
            h = max(self._finest(number), period / _MOST_POINTS)
            size = 2 * fft.next_fast_len(math.ceil(period / h / 2) + 8 * _BESIDE, real=True)
            kinds = 1 + self._beside.kinds
            while self._points and kinds * (size + sum(points.size for points in self._points.values())) > _MOST_KEPT:
                del self._points[next(iter(self._points))]
            step, beside = self._transform(rung.tilt, h, size), self._beside.transforms(rung.tilt, h, size)
            self._points[number] = _Points(rung, step, beside, h, size)
        return self._points[number]

    def _transform(self, tilt: float, h: float, size: int) -> Transform:
        law = self._law
        ends = float(law.place[0]), float(law.place[-1])
        listed = Masses(law.place.copy(), law.log_mass.copy(), ends, NOTHING, NOTHING, _MASSES, law.off)
        return transform(listed, tilt, h, size)
