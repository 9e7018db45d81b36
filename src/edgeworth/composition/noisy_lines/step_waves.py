"""One tilted step along a line: its Fourier transform at many frequencies, a multiple of a spacing each.

A step with atoms is a sum of waves, Laplace noise a formula, and a sample of it a quadrature up to a frequency, beyond
which its modulus is bounded. docs/proofs/lattice.md, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np

from edgeworth.composition.contour.mean_apart import MeanApart, WaveNodes
from edgeworth.composition.contour.sampled_laplace import sampled_laplace_decay
from edgeworth.composition.contour.tilted_part import tilt_nodes
from edgeworth.composition.contour.waves import wave_less_one
from edgeworth.composition.decimals.moments import decimal_moments
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.outside import NOTHING
from edgeworth.composition.work import spend
from edgeworth.losses import DiscreteGaussianLoss, LaplaceLoss, SampledLoss
from edgeworth.losses.atomic import MovedAtoms
from edgeworth.losses.law import Nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.tilted_part import TiltedPart
    from edgeworth.composition.lattice.masses import Masses
    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.law import Array

    Complex = NDArray[np.complex128]
    Index = NDArray[np.intp]

__all__ = [
    "BLOCK",
    "UNIT",
    "Block",
    "StepWaves",
    "far_share",
    "is_known",
    "is_like_gaussian",
    "last_moves",
    "step_waves",
]

UNIT = 2.0**-53
BLOCK = 2**14  # frequencies at a time: a quarter of a megabyte an array
_WAVE, _GATHERED = 0.3, 0.2  # units of work for a wave, and for a product of two that are gathered
_NATS = 45.0  # tilted masses that weigh less than e^-45 together are left out
_MOST_ATOMS = 20_000
_VERY_MANY = 100_000  # equal steps, whose ulps of first order count too much
_WORTH = 8  # times as many frequencies as are asked for are affordable in one product of matrices
_LIKE_GAUSSIAN = 2.0  # sigma from which on discrete Gaussian noise has the moments of continuous noise to 1e-30
_ROOM = 9.6  # sigmas around the peak of the tilted law
_OF_LAPLACE = 3  # numbers that its formula is made of
_OF_MASSES = 64 * UNIT  # relative, of the masses that stand for a density
_OF_PLACES = 16 * UNIT  # relative, of the places of masses
_OF_SUM = 1e-29  # more than the rounding of what is added to that
_LONGEST_RATIO = 0.5  # of the masses beyond the last that is kept, each to the one before


class Block(NamedTuple):
    """Some of the frequencies h (first + k), 0 <= k < BLOCK."""

    first: int
    h: float
    k: Index

    @property
    def y(self) -> Array:
        """The frequencies."""
        return np.asarray(self.h * (self.first + self.k))

    def waves(self, place: Array) -> tuple[Complex, Complex, tuple[Index, Index]]:
        """e^(i place y) as products of two waves: rows for some frequencies, columns for what follows each of them.

        Beside them the row and the column of every frequency of the block.
        """
        start, rest, where = self._angles(place)
        spend(_WAVE * (start.size + rest.size))
        return np.exp(1j * start), np.exp(1j * rest), where

    def waves_less_one(self, place: Array) -> tuple[Complex, Complex, tuple[Index, Index]]:
        """The same, each wave less one, accurate where that is small."""
        start, rest, where = self._angles(place)
        return wave_less_one(start), wave_less_one(rest), where

    def _angles(self, place: Array) -> tuple[Array, Array, tuple[Index, Index]]:
        side = 2 ** ((int(self.k[-1]).bit_length() + 1) // 2)
        row = self.k // side  # in order
        first = np.append(True, row[1:] != row[:-1])
        rows, number = row[first], np.cumsum(first) - 1
        turns = self.h * place
        start = np.multiply.outer(self.first + side * rows, turns)
        return start, np.multiply.outer(turns, np.arange(side)), (number, self.k % side)


@dataclass(frozen=True, eq=False)
class StepWaves:
    """A step tilted by c, -L under Q if it is mirrored: phi(y) = E[e^(iy (L - origin))] under the tilted law.

    What `at` returns is right up to `noise` + `drift` y for y <= `reach`, and `less_one` up to `still` + `lean` y.
    """

    count: int
    origin: float
    place: Array
    """Places of the masses less the origin; of Laplace noise theta alone."""
    weight: Array
    """Tilted masses, of sum 1; of Laplace noise a, e^(-2 a theta) and the sum that both are over."""
    noise: float
    drift: float
    log_moment: float
    log_moment_error: float
    share: float
    """|phi(y)| <= share + decay/y."""
    decay: float
    reach: float
    slack: float
    """How far a place may be from where it is."""
    still: float = 0.0
    lean: float = math.inf
    bend: float = math.inf
    """At least E|L - m|, by which |phi| changes with y at the most."""
    apart: MeanApart | None = None
    """The same law with its mean apart, of very many steps: the origin is 0 then."""

    @property
    def is_laplace(self) -> bool:
        """Whether it is Laplace noise, which has a formula."""
        return self.place.size == 1 and self.weight.size == _OF_LAPLACE

    @property
    def cost(self) -> float:
        """Of one frequency, in waves."""
        if self.is_laplace:
            return 3.0
        return 1 + 0.2 * self.place.size + 0.3 * self.count.bit_length()

    @property
    def largest(self) -> float:
        """The largest mass, about |phi| at most high frequencies."""
        return min(0.5 / float(self.weight[2]) if self.is_laplace else float(np.max(self.weight)), 1.0)

    def log_far(self, y: float) -> float:
        """The logarithm of at least |phi|^n from a frequency on."""
        return self.count * math.log(min(self.share + self.decay / y, 1.0))

    def at(self, block: Block) -> Complex:
        """Phi at the frequencies of a block."""
        coarse, fine, (number, column) = block.waves(self.place)
        if self.is_laplace:
            return self._laplace(coarse[number, 0] * fine[0, column], block.y)
        coarse *= self.weight
        if _WORTH * block.k.size > coarse.shape[0] * fine.shape[1]:
            return np.asarray((coarse @ fine)[number, column])
        spend(_GATHERED * number.size * self.place.size)
        return np.asarray(np.einsum("kp,pk->k", coarse[number], fine[:, column]))

    def less_one(self, block: Block) -> tuple[Complex, Array]:
        """Phi - 1 of masses, accurate where it is small, and its error.

        Of two waves less one, a and b, a + b + ab is that of both. Small losses make small terms, so that very many
        steps do not add up the ulps of 1.
        """
        if self.apart is not None:
            spend(_WAVE * block.k.size * self.place.size)
            return self.apart.at(block.y)
        far, near, (number, column) = block.waves_less_one(self.place)
        both = (far * self.weight) @ near + (far @ self.weight)[:, None] + self.weight @ near
        return np.asarray(both[number, column]), np.asarray(self.still + self.lean * block.y)

    def _laplace(self, turn: Complex, y: Array) -> Complex:
        """[e^(i theta y) (1 + 1/(2w)) + e^(-2 a theta) e^(-i theta y) (1 - 1/(2w))]/(2S), w = a + iy."""
        a, fall, whole = self.weight.tolist()
        half = 0.5 / (a + 1j * y)
        return np.asarray((turn * (1 + half) + fall * np.conj(turn) * (1 - half)) * (0.5 / whole))


def is_known(loss: PrivacyLoss) -> bool:
    """Whether `step_waves` knows the law: atoms, Laplace noise, and samples of it.

    >>> is_known(LaplaceLoss(1.0))
    True
    """
    if isinstance(loss, LaplaceLoss) or is_like_gaussian(loss):
        return True
    if isinstance(loss, SampledLoss) and isinstance(loss.base, LaplaceLoss):
        return True
    bounded = math.isfinite(loss.support[0]) and math.isfinite(loss.support[1])
    if not loss.is_atomic or not (bounded or isinstance(_base(loss), DiscreteGaussianLoss)):
        return False
    log_weight = loss.nodes().log_weight
    return log_weight.size <= _MOST_ATOMS and bool(np.isfinite(log_weight).all())


def is_like_gaussian(loss: PrivacyLoss) -> TypeGuard[DiscreteGaussianLoss]:
    """Whether K(s) = s (s-1) D^2/(2 sigma^2) to all digits for real s."""
    return isinstance(loss, DiscreteGaussianLoss) and loss.sigma >= _LIKE_GAUSSIAN


def last_moves(loss: PrivacyLoss) -> tuple[float, float]:
    """At least the distance of two neighbouring losses left and right of the atoms listed of discrete Gaussian noise.

    Those of a sample are no farther apart, and on the left no farther than the first one listed from log(1 - p).
    """
    lattice = _base(loss).lattice
    if lattice is None:
        return math.inf, math.inf
    floor = loss.support[0]
    room = math.inf if math.isinf(floor) else float(loss.nodes().loss[0]) - floor - 16 * UNIT * floor
    return min(lattice.spacing, room), lattice.spacing


def _place_errors(loss: PrivacyLoss, place: Array) -> Array:
    """At least the error of each loss of a step with atoms."""
    if isinstance(loss, MovedAtoms):
        return loss.off
    return np.asarray((loss.place_error if isinstance(loss, SampledLoss) else _OF_PLACES) * np.abs(place))


def _base(loss: PrivacyLoss) -> PrivacyLoss:
    return loss.base if isinstance(loss, SampledLoss) else loss


def step_waves(loss: PrivacyLoss, count: int, c: float, frequency: float, *, mirrored: bool) -> StepWaves:
    """The step tilted by c, for frequencies up to that one if it has a density without a formula.

    The mirrored law tilted by c is the law itself tilted by 1 - c, with all places turned round.
    """
    if isinstance(loss, LaplaceLoss):
        return _laplace_waves(loss, count, c)
    if is_like_gaussian(loss):
        return _gaussian_waves(loss, count, c)
    tilt = 1 - c if mirrored else c
    if isinstance(loss, SampledLoss) and isinstance(loss.base, LaplaceLoss):
        law = _density(loss, 2.0 ** math.ceil(math.log2(max(abs(tilt), 1.0))), frequency)
        nodes, reach = Nodes(law.place, law.log_mass), frequency
        missing, of_masses = max(law.error - _OF_MASSES, 0.0) + _OF_SUM, _OF_MASSES
        share, decay = far_share(loss, tilt)
        off = _OF_PLACES * np.abs(nodes.loss)
    else:
        nodes, reach, share, decay = loss.nodes(), math.inf, 1.0, 0.0
        missing, of_masses = _beyond(loss, nodes, tilt), 0.0
        off = _place_errors(loss, nodes.loss)
    part = tilt_nodes(nodes, 1, tilt, of_masses, np.maximum(off - _OF_PLACES * np.abs(nodes.loss), 0.0))
    first, last, dropped = _held(part.weight)
    place, weight = part.loss[first:last], part.weight[first:last]
    still = 2 * dropped + 4 * missing
    of_weights = part.noise + (float(part.weight @ part.noise) + (6 * weight.size + 16) * UNIT)
    noise = 2 * float(part.weight @ of_weights) + still
    if mirrored:
        place, weight = -place[::-1], weight[::-1]
    log_moment, moment_error = part.log_moment, part.log_moment_error + 4 * missing * (1 + abs(tilt))
    apart = None
    if count >= _VERY_MANY and (exact := decimal_moments(loss, c, mirrored)) is not None:
        log_moment, apart = (
            float(exact.log_moment),
            _apart(part, float(exact.mean), off, 4 * missing, mirrored=mirrored),
        )
        moment_error = 2 * UNIT * abs(log_moment)
    origin = 0.0 if apart is not None else float(place[0])
    away, errors = weight * np.abs(place - origin), of_weights[first:last]
    drift = 16 * UNIT * float(np.sum(away))
    lean = 2 * float((errors[::-1] if mirrored else errors) @ away) + float(part.weight[first:last] @ off[first:last])
    return StepWaves(
        count,
        origin,
        np.asarray(place - origin),
        np.ascontiguousarray(weight),
        noise,
        drift,
        log_moment,
        moment_error,
        share,
        decay,
        reach,
        float(np.max(off[first:last])),
        still,
        lean + drift,
        float(weight @ np.abs(place - float(weight @ place))) * (1 + 1e-9),
        apart,
    )


def _apart(part: TiltedPart, mean: float, off: Array, missing: float, *, mirrored: bool) -> MeanApart:
    """The tilted law with a mean that is the nearest double; `off` are the errors of its places, `missing` a mass."""
    place = -part.loss if mirrored else part.loss
    waves = WaveNodes(place, part.weight, part.weight, part.noise, off + 16 * UNIT * np.abs(place), missing)
    return MeanApart(mean, 2 * UNIT * abs(mean), waves)


@lru_cache(maxsize=2048)
def _density(loss: SampledLoss, tilt: float, frequency: float) -> Masses:
    """The masses that serve every tilt up to that one."""
    made = masses(loss, loss.support, tilt, frequency)
    assert made.below == made.above == NOTHING
    return made


def _held(weight: Array) -> tuple[int, int, float]:
    """The weights between the ends that hold less than e^-NATS each, and what these hold."""
    most = math.exp(-_NATS)
    first = int(np.searchsorted(np.cumsum(weight), most, side="right"))
    last = weight.size - int(np.searchsorted(np.cumsum(weight[::-1]), most, side="right"))
    return first, last, 2 * most if last - first < weight.size else 0.0


def _beyond(loss: PrivacyLoss, nodes: Nodes, tilt: float) -> float:
    """At most the tilted mass of the atoms of discrete Gaussian noise that are not listed, over that of the others.

    From one atom to the next outwards P falls by ever more, and a loss moves by less and less, or by the spacing.
    """
    if math.isfinite(loss.support[1]):
        return 0.0
    exponent = nodes.log_weight + tilt * nodes.loss
    total = 0.0
    for end, before, push, move in zip((0, -1), (1, -2), (-tilt, tilt), last_moves(loss), strict=True):
        fall = float(nodes.log_weight[end] - nodes.log_weight[before]) + max(push, 0.0) * move
        if fall > math.log(_LONGEST_RATIO):
            return math.inf
        total += math.exp(float(exponent[end] - np.max(exponent)) + 1e-9)
    return total


def _gaussian_waves(loss: DiscreteGaussianLoss, count: int, c: float) -> StepWaves:
    """Discrete Gaussian noise is its own mirror image; tilted it is e^(-(k-a)^2/(2 sigma^2)) around a = cD."""
    sigma, shift = loss.sigma, loss.sensitivity
    a = c * shift
    k = np.arange(math.floor(a - _ROOM * sigma), math.ceil(a + _ROOM * sigma) + 1, dtype=np.float64)
    weight = np.exp(-0.5 * ((k - a) / sigma) ** 2)
    weight /= float(np.sum(weight))
    spacing = shift / sigma**2
    place, far = spacing * (k - k[0]), spacing * (abs(a) + shift + _ROOM * sigma + 1)
    log_moment = 0.5 * c * (c - 1) * (shift / sigma) ** 2
    noise = (12 * k.size + 1000 + 80 * abs(a) / sigma) * UNIT + 4 * math.exp(-_NATS)
    return StepWaves(
        count,
        spacing * (float(k[0]) - 0.5 * shift),
        place,
        weight,
        noise,
        16 * UNIT * float(place[-1]),
        log_moment,
        16 * UNIT * abs(log_moment) + 4 * math.exp(-_NATS),
        1.0,
        0.0,
        math.inf,
        16 * UNIT * far,
    )


def _laplace_waves(loss: LaplaceLoss, count: int, c: float) -> StepWaves:
    """Laplace noise is its own mirror image; c > 1/2."""
    theta, a = loss.theta, abs(c - 0.5)
    fall = math.exp(-2 * a * theta)
    whole = 0.5 * (1 + fall) - 0.25 * math.expm1(-2 * a * theta) / a
    share = 0.5 * (1 + fall) / whole * (1 + 1e-12)
    scale = 1 + 0.5 / a
    value = (a - 0.5) * theta + math.log(whole)
    return StepWaves(
        count,
        0.0,
        np.array([theta]),
        np.array([a, fall, whole]),
        40 * scale * UNIT,
        8 * theta * scale * UNIT,
        value,
        UNIT * (16 + 8 * (1 + a) * theta),
        share,
        0.5 * share,
        math.inf,
        8 * UNIT * theta,
    )


def far_share(loss: SampledLoss, tilt: float) -> tuple[float, float]:
    """The tilted mass of both atoms of a sample of Laplace noise, and |integral over the density| times y at most."""
    assert isinstance(loss.base, LaplaceLoss)
    log_moment = tilt_nodes(loss.nodes((min(tilt, 0.0), max(tilt, 1.0))), 1, tilt).log_moment
    return sampled_laplace_decay(loss, loss.base.theta, tilt, log_moment)
