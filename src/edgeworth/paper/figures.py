"""Every figure of the paper, and those beyond it: one function each, from sizes to a picture's numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import ndtr

from edgeworth.account import account as account_for
from edgeworth.curves import GaussianTradeOff, compare
from edgeworth.mechanisms import Gaussian, Laplace, PoissonSampled
from edgeworth.paper.experiments import (
    CLT,
    CORNISH_FISHER,
    EDGEWORTH,
    LAPLACE,
    NUMERICAL,
    REFERENCE,
    SGD,
    SGD_ROOT,
    Experiment,
    Method,
    Sizes,
    account_of,
    curve_of,
    reference_of,
    sup_error,
)
from edgeworth.paper.pictures import Curve, Panel, Picture, curve

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.paper.orders import Orders

    Array: TypeAlias = NDArray[np.float64]

__all__ = ["PAPER_FIGURES", "error_by_degree", "orders_figure"]

_COMPARED = (REFERENCE, CLT, EDGEWORTH, NUMERICAL)
_INK = "#444444"
#: alphas of a drawn curve: dense at both ends, where f is steep or flat
_DRAWN = ndtr(np.linspace(-3.5, 3.5, 241))


def primal_dual(_: Sizes) -> Picture:
    """Figure primal_dual."""
    epsilon = 1.0
    f = GaussianTradeOff(1.0)
    delta = float(f.profile()(epsilon))
    steep = Curve("slope −e^ε", _DRAWN, 1 - delta - math.exp(epsilon) * _DRAWN, CLT.colour, "--")
    flat = Curve("slope −e^−ε", _DRAWN, math.exp(-epsilon) * (1 - delta - _DRAWN), NUMERICAL.colour, "--")
    touch = float(ndtr(-epsilon - 0.5))
    touching = Curve(
        "points of contact",
        np.array([touch, f(touch)]),
        np.array([f(touch), touch]),
        _INK,
        "",
        marker="o",
    )
    ends = np.array([0.0, 1 - delta])
    intercepts = Curve("intercepts 1 − δ", ends, ends[::-1], _INK, "", marker="D")
    panel = Panel(
        f"G₁ and its supporting lines at ε = 1, δ = {delta:.4f}",
        (Curve("f = G₁", _DRAWN, f(_DRAWN), EDGEWORTH.colour), steep, flat, touching, intercepts),
    )
    return Picture(
        "primal_dual",
        "Figure primal_dual: a trade-off function and two of its supporting lines",
        "The symmetric f = G₁ and the two lines that (1, δ(1))-DP puts below it, with slopes −e^±ε. Changed: the "
        "paper says that both lines have intercept 1 − δ. The steep one meets the vertical axis there, the flat "
        "one the horizontal axis; on the vertical axis it starts at e^−ε(1 − δ).",
        (panel,),
        columns=1,
        panel_size=(4.8, 4.3),
        legend_columns=3,
    )


def cornish_fisher(sizes: Sizes) -> Picture:
    """Figure cornish_fisher."""
    above, below = [], []
    alphas = ndtr(np.linspace(-4.3, 4.3, 301))
    labels = ((EDGEWORTH, "method (i), numerical inverse"), (CORNISH_FISHER, "method (ii), Cornish–Fisher"))
    for n in sizes.boundary:
        truth = reference_of(LAPLACE, n)(alphas)
        raw = [(m, label, account_of(LAPLACE, n, m).raw_tradeoff(alphas)) for m, label in labels]
        curves = [curve(m, alphas, values, label) for m, label, values in raw]
        above.append(Panel(f"n = {n}", (curve(REFERENCE, alphas, truth), *curves)))
        errors = [curve(m, alphas, values - truth, label) for m, label, values in raw]
        level = Curve("reference (truth)", alphas, 0 * alphas, REFERENCE.colour, "-", REFERENCE.width)
        below.append(
            Panel(
                f"n = {n}, error",
                (level, *errors),
                y_label="raw f(α) − truth",
                square=False,
                x_scale="logit",
                x_range=(1e-5, 1 - 1e-5),
                y_range=(-0.5, 0.5),
                x_ticks=(1e-4, 1e-2, 0.5, 0.99, 0.9999),
            )
        )
    return Picture(
        "cornish_fisher",
        "Figure cornish_fisher: two ways to invert F",
        "f(α) for Lap(0, 1)ⁿ against Lap(3/√n, 1)ⁿ with F̃ fixed as the degree-2 expansion and F⁻¹ by method (i) "
        "or (ii). Below, the errors, with both ends of the axis stretched. Raw values, before they are made a "
        "trade-off function: the Cornish–Fisher quantile is no longer monotone near α = 0 and 1 when n is small; "
        "method (i) has no value where the expansion of F turns back. Changed: method (i) solves F(h) = 1 − α, "
        "printed as F(h) − 1 − α = 0; the truth is drawn beneath.",
        (*above, *below),
        columns=len(above),
        panel_size=(2.75, 2.6),
    )


def ew_param(_: Sizes) -> Picture:
    """Figure ew_param."""
    f = account_for(Laplace(scale=1.0, sensitivity=1.5) ** 2, method="edgeworth", degree=2).curve
    same = GaussianTradeOff(f.mu_star)
    star = f.fixed_point
    left = Panel(
        f"μ* = {f.mu_star:.3f}, γ = {f.gamma:.4f} (shaded area)",
        (
            Curve("Edgeworth estimate, its area γ shaded", _DRAWN, f(_DRAWN), EDGEWORTH.colour, shaded=True),
            Curve("G at μ*", _DRAWN, same(_DRAWN), CLT.colour, "--"),
            Curve("y = x", np.array([0.0, 1.0]), np.array([0.0, 1.0]), _INK, ":", 1.0),
            Curve("(α*, α*)", np.array([star]), np.array([star]), _INK, "", marker="o"),
        ),
        texts=((star + 0.03, star - 0.01, f"α* = {star:.4f}"),),
    )
    first, second = (
        account_for(PoissonSampled(Gaussian(noise), rate=0.15) ** 100, method="edgeworth", degree=2).curve
        for noise in (1.0, 1.4)
    )
    comparison = compare(second, first)
    points = np.array([first.fixed_point, second.fixed_point])
    right = Panel(
        f"the second is {comparison.by_parameters}",
        (
            Curve("first estimate", _DRAWN, first(_DRAWN), EDGEWORTH.colour),
            Curve("second estimate", _DRAWN, second(_DRAWN), NUMERICAL.colour, "-."),
            Curve("y = x", np.array([0.0, 1.0]), np.array([0.0, 1.0]), _INK, ":", 1.0),
            Curve("(α*, α*)", points, points, _INK, "", marker="o"),
        ),
        texts=(
            (0.17, 0.92, f"first: μ* = {comparison.mu_star[1]:.3f}, γ = {comparison.gamma[1]:.3f}"),
            (0.17, 0.85, f"second: μ* = {comparison.mu_star[0]:.3f}, γ = {comparison.gamma[0]:.3f}"),
        ),
    )
    return Picture(
        "ew_param",
        "Figure ew_param: two parameters, (μ*, γ)",
        "Left: the degree-2 estimate for Lap(0, 1)² against Lap(1.5, 1)², G_μ* and y = x meet at (α*, α*); γ is "
        "the area under the estimate. Right: noisy SGD, p = 0.15, n = 100, with σ = 1 (first) and σ = 1.4 "
        "(second), symmetrised. Both parameters and the curves pointwise agree: by parameters "
        f"{comparison.by_parameters}, pointwise {comparison.pointwise}. The paper does not say which mechanisms it "
        "drew.",
        (left, right),
        columns=2,
        panel_size=(4.1, 4.0),
        legend_columns=3,
    )


def laplace(sizes: Sizes) -> Picture:
    """Figure laplace."""
    panels = tuple(_compared(LAPLACE, n) for n in sizes.laplace)
    return Picture(
        "laplace",
        "Figure laplace: a moderate number of compositions",
        "Trade-off functions for Lap(0, 1)ⁿ against Lap(3/√n, 1)ⁿ. Changed: the truth is drawn beneath, from the "
        "exact mixture of gamma laws; “Numerical” is the paper's recursion with its missing factor q(x), as "
        "convolutions. Here and below, the errors in the panels are the largest over the drawn α, from 0.0002 to "
        "0.9998.",
        panels,
        columns=len(panels),
        panel_size=(2.75, 2.75),
    )


def laplace_dual(sizes: Sizes) -> Picture:
    """Figure laplace_dual."""
    panels = []
    for log in (False, True):
        for n in sizes.laplace:
            end = 3 * math.sqrt(n)
            near = end * (1 - np.geomspace(1e-8, 0.1, 40))
            epsilon = np.unique(np.concatenate([np.linspace(0.0, 1.6 * end, 161), near]))
            curves = [curve(REFERENCE, epsilon, reference_of(LAPLACE, n).delta(epsilon))]
            curves += [
                curve(m, epsilon, curve_of(LAPLACE, n, m).profile()(epsilon)) for m in (CLT, EDGEWORTH, NUMERICAL)
            ]
            if log:  # nothing is drawn where delta is 0
                curves = [
                    Curve(c.label, c.x, np.where(c.y > 1e-12, c.y, np.nan), c.colour, c.line, c.width) for c in curves
                ]
            bottom = 1e-7 if log else 0.0
            curves.append(Curve("true change point ε = nθ", np.full(2, end), np.array([bottom, 1.0]), _INK, "-", 0.8))
            panels.append(
                Panel(
                    f"n = {n}" + (", logarithmic" if log else ""),
                    tuple(curves),
                    "ε",
                    "δ(ε)",
                    square=False,
                    y_scale="log" if log else "linear",
                    x_range=(0.0, 1.6 * end),
                    y_range=(bottom, 1.0),
                )
            )
    return Picture(
        "laplace_dual",
        "Figure laplace_dual: the same in (ε, δ)",
        "δ(ε) of the curves above. The truth is 0 from ε = nθ = 3√n on, the thin vertical line. Changed: a second "
        "row with logarithmic δ, where the methods part: the expansion has no value at the least α, where a chord "
        "takes its place and δ stays on a small level.",
        tuple(panels),
        columns=len(sizes.laplace),
        panel_size=(2.75, 2.5),
    )


def mixture(sizes: Sizes) -> Picture:
    """Figure mixture."""
    panels = tuple(_compared(SGD, n) for n in sizes.one_sided)
    return Picture(
        "mixture",
        "Figure mixture: one direction of noisy SGD",
        "g = (p G₁ + (1 − p) Id)^⊗n with p = 0.5/n^(1/4). Changed: the paper's caption reads 0.5/n^(1/4) (G₁ + Id)^⊗n.",
        panels,
        columns=len(panels),
        panel_size=(3.7, 3.8),
    )


def mixture_symm(sizes: Sizes) -> Picture:
    """Figure mixture_symm."""
    return Picture(
        "mixture_symm",
        "Figure mixture_symm: privacy of noisy SGD",
        "min{g, g⁻¹}** for n-step noisy SGD, σ = 1, p = 0.5/n^(1/4). The CLT is outside the regime in which it is "
        "proved, and far from the truth at n = 500 still.",
        tuple(_compared(SGD, n, symmetrise=True) for n in sizes.symmetrised),
        columns=min(3, len(sizes.symmetrised)),
    )


def mixture_phalf(sizes: Sizes) -> Picture:
    """Figure mixture_phalf of the appendix."""
    panels = tuple(_compared(SGD_ROOT, n) for n in sizes.root)
    return Picture(
        "mixture_phalf",
        "Figure mixture_phalf (appendix): one direction, p = 0.5/√n",
        "g = (p G₁ + (1 − p) Id)^⊗n in the regime where the CLT is proved. Changed: the paper's text reads p = "
        "0.5/n^(−1/2), its caption 0.5/n^(1/2) (G₁ + Id)^⊗n.",
        panels,
        columns=len(panels),
        panel_size=(2.75, 2.75),
    )


def mixture_symm_phalf(sizes: Sizes) -> Picture:
    """Figure mixture_symm_phalf of the appendix."""
    panels = tuple(_compared(SGD_ROOT, n, symmetrise=True) for n in sizes.root)
    return Picture(
        "mixture_symm_phalf",
        "Figure mixture_symm_phalf (appendix): privacy of noisy SGD, p = 0.5/√n",
        "min{g, g⁻¹}** for n-step noisy SGD, σ = 1, p = 0.5/√n.",
        panels,
        columns=len(panels),
        panel_size=(2.75, 2.75),
    )


#: by label, in the order of the paper
PAPER_FIGURES: dict[str, Callable[[Sizes], Picture]] = {
    "primal_dual": primal_dual,
    "cornish_fisher": cornish_fisher,
    "ew_param": ew_param,
    "laplace": laplace,
    "laplace_dual": laplace_dual,
    "mixture": mixture,
    "mixture_symm": mixture_symm,
    "mixture_phalf": mixture_phalf,
    "mixture_symm_phalf": mixture_symm_phalf,
}


def error_by_degree(sizes: Sizes) -> Picture:
    """Beyond the paper: the sup error of the expansion against its degree."""
    degrees = np.array(sizes.degrees, dtype=float)
    panels = []
    for experiment, ns in ((LAPLACE, sizes.laplace), (SGD, sizes.sgd_errors), (SGD_ROOT, sizes.sgd_errors)):
        curves = []
        for number, n in enumerate(ns):
            errors = [sup_error(experiment, n, edgeworth_of(d)) for d in sizes.degrees]
            curves.append(
                Curve(f"n = {n}", degrees, np.array(errors), _shade_of(n), marker="osD^vP*X"[number % 8], width=1.2)
            )
        panels.append(
            Panel(
                experiment.title,
                tuple(curves),
                "degree of the expansion",
                "sup |f − truth|",
                square=False,
                y_scale="log",
                y_range=(1e-8, 1.5),
                x_ticks=tuple(degrees),
            )
        )
    return Picture(
        "error_by_degree",
        "Beyond the paper: is a higher degree better?",
        "The largest error of the Edgeworth estimate over α from 0.005 to 0.995 against its degree; the paper "
        "stops at 2. For n = 1 the series does not converge to anything: at small n a higher degree can be worse.",
        tuple(panels),
        columns=3,
        panel_size=(3.9, 3.5),
        legend_columns=8,
    )


def orders_figure(orders: tuple[Orders, ...]) -> Picture:
    """Beyond the paper: the orders of convergence, measured."""
    panels = []
    for one in orders:
        n = one.n.astype(float)
        curves, lines = [], []
        for degree, (error, theory) in enumerate(zip(one.errors.T, one.theory, strict=True)):
            curves.append(Curve(f"degree {degree}", n, error, _DEGREE_COLOURS[degree], "-", 1.4, marker="o"))
            lines.append(Curve("slope by theory", n, error[-1] * (n / n[-1]) ** theory, _INK, ":", 0.9))
        panels.append(
            Panel(
                one.title,
                (*curves, *lines),
                "n",
                "sup |f − truth|",
                square=False,
                x_scale="log",
                y_scale="log",
            )
        )
    return Picture(
        "orders",
        "Beyond the paper: the orders of convergence, measured",
        "The largest raw error over α from 0.01 to 0.99 against n, with the slope of the theory through the last "
        "point. " + " ".join(f"{one.title}: {one.remark}" for one in orders),
        tuple(panels),
        columns=len(panels),
        panel_size=(3.9, 3.5),
        legend_columns=6,
    )


_DEGREE_COLOURS = ("#0072b2", "#8a3b9c", "#d55e00", "#009e73", "#000000")


def edgeworth_of(degree: int) -> Method:
    """The expansion of another degree."""
    if degree == EDGEWORTH.degree:
        return EDGEWORTH
    return Method("edgeworth", f"Edgeworth, degree {degree}", _DEGREE_COLOURS[degree % 5], degree=degree)


def _compared(experiment: Experiment, n: int, *, symmetrise: bool = False) -> Panel:
    """The reference, CLT, Edgeworth and Numerical in one panel."""
    curves, shown = [], {}
    for method in _COMPARED:
        f = curve_of(experiment, n, method)
        if symmetrise:
            f = f.symmetrise()
        shown[method.name] = f(_DRAWN)
        curves.append(curve(method, _DRAWN, shown[method.name]))
    truth = shown[REFERENCE.name]
    clt, expansion = (float(np.max(np.abs(shown[m.name] - truth))) for m in (CLT, EDGEWORTH))
    note = f"largest error\nCLT {clt:.2g}\nEdgeworth {expansion:.2g}"
    return Panel(f"n = {n}", tuple(curves), texts=((0.42, 0.76, note),))


def _shade_of(n: int) -> str:
    """From light to dark with n."""
    share = min(math.log(n) / math.log(500), 1.0)
    light, dark = np.array([0.98, 0.72, 0.35]), np.array([0.25, 0.05, 0.35])
    mixed = light + share * (dark - light)
    return "#" + "".join(f"{round(255 * part):02x}" for part in mixed)
