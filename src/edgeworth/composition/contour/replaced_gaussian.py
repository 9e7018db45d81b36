"""The trapezoidal rule in x for a clipped record that is replaced, tilted by e^(cL), and how its phi falls far out.

The tilted law has the density w = phi N^c D^(1-c), up to a factor, with phi that of N(0, 1), D(x) = N(-x) and
N(x) = 1 - p + p e^(ax - a^2/2). Every bound is proved in docs/proofs/replace-one.md, section 6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.errors import TooLarge

if TYPE_CHECKING:
    from edgeworth.losses import ReplacedGaussianLoss
    from edgeworth.losses.law import Array

__all__ = ["nodes", "noise", "variation"]

_UNIT = 2.0**-53
_STRIPS = np.array([0.004, 0.012, 0.035, 0.08, 0.18, 0.42, 0.85])  # candidates, as shares of theta = pi/2
_CELLS = np.linspace(0.0, 1.0, 400)
_MOST_POINTS = 8_000  # where more are needed, the law has jumps that spoil the line as well
_REST = 1e-9  # nats: what the strips have beyond the cells


def nodes(loss: ReplacedGaussianLoss, c: float, frequency: float, nats: float) -> tuple[Array, float]:
    """Even nodes x, and their distance, that leave e^-nats of phi up to the frequency.

    Beyond their ends the laws tilted by c, 0 and 1 are below e^-nats of their peaks, and fall.
    """
    h, deep = _spacing(loss, c, frequency, nats), math.sqrt(2 * (nats + 6))
    first, last = -_falling_from(loss, 1 - c) - deep, _falling_from(loss, c) + deep
    if not (last - first) / h < _MOST_POINTS:
        raise TooLarge(f"the quadrature of the loss would need {(last - first) / h:.0f} points")
    return h * np.arange(math.floor(first / h), math.ceil(last / h) + 1, dtype=np.float64), h


def _falling_from(loss: ReplacedGaussianLoss, c: float) -> float:
    """From here on log w falls with slope -max(1, a) at least, and for tilts of 0 and 1 too, as c counts as 1 or more.

    (log w)' = -x + c a r(x) + (c-1) a r(-x) with r(x) <= 1, and r(-x) <= r(0) on the right.
    """
    a, c = loss.shift, max(c, 1.0)
    return c * a + (c - 1) * a * float(loss.share(np.zeros(1))[0]) + max(1.0, a)


def _spacing(loss: ReplacedGaussianLoss, c: float, frequency: float, nats: float) -> float:
    """The distance of nodes x that leaves e^-nats of phi up to the frequency.

    On the line Im x = y, theta = a y < pi/2, |w e^(itL)| is at most e^(y^2/2) cos(theta/2)^-e e^(|t| A) times w on the
    real line, e = max(c-1, -c, 0) and A = min(theta, r(x) tan theta) + min(theta, r(-x) tan theta). The integral of
    that is taken from above and that of w from below, cell by cell, and the best of some strips is kept.
    """
    a = loss.shift
    y = np.minimum(_STRIPS * (0.5 * math.pi / a), math.sqrt(2 * nats))
    theta = a * y
    more = math.sqrt(2 * (nats + 2 * frequency * float(theta[-1])))
    first, last = -_falling_from(loss, 1 - c) - more, _falling_from(loss, c) + more
    x = first + (last - first) * _CELLS
    exponent = c * loss.at(x) + loss.log_density(x)
    exponent -= np.max(exponent)
    turn = np.tan(theta)[:, None]
    rise = np.minimum(theta[:, None], turn * loss.share(x[1:])) + np.minimum(theta[:, None], turn * loss.share(-x[:-1]))
    above = np.maximum(exponent[1:], exponent[:-1]) + frequency * rise
    top = np.max(above, axis=1)
    log_above = top + np.log(np.sum(np.exp(np.maximum(above - top[:, None], -700.0)), axis=1))
    below = np.minimum(exponent[1:], exponent[:-1])
    with np.errstate(divide="ignore"):  # too coarse a grid sees nothing, and says inf
        log_below = np.log(np.sum(np.exp(below, where=below > -700.0, out=np.zeros_like(below))))
    between = (x[1] - x[0]) ** 2 * _bend(loss, c) / 4
    turned = -max(c - 1, -c, 0.0) * np.log(np.cos(theta / 2))
    growth = y * y / 2 + turned + log_above - log_below + between + _REST
    return float(np.max(2 * math.pi * y / (nats + growth)))


def _bend(loss: ReplacedGaussianLoss, c: float) -> float:
    """At least |(log w)''|: 1 of phi, and a^2 r (1-r) <= a^2/4 of log N and of log D."""
    return 1 + (abs(c) + abs(1 - c)) * loss.shift**2 / 4


def noise(loss: ReplacedGaussianLoss, c: float, x: Array, value: Array) -> Array:
    """Relative rounding error of a weight beside that of any law: what exponents a^2/2 and ax add to L and log D."""
    a = loss.shift
    return np.asarray(_UNIT * ((8 + a * a) * (1 + np.abs(c * value)) + x * x + 2 * a * np.abs(x)))


def variation(loss: ReplacedGaussianLoss, c: float, x: Array, weight: Array, h: float) -> float:
    """The total variation of w/L': by parts, |phi(t)| is at most that over |t|.

    L' = a (r(x) + r(-x)), and |(log L')''| <= 2 a^2. What the nodes do not see of a cell is bounded as for samples.
    """
    g = weight / (h * loss.slope(x))
    hidden = math.expm1(h * h * (_bend(loss, c) + 2 * loss.shift**2) / 8)
    run = np.abs(np.diff(g)) + 2 * hidden * np.maximum(g[1:], g[:-1])
    return (float(np.sum(run)) + float(g[0] + g[-1])) * (1 + 1e-9)
