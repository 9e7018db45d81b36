"""Roots and maxima of many functions of one variable at once, always inside a bracket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgeworth.curves.elementwise import Array
from edgeworth.errors import ComputationFailed

__all__ = ["bracketed_root", "golden_maximum", "positive_root"]

#: g(x, which): the functions numbered ``which``, each at its own entry of x
Family: TypeAlias = Callable[[Array, NDArray[np.intp]], Array]

_ULP = float(np.finfo(np.float64).eps)
_HUGE, _TINY = 1e300, 1e-307
_MOST_STEPS = 400
_MOST_LOG_FACTOR = 64.0
_GOLDEN = (5**0.5 - 1) / 2


def bracketed_root(g: Family, low: Array, high: Array, known: tuple[Array, Array] | None = None) -> Array:
    """The least x in (low, high] with g(x) <= 0, to 4 ulp and from above: g <= 0 holds at the result.

    For g non-increasing with g(low) > 0 >= g(high), which may be known. Chandrupatla's method: inverse quadratic
    interpolation where it is trustworthy, bisection elsewhere.
    """
    which = np.arange(low.size)
    root = high.copy()
    x1, x2 = low.copy(), high.copy()
    f1, f2 = (_tame(ends) for ends in known or (g(x1, which), g(x2, which)))
    x3, f3 = x2.copy(), f2.copy()
    t = np.full(low.size, 0.5)
    width = np.abs(high - low)  # a root near 0 is found to an ulp of the bracket, not of itself
    for _ in range(_MOST_STEPS):
        gap = np.abs(x2 - x1)
        limit = 2 * _ULP * np.maximum(np.maximum(np.abs(x1), np.abs(x2)), 1e-3 * width[which]) + 5e-324
        below = np.where(f1 <= 0, x1, x2)
        root[which] = below
        open_ = (gap > 2 * limit) & (np.where(f1 <= 0, f1, f2) != 0)
        if not open_.any():
            return root
        which, x1, x2, x3 = which[open_], x1[open_], x2[open_], x3[open_]
        f1, f2, f3, t = f1[open_], f2[open_], f3[open_], t[open_]
        margin = (limit / np.maximum(gap, 5e-324))[open_]
        t = np.clip(t, margin, 1 - margin)
        x = x1 + t * (x2 - x1)
        f = _tame(g(x, which))
        if np.isnan(f).any():
            raise ComputationFailed(f"a function is not a number at {float(x[np.isnan(f)][0])!r}; it has no root there")
        same = (f > 0) == (f1 > 0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        t = _interpolated_step((x1, x2, x3), (f1, f2, f3))
    raise ComputationFailed(f"a root was not found in {_MOST_STEPS} steps between {low.min()} and {high.max()}")


def _interpolated_step(x: tuple[Array, Array, Array], f: tuple[Array, Array, Array]) -> Array:
    """Where to look next, as a fraction of the way from x1 to x2."""
    (x1, x2, x3), (f1, f2, f3) = x, f
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        trusted = (phi * phi < xi) & ((1 - phi) * (1 - phi) < 1 - xi)
        t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return np.where(trusted & np.isfinite(t), t, 0.5)


def _tame(values: Array) -> Array:
    return np.clip(values, -_HUGE, _HUGE)


def positive_root(g: Family, start: Array, log_factor: Array | float = 4.0, *, largest: float) -> Array:
    """The least x > 0 with g(x) <= 0, to 4 ulp; 0 if below 1e-307, inf if g > 0 up to ``largest``.

    For g non-increasing. The bracket grows from ``start``, by the factor 2^log_factor first and by powers of it then,
    is cut back to a factor of 16 by bisection of the exponent, and is then closed.
    """
    everyone = np.arange(start.size)
    low, high = start.copy(), start.copy()
    at_low = g(start, everyone)
    at_high, above = at_low.copy(), at_low > 0
    log_factors = np.broadcast_to(log_factor, start.shape).copy()
    moving = everyone
    for _ in range(_MOST_STEPS):
        up = above[moving]
        nearer = np.where(up, high[moving], low[moving])
        factor = np.exp2(np.where(up, log_factors[moving], -log_factors[moving]))
        farther = np.clip(nearer * factor, _TINY, largest)
        low[moving], high[moving] = np.where(up, nearer, farther), np.where(up, farther, nearer)
        beyond, before = g(farther, moving), np.where(up, at_high[moving], at_low[moving])
        at_low[moving], at_high[moving] = np.where(up, before, beyond), np.where(up, beyond, before)
        growing = log_factors[moving]
        log_factors[moving] = np.minimum(_MOST_LOG_FACTOR, np.where(growing < 1, _MOST_LOG_FACTOR, 2.0) * growing)
        moving = moving[((beyond > 0) == up) & (farther > _TINY) & (farther < largest)]
        if not moving.size:
            break
    result = np.zeros(start.size)
    positive, finite = at_low > 0, at_high <= 0
    result[positive & ~finite] = np.inf
    inside = everyone[positive & finite]
    if not inside.size:
        return result
    low, high, at_low, at_high = low[inside], high[inside], at_low[inside], at_high[inside]
    while (wide := high > 16 * low).any():
        middle = np.where(wide, np.sqrt(low) * np.sqrt(high), high)
        at_middle = g(middle, inside)
        stuck, passed = wide & (at_middle > 0), wide & ~(at_middle > 0)
        low, at_low = np.where(stuck, middle, low), np.where(stuck, at_middle, at_low)
        high, at_high = np.where(passed, middle, high), np.where(passed, at_middle, at_high)
    result[inside] = bracketed_root(lambda x, which: g(x, inside[which]), low, high, (at_low, at_high))
    return result


def golden_maximum(h: Callable[[Array], Array], low: Array, high: Array, *, steps: int = 72) -> Array:
    """The place of the maximum of the unimodal h in [low, high], one for each entry (golden section).

    72 steps shrink the bracket by 1e-15, which a maximum at a kink needs; 42 shrink it by 2e-9, enough where
    the maximum is flat.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = h(left), h(right)
    for _ in range(steps):
        rising = at_right > at_left
        low, high = np.where(rising, left, low), np.where(rising, high, right)
        fresh = np.where(rising, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_fresh = h(fresh)
        left, right = np.where(rising, right, fresh), np.where(rising, fresh, left)
        at_left, at_right = np.where(rising, at_right, at_fresh), np.where(rising, at_fresh, at_left)
    return np.where(at_right > at_left, right, left)
