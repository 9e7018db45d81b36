"""Losses that take finitely many values: randomized response, (epsilon, delta), their samples and products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import ApproxDP, RandomizedResponse

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["AtomicLoss", "BinaryLoss"]


@dataclass(frozen=True, eq=False)
class AtomicLoss(PrivacyLoss):
    """Finitely many values of L in increasing order, with their masses under P and under Q."""

    loss: Array
    null: Array
    alternative: Array
    null_only_mass: float = 0.0
    alternative_only_mass: float = 0.0

    @property
    def null_only(self) -> float:
        """P[L = -inf]."""
        return self.null_only_mass

    @property
    def alternative_only(self) -> float:
        """Q[L = +inf]."""
        return self.alternative_only_mass

    @property
    def is_atomic(self) -> bool:
        """True."""
        return True

    @property
    def steepest(self) -> tuple[float, float]:
        """No limit: the atoms serve every tilt."""
        return -math.inf, math.inf

    @property
    def support(self) -> tuple[float, float]:
        """The first and the last atom."""
        return float(self.loss[0]), float(self.loss[-1])

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Sums of masses, each from its own side."""
        at = np.searchsorted(self.loss, loss, side="right")

        def below(mass: Array) -> Array:
            return np.concatenate([[0.0], np.cumsum(mass)])[at]

        def above(mass: Array) -> Array:
            return np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])[at]

        return below(self.null), above(self.null), below(self.alternative), above(self.alternative)

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:  # noqa: ARG002 - atoms serve every tilt
        """The atoms themselves: exact for every function."""
        with np.errstate(divide="ignore"):  # an atom that underflows weighs nothing
            return Nodes(self.loss, np.log(self.null))


class BinaryLoss(AtomicLoss):
    """L = -epsilon or +epsilon, the law of randomized response, with the closed form of its cumulants."""

    def __init__(self, epsilon: float, leak: float = 0.0) -> None:
        truth = 1.0 / (1.0 + math.exp(-epsilon))
        lie = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
        if epsilon > 0:
            atoms = np.array([-epsilon, epsilon]), np.array([truth, lie]), np.array([lie, truth])
        else:
            atoms = np.array([0.0]), np.array([1.0]), np.array([1.0])
        super().__init__(*atoms, null_only_mass=leak, alternative_only_mass=leak)
        object.__setattr__(self, "epsilon", epsilon)

    epsilon: float

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """Both atoms in decimal arithmetic."""
        with localcontext() as context:
            context.prec = digits + 10
            epsilon = Decimal(self.epsilon)
            lie = 1 / (1 + epsilon.exp())
            return [-epsilon, epsilon], [1 - lie, lie]

    def cumulants(self, order: int) -> Cumulants:
        """(2 eps)^r times those of a Bernoulli variable; polynomials in d = tanh(eps/2) = P(-eps) - P(+eps).

        kappa_2 = (1 - d^2)/4 and kappa_(r+1) = (1 - d^2)/4 * d kappa_r/dp with d = 1 - 2p. The tilt of P to Q
        turns d into -d, which changes the sign of the odd cumulants.
        """
        d = math.tanh(self.epsilon / 2)
        # (1-d)(1+d)/4 = truth * lie keeps its digits when d rounds to 1.
        variance = math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon)) ** 2
        factor = np.polynomial.Polynomial([1.0])  # kappa_r = variance * factor(d)
        kappa = [-self.epsilon * d]
        for r in range(2, order + 1):
            kappa.append((2 * self.epsilon) ** r * variance * float(factor(d)))
            # d/dp = -2 d/dd on (1-d^2)/4 * factor(d), times (1-d^2)/4, over (1-d^2)/4
            full = np.polynomial.Polynomial([0.25, 0.0, -0.25]) * factor
            factor = -2.0 * full.deriv()
        null = np.array(kappa)
        return Cumulants(null, null * (-1.0) ** np.arange(1, order + 1))


@privacy_loss.register
def _(mechanism: RandomizedResponse) -> PrivacyLoss:
    return BinaryLoss(mechanism.epsilon)


@privacy_loss.register
def _(mechanism: ApproxDP) -> PrivacyLoss:
    """The least private pair that is (epsilon, delta)-DP: full disclosure with probability delta each way."""
    return BinaryLoss(mechanism.epsilon, leak=mechanism.delta)
