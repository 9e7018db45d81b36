"""How much may be spent: an epsilon at a delta, a mu, or a curve to stay above."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth import validation
from edgeworth.account import account
from edgeworth.curves import GaussianTradeOff, TradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.ledger.covering import mu_squared
from edgeworth.ledger.exact import decimal
from edgeworth.ledger.supporting import supporting_points
from edgeworth.losses import TotalLoss
from edgeworth.mechanisms import GaussianDP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from edgeworth.mechanisms import Mechanism

__all__ = ["Budget"]

_MU_RANGE = (1e-150, 1e150)  # the squares of both ends are doubles
_MU_STEP = 1e-12  # relative, well within the rounding of delta
_KINDS = "give epsilon and delta, or mu, or points, or tradeoff"


@dataclass(frozen=True, init=False, repr=False)
class Budget:
    """What everything together may cost, in one of four ways.

    - ``epsilon`` and ``delta``: (epsilon, delta)-DP;
    - ``points``: several such pairs, all to be kept;
    - ``tradeoff``: a curve to stay above, wherever both error rates are at least 1e-10 (everywhere for a curve
      made of straight lines);
    - ``mu``: mu-GDP at every alpha. A Poisson sample of Gaussian noise has no smaller mu than the noise itself:
      for such a run ask for ``tradeoff=GaussianTradeOff(mu)``.

    >>> Budget(epsilon=3, delta=1e-5).allows(GaussianDP(mu=0.5) ** 2)
    True
    >>> Budget(mu=0.7).allows(GaussianDP(mu=0.5) ** 2)
    False
    """

    mu: float | None
    points: tuple[tuple[float, float], ...]

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        points: Iterable[tuple[float, float]] | None = None,
        tradeoff: TradeOff | None = None,
    ) -> None:
        if sum(value is not None for value in (epsilon, mu, points, tradeoff)) != 1 or (epsilon is None) != (
            delta is None
        ):
            given = {"epsilon": epsilon, "delta": delta, "mu": mu, "points": points, "tradeoff": tradeoff}
            named = " and ".join(name for name, value in given.items() if value is not None) or "nothing"
            raise InvalidArgument(f"a budget cannot be made of {named}; {_KINDS}")
        if mu is not None:
            pairs: tuple[tuple[float, float], ...] = ()
        elif tradeoff is not None:
            pairs = supporting_points(_as_curve(tradeoff))
        else:
            pairs = _as_points([(epsilon, delta)] if points is None else points)
        object.__setattr__(self, "mu", None if mu is None else validation.non_negative(mu=mu) + 0.0)
        object.__setattr__(self, "points", pairs)

    def allows(self, mechanism: Mechanism) -> bool:
        """Whether the mechanism is proved to be within the budget."""
        return self.excess(mechanism) <= 0

    def excess(self, mechanism: Mechanism, *, method: str = "auto") -> float:
        """Returns at most 0 only within the budget: the largest log(delta/allowed delta), or log(mu^2/allowed mu^2).

        With the method of an estimate this is an estimate, to start a search from.
        """
        if self.mu is not None:
            return _log_ratio(mu_squared(mechanism), decimal(self.mu) ** 2)
        worst = max(
            (_pure_excess(mechanism, epsilon) for epsilon, delta in self.points if not delta), default=-math.inf
        )
        kept = [(epsilon, delta) for epsilon, delta in self.points if 0 < delta < 1]
        if not kept or worst > 0:
            return worst
        reading = account(mechanism, method=method).delta(np.array([epsilon for epsilon, _ in kept]))
        found = np.asarray(reading.upper_bound() if reading.certified else reading.value)
        return max(worst, *(_log_ratio(float(spent), delta) for spent, (_, delta) in zip(found, kept, strict=True)))

    def largest_mu(self) -> float:
        """The largest mu, rounded down, for which mu-GDP is within the budget: what an adaptive ledger may spend.

        >>> Budget(mu=0.7).largest_mu()
        0.7
        >>> round(Budget(epsilon=1.0, delta=1e-5).largest_mu(), 6)
        0.268051
        """
        if self.mu is not None:
            return self.mu
        low, high = _MU_RANGE
        if not self.allows(GaussianDP(low)):
            return 0.0
        while high / low > 1 + _MU_STEP:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.allows(GaussianDP(middle)) else (low, middle)
        return low

    def to_dict(self) -> dict[str, Any]:
        """The budget as plain values; a curve becomes its points."""
        if self.mu is not None:
            return {"mu": self.mu}
        if len(self.points) == 1:
            return dict(zip(("epsilon", "delta"), self.points[0], strict=True))
        return {"points": [list(point) for point in self.points]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Budget:
        """The budget that ``to_dict`` wrote.

        >>> Budget.from_dict({"epsilon": 3, "delta": 1e-5})
        Budget(epsilon=3.0, delta=1e-05)
        """
        known = ("epsilon", "delta", "mu", "points")
        if not isinstance(fields, dict) or not set(fields) <= set(known):
            raise InvalidArgument(f"budget={fields!r} is not a budget; give epsilon and delta, or mu, or points")
        return cls(**fields)

    def __repr__(self) -> str:
        if len(self.points) > 1:
            return f"Budget(points=<{len(self.points)} pairs of epsilon and delta>)"
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def _as_curve(tradeoff: object) -> TradeOff:
    if not isinstance(tradeoff, TradeOff):
        raise InvalidArgument(f"tradeoff={tradeoff!r} is not a curve; give one, such as {GaussianTradeOff(1.0)!r}")
    return tradeoff


def _as_points(points: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(points, Iterable) or isinstance(points, str):
        raise InvalidArgument(f"points={points!r} is not a list of pairs; give pairs (epsilon, delta)")
    found = []
    for point in points:
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise InvalidArgument(f"points has {point!r}, which is not a pair; give pairs (epsilon, delta)")
        found.append((validation.finite(epsilon=point[0]), validation.probability(delta=point[1])))
    if not found:
        raise InvalidArgument("points is empty; give pairs (epsilon, delta)")
    return tuple(found)


def _pure_excess(mechanism: Mechanism, epsilon: float) -> float:
    """-inf if no loss is above epsilon in size, otherwise inf. A delta that underflows would be taken for 0."""
    loss = TotalLoss.of(mechanism)
    disclosed = loss.null_only > 0 or loss.alternative_only > 0
    return math.inf if disclosed or max(-loss.support[0], loss.support[1]) > epsilon else -math.inf


def _log_ratio(spent: float | Fraction, allowed: float | Fraction) -> float:
    """log(spent/allowed), its sign exact: <= 0 exactly when spent <= allowed."""
    if spent <= allowed:
        return -math.inf if not spent else min(_log(spent) - _log(allowed), 0.0)
    return math.inf if not allowed else max(_log(spent) - _log(allowed), math.ulp(1.0))


def _log(value: float | Fraction) -> float:
    """The logarithm of a float or of a fraction of any size."""
    numerator, denominator = value.as_integer_ratio()
    return math.log(numerator) - math.log(denominator)
