"""Right tails and profiles of a sum of exponentials, by the trapezoidal rule on circles around z = 0.

Of the terms e^(z tau) in M(1/2 + z) e^(-zt) those with tau <= t contribute nothing: the line of integration closes to
the right. The others close to the left, around the pole of order N at 0 and the simple ones at +-1/2. On the circle
|z| = R the rule with J nodes converges geometrically, and the error of the simple poles is known exactly.
`docs/proofs/residues.md` proves every bound.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.residues.expansion import UNIT, Group
from edgeworth.composition.residues.stations import RANGE_NATS, Kind, Sup, guide, ladder, log_poles, stations
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.residues.expansion import Expansion
    from edgeworth.composition.residues.stations import Guide, Station
    from edgeworth.losses.law import Array

    Complex = NDArray[np.complex128]

__all__ = ["Circles", "Kind", "Reading"]

_ALIAS_NATS = 41.0  # aliases are held below e^-41 of the largest integrand on the circle
_DROP_NATS = 60.0  # terms this much smaller than the integrand are left out, and bounded; more on a longer range
_NODES = (32, 64, 128, 256, 512, 1024, 2048)
_AT_ONCE = 500  # readings of one circle
_STRIDE, _FARTHEST_NATS = 2, 3.0  # which other circles may bound the aliases
_MOST_KEPT = 3_000_000  # complex numbers in the circles that are remembered
_UNDERFLOW = 2.0**-1072  # of a term, absolute, that leaves the range of doubles
_LEAST = 1e-318  # what sums of underflowing terms may lose
_WAVE, _TERM, _RUNNING = 1.5, 0.3, 1.5  # units of work: for a node of a reading, a product at it, a sum that is kept
_CUT = 1e3  # units besides, for all readings at a cut
_FEW_ROUNDINGS = 64.0  # of the functions, products and sums that do not grow with the arguments


class Reading(NamedTuple):
    """The rule's own value at every t, and a bound on its error."""

    value: Array
    error: Array


