"""Which of two trade-off functions is the more private, pointwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["Order", "pointwise_order"]

Order: TypeAlias = Literal["more private", "less private", "equal", "not comparable"]

_ROUNDING = 1e-11  # relative, in f and in 1 - f: what the curves of this package promise, with a margin
_SAMPLES = np.unique(np.concatenate([np.geomspace(1e-300, 1e-10, 150), ndtr(np.linspace(-6.5, 8.2, 1500)), [0.0]]))


def pointwise_order(f: TradeOff, g: TradeOff) -> Order:
    """The word "more private" if f >= g everywhere, "less private" if f <= g, "equal" if both.

    f and 1 - f are compared at 1651 alphas from 0 to 1 - 1e-16 and at the kinks of both curves (which decides
    it for piecewise-linear ones); relative differences up to 1e-11 are taken for rounding.
    """
    alpha = np.unique(np.concatenate([_SAMPLES, f.kinks, g.kinks]))
    miss_f, miss_g, power_f, power_g = f(alpha), g(alpha), f.power(alpha), g.power(alpha)
    above = bool(np.all((miss_f >= miss_g * (1 - _ROUNDING)) & (power_f * (1 - _ROUNDING) <= power_g)))
    below = bool(np.all((miss_g >= miss_f * (1 - _ROUNDING)) & (power_g * (1 - _ROUNDING) <= power_f)))
    return order_from(at_least=above, at_most=below)


def order_from(*, at_least: bool, at_most: bool) -> Order:
    """The word for f >= g and f <= g."""
    if at_least and at_most:
        return "equal"
    if at_least:
        return "more private"
    return "less private" if at_most else "not comparable"
