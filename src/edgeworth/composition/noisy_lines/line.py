"""The readings of a sum of many different steps along one line, smoothed by as little noise as the line needs.

    E[(X - u)_+] = 1/(2 pi i) ∫ M(s) u^(1-s)/(s(s-1)) ds,   Re s = c > 1,

with the other sign E[min(X, u)] for 0 < c < 1. M is a product, and nearly everywhere on the line some of its factors
already show that it does not count: there the others are not asked for. What lies beyond the last frequency T is held
by noise of variance v = x/T^2, which moves a reading by at most v times a density. docs/proofs/lattice.md, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.by_squares import power
from edgeworth.composition.contour.waves import logarithm
from edgeworth.composition.noisy_lines.step_waves import BLOCK, UNIT, Block, StepWaves
from edgeworth.composition.noisy_lines.wave_sums import WaveSums
from edgeworth.composition.one_thread import one_thread
from edgeworth.composition.work import spend
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.composition.noisy_lines.step_waves import Complex
    from edgeworth.losses.law import Array

__all__ = ["FEWEST_NODES", "Beyond", "LineGoal", "NoisyLine"]

_LARGEST_EXPONENT = 600.0
_MOST_DOUBT = 0.5  # of the logarithm of a reading
_LEAST = 5e-324
_WAVES = 60.0  # for which one unit of work stands
_NODE = 0.8  # units of it for a node of a step, …
_FIT, _KEPT = 2.0, 1.0  # … and for a node to which noise is fitted, and that is kept
FEWEST_NODES, _MOST_NODES = 512, 2**36
_MOST_KEPT = 2**18  # nodes that count: 10 MB
_NEARLY, _MORE_KEPT = 3e3, 2**19  # times the width aimed at, from where on as many are worth it: 20 MB
_IDLE, _MOST_IDLE = 0.9, 2  # of a width: nodes of which none counts, and that leave more of it open; so often in turn
_REACHES = np.geomspace(2.0, 60.0, 24)  # values of x = v T^2 that are tried
_NEGLIGIBLE = 1e-4  # of the width aimed at: what all nodes that are left out may add
_ROOM, _ENOUGH = 0.3, 60.0  # of 1 - |phi|, what may be lost between nodes, and nats that are to be left of it
_LONGEST_STRIDE, _AT_A_TIME = 2**16, 2**10  # nodes that a value stands for, and such values at a time
_FINER = 2**4  # times as many values for those nodes that may count
_MANY_EQUAL = 1_000  # steps


@dataclass(frozen=True)
class LineGoal:
    """What a line is for: thresholds, the relative width aimed at, and how many waves that may cost.

    `log_least` is about the logarithm of the least reading there, over e^(K(c) + (1-c) t).
    """

    kind: Kind
    least: float
    greatest: float
    log_least: float
    width: float
    most_work: float


class Beyond(NamedTuple):
    """Tilts right of c and left of it beyond both poles, with at least K at each: Chernoff's bounds of the aliases."""

    right: Array
    k_right: Array
    left: Array
    k_left: Array


class _Nodes(NamedTuple):
    """Those nodes of a line that count: frequencies, transforms, and bounds of their errors."""

    y: Array
    value: Complex
    error: Array


_NOTHING = _Nodes(np.empty(0), np.empty(0, dtype=complex), np.empty(0))


