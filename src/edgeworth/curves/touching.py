"""Where a line of given slope supports a trade-off function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from edgeworth.curves.elementwise import times_exp
from edgeworth.curves.search import golden_maximum

if TYPE_CHECKING:
    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["touching_point"]

_LOGITS = np.linspace(-745.0, 37.0, 800)  # of alpha, from 1e-323 to 1 - 1e-16


def touching_point(f: TradeOff, epsilon: float) -> tuple[float, float]:
    """A point (alpha, f(alpha)) at which a line of slope -e^eps supports f.

    Searched in the logit of alpha; for eps < 0 through f + e^eps alpha, which is small where power is not.
    """

    def height(logit: Array) -> Array:
        alpha = expit(logit)
        if epsilon >= 0:
            return f._bounded_power(alpha) - times_exp(alpha, epsilon)  # noqa: SLF001 - flat probabilities
        return times_exp(expit(-logit), epsilon) - f._bounded_evaluate(alpha)  # noqa: SLF001

    best = int(np.argmax(height(_LOGITS)))
    around = _LOGITS[[max(best - 1, 0)]], _LOGITS[[min(best + 1, _LOGITS.size - 1)]]
    alpha = float(expit(golden_maximum(height, *around))[0])
    return alpha, f(alpha)
