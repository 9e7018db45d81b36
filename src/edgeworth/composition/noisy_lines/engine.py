"""Many different steps with atoms, along lines: certified ends of delta, epsilon and f.

A lattice that holds hundreds of different spacings has to round every one of them. A line needs only the transform of
each step, which is a formula; `line` bounds what it leaves out.
"""

from __future__ import annotations

import bisect
import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
from scipy.special import erfcx

from edgeworth.composition.answered import Ends
from edgeworth.composition.noisy_lines.line import FEWEST_NODES, Beyond, LineGoal, NoisyLine
from edgeworth.composition.noisy_lines.step_waves import UNIT, far_share, is_known, step_waves
from edgeworth.composition.noisy_lines.tilted_sum import Chernoff, TiltedSums
from edgeworth.composition.searched import SearchedAnswers
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["NoisyLines", "applies", "prepared"]

_FINE, _ROUGH = 3e-8, 1e-3  # the relative width aimed at
_TESTS = 0.1  # of it, for the overlap: a small f is a difference from it
_MOST_STEPS = 10**10
_FEWEST_NATS, _FEWEST_NATS_FAR_OUT = 12.0, 8.0  # of |phi| at most frequencies; beyond those of a quadrature
_ALIAS_NATS = 26.0  # aliases are held below e^-26 of the reading
_FIRST, _STRIDE, _MOST_RUNGS = 0.8, 1.2, 50  # tilts are 1 + 0.8, 2.0, 3.2 … over the standard deviation, …
_FARTHEST, _SHORTEST = 3.0, 1e-6  # … or closer, where laws so far apart would follow each other, …
_LONGER = 1.5  # … or farther apart where the tilted law is narrower, from one to the next by so much
_BEYOND = 0.1 * 2.0 ** np.arange(10)  # how far beyond the tilt Chernoff's bound of the aliases looks, in 1/std
_ROOM = 3.0  # nats by which a reading may be smaller than its guess
_MOST_WORK = 8e7  # waves for one line
_MOST_KEPT = 2**22  # terms of all lines: 64 MB
_MOST_MASSES = 1_000.0  # of a density, about
_LAST_FREQUENCY = 8.0  # times the deviation and the root of the width aimed at: noise beyond is too little to count
_NEAREST = 0.02  # standard deviations, of the means of two lines
_GRID, _ROUNDS = 9, 4
_NEGLIGIBLE = 1e-2
_LARGEST = 700.0  # of an exponent
_LAST = 0.98  # of the way from 1 to the steepest tilt that the nodes of a law serve: those beyond bound the aliases
_SHARES = np.array([0.1, 0.3, 0.6])  # of the way from a tilt to that


def applies(total: TotalLoss) -> bool:
    """Whether the transforms of all steps are known, and together they are small at nearly all frequencies.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> applies(TotalLoss.of(ew.Composed([ew.RandomizedResponse(0.01 * k) for k in range(1, 51)])))
    True
    >>> applies(TotalLoss.of(ew.RandomizedResponse(1.0) * ew.RandomizedResponse(0.3)))
    False
    """
    parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
    if not total.is_exact or not 0 < sum(n for _, n in parts) <= _MOST_STEPS:
        return False
    if not all(is_known(loss) for loss, _ in parts):
        return False
    try:
        nats = sum(n * _nats(loss) for loss, n in parts)
    except ComputationFailed:  # a loss so large that not even its moment can be had
        return False
    if not any(_has_density(loss) for loss, _ in parts):
        return nats >= _FEWEST_NATS
    return _nats_far_out(parts) >= _FEWEST_NATS_FAR_OUT


def _nats_far_out(parts: list[tuple[PrivacyLoss, int]]) -> float:
    """How small |phi| of the sum surely is, or nearly so, beyond the frequencies that densities are integrated for."""
    sure = sum(-n * math.log(far_share(loss, 0.55)[0]) for loss, n in parts if _has_density(loss))
    return sure + 0.5 * sum(n * _nats(loss) for loss, n in parts if not _has_density(loss))


def _nats(loss: PrivacyLoss) -> float:
    """Minus the logarithm of about |phi| at a high frequency of the law tilted by 1/2: the largest of its masses."""
    return -math.log(step_waves(loss, 1, 0.55, 1.0, mirrored=False).largest)


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, fine: float = _FINE) -> NoisyLines:
    """The answers of a total loss; the last few are kept."""
    return NoisyLines(total, fine, NoisyLines(total, max(_ROUGH, 10 * fine)))


