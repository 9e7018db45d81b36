"""Orders of convergence, observed: the slope of log error against log n for each degree, and what theory says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import gammainc, gammainccinv

from edgeworth.account import account as account_for
from edgeworth.mechanisms import DensityPair, Gaussian, PoissonSampled
from edgeworth.paper.reference import noisy_sgd_reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from edgeworth.mechanisms import Mechanism

    Array: TypeAlias = NDArray[np.float64]
    Truth: TypeAlias = Callable[[ArrayLike], Array]

__all__ = ["DESIGNS", "Design", "Orders", "measure"]

_ALPHAS = np.linspace(0.01, 0.99, 99)
_FLOOR = 2e-12  # errors below are those of the reference and of rounding: not fitted


@dataclass(frozen=True)
class Design:
    """A sequence of compositions along which the errors are small powers of n."""

    title: str
    remark: str
    first_exponent: int  # n starts at 2 to this power
    degrees: int  # the degrees 0, …, degrees - 1
    order: float  # theory: the error of degree d falls like n^-(order (d + 1))
    at: Callable[[int], tuple[Mechanism, Truth]]


@dataclass(frozen=True)
class Orders:
    """Errors by n (rows) and degree (columns), the fitted slopes, and those of theory."""

    title: str
    remark: str
    n: NDArray[np.int64]
    errors: Array
    theory: Array
    slopes: Array
    last_slopes: Array


def _exponential(n: int) -> tuple[Mechanism, Truth]:
    from scipy.stats import expon  # noqa: PLC0415  slow to import

    ratio = 1 - 1 / math.sqrt(n)

    def truth(alpha: ArrayLike) -> Array:
        return np.asarray(gammainc(n, ratio * gammainccinv(n, alpha)))

    return DensityPair(expon(scale=ratio), expon(scale=1.0)) ** n, truth


def _sgd_at(noise: float, rate: float, n: int) -> tuple[Mechanism, Truth]:
    return PoissonSampled(Gaussian(noise), rate=rate) ** n, noisy_sgd_reference(noise, rate, n)


DESIGNS = (
    Design(
        "exponential pair, means 1 − 1/√n and 1",
        "the limit is G₁ and the truth a ratio of incomplete gamma functions; orders −(d + 1)/2.",
        5,
        5,
        0.5,
        _exponential,
    ),
    Design(
        "noisy SGD, p = 1/2, σ = √n/2",
        "μ = 1/σ shrinks so that the total stays G₁-like; the r-th cumulant of one step is then of order "
        "μ^(2r−2), not μ^r, so each degree gains a whole power of n; orders −(d + 1).",
        3,
        4,
        1.0,
        lambda n: _sgd_at(math.sqrt(n) / 2, 0.5, n),
    ),
    Design(
        "noisy SGD, σ = 2, p = 2/√n",
        "the regime p√n = constant of the paper's appendix at a noise where the orders can be seen; −(d + 1)/2, "
        "approached from above since p itself still falls.",
        8,
        4,
        0.5,
        lambda n: _sgd_at(2.0, 2 / math.sqrt(n), n),
    ),
)


def measure(design: Design, doublings: int) -> Orders:
    """The errors of the raw expansion at n, 2n, 4n, …, and least-squares slopes, of all and of the last four."""
    n = 2 ** np.arange(design.first_exponent, design.first_exponent + doublings)
    errors = np.empty((doublings, design.degrees))
    for row, count in enumerate(n):
        mechanism, truth = design.at(int(count))
        exact = truth(_ALPHAS)
        for degree in range(design.degrees):
            account = account_for(mechanism, method="edgeworth", degree=degree, direction="forward")
            errors[row, degree] = np.max(np.abs(account.raw_tradeoff(_ALPHAS) - exact))
    theory = -design.order * np.arange(1.0, design.degrees + 1)
    return Orders(design.title, design.remark, n, errors, theory, _slopes(n, errors), _slopes(n[-4:], errors[-4:]))


def _slopes(n: NDArray[np.int64], errors: Array) -> Array:
    slopes = np.full(errors.shape[1], np.nan)
    for degree, column in enumerate(errors.T):
        clear = column > _FLOOR
        if clear.sum() >= 2:
            slopes[degree] = np.polyfit(np.log(n[clear]), np.log(column[clear]), 1)[0]
    return slopes
