"""Upper bounds of 1 - delta from some tilts: far left of the mean under Q nothing more is needed of a profile near 1.

1 - delta(eps) = E_P[min(e^T, e^eps)], and a minimum is at most every weighted geometric mean:

    1 - delta(eps) <= e^(K(c) + (1 - c) eps),    1 - delta'(eps) <= e^(K(c) + c eps),    0 <= c <= 1.

docs/proofs/contour.md, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour.rung import STEP_SLACK

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction
    from edgeworth.composition.contour.log_moments import LogMoments
    from edgeworth.losses.law import Array

__all__ = ["OverlapCeiling"]

_NEAREST, _RATIO = 4.0, 1.3  # of the tilts to the pole, in units of 1/std, and of one to the next
_SLACK = 1e-6  # of K, relative


class OverlapCeiling:
    """The bounds of one total; their tilts lie between the poles, denser towards that of their direction."""

    def __init__(self, moments: LogMoments, direction: Direction, steps: float) -> None:
        most = int(np.log(max(moments.spread / _NEAREST, 1.0)) / np.log(_RATIO))
        away = np.minimum(_NEAREST * moments.width * _RATIO ** np.arange(most + 1.0), 0.5)
        k = moments.log(1 - away if direction == "forward" else away)
        self._constant = (k + _SLACK * (1 + np.abs(k)) + STEP_SLACK * steps)[:, None]
        self._slope = away[:, None]

    def __call__(self, epsilon: Array) -> Array:
        """By the best of them, and 1 at most."""
        log = np.minimum.reduce(self._constant + self._slope * epsilon, axis=0)
        return np.asarray(np.exp(np.minimum(log, 0.0)))
