"""The law of a sum of few-valued losses, atom by atom: every reading is a sum of positive terms.

The steps are dealt into two groups. The atoms of each are listed, those of the inner group in order, with the sums of
their masses from either end; a reading of both is a sum over the outer atoms of a reading of the inner group,

    E[(X - u)_+] = sum over a of Q[A = a] C(u e^-a),     C(w) = E[(e^B - w)_+],

and C is linear between the atoms of B. So 10^5 outer and 5 * 10^5 inner atoms stand for 5 * 10^10 sums.
docs/proofs/lattice.md, section 9, has the error.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from edgeworth.composition.one_thread import convolution
from edgeworth.composition.work import spend
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import PrivacyLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Enumeration", "enumerable"]

_UNIT = 2.0**-53
_MOST_OUTER, _MOST_INNER = 2**17, 2**19
_MOST_LATTICE = 2**13  # points of a sum that is convolved directly
_PLACE = 0.35  # units of work for an outer atom
_FARTHEST, _DEEPEST = 680.0, 680.0  # nats: ratios, and products of two masses, that doubles hold
# Nats: of a law with more than two values, what is less likely than e^-cut is left out; the first cut at which the
# atoms can be listed.
_CUTS = (280.0, 240.0, 200.0, 160.0, 115.0)


def enumerable(total: TotalLoss, beside: int = 1) -> bool:
    """Whether all atoms can be listed, and doubles hold e^loss; `beside`: the values of another law beside them.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> enumerable(TotalLoss.of(ew.RandomizedResponse(0.3) ** 100 * ew.RandomizedResponse(0.7) ** 50))
    True
    >>> enumerable(TotalLoss.of(ew.Gaussian(1.0)))
    False
    """
    return _cut(total, beside) is not None


def _cut(total: TotalLoss, beside: int) -> float | None:
    """The first of the cuts at which all atoms can be listed; None where there is none."""
    if not total.parts or not all(loss.is_atomic for loss, _ in total.parts):
        return None
    return next((cut for cut in _CUTS if _fits(_split(total, cut), cut, beside)), None)


def _fits(parts: list[tuple[PrivacyLoss, int]], cut: float, beside: int) -> bool:
    farthest = sum(n * float(np.max(np.abs(_atoms(loss, cut)[0]))) for loss, n in parts)
    return farthest < _FARTHEST and _groups([*(_count(loss, n, cut) for loss, n in parts), beside]) is not None


def _split(total: TotalLoss, cut: float) -> list[tuple[PrivacyLoss, int]]:
    """The parts, those whose atoms multiply with the copies cut in two so that either group may have a half."""
    parts: list[tuple[PrivacyLoss, int]] = []
    for loss, n in total.parts:
        place, _, lost = _atoms(loss, cut)
        multiplies = n > 1 and loss.lattice is None and place.size > 2
        whole = not multiplies or (lost == 0 and _multiset_count(n, place.size) <= _MOST_OUTER)
        parts.extend([(loss, n)] if whole else [(loss, n // 2), (loss, n - n // 2)])
    return parts


def _atoms(loss: PrivacyLoss, cut: float) -> tuple[Array, Array, float]:
    """Places, logarithms of P-masses and, of more than two, the mass that is left out."""
    place, log_mass = loss.nodes().held()
    kept = np.maximum(log_mass, log_mass + place) > -cut
    if place.size <= 2 or (kept.all() and math.isfinite(loss.support[0]) and math.isfinite(loss.support[1])):
        return place, log_mass, 0.0
    return place[kept], log_mass[kept], (place.size + 1) * math.exp(-cut)


def _count(loss: PrivacyLoss, n: int, cut: float) -> float:
    """How many atoms n copies have; infinite where they are too many to be listed."""
    place, _, lost = _atoms(loss, cut)
    values = place.size
    if values <= 2:
        return 1 + n * (values - 1)
    if loss.lattice is not None:
        points = n * (values - 1) + 1
        return points if points <= _MOST_LATTICE else math.inf
    if lost == 0:
        runs = _multiset_count(n, values)
        return runs if runs <= _MOST_OUTER else math.inf
    return float(values) ** n if n * math.log(values) < math.log(2.0 * _MOST_INNER) else math.inf


def _multiset_count(n: int, values: int) -> int:
    """How many runs of so many copies there are, whichever of them has which value."""
    return math.comb(n + values - 1, n)


def _groups(counts: list[float]) -> tuple[list[int], list[int]] | None:
    """The numbers of the parts of the outer and the inner group; None where one of them is too long."""
    outer: list[int] = []
    inner: list[int] = []
    sizes = [1.0, 1.0]
    for part in sorted(range(len(counts)), key=lambda part: -counts[part]):
        fits = sizes[1] * counts[part] <= _MOST_INNER and (sizes[1] <= 4 * sizes[0] or not outer)
        side = 1 if fits or sizes[0] * counts[part] > _MOST_OUTER else 0
        sizes[side] *= counts[part]
        (outer, inner)[side].append(part)
    return (outer, inner) if sizes[0] <= _MOST_OUTER and sizes[1] <= _MOST_INNER else None


def _power(loss: PrivacyLoss, n: int, cut: float) -> PairedValues:
    """The atoms of n copies."""
    place, log_mass, lost = _atoms(loss, cut)
    slack = 16 * _UNIT * n * float(np.max(np.abs(place)))
    error = n * (8 + 4 * float(np.max(np.abs(log_mass)))) * _UNIT
    if place.size == 1:
        return PairedValues(n * place, n * log_mass, slack=slack, error=error)
    if place.size == 2:
        k = np.arange(n + 1)
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        error += 8 * _UNIT * n * math.log(n + 2)
        sums, log_masses = (n - k) * place[0] + k * place[1], ways + (n - k) * log_mass[0] + k * log_mass[1]
        return PairedValues(sums, log_masses, slack=slack, error=error)
    if loss.lattice is not None:
        return _convolved(loss, n, PairedValues(place, log_mass, slack=slack, error=error, lost=n * lost))
    if lost == 0:
        return _multisets(place, log_mass, n)
    one = PairedValues(place, log_mass, slack=slack / n, error=error / n, lost=lost)
    made = one
    for _ in range(n - 1):
        made = made.times(one)
    return made


def _multisets(place: Array, log_mass: Array, n: int) -> PairedValues:
    """The copies by how often every value comes, whichever of them has it: n!/(m_1! m_2! …) runs each.

    >>> np.exp(_multisets(np.array([0.0, 0.1, 0.3]), np.log([0.5, 0.3, 0.2]), 2).log_mass).round(2).tolist()
    [0.25, 0.3, 0.09, 0.2, 0.12, 0.04]
    """
    left, sums, log_masses = np.array([float(n)]), np.zeros(1), np.full(1, math.lgamma(n + 1))
    for x, log_one in zip(place[:-1].tolist(), log_mass[:-1].tolist(), strict=True):
        ways = left.astype(np.intp) + 1
        some = np.repeat(np.arange(left.size), ways)
        times = np.arange(some.size) - np.repeat(np.cumsum(ways) - ways, ways)
        left, sums = left[some] - times, sums[some] + times * x
        log_masses = log_masses[some] + times * log_one - gammaln(times + 1)
    sums, log_masses = sums + left * place[-1], log_masses + left * log_mass[-1] - gammaln(left + 1)
    order, terms = np.argsort(sums, kind="stable"), 2 * place.size + 16
    slack = terms * _UNIT * n * float(np.max(np.abs(place)))
    error = terms * _UNIT * n * (1 + 2 * math.log(n + 2) + float(np.max(np.abs(log_mass))))
    return PairedValues(sums[order], log_masses[order], slack=slack, error=error)


def _convolved(loss: PrivacyLoss, n: int, one: PairedValues) -> PairedValues:
    """The copies of a lattice, directly: all terms are positive, so every mass keeps its digits."""
    lattice = loss.lattice
    assert lattice is not None
    number = np.rint((one.place - lattice.offset) / lattice.spacing).astype(np.int64)
    mass = np.zeros(int(number[-1] - number[0]) + 1)
    mass[number - number[0]] = np.exp(one.log_mass)
    made = mass
    for _ in range(n - 1):
        made = convolution(made, mass)
    (held,) = np.nonzero(made)
    place = n * lattice.offset + (n * int(number[0]) + held) * lattice.spacing
    error = one.error + n * (mass.size + 4) * _UNIT
    lost = one.lost + n * made.size * 1e-300
    return PairedValues(np.asarray(place), np.log(made[held]), slack=one.slack, error=error, lost=lost)


class Enumeration:
    """Readings of the sum forward: of E[(X-u)_+], E[(u-X)_+], E[min(X, u)], P[T > t] and P[T <= t]."""

    def __init__(self, outer: PairedValues, inner: PairedValues) -> None:
        self._outer, self._inner = outer, inner
        self._stretch, self._slack = max(outer.stretch, inner.stretch), outer.slack + inner.slack
        if self._stretch == 0:
            self._slack += 8 * _UNIT * max(abs(self.least), abs(self.greatest))
        else:  # the roundings of a sum are shares of it, too
            self._stretch += 8 * _UNIT
            self._slack += 4 * self._stretch * _shorter_side(outer, inner)
        count = outer.place.size + 3 * inner.place.size + 64
        deepest = float(np.max(np.abs(outer.log_mass)) + np.max(np.abs(inner.log_mass)))
        self.error = outer.error + inner.error + _UNIT * (count + 8 * deepest)
        self.lost = outer.lost + inner.lost

    def slack(self, t: float) -> float:
        """How far a loss may be off that is near t."""
        return self._slack + self._stretch * abs(t)

    @classmethod
    def of(cls, total: TotalLoss, beside: PairedValues | None = None) -> Enumeration:
        """That of a total loss which is enumerable, alone or with another law beside it."""
        more = [] if beside is None else [beside]
        cut = _cut(total, sum(law.place.size for law in more) or 1)
        if cut is None:
            raise Unsupported("this composition has too many atoms to be listed")
        steps = _split(total, cut)
        groups = _groups([*(_count(loss, n, cut) for loss, n in steps), *(law.place.size for law in more)])
        assert groups is not None
        listed = [*(_power(loss, n, cut) for loss, n in steps), *more]
        laws = [PairedValues(np.zeros(1), np.zeros(1))] * 2
        for side, parts in enumerate(groups):
            for part in parts:
                laws[side] = laws[side].times(listed[part])
        return cls(*_without_the_deepest(*laws))

    @classmethod
    def alone(cls, law: PairedValues) -> Enumeration:
        """That of one law."""
        return cls(*_without_the_deepest(PairedValues(np.zeros(1), np.zeros(1)), law))

    @classmethod
    def of_pairs(cls, outer: PairedValues, inner: PairedValues) -> Enumeration:
        """That of all sums of one value of each of two laws."""
        if sum(float(np.max(np.abs(law.place))) for law in (outer, inner)) > _FARTHEST:
            raise Unsupported("these atoms have losses that doubles do not hold")
        return cls(*_without_the_deepest(outer, inner))

    @property
    def corners(self) -> tuple[Array, Array]:
        """Of one law alone: its atoms, rising, and E[(X - u)_+] at each of them, between which it is straight in u."""
        return self._inner.place, self._integrals[0]

    @cached_property
    def mirrored(self) -> Enumeration:
        """The other direction."""
        made = Enumeration(self._outer.mirrored(), self._inner.mirrored())
        made.__dict__["mirrored"] = self
        return made

    @property
    def least(self) -> float:
        """The least loss."""
        return float(self._outer.place[0] + self._inner.place[0])

    @property
    def greatest(self) -> float:
        """The greatest loss."""
        return float(self._outer.place[-1] + self._inner.place[-1])

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        """Those of the outer atoms, under P and Q."""
        return np.exp(self._outer.log_mass), np.exp(self._outer.log_mass + self._outer.place)

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Of the inner atoms: P from k on, P before k, Q before k."""
        mass = np.exp(self._inner.log_mass)
        power = np.exp(self._inner.log_mass + self._inner.place)
        return _from(mass), _before(mass), _before(power)

    @cached_property
    def _integrals(self) -> tuple[Array, Array]:
        """E[(e^B - w)_+] and E[(w - e^B)_+] at every inner atom w."""
        ratio = np.exp(self._inner.place)
        gap = ratio[1:] * -np.expm1(-np.diff(self._inner.place))
        above, below, _ = self._sums
        return np.append(_from(gap * above[1:-1]), 0.0), np.concatenate([[0.0], _before(gap * below[1:-1])])

    def _places(self, t: float) -> tuple[NDArray[np.intp], Array]:
        """For every outer atom a, the number of the first inner atom beyond t - a, and t - a."""
        y = t - self._outer.place
        spend(_PLACE * y.size)
        return np.searchsorted(self._inner.place, y, side="right"), y

    def delta(self, t: float) -> float:
        """E[(X - u)_+]."""
        k, y = self._places(t)
        b = np.minimum(k, self._inner.place.size - 1)
        next_place = self._inner.place[b]
        value = (
            self._integrals[0][k] + np.exp(next_place) * -np.expm1(np.minimum(y - next_place, 0.0)) * self._sums[0][k]
        )
        return float(np.sum(self._masses[1] * value))

    def shortfall(self, t: float) -> float:
        """E[(u - X)_+]/u."""
        k, y = self._places(t)
        last = np.maximum(k - 1, 0)
        d = np.minimum(self._inner.place[last] - y, 0.0)
        near = np.where(k > 0, y, 0.0)  # others are left out: e^-y may be no double
        value = self._integrals[1][k] * np.exp(-near) + -np.expm1(d) * self._sums[1][k]
        return float(np.sum(self._masses[0] * np.where(k > 0, value, 0.0)))

    def overlap(self, t: float) -> float:
        """E[min(X, u)]."""
        k, _ = self._places(t)
        return float(
            np.sum(self._masses[1] * self._sums[2][k]) + math.exp(t) * np.sum(self._masses[0] * self._sums[0][k])
        )

    def ends(self, kind: Kind, t: float) -> tuple[float, float]:
        """Ends of E[(X - u)_+], E[(1 - X/u)_+] or E[min(X, u)] at u = e^t.

        Places are certain up to the slack s, so e^-s delta'(t + s) <= delta(t) <= e^s delta'(t - s).
        """
        s = self.slack(t)
        e = self.error + 4 * s
        if kind == "delta":
            return self.delta(t + s) * (1 - e), min(self.delta(t - s) * (1 + e) + self.lost, 1.0)
        if kind == "reverse":
            return self.shortfall(t - s) * (1 - e), self.shortfall(t + s) * (1 + e) + self.lost
        return self.overlap(t - s) * (1 - e), self.overlap(t + s) * (1 + e) + self.lost * (1 + math.exp(t))

    def above(self, t: float) -> float:
        """P[T > t]."""
        k, _ = self._places(t)
        return float(np.sum(self._masses[0] * self._sums[0][k]))

    def below(self, t: float) -> float:
        """P[T <= t]."""
        k, _ = self._places(t)
        return float(np.sum(self._masses[0] * self._sums[1][k]))


