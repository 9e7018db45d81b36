"""The account of a history, remembered by the contents of the history and by nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.account import Account, account
from edgeworth.ledger import Budget, Ledger
from edgeworth.mechanisms import ApproxDP, Composed, Gaussian, PoissonSampled

if TYPE_CHECKING:
    from edgeworth.curves import Bracket
    from edgeworth.integrations.opacus.history import Segment
    from edgeworth.mechanisms import Mechanism

__all__ = ["account_of", "epsilon_of", "most_steps", "rounded_up"]

_KEPT = 64  # of each kind; a run that is read after every step needs the last one only
_STRIDE = 100  # steps; benchmarks/opacus_training.py: a reading of some milliseconds is then lost among them


@lru_cache(_KEPT)
def account_of(ran: tuple[Segment, ...]) -> Account:
    """The account of a tally."""
    return account(_mechanism(ran))


@lru_cache(_KEPT)
def epsilon_of(ran: tuple[Segment, ...], delta: float) -> Bracket:
    """Epsilon of a tally."""
    return account_of(ran).epsilon(delta)


@lru_cache(_KEPT)
def most_steps(others: tuple[Segment, ...], noise_multiplier: float, sample_rate: float, budget: Budget) -> float:
    """How many such steps fit into the budget beside the others; inf where they cost nothing.

    The answer does not depend on how many of them were taken, so it is found once for a whole run.
    """
    step = _step(noise_multiplier, sample_rate)
    return Ledger.planned().add(_mechanism(others)).steps_left(budget, step)


def rounded_up(steps: int) -> int:
    """The next multiple of 100: the counts that are read where a figure is wanted after every step.

    >>> [rounded_up(steps) for steps in (1, 100, 101)]
    [100, 100, 200]
    """
    return -(-steps // _STRIDE) * _STRIDE


def _mechanism(ran: tuple[Segment, ...]) -> Mechanism:
    parts = [_step(each.noise_multiplier, each.sample_rate) ** each.steps for each in ran]
    return parts[0] if len(parts) == 1 else Composed(parts)


def _step(noise_multiplier: float, sample_rate: float) -> Mechanism:
    """One step. Without noise nothing is promised, however rarely a record is drawn."""
    if noise_multiplier == 0:
        return ApproxDP(epsilon=0.0, delta=1.0)
    noise = Gaussian(noise_multiplier)
    return noise if sample_rate == 1 else PoissonSampled(noise, rate=sample_rate)
