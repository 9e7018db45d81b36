"""Certified composition of losses that lie on one lattice: all digits, both tails, any number of steps.

Randomized response, discrete noise and whatever shares their lattice. `docs/proofs/fourier.md` proves every bound.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition.fourier.answers import FourierAnswers
from edgeworth.composition.fourier.lattice_sum import lattice_sum
from edgeworth.composition.remembered import answered
from edgeworth.curves import Certificate
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses import TotalLoss

__all__ = ["applies", "compose", "prepared"]

_NOTE = "every reading carries its own bound on aliases, on the terms left out, and on rounding"


def applies(total: TotalLoss) -> bool:
    """Whether all losses lie on one lattice by construction."""
    return lattice_sum(total) is not None


@lru_cache(maxsize=8)
def prepared(total: TotalLoss) -> FourierAnswers:
    """The answers of a total loss; the last few are kept."""
    law = lattice_sum(total)
    if law is None:
        raise Unsupported(
            'method="fourier" needs losses that lie on one lattice, as those of randomized response and of discrete '
            'noise do; use method="auto", which falls back on others'
        )
    return FourierAnswers(law, symmetric=total.is_symmetric)


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by Fourier sums, prepared lazily: a reading builds only the lines that it needs."""
    del degree
    return answered(prepared(total), total, Certificate("fourier", certified=True, notes=(_NOTE,)))
