"""Certified composition by line integrals: all digits, both tails, any number of steps.

The engine needs one part whose loss has a density with a bounded tail in frequency: Gaussian noise, or a Poisson sample
of it. Other parts (Laplace, randomized response, …) may be mixed in. `docs/proofs/contour.md` proves every bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from edgeworth.composition.answers import OPPOSITE, Answers, Direction
from edgeworth.composition.integrals import ALIAS_NATS
from edgeworth.composition.result import ComposedCurve, with_disclosure
from edgeworth.composition.tilted_part import NATS
from edgeworth.curves import Certificate, Profile, TradeOff
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from edgeworth.composition.integrals import Ends
    from edgeworth.losses.law import Array

__all__ = ["ContourProfile", "ContourTradeOff", "answers_well", "applies", "compose"]

End: TypeAlias = Literal["lower", "upper", "middle"]

_SWAPPED: dict[End, End] = {"lower": "upper", "upper": "lower", "middle": "middle"}
_NOTE = "every reading carries its own bound on all of these, and on rounding"
_AIMED_AT = {  # what the nodes are chosen for, relative to the reading
    "aliases of the trapezoidal rule": math.exp(-ALIAS_NATS),
    "quadrature of the characteristic function": math.exp(-NATS),
    "tail beyond the last node": math.exp(-NATS),
}
_POINT, _SHARE = np.polynomial.legendre.leggauss(24)
_LEAST_SAMPLING = 5e-4  # n p^2 below which the line needs too many nodes
_FEWEST_STEPS = 20
_MOST_REPEATS = 10**9  # of one step, to which the rounding model of the proof reaches
_MANY_STEPS, _MUCH_SAMPLING, _SMALL_MU, _SMALL_SPREAD = 100, 0.02, 3.0, 30.0  # where the line was always found


def applies(total: TotalLoss) -> bool:
    """Whether the line integral can answer: densities that are formulas, and something that smooths the total.

    Gaussian noise smooths any mix; otherwise the sampled Gaussian steps must, and few of them leave a characteristic
    function that falls too slowly for the bound by parts.
    """
    if not total.is_exact or any(not math.isfinite(loss.cumulants(2).alternative[1]) for loss, _ in total.parts):
        return False
    if any(n > _MOST_REPEATS for loss, n in total.parts if not isinstance(loss, GaussianLoss)):
        return False
    steps, weight = 0, 0.0
    for loss, n in total.parts:
        if isinstance(loss, GaussianLoss) and loss.mu > 0:
            return True
        if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
            steps, weight = steps + n, weight + n * loss.rate**2
    return steps >= _FEWEST_STEPS and weight >= _LEAST_SAMPLING


def answers_well(total: TotalLoss) -> bool:
    """Whether it applies and its line at the centre of the law can be had; clear cases are not tried."""
    if not applies(total):
        return False
    (loss, n), *others = total.parts
    clear = (
        not others
        and isinstance(loss, SampledLoss)
        and isinstance(loss.base, GaussianLoss)
        and loss.base.mu < _SMALL_MU
        and n >= _MANY_STEPS
        and n * loss.rate**2 >= _MUCH_SAMPLING
        and math.sqrt(float(n * loss.cumulants(2).null[1])) < _SMALL_SPREAD
    )
    return clear or prepared(total).usable()


@lru_cache(maxsize=8)
def prepared(total: TotalLoss) -> Answers:
    """The answers of a total loss; the last few are kept, so that asking whether they can be had costs nothing."""
    return Answers(total)


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by line integrals, prepared lazily: a reading builds only the lines that it needs."""
    del degree
    if not applies(total):
        raise Unsupported(
            'method="contour" needs a Gaussian part, or sampled Gaussian steps with n rate^2 >= '
            f'{_LEAST_SAMPLING:g} and n >= {_FEWEST_STEPS}; use method="auto", which falls back on others'
        )
    answers = prepared(total)
    certificate = Certificate("contour", certified=True, sources=_AIMED_AT, notes=(_NOTE,))
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

    @property
    def gamma(self) -> float:
        """The area under f symmetrised, 2 (integral up to a*) - a*^2, by Gauss–Legendre in z = Phi^-1(alpha).

        Below z = -8.3 the integral is smaller than Phi(-8.3) < 1e-16; the panels end where the bridge begins.
        """
        both, top = self.symmetrise(), self.fixed_point
        ends = np.array([-8.3, -5.0, -3.0, -1.5, 0.0, *ndtri([self.answers.bridge()[0], top])])
        edges = np.unique(ends[ends <= ndtri(top)])
        half = np.diff(edges)[:, None] / 2
        z = edges[:-1, None] + half * (_POINT + 1)
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return float(2 * np.sum(half * _SHARE * density * both(ndtr(z))) - top * top)

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
