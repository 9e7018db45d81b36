"""The least known mu for which a step is mu-GDP, f >= G_mu at every alpha: what the adaptive budget is paid in.

| step                         | mu                                    | because                                   |
|---|---|---|
| Gaussian(sigma)              | 1/sigma                               | f = G_mu                                  |
| GaussianDP(mu)               | mu                                    | given                                     |
| epsilon-DP: Laplace, ...     | -2 Phi^-1(1/(1 + e^epsilon))          | below                                     |
| a sample of a mechanism      | that of the mechanism                 | q f + (1 - q) Id >= f, and f^-1 likewise  |
| a sample of an epsilon-DP one| that of log(1 + q (e^epsilon - 1))    | amplification of pure privacy             |

epsilon-DP implies mu-GDP. f = max{1 - e^epsilon alpha, e^-epsilon (1 - alpha)} is made of two chords that meet
on the diagonal, at c = 1/(1 + e^epsilon). G_mu goes through (0, 1), through (c, c) when mu = -2 Phi^-1(c), and
through (1, 0). The first chord joins (0, 1) to (c, c), the second (c, c) to (1, 0), and a convex function lies
below its chords: G_mu <= f. They touch at c, so no smaller mu would do.

An (epsilon, delta) guarantee with delta > 0 has no mu: f(0) = 1 - delta < 1 = G_mu(0).

Numbers are read as the decimals they print as, which is also what a log on disk says: ten charges of
mu^2 = 0.1 are exactly 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING

from scipy.special import erfinv, ndtri_exp

from edgeworth.errors import Unsupported
from edgeworth.ledger.exact import decimal
from edgeworth.mechanisms import (
    ApproxDP,
    DiscreteLaplace,
    Gaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    SampledWithoutReplacement,
)

if TYPE_CHECKING:
    from edgeworth.mechanisms import Mechanism

__all__ = ["mu_of_epsilon", "mu_squared"]

_UP = 1 + 1e-13  # above the rounding of erfinv and ndtri_exp, measured at 2e-15 against 60 digits
_SAMPLED_UP = 1 + 1e-12  # above the rounding of the formulas for a sample, whose exponents lose up to 1e-13
_LARGE = 700.0  # e^709 is the largest double
_TINY = 1e-7
_SMALL = 1.0  # below, 1/(1 + e^epsilon) is near 1/2 and erfinv keeps the digits that a quantile would lose


def mu_of_epsilon(epsilon: float) -> float:
    """Returns mu >= -2 Phi^-1(1/(1 + e^epsilon)) = 2 sqrt 2 erfinv(tanh(epsilon/2)), by at most 2e-13 of it.

    >>> mu_of_epsilon(0.0)
    0.0
    >>> round(mu_of_epsilon(1.0), 9)
    1.232035385
    """
    if epsilon < _TINY:  # mu = sqrt(pi/2) epsilon (1 + O(epsilon^2))
        return _rounded_up(math.sqrt(math.pi / 2) * epsilon * _UP) if epsilon else 0.0
    if epsilon < _SMALL:
        return math.sqrt(8) * float(erfinv(math.tanh(epsilon / 2))) * _UP
    return -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon)))) * _UP


def mu_squared(mechanism: Mechanism) -> Fraction:
    """Returns mu^2 with f >= G_mu for everything that the mechanism runs: mu^2 is a sum over its steps.

    >>> mu_squared(Gaussian(10.0) ** 100)
    Fraction(1, 1)
    """
    return sum((count * _step(step) for step, count in mechanism.steps()), Fraction(0))


@singledispatch
def _step(step: Mechanism) -> Fraction:
    epsilon = _pure_epsilon(step)
    if epsilon is None or not epsilon < math.inf:
        raise Unsupported(
            f"no mu is known for which {step!r} is mu-GDP; give GaussianDP(mu) with one that you can prove, "
            "or use a planned ledger with an epsilon and a delta"
        )
    return decimal(mu_of_epsilon(epsilon)) ** 2


@_step.register
def _(step: Gaussian) -> Fraction:
    return 1 / decimal(step.noise_multiplier) ** 2


@_step.register
def _(step: GaussianDP) -> Fraction:
    return decimal(step.mu) ** 2


@_step.register(PoissonSampled)
@_step.register(SampledWithoutReplacement)
def _(step: PoissonSampled | SampledWithoutReplacement) -> Fraction:
    epsilon = _pure_epsilon(step)
    if epsilon is None:
        return mu_squared(step.mechanism)
    return min(mu_squared(step.mechanism), decimal(mu_of_epsilon(epsilon)) ** 2)


@singledispatch
def _pure_epsilon(step: Mechanism) -> float | None:
    """The epsilon for which the step is epsilon-DP, rounded up; None where there is none."""
    del step
    return None


@_pure_epsilon.register
def _(step: RandomizedResponse) -> float | None:
    return step.epsilon


@_pure_epsilon.register
def _(step: ApproxDP) -> float | None:
    return step.epsilon if step.delta == 0 else None


@_pure_epsilon.register(Laplace)
@_pure_epsilon.register(DiscreteLaplace)
def _(step: Laplace | DiscreteLaplace) -> float | None:
    return _rounded_up(step.sensitivity / step.scale) if step.sensitivity else 0.0


@_pure_epsilon.register(PoissonSampled)
@_pure_epsilon.register(SampledWithoutReplacement)
def _(step: PoissonSampled | SampledWithoutReplacement) -> float | None:
    parts = [(_pure_epsilon(part), count) for part, count in step.mechanism.steps()]
    known = [epsilon * count for epsilon, count in parts if epsilon is not None]
    if len(known) < len(parts):
        return None
    return _sampled(_rounded_up(math.fsum(known)), step.rate)


def _sampled(epsilon: float, rate: float) -> float:
    """Returns at least log(1 + q (e^epsilon - 1)), by at most 2e-12 of it."""
    if epsilon < _LARGE:
        return math.log1p(rate * math.expm1(epsilon)) * _SAMPLED_UP
    at_least = math.log(rate) + epsilon  # log(1 + e^x) with x = log q + epsilon: dropping -q only raises it
    return (max(at_least, 0.0) + math.log1p(math.exp(-abs(at_least)))) * _SAMPLED_UP


def _rounded_up(value: float) -> float:
    """Above the number that was rounded to this value, by at most 4 ulp; a quotient that underflows is not 0."""
    return math.nextafter(math.nextafter(value, math.inf), math.inf)
