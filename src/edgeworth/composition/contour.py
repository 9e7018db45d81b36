"""Certified composition by line integrals: all digits, both tails, any number of steps.

The engine needs one part whose loss has a density with a bounded tail in frequency: Gaussian noise, or a Poisson sample
of it. Other parts (Laplace, randomized response, …) may be mixed in. `docs/proofs/contour.md` proves every bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeworth.composition.answers import OPPOSITE, Answers, Direction
from edgeworth.composition.result import ComposedCurve, with_disclosure
from edgeworth.curves import Certificate, Profile, TradeOff
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from edgeworth.composition.integrals import Ends
    from edgeworth.losses.law import Array

__all__ = ["ContourProfile", "ContourTradeOff", "applies", "compose"]

End: TypeAlias = Literal["lower", "upper", "middle"]

_SWAPPED: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
_LEAST_SAMPLING = 5e-4  # n p^2 below which the line needs too many nodes
_FEWEST_STEPS = 20


def applies(total: TotalLoss) -> bool:
    """Whether the line integral is the right engine: densities that are formulas, and enough smooth steps.

    Gaussian noise makes any mix smooth; otherwise the sampled Gaussian steps must do it, and few of them leave a
    characteristic function that falls too slowly for the bound by parts.
    """
    if not total.is_exact:
        return False
    steps, weight = 0, 0.0
    for loss, n in total.parts:
        if isinstance(loss, GaussianLoss) and loss.mu > 0:
            return True
        if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
            steps, weight = steps + n, weight + n * loss.rate**2
    return steps >= _FEWEST_STEPS and weight >= _LEAST_SAMPLING


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by line integrals, prepared lazily: a reading builds only the lines that it needs."""
    del degree
    if not applies(total):
        raise Unsupported(
            'method="contour" needs a Gaussian part, or sampled Gaussian steps with n rate^2 >= '
            f'{_LEAST_SAMPLING:g} and n >= {_FEWEST_STEPS}; use method="auto", which falls back on others'
        )
    answers = Answers(total)
    certificate = Certificate(
        "contour", certified=True, sources={}, notes=("every reading carries its own error bound",)
    )
    lower, value, upper = (
        with_disclosure(ContourTradeOff(answers, end, "forward"), total) for end in ("lower", "middle", "upper")
    )
    return ComposedCurve(value, certificate, lower, upper, rounding=4e-15)


@dataclass(frozen=True, eq=False)
class ContourTradeOff(TradeOff):
    """One end of the certified trade-off function, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _evaluate(self, alpha: Array) -> Array:
        return _pick(self.answers.tradeoff(self.direction, alpha), self.end)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions are enclosed."""
        return self.direction == "both"

    def inverse(self) -> TradeOff:
        """The other direction."""
        return ContourTradeOff(self.answers, self.end, OPPOSITE[self.direction])

    def symmetrise(self) -> TradeOff:
        """Both directions."""
        return ContourTradeOff(self.answers, self.end, "both")

    def profile(self) -> Profile:
        """The same end of f is the other end of delta."""
        return ContourProfile(self.answers, _SWAPPED[self.end], self.direction)


@dataclass(frozen=True, eq=False)
class ContourProfile(Profile):
    """One end of the certified profile, in one direction."""

    answers: Answers
    end: End
    direction: Direction

    def _delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(self.direction, epsilon), self.end)

    def _reverse_delta(self, epsilon: Array) -> Array:
        return _pick(self.answers.delta(OPPOSITE[self.direction], epsilon), self.end)

    def _epsilon(self, delta: Array) -> Array:
        return _pick(self.answers.epsilon(self.direction, delta), self.end)

    def reverse(self) -> Profile:
        """The other direction."""
        return ContourProfile(self.answers, self.end, OPPOSITE[self.direction])

    def tradeoff(self) -> TradeOff:
        """The trade-off function of which this is the dual."""
        return ContourTradeOff(self.answers, _SWAPPED[self.end], self.direction)


def _pick(ends: Ends, end: End) -> Array:
    if end == "middle":
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(ends.upper), ends.upper, 0.5 * (ends.lower + ends.upper))
    return ends.lower if end == "lower" else ends.upper