class NoisyLines(SearchedAnswers):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss, fine: float = _FINE, rough: NoisyLines | None = None) -> None:
        """`rough` lines find the places, and fine ones are made near these alone."""
        if not applies(total):
            raise Unsupported("these lines are for many steps with atoms or Laplace noise")
        self.law: TiltedSums = rough.law if rough else TiltedSums(total)
        middle = self.law.row(0.5)[2]
        super().__init__(
            rough or Chernoff(self.law), 0.0 if total.is_symmetric else middle, symmetric=total.is_symmetric
        )
        self._parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
        self._top = total.support
        self._doubt = 64 * UNIT * math.fsum(n * max(map(abs, _finite(loss))) for loss, n in self._parts)
        self._fine, self._rough = fine, rough
        self.ladders: dict[tuple[Kind, bool], _Ladder] = rough.ladders if rough else {}
        self._lines: dict[tuple[Kind, bool, int], NoisyLine] = {}

    def read(self, kind: Kind, t: Array) -> Ends:
        """Ends of one kind at every t. reverse(t) is delta(-t) of the mirrored law, overlap(t) e^t times its own."""
        if kind == "overlap":
            right = t >= self._middle
            lower, upper = np.zeros(t.size), np.full(t.size, math.inf)
            for mirrored, mine in ((False, right), (True, ~right)):
                if mine.any():
                    ends = self._on_lines("overlap", -t[mine] if mirrored else t[mine], mirrored=mirrored)
                    scale = np.exp(np.minimum(t[mine], _LARGEST)) if mirrored else np.ones(ends.lower.size)
                    lower[mine], upper[mine] = scale * ends.lower * (1 - 4 * UNIT), scale * ends.upper * (1 + 4 * UNIT)
            unknown = ~right & (t > _LARGEST)  # e^t is no double, and what it would multiply underflows
            lower[unknown], upper[unknown] = 0.0, 1.0
            return Ends(lower, np.minimum(upper, np.minimum(np.exp(np.minimum(t, 0.0)) * (1 + 4 * UNIT), 1.0)))
        mirrored = kind == "reverse"
        place = -t if mirrored else t
        top = -self._top[0] if mirrored else self._top[1]
        ends = self._on_lines("delta", place, mirrored=mirrored)
        upper = np.where(place >= top + self._doubt, 0.0, np.minimum(ends.upper, 1.0))
        return Ends(np.minimum(ends.lower, upper), upper)

    def _on_lines(self, kind: Kind, t: Array, *, mirrored: bool) -> Ends:
        lower, upper = np.zeros(t.size), np.full(t.size, math.inf)
        ladder = self._ladder(kind, mirrored=mirrored)
        numbers = np.array([ladder.number(x) for x in t.tolist()], dtype=int)
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            lower[mine], upper[mine] = self._line(kind, number, mirrored=mirrored).ends(t[mine])
        return Ends(lower, upper)

    def _ladder(self, kind: Kind, *, mirrored: bool) -> _Ladder:
        if (kind, mirrored) not in self.ladders:
            self.ladders[kind, mirrored] = _Ladder(self.law, kind, mirrored=mirrored)
        return self.ladders[kind, mirrored]

    def _line(self, kind: Kind, number: int, *, mirrored: bool) -> NoisyLine:
        key = kind, mirrored, number
        if self._rough is not None and (known := self._rough.narrow_line(key, self._aim(kind))) is not None:
            return known
        if key not in self._lines:
            made = self._prepared(kind, number, mirrored=mirrored)
            while self._lines and made.size + sum(line.size for line in self._lines.values()) > _MOST_KEPT:
                del self._lines[next(iter(self._lines))]
            self._lines[key] = made
        return self._lines[key]

    def _aim(self, kind: Kind) -> float:
        """The relative width that a line aims at."""
        return self._fine * (_TESTS if kind == "overlap" else 1.0)

    def narrow_line(self, key: tuple[Kind, bool, int], width: float) -> NoisyLine | None:
        """A line that was made already and happens to be narrower than it was asked to be."""
        known = self._lines.get(key)
        return known if known is not None and known.wide <= width else None

    def _prepared(self, kind: Kind, number: int, *, mirrored: bool) -> NoisyLine:
        """The line of a rung, its period long enough for the aliases of every reading between it and the next."""
        (c, k, mean, deviation), after = self._ladder(kind, mirrored=mirrored).at(number)
        log_least = _log_reading(kind, c, deviation) - 0.5 * min((after - mean) / deviation, 3.0) ** 2 - _ROOM
        spread = self.law.spread
        right = self._beyond(max(c, 1.0), max(deviation, spread), mirrored=mirrored)
        left = self._beyond(1.0, spread, mirrored=not mirrored)
        k_right, k_left = (self._most(tilts, mirrored=mirrored) for tilts in (right, 1 - left))
        depth = k - (c - 1) * after + log_least - _ALIAS_NATS
        outward = np.min((k_right + (1 - right) * mean - depth) / (right - c))
        inward = np.min((k_left + left * after - depth) / (left + c - 1))
        period = max(float(outward), float(inward), spread)
        goal = LineGoal(kind, mean, after, log_least, self._aim(kind), _MOST_WORK)
        frequency = self._frequency(c, FEWEST_NODES * 2 * math.pi / period, mirrored=mirrored, log_least=log_least)
        steps = [
            step_waves(loss, n, c, max(frequency, _affordable(loss, goal.width, spread)), mirrored=mirrored)
            for loss, n in self._parts
        ]
        return NoisyLine(goal, steps, c, period, Beyond(right, k_right, left, k_left))

    def _beyond(self, start: float, deviation: float, *, mirrored: bool) -> Array:
        """Tilts right of one, as far as the nodes of the law, or of the mirrored law, serve."""
        tilts, limit = np.asarray(start + _BEYOND / deviation), _end(self.law.steepest, mirrored=mirrored)
        return tilts[tilts < limit] if tilts[0] < limit else np.asarray(start + (limit - start) * _SHARES)

    def _most(self, tilts: Array, *, mirrored: bool) -> Array:
        """At least K at some tilts."""
        return self.law.rows(1 - tilts if mirrored else tilts).most

    def _frequency(self, c: float, least: float, *, mirrored: bool, log_least: float) -> float:
        """Up to where a density without a formula is integrated: so far that nothing is left beyond, if possible."""
        dense = [(loss, n) for loss, n in self._parts if _has_density(loss)]
        if not dense:
            return math.inf
        tilt = 1 - c if mirrored else c
        shares = [(n, *far_share(loss, tilt)) for loss, n in dense]
        others = math.fsum(n * _nats(loss) for loss, n in self._parts if not _has_density(loss))
        most = _MOST_MASSES / max(loss.support[1] - loss.support[0] for loss, _ in dense)
        y, wanted = 1.01 * least, log_least + math.log(_NEGLIGIBLE * self._fine) + 0.5 * others
        while y < most and math.fsum(n * math.log(min(a + b / y, 1.0)) for n, a, b in shares) > wanted:
            y *= 2
        return 2.0 ** math.ceil(math.log2(y))

    def between(self, direction: Direction, alpha: float) -> tuple[float, float]:
        """Thresholds between which the best one for f(alpha) is."""
        low, high = sorted((1 if direction == "forward" else -1) * t for t in self._places.between(direction, alpha))
        way = "head" if alpha > 0.5 else "tail"
        for _ in range(_ROUNDS):
            t = np.linspace(low, high, _GRID)
            ends = self._supporting(direction, way, alpha, t)
            at = int(np.argmax(ends.lower))
            if way == "tail" and not ends.lower[at] > 0.5:
                way = "overlap"
                continue
            worse = np.flatnonzero(ends.upper < ends.lower[at])
            start, stop = max(worse[worse < at], default=0), min(worse[worse > at], default=_GRID - 1)
            low, high = float(t[start]), float(t[stop])
            if stop - start > _GRID // 2:
                break
        return (low, high) if direction == "forward" else (-high, -low)


