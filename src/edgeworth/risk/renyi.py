"""Rényi divergences and zCDP, for those who compose with them: both follow from K(s) = log E_P[e^(sL)].

D_a(Q || P) = K(a)/(a - 1) and D_a(P || Q) = K(1 - a)/(a - 1); the larger one counts. At a = 1 these are the means of L,
at a = inf the ends of its support. K adds over the steps, so nothing is lost in composition; what is lost is the way
back: an epsilon that is read off a Rényi curve is larger than the one read off the trade-off function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves import Bracket, Certificate
from edgeworth.errors import InvalidArgument
from edgeworth.losses import GaussianLoss, PrivacyLoss, SampledLoss

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeworth.losses import TotalLoss

    Array = NDArray[np.float64]

__all__ = ["rdp", "zcdp"]

_QUADRATURE = 1e-18  # of K, each step: the rules leave e^-44
_ROUNDING, _NEAR_ONE = 1e-11, 1e-14  # relative, and over a - 1: K(a) is a difference there
_CLOSEST = 1e-4  # to order 1
_FARTHEST = 1e4  # beyond, the bounds that hold for all orders take over
_ORDERS = 601


def rdp(total: TotalLoss, order: ArrayLike) -> Bracket:
    """The Rényi divergence of that order >= 1, the larger of both directions."""
    orders = validation.reals(order=order)
    if not np.all(orders >= 1):
        raise InvalidArgument(f"order={order!r} is out of range; give numbers >= 1")
    ends = _divergence(total, orders.ravel())
    return _bracket(total, *(end.reshape(orders.shape) for end in ends))


def zcdp(total: TotalLoss, largest_order: float = math.inf) -> Bracket:
    """The least rho with D_a <= rho a for all orders 1 < a <= largest_order; inf is zCDP, less is truncated CDP.

    K is convex: between two orders it lies below its chord.
    """
    if not 1 < float(validation.reals(largest_order=largest_order)) <= math.inf:
        raise InvalidArgument(f"largest_order={largest_order!r} is out of range; give a number > 1")
    if total.alternative_only > 0 or total.null_only > 0:
        return _bracket(total, *np.full(3, math.inf))
    limit = math.fsum(n * mu * mu / 2 for loss, n in total.parts if (mu := _mu(loss)) is not None)
    if all(isinstance(loss, GaussianLoss) for loss, _ in total.parts):
        return _bracket(total, *np.array([limit * (1 - _ROUNDING), limit * (1 + _ROUNDING), limit]))
    last = min(float(largest_order), _FARTHEST, total.steepest[1], 1 - total.steepest[0])
    orders = 1 + np.geomspace(min(_CLOSEST, (last - 1) / 2), last - 1, _ORDERS)
    below, above, _ = _divergence(total, orders)
    lower, upper = float(np.max(below / orders)), _between(orders, above)
    if last < largest_order:
        lower = max(lower, limit * (1 - _ROUNDING)) if largest_order == math.inf else lower
        upper = max(upper, math.fsum(n * _beyond(loss, last) for loss, n in total.parts) * (1 + _ROUNDING))
    return _bracket(total, *np.array([lower, upper, lower]))


def _bracket(total: TotalLoss, lower: Array, upper: Array, value: Array) -> Bracket:
    sources = {"quadrature, each step": _QUADRATURE, "rounding, relative": _ROUNDING} if total.is_exact else {}
    certificate = Certificate("renyi", certified=total.is_exact, sources=sources)
    if not total.is_exact:
        lower, upper = np.zeros_like(lower), np.full_like(upper, np.inf)
    return Bracket(lower, upper, value, certificate)


def _divergence(total: TotalLoss, order: Array) -> tuple[Array, Array, Array]:
    """Ends and values. Divergences grow with the order: what is out of reach is enclosed by what is not."""
    least, greatest = total.support
    farthest = max(greatest, -least) + 0.0
    if total.alternative_only > 0 or total.null_only > 0 or not total.parts:
        ends = math.inf if total.parts else 0.0
        return tuple(np.full(order.size, ends) for _ in range(3))  # type: ignore[return-value]
    kappa = total.cumulants(1)
    mean = max(float(kappa.alternative[0]), -float(kappa.null[0]), 0.0)
    near, far = order < 1 + _CLOSEST, order == math.inf
    reachable = np.clip(np.where(far, 2.0, order), 1 + _CLOSEST, min(total.steepest[1], 1 - total.steepest[0]))
    value = _moments(total, reachable) / (reachable - 1)
    steps = math.fsum(n for loss, n in total.parts if not isinstance(loss, GaussianLoss))
    slack = value * (_ROUNDING + _NEAR_ONE / (reachable - 1)) + steps * _QUADRATURE / (reachable - 1)
    lower = np.where(near, mean * (1 - _ROUNDING), np.where(far, farthest, value - slack))
    upper = np.where(order > reachable, farthest, np.minimum(value + slack, farthest))
    upper = np.where(order == 1, mean * (1 + _ROUNDING), upper)
    lower = np.clip(lower, 0.0, upper)
    return lower, upper, np.clip(np.where(near, mean, np.where(far, farthest, value)), lower, upper)


def _moments(total: TotalLoss, order: Array) -> Array:
    """max(K(a), K(1 - a)), at least 0; the nodes are those for the next power of two, whatever the company."""
    reach = np.exp2(np.ceil(np.log2(order)))
    found = np.empty(order.size)
    for limit in np.unique(reach):
        mine = reach == limit
        tilts = np.concatenate([order[mine], 1 - order[mine]])
        ends = max(1 - limit, total.steepest[0]), min(limit, total.steepest[1])
        found[mine] = np.max(total.tilted(tilts, 2, ends)[:, 0].reshape(2, -1), axis=0)
    return np.maximum(found, 0.0)


def _between(orders: Array, divergence: Array) -> float:
    """The greatest K(a)/(a (a - 1)) from order 1 to the last: at grid points, and where a chord of K is steepest."""
    a, b = orders[:-1], orders[1:]
    left, right = divergence[:-1] * (a - 1), divergence[1:] * (b - 1)
    slope = (right - left) / (b - a)
    offset = left - slope * a
    with np.errstate(invalid="ignore", divide="ignore"):
        # (offset + slope x)/(x^2 - x) is stationary where slope x^2 + 2 offset x - offset = 0
        root = np.sqrt(offset * (offset + slope))
        places = np.clip(np.nan_to_num(np.stack([(root - offset) / slope, -(root + offset) / slope, a, b])), a, b)
    inside = (offset + slope * places) / (places * (places - 1))
    return max(float(np.max(inside)), float(divergence[0])) * (1 + _ROUNDING)


def _mu(loss: PrivacyLoss) -> float | None:
    """The mu of Gaussian noise, sampled or not; None for other losses."""
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return base.mu if isinstance(base, GaussianLoss) else None


def _beyond(loss: PrivacyLoss, order: float) -> float:
    """At least D_a/a of one step for every a >= order: mu^2/2 for Gaussian noise, sampled or not (the divergence is
    quasi-convex, so mixing P into Q never raises it), and sup |L|/order for any loss."""  # noqa: D205, D209
    mu = _mu(loss)
    least, greatest = loss.support
    return max(greatest, -least) / order if mu is None else min(mu * mu / 2, max(greatest, -least) / order)
