"""Sampling when neighbours differ by one record replaced by another.

One step run on a sample has the trade-off function C_p(f) = min{f_p, f_p^-1}**, f_p = p f + (1-p) Id, where f = f^-1
bounds the step on the records that it sees and p is the share of them that it sees.

*Batches of fixed size* (Dong, Roth and Su, Gaussian differential privacy, Theorem 4.2; Balle, Barthe and Gaboardi,
Privacy amplification by subsampling). Let x be replaced by y. The output has the law (1-p) m0 + p m1 before and
(1-p) m0 + p m2 after: m0 given that the record is not in the batch, m1 given x in it, m2 given y in it. For
e^t = 1 + p (e^s - 1) with s >= 0, and with D_s the hockey-stick divergence sup_E m[E] - e^s m'[E],

    D_t((1-p) m0 + p m1, (1-p) m0 + p m2) = p D_s(m1, (1-b) m0 + b m2),      b = e^(t-s),
                                         <= p max{D_s(m1, m0), D_s(m1, m2)} <= p delta(s).

The equality collects what is subtracted from p m1: e^t ((1-p) m0 + p m2) - (1-p) m0 = p e^s ((1-b) m0 + b m2), since
e^t - 1 = p (e^s - 1) and (1-b) e^s = (1-p)(e^s - 1). The first inequality is convexity in the second argument. A
batch with x becomes one without it by exchanging x for another record, so m1 and m0 are mixtures of outputs on
batches that differ by one record replaced, as are m1 and m2: hence the last step.

*Poisson samples* (the same argument). A sample with x becomes one without it by removing x. So delta has to bound the
removal of a record as well as its replacement, both of which the noise must be scaled for. If all that is known is
that both are bounded alike, this is the best curve there is: a record that adds the whole sensitivity, replaced by one
that adds nothing, attains it. Where a record that is left out moves the answer half as far as one that is replaced,
Gaussian noise has a better one: `edgeworth.losses.replaced_gaussian`.

The bound is the same with x and y exchanged, so the profile of the step is at most p delta(log(1 + (e^t - 1)/p)) for
t >= 0 in both directions, and that is the profile of C_p(f).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.amplification import base_loss, sampled_loss
from edgeworth.errors import Unsupported
from edgeworth.losses.atomic import AtomicLoss, smallest_lattice
from edgeworth.losses.gaussian import SEPARATED, GaussianLoss
from edgeworth.losses.law import Lattice, Nodes, PrivacyLoss
from edgeworth.losses.moments import cumulants_of_nodes
from edgeworth.losses.of import privacy_loss
from edgeworth.losses.replaced_gaussian import ReplacedGaussianLoss
from edgeworth.losses.sampled import SampledLoss, turning_tilt
from edgeworth.mechanisms import Gaussian, PoissonSampled, SampledWithoutReplacement

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import Cumulants
    from edgeworth.mechanisms import Mechanism

__all__ = ["ReplacedLoss"]

_MOST_PANELS = 1250  # of sixteen nodes each


@dataclass(frozen=True, eq=False)
class ReplacedLoss(PrivacyLoss):
    """The law of C_p(f), f symmetric and 0 < p < 1: both sides of a sampled loss, and the rest at L = 0.

    For y > 0 and x = log(1 + (e^y - 1)/p): P[L > y] = P0[l > x], Q[L > y] = (1-p) P0[l > x] + p Q0[l > x], with P0 and
    Q0 the laws of the base. The other side is the mirror image, P[L < -y] = Q[L > y] and Q[L < -y] = P[L > y].
    """

    base: PrivacyLoss
    rate: float

    @property
    def null_only(self) -> float:
        """P[L = -inf], the share p of that of the base."""
        return self.rate * self.base.null_only

    @property
    def alternative_only(self) -> float:
        """Q[L = +inf], the same."""
        return self.null_only

    @property
    def is_atomic(self) -> bool:
        """As the base."""
        return self.base.is_atomic

    @property
    def is_exact(self) -> bool:
        """As the base."""
        return self.base.is_exact

    @property
    def is_symmetric(self) -> bool:
        """By construction."""
        return True

    @property
    def support(self) -> tuple[float, float]:
        """The image of the right end of the base, and its mirror image."""
        top = float(sampled_loss(np.array([self.base.support[1]]), self.rate)[0])
        return -top + 0.0, top

    @property
    def steepest(self) -> tuple[float, float]:
        """Those of the base to the right; for Gaussian noise, as far as some ten thousand nodes reach."""
        most = self.base.steepest[1]
        if isinstance(self.base, GaussianLoss):
            density = 2.0 if self.base.mu > SEPARATED else max(self.base.mu, 2.0)
            most = 1 + _MOST_PANELS / density / self.base.mu
        return 1 - most, most

    @property
    def lattice(self) -> Lattice | None:
        """Three atoms -L, 0, L are one; more of them have different gaps."""
        if not self.is_atomic:
            return None
        nodes = self.nodes()
        return (
            Lattice(float(nodes.loss[2]), 0.0, -1, nodes.log_weight)
            if nodes.loss.size == 3
            else smallest_lattice(nodes)
        )

    @property
    def _kept(self) -> float:
        """(1-b)/(1 - pb): from the base given finite losses to this law given finite losses, for either law."""
        leak = self.base.alternative_only
        return (1 - leak) / (1 - self.rate * leak)

    @property
    def _rest(self) -> float:
        """1 - (1-b)/(1 - pb): the outcomes that disclosed everything, in the runs that did not see them."""
        leak = self.base.alternative_only
        return leak * (1 - self.rate) / (1 - self.rate * leak)

    def _tails(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """(P[L > y], its complement, Q[L > y], its complement) at y >= 0, the right end of the base kept exact."""
        base, end = base_loss(loss, self.rate), self.base.support[1]
        if math.isfinite(end):
            base = np.where(loss < self.support[1], np.minimum(base, np.nextafter(end, -np.inf)), end)
        below, above, alternative_below, alternative_above = self.base.distribution(base)
        p, kept, rest = self.rate, self._kept, self._rest
        return (
            kept * above,
            kept * below + rest,
            kept * ((1 - p) * above + p * alternative_above),
            kept * ((1 - p) * below + p * alternative_below) + rest,
        )

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Tails of the base on the right, mirrored on the left."""
        if self.atoms is not None:
            return self.atoms.distribution(loss)
        null, not_null, alternative, not_alternative = self._tails(np.abs(loss))
        # Left of 0 the tail P[L <= -y] = Q[L >= y] has the atom at the end in it, if there is one.
        left, beyond = loss < 0, loss < self.support[0]
        at_end = loss == self.support[0]
        if at_end.any():
            inner = self._tails(np.full(loss.shape, np.nextafter(self.support[1], 0.0)))
            null, not_null, alternative, not_alternative = (
                np.where(at_end, new, old)
                for new, old in zip(inner, (null, not_null, alternative, not_alternative), strict=True)
            )
        return (
            np.select([beyond, left], [0.0, alternative], not_null),
            np.select([beyond, left], [1.0, not_alternative], null),
            np.select([beyond, left], [0.0, null], not_alternative),
            np.select([beyond, left], [1.0, not_null], alternative),
        )

    @cached_property
    def atoms(self) -> AtomicLoss | None:
        """The atoms of the base beyond 0, their mirror images, and 0."""
        base = self.base.atoms
        if base is None:
            return None
        right = base.loss > 0
        loss = sampled_loss(base.loss[right], self.rate)
        null = self._kept * base.null[right]
        alternative = (1 - self.rate) * null + self.rate * self._kept * base.alternative[right]
        return AtomicLoss(
            np.concatenate([-loss[::-1], [0.0], loss]),
            np.concatenate([alternative[::-1], [self.at_zero], null]),
            np.concatenate([null[::-1], [self.at_zero], alternative]),
            self.null_only,
            self.alternative_only,
        )

    @cached_property
    def at_zero(self) -> float:
        """P[L = 0] = Q[L = 0] = 1 - P[L > 0] - Q[L > 0]: what the two sides leave over."""
        below, above, alternative_below, _ = (float(side[0]) for side in self.base.distribution(np.zeros(1)))
        # 1 - (2-p) P0[l > 0] - p Q0[l > 0] as a sum of terms >= 0, for P0[l > 0] is at most P0[l < 0] = Q0[l > 0]
        finite = (1 - self.rate) * (below - above) + self.rate * (alternative_below - above)
        return self._kept * max(finite, 0.0) + self._rest

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """Nodes of the base for l > 0, with their weight under P on the right and that under Q on the left."""
        steep = max(tilt[1], 1 - tilt[0])
        base = self.base.positive_nodes((1 - steep, steep))
        loss, log_weight = sampled_loss(base.loss, self.rate), base.log_weight + math.log(self._kept)
        with np.errstate(divide="ignore"):
            centre = np.log([self.at_zero])
        return Nodes(
            np.concatenate([-loss[::-1], [0.0], loss]),
            np.concatenate([(loss + log_weight)[::-1], centre, log_weight]),
        )

    def cumulants(self, order: int) -> Cumulants:
        """By quadrature, as far to the right as the powers of a small rate carry the mass."""
        nodes = self.nodes((0.0, 1.0 + min(order, turning_tilt(self.base, self.rate))))
        return cumulants_of_nodes(nodes.loss, nodes.log_weight, order)


