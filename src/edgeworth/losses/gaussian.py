"""Gaussian noise: x ~ N(0, 1) under P, N(mu, 1) under Q, and L = mu x - mu^2/2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from edgeworth.errors import TooLarge
from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import Gaussian, GaussianDP

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["SEPARATED", "GaussianLoss"]

SEPARATED = 60.0  # at this mu the density of P half-way to Q is below e^-400
_POINT, _SHARE = np.polynomial.legendre.leggauss(16)

_MOST_NODES = 1 << 21  # 16 MB an array; reached by noise multipliers below 2e-4
_NATS = 44.0  # e^-44 = 8e-20: what truncation and spacing of the x-quadrature may leave out


@dataclass(frozen=True, slots=True)
class GaussianLoss(PrivacyLoss):
    """The loss of mu-GDP: N(-mu^2/2, mu^2) under P, N(mu^2/2, mu^2) under Q."""

    mu: float

    @property
    def support(self) -> tuple[float, float]:
        """All reals."""
        return (-math.inf, math.inf) if self.mu > 0 else (0.0, 0.0)

    @property
    def is_symmetric(self) -> bool:
        """The two laws are mirror images."""
        return True

    @property
    def steepest(self) -> tuple[float, float]:
        """No limit: K is a formula."""
        return -math.inf, math.inf

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Phi at x = l/mu + mu/2 under P and at x - mu under Q."""
        if self.mu == 0:
            below = (loss >= 0).astype(float)
            return below, 1 - below, below, 1 - below
        null, alternative = loss / self.mu + self.mu / 2, loss / self.mu - self.mu / 2
        return ndtr(null), ndtr(-null), ndtr(alternative), ndtr(-alternative)

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """The trapezoidal rule in x, over the peaks c mu of the tilted law."""
        return self.analytic_nodes(tilt, (min(0.0, tilt[0] * self.mu), max(0.0, tilt[1] * self.mu)))

    def analytic_nodes(
        self,
        tilt: tuple[float, float],
        peaks: tuple[float, float],
        most_growth: float = math.inf,
        near_growth: float = math.inf,
    ) -> Nodes:
        """The trapezoidal rule in x for functions of L that are analytic in the strip |Im L| < pi.

        With spacing h and a strip of half-width y the error is e^(y^2/2 - 2 pi y/h). A sample tilted by a
        negative c grows in the strip by |cos(mu y/2)|^c <= e^(|c| mu^2 y^2/7) while mu y <= pi/2, so with
        a = 1 + 2|c| mu^2/7 the error is e^-NATS for h = 2 pi/(NATS/y + a y/2), y <= sqrt(2 NATS/a). If it is known to
        grow by no more than e^most_growth, or e^near_growth while mu y <= 1, that does instead. The mass of the tilted
        law lies within sqrt(2 NATS) of its peaks. Far laws are two bumps, at 0 under P and from mu on under Q and
        beyond, and nothing lives between them.
        """
        least, _ = tilt
        a = 1 + max(0.0, -least) * self.mu * self.mu * 2 / 7
        strip = (0.5 if least < 0 else 0.97) * math.pi / max(self.mu, 1e-300)
        y, wide = min(strip, math.sqrt(2 * _NATS / a)), min(strip, math.sqrt(2 * _NATS))
        near = min(1 / max(self.mu, 1e-300), wide)
        growing = (_NATS + most_growth) / wide + wide / 2, (_NATS + near_growth) / near + near / 2
        h = 2 * math.pi / min(_NATS / y + a * y / 2, *growing)
        reach = math.sqrt(2 * _NATS) + 0.5
        left, right = peaks[0] - reach, peaks[1] + reach
        apart = self.mu > 6 * reach
        ends = [(left, reach), (self.mu - reach, max(right, self.mu + reach))] if apart else [(left, right)]
        count = sum((b - a) / h for a, b in ends)
        if count > _MOST_NODES:
            raise TooLarge(
                f"noise of multiplier {1 / self.mu:.3g} separates neighbours so far that its law takes {count:.2g} "
                f"nodes, more than {_MOST_NODES}; with so little noise a record is seen whenever it is sampled, "
                "which ApproxDP(epsilon=0.0, delta=rate) describes"
            )
        x = np.concatenate([h * np.arange(math.floor(a / h), math.ceil(b / h) + 1) for a, b in ends])
        log_weight = math.log(h / math.sqrt(2 * math.pi)) - 0.5 * x * x
        return Nodes(self.mu * x - self.mu * self.mu / 2, log_weight)

    def positive_nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """Gauss–Legendre panels in u = x - mu/2 > 0, where L = mu u.

        Panels are at most 1/2 long, on which e^(-x^2/2) grows by less than e^5 within reach of a peak, and at most
        1/mu, a third of the distance to where a function of the sample is singular. Far laws (mu > SEPARATED) have no
        mass of e^-400 between 0 and the bump of Q.
        """
        reach = math.sqrt(2 * _NATS) + 0.5
        start = self.mu / 2 - reach if self.mu > SEPARATED else 0.0
        end = (max(tilt[1], 1.0) - 0.5) * self.mu + reach
        panels = math.ceil((end - start) * (2.0 if self.mu > SEPARATED else max(2.0, self.mu)))
        edges = np.linspace(start, end, panels + 1)
        half = np.diff(edges)[:, None] / 2
        u = (edges[:-1, None] + half * (1 + _POINT)).ravel()
        x = self.mu / 2 + u
        log_weight = np.log(half * _SHARE / math.sqrt(2 * math.pi)).ravel() - 0.5 * x * x
        return Nodes(self.mu * u, log_weight)

    def decimal_step(self, digits: int) -> float:
        """Up to this spacing in x the trapezoidal rule is exact to 10^-digits, for every function it serves."""
        nats = 2.31 * digits + 10
        y = min(0.97 * math.pi / self.mu, math.sqrt(2 * nats))
        return 2 * math.pi / (nats / y + y / 2)

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """The same rule in decimal arithmetic, its error below 10^-digits."""
        nats = 2.31 * digits + 10
        h = Decimal(repr(self.decimal_step(digits)))
        reach = math.sqrt(2 * nats) + 0.5
        with localcontext() as context:
            context.prec = digits + 10
            mu = Decimal(self.mu)
            first, last = math.floor(-reach / float(h)), math.ceil((2 * self.mu + reach) / float(h))
            x = [h * k for k in range(first, last + 1)]
            weight = [(-z * z / 2).exp() for z in x]
            total = sum(weight, Decimal(0))
            return [mu * z - mu * mu / 2 for z in x], [w / total for w in weight]

    def cumulants(self, order: int) -> Cumulants:
        """Mean -mu^2/2 under P and +mu^2/2 under Q, variance mu^2, nothing above: exact."""
        null = np.zeros(order)
        null[:2] = [-self.mu * self.mu / 2, self.mu * self.mu][:order]
        alternative = null.copy()
        alternative[0] = -null[0]
        return Cumulants(null, alternative)

    def tilted(self, tilt: Array, order: int, reach: tuple[float, float]) -> Array:  # noqa: ARG002 - a formula
        """K(c) = mu^2 c(c-1)/2, mean mu^2 (c - 1/2), variance mu^2: exact."""
        c = tilt.ravel()
        variance = self.mu * self.mu
        rows = np.zeros((c.size, order + 1))
        rows[:, 0], rows[:, 1], rows[:, 2] = variance * c * (c - 1) / 2, variance * (c - 0.5), variance
        return rows


@privacy_loss.register
def _(mechanism: Gaussian) -> PrivacyLoss:
    return GaussianLoss(1.0 / mechanism.noise_multiplier)


@privacy_loss.register
def _(mechanism: GaussianDP) -> PrivacyLoss:
    return GaussianLoss(mechanism.mu)
