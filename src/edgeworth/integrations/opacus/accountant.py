"""An accountant for Opacus whose epsilon is a certified upper end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opacus.accountants import IAccountant

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.integrations.opacus.accounts import account_of, epsilon_of, most_steps, rounded_up
from edgeworth.integrations.opacus.history import Segment, noise_and_rate, segment, segments, tally
from edgeworth.integrations.opacus.hook import (
    asked_for_poisson_sampling,
    noise_of_one,
    refuse_adaptive_clipping,
    warn_of_other_sampling,
)
from edgeworth.ledger import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeworth.account import Account
    from edgeworth.curves import Bracket

__all__ = ["EdgeworthAccountant"]


class EdgeworthAccountant(IAccountant):  # type: ignore[misc]  # Opacus ships no types
    """The privacy of a run of Opacus, certified.

    `history` is all it knows, a list of (noise_multiplier, sample_rate, steps), and may be replaced or changed at any
    time. Every sample_rate below 1 is that of Poisson sampling: each record enters each batch by itself.

    >>> accountant = EdgeworthAccountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> accountant.history, len(accountant)
    ([(1.0, 0.01, 1000)], 1000)
    >>> print(round(accountant.get_epsilon(1e-5), 6))
    1.828237
    >>> accountant.steps_left(epsilon=2.0, delta=1e-5)
    202
    """

    history: list[tuple[float, float, int]]

    def __init__(self) -> None:
        super().__init__()

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step. What is refused leaves the history as it was."""
        self._add(*noise_and_rate(noise_multiplier, sample_rate), 1)

    def _add(self, noise: float, rate: float, steps: int) -> None:
        if not isinstance(self.history, list):  # somebody put a tuple or an array there
            self.history = [tuple(each) for each in segments(self.history)]
        place = len(self.history) - 1
        before = segment(self.history[place], place) if place >= 0 else None
        if before is not None and before[:2] == (noise, rate):
            self.history[place] = (noise, rate, before.steps + steps)
        else:
            self.history.append((noise, rate, steps))

    def get_epsilon(self, delta: float, *_others: Any, **_options: Any) -> float:
        """An epsilon at which the run so far is certainly (epsilon, delta)-DP: the upper end of the bracket.

        Opacus hands the options of other accountants to every accountant; nothing here depends on them.
        """
        return float(self.epsilon_bracket(delta).upper_bound())

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The least such epsilon, from both sides."""
        return epsilon_of(self._ran(), validation.probability(delta=delta))

    def epsilon_at_most(self, delta: float) -> float:
        """An epsilon for every step of a training loop: larger than need be, never too small, and nearly free.

        It is that of the run continued with steps of the last kind until their number is a multiple of 100, so that one
        reading serves 100 steps. Where the noise changes at every step, each figure is a reading of its own.
        """
        history = segments(self.history)
        if not history:
            return 0.0
        others, taken = _apart(history, history[-1])
        ahead = tally([*others, history[-1]._replace(steps=rounded_up(taken))])
        return float(epsilon_of(ahead, validation.probability(delta=delta)).upper_bound())

    def steps_left(
        self,
        epsilon: float,
        delta: float,
        *,
        noise_multiplier: float | None = None,
        sample_rate: float | None = None,
    ) -> float:
        """How many more steps keep the run certainly within (epsilon, delta); inf where they cost nothing.

        They are like the last one unless noise and rate are given, as they must be before the first.

        >>> EdgeworthAccountant().steps_left(epsilon=2.0, delta=1e-5, noise_multiplier=1.0, sample_rate=0.01)
        1202
        """
        history = segments(self.history)
        step = _meant(history, noise_multiplier, sample_rate)
        others, taken = _apart(history, step)
        most = most_steps(others, step.noise_multiplier, step.sample_rate, Budget(epsilon=epsilon, delta=delta))
        return max(most - taken, 0)

    @property
    def account(self) -> Account:
        """The whole account of the run so far: curve, delta, risk, statement."""
        return account_of(self._ran())

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What the optimizer calls at each step; see `edgeworth.integrations.opacus.hook`.

        Outside of an engine nobody says how batches are drawn. Then `sample_rate` times the accumulated batches is
        taken for the rate of a Poisson sample, as in Opacus.
        """
        poisson = asked_for_poisson_sampling()
        if poisson is False:
            warn_of_other_sampling()
        rate = 1.0 if poisson is False else sample_rate

        def hook(optimizer: Any) -> None:
            refuse_adaptive_clipping(optimizer)
            batches = optimizer.accumulated_iterations
            if poisson is None:
                self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate * batches)
            else:
                noise, sampled = noise_and_rate(optimizer.noise_multiplier, rate)
                self._add(noise_of_one(noise, batches), sampled, batches)

        return hook

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a history, after a look at all of it; the given one is not shared."""
        checked = dict(state_dict or {})
        if "history" in checked:
            checked["history"] = [tuple(each) for each in segments(checked["history"])]
        super().load_state_dict(checked)

    def __len__(self) -> int:
        """The steps taken, each of which released something noisy."""
        return sum(each.steps for each in segments(self.history))

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows this accountant."""
        return "edgeworth"

    def _ran(self) -> tuple[Segment, ...]:
        return tally(segments(self.history))


def _apart(history: list[Segment], step: Segment) -> tuple[tuple[Segment, ...], int]:
    """The tally of all other kinds of step, and how many there were of this kind."""
    others = tally(each for each in history if each[:2] != step[:2])
    return others, sum(each.steps for each in history if each[:2] == step[:2])


def _meant(history: list[Segment], noise_multiplier: float | None, sample_rate: float | None) -> Segment:
    """The kind of step that is asked about: the last one, with what is given instead."""
    if not history and (noise_multiplier is None or sample_rate is None):
        raise InvalidArgument(
            "noise_multiplier and sample_rate are needed: there is no step yet to take them from; give both"
        )
    noise = history[-1].noise_multiplier if noise_multiplier is None else noise_multiplier
    rate = history[-1].sample_rate if sample_rate is None else sample_rate
    return Segment(*noise_and_rate(noise, rate), 0)
