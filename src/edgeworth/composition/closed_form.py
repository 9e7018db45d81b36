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
import sys
from functools import singledispatch

from edgeworth.amplification import has_known_end
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
_SAMPLE_ROUNDING = 5e-12  # the same of profiles of samples, and of mixtures of normal laws, measured at 5e-13
_FAR = 10.0  # of mu: up to here its own rounding is within _ROUNDING of every delta and f
_MU_ULPS = 2.0**-51  # relative, of mu: the root of a sum of squares of 1/sigma
_LARGEST = sys.float_info.max
_SMALL = 1e-290  # of a largest loss: the second double of a smaller one underflows
_ULPS = 20 * 2.0**-53  # of the largest loss, and of what a sample adds to its argument: where delta comes down to 0


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
    sampled = any(isinstance(loss, SampledLoss | ReplacedLoss | ReplacedGaussianLoss) for loss, _ in total.parts)
    rounding = _SAMPLE_ROUNDING if sampled else _ROUNDING
    shift = _shift(total)
    sources = {"rounding, relative": rounding} | ({"rounding of epsilon, absolute": shift} if shift else {})
    certificate = Certificate("closed-form", certified=True, sources=sources)
    lower, upper = (_curve(total, lean) for lean in (1, -1)) if _is_far(total) else (found, found)
    of_f = None if isinstance(found, ReplacedGaussianTradeOff) else _ROUNDING
    return ComposedCurve(found, certificate, lower, upper, rounding, shift, of_f)


def _curve(total: TotalLoss, lean: int = 0) -> TradeOff | None:
    """The first row of the table that applies; with a lean, that of a mu which is surely larger or surely smaller."""
    if nothing_ran(total):
        return with_disclosure(Identity(), total)
    laws = [loss for loss, _ in total.parts]
    if all(isinstance(loss, GaussianLoss) for loss in laws):
        return GaussianTradeOff(_leaning(_joint_mu(total), lean))
    if len(laws) > 1 or total.parts[0][1] > 1:
        return None
    return one_step(laws[0], lean)


def _joint_mu(total: TotalLoss) -> float:
    """The root of the sum of n mu^2; in units of 2^600 where squares would overflow."""
    steps = [(n, loss.mu) for loss, n in total.parts if isinstance(loss, GaussianLoss)]
    unit = 1.0 if max(mu for _, mu in steps) < _LARGE else _HUGE
    return math.sqrt(math.fsum(n * (mu / unit) ** 2 for n, mu in steps)) * unit


def _leaning(mu: float, lean: int) -> float:
    """The mu beyond which rounding cannot have moved it: less noise is never more privacy."""
    return min(mu * (1 + lean * _MU_ULPS), _LARGEST)


def _is_far(total: TotalLoss) -> bool:
    """Whether the rounding of mu counts: delta moves by x (x + mu) times as much, x = eps/mu - mu/2."""
    laws = [loss for loss, _ in total.parts]
    if all(isinstance(loss, GaussianLoss) for loss in laws):
        return bool(laws) and _joint_mu(total) > _FAR
    return any(_mu_inside(loss) > _FAR for loss in laws)


def _mu_inside(loss: PrivacyLoss) -> float:
    """The mu of Gaussian noise, sampled or not; 0 of any other law."""
    while isinstance(loss, SampledLoss | ReplacedLoss):
        loss = loss.base
    return loss.mu if isinstance(loss, GaussianLoss | ReplacedGaussianLoss) else 0.0


def _shift(total: TotalLoss) -> float:
    """How far rounding may move the largest loss, or the epsilon at which the formula of a sample asks its base.

    A largest loss that is a rational number, or that of a sample of it, is not moved: the formulas know it in two
    doubles. Other samples are moved by ulps of their largest loss, times the logarithm of the rate.
    """
    farthest = max(abs(end) for end in total.support)
    if not math.isfinite(farthest) or (all(map(_is_known, total.parts)) and not 0 < farthest < _SMALL):
        return 0.0
    asked = [1 - math.log(loss.rate) for loss, _ in total.parts if isinstance(loss, SampledLoss | ReplacedLoss)]
    return _ULPS * (farthest + min(2 * farthest, 1.0) * sum(asked))


def _is_known(part: tuple[PrivacyLoss, int]) -> bool:
    """Whether the formula has all digits next to the largest loss."""
    loss, _ = part
    if isinstance(loss, SampledLoss | ReplacedLoss):
        return has_known_end(loss.base.largest, loss.rate)
    return loss.largest is not None


@singledispatch
def one_step(loss: PrivacyLoss, lean: int = 0) -> TradeOff | None:
    """The trade-off function of one step, or None where it has no formula; its mu may lean to a side."""
    del loss, lean
    return None


@one_step.register
def _(loss: GaussianLoss, lean: int = 0) -> TradeOff | None:
    return GaussianTradeOff(_leaning(loss.mu, lean))


@one_step.register
def _(loss: LaplaceLoss, lean: int = 0) -> TradeOff | None:
    del lean
    return LaplaceTradeOff(loss.theta, loss.exact)


@one_step.register
def _(loss: BinaryLoss, lean: int = 0) -> TradeOff | None:
    del lean
    return ApproxDPTradeOff(loss.epsilon, loss.alternative_only, loss.exact)


@one_step.register
def _(loss: SampledLoss, lean: int = 0) -> TradeOff | None:
    base = one_step(loss.base, lean)
    return None if base is None else base.subsample(loss.rate)


@one_step.register
def _(loss: ReplacedLoss, lean: int = 0) -> TradeOff | None:
    base = one_step(loss.base, lean)
    return None if base is None else base.subsample(loss.rate).symmetrise()


@one_step.register
def _(loss: ReplacedGaussianLoss, lean: int = 0) -> TradeOff | None:
    return ReplacedGaussianTradeOff(_leaning(loss.mu, lean), loss.rate)
