"""Answers drawn from a list."""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth import validation
from edgeworth.mechanisms.base import Step

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RandomizedResponse(Step):
    """A yes-or-no answer, true with odds e^epsilon to 1.

    >>> RandomizedResponse(epsilon=1)
    RandomizedResponse(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.non_negative(epsilon=self.epsilon) + 0.0)  # no -0.0
