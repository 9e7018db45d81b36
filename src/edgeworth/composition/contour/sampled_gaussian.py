"""A step of noisy SGD as the line integral sees it, whole or with its farthest outcomes dropped.

L(x) = log(1 - p + p e^(mu x - mu^2/2)), x ~ N(0, 1) under P. At a tiny rate a tilt that is right for the bulk of T can
put most of its weight on outcomes x so far out that they hardly ever happen. Dropping them is sound: if outcome x is
kept with probability chi(x), independently of everything, the measures chi P and chi Q of the kept runs have the
same loss, and

    v(kept) <= v <= v(kept) + n * (dropped mass of one step)

for every v that counts outcomes: delta, P[T > t], Q[T <= t] and their mirror images. chi(x) = Phi((X - x)/s) is smooth
enough for the trapezoidal rule: |chi(x + iy)| <= e^(y^2/(2 s^2)) chi(x), and (log chi)'' lies in [-1/s^2, 0]. So is the
window from a start to a cut, a product of such functions, each edge with a softness s of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from edgeworth.amplification import sampled_loss
from edgeworth.composition.contour.quadrature import Sharp, fewest_nodes
from edgeworth.composition.contour.steep_laplace import steepest_of
from edgeworth.losses import GaussianLoss, LaplaceLoss, PrivacyLoss, ReplacedGaussianLoss, SampledLoss
from edgeworth.losses.law import Nodes

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = [
    "Edge",
    "SampledGaussian",
    "Step",
    "Steps",
    "cut_for",
    "log_dropped",
    "log_overlap",
    "sampled_variance",
]

_SOFTNESS = 0.25  # s: the width over which the cut falls
_STEEPEST = 50.0  # how far beyond the cut a tilt may push, (c mu) s^2, …
_STAYS = 1.6  # … and relative to the way to where L is linear
_LEFTMOST = 40.0  # how far left of 0 a tilt may push
_PRESSED, _LARGE_MU = 12.0, 4.0  # how far left of 0 the peak of a whole law may be pushed, and up to which mu it is
_SAFE_TILT = 1.6  # times that of a normal law: tails are heavier
_FAR_FROM_STRAIGHT = 4.6  # nats: there r is below 1 %
_SHARPEST = 0.01
_LARGEST = 600.0  # of an exponent
_HALF = -math.log(2)
_MOST_STEPS = 60  # of a search …
_SMALL_STEP = 0.02  # … and where it ends, in units of s
_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_NATS = 38.0  # e^-38 = 3e-17: what the spacing of nodes for K may leave out
_FALLEN, _CELLS = 46.0, 150  # nats below its peak that nodes for K reach, and cells in which that is looked for …
_WORTH_LOOKING = 1000  # … where so many nodes would lie beyond a cut
_LONGEST = 0.15  # of it: a wave along the loss has to be seen, too


class Edge(NamedTuple):
    """Where a window begins or ends, and over which width."""

    place: float
    softness: float

    def log_share(self, x: Array, sign: float) -> tuple[Array, Array]:
        """Log of the share of a normal law about x that lies beyond this end, or below it for -1.

        And the density of a hard end at place + softness Z, relative to that share.
        """
        z = (sign / self.softness) * (x - self.place)
        log_share = log_ndtr(z)
        return log_share, np.exp(-0.5 * z * z - log_share - (_LOG_ROOT + math.log(self.softness)))


@dataclass(frozen=True)
class SampledGaussian:
    """Gaussian noise of mu = 1/sigma, sampled at a rate, its outcomes beyond about `cut` and before `start` dropped."""

    whole: SampledLoss
    mu: float
    rate: float
    cut: float = math.inf
    start: float = -math.inf
    softness: float = _SOFTNESS
    """s: the width over which the cut falls."""
    start_softness: float = _SOFTNESS
    """The width over which the window rises from its start."""
    further: tuple[Edge, ...] = ()
    """Cuts beyond the first, of which it is left out as well: what they take is the shells' that start there."""

    @property
    def steepest(self) -> tuple[float, float]:
        """Those of the loss, and so far left as nodes are; after a cut, the tilts whose mass stays near it."""
        left = -_LEFTMOST / (self.leftmost * self.mu)
        if math.isinf(self.cut):
            least, most = self.whole.steepest
            pressed = -_PRESSED / (self.mu * self.posterior_at(-_PRESSED))
            return min(least, pressed) if self.mu <= _LARGE_MU else least, most
        near = self.posterior_at(self.cut + 4 * self.softness)
        # Where L is linear a tilt pushes by c mu s^2. If that is twice the way there it has left the cut behind.
        straight = (self.mu * self.mu / 2 - math.log(self.rate)) / self.mu - self.cut
        most = min(_STEEPEST / near, max(_STEEPEST, _STAYS * straight)) / (self.mu * self.softness**2)
        return min(-1e4 / self.mu, left), most

    @cached_property
    def log_dropped(self) -> tuple[float, float]:
        """Logs of the masses beyond the cut under P and Q: E[Phi((x - X)/s)] = Phi((mean - X)/sqrt(1 + s^2)).

        Further cuts add what `log_overlap` bounds: less than 1e-12 of these.
        """
        if math.isinf(self.cut):
            return -math.inf, -math.inf
        return log_dropped(self.mu, self.rate, self.cut, self.softness)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every outcome is kept."""
        return math.isinf(self.cut) and math.isinf(self.start)

    @cached_property
    def is_jump(self) -> bool:
        """Whether only outcomes beyond a start are kept."""
        return math.isfinite(self.start)

    @cached_property
    def strip_factor(self) -> float:
        """|w(x + iy)| grows by e^(y^2/2) for the density, and by e^(y^2/(2 s^2)) for every edge."""
        return 1 + math.fsum(1 / edge.softness**2 for edge, _ in self.edges)

    @cached_property
    def edges(self) -> tuple[tuple[Edge, float], ...]:
        """Every edge, with the sign of what it keeps: -1 below it, 1 beyond it."""
        cuts = (Edge(self.cut, self.softness), *self.further)
        every = [*((edge, -1.0) for edge in cuts), (Edge(self.start, self.start_softness), 1.0)]
        return tuple((edge, sign) for edge, sign in every if math.isfinite(edge.place))

    def bend(self, c: float) -> float:
        """At least |(log w)''|."""
        return self.strip_factor + abs(c) * self.mu**2 / 4

    def falling_from(self, c: float) -> float:
        """From here on log w falls with slope -1 at least, and beyond a cut X with (x - X)/(2 s^2) on top of it."""
        peak = max(max(c, 0.0) * self.mu + 1, self.start + 8 * self.start_softness)
        if peak <= self.cut:
            return peak
        # For x > X: (log chi)' <= -(x - X)/s^2, of which half is spent here. The slope falls from x0 on by r <= 1, and
        # if it does from x on, it does from where r(x) in place of r makes it -1, as r increases.
        stiff, push = 0.5 / self.softness**2, max(c, 0.0) * self.mu
        x = (peak + self.cut * stiff) / (1 + stiff)
        for _ in range(_MOST_STEPS):
            odds = (1 - self.rate) / self.rate * math.exp(min(self.mu * self.mu / 2 - self.mu * x, 680.0))
            before, x = x, (push / (1 + odds) + 1 + self.cut * stiff) / (1 + stiff)
            if not x < before - _SMALL_STEP * self.softness:
                break
        return max(min(x, before), self.cut)

    @cached_property
    def leftmost(self) -> float:
        """r(0): a tilt c < 0 moves the peak to no less than c mu r(0), as r(x) <= r(0) for x <= 0."""
        return self.posterior_at(0.0)

    def left_peak(self, c: float) -> float:
        """At most where the law tilted by c has its peak if that is left of 0: the root of x = c mu r(x), if whole."""
        return self.whole.left_peak(c) if self.is_whole else min(0.0, c * self.mu * self.leftmost)

    def log_density(self, x: Array) -> Array:
        """log(phi(x) chi(x))."""
        log_phi = -0.5 * x * x - _LOG_ROOT
        return log_phi if self.is_whole else log_phi + self.log_window(x)

    def log_window(self, x: Array) -> Array:
        """Log chi(x): for every edge, log of the share of a normal law about x that lies on its right side."""
        return np.asarray(sum(log_ndtr((sign / edge.softness) * (x - edge.place)) for edge, sign in self.edges))

    def window(self, x: Array) -> tuple[Array, Array]:
        """Log chi(x), and the density of hard ends X + sZ, relative to what they keep: at least |(log chi)'|."""
        log_window, density = np.zeros(x.size), np.zeros(x.size)
        for edge, sign in self.edges:
            log_share, more = edge.log_share(x, sign)
            log_window += log_share
            density += more
        return log_window, density

    def posterior(self, x: Array) -> Array:
        """r(x) = L'(x)/mu."""
        odds = (1 - self.rate) / self.rate * np.exp(np.minimum(self.mu * self.mu / 2 - self.mu * x, 680.0))
        return np.asarray(1.0 / (1.0 + odds))

    def posterior_at(self, x: float) -> float:
        """The same at one point."""
        odds = (1 - self.rate) / self.rate * math.exp(min(self.mu * self.mu / 2 - self.mu * x, 680.0))
        return 1.0 / (1.0 + odds)

    def loss(self, x: Array) -> Array:
        """L = log(1 - p + p e^(mu x - mu^2/2)), accurate where it is small and where it is large."""
        return sampled_loss(self.mu * x - self.mu * self.mu / 2, self.rate)

    def nodes(self, tilt: tuple[float, float]) -> Nodes:
        """A quadrature for the laws tilted by these, as `PrivacyLoss.nodes`."""
        if self.is_whole:
            return self.whole.nodes(tilt)
        peak = max(1.0, tilt[1]) * self.mu + 1
        left = min(0.0, tilt[0] * self.mu * self.leftmost) - 10.5
        right = max(peak, self.start) + 10.5
        if math.isfinite(self.cut):
            right = min(right, max(self.falling_from(tilt[1]), self.cut) + 10.5 * self.softness)
        h = self._spacing(tilt[0])
        if right > self.cut + _WORTH_LOOKING * h:
            right = self._last_high(max(1.0, tilt[1]), right)
        x, log_share = fewest_nodes(h, (max(left, -60.0), right), self._sharp(tilt))
        return Nodes(self.loss(x), self.log_density(x) + log_share)

    def _sharp(self, tilt: tuple[float, float]) -> list[Sharp]:
        """The edges, and how far tilts carry what is next to them: a slope c mu r against a stiffness of 1/s^2."""
        start = max(0.0, -tilt[0]) * self.mu * self.posterior_at(self.start) * self.start_softness**2
        carried = {1.0: (start, 0.0), -1.0: (0.0, math.inf)}
        return [Sharp(*edge, *carried[sign]) for edge, sign in self.edges]

    def _last_high(self, c: float, right: float) -> float:
        """Where, right of the cut X, the law tilted by c has fallen below e^-46 of its peak for good; or the right end.

        chi <= e^(-(x - X)^2/(2 s^2)) there: on a cell log w is at most cL at its right end plus the rest at its left.
        """
        x = self.cut + np.append(0.0, np.geomspace(0.1 * self.softness, right - self.cut, _CELLS))
        fall = 0.5 * x * x + 0.5 * np.square((x - self.cut) / self.softness) + _LOG_ROOT
        highest = c * self.loss(x[1:]) - fall[:-1]
        before = np.linspace(min(0.0, self.cut), x[_CELLS // 4], _CELLS)
        peak = float((c * self.loss(before) + self.log_density(before)).max())
        (high,) = np.nonzero(highest > peak - _FALLEN)
        return float(x[high[-1] + 1]) if high.size else float(x[1])

    def _spacing(self, least: float) -> float:
        """Of nodes that leave about e^-NATS of the law tilted by this or by more.

        On Im x = y <= pi/(2 mu) the density and the edges grow by e^(strip_factor y^2/2). For c < 0 |e^(cL)| grows by
        cos(mu y/2)^c <= e^(|c| mu^2 y^2/7), but not beyond (1 - p)^c, and the mean of e^(cL) is at least 1.
        """
        bend, steep = self.strip_factor / 2, 0.0 if self.is_jump else max(0.0, -least)
        y = min(0.5 * math.pi / self.mu, math.sqrt(_NATS / bend))
        rise = steep * min((self.mu * y) ** 2 / 7, -math.log1p(-self.rate))
        wide = 2 * math.pi * y / (_NATS + bend * y * y + rise)
        return min(max(wide, math.pi / math.sqrt(_NATS * (bend + steep * self.mu**2 / 7))), _LONGEST)


Step: TypeAlias = PrivacyLoss | SampledGaussian


class Steps(NamedTuple):
    """A total loss in the form in which the line integral reads it."""

    gaussian: float
    """The variance of all plain Gaussian steps together."""
    others: tuple[tuple[Step, int], ...]
    steepest: tuple[float, float]
    """The tilts that every step can afford."""
    dropped: tuple[float, float]
    """At least the mass of the runs that were dropped, under P and under Q."""
    log_ways: float = 0.0
    """The law counts e^log_ways times: in how many ways these steps can follow one another."""

    @classmethod
    def of(cls, total: TotalLoss, log_dropped: float = -math.inf) -> Steps:
        """The steps of a total; samples of Gaussian noise drop outcomes of at most this log mass, all together."""
        noise, kept, steps, smooth = [], [], 0, False  # loops: a cold reading pays for every generator
        for loss, n in total.parts:
            if isinstance(loss, GaussianLoss):
                noise.append(n * loss.mu**2)
            else:
                kept.append((loss, n))
                steps += n
                smooth = smooth or isinstance(loss, ReplacedGaussianLoss)
        tilt = 1 + _SAFE_TILT * math.sqrt(-2 * log_dropped / _rough_variance(total.parts)) if kept else 1.0
        others: list[tuple[Step, int]] = []
        null, alternative, least, most = [], [], -math.inf, math.inf
        for loss, n in kept:
            step = _as_step(loss, log_dropped - math.log(steps), tilt)
            others.append((step, n))
            low, high = steepest_of(step)
            least, most = max(least, low), min(most, high)
            if isinstance(step, SampledGaussian):
                log_null, log_alternative = step.log_dropped
                null.append(math.exp(math.log(n) + log_null))
                alternative.append(math.exp(math.log(n) + log_alternative))
        gaussian = math.fsum(noise)
        atoms = 0.0 if gaussian > 0 or null or smooth else _runs_of_atoms(kept)
        dropped = math.fsum(null) * (1 + 1e-11) + atoms, math.fsum(alternative) * (1 + 1e-11) + atoms
        return cls(gaussian, tuple(others), (least, most), dropped)


def _runs_of_atoms(parts: list[tuple[PrivacyLoss, int]]) -> float:
    """The mass of the runs in which every step is an atom, under P as under Q, where nothing smooths them.

    (1 + e^-theta)/2 for Laplace noise, 1 for what has nothing but atoms: a line reads the law without these runs.
    """
    shares = [(loss.theta if isinstance(loss, LaplaceLoss) else 0.0, n) for loss, n in parts]
    return math.exp(math.fsum(n * math.log1p(math.expm1(-theta) / 2) for theta, n in shares)) * (1 + 1e-9)


def _as_step(loss: PrivacyLoss, log_dropped: float, tilt: float) -> Step:
    """The loss, or its form with outcomes of Q-mass e^log_dropped dropped, such that it can be tilted this much."""
    if not (isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss)):
        return loss
    mu, rate = loss.base.mu, loss.rate
    if math.isinf(log_dropped):
        return SampledGaussian(loss, mu, rate)
    cut = cut_for(mu, rate, log_dropped)
    softness = _softness(mu, rate, cut, tilt)
    if softness < _SOFTNESS:
        cut = cut_for(mu, rate, log_dropped, softness)
    return SampledGaussian(loss, mu, rate, cut, softness=softness)


def _softness(mu: float, rate: float, cut: float, tilt: float) -> float:
    """Of a cut far before L is straight: so sharp that a tilt pushes by less than half of what `steepest` allows."""
    straight = (mu * mu / 2 - math.log(rate)) / mu - cut
    if mu * straight < _FAR_FROM_STRAIGHT:
        return _SOFTNESS
    return min(_SOFTNESS, max(_SHARPEST, math.sqrt(0.5 * straight / (tilt * mu))))


def _rough_variance(parts: tuple[tuple[PrivacyLoss, int], ...]) -> float:
    """About that of the loss of all Gaussian noise and its samples; 1 where there is none."""
    whole = 0.0
    for loss, n in parts:
        if isinstance(loss, GaussianLoss):
            whole += n * loss.mu**2
        elif isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
            whole += n * sampled_variance(loss.base.mu, loss.rate)
    return whole or 1.0


def sampled_variance(mu: float, rate: float) -> float:
    """About Var L of one sample: chi^2 = p^2 (e^(mu^2) - 1) where that is small beside p, and p at most.

    >>> sampled_variance(1.0, 1e-3), sampled_variance(30.0, 1e-3)  # doctest: +ELLIPSIS
    (1.715...e-06, 0.001)
    """
    ratio = rate * math.expm1(min(mu * mu, _LARGEST))
    return rate * ratio / (1 + ratio)


def log_dropped(mu: float, rate: float, cut: float, softness: float = _SOFTNESS) -> tuple[float, float]:
    """Logs of the masses that a cut drops, under P and under Q."""
    wide = math.sqrt(1 + softness**2)
    null, shifted = log_ndtr([-cut / wide, (mu - cut) / wide]).tolist()
    return null, float(np.logaddexp(math.log1p(-rate) + null, math.log(rate) + shifted))


def log_overlap(mu: float, rate: float, edge: Edge, further: Edge) -> tuple[float, float]:
    """At least the logs of E[(1 - F) G] under P and Q, F and G the shares of a normal law about x beyond two edges.

    If u = x + s Z < X and v = x + s' Z' > X', then v - X' + b (X - u) > 0 for every b >= 0: a tail of a normal law.
    """
    weight = np.linspace(0.0, 1.0, 64)
    wide = np.sqrt((1 - weight) ** 2 + further.softness**2 + (weight * edge.softness) ** 2)
    null, shifted = (
        float(np.min(log_ndtr((weight * (edge.place - mean) - (further.place - mean)) / wide))) for mean in (0.0, mu)
    )
    return null, float(np.logaddexp(math.log1p(-rate) + null, math.log(rate) + shifted))


def cut_for(mu: float, rate: float, most: float, softness: float = _SOFTNESS) -> float:
    """A cut that drops at most e^most under Q: half of it from each of the two normal laws that Q mixes."""
    half = most - math.log(2)
    null, shifted = ndtri_exp([min(half - math.log1p(-rate), _HALF), min(half - math.log(rate), _HALF)]).tolist()
    wide = math.sqrt(1 + softness**2)
    return float(max(-wide * null, mu - wide * shifted))