class NoisyLine:
    """The sum along one line, prepared once and read many times."""

    def __init__(self, goal: LineGoal, steps: list[StepWaves], c: float, period: float, beyond: Beyond) -> None:
        self.goal, self.c, self.period = goal, c, period
        self._steps = sorted(steps, key=_decay)
        self._origin = math.fsum(step.count * step.origin for step in steps)
        self._far = math.fsum(step.count * abs(step.origin) for step in steps)
        k = [(step.count * step.log_moment, step.count * step.log_moment_error) for step in steps]
        self._k = math.fsum(value for value, _ in k)
        self._k_error = math.fsum(error for _, error in k) + 8 * UNIT * math.fsum(abs(value) for value, _ in k)
        self._slack = 2 * math.fsum(step.count * step.slack for step in steps if not _is_repeated(step))
        self.size = 0  # how many terms are kept
        self._left_out = np.zeros(2)  # sums of |phi| |kernel| and of |phi| over nodes that do not count
        self._beyond = beyond
        if not self._k_error < 1 or not all(step.noise < 1 for step in steps):
            raise ComputationFailed("rounding outweighs the transform of a step")
        with one_thread():
            self._made(2 * math.pi / period)

    # --- preparing

    def _made(self, h: float) -> None:
        """Nodes, twice as many each time, until the noise that their last frequency needs is little enough.

        Or until more of them change nothing: then something else is what is open. Where the nodes that are added
        leave more open than they close, those before are the ones that are kept.
        """
        work, count, best, held, idle = 0.0, 0, math.inf, 0, 0
        kept: list[_Nodes] = []
        while count < _MOST_NODES:
            before, end, left_out, first = len(kept), max(2 * count, FEWEST_NODES), self._left_out.copy(), count
            while first < end:
                size, stride = self._next(first, end, h)
                nodes, cost = self._stretch(first, size, stride, h)
                kept += nodes
                work += cost
                first += size
            wide = self._fitted(h * (end - 1), _joined(kept))
            if wide > best and any(step.reach < h * end for step in self._steps):
                self._left_out = left_out
                wide = self._fitted(h * (count - 1), _joined(kept[:before]))
                break
            idle = idle + 1 if wide > _IDLE * best and self._nodes.y.size == held else 0
            count, best, held = end, wide, self._nodes.y.size
            most_kept = _MORE_KEPT if wide <= _NEARLY * self.goal.width else _MOST_KEPT
            if wide <= self.goal.width or 3 * work > self.goal.most_work or 2 * held > most_kept or idle == _MOST_IDLE:
                break
        spend(work / _WAVES)
        self.wide = wide
        self._finish()

    def _kernel(self, y: Array) -> Array:
        s = self.c + 1j * y
        return np.asarray((1.0 if self.goal.kind == "delta" else -1.0) / (s * (s - 1)))

    def _next(self, first: int, end: int, h: float) -> tuple[int, int]:
        """How many nodes are looked at next, and for how many of them one value of phi stands.

        Where it stands for many they are more at a time, but not beyond where another step has no transform. All are
        powers of two, and what was looked at before is a multiple of them.
        """
        size = min(BLOCK, end - first)
        known = self._known(h * (first + size - 1))
        if not known or first == 0:
            return size, 1
        stride = _stride(known[0], h)
        longer = max(min(_AT_A_TIME * stride, end - first), size)
        if len(self._known(h * (first + longer - 1))) < len(known):
            longer = size
        return longer, min(stride, longer // _FINER)

    def _stretch(self, first: int, size: int, stride: int, h: float) -> tuple[list[_Nodes], float]:
        """So many nodes, those that count, and the waves that it took to know."""
        if stride == 1:
            return self._counted(Block(first, h, np.arange(size)))
        step = self._known(h * (first + size - 1))[0]
        return self._sieved(step, Block(first // stride, h * stride, np.arange(size // stride)), stride)

    def _counted(self, block: Block) -> tuple[list[_Nodes], float]:
        """The nodes of a block of any length that count."""
        pieces = [block._replace(k=block.k[start : start + BLOCK]) for start in range(0, block.k.size, BLOCK)]
        found = [self._block(piece) for piece in pieces]
        return [nodes for nodes, _ in found], sum(cost for _, cost in found)

    def _known(self, last: float) -> list[StepWaves]:
        """The steps that have a transform up to a frequency."""
        return [step for step in self._steps if last <= step.reach]

    def _block(self, block: Block) -> tuple[_Nodes, float]:
        """The nodes of a block that count, and the waves that it took to know."""
        y, work = block.y, 0.0
        end = float(y[-1])
        known = self._known(end)
        weight, floor = np.abs(self._kernel(y)), self._floor(y, block.h)
        value, most, rounding = np.ones(y.size, dtype=complex), np.ones(y.size), np.zeros(y.size)
        if not known:
            work = float(y.size)
            spend(_NODE * y.size)
        if len(known) < len(self._steps):
            most *= math.exp(math.fsum(step.log_far(float(y[0])) for step in self._steps if not end <= step.reach))
        for step in known:
            factor, bound, ulps = _power_by_logarithm(step, block) if _is_repeated(step) else _power(step, block)
            work += step.cost * y.size
            spend(_NODE * y.size)
            value *= factor
            most *= bound
            rounding += ulps
            counts = most * (weight + 10 / max(end, 1.0) ** 2) > floor
            if np.count_nonzero(counts) < 0.8 * counts.size:
                self._left_out += [float(np.sum((most * weight)[~counts])), float(np.sum(most[~counts]))]
                block = block._replace(k=block.k[counts])
                value, most, rounding, weight, floor, y = (
                    part[counts] for part in (value, most, rounding, weight, floor, y)
                )
                if not y.size:
                    break
        if len(known) < len(self._steps):
            self._left_out += [float(np.sum(most * weight)), float(np.sum(most))]
            return _NOTHING, work
        error = np.maximum(most - np.abs(value), 0.0) + most * (rounding + 8 * UNIT)
        return _Nodes(y, value, error), work

    def _floor(self, y: Array, h: float) -> Array:
        """What all terms below it together may add."""
        room = _NEGLIGIBLE * self.goal.width * self.period * math.exp(self.goal.log_least)
        return np.asarray(room / (40 * (1 + y / h)))

    def _sieved(self, step: StepWaves, some: Block, stride: int) -> tuple[list[_Nodes], float]:
        """The nodes that count, by one value of phi for so many, at the first, where the kernel is largest.

        In between |phi| changes by at most E|L - m| times the distance. Those that may count are looked at closely.
        """
        y, far = some.y, some.h
        error = step.noise + step.drift * (y + far) + step.bend * far
        weight, end = np.abs(self._kernel(y)), max(float(y[-1]), 1.0)
        spend(_NODE * y.size)
        with np.errstate(under="ignore"):
            most = np.minimum(np.abs(step.at(some)) + error, 1.0) ** step.count
            counts = most * (weight + 10 / end**2) > self._floor(y + far, far / stride)
            self._left_out += stride * np.array([np.sum((most * weight)[~counts]), np.sum(most[~counts])])
        nodes, work = list[_Nodes](), step.cost * y.size
        finer = min(stride, _FINER)
        for start in range(0, int(np.count_nonzero(counts)), BLOCK):
            k = np.add.outer(finer * some.k[counts][start : start + BLOCK], np.arange(finer)).ravel()
            block = Block(finer * some.first, far / finer, k)
            found, cost = self._counted(block) if finer == stride else self._sieved(step, block, stride // finer)
            nodes += found
            work += cost
        return nodes, work

    def _fitted(self, last: float, nodes: _Nodes) -> float:
        """Choose the noise for the last frequency T; about the relative width of the readings that follows.

        Noise of variance x/T^2 widens by that times the density, and leaves e^(-x/2) of what lies beyond T.
        """
        spend(_FIT * nodes.y.size)
        places = np.linspace(self.goal.least, self.goal.greatest, 3)
        wave = np.exp(np.multiply.outer(self._origin - places, 1j * nodes.y))
        double, lost = _double(nodes.y), 2 * self._left_out / self.period
        main = (wave @ (double * nodes.value * self._kernel(nodes.y))).real / self.period
        dense = np.abs((wave @ (double * nodes.value)).real) / self.period + lost[1]
        main = np.maximum(main, math.exp(self.goal.log_least))
        far = math.exp(math.fsum(step.log_far(last) for step in self._steps) * (1 - 1e-12) + 1e-12)
        self._nodes, self._cut, self.variance = nodes, np.array([far / (math.pi * last), 0.0]), 0.0
        best = float(np.max((self._cut[0] + lost[0]) / main))
        v = np.minimum(_REACHES / last**2, _LARGEST_EXPONENT)
        cut = far * np.exp(-0.5 * _REACHES) / (math.pi * v * last) * np.array([[1 / last**2], [1.0]])
        wide = (v * np.exp(v / 8))[:, None] * (dense + cut[1][:, None]) + (cut[0] + lost[0])[:, None]
        worst = np.max(wide / main, axis=1)
        if worst.min() < best:
            at = int(worst.argmin())
            best, self._cut, self.variance = float(worst[at]), cut[:, at], float(v[at])
        return best

    def _finish(self) -> None:
        """The terms of both sums, with the noise; what their errors add, and that of the angles."""
        y, value, error = self._nodes
        spend(_KEPT * y.size)
        v, c = self.variance, self.c
        noise = np.exp(-0.5 * v * y * (y - 1j * (2 * c - 1)))
        kernel, double = self._kernel(y), _double(y)
        size = double * np.abs(noise) * (np.abs(value) + error)
        h = 2 * math.pi / self.period
        terms = np.stack([double * noise * value * kernel, double * noise * value])
        self._sums = WaveSums(terms, np.rint(y / h).astype(int), h)
        self.size = self._sums.size
        rounding = (2 * self._sums.longest + 64 + 4 * v * np.abs(y) * (y + abs(2 * c - 1))) * UNIT
        mine = double * np.abs(noise) * error + size * rounding
        weights = np.stack([np.abs(kernel), np.ones(y.size)])
        self._fixed = np.sum(weights * mine, axis=1) + (2 * self._left_out + self._cut * self.period) * (1 + 1e-9)
        self._growing = 8 * UNIT * np.sum(weights * size * y, axis=1)
        del self._nodes

    # --- reading

    def ends(self, t: Array) -> tuple[Array, Array]:
        """Ends at every t."""
        v, c = self.variance, self.c
        k = self._k + 0.5 * v * c * (c - 1)
        exponent = k + (1 - c) * t
        doubt = self._k_error + 8 * UNIT * (abs(k) + (1 + c) * np.abs(t)) + self._slack
        known = (exponent <= _LARGEST_EXPONENT) & (doubt <= _MOST_DOUBT)  # else the line says nothing
        front, doubt = np.exp(np.where(known, exponent, 0.0)), np.minimum(doubt, _MOST_DOUBT)
        sums = self._sums.at(self._origin - t) / self.period
        far = np.multiply.outer(self._growing, np.abs(t) + self._far)
        errors = (self._fixed[:, None] + far) / self.period * np.exp(doubt)
        value = front * sums[0]
        error = (front * errors[0] + np.abs(value) * np.expm1(doubt) + 2 * self._slack * front) * (1 + 1e-9)
        line, size = self._straight(t)
        rounding = UNIT * (16 + 4 * ((c + 1) * self.period + np.abs(t)))
        value, error = value - line, error + rounding * size + 2 * _LEAST
        dense = front * np.exp(doubt) * (np.maximum(sums[1], 0.0) + errors[1]) * (v * math.exp(v / 8) * (1 + 1e-9))
        rest = self._aliases(t)
        less, more = (rest + dense, 0.0) if self.goal.kind == "delta" else (0.0, rest + dense)
        lower, upper = np.maximum(value - error - less, 0.0), np.maximum(value + error + more, _LEAST)
        ceiling = np.maximum(np.exp(np.minimum(self._k + (1 - c) * t, 0.0) + doubt) * (1 + 4 * UNIT), _LEAST)
        return np.where(known, np.minimum(lower, ceiling), 0.0), np.where(known, np.minimum(upper, ceiling), 1.0)

    def _straight(self, t: Array) -> tuple[Array, Array]:
        """The aliases as far as they are straight lines in e^t, and the sum of their moduli.

        Far left delta is 1 - u and the overlap u, far right the overlap is 1.
        """
        near, far = abs(self.c - 1) * self.period, self.c * self.period
        ones = math.exp(-near) / -math.expm1(-near)
        growing = np.exp(np.minimum(t - far, _LARGEST_EXPONENT)) / -math.expm1(-far)
        return np.asarray(ones - growing if self.goal.kind == "delta" else ones + growing), np.asarray(ones + growing)

    def _aliases(self, t: Array) -> Array:
        """At least the sum of what the aliases differ by from these: E[(X - u)_+] on the right, E[(u - X)_+] left."""
        right, k_right, left, k_left = self._beyond
        v = self.variance
        gap = (right - self.c) * self.period
        outward = k_right + 0.5 * v * right * (right - 1) - gap - np.log(-np.expm1(-gap))
        gap = (left + self.c - 1) * self.period
        inward = k_left + 0.5 * v * left * (left - 1) - gap - np.log(-np.expm1(-gap))
        logs = outward[:, None] + np.multiply.outer(1 - right, t), inward[:, None] + np.multiply.outer(left, t)
        most = [np.exp(np.minimum(np.min(log, axis=0), _LARGEST_EXPONENT)) for log in logs]
        return np.asarray(most[0] + most[1])


def _decay(step: StepWaves) -> float:
    """By how much a step makes the product smaller at most frequencies, for its cost."""
    return step.count * math.log(min(max(step.largest, 0.05), 0.999999)) / step.cost


def _stride(step: StepWaves, h: float) -> int:
    """How many nodes one value of phi may stand for: a power of two, 1 where few steps leave no room for that.

    Between them |phi| changes by at most E|L - m| times the distance. At most frequencies |phi| is about the largest
    mass: some share of what it lacks of 1 may be lost, and as much as leaves enough nats of its power.
    """
    room = min(_ROOM * (1 - step.largest), math.exp(-_ENOUGH / step.count) - step.largest)
    if not step.bend * h * 2 <= room:
        return 1
    return 1 << int(math.log2(min(room / (step.bend * h), _LONGEST_STRIDE)))


def _joined(nodes: list[_Nodes]) -> _Nodes:
    return _Nodes(*(np.concatenate(column) for column in zip(*nodes, strict=True)))


def _is_repeated(step: StepWaves) -> bool:
    """Whether so many equal steps follow that the ulps of 1 in each would add up."""
    return step.count > _MANY_EQUAL and math.isfinite(step.lean)


def _power(step: StepWaves, block: Block) -> tuple[Complex, Array, Array | float]:
    """The n-th power of phi by squares, n - 1 products or fewer; at least its modulus; its rounding."""
    phi, n = step.at(block), step.count
    bound = (np.sqrt(phi.real**2 + phi.imag**2) + (step.noise + step.drift * block.y)) ** n
    return power(phi, n, np.multiply), bound, 8 * UNIT * n


def _power_by_logarithm(step: StepWaves, block: Block) -> tuple[Complex, Array, Array | float]:
    """The same as e^(n log(1 + d)), d = phi - 1 accurate where it is small."""
    d, error = step.less_one(block)
    log, modulus = logarithm(d)
    log *= step.count
    with np.errstate(under="ignore"):
        value = np.exp(log)
        error = error / modulus
        bound = np.exp(np.minimum(log.real + step.count * np.log1p(error), _LARGEST_EXPONENT))
    return value, bound, 8 * UNIT * (1 + np.abs(log))


def _double(y: Array) -> Array:
    """Every node but the first stands for two."""
    return np.where(y > 0, 2.0, 1.0)
