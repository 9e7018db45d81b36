"""The Poisson samples among the steps of a total, and how dense their jumps are.

A sample is a jump with probability p, and else next to nothing. n p jumps are expected, and n p^2 is about the
variance of the sum: it decides whether jumps are part of the bulk of the law or can be told apart.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeworth.losses import TotalLoss

__all__ = ["Samples", "density", "expected_jumps", "gaussian_samples", "samples"]

#: samples, each with the number of its steps
Samples: TypeAlias = tuple[tuple[SampledLoss, int], ...]


@lru_cache(maxsize=8)
def samples(total: TotalLoss) -> Samples:
    """All of them.

    >>> import edgeworth as ew
    >>> from edgeworth.losses import TotalLoss
    >>> sampled = ew.PoissonSampled(ew.Gaussian(2.0), rate=0.1) ** 5 * ew.PoissonSampled(ew.Laplace(1.0), rate=0.2)
    >>> total = TotalLoss.of(sampled * ew.Laplace(3.0))
    >>> len(samples(total)), len(gaussian_samples(total)), round(density(samples(total)), 9)
    (2, 1, 0.09)
    """
    return tuple((loss, n) for loss, n in total.parts if isinstance(loss, SampledLoss))


@lru_cache(maxsize=8)
def gaussian_samples(total: TotalLoss) -> Samples:
    """Those of Gaussian noise that says something."""
    return tuple((loss, n) for loss, n in samples(total) if isinstance(loss.base, GaussianLoss) and loss.base.mu > 0)


def expected_jumps(parts: Iterable[tuple[SampledLoss, int]]) -> float:
    """The sum of n p."""
    return math.fsum(n * loss.rate for loss, n in parts)


def density(parts: Iterable[tuple[SampledLoss, int]]) -> float:
    """The sum of n p^2."""
    return math.fsum(n * loss.rate**2 for loss, n in parts)
