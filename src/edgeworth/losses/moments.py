"""Cumulants from quadrature nodes, without the cancellation that raw moments bring.

Two identities carry the small numbers. E_P[e^L - 1] = 0, so with e2(z) = e^z - 1 - z >= 0

    E_P[L] = -E_P[e2(L)],        E_Q[L] = E_P[e^L e2(-L)],
    E_P[e^(cL)] - 1 = E_P[e2(cL) - c e2(L)],

all sums of small terms of one sign where the left sides are differences of large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    DecimalNodes = tuple[list[Decimal], list[Decimal]]

__all__ = [
    "Cumulants",
    "cumulants_of_nodes",
    "cumulants_to_all_digits",
    "excess",
    "from_central_moments",
    "tilted_cumulants_of_nodes",
]

_LARGEST_BLOCK = 1_000_000  # numbers in one work array: 8 MB
_ROUNDING = 4e-16  # a sum of some hundred terms in double precision, measured against mpmath
_MOST_DIGITS = 240  # a cumulant that still cancels here is zero for every use
_EXCESS = np.array([1 / factorial(k) for k in range(2, 18)]).reshape(4, 4)
_LARGEST_EXPONENT = 709.0  # beyond, e^z overflows
_ACCURACY = 1e-13  # cumulants that double precision does not give to this are done again in decimals


@dataclass(frozen=True, slots=True)
class Cumulants:
    """kappa_1 … kappa_r of L: index 0 holds kappa_1."""

    null: Array
    alternative: Array
    condition: float = 0.0
    """The largest relative error that rounding may have left, as estimated from the cancellation."""


def excess(z: Array) -> Array:
    """e^z - 1 - z, accurate relative to itself."""
    near = np.abs(z) < 0.5
    small = np.where(near, z, 0.0).ravel()
    powers = np.empty((4, small.size))
    powers[0], powers[1], powers[2] = 1.0, small, small * small
    np.multiply(powers[2], small, out=powers[3])
    # Of 1/2! + z/3! + …, in fours. A BLAS library takes longer to begin than such a product does.
    first, second, third, fourth = np.einsum("jk,kz->jz", _EXCESS, powers)
    fourfold = powers[2] * powers[2]
    series = powers[2] * (first + fourfold * (second + fourfold * (third + fourfold * fourth)))
    return np.where(near, series.reshape(z.shape), np.expm1(np.minimum(z, _LARGEST_EXPONENT)) - z)


def from_central_moments(mean: float | Array, central: Sequence[float | Array]) -> tuple[Array, Array]:
    """Cumulants from the mean and the central moments m_2, m_3, …, and the sum of the terms' sizes.

    kappa_r = m_r - sum_{j=2}^{r-2} C(r-1, j-1) kappa_j m_{r-j}.
    """
    moment: list[float | Array] = [1.0, 0.0, *central]
    kappa: list[float | Array] = [0.0, mean]
    size: list[float | Array] = [0.0, np.abs(mean)]
    for r in range(2, len(moment)):
        terms = [comb(r - 1, j - 1) * kappa[j] * moment[r - j] for j in range(2, r - 1)]
        kappa.append(moment[r] - sum(terms))
        size.append(np.abs(moment[r]) + sum(np.abs(term) for term in terms))
    return np.array(kappa[1:]), np.array(size[1:])


def _weighted_cumulants(loss: Array, weight: Array, mean: float, order: int) -> tuple[Array, float]:
    deviation = loss - mean
    central = [float(np.sum(weight * deviation**r)) for r in range(2, order + 1)]
    absolute = [float(np.sum(weight * np.abs(deviation) ** r)) for r in range(2, order + 1)]
    kappa, size = from_central_moments(mean, central)
    size[1:] += absolute
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(size[1:] > 0, _ROUNDING * size[1:] / np.abs(kappa[1:]), 0.0)
    return kappa, float(np.max(relative, initial=0.0))


def cumulants_of_nodes(loss: Array, log_weight: Array, order: int) -> Cumulants:
    """Cumulants under P and Q of the law that the nodes carry."""
    weight, growth = np.exp(log_weight), np.exp(loss + log_weight)
    null_mean = -float(np.sum(_weighted_excess(loss, weight, growth)))
    alternative_mean = float(np.sum(_weighted_excess(-loss, growth, weight)))
    null, null_condition = _weighted_cumulants(loss, weight, null_mean, order)
    alternative, condition = _weighted_cumulants(loss, growth, alternative_mean, order)
    return Cumulants(null, alternative, max(null_condition, condition))


def _weighted_excess(z: Array, weight: Array, growth: Array) -> Array:
    """Weight * (e^z - 1 - z), where growth = weight * e^z may be finite though e^z is not."""
    return np.where(z < 1, weight * excess(np.minimum(z, 1.0)), growth - weight * (1 + z))


def tilted_cumulants_of_nodes(loss: Array, log_weight: Array, tilt: Array, order: int) -> Array:
    """Rows K(c), kappa_1(c), …, kappa_order(c) of the law tilted by e^(cL - K(c))."""
    block = max(1, _LARGEST_BLOCK // loss.size)
    blocks = [tilt[start : start + block] for start in range(0, tilt.size, block)]
    return np.concatenate([_tilted_block(loss, log_weight, part, order) for part in blocks])


def _tilted_block(loss: Array, log_weight: Array, tilt: Array, order: int) -> Array:
    c = tilt.reshape(-1, 1)
    exponent = c * loss + log_weight
    peak = np.max(exponent, axis=1, keepdims=True)
    tilted = np.exp(exponent - peak)
    total = np.sum(tilted, axis=1, keepdims=True)
    tilted /= total
    rows = np.empty((tilt.size, order + 1))
    rows[:, 0] = (peak + np.log(total)).ravel()
    # Where K is small, log of a sum near 1 would lose it: the gain is summed without the 1.
    mild = np.abs(rows[:, 0]) < 1.0
    if mild.any():
        weight = np.exp(log_weight)
        raised = _weighted_excess(c[mild] * loss, weight, np.exp(np.minimum(exponent[mild], 700.0)))
        plain = c[mild] * _weighted_excess(loss, weight, np.exp(loss + log_weight))
        rows[mild, 0] = np.log1p(np.sum(raised - plain, axis=1))
    mean = np.sum(tilted * loss, axis=1)
    deviation = loss - mean[:, None]
    power = tilted * deviation
    central = []
    for _ in range(2, order + 1):
        power = power * deviation
        central.append(np.sum(power, axis=1))
    rows[:, 1:] = from_central_moments(mean, central)[0].T
    return rows


def cumulants_to_all_digits(
    double: Cumulants, decimal_nodes: Callable[[int], DecimalNodes | None], order: int
) -> Cumulants:
    """The given cumulants if rounding left them accurate, otherwise the same sums in decimal arithmetic.

    Nearly Gaussian losses have kappa_r / kappa_2^(r/2) of order mu^(r-2): at mu = 0.01 the tenth cumulant
    is 16 digits below the tenth moment. `decimal_nodes(digits)` gives loss and weight under P, or None if the law has
    no such nodes: then the given ones have to do.
    """
    if double.condition <= _ACCURACY:
        return double
    digits = 30
    while True:
        digits *= 2
        with localcontext() as context:
            context.prec = digits
            found = decimal_nodes(digits)
            if found is None:
                return double
            loss, weight = found
            growth = [w * x.exp() for x, w in zip(loss, weight, strict=True)]
            null, null_lost = _decimal_cumulants(loss, weight, order)
            alternative, lost = _decimal_cumulants(loss, growth, order)
        if max(null_lost, lost) < digits - 20 or digits >= _MOST_DIGITS:
            return Cumulants(null, alternative, 10.0 ** (max(null_lost, lost) - digits + 4))


def _decimal_cumulants(loss: list[Decimal], weight: list[Decimal], order: int) -> tuple[Array, int]:
    """Cumulants, and the number of digits lost to cancellation in the worst of them."""
    total = sum(weight, Decimal(0))
    mean = sum((w * x for x, w in zip(loss, weight, strict=True)), Decimal(0)) / total
    spread = sum((w * abs(x) for x, w in zip(loss, weight, strict=True)), Decimal(0)) / total
    lost = _digits_between(spread, mean)
    moment, size = [Decimal(1), Decimal(0)], [Decimal(1), Decimal(0)]
    power = [w / total for w in weight]
    deviation = [x - mean for x in loss]
    power = [w * d for w, d in zip(power, deviation, strict=True)]
    for _ in range(2, order + 1):
        power = [w * d for w, d in zip(power, deviation, strict=True)]
        moment.append(sum(power, Decimal(0)))
        size.append(sum((abs(w) for w in power), Decimal(0)))
    kappa = [Decimal(0), Decimal(0)]
    for r in range(2, order + 1):
        terms = [comb(r - 1, j - 1) * kappa[j] * moment[r - j] for j in range(2, r - 1)]
        kappa.append(moment[r] - sum(terms, Decimal(0)))
        lost = max(lost, _digits_between(size[r] + sum((abs(t) for t in terms), Decimal(0)), kappa[r]))
    return np.array([float(mean), *map(float, kappa[2:])]), lost


def _digits_between(large: Decimal, small: Decimal) -> int:
    if not large:
        return 0
    return large.adjusted() - small.adjusted() if small else 10_000
