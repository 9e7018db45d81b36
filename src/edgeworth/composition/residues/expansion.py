"""Laplace steps and atoms as a finite sum of exponentials.

Put s = 1/2 + z and w = 1/(2z). A Laplace step has

    E_P[e^(sL)] = e^(-theta/2) [(1 + w) e^(z theta) + (1 - w) e^(-z theta)]/2,

and a step with atoms l of mass p has the sum of p e^(l/2) e^(zl). So with N Laplace steps in all,

    M(1/2 + z) = e^front * sum over c of e^log_weight_c (1 + w)^((N + m_c)/2) (1 - w)^((N - m_c)/2) e^(z tau_c),

where m_c counts the Laplace steps that went up minus those that went down. All weights are positive. The sum is kept
as the product of two groups of steps, of which only the smaller is ever paired with the other. Thresholds t and the tau
of the groups are counted from the largest loss, both <= 0: what is left of a profile next to its end are their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.exact import TwoDoubles
from edgeworth.losses import BinaryLoss, CategoricalLoss, LaplaceLoss, SampledLoss

if TYPE_CHECKING:
    from fractions import Fraction

    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["UNIT", "Expansion", "Group", "expandable", "group_sizes"]

UNIT = 2.0**-53
_PLACE_ULPS = 10.0  # of a place below the largest loss, relative: a quotient, its multiple, differences
_LOSS_ULPS = 8.0  # of the loss of a sample, relative
_WEIGHT_ULPS = 16.0  # of the logarithm of an atom's mass, relative to itself and 1


class Group(NamedTuple):
    """The terms of some steps: logarithms of their weights, m, and tau."""

    log_weight: Array
    m: Array
    tau: Array


_NOTHING = Group(np.zeros(1), np.zeros(1), np.zeros(1))


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its terms, how often it ran, and whether it is Laplace noise."""

    terms: Group
    n: int
    laplace: bool


def expandable(loss: PrivacyLoss) -> bool:
    """Whether a step is a short sum of exponentials: Laplace noise, randomized response, a sample of the latter."""
    if isinstance(loss, SampledLoss):
        return isinstance(loss.base, BinaryLoss | CategoricalLoss) and loss.base.null_only == 0
    return isinstance(loss, LaplaceLoss | BinaryLoss | CategoricalLoss)


def group_sizes(total: TotalLoss) -> tuple[int, int]:
    """How many terms the two groups have, without making them."""
    sizes = (_count(_atoms_of(loss), n) for loss, n in total.parts)
    small, large = 1, 1
    for size in sorted(sizes, reverse=True):
        small, large = sorted((small * size, large))
    return small, large


def _atoms_of(loss: PrivacyLoss) -> int:
    return 2 if isinstance(loss, LaplaceLoss) else loss.nodes().loss.size


def _count(atoms: int, n: int) -> int:
    """The ways to share n steps among the atoms."""
    return math.comb(n + atoms - 1, atoms - 1)


