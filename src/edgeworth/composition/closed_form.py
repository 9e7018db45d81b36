"""Compositions whose trade-off function is a formula.

| what ran                                         | f                                                    |
|---|---|
| nothing that leaks                               | Id                                                   |
| Gaussian steps, any number and mix               | G_mu, mu^2 = sum of mu_i^2                           |
| one Laplace, randomized response, (eps, delta)   | its own formula                                      |
| one Poisson sample of any of these               | rate * f + (1 - rate) * Id                           |
| one sample of these, a record replaced           | the same, symmetrised                                |
| one of Gaussian noise, a clipped record replaced | T of two mixtures of normal laws                     |
"""

from __future__ import annotations

import math
from functools import singledispatch

from edgeworth.composition.result import ComposedCurve, nothing_ran, with_disclosure
from edgeworth.curves import (
    ApproxDPTradeOff,
    Certificate,
    GaussianTradeOff,
    Identity,
    LaplaceTradeOff,
    ReplacedGaussianTradeOff,
    TradeOff,
)
from edgeworth.errors import Unsupported
from edgeworth.losses import (
    BinaryLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    ReplacedGaussianLoss,
    ReplacedLoss,
    SampledLoss,
    TotalLoss,
)

__all__ = ["compose", "exists"]

_LARGE, _HUGE = 1e150, 2.0**600  # of mu, and a unit for what is larger
_ROUNDING = 1e-12  # relative: the formulas were measured at 1e-13 against 50 digits over 300 decades
_MIXTURE_ROUNDING = 5e-12  # the same of two mixtures of normal laws, measured at 5e-13
_ULPS = 2.0**-50  # of the largest loss, and of what a sample adds to its logarithm: where delta comes down to 0


def exists(total: TotalLoss) -> bool:
    """Whether the composition has a closed form here."""
    return _curve(total) is not None


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The formula, certified up to the rounding of its evaluation."""
    del degree
    found = _curve(total)
    if found is None:
        raise Unsupported(
            'method="closed-form" has no formula for this composition; use method="auto", which falls back on others'
        )
    rounding = _MIXTURE_ROUNDING if isinstance(found, ReplacedGaussianTradeOff) else _ROUNDING
    certificate = Certificate("closed-form", certified=True, sources={"rounding, relative": rounding})
    return ComposedCurve(found, certificate, found, found, rounding, _shift(total))


def _curve(total: TotalLoss) -> TradeOff | None:
    """The first row of the table that applies."""
    if nothing_ran(total):
        return with_disclosure(Identity(), total)
    laws = [loss for loss, _ in total.parts]
    if all(isinstance(loss, GaussianLoss) for loss in laws):
        return GaussianTradeOff(_joint_mu([(n, loss.mu) for loss, n in total.parts if isinstance(loss, GaussianLoss)]))
    if len(laws) > 1 or total.parts[0][1] > 1:
        return None
    return one_step(laws[0])


def _joint_mu(steps: list[tuple[int, float]]) -> float:
    """The root of the sum of n mu^2; in units of 2^600 where squares would overflow."""
    unit = 1.0 if max(mu for _, mu in steps) < _LARGE else _HUGE
    return math.sqrt(math.fsum(n * (mu / unit) ** 2 for n, mu in steps)) * unit


def _shift(total: TotalLoss) -> float:
    """How far rounding may move the largest loss, or the epsilon at which the formula of a sample asks its base.

    A largest loss that is the double given, as that of randomized response, is not moved.
    """
    farthest = max(abs(end) for end in total.support)
    if not math.isfinite(farthest):
        return 0.0
    moved = [
        1 - math.log(loss.rate) if isinstance(loss, SampledLoss | ReplacedLoss) else 0.0 for loss, _ in total.parts
    ]
    return _ULPS * (farthest + sum(moved)) if any(loss.is_rounded for loss, _ in total.parts) else 0.0


@singledispatch
def one_step(loss: PrivacyLoss) -> TradeOff | None:
    """The trade-off function of one step, or None where it has no formula."""
    del loss
    return None


@one_step.register
def _(loss: GaussianLoss) -> TradeOff | None:
    return GaussianTradeOff(loss.mu)


@one_step.register
def _(loss: LaplaceLoss) -> TradeOff | None:
    return LaplaceTradeOff(loss.theta)


@one_step.register
def _(loss: BinaryLoss) -> TradeOff | None:
    return ApproxDPTradeOff(loss.epsilon, loss.alternative_only)


@one_step.register
def _(loss: SampledLoss) -> TradeOff | None:
    base = one_step(loss.base)
    return None if base is None else base.subsample(loss.rate)


@one_step.register
def _(loss: ReplacedLoss) -> TradeOff | None:
    base = one_step(loss.base)
    return None if base is None else base.subsample(loss.rate).symmetrise()


@one_step.register
def _(loss: ReplacedGaussianLoss) -> TradeOff | None:
    return ReplacedGaussianTradeOff(loss.mu, loss.rate)
