"""Line integrals with a little noise: many different steps with atoms, which no lattice holds together."""

from edgeworth.composition.noisy_lines.engine import NoisyLines, applies, prepared

__all__ = ["NoisyLines", "applies", "prepared"]
