"""Two laws on lattice points that enclose the truth: few steps, tiny rates, atoms and their mixes."""

from edgeworth.composition.lattice.engine import FINE, applies, compose, prepared

__all__ = ["FINE", "applies", "compose", "prepared"]
