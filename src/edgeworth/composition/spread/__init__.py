"""Few samples beside steps with atoms: their loss on graded points meets the profile of the rest."""

from edgeworth.composition.spread.engine import applies, prepared, prepared_alone, reach_of_rest

__all__ = ["applies", "prepared", "prepared_alone", "reach_of_rest"]
