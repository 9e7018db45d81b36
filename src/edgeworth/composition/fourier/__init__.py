"""Fourier sums over one period: losses that lie on one lattice."""

from edgeworth.composition.fourier.engine import applies, compose, prepared

__all__ = ["applies", "compose", "prepared"]
