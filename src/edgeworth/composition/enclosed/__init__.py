"""Few steps of Laplace noise, or samples of it, beside steps whose atoms are listed."""

from edgeworth.composition.enclosed.engine import applies, noise_of, prepared

__all__ = ["applies", "noise_of", "prepared"]
