"""The larger and the smaller of two piecewise-linear trade-off functions: how two bounds on one f combine."""

from __future__ import annotations

import numpy as np

from edgeworth.curves.piecewise import PiecewiseLinear

__all__ = ["larger", "smaller"]


def larger(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """max{f, g}, convex as both are: two lower bounds of one function give this one.

    The vertices are those of both, and the points where f and g cross between them.
    """
    alpha = np.union1d(f.alpha, g.alpha)
    gap = f(alpha) - g(alpha)
    cell = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = gap[cell] / (gap[cell] - gap[cell + 1])
    crossing = alpha[cell] + share * (alpha[cell + 1] - alpha[cell])
    alpha = np.union1d(alpha, crossing)
    return PiecewiseLinear.hull(
        alpha,
        np.maximum(f(alpha), g(alpha)),
        power=np.minimum(f.power(alpha), g.power(alpha)),
        start=max(f(0.0), g(0.0)),
    )


def smaller(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """min{f, g}**: two upper bounds of one convex function give this one, the hull of the vertices of both."""
    return PiecewiseLinear.hull(
        np.concatenate([f.alpha, g.alpha]),
        np.concatenate([f.beta, g.beta]),
        power=np.concatenate([f.vertex_power, g.vertex_power]),
        acceptance=np.concatenate([f.acceptance, g.acceptance]),
        start=min(f(0.0), g(0.0)),
    )
