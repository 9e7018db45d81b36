"""Finite sums of residues: Laplace noise, with responses beside it."""

from edgeworth.composition.residues.engine import answers_well, applies, compose, has_few_terms, prepared

__all__ = ["answers_well", "applies", "compose", "has_few_terms", "prepared"]
