"""Method (ii) of the paper: the threshold by the Cornish–Fisher expansion, in closed form.

F(x) = Phi(x) - phi(x) g(x) = Phi(z) is solved for x by Lagrange's inversion in the variable Phi(x):

    x = z + sum_{r>=1} (1/r!) (D - z)(D - 2z) … (D - (r-1)z) [g(z)^r],        D = d/dz,

with g graded by order as in `edgeworth.composition.estimates.series` and every product of order above d dropped. Degree
2 is the paper's equation (cornish_fisher).
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import herme2poly
from scipy.special import ndtr

from edgeworth.composition.estimates.edgeworth import TwoSidedExpansion, from_tests
from edgeworth.composition.estimates.series import graded_polynomials, standardised
from edgeworth.composition.result import UNDERFLOW, ComposedCurve, identity, no_privacy, nothing_ran

if TYPE_CHECKING:
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["compose", "quantile_polynomial"]

_FEWEST_THRESHOLDS = 8


def quantile_polynomial(lam: Array, degree: int) -> Polynomial:
    """x(z): the quantile of the standardised law at Phi(z), to the given degree."""
    none = Polynomial([0.0])
    g = [none, *(Polynomial(herme2poly(part[1:])) for part in graded_polynomials(lam, degree)[1:])]
    power = [Polynomial([1.0]), *[none] * degree]  # g^0, by order
    quantile = Polynomial([0.0, 1.0])
    for r in range(1, degree + 1):
        power = [sum((power[j - k] * g[k] for k in range(j + 1)), none) for j in range(degree + 1)]
        term = sum(power, none)
        for multiple in range(r - 1, 0, -1):
            term = term.deriv() - Polynomial([0.0, float(multiple)]) * term
        quantile = quantile + term / factorial(r)
    return quantile


def _increasing_branch(quantile: Polynomial, z: Array) -> Array:
    """The grid points around z = 0 between which x(z) increases; beyond, the polynomial turns back."""
    rising = np.diff(quantile(z)) > 0
    centre = int(np.searchsorted(z, 0.0))
    left = np.flatnonzero(~rising[:centre])
    right = np.flatnonzero(~rising[centre:])
    first = int(left[-1]) + 1 if left.size else 0
    last = centre + (int(right[0]) if right.size else rising.size - centre)
    return z[first : last + 1]


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """f(alpha) = F~_d((x(z) - mu_n) sqrt(Var_P/Var_Q)) at z = Phi^-1(1 - alpha)."""
    if nothing_ran(total):
        return identity(total, "cornish-fisher")
    cumulants = total.cumulants(degree + 2)
    if not min(cumulants.null[1], cumulants.alternative[1]) > 0:
        return no_privacy(total, "cornish-fisher", UNDERFLOW)
    expansion = TwoSidedExpansion(cumulants, degree)
    quantile = quantile_polynomial(standardised(cumulants.null), degree)

    def tests(z: Array) -> tuple[Array, Array, Array, Array]:
        return np.asarray(ndtr(-z)), *expansion.beta_and_power(quantile(z)), np.asarray(ndtr(z))

    grid = expansion.thresholds()
    branch = _increasing_branch(quantile, grid)
    if branch.size < _FEWEST_THRESHOLDS:
        turned = "the quantile polynomial decreases at its centre: the numerical inverse answers"
        return from_tests(expansion.tests, grid, total, "cornish-fisher", f"degree {degree}", turned)
    return from_tests(tests, branch, total, "cornish-fisher", f"degree {degree}", raw=grid)
