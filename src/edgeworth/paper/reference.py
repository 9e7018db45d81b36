"""The truth that every method is judged by: T(P, Q) of the paper's two experiments, to 1e-10 or better in f.

Both come from P[T > t] and Q[T <= t] at one threshold t. The test at t and the slope -e^t of f there give f(alpha) near
alpha(t) up to the square of alpha - alpha(t), and exactly on the straight segment that an atom of T makes.

Laplace noise: with S = (T + n theta)/2 the sum of n copies of clip(x, 0, theta), x ~ Lap(0, 1), expand by the number m
of copies strictly inside (0, theta); each has density e^-x/2 there, so

    P[S <= s] = 2^-n sum_m C(n, m) sum_r w_(m,r) e^(-r theta) Gamma_m(s - r theta),
    sum_r w_(m,r) z^r = (1 - z)^m (1 + z)^(n-m),

Gamma_m the distribution function of the sum of m standard exponentials (m = 0: the atoms at r theta). Q is the mirror
image.

Noisy SGD: with M(s) = E_P[e^(sL)] and the line Re s = 1/2, between the two poles,

    P[T > t]  = (1/2 pi i) integral of M(s)^n e^(-st)/s ds,
    Q[T <= t] = (1/2 pi i) integral of M(s)^n e^((1-s)t)/(1-s) ds,

both by the trapezoidal rule on the same nodes, whatever t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.polynomial import polynomial
from scipy.special import gammaincc, ndtr

from edgeworth.curves import PiecewiseLinear
from edgeworth.errors import ComputationFailed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array: TypeAlias = NDArray[np.float64]
    ComplexArray: TypeAlias = NDArray[np.complex128]

__all__ = ["Reference", "laplace_reference", "noisy_sgd_reference"]

#: (P[T > t], Q[T <= t], Q[T > t]) at an array of thresholds t
Tests: TypeAlias = Callable[["Array"], tuple["Array", "Array", "Array"]]

_TABLE = 1025  # thresholds tried first
_TURNS = 120  # at most, of halving and secant together: down to the spacing of doubles where alpha(t) jumps
_CLOSE = 1e-7  # relative, of alpha(t) to alpha: its square is what f is wrong by
_NATS = 36.0  # e^-36 = 2e-16
_BLOCK = 256  # nodes on the line taken at a time
_MOST_BLOCKS = 400


@dataclass(frozen=True)
class Reference:
    """f = T(P, Q) by its likelihood-ratio tests, for thresholds between `low` and `high`.

    >>> f = noisy_sgd_reference(sigma=1.0, rate=1.0, n=4)
    >>> bool(abs(f(0.05) - ndtr(1.6448536269514722 - 2)) < 1e-12)
    True
    """

    tests: Tests
    low: float
    high: float

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Thresholds from high to low, and their alpha, made increasing against rounding."""
        t = np.linspace(self.high, self.low, _TABLE)
        return t, np.maximum.accumulate(self.tests(t)[0])

    def __call__(self, alpha: ArrayLike) -> Array:
        """f(alpha)."""
        wanted = np.atleast_1d(np.asarray(alpha, dtype=np.float64)).ravel()
        t, at = self._threshold(wanted)
        value = np.clip(self.tests(t)[1] - np.exp(t) * (wanted - at), 0.0, 1 - wanted)
        return np.asarray(np.where(wanted <= 0, 1.0, value)).reshape(np.shape(alpha))

    def _threshold(self, wanted: Array) -> tuple[Array, Array]:
        """A threshold t and its alpha(t), close to alpha, or t on an atom: halving and the secant in turn."""
        grid, on_grid = self._table
        cell = np.clip(np.searchsorted(on_grid, wanted), 1, _TABLE - 1)
        low, high = grid[cell], grid[cell - 1]
        at_low, at_high = on_grid[cell], on_grid[cell - 1]
        close = _CLOSE * np.minimum(wanted, 1 - wanted)
        todo = np.flatnonzero(at_high + close < wanted)
        for turn in range(_TURNS):
            if not todo.size:
                break
            share = np.full(todo.size, 0.5)
            if turn % 2 == 0:
                gap = at_low[todo] - at_high[todo]
                share = np.clip((at_low[todo] - wanted[todo]) / np.where(gap > 0, gap, 1.0), 0.01, 0.99)
            middle = low[todo] + share * (high[todo] - low[todo])
            at = self.tests(middle)[0]
            right = at > wanted[todo]
            low[todo], at_low[todo] = np.where(right, middle, low[todo]), np.where(right, at, at_low[todo])
            high[todo], at_high[todo] = np.where(right, high[todo], middle), np.where(right, at_high[todo], at)
            far = np.minimum(at_low[todo] - wanted[todo], wanted[todo] - at_high[todo]) > close[todo]
            todo = todo[far & (high[todo] - low[todo] > 4e-16 * (1 + np.abs(high[todo])))]
        nearer = at_low - wanted < wanted - at_high
        return np.where(nearer, low, high), np.where(nearer, at_low, at_high)

    def delta(self, epsilon: ArrayLike) -> Array:
        """The profile Q[T > eps] - e^eps P[T > eps]; beyond the range of thresholds as at its ends."""
        wanted = np.asarray(epsilon, dtype=np.float64)
        alpha, _, power = self.tests(np.clip(np.atleast_1d(wanted), self.low, self.high))
        return np.asarray(np.maximum(power.reshape(wanted.shape) - np.exp(wanted) * alpha.reshape(wanted.shape), 0.0))

    def piecewise_linear(self, points: int = 4001) -> PiecewiseLinear:
        """The chords between the tests at evenly spaced thresholds: above f, by less than 1e-5; for drawing."""
        alpha, beta, power = self.tests(np.linspace(self.high, self.low, points))
        return PiecewiseLinear.hull(np.clip(alpha, 0.0, 1.0), beta, power=power)


