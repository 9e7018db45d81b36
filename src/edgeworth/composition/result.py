"""What every engine returns: the composed trade-off function, with its ends when they are proved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.curves import Certificate, Identity, PiecewiseLinear, Rescaled, TradeOff

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import TotalLoss

__all__ = ["LIMITS", "ComposedCurve", "estimate", "nothing_ran"]

#: what keeps the brackets of a method from being narrower, where they are wide
LIMITS = {
    "closed-form": "rounding, next to the largest loss of a sample",
    "fourier": "rounding, next to a largest loss that is no sum of the given numbers",
    "residues": "cancellation between residues",
    "contour": "a characteristic function that falls slowly, or outcomes that had to be dropped",
    "lattice": "a step of the lattice that fits into the work and the memory of one reading",
    "moments": "how far the tilted law of the loss is from a normal one",
    "recursion": "the grid of the recursion",
}


@dataclass(frozen=True, eq=False)
class ComposedCurve:
    """T(P, Q) of the whole composition, "forward".

    `lower` and `upper` enclose the true f everywhere when the certificate is certified; they are None for an
    estimate. `rounding` is a relative bound on the evaluation of these curves in double precision, `shift` an absolute
    one on that of epsilon: near the largest loss a small shift is the larger part of what is left of delta.
    """

    value: TradeOff
    certificate: Certificate
    lower: TradeOff | None = None
    upper: TradeOff | None = None
    rounding: float = 0.0
    shift: float = 0.0
    less_of_f: float | None = None
    """The rounding of f alone, where it is less."""

    @property
    def rounding_of_f(self) -> float:
        """That of f and of 1 - f, by its own formula."""
        return self.rounding if self.less_of_f is None else self.less_of_f

    def map(self, change: Callable[[TradeOff], TradeOff]) -> ComposedCurve:
        """The same change of all three curves; it must preserve the order of trade-off functions."""
        value = change(self.value)
        same = self.lower is self.value and self.upper is self.value
        lower = value if same else self.lower and change(self.lower)
        upper = value if same else self.upper and change(self.upper)
        return replace(self, value=value, lower=lower, upper=upper)


def with_disclosure(curve: TradeOff, total: TotalLoss, lean: int = 0) -> TradeOff:
    """The curve with the masses at L = -inf and L = +inf, which the law given finite losses leaves out.

    A lower end leans to the right, an upper end to the left, so that the rounding of alpha/(1 - a) cannot pass it.
    """
    if total.null_only == 0 and total.alternative_only == 0:
        return curve
    return Rescaled(curve, null_only=total.null_only, alternative_only=total.alternative_only, lean=lean)


def estimate(curve: TradeOff, total: TotalLoss, method: str, *notes: str) -> ComposedCurve:
    """An estimate: no ends, and a certificate that says so."""
    return ComposedCurve(with_disclosure(curve, total), Certificate(method, certified=False, notes=notes))


@lru_cache(maxsize=8)
def nothing_ran(total: TotalLoss) -> bool:
    """Whether no step can move the loss from 0: T(P, P) = Id. Of many tiny ends the sum may be a number."""
    return all(loss.support == (0.0, 0.0) for loss, _ in total.parts) and total.support == (0.0, 0.0)


UNDERFLOW = "the variance of the loss underflows: estimated as no privacy at all"


def no_privacy(total: TotalLoss, method: str, reason: str) -> ComposedCurve:
    """F = 0, the answer of an expansion that cannot say anything: a failure is never an epsilon of 0."""
    return estimate(PiecewiseLinear([0.0, 1.0], [0.0, 0.0]), total, method, reason)


def identity(total: TotalLoss, method: str) -> ComposedCurve:
    """The composition of steps that leak nothing, for the engines that cannot standardise a constant."""
    return estimate(Identity(), total, method, "no step moves the loss: perfect privacy apart from disclosures")