class _Rung(NamedTuple):
    """A line: its tilt, K there, and the mean and the standard deviation of the tilted law."""

    c: float
    k: float
    mean: float
    deviation: float


class _Ladder:
    """The lines of one kind, in the order of the means of their tilted laws; made as far as they are asked for."""

    def __init__(self, law: TiltedSums, kind: Kind, *, mirrored: bool) -> None:
        self._law, self._mirrored = law, mirrored
        few = min(max(math.ceil(0.4 * law.spread), 1), 5)
        self._inner = (np.linspace(0.6, 0.9, few) if few > 1 else np.array([0.7])).tolist() if kind == "overlap" else []
        self._outer = 0 if kind == "overlap" else _MOST_RUNGS  # how many lines may follow
        self._limit = 1 + _LAST * (_end(law.steepest, mirrored=mirrored) - 1)
        self._from, self._step = self._rung(1.0), _FIRST / law.spread
        self._rungs = [self._next()]

    def _rung(self, c: float) -> _Rung:
        _, k, mean, variance = self._law.row(1 - c if self._mirrored else c)
        least = 1e-3 * self._law.spread
        return _Rung(c, k, -mean if self._mirrored else mean, math.sqrt(max(variance, least**2)))

    def _next(self) -> _Rung:
        """The next line; outwards not so far that its law has little in common with the one before.

        Of normal laws (c' - c)(K'(c') - K'(c)) is 1.2^2; a far tail that takes over makes it much larger. Beyond the
        last run of large atoms a law is ever narrower, and one tilt may be many times the one before.
        """
        if self._inner:
            return self._rung(self._inner.pop(0))
        before = self._from
        step = min(self._step, self._limit - before.c)
        rung = self._rung(before.c + step)
        while step * (rung.mean - before.mean) > _FARTHEST and step * before.deviation > _SHORTEST:
            step *= 0.5
            rung = self._rung(before.c + step)
        usual = max(_STRIDE / self._law.spread, min(_STRIDE / rung.deviation, _LONGER * step))
        self._from, self._step = rung, min(2 * step, usual)
        self._outer = self._outer - 1 if rung.c < self._limit else 0
        return rung

    def _is_open(self) -> bool:
        return bool(self._inner) or self._outer > 0

    def number(self, t: float) -> int:
        """The last line whose mean is not right of a threshold, or the first of all."""
        while self._is_open() and self._rungs[-1].mean <= t:
            self._extend()
        return max(bisect.bisect_right([rung.mean for rung in self._rungs], t) - 1, 0)

    def _extend(self) -> None:
        """Another line, unless it would be next to the last one."""
        rung = self._next()
        if rung.mean > self._rungs[-1].mean + _NEAREST * min(self._law.spread, self._rungs[-1].deviation):
            self._rungs.append(rung)

    def at(self, number: int) -> tuple[_Rung, float]:
        """A line, and the mean of the next."""
        rung = self._rungs[number]
        while self._is_open() and number + 1 >= len(self._rungs):
            self._extend()
        return rung, self._rungs[number + 1].mean if number + 1 < len(self._rungs) else rung.mean + rung.deviation


