"""Groups of k records: f^(k) = 1 - (1 - f) o … o (1 - f), k times (Dong, Roth and Su, arXiv:1905.02383).

If one record moves P0 to P1 and T(P0, P1) >= f, the next P1 to P2, and so on, then T(P0, Pk) >= f^(k): the best test
of power x between the first two has type I error x between the next two. f <= g implies f^(k) <= g^(k), so ends of a
bracket map to ends. For a symmetric f it does not matter which records are added, removed or replaced; for one
direction all k have to move the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth import validation
from edgeworth.curves.approx_dp import ApproxDPTradeOff
from edgeworth.curves.gaussian import GaussianTradeOff
from edgeworth.curves.group_guide import Guide
from edgeworth.curves.identity import Identity
from edgeworth.curves.inverse import Inverse
from edgeworth.curves.laplace import LaplaceTradeOff
from edgeworth.curves.piecewise import PiecewiseLinear
from edgeworth.curves.tradeoff import TradeOff
from edgeworth.errors import InvalidArgument, TooLarge

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.profile import Profile

__all__ = ["Chain", "End", "Group", "Grouped", "group", "knows_power"]

End: TypeAlias = Literal["lower", "upper"]

_ULPS = 4e-16  # of one step of the chain: a subtraction from 1 and a product
_RARE = 1e-6  # below, f^(k) is also read off the inverse, where the chain does not come near 1
_ROOT_ULPS = 2e-15
_LARGEST_GROUP = 10_000
_MOST_VERTICES = 30_000
_HUGE = 1e300  # of a shift: how it was rounded no longer counts
_POINT, _SHARE = np.polynomial.legendre.leggauss(24)
_QUANTILES = np.array([-38.0, -25.0, -16.0, -11.0, -8.0, -6.0, -4.5, -3.0, -2.0, -1.0])


def group(curve: TradeOff, size: int, end: End = "lower", slack: float = 0.0, near: Guide | None = None) -> TradeOff:
    """f^(size); never above it for the lower end and never below it for the upper one, if f is known to `slack`.

    `slack` bounds the relative rounding of f, of 1 - f and of its profile. The profile of the lower end is never below
    that of f^(size), the profile of the upper end never above. `near` is the guide of a curve close to this one, if
    there is one already: both ends of a bracket can share it.

    >>> group(GaussianTradeOff(0.5), 4)
    GaussianTradeOff(mu=2.0)
    """
    if not validation.count(size=size) >= 1:
        raise InvalidArgument(f"size={size!r} is out of range; give an int >= 1, the records of a group")
    return curve if size == 1 else _group(curve, int(size), end, slack, near)


def knows_power(curve: TradeOff) -> bool:
    """Whether 1 - f is known relative to itself, and not by subtraction from 1."""
    while isinstance(getattr(curve, "base", None), TradeOff):
        curve = curve.base  # type: ignore[attr-defined]
    return type(curve)._power is not TradeOff._power  # noqa: SLF001 - whether it was overridden


@singledispatch
def _group(curve: TradeOff, size: int, end: End, slack: float, near: Guide | None) -> TradeOff:
    if size > _LARGEST_GROUP:
        raise TooLarge(
            f"size={size!r} is more than {_LARGEST_GROUP}, and a curve without a formula takes that many steps; "
            "give a smaller group"
        )
    return Group(curve, size, end, slack, near)


@_group.register
def _(curve: Identity, _size: int, _end: End, _slack: float, _near: Guide | None) -> TradeOff:
    return curve


@_group.register
def _(curve: GaussianTradeOff, size: int, _end: End, _slack: float, _near: Guide | None) -> TradeOff:
    """Shifts of one log-concave law: the same thresholds are best for every shift, and the shifts add up."""
    return GaussianTradeOff(size * curve.mu)


@_group.register
def _(curve: LaplaceTradeOff, size: int, _end: End, _slack: float, _near: Guide | None) -> TradeOff:
    """The same; the shift keeps the digits that it has beyond a double."""
    exact = size * (Fraction(curve.theta) if curve.exact is None else curve.exact)
    if exact > _HUGE:
        return LaplaceTradeOff(size * curve.theta)
    return LaplaceTradeOff(float(exact), None if exact == float(exact) else exact)


@_group.register
def _(curve: ApproxDPTradeOff, size: int, end: End, slack: float, near: Guide | None) -> TradeOff:
    """Through its vertices (0, 1 - delta), (a*, a*), (1 - delta, 0)."""
    a, b = curve.fixed_point, 1 - curve.delta
    broken = PiecewiseLinear.hull([a, b], [a, 0.0], power=[1 - a, 1.0], acceptance=[1 - a, curve.delta], start=b)
    return _group(broken, size, end, slack, near)


@_group.register
def _(curve: PiecewiseLinear, size: int, end: End, slack: float, near: Guide | None) -> TradeOff:
    """Piecewise linear again: a vertex wherever one of the k steps meets a vertex."""
    if curve.alpha.size * size > _MOST_VERTICES:
        return Group(curve, size, end, slack, near)
    f = _nudged(curve, -slack if end == "lower" else slack)
    at, complement = f.alpha, f.acceptance
    for _ in range(size - 1):
        at, complement = _preimages(f, at, complement)
        at, complement = np.concatenate([f.alpha, at]), np.concatenate([f.acceptance, complement])
    order = np.lexsort((-complement, at))
    at, complement = at[order], complement[order]
    power, beta = at, complement
    for _ in range(size):
        power, beta = _step(f, power, beta)
    start = np.array([0.0]), np.array([1.0])
    for _ in range(size):
        start = _step(f, *start)
    return PiecewiseLinear.hull(at, beta, power=power, acceptance=complement, start=float(start[1][0]))


def _nudged(f: PiecewiseLinear, share: float) -> PiecewiseLinear:
    """The curve with its vertices moved by a relative share: down and left for a negative one, up and right else."""
    if share == 0:
        return f
    alpha, beta = np.minimum(f.alpha * (1 + share), 1.0), f.beta * (1 + share)
    power, acceptance = f.vertex_power * (1 - share), f.acceptance * (1 - share)
    start = float(np.clip(1 - f.vertex_power[0] * (1 - share), 0.0, 1.0))
    return PiecewiseLinear.hull(alpha, beta, power=power, acceptance=np.minimum(acceptance, 1.0), start=start)


def _preimages(f: PiecewiseLinear, power: Array, beta: Array) -> tuple[Array, Array]:
    """Places (alpha, 1 - alpha) at which f has the given power = 1 - beta, by whichever of the two is small."""
    small = power < 0.5
    alpha = np.where(small, np.interp(power, f.vertex_power, f.alpha), np.interp(-beta, -f.beta, f.alpha))
    rest = np.where(small, np.interp(power, f.vertex_power, f.acceptance), np.interp(-beta, -f.beta, f.acceptance))
    return alpha, rest


def _step(f: PiecewiseLinear, alpha: Array, acceptance: Array) -> tuple[Array, Array]:
    """(1 - f, f) at alpha, given with its complement, which tells places near 1 apart."""
    by_alpha = np.searchsorted(f.alpha, alpha, side="right")
    by_acceptance = np.searchsorted(-f.acceptance, -acceptance, side="right")
    cell = np.clip(np.where(alpha < 0.5, by_alpha, by_acceptance) - 1, 0, f.alpha.size - 2)
    near_zero = f.alpha[cell] < 0.5
    low = np.where(near_zero, f.alpha[cell], -f.acceptance[cell])
    high = np.where(near_zero, f.alpha[cell + 1], -f.acceptance[cell + 1])
    place = np.clip(np.where(near_zero, alpha, -acceptance), low, high)
    after = (place - low) / (high - low)
    before = (high - place) / (high - low)
    return (
        before * f.vertex_power[cell] + after * f.vertex_power[cell + 1],
        before * f.beta[cell] + after * f.beta[cell + 1],
    )


@dataclass(frozen=True, eq=False)
class Chain(TradeOff):
    """f^(k) step by step, rounded outward: accurate where it is not small."""

    base: TradeOff
    size: int
    end: End = "lower"
    slack: float = 0.0

    @cached_property
    def _knows_power(self) -> bool:
        return knows_power(self.base)

    @property
    def _outward(self) -> float:
        """The relative change of f that makes up for its rounding and for one step of the chain."""
        return (self.slack + _ULPS) * (-1 if self.end == "lower" else 1)

    def _steps(self, alpha: Array, count: int) -> Array:
        """The power of `count` steps."""
        x = alpha
        for _ in range(count):
            if self._knows_power:
                x = np.clip(self.base._bounded_power(x) * (1 - self._outward), x, 1.0)  # noqa: SLF001
            else:
                missed = self.base._bounded_evaluate(x) * (1 + self._outward)  # noqa: SLF001
                x = np.clip(1 - missed - np.sign(self._outward) * _ULPS, x, 1.0)
        return x

    def _evaluate(self, alpha: Array) -> Array:
        x = self._steps(alpha, self.size - 1)
        return np.asarray(self.base._bounded_evaluate(x) * (1 + self._outward))  # noqa: SLF001

    def _power(self, alpha: Array) -> Array:
        return self._steps(alpha, self.size)

    def profile(self) -> Profile:
        """That of the group."""
        return Group(self.base, self.size, self.end, self.slack).profile()


@dataclass(frozen=True, eq=False)
class Grouped:
    """k records of a curve: what its trade-off function and its profile both start from."""

    base: TradeOff
    size: int
    end: End = "lower"
    slack: float = 0.0
    near: Guide | None = None
    """The guide of a curve near the base, where one has been made; None: that of the base."""

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self.base, self.size, self.end, self.slack)


@dataclass(frozen=True, eq=False)
class Group(Grouped, TradeOff):
    """f^(k) for a curve without a formula of it; an end that holds whatever the rounding.

    Small values of a symmetric f are also read off the inverse, which is f^(k) again: both are bounds, and the better
    one is kept.

    >>> f = Group(GaussianTradeOff(0.5).subsample(0.5), 3)
    >>> f(0.01) <= f.base(f.base.power(f.base.power(0.01)))
    True
    """

    @cached_property
    def _mirrored(self) -> Inverse:
        return Inverse(self._chain)

    def _evaluate(self, alpha: Array) -> Array:
        value = self._chain._bounded_evaluate(alpha)  # noqa: SLF001 - the same curve
        rare = (value < _RARE) & (alpha < 1) & (alpha > 0)
        if self.is_symmetric and rare.any():
            root = self._mirrored._evaluate(alpha[rare])  # noqa: SLF001
            if self.end == "lower":
                value[rare] = np.maximum(value[rare], root * (1 - _ROOT_ULPS))
            else:
                value[rare] = np.minimum(value[rare], root * (1 + _ROOT_ULPS))
        return value

    def _power(self, alpha: Array) -> Array:
        return self._chain._power(alpha)  # noqa: SLF001

    @property
    def is_symmetric(self) -> bool:
        """As the base."""
        return self.base.is_symmetric

    @property
    def gamma(self) -> float:
        """The area under f symmetrised, 2 (integral up to a*) - a*^2, by Gauss–Legendre panels in Phi^-1(alpha)."""
        if not self.is_symmetric:
            return self.symmetrise().gamma
        top = self.fixed_point
        edges = np.append(_QUANTILES[ndtri(top) > _QUANTILES], ndtri(top))
        half = np.diff(edges)[:, None] / 2
        z = edges[:-1, None] + half * (_POINT + 1)
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return float(2 * np.sum(half * _SHARE * density * self(ndtr(z))) - top * top)

    def inverse(self) -> TradeOff:
        """(f^-1)^(k)."""
        return self if self.is_symmetric else Group(self.base.inverse(), self.size, self.end, self.slack)

    def profile(self) -> Profile:
        """The profile of the group, from supporting lines of the base."""
        from edgeworth.curves.group_profile import GroupProfile  # noqa: PLC0415 - it reads the chain

        return GroupProfile(self.base, self.size, self.end, self.slack, self.near)
