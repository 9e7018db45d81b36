"""Line integrals through the saddle point: losses with densities, samples of them, and any mix that has one."""

from edgeworth.composition.contour.engine import answers_well, applies, compose, has_dense_samples, prepared

__all__ = ["answers_well", "applies", "compose", "has_dense_samples", "prepared"]
