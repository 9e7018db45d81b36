"""Certified composition on a lattice of losses: for few steps, tiny rates, Laplace noise, atoms and their mixes.

Two laws on lattice points enclose every step in convex order, their convolutions enclose the composition, and a tilt
keeps the round-off of the convolution relative to the tail that is read. Laws that are lattices themselves are not
rounded at all. `docs/proofs/lattice.md` proves every bound.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition.lattice.answers import FINE, LatticeAnswers
from edgeworth.composition.lattice.enumerated import enumerable
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.many_tests import ManyTests
from edgeworth.composition.remembered import answered
from edgeworth.composition.result import ComposedCurve, nothing_ran, with_disclosure
from edgeworth.curves import Certificate, Identity
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, LaplaceLoss, ReplacedGaussianLoss, ReplacedLoss, SampledLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["FINE", "applies", "compose", "prepared"]

_LARGEST_MU = 30.0
_LEAST_RATE = 1e-9  # of a clipped record that is replaced: below, no lattice holds both its bulk and its far outcomes
_MOST_STEPS = 10**10
_WIDE = 1e-6  # relative: of many tests at once no more is asked for
_MOST_LOST = 1e-45  # the mass of atoms that are not listed
_NOTE = "every reading carries its own bound on all of these, and on rounding"


@lru_cache(maxsize=8)
def applies(total: TotalLoss) -> bool:
    """Whether every part has cells that are formulas, and there are not too many steps."""
    steps = sum(n for _, n in total.parts)
    return total.is_exact and steps <= _MOST_STEPS and all(_known(loss) for loss, _ in total.parts)


def _known(loss: PrivacyLoss) -> bool:
    if loss.lattice is not None or loss.is_atomic:
        return True
    if isinstance(loss, ReplacedGaussianLoss) and loss.rate < _LEAST_RATE:
        return False
    base = loss.base if isinstance(loss, SampledLoss | ReplacedLoss) else loss
    normal = isinstance(base, GaussianLoss | ReplacedGaussianLoss) and base.mu <= _LARGEST_MU
    return isinstance(base, LaplaceLoss) or normal


@lru_cache(maxsize=4)
def prepared(total: TotalLoss, fine: float = FINE) -> LatticeAnswers | EnumeratedAnswers:
    """The answers of a total loss, from its atoms where they can be listed; the last few are kept.

    `fine` is the relative width that a reading aims at.
    """
    if enumerable(total):
        with suppress(Unsupported):
            listed = EnumeratedAnswers(total)
            if listed.lost <= _MOST_LOST:
                return listed
    return LatticeAnswers(total, fine)


def compose(total: TotalLoss, *, degree: int = 2, fine: float = FINE) -> ComposedCurve:
    """The enclosure on lattices, prepared lazily: a reading builds only the rungs that it needs."""
    del degree
    if not applies(total):
        raise Unsupported(
            'method="lattice" needs Gaussian, Laplace or discrete noise, responses, or samples of them, and at most '
            f'{_MOST_STEPS} steps; use method="auto", which falls back on others'
        )
    if nothing_ran(total):
        curve = with_disclosure(Identity(), total)
        return ComposedCurve(curve, Certificate("lattice", certified=True), curve, curve)
    answers = prepared(total, fine)
    sources = {"rounding of losses, relative, aimed at": 0.0 if answers.exact else fine}
    made = answers if answers.exact else ManyTests(answers, _WIDE)
    return answered(made, total, Certificate("lattice", certified=True, sources=sources, notes=(_NOTE,)))
