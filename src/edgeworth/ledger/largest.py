"""The largest whole number within a limit, in few evaluations of an expensive function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["largest_within"]


def largest_within(excess: Callable[[int], float], *, guess: int, most: int) -> int:
    """The k in [0, most] with excess(k) <= 0 and excess(k + 1) > 0 (or k = most), given excess(0) <= 0.

    The excess should rise with k. Steps grow away from the guess until they enclose the answer; then lines
    through (log k, excess) and halving take turns.

    >>> largest_within(lambda k: k - 1234.5, guess=10, most=10**12)
    1234
    """
    within, beyond = _enclosed(excess, max(1, min(guess, most)), most)
    interpolate = True
    while beyond[0] - within[0] > 1:
        middle = (within[0] + beyond[0]) // 2
        if interpolate:
            middle = _on_the_line(within, beyond, middle)
        at = (middle, excess(middle))
        shrunk = (at[0] - within[0] if at[1] > 0 else beyond[0] - at[0]) * 2 <= beyond[0] - within[0]
        within, beyond = (within, at) if at[1] > 0 else (at, beyond)
        interpolate = shrunk or not interpolate
    return within[0]


def _enclosed(excess: Callable[[int], float], guess: int, most: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """A k within and one beyond, each with its excess; steps of 1/64 of the guess that double."""
    at, step = (guess, excess(guess)), max(1, guess // 64)
    if at[1] > 0:
        beyond = at
        while beyond[0] > 1:
            k = max(beyond[0] - step, 1)
            at, step = (k, excess(k)), 2 * step
            if at[1] <= 0:
                return at, beyond
            beyond = at
        return (0, -math.inf), beyond
    within = at
    while within[0] < most:
        k = min(within[0] + step, most)
        at, step = (k, excess(k)), 2 * step
        if at[1] > 0:
            return within, at
        within = at
    return within, (most + 1, math.inf)


def _on_the_line(within: tuple[int, float], beyond: tuple[int, float], otherwise: int) -> int:
    """Where the line through both points in (log k, excess) crosses 0, strictly between them."""
    (low, below), (high, above) = within, beyond
    if not (low > 0 and math.isfinite(below) and math.isfinite(above) and above > below):
        return otherwise
    share = -below / (above - below)
    k = round(math.exp(math.log(low) + share * (math.log(high) - math.log(low))))
    return min(max(k, low + 1), high - 1)
