"""Answers drawn from a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.base import Step

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RandomizedResponse(Step):
    """One answer out of `categories`: the true one with odds e^epsilon to 1 against each of the others.

    >>> RandomizedResponse(epsilon=1)
    RandomizedResponse(epsilon=1.0)
    >>> RandomizedResponse(epsilon=1, categories=10)
    RandomizedResponse(epsilon=1.0, categories=10)
    """

    epsilon: float
    categories: int = 2

    unwritten: ClassVar[dict[str, object]] = {"categories": 2}

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.non_negative(epsilon=self.epsilon) + 0.0)  # no -0.0
        categories = validation.count(categories=self.categories)
        if not categories >= 2:
            raise InvalidArgument(f"categories={categories!r} is out of range; give an int >= 2")
        object.__setattr__(self, "categories", categories)
