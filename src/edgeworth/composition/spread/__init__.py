"""Few samples beside steps with atoms: their loss on graded points, or in lists, meets the profile of the rest."""

from edgeworth.composition.spread.engine import (
    applies,
    applies_alone,
    has_atoms,
    has_noise_alone,
    prepared,
    prepared_alone,
    prepared_closely,
    prepared_runs,
    reach_of_rest,
    samples_of,
)

__all__ = [
    "applies",
    "applies_alone",
    "has_atoms",
    "has_noise_alone",
    "prepared",
    "prepared_alone",
    "prepared_closely",
    "prepared_runs",
    "reach_of_rest",
    "samples_of",
]
