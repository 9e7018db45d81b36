"""All atoms of a sum of few steps in decimals: their places, of which doubles lose what a reading next to one needs."""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal, localcontext
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.decimals.moments import DIGITS, decimal_nodes
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported
from edgeworth.losses import DiscreteGaussianLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["ERROR", "FARTHEST", "LOST", "DecimalLaw", "decimal_law", "is_listable"]

LOST = Decimal(10) ** -115  # more than the mass of all atoms that are left out
ERROR = Decimal(10) ** -36  # relative, of every mass and of every sum of them
FARTHEST = 1e5  # of a loss: e^loss is a decimal
_REACH = 24.0  # sigmas: beyond, discrete Gaussian noise has less than 1e-125
_LEAST = Decimal(10) ** -130  # masses that are left out
_PLACE_DIGITS = 60  # to which places are the same
_MOST_PAIRS, _MOST_ATOMS, _MOST_VALUES = 400_000, 30_000, 400
_PAIR = 60.0  # units of work


class Atom(NamedTuple):
    """A loss and its masses under P and Q."""

    place: Decimal
    null: Decimal
    alternative: Decimal


class DecimalLaw(NamedTuple):
    """Atoms with rising places, and sums of their masses from each one on and before it."""

    atoms: list[Atom]
    null_from: list[Decimal]
    alternative_from: list[Decimal]
    null_before: list[Decimal]
    alternative_before: list[Decimal]

    @classmethod
    def of(cls, atoms: list[Atom]) -> DecimalLaw:
        """Of atoms in any order."""
        atoms, zero = sorted(atoms), Decimal(0)
        with localcontext(prec=DIGITS):
            from_above = [[zero, *accumulate(atom[side] for atom in reversed(atoms))][::-1] for side in (1, 2)]
            from_below = [[zero, *accumulate(atom[side] for atom in atoms)] for side in (1, 2)]
        return cls(atoms, *from_above, *from_below)

    def mirrored(self) -> DecimalLaw:
        """Of -T with P and Q exchanged."""
        return DecimalLaw.of([Atom(place.copy_negate(), q, p) for place, p, q in self.atoms])

    def first_past(self, t: Decimal) -> int:
        """The number of the first atom beyond a loss."""
        return bisect_right(self.atoms, t, key=lambda atom: atom.place)

    def delta(self, t: Decimal) -> tuple[Decimal, Decimal]:
        """Ends of E[(X - e^t)_+]."""
        k = self.first_past(t)
        with localcontext(prec=DIGITS):
            value, error = self.alternative_from[k] - t.exp() * self.null_from[k], ERROR * self.alternative_from[k]
            return value - error, value + error + LOST

    def delta_at(self, k: int) -> Decimal:
        """The same at the place of an atom, of which e^place is the quotient of its masses."""
        _, null, alternative = self.atoms[k]
        with localcontext(prec=DIGITS):
            return self.alternative_from[k + 1] - alternative / null * self.null_from[k + 1]


def is_listable(total: TotalLoss) -> bool:
    """Whether the atoms of all steps can be listed, and those of their sum are few.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> is_listable(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(0.5), 0.01) ** 3))
    True
    >>> is_listable(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(0.5), 0.01) ** 30))
    False
    """
    logs = farthest = 0.0
    for loss, n in total.parts:
        values = _values(loss) if loss.is_atomic and n <= _MOST_ATOMS else math.inf
        if values > _MOST_VALUES:
            return False
        farthest += n * float(np.max(np.abs(loss.nodes().loss)))
        evenly = loss.lattice is not None or values <= 2
        logs += math.log(n * (values - 1) + 1 if evenly else math.comb(n + int(values) - 1, n))
    return logs < math.log(_MOST_ATOMS) and farthest < FARTHEST


def _values(loss: PrivacyLoss) -> float:
    """How many atoms of a step are listed."""
    base = loss.base if isinstance(loss, SampledLoss | ReplacedLoss) else loss
    if isinstance(base, DiscreteGaussianLoss):
        return 2 * (_REACH * base.sigma + base.sensitivity + 3)
    return float(loss.nodes().loss.size)


def decimal_law(total: TotalLoss) -> DecimalLaw:
    """The sum, given that it is finite."""
    with localcontext(prec=DIGITS):
        atoms = [Atom(Decimal(0), Decimal(1), Decimal(1))]
        for loss, n in total.parts:
            nodes = decimal_nodes(loss, 1, _REACH)
            if nodes is None:
                raise Unsupported("the atoms of a step are not known in decimals")
            one = [Atom(place, null, null * place.exp()) for place, null in zip(*nodes, strict=True) if null > 0]
            for square in _squares(one, n):
                atoms = _times(atoms, square)
        return DecimalLaw.of(atoms)


def _squares(one: list[Atom], n: int) -> list[list[Atom]]:
    """Laws of 1, 2, 4, … copies of which n are made."""
    found = []
    for bit in range(n.bit_length()):
        one = _times(one, one) if bit else one
        if n >> bit & 1:
            found.append(one)
    return found


def _times(one: list[Atom], other: list[Atom]) -> list[Atom]:
    """All sums of two atoms, those in one place together."""
    if len(one) * len(other) > _MOST_PAIRS:
        raise Unsupported("this composition has too many atoms to be listed in decimals")
    spend(_PAIR * len(one) * len(other))
    found: dict[Decimal, Atom] = {}
    with localcontext(prec=_PLACE_DIGITS) as rounded:
        for a in one:
            for b in other:
                place = rounded.add(a.place, b.place)
                null, alternative = a.null * b.null, a.alternative * b.alternative
                if (known := found.get(place)) is not None:
                    null, alternative = null + known.null, alternative + known.alternative
                found[place] = Atom(place, null, alternative)
    return [atom for atom in found.values() if max(atom.null, atom.alternative) > _LEAST]
