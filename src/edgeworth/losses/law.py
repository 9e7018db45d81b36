"""The law of the privacy loss of one step, and what every engine may ask of it.

L = log dQ/dP is finite except where only one of P and Q has mass. Those two masses are kept apart,

    null_only = P[L = -inf],    alternative_only = Q[L = +inf],

and everything else speaks of the laws P and Q *given that L is finite*, with L their own log-ratio. So
every law is proper, K(0) = K(1) = 0 holds for all of them, and the two masses come back at the very end
(`edgeworth.curves.Rescaled`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.abstract import Abstract
from edgeworth.losses.moments import Cumulants, cumulants_of_nodes, tilted_cumulants_of_nodes

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from edgeworth.losses.atomic import AtomicLoss
    from edgeworth.losses.moments import DecimalNodes

    Array = NDArray[np.float64]

__all__ = ["Lattice", "Nodes", "PrivacyLoss"]


@dataclass(frozen=True, slots=True)
class Nodes:
    """A quadrature of the law under P: E_P[g(L)] = sum of e^log_weight * g(loss) for smooth g.

    Logarithms, because e^L times the weight is of order one where each of them leaves the range of doubles.
    """

    loss: Array
    log_weight: Array

    def held(self) -> tuple[Array, Array]:
        """Losses and logarithms of weights, without those that have none."""
        held = np.isfinite(self.log_weight)
        return self.loss[held], self.log_weight[held]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Equally spaced atoms: number j lies at L = offset + (first + j) * spacing, an identity of real numbers.

    It holds by construction and is not read off rounded losses, so sums of n such losses lie on n * offset plus
    multiples of the spacing, exactly. `spacing` and `offset` are these real numbers to a few ulps. `log_null` has
    the logarithms of the P-masses, -inf for a hole, to a few ulps of themselves or of 1; a Q-mass is e^L times the
    P-mass. What a law with infinitely many atoms leaves out is below e^-700 under P and under Q.
    """

    spacing: float
    offset: float
    first: int
    log_null: Array


class PrivacyLoss(Abstract):
    """The law of L = log dQ/dP of one step, given that L is finite."""

    @property
    def null_only(self) -> float:
        """P[L = -inf]: outcomes that only the null can produce."""
        return 0.0

    @property
    def alternative_only(self) -> float:
        """Q[L = +inf]: outcomes that only the alternative can produce."""
        return 0.0

    @property
    def largest(self) -> Fraction | None:
        """The largest loss, and minus the least, where the doubles given make it a rational number; None elsewhere."""
        return None

    @property
    def is_atomic(self) -> bool:
        """Whether L takes finitely many values, so that its law is exact on a lattice or not at all."""
        return False

    @property
    def atoms(self) -> AtomicLoss | None:
        """The values and their masses where L takes finitely many; None elsewhere."""
        return None

    @property
    def is_symmetric(self) -> bool:
        """Whether -L under Q is known to have the law of L under P, so that f = f^-1."""
        return False

    @property
    def lattice(self) -> Lattice | None:
        """The atoms as a lattice where they are one by construction; None elsewhere."""
        return None

    @property
    def steepest(self) -> tuple[float, float]:
        """The tilts between which nodes are affordable; beyond, the tilted law lies where no double is left."""
        return -1e6, 1e6

    @property
    def is_exact(self) -> bool:
        """Whether the distribution functions are formulas; False for densities known only as black boxes."""
        return True

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest finite value of L; infinite where it has none."""

    @abstractmethod
    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """(P[L <= l], P[L > l], Q[L <= l], Q[L > l]), each accurate relative to itself."""

    @abstractmethod
    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """A quadrature under P that resolves the law tilted by e^(cL) for every c in the given range."""

    def positive_nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """A quadrature of the part L > 0 alone; the nodes that lie there, unless a rule runs across 0."""
        nodes = self.nodes(tilt)
        right = nodes.loss > 0
        return Nodes(nodes.loss[right], nodes.log_weight[right])

    def decimal_nodes(self, digits: int) -> DecimalNodes | None:  # noqa: ARG002 - for the laws that have some
        """Losses and weights under P in decimal arithmetic, their error below 10^-digits; None where there are none."""
        return None

    def cumulants(self, order: int) -> Cumulants:
        """kappa_1 … kappa_order of L under P and under Q."""
        nodes = self.nodes()
        return cumulants_of_nodes(nodes.loss, nodes.log_weight, order)

    def tilted(self, tilt: Array, order: int, reach: tuple[float, float]) -> Array:
        """Rows K(c), kappa_1(c), …, kappa_order(c) of the law tilted by e^(cL - K(c)), one row for each c.

        The nodes are those for the range `reach` of tilts, so that one c gives the same bits in every company.
        """
        nodes = self.nodes(reach)
        return tilted_cumulants_of_nodes(nodes.loss, nodes.log_weight, tilt, order)
