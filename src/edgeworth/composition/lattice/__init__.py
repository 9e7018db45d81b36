"""Two laws on lattice points that enclose the truth: few steps, tiny rates, atoms and their mixes."""

from edgeworth.composition.lattice.close_up import CloseUp
from edgeworth.composition.lattice.engine import FINE, applies, compose, prepared

__all__ = ["FINE", "CloseUp", "applies", "compose", "prepared"]
