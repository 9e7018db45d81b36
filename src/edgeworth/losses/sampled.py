"""Poisson sampling: with probability 1 - p the record is not there, so Q becomes (1-p) P + p Q.

The P-law is that of the base mechanism and the loss is L_p = log(1 - p + p e^L): every quadrature of the base
serves the sample. Outcomes that only P can produce (L = -inf) become an atom at log(1-p); outcomes that only Q
can produce keep the share p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.amplification import base_loss, sampled_loss
from edgeworth.errors import Unsupported
from edgeworth.losses.atomic import AtomicLoss, smallest_lattice
from edgeworth.losses.gaussian import SEPARATED, GaussianLoss
from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.moments import cumulants_of_nodes, cumulants_to_all_digits
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import Composed, Repeated

if TYPE_CHECKING:
    from edgeworth.losses.law import Array, Lattice
    from edgeworth.losses.moments import Cumulants, DecimalNodes

__all__ = ["SampledLoss", "turning_tilt"]

_WORTH_DECIMALS = 12.0  # losses that differ by more do not cancel, and would need too many decimal nodes
_MOST_STEPS = 20_000
_MOVED = -math.log(math.cos(1.0))  # a mu: how far a turn by 1 moves the loss of the base
_NEAR_PEAK = 0.01  # as far left of a peak as does not matter
_MOST_HALVINGS = 60
_FARTHEST = 600.0  # nats that a tilt may add to what a law with infinitely many atoms leaves out, below e^-700


def turning_tilt(base: PrivacyLoss, rate: float) -> float:
    """The tilt that brings the base loss to log(1/p); 0 where the base has two far bumps of its own, or no bump."""
    if not isinstance(base, GaussianLoss) or base.mu > SEPARATED:
        return 0.0
    return 2.0 - math.log(rate) / base.mu**2


@dataclass(frozen=True, eq=False)
class SampledLoss(PrivacyLoss):
    """The loss of a base mechanism under Poisson sampling at a rate 0 < rate < 1."""

    base: PrivacyLoss
    rate: float

    @property
    def alternative_only(self) -> float:
        """Q[L = +inf], p times that of the base; P has nothing of its own left."""
        return self.rate * self.base.alternative_only

    @property
    def is_atomic(self) -> bool:
        """As the base."""
        return self.base.is_atomic

    @property
    def steepest(self) -> tuple[float, float]:
        """Those of the base, with atoms farther left; for Gaussian noise, what some ten thousand nodes can reach."""
        if not isinstance(self.base, GaussianLoss):
            least, greatest = self.base.steepest
            # No loss is below log(1 - p): what is not listed gains no more than |c| times that by a negative tilt.
            return (min(least, _FARTHEST / math.log1p(-self.rate)) if self.is_atomic else least), greatest
        mu = self.base.mu
        if mu > SEPARATED:
            return -1e5 / mu**2, 1 + 30 / mu
        return -min(1e5 / mu**2, 1e6), 1 + min(_MOST_STEPS * min(1 / mu, 5.0) / (8 * mu), 1e6)

    @property
    def place_error(self) -> float:
        """At least the relative error of a loss: e^l of the base has |l| times that of l, log(1/p) where it counts."""
        return (16 - 4 * math.log(self.rate)) * 2.0**-53

    @property
    def is_exact(self) -> bool:
        """As the base."""
        return self.base.is_exact

    @property
    def lattice(self) -> Lattice | None:
        """The images of two atoms are a lattice again; those of more are not."""
        return smallest_lattice(self.nodes()) if self.is_atomic else None

    @cached_property
    def support(self) -> tuple[float, float]:
        """The images of the ends of the base; never below log(1-p)."""
        least, greatest = self.base.support
        if self.base.null_only > 0:
            least = -math.inf
        if least == -math.inf and greatest == math.inf and self.base.null_only == self.base.alternative_only == 0:
            return math.log1p(-self.rate), math.inf
        ends = self._loss(np.array([least, greatest]))
        return float(ends[0]), float(ends[1])

    def _shift(self) -> float:
        """log((1-b)/(1-a)) of the base: from its law given finite losses back to the whole law."""
        a, b = self.base.null_only, self.base.alternative_only
        return 0.0 if a == b else math.log1p(-b) - math.log1p(-a)

    def _loss(self, base: Array) -> Array:
        """log(1 - p + p e^L) - log(1 - p b): the loss of the sample, given that it is finite."""
        return sampled_loss(base + self._shift(), self.rate) - math.log1p(-self.alternative_only)

    def _base_loss(self, loss: Array) -> Array:
        """The inverse of `_loss`, -inf below log(1-p).

        The ends of a bounded base and their images belong together exactly, whatever the rounding: atoms sit there.
        """
        base = base_loss(loss + math.log1p(-self.alternative_only), self.rate) - self._shift()
        ends = self.base.support
        images = self._loss(np.array(ends))
        if math.isfinite(ends[1]):
            base = np.where(loss < images[1], np.minimum(base, np.nextafter(ends[1], -np.inf)), ends[1])
        if math.isfinite(ends[0]):
            base = np.where(loss > images[0], np.maximum(base, ends[0]), np.where(loss < images[0], -np.inf, ends[0]))
        return base

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """That of the base under P; the mixture (1-p) P + p Q under Q; both given finite losses."""
        if self.atoms is not None:
            return self.atoms.distribution(loss)
        p, a, b = self.rate, self.base.null_only, self.base.alternative_only
        null_below, null_above, below, above = self.base.distribution(self._base_loss(loss))
        floor = loss >= math.log1p(-p) - math.log1p(-p * b)  # the atom of what only P could produce
        null_below = (1 - a) * null_below + np.where(floor, a, 0.0)
        null_above = (1 - a) * null_above + np.where(floor, 0.0, a)
        whole = 1 - p * b
        return (
            null_below,
            null_above,
            ((1 - p) * null_below + p * (1 - b) * below) / whole,
            ((1 - p) * null_above + p * (1 - b) * above) / whole,
        )

    @cached_property
    def atoms(self) -> AtomicLoss | None:
        """An atomic loss stays one, with the masses P and (1-p) P + p Q of its base."""
        base = self.base.atoms
        if base is None:
            return None
        p, a, b = self.rate, base.null_only, base.alternative_only
        loss, null, both = self._loss(base.loss), (1 - a) * base.null, p * (1 - b) * base.alternative
        if a > 0:
            floor = math.log1p(-p) - math.log1p(-self.alternative_only)
            loss, null = np.concatenate([[floor], loss]), np.concatenate([[a], null])
            both = np.concatenate([[0.0], both])
        alternative = ((1 - p) * null + both) / (1 - p * b)
        return AtomicLoss(np.maximum.accumulate(loss), null, alternative, 0.0, self.alternative_only)

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """The nodes of the base with their losses transformed."""
        if isinstance(self.base, GaussianLoss):
            # |1 - p + p e^l| >= 1 - p where |Im l| <= pi/2: e^(cL) is at most (1 - p)^c there, and its mean at least 1
            most_growth = max(0.0, -tilt[0]) * -math.log1p(-self.rate)
            # |1 - p + p e^l| >= 1 - p + p cos(1) e^(Re l) where |Im l| <= 1: as if x were moved by a = -log(cos 1)/mu,
            # which makes e^(-ax - a^2/2) of the density; that of the tilted law has a deviation of 1 at most.
            peaks = self.left_peak(tilt[0]), max(0.0, tilt[1] * self.base.mu)
            near_growth = _MOVED / max(self.base.mu, 1e-300) * (2 - peaks[0])
            base = self.base.analytic_nodes(tilt, peaks, most_growth, near_growth)
        else:
            base = self.base.nodes(tilt)
        loss, log_weight = self._loss(base.loss), base.log_weight
        if self.base.null_only > 0:
            loss = np.concatenate([[math.log1p(-self.rate) - math.log1p(-self.alternative_only)], loss])
            share = self.base.null_only
            log_weight = np.concatenate([[math.log(share)], math.log1p(-share) + log_weight])
        return Nodes(loss, log_weight)

    def left_peak(self, tilt: float) -> float:
        """Where phi(x) e^(cL) peaks for c < 0, or a little left of it; 0 for c >= 0.

        It is the root of x = c mu r(x), r the posterior of Q, which increases: it lies between c mu r(0) and 0. L is
        bounded below, so a negative tilt moves the mass far less than it would that of the base.
        """
        assert isinstance(self.base, GaussianLoss)
        mu, odds = self.base.mu, (1 - self.rate) / self.rate
        push = min(0.0, tilt * mu)
        low, high = push / (1 + odds * math.exp(min(mu * mu / 2, 700.0))), 0.0
        for _ in range(_MOST_HALVINGS):
            if high - low <= _NEAR_PEAK:
                break
            x = 0.5 * (low + high)
            before = x < push / (1 + odds * math.exp(min(mu * mu / 2 - mu * x, 700.0)))
            low, high = (x, high) if before else (low, x)
        return low

    def cumulants(self, order: int) -> Cumulants:
        """By quadrature; in decimal arithmetic where double precision would cancel.

        At a small rate L is nearly p e^(L_base): its r-th power moves the mass as a tilt by r would, until
        L_base = log(1/p), where L turns linear.
        """
        nodes = self.nodes((0.0, 1.0 + min(order, turning_tilt(self.base, self.rate))))
        double = cumulants_of_nodes(nodes.loss, nodes.log_weight, order)
        if self._spread() > _WORTH_DECIMALS:
            return double
        return cumulants_to_all_digits(double, self._decimal_nodes, order)

    def _spread(self) -> float:
        """How far the two laws of the base lie apart: mu, theta or epsilon."""
        return math.sqrt(float(self.base.cumulants(2).alternative[1]))

    def _decimal_nodes(self, digits: int) -> DecimalNodes | None:
        found = self.base.decimal_nodes(digits)
        if found is None:
            return None
        base, weight = found
        with localcontext() as context:
            context.prec = digits + 10
            p, a, b = Decimal(self.rate), Decimal(self.base.null_only), Decimal(self.base.alternative_only)
            ratio, whole = (1 - b) / (1 - a), 1 - p * b
            loss = [((1 - p + p * ratio * x.exp()) / whole).ln() for x in base]
            return [((1 - p) / whole).ln(), *loss], [a, *((1 - a) * w for w in weight)]


@privacy_loss.register(Composed)
@privacy_loss.register(Repeated)
def _(mechanism: Composed | Repeated) -> PrivacyLoss:
    """A composition inside a sample, as one step: only where its loss has a law of its own."""
    parts = [(privacy_loss(step), times) for step, times in mechanism.steps()]
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    if all(isinstance(loss, GaussianLoss) for loss, _ in parts):
        return GaussianLoss(math.sqrt(math.fsum(n * loss.mu**2 for loss, n in parts if isinstance(loss, GaussianLoss))))
    raise Unsupported(
        "PoissonSampled of a composition is known for Gaussian steps only: one sample of the records runs through "
        "all of its steps; sample each step on its own (PoissonSampled(m, rate) ** n) if that is what ran"
    )
