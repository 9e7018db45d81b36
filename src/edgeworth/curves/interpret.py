"""Two numbers that summarise a trade-off function, and the order they induce (the paper's (mu*, gamma))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfinv, ndtri

from edgeworth.curves.order import Order, order_from, pointwise_order
from edgeworth.curves.search import positive_root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.curves.elementwise import Array
    from edgeworth.curves.tradeoff import TradeOff

__all__ = ["Comparison", "compare", "gamma", "mu_star"]

_ROUNDING = 1e-9  # relative: parameters closer than this are taken for equal
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL_RATIO = 4.0  # on [x, 4x] a function with a singularity at 0 is integrated to 3**-32
_PANELS = 250  # down to a* / 4**250: below, f <= 1 adds nothing a double can see


def mu_star(f: TradeOff) -> float:
    """mu* = Phi^-1(1 - a*) - Phi^-1(a*), a* the fixed point of f symmetrised; inf if a* = 0."""
    return f.mu_star


def gamma(f: TradeOff) -> float:
    """gamma, the area under f symmetrised: 1/2 for perfect privacy, 0 for none."""
    return f.gamma


def fixed_point_by_duality(f: TradeOff) -> float:
    """a* = (1 - delta(0))/2: the supporting line of slope -1 of a symmetric f crosses the diagonal on f.

    Where delta(0) is near 1 that would cancel, and f(a) = a is solved instead.
    """
    symmetric = f.symmetrise()
    variation = float(symmetric.profile()(0.0))
    if variation < 0.5:
        return (1 - variation) / 2

    def excess(a: Array, _: NDArray[np.intp]) -> Array:
        value = symmetric._bounded_evaluate(a)  # noqa: SLF001 - flat arrays, already probabilities
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(value), -1e300) - np.log(a)

    return float(positive_root(excess, np.full(1, (1 - variation) / 2 + 1e-16), largest=1.0)[0])


def mu_star_by_duality(f: TradeOff) -> float:
    """-2 Phi^-1(a*), for small mu as 2 sqrt(2) erfinv(delta(0))."""
    variation = float(f.symmetrise().profile()(0.0))
    if variation < 0.5:
        return float(2 * np.sqrt(2) * erfinv(variation))
    return float(-2 * ndtri(fixed_point_by_duality(f)))


def area_by_quadrature(symmetric: TradeOff) -> float:
    """Integral of a symmetric f over [0, 1] = 2 * (integral up to a*) - a*^2.

    Gauss-Legendre panels shrink by 4 towards 0, where f may have any slope, and split at the kinks.
    """
    top = symmetric.fixed_point
    if top == 0:
        return 0.0
    graded = top * _PANEL_RATIO ** -np.arange(0.0, _PANELS)
    kinks = symmetric.kinks
    edges = np.unique(np.concatenate([[0.0], graded, kinks[kinks < top]]))
    half = np.diff(edges)[:, None] / 2
    values = symmetric(edges[:-1, None] + half * (_NODES + 1))
    return float(2 * np.sum(half * values * _WEIGHTS) - top * top)


@dataclass(frozen=True)
class Comparison:
    """How private f is relative to g, by (mu*, gamma) and pointwise; the order of f relative to g."""

    by_parameters: Order
    pointwise: Order
    mu_star: tuple[float, float]
    gamma: tuple[float, float]

    def __str__(self) -> str:
        (mu_f, mu_g), (gamma_f, gamma_g) = self.mu_star, self.gamma
        return (
            f"pointwise: {self.pointwise}\n"
            f"by parameters: {self.by_parameters} "
            f"(mu* {mu_f:.4g} against {mu_g:.4g}, gamma {gamma_f:.4g} against {gamma_g:.4g})"
        )


def compare(f: TradeOff, g: TradeOff) -> Comparison:
    """The order of f relative to g: "more private" when mu* is smaller and gamma larger, or when f >= g.

    Both are symmetrised first, as in the paper.

    >>> from edgeworth.curves.gaussian import GaussianTradeOff
    >>> compare(GaussianTradeOff(0.5), GaussianTradeOff(1.0)).by_parameters
    'more private'
    """
    symmetric_f, symmetric_g = f.symmetrise(), g.symmetrise()
    mu, area = (symmetric_f.mu_star, symmetric_g.mu_star), (symmetric_f.gamma, symmetric_g.gamma)
    by_parameters = order_from(
        at_least=mu[0] * (1 - _ROUNDING) <= mu[1] and area[0] >= area[1] * (1 - _ROUNDING),
        at_most=mu[1] * (1 - _ROUNDING) <= mu[0] and area[1] >= area[0] * (1 - _ROUNDING),
    )
    return Comparison(by_parameters, pointwise_order(symmetric_f, symmetric_g), mu, area)
