"""mu-GDP: the least mu with f >= G_mu over a range of tests, proved from both sides, and how well G_mu fits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from edgeworth import validation
from edgeworth.curves import Bracket, GaussianTradeOff, Identity
from edgeworth.errors import InvalidArgument
from edgeworth.risk.supporting import Found, Polygon, first_lines, greatest, joined, separation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeworth.account import Account
    from edgeworth.curves import Profile
    from edgeworth.risk.supporting import Tolerance

    Array = NDArray[np.float64]

__all__ = ["GaussianFit", "exact_mu", "fit_within", "gaussian_fit", "upper_mu"]

_FORMULA = 1e-12  # relative: the rounding of the closed forms of G_mu
_NEWTON_STEPS = 8
_CANDIDATES = 3
_GRID = 257
_FAINT = 1e-12  # a delta below which the distance of two profiles cannot matter
_ALPHAS = 400
_TINY_MU = 1e-8  # e^eps has no digits left for a grid of eps around 0


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """The covering mu: f >= G_mu for all tests whose two errors are both at least `smallest_error`.

    Over all tests the covering mu of noisy SGD is that of no sampling at all, sqrt(n)/sigma, decided by tests that
    nobody can run: hence the range, which belongs to the figure. The range always includes the fixed point of f.

    >>> import edgeworth as ew
    >>> print(ew.account(ew.Gaussian(noise_multiplier=2.0)).risk.gaussian())
    mu = 0.5 in [0.499999999999, 0.500000000001] (tests with both errors >= 1e-10)
    """

    mu: Bracket
    smallest_error: float
    account: Account = field(repr=False)

    @cached_property
    def distance(self) -> Bracket:
        """The sup over alpha of |f - G_mu| at mu = mu.upper, and sup over eps of the distance in delta.

        Both are the same number, as passing from f to its profile keeps distances:
        |sup_alpha(1 - f - u alpha) - sup_alpha(1 - G - u alpha)| <= sup|f - G|, and back likewise.
        """
        if not self.mu.certified:
            return _estimated_distance(self.account, float(self.mu.value), self.mu)
        return _distance(self.account, float(self.mu.upper), self.shortfall)

    @cached_property
    def shortfall(self) -> Bracket:
        """The sup over eps of delta - delta_mu, at least 0, at mu = mu.upper: what tests outside the range add.

        With it G_mu is a statement about all tests: f >= G_mu - shortfall. Where f < G_mu, alpha < smallest_error (or
        f(alpha) is, by symmetry), so that the shortfall is at most the power there.
        """
        certificate = self.mu.certificate
        if not self.mu.certified:
            return Bracket(lower=0.0, upper=1.0, value=0.0, certificate=certificate)
        if exact_mu(self.account) is not None or self.mu.upper == math.inf:
            return Bracket(lower=0.0, upper=0.0, value=0.0, certificate=certificate)
        start, mu = self.smallest_error, float(self.mu.upper)
        epsilon = np.linspace(0.0, -2 * math.log(start), 65)
        delta = self.account.delta(epsilon)
        excess = delta.lower - GaussianTradeOff(mu).profile()(epsilon) * (1 + _FORMULA)
        lower = max(0.0, float(np.max(excess)))
        upper = max(lower, float(Polygon.of(epsilon, np.asarray(delta.upper), start).power[0]))
        return Bracket(lower=lower, upper=upper, value=lower, certificate=certificate)

    def __str__(self) -> str:
        return f"mu = {self.mu} (tests with both errors >= {self.smallest_error:.3g})"


def gaussian_fit(account: Account, *, smallest_error: float = 1e-10, tolerance: float = 1e-6) -> GaussianFit:
    """The covering mu over all tests whose two errors are at least `smallest_error`, its bracket `tolerance` wide.

    The bracket is wider where that of delta is, or where f follows G_mu too closely for a few thousand lines.
    """
    if not 0 < validation.probability(smallest_error=smallest_error) < 0.5:
        raise InvalidArgument(f"smallest_error={smallest_error!r} is out of range; give a number between 0 and 0.5")
    return fit_within(account, smallest_error, lambda _: tolerance)


def fit_within(account: Account, smallest_error: float, tolerance: Tolerance) -> GaussianFit:
    """The same, to a tolerance that may depend on how large mu is."""
    if not account.certified:
        return GaussianFit(_estimate(account, smallest_error), smallest_error, account)
    mu = exact_mu(account)
    if mu is not None:
        return GaussianFit(
            Bracket(mu * (1 - _FORMULA), mu * (1 + _FORMULA), mu, account.certificate), smallest_error, account
        )
    found = upper_mu(account, smallest_error=smallest_error, tolerance=tolerance)
    if found.bound == math.inf:
        least = (1 - float(account.delta(0.0).lower)) / 2
        lower = max(0.0, float(-2 * ndtri(max(least, 5e-324))) * (1 - _FORMULA))
        return GaussianFit(Bracket(lower, math.inf, math.inf, account.certificate), smallest_error, account)
    start = found.start
    lower = _lower(account, found, start)
    if lower < found.bound * (1 - 10 * tolerance(found.bound)):  # the lines say little, e.g. where f starts below 1
        miss = np.array([account.tradeoff(found.alpha).upper])
        lower = max(lower, float(separation(np.array([found.alpha]), 1 - miss, miss, rounded=-1.0)[0]))
    lower = min(lower, found.bound)
    return GaussianFit(Bracket(lower, found.bound, found.bound, account.certificate), start, account)


def upper_mu(account: Account, *, smallest_error: float, tolerance: Tolerance) -> Found:
    """An upper bound of the covering mu, with the lines that prove it; inf if no test has an error above 0."""
    mu = exact_mu(account)
    if mu is not None:
        return Found.exactly(mu * (1 + _FORMULA), smallest_error)
    start = min(smallest_error, (1 - float(account.delta(0.0).upper_bound())) / 2)
    if not start > 0:
        return Found.exactly(math.inf, smallest_error)
    lines = first_lines(account, start=start, top=-math.log(start))
    return greatest(account, separation, lines, start=start, tolerance=tolerance)


def exact_mu(account: Account) -> float | None:
    """The mu of a curve that is G_mu over all tests; None for other curves."""
    curve = account.curve
    if isinstance(curve, Identity):
        return 0.0
    return curve.mu if isinstance(curve, GaussianTradeOff) else None


def _lower(account: Account, found: Found, start: float) -> float:
    """A mu that every G_mu below f over the range must reach.

    If f touches its line of slope -e^eps at an alpha of the range and f >= G_mu there, delta(eps) <= delta_mu(eps). The
    touching alpha is at least the drop of delta to any larger eps over the growth of e^eps. The slope of G_mu at the
    greatest separation is one such eps: at a kink of f no other would do.
    """
    mu = found.bound
    if not 0 < mu < math.inf or found.delta is None:
        return 0.0
    tangent = max(0.0, -mu * float(ndtri(found.alpha)) - mu * mu / 2)
    epsilon, delta = joined((found.epsilon, found.delta), account, np.array([tangent]))
    lower, upper, slope = np.asarray(delta.lower), np.asarray(delta.upper), np.exp(epsilon)
    touching = np.zeros(epsilon.size)
    for ahead in (1, 2, 4, 8):
        drop = (lower[:-ahead] - upper[ahead:]) / (slope[ahead:] - slope[:-ahead])
        touching[:-ahead] = np.maximum(touching[:-ahead], drop)
    usable = np.nonzero((touching >= start) & (lower > 0))[0]
    guess = separation(touching[usable], (lower + slope * touching)[usable], (1 - lower - slope * touching)[usable])
    chosen = usable[np.argsort(-guess)[:_CANDIDATES]]
    chosen = np.union1d(chosen, usable[epsilon[usable] == tangent])
    return max((_mu_with(float(epsilon[j]), float(lower[j]), mu) for j in chosen), default=0.0)


def _mu_with(epsilon: float, delta: float, start: float) -> float:
    """A mu with delta_mu(eps) <= delta, as large as Newton finds it: d delta_mu/d mu = phi(eps/mu - mu/2)."""
    mu, log_target = start, math.log(delta)
    for _ in range(_NEWTON_STEPS):
        log_delta = float(GaussianTradeOff(mu).profile().log(epsilon))
        x = epsilon / mu - mu / 2
        step = (log_delta - log_target) * math.exp(log_delta + x * x / 2) * math.sqrt(2 * math.pi)
        mu = min(max(mu - step, mu / 2), 2 * mu)
    for exponent in range(-13, 1):
        low = mu * (1 - 10.0**exponent)
        if GaussianTradeOff(low).profile()(epsilon) * (1 + _FORMULA) <= delta:
            return low
    return 0.0


def _estimate(account: Account, smallest_error: float) -> Bracket:
    """The greatest separation of an estimated curve, between the trivial ends 0 and inf."""
    f = account.curve
    start = min(smallest_error, f.fixed_point)
    if not start > 0:
        return Bracket(lower=0.0, upper=math.inf, value=math.inf, certificate=account.certificate)
    alpha = np.geomspace(start, f.fixed_point, _ALPHAS)
    value = float(np.max(separation(alpha, f.power(alpha), f(alpha), rounded=0.0)))
    return Bracket(lower=0.0, upper=math.inf, value=value, certificate=account.certificate)


def _estimated_distance(account: Account, mu: float, like: Bracket) -> Bracket:
    if mu == math.inf:
        return Bracket(lower=0.0, upper=1.0, value=1.0, certificate=like.certificate)
    epsilon = np.linspace(0.0, mu * (mu + 8), _GRID)
    gap = np.abs(np.asarray(account.delta(epsilon).value) - GaussianTradeOff(mu).profile()(epsilon))
    return Bracket(lower=0.0, upper=1.0, value=float(np.max(gap)), certificate=like.certificate)


def _distance(account: Account, mu: float, shortfall: Bracket) -> Bracket:
    """The sup over eps >= 0 of |delta - delta_mu|; at eps < 0 a symmetric f has e^eps times the distance at -eps."""
    certificate = account.certificate
    if exact_mu(account) is not None:
        return Bracket(lower=0.0, upper=2 * _FORMULA, value=0.0, certificate=certificate)
    if mu == math.inf:
        return Bracket(lower=0.0, upper=1.0, value=1.0, certificate=certificate)
    profile = GaussianTradeOff(mu).profile()
    if mu < _TINY_MU:
        most = max(float(account.delta(0.0).upper), float(profile(0.0)) * (1 + _FORMULA))
        return Bracket(lower=0.0, upper=most, value=0.0, certificate=certificate)
    top = float(profile.epsilon(_FAINT)) + mu
    step = top / _GRID
    epsilon = step * np.arange(-1.0, _GRID + 1)
    delta = account.delta(epsilon)
    low, high, u = np.asarray(delta.lower), np.asarray(delta.upper), np.exp(epsilon)
    lower = float(np.max((profile(epsilon) * (1 - _FORMULA) - high)[1:]))
    upper = float(np.max(_above_lines(low, high, u, profile)))
    beyond = float(profile(float(epsilon[-2])))
    upper = max(upper + _FORMULA, beyond + _FORMULA, float(shortfall.upper))
    lower = min(max(lower, float(shortfall.lower), 0.0), upper)
    return Bracket(lower=lower, upper=upper, value=lower, certificate=certificate)


def _above_lines(low: Array, high: Array, u: Array, profile: Profile) -> Array:
    """How far the convex profile lies above the lines that bound delta from below, at the vertices of these lines.

    delta is convex in u = e^eps: between two grid points it lies above the chords on both sides, continued.
    """
    steep = (low[1:] - high[:-1]) / np.diff(u)  # from the left: at most the slope of the chord
    flat = (high[1:] - low[:-1]) / np.diff(u)
    left, right = slice(1, -2), slice(2, -1)  # the cells whose neighbours are on the grid
    s, t = steep[:-2], flat[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        # low_i + s (x - u_i) = low_(i+1) + t (x - u_(i+1))
        cross = (low[right] - t * u[right] - low[left] + s * u[left]) / (s - t)
    cross = np.clip(np.nan_to_num(cross, nan=0.0), u[left], u[right])
    bound = np.maximum(low[left] + s * (cross - u[left]), low[right] + t * (cross - u[right]))
    at_cross = profile(np.log(cross)) - np.maximum(bound, 0.0)
    at_grid = profile(np.log(u[1:])) - low[1:]
    return np.concatenate([at_cross, at_grid])