def _end(steepest: tuple[float, float], *, mirrored: bool) -> float:
    """The steepest tilt to the right."""
    return 1 - steepest[0] if mirrored else steepest[1]


def _log_reading(kind: Kind, c: float, deviation: float) -> float:
    """About the logarithm of a reading at the mean of the tilted law, over e^(K(c) + (1-c) t): that of a normal law."""
    near, far = (0.5 * float(erfcx(abs(x) * deviation / math.sqrt(2))) for x in (1 - c, c))
    return math.log(max(near - far if kind == "delta" else near + far, 1e-300))


def _has_density(loss: PrivacyLoss) -> TypeGuard[SampledLoss]:
    return isinstance(loss, SampledLoss) and isinstance(loss.base, LaplaceLoss)


def _affordable(loss: PrivacyLoss, width: float, spread: float) -> float:
    """Up to where a density without a formula has few masses, if noise that is cut there may still be felt.

    Its own waves hardly fall where it is narrow, and those of atoms beside it may all return at once.
    """
    if not _has_density(loss):
        return math.inf
    felt = _LAST_FREQUENCY / (math.sqrt(width) * min(spread, 1.0))
    farthest = min(_MOST_MASSES / (loss.support[1] - loss.support[0]), felt)
    return float(2.0 ** math.floor(math.log2(farthest)))


def _finite(loss: PrivacyLoss) -> tuple[float, float]:
    """The ends of the losses that are listed."""
    if math.isfinite(loss.support[0]) and math.isfinite(loss.support[1]):
        return loss.support
    places = loss.nodes().loss
    return float(np.min(places)), float(np.max(places))