class Circles:
    """Readings of one expansion at every t below 0, the largest tau; prepared circle by circle."""

    ALIAS_NATS = _ALIAS_NATS

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.small, self.large = expansion.groups()
        self.radii = ladder(expansion)
        self._circles: dict[int, Circle] = {}

    @cached_property
    def _guide(self) -> Guide:
        return guide(self.expansion, self.radii)

    @cached_property
    def stations(self) -> list[Station]:
        """Which circle serves which t, by t."""
        return stations(self._guide, self.radii)

    @cached_property
    def _starts(self) -> Array:
        return np.array([station.start for station in self.stations])

    def around(self, log_delta: Array) -> tuple[Array, Array]:
        """Between which t the profile probably is that small; both of losses >= 0."""
        t, _, _, log_size = self._guide
        falling = np.minimum.accumulate(log_size)
        low = np.searchsorted(-falling, -(log_delta + 4.0)) - 1
        high = np.searchsorted(-falling, -(log_delta + 0.5))
        ends, least = (t[np.maximum(low, 0)], np.append(t, 0.0)[high]), -self.expansion.largest
        return np.maximum(ends[0], least), np.maximum(ends[1], least)

    def __call__(self, kind: Kind, t: Array, side: int = 0) -> Reading:
        """The reading of the terms with tau > t; with a side, of those surely (1) or perhaps (-1) beyond t."""
        value, error = np.zeros(t.size), np.zeros(t.size)
        cut = t + side * self.expansion.place_error(t)
        (inside,) = np.nonzero(cut < 0)
        owner = np.searchsorted(self._starts, t[inside], side="right") - 1
        for number in np.unique(owner):
            mine = inside[owner == number]
            for some in np.array_split(mine, 1 + mine.size // _AT_ONCE):
                value[some], error[some] = self._circle(int(number)).read(kind, t[some], cut[some])
        return Reading(value, error)

    def _circle(self, number: int) -> Circle:
        if number not in self._circles:
            made = Circle(self, self.stations[number])
            while self._circles and sum(circle.size for circle in self._circles.values()) + made.size > _MOST_KEPT:
                self._circles.pop(next(iter(self._circles)))
            self._circles[number] = made
        return self._circles[number]


class Circle:
    """One circle: its nodes in the upper half plane, the two simple poles, and sums of terms with the largest tau."""

    def __init__(self, owner: Circles, station: Station) -> None:
        number, self.start, self.centre, tilt, reach = station
        self.expansion, self.radius = owner.expansion, float(owner.radii[number])
        self._choose(owner.radii[number % _STRIDE :: _STRIDE], tilt)
        self.angle = np.pi * (2 * np.arange(self.nodes // 2) + 1) / self.nodes
        self.z = self.radius * np.exp(1j * self.angle)
        half, self.common = _logs_of_w(self.radius, self.angle)
        self.counts = float(np.max(owner.small.m)), float(np.max(owner.large.m))
        small, large = self._pruned(owner, _DROP_NATS + max(self.radius * reach - RANGE_NATS, 0.0))
        self._columns(small, large, half)
        spend(_TERM * self._paired.size + _RUNNING * self._running.size)
        self.size = (large.tau.size + small.tau.size) * (self.nodes // 2 + 2) * 2
        self.rounding = UNIT * self._roundings(small, self.counted, half) + self.expansion.weight_error
        self.polar_rounding = UNIT * self._polar_roundings(small, large) + self.expansion.weight_error

    def _choose(self, radii: Array, tilt: float) -> None:
        """An outer and an inner circle, and the fewest nodes whose aliases by Cauchy's bounds on them are small."""
        radii = radii[np.abs(np.log(radii / self.radius)) < _FARTHEST_NATS]
        sup = Sup(self.expansion, radii, tilt)
        size = sup.log(np.array([self.centre]))[:, 0] + log_poles("delta", radii)
        here = radii == self.radius
        with np.errstate(divide="ignore", invalid="ignore"):
            need = np.maximum(size - size[here] + _ALIAS_NATS, 0.0) / np.abs(np.log(radii / self.radius))
        sides = [side for side in (radii > self.radius, radii < self.radius) if side.any()]
        chosen = [int(np.argmin(np.where(side, need, math.inf))) for side in sides]
        wanted = max(float(need[number]) for number in chosen) if len(chosen) == 2 else math.inf
        self.nodes = next((count for count in _NODES if count >= wanted), _NODES[-1])
        self.others = radii[chosen]
        self.sup = sup.rows(chosen)
        # What the rule misses of a residue at +-1/2; nothing to mend when the poles lie inside of all three circles.
        inside = self.others.min() > 0.5
        self.missed = 0.0 if inside else 1 / (1 + math.exp(min(self.nodes * math.log(2 * self.radius), 700.0)))

    def _pruned(self, owner: Circles, drop: float) -> tuple[Group, Group]:
        """Both groups without the terms that no t here asks for, or small by `drop` nats, whose sum is bounded."""
        least = self.start - 4 * float(self.expansion.place_error(np.asarray(self.start)))
        small = _taken(owner.small, owner.small.tau > least - float(owner.large.tau[0]))
        large = _taken(owner.large, owner.large.tau > least - float(np.max(owner.small.tau)))
        self.dropped, self.counted = -math.inf, large
        if owner.small.tau.size > 1:
            return small, large
        log_sup = self._largest_moduli(large)
        big = log_sup > float(np.max(log_sup)) - drop
        if not big.all():
            rest = log_sup[~big]
            self.dropped = float(np.max(rest)) + math.log(rest.size) + 1e-9
        self.counted = _taken(large, big)
        # The simple poles need their terms even when the nodes do not.
        return small, _taken(large, big | (np.abs(large.m) == self.expansion.laplace_steps))

    def _largest_moduli(self, terms: Group) -> Array:
        """The logarithm of the largest modulus of every term on the circle, at t = centre.

        With A = 1 + q^2, j = (N+m)/2 and D = R (tau - t) the exponent j/2 log(A + 2qx) + (N-j)/2 log(A - 2qx) + Dx is
        concave in x; its slope vanishes where 4 q^2 D x^2 + 2 q^2 N x = q A m + D A^2.
        """
        count, q = self.expansion.laplace_steps, 0.5 / self.radius
        a, depth = 1 + q * q, self.radius * (terms.tau - self.centre)
        target = q * a * terms.m + depth * a * a
        root = np.sqrt(np.maximum((q * q * count) ** 2 + 4 * q * q * depth * target, 0.0))
        x = np.clip(target / np.maximum(q * q * count + root, 1e-300), -1.0, 1.0)
        up, down = (1 - q) ** 2 + 2 * q * (1 + x), (1 - q) ** 2 + 2 * q * (1 - x)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(terms.m > -count, (count + terms.m) / 4 * np.log(up), 0.0)
            fall = np.where(terms.m < count, (count - terms.m) / 4 * np.log(down), 0.0)
        return np.asarray(terms.log_weight + rise + fall + depth * x)

    def _columns(self, small: Group, large: Group, half: Complex) -> None:
        """Terms of the smaller group, and running sums of the larger from its largest tau down; with moduli."""
        paired, self._scale = _scaled(_exponents(small, self.z, half, self.counts[0]))
        running, scale = _scaled(_exponents(large, self.z, half, self.counts[1]))
        self._scale = self._scale + scale
        nothing = np.zeros((1, running.shape[1]))
        self._paired, self._paired_sizes, self._offsets = paired, np.abs(paired), small.tau
        self._running = np.concatenate([nothing, np.cumsum(running, axis=0)])
        self._running_sizes = np.concatenate([nothing, np.cumsum(np.abs(running), axis=0)])
        self._falling = -large.tau

    def _roundings(self, small: Group, large: Group, half: Complex) -> float:
        """How many units of rounding the sum of a node carries, relative to the sum of the moduli of its terms."""
        count, q = self.expansion.laplace_steps, 0.5 / self.radius
        largest = [sum(float(np.max(np.abs(group[k]))) for group in (small, large)) for k in range(3)]
        sizes = largest[0] + largest[1] * float(np.max(np.abs(half))) + largest[2] * self.radius
        sizes += count / 2 * float(np.max(np.abs(self.common))) + float(np.max(np.abs(self._scale[:-2])))
        return _FEW_ROUNDINGS + small.tau.size + large.tau.size + 4 * sizes + 16 * count * min(1.0, q * q)

    def _polar_roundings(self, small: Group, large: Group) -> float:
        """The same for the terms at the simple poles, of size |log W| + N log 2 + |tau|/2."""
        largest = [sum(float(np.max(np.abs(group[k]))) for group in (small, large)) for k in (0, 2)]
        sizes = largest[0] + self.expansion.laplace_steps * math.log(2) + largest[1] / 2
        return _FEW_ROUNDINGS + small.tau.size + large.tau.size + 4 * sizes

    def _sums(self, cut: Array) -> tuple[Complex, Array]:
        """The sums of all terms with tau > cut at every node, and of their moduli: rows are cuts."""
        if self._offsets.size == 1:
            held = np.searchsorted(self._falling, self._offsets[0] - cut, side="left")
            return self._paired[0] * self._running[held], self._paired_sizes[0] * self._running_sizes[held]
        shape = cut.size, self._scale.size
        sums, sizes = np.empty(shape, dtype=complex), np.empty(shape)
        for row, least in enumerate(cut):
            held = np.searchsorted(self._falling, self._offsets - least, side="left")
            sums[row] = np.sum(self._paired * self._running[held], axis=0)
            sizes[row] = np.sum(self._paired_sizes * self._running_sizes[held], axis=0)
        return sums, sizes

    def read(self, kind: Kind, t: Array, cut: Array) -> tuple[Array, Array]:
        """The value of the rule at every t from the terms with tau > cut, and a bound on its error."""
        before, parts = self.expansion.front(t, null=kind == "alpha")
        places = self.expansion.place_error(t)
        spend(_CUT + (_WAVE + _TERM * self._offsets.size) * self._scale.size * t.size)
        sums, sizes = self._sums(cut)
        place = np.concatenate([self.z, [0.5, -0.5]])
        common = np.concatenate([self.expansion.laplace_steps / 2 * self.common, [0.0, 0.0]])
        weight = 2 / self.nodes * self.z / _poles(kind, self.z)
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(common + self._scale + before[:, None] - place * t[:, None])
            inner, residues = factor[:, :-2] * weight, (sums * factor)[:, -2:].real * _RESIDUES[kind]
            residues *= self.missed > 0
            value = np.sum((sums[:, :-2] * inner).real, axis=1) + self.missed * np.sum(residues, axis=1)
            moduli, polar = np.sum(sizes[:, :-2] * np.abs(inner), axis=1), np.sum(np.abs(residues), axis=1)
            exponents = 4 * UNIT * (self.radius * np.abs(t) + parts)
            relative = 1.1 * (self.rounding + 2 * self.radius * places + exponents)
            error = relative * moduli + self._aliases(kind, t, before, polar) + self._left_out(kind, t, before)
            error += 1.1 * (self.polar_rounding + places + exponents) * self.missed * polar
            error += self._offsets.size * self._falling.size * _UNDERFLOW * np.sum(np.abs(inner), axis=1)
        known = np.isfinite(value) & np.isfinite(error) & (relative < 0.05)
        return np.where(known, value, 0.0), np.where(known, error + _LEAST, math.inf)

    def _left_out(self, kind: Kind, t: Array, before: Array) -> Array:
        """At least the sum of the terms left out: their largest moduli, carried from the centre to t."""
        poles = log_poles(kind, np.array([self.radius]))
        return np.asarray(np.exp(self.dropped + before + self.radius * np.abs(t - self.centre) + poles))

    def _aliases(self, kind: Kind, t: Array, before: Array, residues: Array) -> Array:
        """At least what the rule adds to the coefficient that is wanted, by Cauchy's bounds on two other circles.

        On each of them the regular part is at most its sup over its poles, plus the residues over |rho - 1/2|.
        """
        if self.others.size < 2:
            return np.full(t.size, math.inf)
        rho = self.others[:, None]
        regular = np.exp(self.sup.log(t) + before + log_poles(kind, rho)) + 1.01 * residues * rho / np.abs(rho - 0.5)
        share = 1 / np.expm1(np.minimum(self.nodes * np.abs(np.log(rho / self.radius)), 700.0))
        return np.asarray(np.sum(share * regular, axis=0))


#: the residues at +1/2 and -1/2 are these multiples of the sum of the terms there
_RESIDUES: dict[Kind, Array] = {
    "delta": np.array([1.0, -1.0]),
    "power": np.array([1.0, 0.0]),
    "alpha": np.array([0.0, 1.0]),
}


def _poles(kind: Kind, z: Complex) -> Complex:
    """What the sum of exponentials is divided by."""
    if kind == "delta":
        return (z - 0.5) * (z + 0.5)
    return z - 0.5 if kind == "power" else z + 0.5


def _logs_of_w(radius: float, angle: Array) -> tuple[Complex, Complex]:
    """artanh(w) and log(1 - w^2) at w = e^(-i angle)/(2 radius), each part relative to itself.

    1 - q = (radius - 1/2)/radius is exact to rounding, and |1 -+ w|^2 = (1-q)^2 + 4q sin^2 or cos^2 of half the angle.
    """
    q, short = 0.5 / radius, (radius - 0.5) / radius
    cosine, sine = np.cos(angle), np.sin(angle)
    near, far = short**2 + 4 * q * np.sin(angle / 2) ** 2, short**2 + 4 * q * np.cos(angle / 2) ** 2
    real = 0.25 * np.sign(cosine) * np.log1p(4 * q * np.abs(cosine) / np.where(cosine > 0, near, far))
    half = real + 0.5j * np.arctan2(-2 * q * sine, short * (1 + q))
    gap = short * (1 + q)
    if q <= 0.5:
        modulus = 0.5 * np.log1p(q * q * (q * q - 2 * np.cos(2 * angle)))
    else:
        modulus = 0.5 * np.log(gap**2 + 4 * q * q * sine**2)
    return half, modulus + 1j * np.arctan2(q * q * np.sin(2 * angle), gap + 2 * q * q * sine**2)


def _taken(group: Group, which: NDArray[np.bool_]) -> Group:
    return Group(*(column[which] for column in group))


def _exponents(group: Group, z: Complex, half: Complex, count: float) -> Complex:
    """The logarithms of a group's terms at the nodes, and at z = 1/2 and -1/2, where 1 - w or 1 + w vanishes."""
    weight, m, tau = (column[:, None] for column in group)
    inner = weight + m * half + tau * z
    ends = [np.where(sign * m == count, weight + count * math.log(2) + 0.5 * sign * tau, -np.inf) for sign in (1, -1)]
    return np.concatenate([inner, *ends], axis=1)


def _scaled(exponents: Complex) -> tuple[Complex, Array]:
    """The exponentials over the largest of each column, and the logarithms of those."""
    scale = np.maximum(np.max(exponents.real, axis=0), -1e300)  # a column of zeros stays one
    return np.exp(exponents - scale), scale
