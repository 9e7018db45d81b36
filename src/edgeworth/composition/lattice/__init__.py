"""Two laws on lattice points that enclose the truth: few steps, tiny rates, atoms and their mixes."""

from edgeworth.composition.lattice.engine import FINE, applies, compose, prepared
from edgeworth.composition.lattice.noisy_lines import lines_apply, prepared_lines

__all__ = ["FINE", "applies", "compose", "lines_apply", "prepared", "prepared_lines"]
