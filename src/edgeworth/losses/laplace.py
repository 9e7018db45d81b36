"""Laplace noise: L = |x| - |x - theta| has an atom at each end of [-theta, theta] and a density between.

Under P = Lap(0, 1): P[L = -theta] = 1/2, P[L = theta] = e^-theta/2, and L = 2x - theta with density e^-x/2 for
0 < x < theta. Under Q the law is mirrored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.errors import InvalidArgument
from edgeworth.exact import exact_quotient
from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import Laplace

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["LaplaceLoss"]

_POINT, _SHARE = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, slots=True)
class LaplaceLoss(PrivacyLoss):
    """The loss of Laplace noise at sensitivity/scale = theta."""

    theta: float
    exact: Fraction | None = None
    """The quotient that theta was rounded from; None where theta is the quotient."""

    @property
    def largest(self) -> Fraction:
        """The quotient itself."""
        return Fraction(self.theta) if self.exact is None else self.exact

    @property
    def support(self) -> tuple[float, float]:
        """[-theta, theta]: Laplace noise is theta-DP."""
        return -self.theta, self.theta

    @property
    def is_symmetric(self) -> bool:
        """The two laws are mirror images."""
        return True

    @property
    def steepest(self) -> tuple[float, float]:
        """Gauss–Legendre panels grow with |c| theta: some thousands of them at the most."""
        most = max(2.0, 3000 / max(self.theta, 1e-300))
        return -most, most

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """1 - e^-x/2 at x = (l + theta)/2 under P, and mirrored under Q."""
        inside = np.clip(loss, -self.theta, self.theta)
        x = (inside + self.theta) / 2
        right, left = 0.5 * np.exp(-x), 0.5 * np.exp(x - self.theta)
        before, after = loss < -self.theta, loss >= self.theta
        return (
            np.select([before, after], [0.0, 1.0], 1 - right),
            np.select([before, after], [1.0, 0.0], right),
            np.select([before, after], [0.0, 1.0], left),
            np.select([before, after], [1.0, 0.0], 1 - left),
        )

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """Both atoms, and Gauss–Legendre panels for the density between them.

        Panels are at most 1/(1 + 2|c|) long in x, so that e^(cL - x) grows by less than e^2 on each and
        sixteen nodes are exact to rounding.
        """
        if self.theta == 0:
            return Nodes(np.zeros(1), np.zeros(1))
        x, log_density = self._panels(0.0, tilt)
        loss = np.concatenate([[-self.theta], 2 * x - self.theta, [self.theta]])
        return Nodes(loss, np.concatenate([[0.0], log_density, [-self.theta]]) - math.log(2))

    def positive_nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """The right atom, and panels for the half of the density where L > 0."""
        if self.theta == 0:
            return Nodes(np.empty(0), np.empty(0))
        x, log_density = self._panels(self.theta / 2, tilt)
        loss = np.concatenate([2 * x - self.theta, [self.theta]])
        return Nodes(loss, np.concatenate([log_density, [-self.theta]]) - math.log(2))

    def _panels(self, start: float, tilt: tuple[float, float]) -> tuple[Array, Array]:
        """Places x between start and theta, and the logarithms of their shares of e^-x dx."""
        steepness = 1 + 2 * max(abs(tilt[0]), abs(tilt[1]))
        panels = max(1, math.ceil((self.theta - start) * steepness / 2))
        edges = np.linspace(start, self.theta, panels + 1)
        half = np.diff(edges)[:, None] / 2
        x = (edges[:-1, None] + half * (1 + _POINT)).ravel()
        return x, np.log(half * _SHARE).ravel() - x

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """The same in decimal arithmetic, the density by tanh-sinh quadrature on [0, theta]."""
        with localcontext() as context:
            context.prec = digits + 15
            theta, half_pi = Decimal(self.theta), Decimal(repr(math.pi / 2))
            # Any constant near pi/2 will do here; the rule's error falls like exp(-c N/log N).
            step = Decimal(1) / Decimal(max(16, digits // 2))
            loss, weight = [-theta, theta], [Decimal("0.5"), (-theta).exp() / 2]
            reach = math.asinh((digits + 15) * 2.303 / math.pi) + 0.2
            for k in range(-int(reach / float(step)), int(reach / float(step)) + 1):
                grow, shrink = (step * k).exp(), (-step * k).exp()
                u = half_pi * (grow - shrink) / 2  # x = theta/(1 + e^-2u)
                left, right = 1 / (1 + (-2 * u).exp()), 1 / (1 + (2 * u).exp())
                slope = 2 * half_pi * (grow + shrink) / 2 * left * right
                loss.append(theta * (left - right))
                weight.append(step * theta * slope * (-theta * left).exp() / 2)
            return loss, weight

    def cumulants(self, order: int) -> Cumulants:
        """Taylor coefficients of log M(s), M(s) = [(1-s) e^(-s theta) - s e^-theta e^(s theta)]/(1 - 2s).

        The series is closed-form; decimal arithmetic keeps the digits that cancel when theta is small. Under Q
        the odd cumulants change sign.
        """
        with localcontext() as context:
            context.prec = 50 + order * max(2, 2 - 2 * int(math.log10(max(self.theta, 1e-30))))
            theta = Decimal(self.theta)
            decay = (-theta).exp()
            term = [theta**k / factorial(k) for k in range(order + 1)]
            top = [Decimal(1)]
            top += [(-1) ** k * (term[k] + term[k - 1]) - decay * term[k - 1] for k in range(1, order + 1)]
            moment = [Decimal(1)]  # divide by 1 - 2s
            for k in range(1, order + 1):
                moment.append(top[k] + 2 * moment[k - 1])
            series = [Decimal(0)]  # log: k a_k = k m_k - sum_j j a_j m_(k-j)
            for k in range(1, order + 1):
                series.append(moment[k] - sum((j * series[j] * moment[k - j] for j in range(1, k)), Decimal(0)) / k)
            null = np.array([float(series[k] * factorial(k)) for k in range(1, order + 1)])
        return Cumulants(null, null * (-1.0) ** np.arange(1, order + 1))


@privacy_loss.register
def _(mechanism: Laplace) -> PrivacyLoss:
    theta = mechanism.sensitivity / mechanism.scale
    if not math.isfinite(theta):
        raise InvalidArgument(
            f"sensitivity={mechanism.sensitivity!r} over scale={mechanism.scale!r} is larger than every float; "
            "give a larger scale"
        )
    return LaplaceLoss(theta, exact_quotient(mechanism.sensitivity, mechanism.scale))
