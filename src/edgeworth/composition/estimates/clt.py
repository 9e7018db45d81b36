"""The central limit: one mu stands for everything that ran. An estimate, and often a loose one.

For noisy SGD it is the limit that the paper compares with, mu = p sqrt(n (e^(1/sigma^2) - 1)), which is proved
for p sqrt(n) -> constant. For every other mechanism it is mu_n = (E_Q T - E_P T)/sqrt(Var_P T) (equation clt). The
degree-0 expansion with exact mean and variance on both sides is something else: `method="edgeworth", degree=0`.
"""

from __future__ import annotations

import math

from edgeworth.composition.result import ComposedCurve, estimate, identity, nothing_ran
from edgeworth.curves import GaussianTradeOff
from edgeworth.losses import GaussianLoss, PrivacyLoss, SampledLoss, TotalLoss

__all__ = ["compose", "limit_mu"]

_LARGEST_MU = 1e100  # where e^(1/sigma^2) overflows the curve is 0 to every digit


def compose(total: TotalLoss, *, degree: int = 0) -> ComposedCurve:  # noqa: ARG001 - one degree only
    """G_mu at the limiting mu."""
    if nothing_ran(total):
        return identity(total, "clt")
    mu, formula = limit_mu(total)
    return estimate(GaussianTradeOff(mu), total, "clt", f"mu = {mu:.6g} by {formula}")


def limit_mu(total: TotalLoss) -> tuple[float, str]:
    """The mu of the limit, and which formula gave it."""
    squares = [(_noisy_sgd_mu_squared(loss), n) for loss, n in total.parts]
    known = [n * square for square, n in squares if square is not None]
    if len(known) == len(squares):
        mu = math.sqrt(math.fsum(known))
        return min(mu, _LARGEST_MU), "mu^2 = sum n p^2 (e^(1/sigma^2) - 1)"
    cumulants = total.cumulants(2)
    shift, variance = float(cumulants.alternative[0] - cumulants.null[0]), float(cumulants.null[1])
    mu = shift / math.sqrt(variance) if variance > 0 else _LARGEST_MU
    return min(mu, _LARGEST_MU), "mu_n = (E_Q - E_P)/sqrt(Var_P)"


def _noisy_sgd_mu_squared(loss: PrivacyLoss) -> float | None:
    """mu^2 of one step where the limit is known: exact for Gaussian steps, p^2 (e^(mu^2) - 1) for sampled ones."""
    if isinstance(loss, GaussianLoss):
        return loss.mu**2
    if isinstance(loss, SampledLoss) and isinstance(loss.base, GaussianLoss):
        square = loss.base.mu**2
        return loss.rate**2 * math.expm1(square) if square < 700 else math.inf
    return None
