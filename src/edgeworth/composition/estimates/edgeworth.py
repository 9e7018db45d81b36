"""The paper's estimate: a two-sided Edgeworth expansion of any degree, inverted numerically (method i).

f_EW(alpha) = F~_d((F_d^-1(1 - alpha) - mu_n) sqrt(Var_P/Var_Q))           (equation ftrue, with F expanded)

F_d is the expansion under P and F~_d under Q, each with its own mean, variance and cumulants. The absolute error is
O(n^-(d+1)/2) for alpha away from 0 and 1; in the tails nothing is promised, and the tilted expansion of
`edgeworth.composition.estimates.saddlepoint` is the cure.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.estimates.series import EdgeworthSeries, standardised
from edgeworth.composition.result import UNDERFLOW, ComposedCurve, estimate, identity, no_privacy, nothing_ran
from edgeworth.curves import ThresholdCurve
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from edgeworth.curves.patchwork import Tests
    from edgeworth.losses import Cumulants, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["TwoSidedExpansion", "compose", "from_tests", "repair_note"]

_FARTHEST = 38.0  # Phi(-38) = 3e-316: beyond, no double is left
_MOST_THRESHOLDS = 8_000
_SPACING = 0.05  # of the thresholds where convexity is checked; values between are exact


class TwoSidedExpansion:
    """F_d under P, F~_d under Q, and the map between their standardised thresholds."""

    def __init__(self, cumulants: Cumulants, degree: int) -> None:
        null, alternative = cumulants.null, cumulants.alternative
        self.null = EdgeworthSeries(standardised(null), degree)
        self.alternative = EdgeworthSeries(standardised(alternative), degree)
        self.shift = float((alternative[0] - null[0]) / math.sqrt(null[1]))
        self.ratio = math.sqrt(null[1] / alternative[1])

    def beta_and_power(self, h: Array) -> tuple[Array, Array]:
        """Type II error of the test that rejects beyond the standardised threshold h, and its complement."""
        return self.alternative.both((h - self.shift) * self.ratio)

    def tests(self, h: Array) -> tuple[Array, Array, Array, Array]:
        """(alpha, beta, 1 - beta, 1 - alpha) of the test that rejects beyond h."""
        acceptance, alpha = self.null.both(h)
        return alpha, *self.beta_and_power(h), acceptance

    def thresholds(self) -> Array:
        """A grid that reaches the far tails of both laws, each at its own scale."""
        first = min(-_FARTHEST, self.shift - _FARTHEST / self.ratio)
        last = max(_FARTHEST, self.shift + _FARTHEST / self.ratio)
        if last - first <= _MOST_THRESHOLDS * _SPACING:
            return np.linspace(first, last, int((last - first) / _SPACING) + 2)
        even = np.linspace(-_FARTHEST, _FARTHEST, int(2 * _FARTHEST / _SPACING) + 1)
        both = np.union1d(even, self.shift + even / self.ratio)
        apart = np.diff(both) > 0.5 * _SPACING * min(1.0, 1 / self.ratio)
        return np.asarray(both[np.concatenate([[True], apart])])


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The expansion of the given degree, made a trade-off function where it was not one."""
    if nothing_ran(total):
        return identity(total, "edgeworth")
    cumulants = total.cumulants(degree + 2)
    if not min(cumulants.null[1], cumulants.alternative[1]) > 0:
        return no_privacy(total, "edgeworth", UNDERFLOW)
    expansion = TwoSidedExpansion(cumulants, degree)
    return from_tests(expansion.tests, expansion.thresholds(), total, "edgeworth", f"degree {degree}")


def from_tests(
    tests: Tests, grid: Array, total: TotalLoss, method: str, *notes: str, raw: Array | None = None
) -> ComposedCurve:
    """The estimate that the tests describe, with a note on its repair; no privacy where they describe none."""
    try:
        curve = ThresholdCurve(tests, grid, raw=raw)
    except ComputationFailed:
        return no_privacy(total, method, "the expansion stays outside [0, 1]: estimated as no privacy at all")
    return estimate(curve, total, method, *notes, *repair_note(curve))


def repair_note(curve: ThresholdCurve) -> tuple[str, ...]:
    """One sentence on where the raw expansion was not a trade-off function, or nothing."""
    if not curve.repaired:
        return ()
    where = ", ".join(f"[{low:.3g}, {high:.3g}]" for low, high in curve.repaired)
    return (f"made convex for alpha in {where}; largest change {curve.largest_repair:.3g}",)
