"""Noise added to a number or a vector."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.base import Step

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Gaussian", "Laplace"]


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiscreteGaussian(Step):
    """Whole-number noise on one whole-number query: k with probability proportional to e^(-k^2/(2 scale^2)).

    The scale is in units of the output, and the sensitivity is the most by which neighbours differ. The law is
    log-concave, so a difference of exactly the sensitivity is the worst.

    >>> DiscreteGaussian(scale=4)
    DiscreteGaussian(scale=4.0, sensitivity=1)
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive(scale=self.scale))
        object.__setattr__(self, "sensitivity", _whole(self.sensitivity))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiscreteLaplace(Step):
    """Whole-number noise on one whole-number query: k with probability proportional to e^(-|k|/scale).

    Also called the geometric mechanism. The scale is in units of the output, and the sensitivity is the most by
    which neighbours differ. The law is log-concave, so a difference of exactly the sensitivity is the worst.

    >>> DiscreteLaplace(scale=2, sensitivity=3)
    DiscreteLaplace(scale=2.0, sensitivity=3)
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive(scale=self.scale))
        object.__setattr__(self, "sensitivity", _whole(self.sensitivity))


def _whole(sensitivity: Any) -> int:
    """The sensitivity of a whole-number query, refused unless it is an int >= 0."""
    if not isinstance(sensitivity, numbers.Integral):
        raise InvalidArgument(
            f"sensitivity={sensitivity!r} is not a whole number, but whole answers are whole numbers apart; "
            "give an int >= 0, in units in which the query is whole"
        )
    return validation.count(sensitivity=sensitivity)
