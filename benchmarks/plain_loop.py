"""The baseline: degree 2 as one would first write it, one alpha at a time, each inverted by a root finder."""

from __future__ import annotations

import math

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm


def cumulants(density, loss) -> tuple[float, float, float, float]:
    """The first four cumulants of the loss under the density, by adaptive quadrature of raw moments."""
    m1, m2, m3, m4 = (quad(lambda x, r=r: loss(x) ** r * density(x), -12, 16, limit=200)[0] for r in (1, 2, 3, 4))
    return (
        m1,
        m2 - m1**2,
        m3 - 3 * m2 * m1 + 2 * m1**3,
        m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4,
    )


def expansion(h: float, k2: float, k3: float, k4: float) -> float:
    """Equation (approx_Fn) of the paper."""
    term = k3 / k2**1.5 / 6 * (h**2 - 1)
    term += k4 / k2**2 / 24 * (h**3 - 3 * h)
    term += k3**2 / k2**3 / 72 * (h**5 - 10 * h**3 + 15 * h)
    return norm.cdf(h) - term * norm.pdf(h)


def tradeoff(sigma: float, rate: float, n: int, alphas) -> list[float]:
    """f_EW at every alpha for noisy SGD."""
    mu = 1 / sigma

    def loss(x: float) -> float:
        return math.log(1 - rate + rate * math.exp(mu * x - mu * mu / 2))

    def mixture(x: float) -> float:
        return (1 - rate) * norm.pdf(x) + rate * norm.pdf(x, mu)

    null = [n * k for k in cumulants(norm.pdf, loss)]
    alternative = [n * k for k in cumulants(mixture, loss)]
    shift = (alternative[0] - null[0]) / math.sqrt(null[1])
    ratio = math.sqrt(null[1] / alternative[1])
    values = []
    for alpha in alphas:
        h = brentq(lambda h, a=alpha: expansion(h, *null[1:]) - (1 - a), -5, 5)
        values.append(expansion((h - shift) * ratio, *alternative[1:]))
    return values