def _sample(mechanism: Mechanism, rate: float, *, replaced: bool, clipped: bool = False) -> PrivacyLoss:
    base = privacy_loss(mechanism)
    if rate == 1:
        return base
    if rate == 0 or (base.support == (0.0, 0.0) and base.null_only == 0):
        return GaussianLoss(0.0)
    if not replaced:
        return SampledLoss(base, rate)
    if clipped and isinstance(base, GaussianLoss) and all(isinstance(step, Gaussian) for step, _ in mechanism.steps()):
        return ReplacedGaussianLoss(base.mu, rate)
    if not base.is_symmetric:
        raise Unsupported(
            f"no sound pair is known for a sample of {mechanism!r} when a record is replaced, for its two directions "
            "are not known to be one; sample Gaussian or Laplace noise, discrete noise or a response, or use "
            'PoissonSampled with adjacency="add-remove"'
        )
    return ReplacedLoss(base, rate)


@privacy_loss.register
def _(mechanism: PoissonSampled) -> PrivacyLoss:
    replaced = mechanism.adjacency == "replace"
    return _sample(mechanism.mechanism, mechanism.rate, replaced=replaced, clipped=mechanism.clipped)


@privacy_loss.register
def _(mechanism: SampledWithoutReplacement) -> PrivacyLoss:
    return _sample(mechanism.mechanism, mechanism.rate, replaced=True)
