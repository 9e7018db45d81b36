"""The lower convex hull of points in the unit square, with relative precision at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.elementwise import Array

__all__ = ["cell_of", "lower_hull", "needed_vertices"]


def lower_hull(alpha: Array, acceptance: Array, beta: Array, power: Array) -> NDArray[np.intp]:
    """Indices of the strict vertices of the lower convex hull of the points (alpha, beta), left to right.

    alpha must not decrease. acceptance = 1 - alpha and power = 1 - beta are given as well, and a difference
    is taken in whichever of the two is small where the turn begins. Andrew's monotone chain: a point stays
    while the slope increases at it. Slopes and areas are both looked at: the one may overflow, the other
    underflow to a tie.
    """
    across_small, across_near_one = alpha.tolist(), (-acceptance).tolist()
    down_small, down_near_one = beta.tolist(), (-power).tolist()
    chain: list[int] = []
    for new in range(alpha.size):
        while len(chain) >= 2:
            old, middle = chain[-2], chain[-1]
            x = across_small if across_small[old] < 0.5 else across_near_one
            y = down_small if down_small[old] < 0.5 else down_near_one
            near, far = x[middle] - x[old], x[new] - x[old]
            drop, fall = y[middle] - y[old], y[new] - y[old]
            # Where rounding has put the new point back at the old one, the one between them cannot stay.
            steeper = far > 0 and near > 0 and (fall / far > drop / near or fall * near > drop * far)
            if steeper if near > 0 else (drop < 0 < far):
                break
            chain.pop()
        chain.append(new)
    return np.array(chain, dtype=np.intp)


def needed_vertices(alpha: Array, acceptance: Array, beta: Array) -> NDArray[np.bool_]:
    """Which vertices a trade-off function needs: the last one at an alpha, the two ends on the axis."""
    needed = np.ones(alpha.size, dtype=bool)
    needed[:-1] = np.where(alpha[:-1] < 0.5, np.diff(alpha), np.diff(acceptance)) != 0
    (on_axis,) = np.nonzero(needed & (beta == 0))
    needed[on_axis[1:-1]] = False
    return needed


def cell_of(alpha: Array, vertices: Array, complements: Array) -> NDArray[np.intp]:
    """The cell [v_i, v_(i+1)) of the increasing vertices that holds each alpha; 1 belongs to the last cell.

    Above 1/2 the complements 1 - v are searched, which tell vertices apart that round to one double.
    """
    by_alpha = np.searchsorted(vertices, alpha, side="right")
    by_complement = np.searchsorted(-complements, alpha - 1, side="right")
    cell: NDArray[np.intp] = np.where(alpha < 0.5, by_alpha, by_complement) - 1
    return np.clip(cell, 0, vertices.size - 2)