def laplace_reference(theta: float, n: int) -> Reference:
    """T(Lap(0, 1)^n, Lap(theta, 1)^n), to about 1e-14 for n <= 10; cancels beyond n = 25."""
    r = np.arange(n + 1)
    atoms = np.array([math.comb(n, k) for k in r]) * np.exp(-r * theta) / 2**n
    weight = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        signs = polynomial.polymul(polynomial.polypow([1.0, -1.0], m), polynomial.polypow([1.0, 1.0], n - m))
        weight[m] = math.comb(n, m) * signs * np.exp(-r * theta) / 2**n

    def beyond(s: Array) -> Array:
        """The mass of the law under P beyond s, without the atoms."""
        place = np.maximum(s[:, None] - theta * r, 0.0)
        return np.asarray(sum(gammaincc(m, place) @ weight[m] for m in range(1, n + 1)))

    def tests(t: Array) -> tuple[Array, Array, Array]:
        s = (t + n * theta) / 2
        reached = s[:, None] >= theta * r  # one comparison for both laws: they agree on which atoms are rejected
        alpha = beyond(s) + ~reached @ atoms
        beta = beyond(n * theta - s) + reached @ atoms[::-1]
        return alpha, beta, 1 - beta

    return Reference(tests, -n * theta * (1 + 1e-15) - 1e-15, n * theta)


