"""The points of a sweep: every combination of the values of four axes, in a fixed order."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.cli.describe import number, whole_number
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Point", "points", "values"]

_MOST_POINTS = 10**7
_RANGE_PARTS = 3


@dataclass(frozen=True, order=True)
class Point:
    """One run: what is swept over, and by which it is known in a table."""

    noise_multiplier: float
    rate: float
    steps: int
    delta: float


def points(noise: Sequence[str], rate: Sequence[str], steps: Sequence[str], delta: Sequence[str]) -> list[Point]:
    """All combinations of what was typed; delta varies fastest, so that one account serves all deltas."""
    noises = [validation.positive(noise_multiplier=each) for each in values(noise, name="noise_multiplier")]
    rates = [validation.probability(rate=each) for each in values(rate, name="rate")]
    counts = [_whole(each) for each in values(steps, name="steps")]
    deltas = [validation.probability(delta=each) for each in values(delta, name="delta")]
    size = len(noises) * len(rates) * len(counts) * len(deltas)
    if size > _MOST_POINTS:
        raise InvalidArgument(f"the sweep has {size} points, more than {_MOST_POINTS}; give fewer values")
    return [Point(*each) for each in itertools.product(noises, rates, counts, deltas)]


def values(texts: Sequence[str], *, name: str) -> list[float]:
    """The numbers of one axis, each once: "0.8", "1/100", or "from:to:count", evenly, "from:to:countx" by factors.

    >>> values(["0.5", "1:2:3", "1:100:3x"], name="rate")
    [0.5, 1.0, 1.5, 2.0, 10.0, 100.0]
    """
    found: list[float] = []
    for text in texts:
        found += _range(text, name) if ":" in text else [number(**{name: text})]
    return list(dict.fromkeys(found))


def _range(text: str, name: str) -> list[float]:
    parts = text.split(":")
    if len(parts) != _RANGE_PARTS:
        raise InvalidArgument(
            f"{name}={text!r} is not a range; give from:to:count, or from:to:countx for equal factors"
        )
    low, high = number(**{name: parts[0]}), number(**{name: parts[1]})
    by_factors, count = parts[2].endswith("x"), whole_number(**{f"{name} count": parts[2].removesuffix("x")})
    if not (math.isfinite(low) and math.isfinite(high)) or (by_factors and not (low > 0 and high > 0)):
        raise InvalidArgument(f"{name}={text!r} is out of range; give finite ends, both > 0 for equal factors")
    spread = np.geomspace(low, high, count) if by_factors else np.linspace(low, high, count)
    return [float(each) for each in spread.tolist()]


def _whole(value: float) -> int:
    """Steps are whole; a range rounds to the nearest."""
    if not (value >= 0 and math.isfinite(value)):
        raise InvalidArgument(f"steps={value!r} is out of range; give an int >= 0")
    return round(value)
