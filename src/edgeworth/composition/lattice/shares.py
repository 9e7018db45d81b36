"""The shares of cells of Gaussian and Laplace noise: positive integrals, accurate relative to themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeworth.losses import ReplacedGaussianLoss
    from edgeworth.losses.law import Array

__all__ = [
    "gaussian_error",
    "gaussian_shares",
    "laplace_shares",
    "partly_held_shares",
    "replaced_gaussian_shares",
    "sampled_gaussian_shares",
]

_UNIT = 2.0**-53
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_FEW, _MORE = (np.polynomial.legendre.leggauss(nodes) for nodes in (5, 7))
_PANEL_POINT, _PANEL_SHARE = np.polynomial.legendre.leggauss(16)
_PANELS = 24  # of a wide cell
_NARROWEST, _NARROW = 0.02, 0.5  # the logarithm of the integrand moves by less where five, seven nodes are enough
_NATS = 46.0  # e^-46 = 1e-20: what a wide cell may leave out of an integral, relative to it
_BLOCK, _WIDE_BLOCK = 2**16, 2**10  # cells at a time: some megabytes


def gaussian_error(x: Array, length: float) -> float:
    """Of masses e^(-x^2/2): the place x has some ulps of itself, the quadrature 1e-16."""
    top = float(np.max(np.abs(x), initial=1.0)) + length
    return (64 + 8 * top * top) * _UNIT


def sampled_gaussian_shares(edge: Array, gap: Array, mu: float, p: float) -> tuple[Array, Array]:
    """Cells of the base at the images of the ends; the first may reach to -inf."""
    with np.errstate(divide="ignore"):
        x = np.log(edge / p) / mu + mu / 2
        length = np.log1p(gap / edge[:-1]) / mu
    return gaussian_shares(x[:-1], length, mu, right=x[1:])


def replaced_gaussian_shares(loss: ReplacedGaussianLoss, h: float, first: int, last: int) -> tuple[Array, Array, float]:
    """Logarithms of both shares of the cells [k h, (k+1) h] for 0 <= first <= k < last, and their relative error.

    With N - e^g D = p e^(-a^2/2) (e^(ax) - e^(a x_g)) (1 + e^(g - a x - a x_g)) both shares are those of Gaussian noise
    with mu = a, about x and, as phi(x) e^(-ax) = e^(a^2/2) phi(x + a), about x + a.
    """
    a, g = loss.shift, np.asarray(h * np.arange(first, last + 1), dtype=np.float64)
    turn = loss.turn(g)
    x = (0.5 * g + turn) / a
    length = _lengths(loss, h, g)
    near, far = gaussian_shares(x[:-1], length, a), gaussian_shares(x[:-1] + a, length, a)
    front = math.log(loss.rate) - 0.5 * g[:-1] + turn[:-1] - a * a / 2 + np.log(np.expm1(a * length) / math.expm1(h))
    rest = a * a / 2 + 0.5 * g - turn
    left = front + np.logaddexp(near[0], far[0] + rest[1:])
    right = front + np.logaddexp(near[1], far[1] + rest[:-1])
    # The turn has an error of that of its factor, or as much of itself; the exponents have some ulps of themselves.
    top = float(x[-1]) + a
    factor = a * a + 2 * abs(math.log(loss.rate)) + 16
    exponents = a * top + float(g[-1]) + factor
    error = gaussian_error(x + a, 1.0) + _UNIT * (16 * exponents + 2 * (top + a) * factor * min(1 / a, top))
    return left, right, error


def _lengths(loss: ReplacedGaussianLoss, h: float, g: Array) -> Array:
    """The lengths of the cells in x, each to its own precision: (h/2 + v(g + h) - v(g))/a.

    v = asinh z with z = w sinh(g/2), and asinh z' - asinh z = asinh((z'^2 - z^2)/(z' sqrt(1+z^2) + z sqrt(1+z'^2))),
    a quotient that is taken after division of both by z'^2.
    """
    low, high = g[:-1], g[1:]
    with np.errstate(divide="ignore"):
        ratio = np.where(low > 0, np.exp(-0.5 * h) * np.expm1(-low) / np.expm1(-high), 0.0)  # z/z'
    inverse = 1 / np.sinh(np.minimum(loss.turn(high), 350.0))  # 1/z'
    apart = -np.expm1(-0.5 * h) * (1 + np.exp(-0.5 * (low + high))) / -np.expm1(-high)  # 1 - z/z'
    rise = apart * (1 + ratio) / (np.hypot(inverse, ratio) + ratio * np.hypot(inverse, 1.0))
    return np.asarray((0.5 * h + np.arcsinh(rise)) / loss.shift)


def gaussian_shares(x: Array, length: Array, mu: float, right: Array | None = None) -> tuple[Array, Array]:
    """Logarithms of both shares of the cells [x, x + length] under N(0, 1), X = e^(mu x); block by block."""
    end = x + length if right is None else right
    log_left, log_right = np.empty(x.size), np.empty(x.size)
    for start in range(0, x.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        log_left[part], log_right[part] = _block_shares(x[part], end[part], length[part], mu)
    return log_left, log_right


def _block_shares(x: Array, end: Array, length: Array, mu: float) -> tuple[Array, Array]:
    """Narrow cells by few nodes, wide ones by panels."""
    with np.errstate(invalid="ignore"):
        change = np.maximum(np.abs(x), np.abs(end)) * length + length**2 + mu * length
    log_left, log_right = np.empty(x.size), np.empty(x.size)
    narrowest = change <= _NARROWEST
    for narrow, rule in ((narrowest, _FEW), (~narrowest & (change <= _NARROW), _MORE)):
        if narrow.any():
            start, d = x[narrow], length[narrow]
            left, to_right = _narrow_sums(start * d, d * d, mu * d, rule)
            front = -0.5 * start * start - _LOG_ROOT_TWO_PI + np.log(d)
            log_left[narrow], log_right[narrow] = front + np.log(left), front + np.log(to_right)
    (wide,) = np.nonzero(~(change <= _NARROW))
    for begin in range(0, wide.size, _WIDE_BLOCK):
        at = wide[begin : begin + _WIDE_BLOCK]
        log_left[at], log_right[at] = _wide_shares(x[at], end[at], length[at], mu)
    return log_left, log_right


def _narrow_sums(slope: Array, curvature: Array, span: Array, rule: tuple[Array, Array]) -> tuple[Array, Array]:
    """Integrals over 0 < t < 1 of e^(-slope t - curvature t^2/2) times the shares of both ends.

    The nodes keep away from 1, so 1 minus the share of the right end loses no more than some ulps.
    """
    left, right = np.zeros(slope.size), np.zeros(slope.size)
    whole = np.expm1(span)
    for t, weight in zip(0.5 * (1 + rule[0]), 0.5 * rule[1], strict=True):
        density = weight * np.exp(-(slope + 0.5 * curvature * t) * t)
        to_right = density * (np.expm1(span * t) / whole)
        right += to_right
        left += density - to_right
    return left, right


def _wide_shares(x: Array, end: Array, length: Array, mu: float) -> tuple[Array, Array]:
    """The same by panels over the part of the cell around each integrand's own peak."""
    whole = -np.expm1(-mu * length)

    def places(peak: Array, centre: float) -> tuple[Array, Array]:
        depth = np.abs(peak - centre)
        room = np.sqrt(depth**2 + 2 * _NATS) - depth
        low, high = np.maximum(x, peak - room), np.minimum(end, peak + room)
        step = (high - low) / _PANELS
        panel = low[:, None] + step[:, None] * np.arange(_PANELS)
        place = panel[:, :, None] + step[:, None, None] * (0.5 * (1 + _PANEL_POINT))
        weight = np.broadcast_to(step[:, None, None] * (0.5 * _PANEL_SHARE), place.shape)
        return place.reshape(x.size, -1), weight.reshape(x.size, -1)

    place, weight = places(np.clip(0.0, x, end), 0.0)
    peak = -0.5 * np.clip(0.0, x, end) ** 2
    density = weight * np.exp(-0.5 * place**2 - peak[:, None])
    left = np.sum(density * -np.expm1(-mu * (end[:, None] - place)), axis=1) / whole
    log_left = peak - _LOG_ROOT_TWO_PI + np.log(left)
    # phi(x) e^(-mu (end - x)) = phi(x - mu) e^(mu^2/2 - mu end)
    place, weight = places(np.clip(mu, x, end), mu)
    peak = -0.5 * (np.clip(mu, x, end) - mu) ** 2
    density = weight * np.exp(-0.5 * (place - mu) ** 2 - peak[:, None])
    with np.errstate(invalid="ignore"):
        rise = np.where(np.isfinite(x)[:, None], -np.expm1(-mu * (place - x[:, None])), 1.0)
    right = np.sum(density * rise, axis=1) / whole
    return log_left, peak - _LOG_ROOT_TWO_PI + mu * mu / 2 - mu * end + np.log(right)


def laplace_shares(x: Array, length: Array, theta: float) -> tuple[Array, Array]:
    """Logarithms of both shares under the density e^-x/2 on 0 < x < theta, X = e^(2x)."""
    return partly_held_shares(x, length, np.clip(theta - x, 0.0, length))


def partly_held_shares(x: Array, length: Array, d: Array) -> tuple[Array, Array]:
    """The same, with d the length of the part of each cell, from its left end on, that has mass; formulas.

    The right share is the integral over 0 < t < d of e^-t (e^(2t) - 1)/2 over e^(2 length) - 1, that is
    (e^d - 1)^2 e^-d/2 over the same.
    """
    with np.errstate(divide="ignore"):
        log_whole = np.log(np.expm1(2 * length))
        log_right = 2 * np.log(np.expm1(d)) - d - math.log(2) - x - log_whole
        # left: e^(2 length) (1 - e^-d) - (e^d - 1), over 2: = (1 - e^-d) (e^(2 length) - e^d)/2
        log_left = np.log(-np.expm1(-d)) + d + np.log(np.expm1(2 * length - d)) - math.log(2) - x - log_whole
    return log_left, log_right
