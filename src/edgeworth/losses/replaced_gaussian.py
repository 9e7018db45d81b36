"""Poisson samples of Gaussian noise when a record is replaced and no record adds more than half the sensitivity.

A sum of values of norm at most C moves by C if a record is left out and by 2C if it is replaced. In units of the noise
let mu = 2C/sigma and a = mu/2 = C/sigma. No two values x, y leak more than a and -a on a line, whatever the dimension:

    P = (1-p) N(0, 1) + p N(-a, 1),    Q = (1-p) N(0, 1) + p N(a, 1).

`docs/proofs/replace-one.md` proves it. With phi the density of N(0, 1) the two densities are phi D and phi N,

    N(x) = 1 - p + p e^(ax - a^2/2),    D(x) = N(-x),    L = log N(x) - log D(x),

an increasing and odd function of x, so that one direction is the mirror image of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from edgeworth.errors import TooLarge
from edgeworth.losses.law import Nodes, PrivacyLoss
from edgeworth.losses.moments import cumulants_of_nodes, cumulants_to_all_digits

if TYPE_CHECKING:
    from edgeworth.losses.law import Array
    from edgeworth.losses.moments import Cumulants, DecimalNodes

__all__ = ["ReplacedGaussianLoss"]

_NATS = 44.0  # e^-44 = 8e-20: what truncation and spacing of the x-quadrature may leave out
_REACH = math.sqrt(2 * _NATS) + 0.5
_MOST_NODES = 1 << 21  # 16 MB an array; reached by noise multipliers below 2e-4
_MOST_STEPS = 20_000
_LARGEST_EXPONENT = 700.0
_FAR = 300.0  # the logarithm from which on sinh and asinh are their exponentials
_WORTH_DECIMALS = 12.0  # a mu beyond which losses do not cancel, and would need too many decimal nodes


@dataclass(frozen=True)
class ReplacedGaussianLoss(PrivacyLoss):
    """The loss between the two mixtures: a replaced record moves the mean by mu, one that is left out by mu/2."""

    mu: float
    rate: float

    @property
    def shift(self) -> float:
        """The number a = mu/2."""
        return self.mu / 2

    @property
    def support(self) -> tuple[float, float]:
        """All reals."""
        return -math.inf, math.inf

    @property
    def is_symmetric(self) -> bool:
        """L is odd, and x under P has the law of -x under Q."""
        return True

    @property
    def steepest(self) -> tuple[float, float]:
        """As far as the way to the peak c a takes some ten thousand nodes."""
        a = self.shift
        most = 1 + min(_MOST_STEPS * min(1 / a, 5.0) / (16 * a), 1e6)
        return 1 - most, most

    def at(self, x: Array) -> Array:
        """L(x) = log(1 + p (e^(ax) - e^(-ax)) e^(-a^2/2)/D(x)) for x >= 0, accurate where it is small or large."""
        a, p, y = self.shift, self.rate, np.abs(x)
        rise = a * y - a * a / 2
        null = 1 - p + p * np.exp(-a * y - a * a / 2)
        near = np.log1p(p * np.exp(np.minimum(rise, _LARGEST_EXPONENT)) * -np.expm1(-2 * a * y) / null)
        large = np.maximum(rise, _LARGEST_EXPONENT)
        far = large + math.log(p) + np.log1p((1 - p) * np.exp(-large - math.log(p))) - np.log(null)
        return np.asarray(np.copysign(np.where(rise <= _LARGEST_EXPONENT, near, far), x))

    def slope(self, x: Array) -> Array:
        """L'(x) = a (r(x) + r(-x))."""
        return np.asarray(self.shift * (self.share(x) + self.share(-x)))

    def share(self, x: Array) -> Array:
        """r(x) = p e^(ax - a^2/2)/N(x), the share of the shifted law in Q."""
        a = self.shift
        with np.errstate(over="ignore"):  # odds of inf are a share of 0
            odds = min((1 - self.rate) / self.rate, 1e300) * np.exp(np.clip(a * a / 2 - a * x, -_FAR, 2 * _FAR))
        return np.asarray(1.0 / (1.0 + odds))

    def turn(self, loss: Array) -> Array:
        """v(l) = asinh((1-p)/p e^(a^2/2) sinh(l/2)), with which a x = l/2 + v: for l >= 0.

        N = e^l D is p e^(-a^2/2) (w - 1/w) = 2 (1-p) sinh(l/2) for w = e^(ax - l/2).
        """
        half = 0.5 * loss
        log_factor = math.log1p(-self.rate) - math.log(self.rate) + self.shift**2 / 2
        with np.errstate(divide="ignore"):
            log_sinh = half + np.log(-np.expm1(-loss)) - math.log(2)
        plain = (half < _FAR) & (log_factor < _FAR)
        factor = (1 - self.rate) / self.rate * math.exp(min(self.shift**2 / 2, _FAR)) if log_factor < _FAR else 1.0
        near = np.arcsinh(factor * np.sinh(np.where(plain, half, 0.0)))
        log_both = log_factor + log_sinh
        far = np.where(log_both > _FAR, log_both + math.log(2), np.arcsinh(np.exp(np.minimum(log_both, _FAR))))
        return np.asarray(np.where(plain, near, far))

    def place(self, loss: Array) -> Array:
        """The x at which L(x) = l."""
        size = np.abs(loss)
        return np.asarray(np.copysign((0.5 * size + self.turn(size)) / self.shift, loss))

    def distribution(self, loss: Array) -> tuple[Array, Array, Array, Array]:
        """Mixtures of normal tails at x(l)."""
        x, a, p = self.place(loss), self.shift, self.rate
        below, above = (1 - p) * ndtr(x), (1 - p) * ndtr(-x)
        return below + p * ndtr(x + a), above + p * ndtr(-x - a), below + p * ndtr(x - a), above + p * ndtr(a - x)

    def log_density(self, x: Array) -> Array:
        """The logarithm of phi D, the density under P."""
        a, p = self.shift, self.rate
        with np.errstate(under="ignore"):
            ratio = np.logaddexp(math.log1p(-p), math.log(p) - a * x - a * a / 2)
        return np.asarray(ratio - 0.5 * x * x - 0.5 * math.log(2 * math.pi))

    def nodes(self, tilt: tuple[float, float] = (0.0, 1.0)) -> Nodes:
        """The trapezoidal rule in x.

        The law tilted by c has the density phi N^c D^(1-c). On the line Im x = y with theta = a y <= pi/2 its modulus
        is at most e^(y^2/2) cos(theta/2)^-e times that on the real line, e = max(c - 1, -c, 0), and that power is at
        most e^(e theta^2/7). So with b = 1 + 2 e a^2/7 the error is e^-NATS for h = 2 pi/(NATS/y + b y/2). The mass
        lies within sqrt(2 NATS) of the peaks, between -(1-c) a and c a; far laws are bumps at the ends and at 0.
        """
        a, excess = self.shift, max(tilt[1] - 1, -tilt[0], 0.0)
        bend = 1 + 2 * excess * a * a / 7
        y = min((0.5 if excess > 0 else 0.97) * math.pi / a, math.sqrt(2 * _NATS / bend))
        h = 2 * math.pi / (_NATS / y + bend * y / 2)
        left, right = -max(1 - tilt[0], 1.0) * a - _REACH, max(tilt[1], 1.0) * a + _REACH
        apart = a > 6 * _REACH
        ends = [(left, _REACH - a), (-_REACH, _REACH), (a - _REACH, right)] if apart else [(left, right)]
        count = sum((high - low) / h for low, high in ends)
        if count > _MOST_NODES:
            raise TooLarge(
                f"noise of multiplier {1 / self.mu:.3g} separates neighbours so far that its law takes {count:.2g} "
                f"nodes, more than {_MOST_NODES}; with so little noise a record is seen whenever it is sampled, "
                "which ApproxDP(epsilon=0.0, delta=rate) describes"
            )
        x = np.concatenate([h * np.arange(math.floor(low / h), math.ceil(high / h) + 1) for low, high in ends])
        return Nodes(self.at(x), self.log_density(x) + math.log(h))

    def cumulants(self, order: int) -> Cumulants:
        """By quadrature; in decimal arithmetic where double precision would cancel.

        At a small rate the r-th power of L moves the mass as a tilt by r would, until a x = log(1/p), where L turns.
        """
        turning = 0.0 if self.shift > _REACH else 2.0 - math.log(self.rate) / self.shift**2
        most = min(order, turning)
        nodes = self.nodes((-most, 1.0 + most))
        double = cumulants_of_nodes(nodes.loss, nodes.log_weight, order)
        if self.mu > _WORTH_DECIMALS:
            return double
        return cumulants_to_all_digits(double, self.decimal_nodes, order)

    def decimal_nodes(self, digits: int) -> DecimalNodes:
        """The same rule in decimal arithmetic, its error below 10^-digits."""
        nats = 2.31 * digits + 10
        y = min(0.97 * math.pi / self.shift, math.sqrt(2 * nats))
        h = Decimal(repr(2 * math.pi / (nats / y + y / 2)))
        last = math.ceil((2 * self.shift + math.sqrt(2 * nats) + 0.5) / float(h))
        with localcontext() as context:
            context.prec = digits + 10
            a, p = Decimal(self.mu) / 2, Decimal(self.rate)
            x = [h * k for k in range(-last, last + 1)]
            shifted = [1 - p + p * (a * z - a * a / 2).exp() for z in x]
            weight = [(-z * z / 2).exp() * null for z, null in zip(x, reversed(shifted), strict=True)]
            total = sum(weight, Decimal(0))
            loss = [(above / below).ln() for above, below in zip(shifted, reversed(shifted), strict=True)]
            return loss, [w / total for w in weight]
