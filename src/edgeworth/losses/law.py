"""The law of the privacy loss of one step, and what every engine may ask of it.

L = log dQ/dP is finite except where only one of P and Q has mass. Those two masses are kept apart,

    null_only = P[L = -inf],    alternative_only = Q[L = +inf],

and everything else speaks of the laws P and Q *given that L is finite*, with L their own log-ratio. So
every law is proper, K(0) = K(1) = 0 holds for all of them, and the two masses come back at the very end
(`edgeworth.curves.Rescaled`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeworth.losses.moments import Cumulants, cumulants_of_nodes, tilted_cumulants_of_nodes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Nodes", "PrivacyLoss"]


@dataclass(frozen=True, slots=True)
class Nodes:
    """A quadrature of the law under P: E_P[g(L)] = sum of e^log_weight * g(loss) for smooth g.

    Logarithms, because e^L times the weight is of order one where each of them leaves the range of doubles.
    """

    loss: Array
    log_weight: Array


class PrivacyLoss(ABC):
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
    def is_atomic(self) -> bool:
        """Whether L takes finitely many values, so that its law is exact on a lattice or not at all."""
        return False

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
