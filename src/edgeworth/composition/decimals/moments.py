"""K(c) and K'(c) of a step with atoms in decimals: of 10^8 steps their ulps count 10^8 times."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.losses import DiscreteGaussianLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeworth.losses import PrivacyLoss
    from edgeworth.losses.moments import DecimalNodes

__all__ = ["DIGITS", "DecimalMoments", "decimal_moments", "decimal_nodes"]

DIGITS = 80
_REACH = 15.2  # sigmas beyond which e^(-x^2/2) is below 10^-50
_NOTHING = Decimal(10) ** -35  # of the tilted mass: what the last atoms of an endless row must be less than
_MOST_ATOMS = 4000


class DecimalMoments(NamedTuple):
    """Log E_P[e^(cL)], and the mean of L under the law tilted by c."""

    log_moment: Decimal
    mean: Decimal


@lru_cache(maxsize=256)
def decimal_moments(loss: PrivacyLoss, c: float, mirrored: bool) -> DecimalMoments | None:
    """Of one step, or of its mirror image -L under Q; None where it has too many atoms, or its row ends too soon."""
    with localcontext(prec=DIGITS):
        tilt = 1 - Decimal(c) if mirrored else Decimal(c)
        atoms = decimal_nodes(loss, max(math.ceil(abs(tilt)), 1), _REACH)
        if atoms is None:
            return None
        mass = [weight * (tilt * place).exp() for place, weight in zip(*atoms, strict=True)]
        total = decimal_sum(mass)
        if math.isinf(loss.support[1]) and not max(mass[0], mass[-1]) < _NOTHING * total:
            return None
        mean = decimal_sum(m * place for m, place in zip(mass, atoms[0], strict=True)) / total
        return DecimalMoments(total.ln(), -mean if mirrored else mean)


@lru_cache(maxsize=32)
def decimal_nodes(loss: PrivacyLoss, steepest: int, reach: float) -> DecimalNodes | None:
    """Losses and weights under P, in order; of an endless row those that tilts up to that one move to so many sigmas.

    None where they are too many.
    """
    if isinstance(loss, SampledLoss | ReplacedLoss):
        base, p = decimal_nodes(loss.base, steepest, reach), Decimal(loss.rate)
        if base is None or loss.base.alternative_only > 0 or loss.base.null_only > 0:
            return None
        with localcontext(prec=DIGITS):
            sample = [(1 + p * (place.exp() - 1)).ln() for place in base[0]], base[1]
            return sample if isinstance(loss, SampledLoss) else _both_sides(*sample)
    if isinstance(loss, DiscreteGaussianLoss):
        return _discrete_gaussian(loss.sigma, loss.sensitivity, math.ceil(reach * loss.sigma) + 2, steepest)
    nodes = loss.decimal_nodes(DIGITS) if loss.is_atomic else None
    return None if nodes is None or len(nodes[0]) > _MOST_ATOMS else nodes


def _both_sides(place: list[Decimal], weight: list[Decimal]) -> DecimalNodes:
    """What a sample has right of 0, its mirror image, and the rest at 0: that of a record replaced."""
    right = [(x, w) for x, w in zip(place, weight, strict=True) if x > 0]
    left = [(-x, w * x.exp()) for x, w in reversed(right)]
    rest = 1 - decimal_sum(w for _, w in (*left, *right))
    both = [*left, (Decimal(0), rest), *right]
    return [x for x, _ in both], [w for _, w in both]


def _discrete_gaussian(sigma: float, sensitivity: int, reach: int, steepest: int) -> DecimalNodes | None:
    last = reach + steepest * sensitivity
    if 2 * last > _MOST_ATOMS:
        return None
    with localcontext(prec=DIGITS):
        half, numbers = 1 / (2 * Decimal(sigma) ** 2), range(-last, last + 1)
        weight = [(-half * k * k).exp() for k in numbers]
        whole = decimal_sum(weight)
        return [(2 * k - sensitivity) * sensitivity * half for k in numbers], [w / whole for w in weight]


def decimal_sum(terms: Iterable[Decimal]) -> Decimal:
    """Their sum in the context."""
    return sum(terms, Decimal(0))
