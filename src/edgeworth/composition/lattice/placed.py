"""Where atoms are among the cells of a lattice: on a point, inside a cell, or outside of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeworth.losses.law import Array

__all__ = ["room", "with_atoms"]

_UNIT = 2.0**-53
_ON_A_POINT = 64 * _UNIT  # an atom this close to a point, relative to losses, is on it …
_ALMOST, _AT_THE_END = 1e-9, 2e-6  # … or relative to the step, to a point, or to the last of all


def room(place: float, offset: float, h: float, *, last: bool) -> float:
    """How far from a point, the last one or another, an atom may be to be on it, and outside the cells.

    One rule for all: an atom that is neither on a point, nor in a cell, nor outside would be lost. The last point is
    the end of the support up to the rounding of a common step, as in `_numbers`.
    """
    return max(_ON_A_POINT * 2 * (abs(place) + abs(offset)), (_AT_THE_END if last else _ALMOST) * h)


def with_atoms(
    left: Array, right: Array, h: float, first: int, offset: float, atoms: list[tuple[float, float]]
) -> tuple[Array, Array, Array, float]:
    """The shares with atoms added: on a point, or inside a cell like any other mass; and how far points were moved."""
    on_points, slack = np.full(left.size + 1, -np.inf), 0.0
    if atoms:
        left, right = left.copy(), right.copy()
    for place, log_mass in atoms:
        rise = place - offset
        near = round(rise / h)
        if abs(rise - near * h) <= room(place, offset, h, last=near - first == left.size):
            if 0 <= near - first < on_points.size:
                on_points[near - first] = np.logaddexp(on_points[near - first], log_mass)
                slack = max(slack, abs(rise - near * h))
            continue
        k = math.floor(rise / h) - first
        if 0 <= k < left.size:
            t = rise - (k + first) * h
            whole = math.log(-math.expm1(-h))
            left[k] = np.logaddexp(left[k], log_mass + math.log(-math.expm1(t - h)) - whole)
            right[k] = np.logaddexp(right[k], log_mass + t - h + math.log(-math.expm1(-t)) - whole)
    return left, right, on_points, slack
