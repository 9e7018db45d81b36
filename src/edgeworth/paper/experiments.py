"""The experiments of the paper's Section 5 by name and n, the methods that it compares, and how each is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from edgeworth.account import account as account_for
from edgeworth.mechanisms import Gaussian, Laplace, PoissonSampled
from edgeworth.paper.reference import Reference, laplace_reference, noisy_sgd_reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.account import Account
    from edgeworth.curves import TradeOff
    from edgeworth.mechanisms import Mechanism

    Array: TypeAlias = NDArray[np.float64]

__all__ = [
    "ALPHAS",
    "CLT",
    "CORNISH_FISHER",
    "EDGEWORTH",
    "FULL",
    "LAPLACE",
    "NUMERICAL",
    "QUICK",
    "REFERENCE",
    "SADDLEPOINT",
    "SGD",
    "SGD_ROOT",
    "Experiment",
    "Method",
    "Sizes",
    "account_of",
    "curve_of",
    "reference_of",
    "sup_error",
]

#: where errors are measured: the sup is over these
ALPHAS = np.linspace(0.005, 0.995, 199)


@dataclass(frozen=True)
class Experiment:
    """One pair (P, Q) for every n, and the truth about it."""

    name: str
    title: str
    step: Callable[[int], Mechanism]
    truth: Callable[[int], Reference]

    def mechanism(self, n: int) -> Mechanism:
        """The n-fold composition."""
        return self.step(n) ** n


def _sgd(name: str, title: str, power: float) -> Experiment:
    def rate(n: int) -> float:
        return 0.5 * math.pow(n, -power)

    return Experiment(
        name,
        title,
        lambda n: PoissonSampled(Gaussian(1.0), rate=rate(n)),
        lambda n: noisy_sgd_reference(1.0, rate(n), n),
    )


LAPLACE = Experiment(
    "laplace",
    "Lap(0, 1)ⁿ against Lap(3/√n, 1)ⁿ",
    lambda n: Laplace(scale=1.0, sensitivity=3 / math.sqrt(n)),
    lambda n: laplace_reference(3 / math.sqrt(n), n),
)
SGD = _sgd("noisy-sgd", "noisy SGD, σ = 1, p = 0.5/n^(1/4)", 0.25)
SGD_ROOT = _sgd("noisy-sgd-root", "noisy SGD, σ = 1, p = 0.5/√n", 0.5)


@dataclass(frozen=True)
class Method:
    """A way to get f, and the one colour and line that it has in every figure."""

    name: str
    label: str
    colour: str
    line: str = "-"
    width: float = 1.6
    degree: int = 2


REFERENCE = Method("reference", "reference (truth)", "#c9c9c9", "-", 5.0)
CLT = Method("clt", "CLT", "#0072b2", "--")
EDGEWORTH = Method("edgeworth", "Edgeworth, degree 2", "#d55e00", "-")
NUMERICAL = Method("recursion", "Numerical", "#009e73", ":", 2.0)
CORNISH_FISHER = Method("cornish-fisher", "Cornish–Fisher, degree 2", "#8a3b9c", "-.")
SADDLEPOINT = Method("saddlepoint", "saddle point, degree 2", "#000000", "-", 1.0)


@dataclass(frozen=True)
class Sizes:
    """How much of the paper is recomputed: all of it, or a sample that takes seconds."""

    laplace: tuple[int, ...]
    laplace_timed: tuple[int, ...]
    laplace_errors: tuple[int, ...]
    boundary: tuple[int, ...]
    one_sided: tuple[int, ...]
    symmetrised: tuple[int, ...]
    root: tuple[int, ...]
    sgd_timed: tuple[int, ...]
    sgd_errors: tuple[int, ...]
    degrees: tuple[int, ...]
    order_exponents: int  # how many doublings of n
    repeats: int


FULL = Sizes(
    laplace=(1, 3, 5, 10),
    laplace_timed=(2, 4, 6, 8, 10),
    laplace_errors=(1, 2, 3, 4, 5, 6, 8, 10),
    boundary=(1, 2, 5, 10),
    one_sided=(5, 500),
    symmetrised=(1, 10, 50, 100, 200, 500),
    root=(5, 50, 100, 500),
    sgd_timed=(1, 50, 100, 200, 500),
    sgd_errors=(1, 5, 10, 50, 100, 200, 500),
    degrees=(0, 1, 2, 3, 4, 5, 6),
    order_exponents=8,
    repeats=5,
)
QUICK = Sizes(
    laplace=(1, 3),
    laplace_timed=(2,),
    laplace_errors=(1, 3),
    boundary=(1, 5),
    one_sided=(50,),
    symmetrised=(50, 100),
    root=(50,),
    sgd_timed=(50,),
    sgd_errors=(50, 100),
    degrees=(0, 1, 2, 3),
    order_exponents=3,
    repeats=1,
)


@lru_cache(maxsize=512)
def account_of(experiment: Experiment, n: int, method: Method) -> Account:
    """T(P, Q) of the experiment by a method, one-sided, as the paper's g."""
    return account_for(experiment.mechanism(n), method=method.name, degree=method.degree, direction="forward")


@lru_cache(maxsize=512)
def curve_of(experiment: Experiment, n: int, method: Method) -> TradeOff:
    """The trade-off function that a user of the method gets, one-sided; for REFERENCE a chain of 4000 chords."""
    if method is REFERENCE:
        return reference_of(experiment, n).piecewise_linear()
    return account_of(experiment, n, method).forward.value


@lru_cache(maxsize=128)
def reference_of(experiment: Experiment, n: int) -> Reference:
    """The truth."""
    return experiment.truth(n)


@lru_cache(maxsize=128)
def _truth_at_alphas(experiment: Experiment, n: int) -> Array:
    return reference_of(experiment, n)(ALPHAS)


def sup_error(experiment: Experiment, n: int, method: Method, *, raw: bool = False) -> float:
    """The largest |f - truth| over ALPHAS; raw: of the expansion itself, where it has a value."""
    account = account_of(experiment, n, method)
    value = account.raw_tradeoff(ALPHAS) if raw else account.forward.value(ALPHAS)
    return float(np.nanmax(np.abs(value - _truth_at_alphas(experiment, n))))