def noisy_sgd_reference(sigma: float, rate: float, n: int) -> Reference:
    """T(N(0, 1)^n, ((1-p) N(0, 1) + p N(1/sigma, 1))^n), to 1e-10 or better; n = 1 in closed form."""
    mu = 1 / sigma
    low, high = _thresholds(mu, rate, n)
    if n == 1:
        return Reference(_one_step(mu, rate), low, high)
    spacing = 2 * math.pi / (2 * (_NATS + max(-low, high)))
    line, moment = _moments_on_line(mu, rate, n, spacing)
    at_null, at_alternative = moment / line, moment / (1 - line)

    def tests(t: Array) -> tuple[Array, Array, Array]:
        alpha, beta = np.empty(t.size), np.empty(t.size)
        for part in np.array_split(np.arange(t.size), 1 + t.size * line.size // 2_000_000):
            wave = np.exp(-1j * np.outer(t[part], line.imag))
            alpha[part] = np.exp(-t[part] / 2) * (wave @ at_null).real
            beta[part] = np.exp(t[part] / 2) * (wave @ at_alternative).real
        alpha, beta = (np.clip(part * spacing / np.pi, 0.0, 1.0) for part in (alpha, beta))
        return alpha, beta, 1 - beta

    return Reference(tests, low, high)


def _one_step(mu: float, rate: float) -> Tests:
    """L > t where x > (log(1 + (e^t - 1)/p) + mu^2/2)/mu."""

    def tests(t: Array) -> tuple[Array, Array, Array]:
        inside = np.maximum(1 + np.expm1(t) / rate, np.finfo(float).tiny)
        x = (np.log(inside) + mu * mu / 2) / mu
        beta = rate * ndtr(x - mu) + (1 - rate) * ndtr(x)
        return ndtr(-x), beta, rate * ndtr(mu - x) + (1 - rate) * ndtr(-x)

    return tests


def _loss(x: Array, mu: float, rate: float) -> Array:
    """L(x) = log(1 - p + p e^(mu x - mu^2/2)), without overflow or cancellation."""
    shift = mu * x - mu * mu / 2
    if rate == 1:
        return shift
    return np.where(
        shift < 0,
        np.log1p(rate * np.expm1(np.minimum(shift, 0))),
        shift + np.log(rate + (1 - rate) * np.exp(-np.abs(shift))),
    )


def _thresholds(mu: float, rate: float, n: int) -> tuple[float, float]:
    """Thresholds beyond which both errors are below 1e-10, by standard deviations; cut at the end of the support."""
    x = np.linspace(-10.0, 10.0 + mu, 4001)
    loss = _loss(x, mu, rate)
    null = np.exp(-x * x / 2)
    means, spreads = [], []
    for mass in (null, null * np.exp(loss)):
        mean = np.average(loss, weights=mass)
        means.append(n * float(mean))
        spreads.append(math.sqrt(n * float(np.average((loss - mean) ** 2, weights=mass))))
    end = n * math.log1p(-rate) if rate < 1 else -math.inf
    if n == 1:
        return max(end, float(loss[0])), float(loss[-1])
    return max(end, means[0] - 7 * spreads[0]), means[1] + 12 * spreads[1]


def _moments_on_line(mu: float, rate: float, n: int, spacing: float) -> tuple[ComplexArray, ComplexArray]:
    """The nodes s = 1/2 + iy, y >= 0, and M(s)^n there (half of it at y = 0), until it has died out."""
    nodes, moments = [], []
    for block in range(_MOST_BLOCKS):
        y = spacing * np.arange(block * _BLOCK, (block + 1) * _BLOCK)
        # The trapezoidal rule in x: at distance v off the line |e^(iyL)| grows by e^(y mu v); L is analytic to pi/mu.
        strip = min(0.97 * math.pi / mu, math.sqrt(2 * _NATS))
        h = 2 * math.pi / (y[-1] * mu + strip / 2 + (_NATS + math.log(n)) / strip)
        x = np.arange(-9.0, 9.0 + mu, h)
        loss = _loss(x, mu, rate)
        weight = h * np.exp(-x * x / 2 + loss / 2) / math.sqrt(2 * math.pi)
        moment = (np.exp(1j * np.outer(y, loss)) @ weight) ** n
        if block == 0:
            moment[0] /= 2
        nodes.append(0.5 + 1j * y)
        moments.append(moment)
        if np.max(np.abs(moment[-_BLOCK // 2 :])) < 1e-14 * y[-1]:
            return np.concatenate(nodes), np.concatenate(moments)
    raise ComputationFailed(f"noisy SGD with n={n}, rate={rate}: the moments die out too slowly on the line")
