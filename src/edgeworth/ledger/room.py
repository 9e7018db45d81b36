"""How often a step still fits into a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeworth.account import account
from edgeworth.errors import EdgeworthError
from edgeworth.ledger.largest import largest_within

if TYPE_CHECKING:
    from edgeworth.ledger.budget import Budget
    from edgeworth.mechanisms import Mechanism

__all__ = ["count_within"]

_MOST = 10**12  # larger counts are not looked for


def count_within(budget: Budget, before: Mechanism, step: Mechanism) -> float:
    """The largest k for which ``before * step ** k`` is proved to be within the budget; inf if the step is free.

    The central limit theorem says where to look, in milliseconds; certified ends decide.
    """
    if account(step).delta(0.0).upper_bound() == 0 or all(delta >= 1 for _, delta in budget.points):
        return math.inf if budget.allows(before) else 0
    guess = largest_within(lambda k: _estimate(budget, before * step**k), guess=1, most=_MOST)
    return largest_within(lambda k: budget.excess(before * step**k), guess=guess, most=_MOST)


def _estimate(budget: Budget, mechanism: Mechanism) -> float:
    try:
        return budget.excess(mechanism, method="clt")
    except EdgeworthError:  # no estimate: the search starts at 1
        return math.inf
