"""A dp_accounting accountant whose answers are upper ends of certified brackets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from dp_accounting import PrivacyAccountant

from edgeworth.account import Account, account
from edgeworth.integrations.dp_accounting.from_event import NON_PRIVATE, from_dp_event
from edgeworth.integrations.dp_accounting.refused import EventRefused
from edgeworth.integrations.dp_accounting.relation import (
    ADD_OR_REMOVE_ONE,
    REPLACE_SPECIAL,
    adjacency_of,
    checked_relation,
)
from edgeworth.integrations.dp_accounting.walk import repetitions
from edgeworth.mechanisms import Composed, Mechanism

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["EdgeworthAccountant"]

_SMALLEST_ERROR = 1e-12  # as in get_gdp_parameter_estimate of PLDAccountant


class EdgeworthAccountant(PrivacyAccountant):  # type: ignore[misc]  # a class without types
    """Takes the place of PLDAccountant; epsilon and delta are guarantees, the whole curve is in `account`.

    Counts are whole numbers and equal events are merged, so that a million steps cost what one step does.

    >>> from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
    >>> accountant = EdgeworthAccountant().compose(SelfComposedDpEvent(GaussianDpEvent(1000.0), 10**6))
    >>> print(accountant.account.epsilon(delta=1e-5))  # doctest: +ELLIPSIS
    4.37717809... in [4.37717809..., 4.37717809...]
    >>> accountant.get_epsilon(1e-5) == accountant.account.epsilon(delta=1e-5).upper
    True
    """

    def __init__(self, neighboring_relation: Any = ADD_OR_REMOVE_ONE) -> None:
        super().__init__(checked_relation(neighboring_relation))
        self._ran: dict[Mechanism, int] = {}
        self._account: Account | None = None

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        """None, or what is wrong with the event. The same reading serves both questions; nothing changes before it."""
        try:
            ran = from_dp_event(event, neighboring_relation=self.neighboring_relation)
        except EventRefused as refusal:
            return self.CompositionErrorDetails(refusal.event, str(refusal))
        if do_compose:
            for step, times in ran.steps():
                self._ran[step] = self._ran.get(step, 0) + times * count
            self._account = None
        return None

    def compose(self, event: Any, count: int = 1) -> EdgeworthAccountant:
        """Account for the event, `count` times; returns this accountant. What fails leaves it as it was.

        >>> from dp_accounting import GaussianDpEvent
        >>> EdgeworthAccountant().compose(GaussianDpEvent(2.0), 3).ledger
        SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
        """
        try:  # the ledger of the base class refuses repetitions by 0 and by numpy's integers, so it sees none
            inner, times = repetitions(event)
        except EventRefused:
            inner, times = event, 1  # the base class says what is wrong
        if times or not self.supports(inner):
            super().compose(inner, count * max(times, 1))
        return self

    @property
    def mechanism(self) -> Mechanism:
        """All that ran, as one description; ApproxDP(0, 1), which promises nothing, if anything was not private."""
        if NON_PRIVATE in self._ran:
            return NON_PRIVATE
        return Composed([step**count for step, count in self._ran.items()]).canonical()

    @property
    def account(self) -> Account:
        """The account of all that ran: brackets, trade-off curve, risk, statement, pictures."""
        if self._account is None:
            relation = self.neighboring_relation
            meant = None if relation is REPLACE_SPECIAL else adjacency_of(relation)
            self._account = account(self.mechanism, adjacency=meant)
        return self._account

    def get_epsilon(self, target_delta: float) -> float:
        """The upper end of epsilon at that delta; inf if anything was not private."""
        bracket = self.account.epsilon(delta=target_delta)
        return math.inf if NON_PRIVATE in self._ran else float(bracket.upper_bound())

    def get_delta(self, target_epsilon: float) -> float:
        """The upper end of delta at that epsilon; 1 if anything was not private."""
        bracket = self.account.delta(epsilon=target_epsilon)
        return 1.0 if NON_PRIVATE in self._ran else float(bracket.upper_bound())

    def get_true_positive_rates(
        self,
        false_positive_rates: ArrayLike,
        deltas: ArrayLike | None = None,  # noqa: ARG002 - an argument of PLDAccountant's: here the curve needs no grid
    ) -> float | NDArray[np.float64]:
        """The upper end of what any attack with these false positive rates detects; no grid of deltas is needed.

        >>> from dp_accounting import GaussianDpEvent
        >>> round(EdgeworthAccountant().compose(GaussianDpEvent(1.0)).get_true_positive_rates(0.1), 6)
        0.389144
        """
        return self.account.risk.tpr(false_positive_rates).upper_bound()

    def get_gdp_parameter_estimate(
        self,
        false_positive_rates: ArrayLike | None = None,
        deltas: ArrayLike | None = None,  # noqa: ARG002 - idem
    ) -> float:
        """A mu such that all is mu-GDP for tests whose two errors are at least the least rate given (1e-12).

        PLDAccountant calls its answer an estimate that bounds nothing; this one is an upper end.

        >>> from dp_accounting import GaussianDpEvent
        >>> round(EdgeworthAccountant().compose(GaussianDpEvent(1.0)).get_gdp_parameter_estimate(), 9)
        1.0
        """
        least = _SMALLEST_ERROR if false_positive_rates is None else float(np.min(false_positive_rates))
        return float(self.account.risk.gaussian(smallest_error=least).mu.upper_bound())
