"""From where to where the quadrature of a tilted sample of Gaussian noise goes: docs/proofs/contour.md, section 5."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour.certified_moment import NATS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
    from edgeworth.losses.law import Array

__all__ = ["window_of"]

_LOOKING = np.linspace(0.0, 1.0, 96)
_HALVINGS = 6  # of the stretch in which the end of a window lies
_LARGEST = 700.0  # of an exponent


def window_of(step: SampledGaussian, c: float, nats: float = NATS) -> tuple[float, float]:
    """Ends beyond which the laws tilted by c, and by 0 and 1 as K needs them, are below e^-nats of their peaks."""
    far = math.sqrt(2 * (nats + 10)) + 1
    right = step.falling_from(max(1.0, c))
    if c >= 0 and not step.is_jump:  # left of 0 no law is higher than e^(-x^2/2) is, relative to its peak
        return -math.sqrt(2 * (nats + 5)), _fallen(step, max(1.0, c), right, far, nats + 4)
    left = step.left_peak(c) - far
    x = left + (min(max(1.0, c) * step.mu, right) + far - left) * _LOOKING
    loss, log_density = step.loss(x), step.log_density(x)
    last = min(int(_high(max(1.0, c) * loss + log_density, nats + 4)[-1]) + 1, x.size - 1)
    end = max(right + 1.0, float(x[last]))
    return float(x[max(int(_high(min(0.0, c) * loss + log_density, nats + 4)[0]) - 1, 0)]), end


def _fallen(step: SampledGaussian, c: float, falling: float, far: float, nats: float) -> float:
    """About where the law tilted by c > 0 has come down by so many nats, from where it falls to as far beyond."""
    mu, rate = step.mu, step.rate

    def log_height(x: float) -> float:
        """At least: beyond its cut the law falls as a normal one, or faster."""
        base, beyond = mu * x - 0.5 * mu * mu, max(x - step.cut, 0.0) / step.softness
        loss = math.log1p(rate * math.expm1(base)) if base < _LARGEST else base + math.log(rate)
        return c * loss - 0.5 * (x * x + beyond * beyond)

    stiff = 1 / step.softness**2  # of a cut, against which the tilt pushes
    top = min(c * mu, max(step.cut, (c * mu + stiff * step.cut) / (1 + stiff)))
    share = 1 / (2.6 * (1 + max(top - step.cut, 0.0) / step.softness))  # at least, of what is said of a normal tail
    allowed = max(log_height(0.0), log_height(top) + math.log(share)) - nats
    low, high = falling + 1.0, max(min(c * mu, falling) + far, falling + 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if log_height(middle) > allowed:
            low = middle
        else:
            high = middle
    return high


def _high(log_density: Array, nats: float) -> NDArray[np.intp]:
    """Where a law is above e^-nats of its peak."""
    return np.asarray((log_density >= log_density.max() - nats).nonzero()[0])  # at least the peak: ulps may be large
