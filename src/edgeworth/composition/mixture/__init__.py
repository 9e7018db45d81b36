"""Few steps with noise, alone or beside few-valued ones: formulas, one integral, and mixtures over all values."""

from edgeworth.composition.mixture.apart import around_values, heaps, listed_values, may_list_values
from edgeworth.composition.mixture.engine import (
    applies,
    has_formulas,
    has_normal_noise,
    has_remainder,
    has_two_lattices,
    integrates_normal_noise,
    prepared,
    remainder_of,
)

__all__ = [
    "applies",
    "around_values",
    "has_formulas",
    "has_normal_noise",
    "has_remainder",
    "has_two_lattices",
    "heaps",
    "integrates_normal_noise",
    "listed_values",
    "may_list_values",
    "prepared",
    "remainder_of",
]