def _without_the_deepest(outer: PairedValues, inner: PairedValues) -> tuple[PairedValues, PairedValues]:
    """Both lists without the atoms whose masses, under P or Q, could leave the range of doubles in a product."""
    depths = [-np.minimum(law.log_mass, law.log_mass + law.place) for law in (outer, inner)]
    deepest = [float(np.max(depth)) for depth in depths]
    first = min(deepest[0], max(_DEEPEST / 2, _DEEPEST - deepest[1]))
    return _without(outer, depths[0] > first), _without(inner, depths[1] > _DEEPEST + 1 - first)


def _without(law: PairedValues, dropped: NDArray[np.bool_]) -> PairedValues:
    """Without some atoms, the larger of whose two masses are added to what is lost."""
    if not dropped.any():
        return law
    if dropped.all():
        raise Unsupported("these atoms have masses that no doubles hold")
    masses = np.exp(np.maximum(law.log_mass, law.log_mass + law.place)[dropped])
    lost = law.lost + 1.001 * float(np.sum(masses))
    certain = {"slack": law.slack, "stretch": law.stretch, "error": law.error}
    return PairedValues(law.place[~dropped], law.log_mass[~dropped], lost=lost, **certain)


def _shorter_side(*laws: PairedValues) -> float:
    """How far the losses of some laws reach to the side where they reach less far: two of different signs cancel."""
    sides = (max(float(np.max(sign * law.place)) for law in laws) for sign in (1, -1))
    return max(min(sides), 0.0)


def _from(values: Array) -> Array:
    """Sums from k on, with a last 0."""
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


def _before(values: Array) -> Array:
    """Sums of those before k, with a first 0."""
    return np.concatenate([[0.0], np.cumsum(values)])