class Expansion:
    """The sum of exponentials of a total loss."""

    def __init__(self, steps: tuple[Step, ...], largest: Fraction | None = None) -> None:
        """`largest`: the largest loss where it is rational, as are then all places below it."""
        self.steps = steps
        self.laplace_steps = sum(step.n for step in steps if step.laplace)
        self.noise = math.fsum(step.n * float(np.max(step.terms.tau)) for step in steps if step.laplace)
        self.atoms = math.fsum(step.n * float(np.max(step.terms.tau)) for step in steps if not step.laplace)
        self.top = TwoDoubles(self.noise + self.atoms, 0.0) if largest is None else TwoDoubles.of(largest)
        span = math.fsum(step.n * float(np.max(np.abs(step.terms.tau))) for step in steps)
        self._relative = (len(steps) + _PLACE_ULPS) * UNIT
        self.loss_error = 0.0 if largest is not None else (3 * (len(steps) + 3) + _LOSS_ULPS) * UNIT * span
        sizes = (step.n * (1 + float(np.max(np.abs(step.terms.log_weight)))) for step in steps if not step.laplace)
        self.weight_error = _WEIGHT_ULPS * UNIT * math.fsum(sizes)

    @property
    def largest(self) -> float:
        """The largest loss, rounded."""
        return self.top.high

    def below(self, loss: Array) -> Array:
        """A loss counted from the largest one."""
        return -self.top.less(loss)

    def above(self, t: Array, side: float) -> Array:
        """The loss at such a place, rounded down (side < 0) or up."""
        loss = (self.top.high + t) + self.top.low
        return np.asarray(loss + side * (4 * UNIT * np.abs(loss) + self.loss_error))

    def place_error(self, t: Array) -> Array:
        """At least the error of tau - t for every tau near t or between it and the largest loss."""
        return np.asarray(self._relative * np.abs(t) + self.loss_error)

    def front(self, t: Array, *, null: bool) -> tuple[Array, Array]:
        """The exponent before the integral over e^(z (tau - t)), and a bound on the sizes of its parts.

        With x the loss at t, and N the sum of n theta, it is (x - N)/2, and for readings of the null -(x + N)/2.
        """
        if null:
            return -self.noise - 0.5 * (self.atoms + t), self.noise + self.atoms + np.abs(t)
        return 0.5 * (self.atoms + t), self.atoms + np.abs(t)

    @classmethod
    def of(cls, total: TotalLoss) -> Expansion:
        """The expansion of a total loss, all of whose steps are `expandable`."""
        return cls(tuple(_step(loss, n) for loss, n in total.parts if loss.support != (0.0, 0.0)), total.largest)

    def mirrored(self) -> Expansion:
        """That of -T with P and Q exchanged: z becomes -z."""
        flip = slice(None, None, -1)
        return Expansion(
            tuple(
                Step(Group(s.terms.log_weight[flip], -s.terms.m[flip], -s.terms.tau[flip]), s.n, s.laplace)
                for s in self.steps
            )
        )

    def groups(self) -> tuple[Group, Group]:
        """Two groups of all terms, the smaller first; the larger with tau falling from 0, the largest."""
        small, large = _NOTHING, _NOTHING
        powers = (_power(_from_the_top(step.terms), step.n) for step in self.steps)
        for power in sorted(powers, key=lambda group: -group.tau.size):
            small, large = sorted((_product(small, power), large), key=lambda group: group.tau.size)
        order = np.argsort(-large.tau, kind="stable")
        return small, Group(*(column[order] for column in large))


def _step(loss: PrivacyLoss, n: int) -> Step:
    if isinstance(loss, LaplaceLoss):
        half = np.full(2, -math.log(2))
        return Step(Group(half, np.array([-1.0, 1.0]), np.array([-loss.theta, loss.theta])), n, laplace=True)
    nodes = loss.nodes()
    return Step(Group(nodes.log_weight + nodes.loss / 2, np.zeros(nodes.loss.size), nodes.loss), n, laplace=False)


def _from_the_top(terms: Group) -> Group:
    return terms._replace(tau=terms.tau - np.max(terms.tau))


def _product(one: Group, other: Group) -> Group:
    """Every term of one with every term of the other."""
    return Group(*((a[:, None] + b).ravel() for a, b in zip(one, other, strict=True)))


def _power(terms: Group, n: int) -> Group:
    """The n-th power of a short sum: how often each term was taken, with its multinomial coefficient."""
    if terms.tau.size == 1:
        return Group(*(n * column for column in terms))
    first, others = Group(*(column[-1:] for column in terms)), Group(*(column[:-1] for column in terms))
    if others.tau.size > 1:
        pieces = [_taken(first, _power(others, n - j), n, j) for j in range(n + 1)]
        return Group(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))
    j = np.arange(n + 1.0)
    # The weights are doubled because the coefficients come divided by 2^n: nothing of size n cancels at the centre.
    doubled = math.log(2)
    weight = _log_binomials(n) + j * (first.log_weight + doubled) + (n - j) * (others.log_weight + doubled)
    return Group(weight, j * first.m + (n - j) * others.m, j * first.tau + (n - j) * others.tau)


def _taken(first: Group, rest: Group, n: int, j: int) -> Group:
    """The first term j times and n - j others, in every order."""
    return Group(
        math.log(math.comb(n, j)) + j * first.log_weight + rest.log_weight,
        *(j * a + b for a, b in zip(first[1:], rest[1:], strict=True)),
    )


@lru_cache(maxsize=32)
def _log_binomials(n: int) -> Array:
    """log(C(n, j)/2^n) for j = 0 … n, from exact integers: within some ulps of itself and of 1."""
    half, ways = [], 1
    for j in range(n // 2 + 1):
        spare = max(ways.bit_length() - 62, 0)
        top, exponent = float(ways >> spare), spare - n
        half.append(math.log(math.ldexp(top, exponent)) if exponent > -1000 else math.log(top) + exponent * math.log(2))
        ways = ways * (n - j) // (j + 1)
    return np.array(half + half[: (n + 1) // 2][::-1])
