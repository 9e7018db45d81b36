"""One step tilted by e^(cL): quadrature weights, and the numbers that bound its characteristic function.

For a Poisson sample of Gaussian noise, L(x) = log(1 - p + p e^(mu x - mu^2/2)) with x ~ N(0, 1) under P. The
trapezoidal rule in x converges exponentially, at a rate set by the strip in which the integrand is analytic. Every
bound is proved in docs/proofs/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour import replaced_gaussian
from edgeworth.composition.contour.certified_moment import NATS, PANELS, SUM_ROUNDING, certified_moment, weight_noise
from edgeworth.composition.contour.laplace_formula import LaplaceFormula, laplace_moments
from edgeworth.composition.contour.long_moments import HAS_MORE_DIGITS, long_moments
from edgeworth.composition.contour.mean_apart import MeanApart, WaveNodes, is_worth_it, mean_apart
from edgeworth.composition.contour.quadrature import even_nodes
from edgeworth.composition.contour.raised import Raised, raised
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
from edgeworth.composition.contour.sampled_laplace import sampled_laplace_decay, sampled_laplace_moment
from edgeworth.composition.contour.shifted import (
    WIDEST_STRIP,
    Shifted,
    mixture_bounds,
    shifted_bounds,
    steep_bounds,
    with_cell_masses,
)
from edgeworth.composition.contour.steep_laplace import real_nodes, sample_nodes, tilt_of_base
from edgeworth.composition.contour.strip import is_steep, strip_growth
from edgeworth.composition.contour.waves import BLOCK, products_of_waves, sums_of_waves
from edgeworth.composition.contour.window import window_of
from edgeworth.composition.log_sums import log_sum
from edgeworth.composition.work import spend
from edgeworth.errors import TooLarge
from edgeworth.losses import LaplaceLoss, ReplacedGaussianLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import Step
    from edgeworth.losses import Nodes
    from edgeworth.losses.law import Array

__all__ = ["TiltedPart", "sampled_laplace_decay", "tilt_nodes", "tilt_part"]

_UNIT = 2.0**-53
_TILT, _TERM = 6e3, 0.012  # units of work for a step at a tilt, and for a term of its transform
_MOST_POINTS, _MOST_OF_A_SAMPLE = 60_000, 250_000
_VERY_MANY = 1_000_000  # equal steps, whose first moments may be taken to more digits than doubles have
_MOST_OF_K = 1e-10  # relative error of M^n by ulps of doubles, beyond which K has more digits where there are some
_MANY_POINTS = 800  # on the real line; higher up some hundred are enough at every frequency
_POINTS_OF_LAPLACE = 16.0  # to a unit of theta times the steepest tilt
_LARGEST_MU = 8.0
_WORTH_A_PRODUCT = 48
_LARGEST_WAVE = 4.0  # |a| + |b|, and |ab|, of waves a and b less one
_DENSE = 0.01  # n p^2 from which on the sum is so near a normal law that few lines are tried far out, by measurement
_STEEP, _MOST_BEND = 1.0, 600.0  # nats, from which on a cell has a bend of its own, and beyond which it says nothing
_NEARLY = 0.55  # of the distance of nodes that no growth would allow: so much is taken without a closer look, …
_FEW_POINTS = 400  # … where that makes no more points
_STRIPS = np.array([0.004, 0.012, 0.035, 0.08, 0.18, 0.42, WIDEST_STRIP])  # candidates, as shares of theta = pi/2


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """One step tilted by e^(cL): quadrature weights, and the numbers that bound its characteristic function."""

    count: int
    loss: Array
    weight: Array
    """Weights of the tilted law, normalised."""
    noise: Array
    """Relative rounding error of each weight: the exponents c L - x^2/2 carry their own ulps."""
    log_moment: float
    """log E_P[e^(cL)]."""
    log_moment_error: float
    """Bound on its rounding error."""
    quadrature: float
    """Bound on the error of phi(t) by the quadrature in x, for |t| up to the frequency that was asked for."""
    variation: float
    """|phi(t)| <= variation/|t|; inf where no such bound is known."""
    shifted: Shifted | None
    """The bound far out for a sample of Gaussian noise."""
    atoms: float = 1.0
    """For other steps |phi(t)| <= atoms + decay/t: the tilted mass of the atoms, and what bounds the rest."""
    decay: float = 0.0
    atoms_are_read: bool = False
    """Whether runs of atoms are read as all others: of a sample of Laplace noise they are, of Laplace noise not."""
    alone: bool = False
    """Whether the log moment is that of this law alone, and not of its distance from those tilted by 0 and 1."""
    make_raised: Callable[[], Raised] | None = None
    """The same law above the real line, where the frequency is too high for that: made when it is first wanted."""
    blur: float = 0.0
    """The mean absolute error of L, besides a relative one."""
    formula: LaplaceFormula | None = None
    """The same law as a formula, where the frequency is too high for nodes."""
    apart: MeanApart | None = None
    """The same law with its mean apart, where ulps of the rate count too much."""

    @property
    def raised(self) -> Raised | None:
        """The same law above the real line, where the frequency is too high for that."""
        return None if self.make_raised is None else self.make_raised()

    @property
    def points(self) -> int:
        """How many nodes in x a value of phi is made of."""
        return 1 if self.formula is not None else (self.raised or self).loss.size

    @property
    def is_good_for_all(self) -> bool:
        """Whether the frequency that was asked for is no limit."""
        return self.make_raised is not None or self.formula is not None

    def log_far_bound(self, t: Array) -> Array:
        """At least log |phi| at each t and beyond it: it only falls with t."""
        if self.shifted is None:
            rest = np.minimum(self.decay / t, 1.0 - self.atoms)
            return np.asarray(np.log(np.minimum(self.atoms + rest, 1.0)))
        return self.shifted.log_bound(t, self.weight)

    def characteristic(self, t: Array) -> tuple[NDArray[np.complex128], Array]:
        """phi(t) - 1 = -2 sum v sin^2(tL/2) + i sum v sin(tL) with v the weights, and a bound on its error.

        Small losses make small terms: nothing of the size of one ulp of 1 is ever added.
        """
        if self.formula is not None:
            return self.formula.less_one(t)
        if self.apart is not None:
            return self.apart.at(t)
        nodes = self.raised or self
        return sums_of_waves(nodes.loss, nodes.weight, t), self._error(t)

    def on_even_grid(self, h: float, count: int) -> tuple[NDArray[np.complex128], Array]:
        """The same at t = 0, h, …, (count - 1) h, from the waves at some 2 sqrt(count) of these frequencies.

        With a_j, b_k the waves e^(itL) - 1 at t = j h and k m h, that at (k m + j) h is a_j + b_k + a_j b_k.
        """
        if count < _WORTH_A_PRODUCT or self.formula is not None:
            return self.characteristic(np.asarray(h * np.arange(count), dtype=np.float64))
        m, nodes = math.isqrt(count - 1) + 1, self.raised or self
        spend(_TERM * count * nodes.loss.size)
        if self.apart is not None:
            return self.apart.on_even_grid(h, count)
        sums = products_of_waves(nodes.loss, nodes.weight, h, m)
        sums[0, 0] = 0.0
        sums[1:, 1:] += sums[1:, :1] + sums[:1, 1:]
        t = np.asarray(h * np.arange(count), dtype=np.float64)
        blocks = -(-nodes.loss.size // BLOCK)
        rounding, turning = 2 * min(BLOCK, nodes.loss.size) + 2 * blocks + 24, 8 * m.bit_length()
        return sums.ravel()[:count], self._error(t, rounding * _UNIT, turning * _UNIT)

    def _error(self, t: Array, rounding: float = 0.0, turning: float = 0.0) -> Array:
        """Of the sums of v (e^(itL) - 1), with this much rounding of terms and of angles beside the usual.

        Each weight is off by its own noise and by that of the normalisation; an angle tL by its own ulps; and
        |e^(itL) - 1| <= |tL|. Far out the waves are no larger than 4, as sums of two and their product are, and only
        angles grow.
        """
        if self.raised is not None:
            return self.raised.error(t, SUM_ROUNDING + rounding + 16 * _UNIT, turning + 24 * _UNIT)
        noise = self.noise + (float(self.weight @ self.noise) + SUM_ROUNDING + 3 * _UNIT + rounding + turning)
        share, length, t = self.weight * noise, np.abs(self.loss), np.abs(t)
        slope = float(share @ length) + self.blur
        turned = (24 * _UNIT + turning) * float(self.weight @ length) + self.blur
        return np.asarray(self.quadrature + np.minimum(slope * t, _LARGEST_WAVE * float(share.sum()) + turned * t))

    def moduli(self, t: Array) -> Array:
        """Upper bounds of |phi| at frequencies up to that which was asked for."""
        values, error = self.characteristic(t)
        return np.asarray(np.minimum(np.abs(1 + values) + error, 1.0))

    def variance(self) -> float:
        """Of the tilted law."""
        mean = float(self.weight @ self.loss)
        return float(self.weight @ (self.loss - mean) ** 2)


def tilt_part(step: Step, count: int, c: float, frequency: float) -> TiltedPart:
    """The step tilted by c, its quadrature good for frequencies up to the given one."""
    spend(_TILT)
    if isinstance(step, SampledGaussian):
        return _tilt_sampled_gaussian(step, count, c, frequency)
    if isinstance(step, ReplacedGaussianLoss):
        return _tilt_replaced_gaussian(step, count, c, frequency)
    # A tilt as steep as the frequency makes panels short enough for the oscillation.
    steepest = max(abs(c), 1.0) + frequency
    if isinstance(step, LaplaceLoss):
        return _tilt_laplace(step, count, c, steepest)
    if isinstance(step, SampledLoss) and isinstance(step.base, LaplaceLoss):
        return _tilt_sampled_laplace(step, step.base.theta, count, c, steepest)
    if not step.is_atomic and steepest * (step.support[1] - step.support[0]) > _MOST_POINTS:
        raise TooLarge("the quadrature of the loss would need too many points")
    return tilt_nodes(step.nodes((-steepest, steepest)), count, c)


def tilt_nodes(
    nodes: Nodes,
    count: int,
    c: float,
    extra: float = 0.0,
    moved: Array | float = 0.0,
    moment: tuple[float, float] | None = None,
) -> TiltedPart:
    """Atoms, or panels fine enough for the frequency, tilted by c.

    `extra` is a relative error of all masses, and `moved` the absolute error of their losses, besides a relative one;
    `moment` is K with its error, if it is known.
    """
    exponent = c * nodes.loss + nodes.log_weight
    weight = np.exp(exponent - float(np.max(exponent)))
    weight /= float(np.sum(weight))
    extra += PANELS
    noise = weight_noise(nodes.loss, nodes.log_weight, c) + extra + abs(c) * moved
    moment = moment or certified_moment(nodes.loss, nodes.log_weight, c, 0.0, extra, moved)
    return TiltedPart(count, nodes.loss, weight, noise, *moment, 0.0, math.inf, None)


def _tilt_laplace(step: LaplaceLoss, count: int, c: float, steepest: float) -> TiltedPart:
    """Laplace noise: atoms and panels, or its formula where these would be many: it has an ulp of 1, which adds up."""
    formula = LaplaceFormula(step.theta, c) if _POINTS_OF_LAPLACE * step.theta * steepest > _MANY_POINTS else None
    steepest = steepest if formula is None else max(abs(c), 1.0)
    nodes = step.nodes((-steepest, steepest)) if formula is None else real_nodes(step, (-steepest, steepest))
    atoms, decay = _laplace_decay(step, c)
    if count < _VERY_MANY or formula is not None or step.theta == 0:
        return replace(tilt_nodes(nodes, count, c), atoms=atoms, decay=decay, formula=formula)
    log_moment, mean = laplace_moments(step, c)
    part = tilt_nodes(nodes, count, c, moment=(log_moment, 2 * _UNIT * abs(log_moment)))
    waves = WaveNodes(part.loss, part.weight, part.weight, part.noise, 12 * _UNIT * np.abs(part.loss), part.quadrature)
    return replace(part, atoms=atoms, decay=decay, apart=MeanApart(mean, 2 * _UNIT * abs(mean), waves))


def _laplace_decay(step: LaplaceLoss, c: float) -> tuple[float, float]:
    """The tilted mass of both atoms, and |integral of the density e^((c-1/2+it) l - theta/2)/4| times t at most.

    Relative to e^(|c - 1/2| theta - theta/2)/2 both atoms are 1 and f, and the density m.
    """
    a = abs(c - 0.5)
    f, m = math.exp(-2 * a * step.theta), -math.expm1(-2 * a * step.theta) / (2 * a) if a > 0 else step.theta
    atoms = (1 + f) / (1 + f + m) * (1 + 1e-12)
    return min(atoms, 1.0), 0.5 * atoms


def _tilt_sampled_laplace(step: SampledLoss, theta: float, count: int, c: float, steepest: float) -> TiltedPart:
    """A sample of Laplace noise: atoms and panels, those of its base."""
    if _POINTS_OF_LAPLACE * theta * tilt_of_base(step, steepest) > _MOST_OF_A_SAMPLE:
        raise TooLarge("the quadrature of a sample of Laplace noise would need too many points")
    part = tilt_nodes(sample_nodes(step, steepest), count, c, moment=sampled_laplace_moment(step, c))
    atoms, decay = sampled_laplace_decay(step, theta, c, part.log_moment)
    return replace(part, atoms=atoms, decay=decay, atoms_are_read=True)


def _tilt_sampled_gaussian(step: SampledGaussian, count: int, c: float, frequency: float) -> TiltedPart:
    """Noisy SGD: the trapezoidal rule in x, with the strip and window that the frequency needs."""
    nats = max(NATS, 36.0 + math.log(count))  # the error enters n times
    window, high = window_of(step, c, nats), None  # a line that falls too slowly is given up without what is high
    h = _spacing(step, c, frequency, nats, window)
    if window[1] - window[0] > _MANY_POINTS * h:
        high, h = cache(partial(raised, step, c, nats, window)), _spacing(step, c, 0.0, nats, window)
    x, error = even_nodes(h, window), 4.2 * math.exp(-nats)  # both sides of the strip, and the normalisation
    loss, (log_window, ends) = step.loss(x), step.window(x)
    log_weight = log_window - 0.5 * x * x + (math.log(h) - 0.5 * math.log(2 * math.pi))
    exponent = c * loss + log_weight
    weight = np.exp(exponent - exponent.max())
    weight /= weight.sum()
    edge = float(weight[0] + weight[-1]) / h  # density at the ends; beyond, it falls faster than e^-|x|
    # Of chi: a node off by an ulp moves it by its slope, and log Phi is known to 8 ulp.
    of_window = _UNIT * (2 * np.abs(x) * ends - 12 * log_window)
    posterior = step.posterior(x)
    # Of L: mu x - mu^2/2 is off by some ulps of its parts, mu by one, and L by r times that.
    moved = (3 * _UNIT * step.mu) * posterior * (np.abs(x) + step.mu)
    blur = float(weight @ moved)
    noise = weight_noise(loss, log_weight, c) + of_window + abs(c) * moved
    dense = count * step.rate**2 >= _DENSE
    if is_steep(step, c):
        shifted = steep_bounds(step, c, posterior, exponent - log_sum(exponent), h, frequency)
    else:
        shifted = shifted_bounds(step, c, ends, posterior, weight, frequency, dense=dense)
    if step.is_jump:
        shifted = with_cell_masses(shifted, weight, h, step.bend(c))
        log_moment = log_sum(c * loss + log_weight)
        rounding = float(weight @ noise) + SUM_ROUNDING + 4 * _UNIT * abs(log_moment)
        moment = log_moment, rounding * (1 + 1e-9)
        quadrature = error + 2 * edge
        return TiltedPart(
            count, loss, weight, noise, *moment, quadrature, math.inf, shifted, alone=True, make_raised=high, blur=blur
        )
    null, alternative = (math.exp(log) for log in step.log_dropped)
    missing = c * (null - alternative) - null
    log_moment, log_moment_error = certified_moment(loss, log_weight, c, missing, of_window, moved)
    longer = None
    if HAS_MORE_DIGITS and step.is_whole and count >= _VERY_MANY and count * log_moment_error > _MOST_OF_K:
        longer = long_moments(step, c, h, x)
    if longer is not None:
        log_moment, log_moment_error = longer.log_moment, longer.log_moment_error
    dropped = 1e-11 * (1 + 2 * abs(c)) * math.exp(step.log_dropped[1] - log_moment)
    made = TiltedPart(
        count,
        loss,
        weight,
        noise,
        log_moment,
        log_moment_error + dropped,
        error + 2 * edge,
        _variation(step, c, posterior, weight, h),
        shifted,
        make_raised=high,
        blur=blur,
    )
    if not is_steep(step, c) and is_worth_it(count, frequency, loss, weight, whole=step.is_whole and longer is None):
        return replace(made, apart=mean_apart(made, step, c, log_weight, (of_window, moved), longer))
    return made


def _tilt_replaced_gaussian(step: ReplacedGaussianLoss, count: int, c: float, frequency: float) -> TiltedPart:
    """A clipped record replaced: the trapezoidal rule in x, and the bound by parts far out."""
    nats = max(NATS, 36.0 + math.log(count))
    x, h = replaced_gaussian.nodes(step, c, frequency, nats)
    loss, log_weight = step.at(x), step.log_density(x) + math.log(h)
    exponent = c * loss + log_weight
    weight = np.exp(exponent - float(np.max(exponent)))
    weight /= float(np.sum(weight))
    edge = float(weight[0] + weight[-1]) / h
    extra = replaced_gaussian.noise(step, c, x, loss)
    moment = certified_moment(loss, log_weight, c, 0.0, extra)
    falls = replaced_gaussian.variation(step, c, x, weight, h)
    quadrature = 4.2 * math.exp(-nats) + 2 * edge
    shifted = mixture_bounds(step, c, x, weight, frequency)
    return TiltedPart(
        count, loss, weight, weight_noise(loss, log_weight, c) + extra, *moment, quadrature, falls, shifted
    )


def _spacing(step: SampledGaussian, c: float, frequency: float, nats: float, window: tuple[float, float]) -> float:
    """The distance of nodes x that leaves e^-nats of phi up to the frequency.

    On the line Im x = y, with theta = mu y < pi/2 and r the posterior of Q, |e^((c+it)L)| grows from the real line
    by at most e^(|t| min(theta, r tan theta)), and by cos(theta/2)^c where c < 0, or at a steep tilt to
    (1 - p)^c. The best of some strips is taken, r being counted as 1 where that hardly matters.
    """
    y = np.minimum(_STRIPS * (0.5 * math.pi / step.mu), math.sqrt(2 * NATS))
    least = 0.5 * step.strip_factor * y * y
    if c < 0:
        turned = c * np.log(np.cos(0.5 * step.mu * y))
        least = least + (np.minimum(turned, c * math.log1p(-step.rate)) if is_steep(step, c) else turned)
    most = frequency * step.mu * y + least
    widest, plain = (float((2 * math.pi * y / (nats + growth)).max()) for growth in (least, most))
    if plain > _NEARLY * widest and window[1] - window[0] < _FEW_POINTS * plain:
        return plain
    y = y[_worth_trying(most, nats) :]
    growth = strip_growth(step, c, frequency, y, window)
    return max(plain, float((2 * math.pi * y / (nats + growth)).max()))


def _worth_trying(most_growth: Array, nats: float) -> int:
    """The first strip of which the next one, more than twice as wide, may not be better."""
    good = most_growth[1:] < 0.8 * nats
    return int(good.argmin()) if not good.all() else good.size


def _variation(step: SampledGaussian, c: float, posterior: Array, weight: Array, h: float) -> float:
    """The total variation of w/L', L' = mu r: by parts, |phi(t)| is at most that over |t|.

    log(w/L') has a second derivative of at most B in size, so inside a cell it exceeds the larger end by a factor of
    at most e^(B h^2/8), and what the nodes do not see of it is at most 2 (e^(B h^2/8) - 1) times the larger end. L''
    is mu^2 r (1 - r), and r rises: at a steep tilt to the left B is that of each cell.
    """
    if step.mu > _LARGEST_MU:  # w/L' may still rise left of the window
        return math.inf
    g = weight / (h * step.mu * posterior)
    bend = h * h * step.bend(abs(c) + 1) / 8
    if bend > _STEEP:
        half = np.minimum(posterior[1:], 0.5)
        bend = h * h * (step.strip_factor + (abs(c) + 1) * step.mu**2 * half * (1 - half)) / 8
    hidden = np.expm1(np.minimum(bend, _MOST_BEND))
    run = np.abs(g[1:] - g[:-1]) + 2 * hidden * np.maximum(g[1:], g[:-1])
    return float(np.add.reduce(run) + g[0] + g[-1]) * (1 + 1e-9)
