"""Noise added to a number or a vector."""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth import validation
from edgeworth.mechanisms.base import Step

__all__ = ["Gaussian", "Laplace"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gaussian(Step):
    """Gaussian noise whose standard deviation is noise_multiplier times the l2 sensitivity.

    >>> Gaussian(noise_multiplier=1)
    Gaussian(noise_multiplier=1.0)
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        noise_multiplier = validation.positive(noise_multiplier=self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", noise_multiplier)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Laplace(Step):
    """Laplace noise of the given scale on a query of the given l1 sensitivity.

    >>> Laplace(scale=20)
    Laplace(scale=20.0, sensitivity=1.0)
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        scale = validation.positive(scale=self.scale)
        sensitivity = validation.non_negative(sensitivity=self.sensitivity)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "sensitivity", sensitivity + 0.0)  # -0.0 becomes 0.0
