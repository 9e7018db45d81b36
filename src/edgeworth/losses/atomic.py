"""Losses that take finitely many values: randomized response, (epsilon, delta), their samples and products."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.losses.law import Lattice, Nodes, PrivacyLoss
from edgeworth.losses.moments import Cumulants, cumulants_of_nodes, cumulants_to_all_digits
from edgeworth.losses.of import privacy_loss
from edgeworth.mechanisms import ApproxDP, RandomizedResponse

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import DecimalNodes

__all__ = [
    "AtomicLoss",
    "BinaryLoss",
    "CategoricalLoss",
    "LatticeLoss",
    "MovedAtoms",
    "running_sums",
    "smallest_lattice",
]

_MOST_CATEGORIES = 10**300  # so many answers leak nothing


def running_sums(mass: Array) -> Array:
    """0, m_1, m_1 + m_2, …, each by a tree of additions: relative error at most log2(size) ulps."""
    sums, shift = np.concatenate([[0.0], mass]), 1
    while shift < sums.size:
        sums[shift:] = sums[shift:] + sums[:-shift]
        shift *= 2
    return sums


def smallest_lattice(nodes: Nodes) -> Lattice | None:
    """One atom or two, which are always a lattice; None for more."""
    if nodes.loss.size > 2:
        return None
    spacing = float(nodes.loss[1] - nodes.loss[0]) if nodes.loss.size == 2 else 1.0
    return Lattice(spacing, float(nodes.loss[0]), 0, nodes.log_weight) if 0 < spacing < math.inf else None


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
    def atoms(self) -> AtomicLoss | None:
        """This law."""
        return self

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the mirrored atoms are the same numbers."""
        mirrored = np.array_equal(self.loss, -self.loss[::-1]) and np.array_equal(self.null, self.alternative[::-1])
        return mirrored and self.null_only_mass == self.alternative_only_mass

    @property
    def lattice(self) -> Lattice | None:
        """Known by construction for two atoms; a subclass may know more."""
        return smallest_lattice(self.nodes())

    @property
    def steepest(self) -> tuple[float, float]:
        """No limit: the atoms serve every tilt."""
        return -math.inf, math.inf

    @property
    def support(self) -> tuple[float, float]:
        """The first and the last atom."""
        return float(self.loss[0]), float(self.loss[-1])

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array, Array]:
        """The masses below and from each atom on, under P and under Q, each added up from its own side."""
        below = running_sums(self.null), running_sums(self.alternative)
        above = running_sums(self.null[::-1])[::-1], running_sums(self.alternative[::-1])[::-1]
        return below[0], above[0], below[1], above[1]

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Sums of masses, each from its own side."""
        at = np.searchsorted(self.loss, loss, side="right")
        null_below, null_above, below, above = self._sums
        return null_below[at], null_above[at], below[at], above[at]

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:  # noqa: ARG002 - atoms serve every tilt
        """The atoms themselves: exact for every function."""
        with np.errstate(divide="ignore"):  # an atom that underflows weighs nothing
            return Nodes(self.loss, np.log(self.null))


@dataclass(frozen=True, eq=False)
class MovedAtoms(AtomicLoss):
    """Atoms whose losses are differences: each is right up to an error of its own."""

    off: Array = field(kw_only=True)


class LatticeLoss(AtomicLoss):
    """Atoms on a lattice that is known by construction, with the logarithms of masses that underflow."""

    def __init__(self, lattice: Lattice, loss: Array, null: Array, alternative: Array, leak: float = 0.0) -> None:
        super().__init__(loss, null, alternative, null_only_mass=leak, alternative_only_mass=leak)
        object.__setattr__(self, "_lattice", lattice)

    _lattice: Lattice

    @property
    def lattice(self) -> Lattice | None:
        """The lattice it was built on, unless its spacing leaves the range of floats."""
        return self._lattice if math.isfinite(self._lattice.spacing) else None

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:  # noqa: ARG002 - atoms serve every tilt
        """The atoms themselves, with the logarithms of the lattice."""
        return Nodes(self.loss, self._lattice.log_null)


class BinaryLoss(LatticeLoss):
    """L = -epsilon or +epsilon, the law of randomized response, with the closed form of its cumulants."""

    def __init__(self, epsilon: float, leak: float = 0.0, *, exact: Fraction | None = None) -> None:
        """`exact`: the quotient that epsilon was rounded from, if it was."""
        decay = math.exp(-epsilon)
        truth, lie, log_truth = 1.0 / (1.0 + decay), decay / (1.0 + decay), -math.log1p(decay)
        if epsilon > 0:
            lattice = Lattice(2 * epsilon, -epsilon, 0, np.array([log_truth, log_truth - epsilon]))
            atoms = np.array([-epsilon, epsilon]), np.array([truth, lie]), np.array([lie, truth])
        else:
            lattice = Lattice(1.0, 0.0, 0, np.zeros(1))
            atoms = np.array([0.0]), np.array([1.0]), np.array([1.0])
        super().__init__(lattice, *atoms, leak)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "exact", exact)

    epsilon: float
    exact: Fraction | None

    @property
    def largest(self) -> Fraction:
        """The epsilon given, or the quotient that it was rounded from."""
        return Fraction(self.epsilon) if self.exact is None else self.exact

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """Both atoms in decimal arithmetic."""
        with localcontext() as context:
            context.prec = digits + 10
            epsilon = Decimal(self.largest.numerator) / Decimal(self.largest.denominator)
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


class CategoricalLoss(LatticeLoss):
    """L = -epsilon, 0 or +epsilon: randomized response with more than two answers.

    Of the two true answers that neighbours may have, one speaks for P and one for Q; the others speak for neither.
    P has the masses e^epsilon : categories - 2 : 1, and Q the same in reverse.
    """

    def __init__(self, epsilon: float, categories: int) -> None:
        decay, others = math.exp(-epsilon), float(min(categories, _MOST_CATEGORIES) - 2)
        whole, log_whole = 1 + (others + 1) * decay, math.log1p((others + 1) * decay)
        log_null = np.array([0.0, math.log(others) - epsilon, -epsilon]) - log_whole
        null = np.array([1.0, others * decay, decay]) / whole
        loss = np.array([-epsilon, 0.0, epsilon])
        super().__init__(Lattice(epsilon, 0.0, -1, log_null), loss, null, null[::-1])
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "others", others)

    epsilon: float
    others: float

    @property
    def largest(self) -> Fraction:
        """The epsilon given."""
        return Fraction(self.epsilon)

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """The three atoms in decimal arithmetic."""
        with localcontext() as context:
            context.prec = digits + 10
            epsilon, others = Decimal(self.epsilon), Decimal(self.others)
            lie = 1 / (epsilon.exp() + others + 1)
            return [-epsilon, Decimal(0), epsilon], [epsilon.exp() * lie, others * lie, lie]

    def cumulants(self, order: int) -> Cumulants:
        """From the atoms, in decimal arithmetic where doubles would cancel. Under Q the odd ones change sign."""
        nodes = self.nodes()
        double = cumulants_of_nodes(nodes.loss, nodes.log_weight, order)
        found = cumulants_to_all_digits(double, self.decimal_nodes, order)
        return Cumulants(found.null, found.null * (-1.0) ** np.arange(1, order + 1), found.condition)


@privacy_loss.register
def _(mechanism: RandomizedResponse) -> PrivacyLoss:
    if mechanism.categories == 2 or mechanism.epsilon == 0:
        return BinaryLoss(mechanism.epsilon)
    return CategoricalLoss(mechanism.epsilon, mechanism.categories)


@privacy_loss.register
def _(mechanism: ApproxDP) -> PrivacyLoss:
    """The least private pair that is (epsilon, delta)-DP: full disclosure with probability delta each way."""
    return BinaryLoss(mechanism.epsilon, leak=mechanism.delta)
