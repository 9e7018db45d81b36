"""Finite sums of residues: Laplace noise, with responses beside it."""

from edgeworth.composition.residues.engine import answers_well, applies, compose, has_few_terms, prepared
from edgeworth.composition.residues.laplace_line import lines_answer_well, lines_apply, prepared_lines

__all__ = [
    "answers_well",
    "applies",
    "compose",
    "has_few_terms",
    "lines_answer_well",
    "lines_apply",
    "prepared",
    "prepared_lines",
]
