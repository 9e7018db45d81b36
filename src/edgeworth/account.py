"""The object a user holds: a mechanism, composed, ready to be read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from edgeworth import validation
from edgeworth.composition import LIMITS, AnsweredTradeOff, ComposedCurve, choose, compose, one_reading
from edgeworth.curves import (
    Bracket,
    Certificate,
    Guide,
    Identity,
    Rescaled,
    TradeOff,
    group,
    knows_power,
    trivial_delta_ends,
    trivial_epsilon_ends,
    trivial_tradeoff_ends,
)
from edgeworth.errors import InvalidArgument, NotCertified, ToleranceMissed
from edgeworth.losses import TotalLoss
from edgeworth.mechanisms import Mechanism
from edgeworth.mechanisms.adjacency import ADJACENCIES, Adjacency

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from edgeworth.report import Statement
    from edgeworth.risk import Risk
    from edgeworth.training import DPSGD, Training

    Array = NDArray[np.float64]
    #: what has an account
    Accountable: TypeAlias = Mechanism | DPSGD | Training

__all__ = ["Account", "account", "described"]

_DIRECTIONS = ("both", "forward", "backward")
_ULPS = 4e-16  # of 1 - e^eps, where no more is known
_GROUP_ULPS = 4e-15  # of one record of a group, and of 1 - f, where the curve is a formula or has vertices
_LEAST = 5e-324  # an upper end is never 0 where the truth only underflows
_SUM_ULPS = 1e-15  # of the sum of the steps' largest losses
_PROMISED = 1e-6  # a relative width beyond which a bracket says what made it so wide
_ROOT_ULPS = 1e-14  # of the root finder, which stops within 4 ulp


def account(
    mechanism: Accountable,
    *,
    method: str = "auto",
    degree: int = 2,
    direction: str = "both",
    adjacency: Adjacency | None = None,
    tolerance: float | None = None,
) -> Account:
    """The account of everything that ran: a mechanism, or a run that says which one it is.

    `method="auto"` gives brackets that hold whatever the rounding; "clt", "edgeworth", "cornish-fisher" and
    "saddlepoint" are estimates of the given degree and say so. `direction` is "both" (symmetrised, the
    guarantee), "forward" for T(P, Q) or "backward" for T(Q, P). `adjacency` says which neighbours are meant,
    "add-remove" or "replace"; it has to be what the sampling inside means. Without sampling the sensitivities decide.
    With a `tolerance`, which buys more digits or less work where there is a choice, a bracket that is relatively wider
    raises ToleranceMissed, which carries it; else the best bracket is returned, however wide.

    >>> import edgeworth as ew
    >>> ten = ew.account(ew.Gaussian(noise_multiplier=5.0) ** 10)
    >>> print(ten.epsilon(delta=1e-5))  # doctest: +ELLIPSIS
    2.5943833805... in [2.5943833805..., 2.5943833805...]
    >>> ew.account(ew.Gaussian(5.0) ** 10, method="clt").delta(epsilon=1.0).certified
    False
    """
    ran, run = described(mechanism)
    validation.choice(_DIRECTIONS, direction=direction)
    meant = _agreed(ran, run, adjacency)
    total = TotalLoss.of(ran)
    if tolerance is not None:
        tolerance = validation.positive(tolerance=tolerance)
    forward = compose(total, method, degree, tolerance)
    if tolerance is not None and not forward.certificate.certified:
        out = "no method has a guarantee for it; leave the tolerance out" if method == "auto" else 'use method="auto"'
        raise NotCertified(
            f"tolerance={tolerance!r} asks for a guarantee, and method={forward.certificate.method!r} is an "
            f"estimate here; {out}"
        )
    return Account(ran, method, degree, direction, forward, total, meant, tolerance=tolerance, run=run)


def described(given: Any) -> tuple[Mechanism, DPSGD | Training | None]:
    """What ran, and the run that was given instead, if it was one; a run has a mechanism and phases."""
    if isinstance(given, Mechanism):
        return given, None
    ran = given.mechanism if hasattr(given, "phases") and hasattr(given, "mechanism") else None
    if not isinstance(ran, Mechanism):
        raise InvalidArgument(
            f"mechanism={given!r} is not a mechanism; give one, e.g. Gaussian(noise_multiplier=1.0) ** 10"
        )
    return ran, given


def _agreed(mechanism: Mechanism, run: DPSGD | Training | None, adjacency: Adjacency | None) -> Adjacency | None:
    """The adjacency that was asked for, which a run or a sampled mechanism has to share; its own if none was."""
    if adjacency is None:
        return mechanism.adjacency
    validation.choice(ADJACENCIES, adjacency=adjacency)
    what, own = ("sampling inside", mechanism.adjacency) if run is None else ("run", run.adjacency)
    if own not in (None, adjacency):
        raise InvalidArgument(
            f"adjacency={adjacency!r} is not what the {what} means, adjacency={own!r}; "
            f"give that, or describe the {what.split()[0]} with adjacency={adjacency!r}"
        )
    return adjacency


@dataclass(frozen=True, eq=False, repr=False)
class Account:
    """The composed privacy of a mechanism. Prepared on the first call, read many times."""

    mechanism: Mechanism
    method: str
    degree: int
    direction: str
    forward: ComposedCurve
    total: TotalLoss
    adjacency: Adjacency | None = None
    """The neighbours that are meant; None: those that the sensitivities were measured for."""
    group_size: int = 1
    """How many records may differ, 1 unless `group` was asked for more."""
    tolerance: float | None = None
    """The relative width above which a reading raises ToleranceMissed; None: any width is returned."""
    run: DPSGD | Training | None = None
    """The run that this is the account of, where one was given; `statement` tells about it."""

    @cached_property
    def _composed(self) -> ComposedCurve:
        composed = self.forward
        if self.direction != "forward":
            composed = composed.map(lambda f: f.inverse() if self.direction == "backward" else f.symmetrise())
        return composed if self.group_size == 1 else _grouped(composed, self.group_size)

    def group(self, size: int) -> Account:
        """The same for neighbours that differ by up to `size` records: f^(size) = 1 - (1 - f) o … o (1 - f).

        >>> import edgeworth as ew
        >>> print(ew.account(ew.Gaussian(5.0)).group(2).epsilon(delta=1e-5))  # doctest: +ELLIPSIS
        1.5549816915... in [1.5549816915..., 1.5549816915...]
        """
        group(self.forward.value, size)  # refuses what is no size
        return replace(self, group_size=self.group_size * int(size))

    @cached_property
    def certificate(self) -> Certificate:
        """Guarantee or estimate, by which method, and every source of error with its number."""
        found = self.forward.certificate
        if self.group_size == 1:
            return found
        return replace(found, notes=(*found.notes, f"for groups of {self.group_size} records"))

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
        with one_reading(grid.size):
            composed, slack = self._composed, self._composed.rounding_of_f
            value = composed.value(grid)
            if composed.lower is None or composed.upper is None:
                return self._bracket(*trivial_tradeoff_ends(grid), value)
            whole = 1 - grid
            greatest = np.where(1 - whole == grid, whole, np.nextafter(whole, 2.0))  # 1 - alpha, never rounded down
            lower = np.maximum(composed.lower(grid) * (1 - slack), 0.0)
            upper = np.minimum(composed.upper(grid) * (1 + max(slack, _ULPS)), greatest)
            possible = (grid < 1) & (self.total.null_only == 0) & (self.total.alternative_only == 0)
            return self._bracket(lower, np.where(possible, np.maximum(upper, _LEAST), upper), value)

    def power(self, alpha: ArrayLike) -> Bracket:
        """1 - f(alpha): the greatest true positive rate of any attacker with false-alarm rate alpha; at least alpha."""
        grid = validation.probabilities(alpha=alpha)
        with one_reading(grid.size):
            composed = self._composed
            value = composed.value.power(grid)
            if composed.lower is None or composed.upper is None:
                return self._bracket(grid, np.ones(grid.shape), value)
            if isinstance(composed.lower, Identity):
                return self._bracket(grid, grid, grid)
            miss = self.tradeoff(grid)
            lower = np.maximum(np.nextafter(1 - np.asarray(miss.upper), -1.0), grid)
            upper = np.clip(np.nextafter(1 - np.asarray(miss.lower), 2.0), grid, 1.0)
            if knows_power(composed.lower):
                slack = max(composed.rounding_of_f, _GROUP_ULPS)  # of 1 - f itself, where it is more than a difference
                lower = np.maximum(lower, composed.upper.power(grid) * (1 - slack))
                upper = np.clip(np.minimum(upper, composed.lower.power(grid) * (1 + slack)), lower, 1.0)
            return self._bracket(lower, upper, value)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """The least delta at which the mechanism is (epsilon, delta)-DP, for every real epsilon."""
        grid = validation.reals(epsilon=epsilon)
        with one_reading(grid.size):
            composed, slack = self._composed, self._composed.rounding
            value = composed.value.profile()(grid)
            if composed.lower is None or composed.upper is None:
                return self._bracket(*trivial_delta_ends(grid), value)
            least, greatest = trivial_delta_ends(grid)
            shift = composed.shift
            lower = np.maximum(composed.upper.profile()(grid + shift), least) * (1 - max(slack, _ULPS))
            upper = np.minimum(composed.lower.profile()(grid - shift) * (1 + slack), greatest)
            possible = grid < self.group_size * max(self.total.support[1], -self.total.support[0])
            return self._bracket(lower, np.where(possible, np.maximum(upper, _LEAST), upper), value)

    def epsilon(self, delta: ArrayLike) -> Bracket:
        """The least epsilon >= 0 at which the mechanism is (epsilon, delta)-DP; inf where there is none."""
        grid, composed = validation.probabilities(delta=delta), self._composed
        if isinstance(composed.value, AnsweredTradeOff):
            return self._epsilon_bracket(grid, *composed.value.ends_of_epsilon(grid))
        with one_reading(grid.size):
            slack = composed.rounding
            targets = np.stack([grid, np.minimum(grid * (1 + slack), 1.0), grid / (1 + slack)])
            if composed.lower is composed.value is composed.upper:  # a formula: its three roots in one search
                value, lower, upper = composed.value.profile().epsilon(targets)
            elif composed.lower is None or composed.upper is None:
                return self._bracket(*trivial_epsilon_ends(grid), composed.value.profile().epsilon(grid))
            elif isinstance(composed.value, Rescaled):  # an end is one question to an engine: their middle will do
                ends = (composed.upper, targets[1]), (composed.lower, targets[2])
                return self._epsilon_bracket(grid, *(f.profile().epsilon(at) for f, at in ends))
            else:
                curves = composed.value, composed.upper, composed.lower
                value, lower, upper = (f.profile().epsilon(at) for f, at in zip(curves, targets, strict=True))
            return self._epsilon_bracket(grid, lower, upper, value)

    def _epsilon_bracket(self, delta: Array, lower: Any, upper: Any, value: Any = None) -> Bracket:
        """The bracket of epsilon, widened by what its root finder may miss; without a value, that of the middle."""
        if not delta.ndim:
            lower, upper = float(lower), float(upper)
        middle = 0.5 * (lower + upper) if value is None else value
        shift = self._composed.shift
        lower, upper = lower * (1 - _ROOT_ULPS), upper * (1 + _ROOT_ULPS)
        if shift:
            lower, upper = np.maximum(lower - shift, 0.0), upper + np.where(upper > 0, shift, 0.0)
        if not (delta.all() if delta.ndim else delta):
            least, most = self._epsilon_of_pure_privacy()
            lower, upper = np.where(delta == 0, least, lower), np.where(delta == 0, most, upper)
        return self._bracket(lower, upper, middle)

    def _epsilon_of_pure_privacy(self) -> tuple[float, float]:
        """Ends of epsilon at delta = 0: the end of the support, or inf where something may be disclosed."""
        (least, greatest), total = self.total.support, self.total
        forward = greatest if total.alternative_only == 0 else np.inf
        backward = -least if total.null_only == 0 else np.inf
        most = {"forward": forward, "backward": backward, "both": max(forward, backward)}[self.direction]
        return max(most, 0.0) * (1 - _SUM_ULPS), max(most, 0.0) * self.group_size * (1 + _SUM_ULPS)

    def raw_tradeoff(self, alpha: ArrayLike) -> Array:
        """The expansion's own value at alpha, forward, before it was made a trade-off function; nan off its branch."""
        curve = self.forward.value
        if not hasattr(curve, "raw"):
            raise InvalidArgument(f"method={self.certificate.method!r} has no raw expansion; its curve is the answer")
        return np.asarray(curve.raw(validation.probabilities(alpha=alpha)))

    @cached_property
    def risk(self) -> Risk:
        """What an attacker can do: true positive rates, advantage, beliefs, mu; each a bracket."""
        from edgeworth.risk import Risk  # noqa: PLC0415 - a reading of this object

        return Risk.of(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the trade-off function, its bracket as a band, on a matplotlib Axes; returns the Axes."""
        from edgeworth.report.displays import TradeoffDisplay  # noqa: PLC0415 - matplotlib is an extra

        return TradeoffDisplay.from_account(self).plot(ax).ax

    def statement(
        self, *, deltas: Iterable[float] = (1e-5, 1e-6, 1e-8), run: DPSGD | Training | None = None
    ) -> Statement:
        """All that a reader needs to judge the figures, as text, Markdown or JSON.

        `run` is what this account is of; an account that was asked of a run knows it.
        """
        from edgeworth.report.statement import Statement  # noqa: PLC0415 - a reading of this object

        return Statement.of(self, deltas=deltas, run=self.run if run is None else run)

    def _bracket(self, lower: Any, upper: Any, value: Any) -> Bracket:
        low, high, middle = _in_order(lower, upper, value)
        wide = _relative_width(low, high)
        certificate = self.certificate
        if certificate.certified and wide > _PROMISED:
            certificate = replace(certificate, notes=(*certificate.notes, f"relatively {wide:.1e} wide: {self._limit}"))
        bracket = Bracket(lower=low, upper=high, value=middle, certificate=certificate)
        if self.tolerance is not None and wide > self.tolerance:
            raise ToleranceMissed(
                f"tolerance={self.tolerance!r} is not met: the bracket of method={certificate.method!r} is relatively "
                f"{wide:.2g} wide; ask without a tolerance to get it, or take .bracket of this error",
                bracket,
            )
        return bracket

    @property
    def _limit(self) -> str:
        """What keeps a wide bracket from being narrower."""
        return LIMITS.get(self.certificate.method, "the method can do no better here")

    def __repr__(self) -> str:
        kind = "certified" if self.certified else "estimate"
        return f"Account({self.mechanism!r}, method={self.certificate.method!r}, {kind}, direction={self.direction!r})"


def _grouped(composed: ComposedCurve, size: int) -> ComposedCurve:
    """Both ends and the value for groups: each end of f maps to the same end of f^(size), rounded outward."""
    near, slack = Guide(composed.value, size), composed.rounding
    value = group(composed.value, size, near=near)
    if composed.lower is None or composed.upper is None:
        return ComposedCurve(value, composed.certificate)
    lower = group(composed.lower, size, "lower", slack, near)
    upper = group(composed.upper, size, "upper", slack, near)
    return ComposedCurve(value, composed.certificate, lower, upper, slack + _GROUP_ULPS * size, size * composed.shift)


def _in_order(lower: Any, upper: Any, value: Any) -> tuple[Any, Any, Any]:
    """Both ends in order and the value between them, never -0.0; floats where they have no shape."""
    if type(lower) is type(upper) is type(value) is float:
        low, high = min(lower, upper) + 0.0, max(lower, upper) + 0.0
        return low, high, min(max(value, low), high)
    low, high = np.minimum(lower, upper) + 0.0, np.maximum(lower, upper) + 0.0
    middle = np.minimum(np.maximum(value, low), high)
    return tuple(part if part.ndim else part.item() for part in (low, high, middle))


def _relative_width(lower: Any, upper: Any) -> float:
    """The widest of the brackets, relative to its upper end; equal ends have no width."""
    if type(lower) is float:
        if lower == upper:
            return 0.0
        return (upper - lower) / upper if upper < math.inf else math.inf
    known = np.isfinite(upper) & (upper > 0)
    width = np.where(known, upper - np.where(known, lower, 0.0), 0.0) / np.where(known, upper, 1.0)
    return float(np.max(np.where(np.isinf(upper) & (lower < upper), np.inf, width), initial=0.0))
