"""Steps known only by a guarantee that was given for them, or by their two densities."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from edgeworth import validation
from edgeworth.mechanisms.base import Step
from edgeworth.mechanisms.distributions import Distribution, own_copy

__all__ = ["ApproxDP", "DensityPair", "GaussianDP"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApproxDP(Step):
    """Any step for which (epsilon, delta)-differential privacy is known, and nothing more.

    >>> ApproxDP(epsilon=1, delta=1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = validation.non_negative(epsilon=self.epsilon)
        delta = validation.probability(delta=self.delta)
        object.__setattr__(self, "epsilon", epsilon + 0.0)  # -0.0 becomes 0.0
        object.__setattr__(self, "delta", delta + 0.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GaussianDP(Step):
    """Any step for which mu-Gaussian differential privacy is known, and nothing more.

    >>> GaussianDP(mu=1)
    GaussianDP(mu=1.0)
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", validation.non_negative(mu=self.mu) + 0.0)  # -0.0 becomes 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DensityPair(Step):
    """A step whose output has one density under the null and another under the alternative.

    Both are frozen continuous distributions of scipy.stats. Pairs that say the same in other words are
    equal; a pair with a distribution that scipy.stats does not know by name is equal only to itself.

    >>> from scipy.stats import norm
    >>> DensityPair(null=norm(0, 1), alternative=norm(loc=0.5))
    DensityPair(null=norm(loc=0.0, scale=1.0), alternative=norm(loc=0.5, scale=1.0))
    """

    null: Any
    alternative: Any
    _described: tuple[Distribution, Distribution] = field(init=False)

    def __post_init__(self) -> None:
        null, described_null = own_copy(null=self.null)
        alternative, described_alternative = own_copy(alternative=self.alternative)
        object.__setattr__(self, "null", null)
        object.__setattr__(self, "alternative", alternative)
        object.__setattr__(self, "_described", (described_null, described_alternative))

    def arguments(self) -> dict[str, object]:
        """Both distributions by name and parameters."""
        return dict(zip(("null", "alternative"), self._described, strict=True))

    def identity(self) -> str:
        """The names and parameters of both."""
        return json.dumps({"type": "DensityPair", "pair": [described.key() for described in self._described]})
