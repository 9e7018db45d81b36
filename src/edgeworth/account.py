"""The object a user holds: a mechanism, composed, ready to be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth import validation
from edgeworth.composition import ComposedCurve, choose, compose
from edgeworth.curves import (
    Bracket,
    Certificate,
    TradeOff,
    trivial_delta_ends,
    trivial_epsilon_ends,
    trivial_tradeoff_ends,
)
from edgeworth.errors import InvalidArgument
from edgeworth.losses import TotalLoss
from edgeworth.mechanisms import Mechanism

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Account", "account"]

_DIRECTIONS = ("both", "forward", "backward")
_ULPS = 4e-16  # of 1 - e^eps, where no more is known
_ROOT_ULPS = 1e-14  # of the root finder, which stops within 4 ulp


def account(mechanism: Mechanism, *, method: str = "auto", degree: int = 2, direction: str = "both") -> Account:
    """The account of everything that ran.

    `method="auto"` gives brackets that hold whatever the rounding; "clt", "edgeworth", "cornish-fisher" and
    "saddlepoint" are estimates of the given degree and say so. `direction` is "both" (symmetrised, the
    guarantee), "forward" for T(P, Q) or "backward" for T(Q, P).

    >>> import edgeworth as ew
    >>> ten = ew.account(ew.Gaussian(noise_multiplier=5.0) ** 10)
    >>> print(ten.epsilon(delta=1e-5))  # doctest: +ELLIPSIS
    2.5943833805... in [2.5943833805..., 2.5943833805...]
    >>> ew.account(ew.Gaussian(5.0) ** 10, method="clt").delta(epsilon=1.0).certified
    False
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument(
            f"mechanism={mechanism!r} is not a mechanism; give one, e.g. Gaussian(noise_multiplier=1.0) ** 10"
        )
    validation.choice(_DIRECTIONS, direction=direction)
    total = TotalLoss.of(mechanism)
    forward = compose(total, method, degree)
    return Account(mechanism, method, degree, direction, forward, total)


@dataclass(frozen=True, eq=False, repr=False)
class Account:
    """The composed privacy of a mechanism. Prepared on the first call, read many times."""

    mechanism: Mechanism
    method: str
    degree: int
    direction: str
    forward: ComposedCurve
    total: TotalLoss

    @cached_property
    def _composed(self) -> ComposedCurve:
        if self.direction == "forward":
            return self.forward
        return self.forward.map(lambda f: f.inverse() if self.direction == "backward" else f.symmetrise())

    @property
    def certificate(self) -> Certificate:
        """Guarantee or estimate, by which method, and every source of error with its number."""
        return self.forward.certificate

    @property
    def certified(self) -> bool:
        """Whether the brackets are guarantees."""
        return self.certificate.certified

    @property
    def why(self) -> str:
        """Why this method was used."""
        if self.method != "auto":
            return f'method="{self.method}" was asked for'
        return choose(self.total)[1]

    @property
    def curve(self) -> TradeOff:
        """The trade-off function: the certified lower end of f, or the estimate."""
        return self._composed.lower or self._composed.value

    @cached_property
    def mu_star(self) -> float:
        """The mu* of the curve: that of the G_mu with the same fixed point (Section 4 of the paper)."""
        return self.curve.mu_star

    @cached_property
    def gamma(self) -> float:
        """The area gamma under the curve, between 0 and 1/2 (Section 4 of the paper)."""
        return self.curve.gamma

    def tradeoff(self, alpha: ArrayLike) -> Bracket:
        """f(alpha): the least miss rate of any attacker with false-alarm rate alpha."""
        grid = validation.probabilities(alpha=alpha)
        composed, slack = self._composed, self._composed.rounding
        value = composed.value(grid)
        if composed.lower is None or composed.upper is None:
            return self._bracket(*trivial_tradeoff_ends(grid), value)
        whole = 1 - grid
        greatest = np.where(1 - whole == grid, whole, np.nextafter(whole, 2.0))  # 1 - alpha, never rounded down
        lower = np.maximum(composed.lower(grid) * (1 - slack), 0.0)
        upper = np.minimum(composed.upper(grid) * (1 + max(slack, _ULPS)), greatest)
        return self._bracket(lower, upper, value)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """The least delta at which the mechanism is (epsilon, delta)-DP, for every real epsilon."""
        grid = validation.reals(epsilon=epsilon)
        composed, slack = self._composed, self._composed.rounding
        value = composed.value.profile()(grid)
        if composed.lower is None or composed.upper is None:
            return self._bracket(*trivial_delta_ends(grid), value)
        least, greatest = trivial_delta_ends(grid)
        lower = np.maximum(composed.upper.profile()(grid), least) * (1 - max(slack, _ULPS))
        upper = np.minimum(composed.lower.profile()(grid) * (1 + slack), greatest)
        return self._bracket(lower, upper, value)

    def epsilon(self, delta: ArrayLike) -> Bracket:
        """The least epsilon >= 0 at which the mechanism is (epsilon, delta)-DP; inf where there is none."""
        grid = validation.probabilities(delta=delta)
        composed, slack = self._composed, self._composed.rounding
        value = composed.value.profile().epsilon(grid)
        if composed.lower is None or composed.upper is None:
            return self._bracket(*trivial_epsilon_ends(grid), value)
        lower = composed.upper.profile().epsilon(np.minimum(grid * (1 + slack), 1.0)) * (1 - _ROOT_ULPS)
        upper = composed.lower.profile().epsilon(grid / (1 + slack)) * (1 + _ROOT_ULPS)
        return self._bracket(lower, upper, value)

    def raw_tradeoff(self, alpha: ArrayLike) -> Array:
        """The expansion's own value at alpha, forward, before it was made a trade-off function; nan off its branch."""
        curve = self.forward.value
        if not hasattr(curve, "raw"):
            raise InvalidArgument(f"method={self.certificate.method!r} has no raw expansion; its curve is the answer")
        return np.asarray(curve.raw(validation.probabilities(alpha=alpha)))

    def plot(self, ax: Any = None) -> Any:
        """Draw the trade-off function, its bracket as a band, on a matplotlib Axes; returns the Axes."""
        from edgeworth.report.displays import TradeoffDisplay  # noqa: PLC0415 - matplotlib is an extra

        return TradeoffDisplay.from_account(self).plot(ax).ax

    def _bracket(self, lower: Any, upper: Any, value: Any) -> Bracket:
        low, high = np.minimum(lower, upper) + 0.0, np.maximum(lower, upper) + 0.0  # never -0.0
        middle = np.clip(value, low, high)
        parts = [part.item() if np.ndim(part) == 0 else part for part in (low, high, middle)]
        return Bracket(lower=parts[0], upper=parts[1], value=parts[2], certificate=self.certificate)

    def __repr__(self) -> str:
        kind = "certified" if self.certified else "estimate"
        return f"Account({self.mechanism!r}, method={self.certificate.method!r}, {kind}, direction={self.direction!r})"
