"""A running account: an immutable log of what ran, which knows whether its parameters were planned or adapted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from edgeworth.account import Account, account
from edgeworth.errors import BudgetExceeded, InvalidArgument, Unsupported
from edgeworth.ledger.budget import Budget
from edgeworth.ledger.covering import mu_squared
from edgeworth.ledger.event import Event
from edgeworth.ledger.exact import decimal, root_up, tidied
from edgeworth.ledger.file import LogFile, create, read
from edgeworth.ledger.lines import FORMAT, VERSION, Log, torn_line
from edgeworth.ledger.room import count_within
from edgeworth.mechanisms import Composed, GaussianDP, Mechanism
from edgeworth.mechanisms.adjacency import agreed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from edgeworth.mechanisms.adjacency import Adjacency

__all__ = ["Ledger"]


@dataclass(frozen=True, eq=False, repr=False)
class Ledger:
    """An immutable log of what ran on one set of data. ``len`` counts noisy releases.

    ``spent`` is the exact sum of mu_i^2 of an adaptive ledger.
    The mode is chosen when the ledger is made, kept in its file and shown; the two never mix.

    - ``Ledger.planned()``: noise, rates and numbers of steps were fixed in advance, whatever the outputs were. The
      composition has an exact curve: ``account()``.
    - ``Ledger.adaptive(budget)``: they may be chosen from earlier outputs. Composing curves until a target is
      reached bounds nothing then. What does hold is the filter of Gaussian differential privacy: while the sum
      of mu_i^2 stays within mu^2, everything together is mu-GDP (Smith and Thakurta, "Fully adaptive composition
      for Gaussian differential privacy", arXiv:2210.17520). ``guarantee()`` is the account of that mu.

    Charge first, run afterwards: ``add`` returns a new ledger once the event is safe. A call that fails leaves
    the ledger and its file as they were.

    >>> from edgeworth.mechanisms import Gaussian, Laplace
    >>> ledger = Ledger.planned().add(Gaussian(10.0) ** 50).add(Laplace(20.0), note="a count")
    >>> len(ledger)
    51
    >>> ledger.steps_left(Budget(epsilon=3.0, delta=1e-5), Gaussian(10.0))
    1
    >>> Ledger.adaptive(Budget(mu=1.0)).add(Gaussian(10.0) ** 99).can_afford(Gaussian(10.0))
    True
    """

    mode: str
    budget: Budget | None
    mu: float | None
    events: tuple[Event, ...] = ()
    releases: int = 0
    adjacency: Adjacency | None = None
    spent: Fraction = Fraction(0)
    _file: LogFile | None = None

    @classmethod
    def planned(cls, path: str | PathLike[str] | None = None, *, budget: Budget | None = None) -> Ledger:
        """An empty ledger of what was fixed in advance, on disk if a path is given. ``add`` keeps to the budget."""
        empty = cls("planned", _as_budget(budget), None)
        return empty if path is None else empty.save(path)

    @classmethod
    def adaptive(cls, budget: Budget, path: str | PathLike[str] | None = None) -> Ledger:
        """An empty ledger of what may be chosen as it goes. ``add`` keeps to the budget, which is fixed here."""
        kept = _as_budget(budget)
        if kept is None:
            raise InvalidArgument("budget is missing; a filter needs one from the start, e.g. Budget(mu=1.0)")
        mu = kept.largest_mu()
        if not mu:
            raise InvalidArgument(f"budget={budget!r} has no mu > 0 within it; give one with room, e.g. Budget(mu=1.0)")
        empty = cls("adaptive", kept, mu)
        return empty if path is None else empty.save(path)

    @classmethod
    def open(cls, path: str | PathLike[str], *, repair: bool = False) -> Ledger:
        """The ledger in a file, to be continued; one process at a time.

        A torn last line, from a process that was killed while it wrote, is refused by its number; with
        ``repair=True`` that line is dropped, and nothing else. It was never acknowledged.
        """
        file = LogFile(Path(path), repair=repair)
        return cls._of(file.log, file)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Ledger:
        """The ledger in a file as it is now, also while another process writes to it.

        A line that is just being written looks torn: read again.
        """
        log = read(Path(path))
        if log.torn:
            raise torn_line(Path(path), log)
        return cls._of(log, None)

    def add(self, event: Mechanism, *, note: str = "") -> Ledger:
        """The ledger with this event, which is safe on disk if there is a file. Run it only when this has returned."""
        entry = Event(event, note)
        longer = _extended(self, [entry])
        if self.budget is not None and not self.can_afford(event):
            raise BudgetExceeded(f"event={event!r} does not fit into {self.budget!r} any more; it was not added")
        if self._file is not None:
            self._file.append(entry, expected=len(self.events))
        return longer

    def merge(self, other: Ledger) -> Ledger:
        """Everything in both, on the same data, in memory; ``save`` writes it.

        Two planned ledgers keep a budget that they share. Two adaptive ones were free to spend mu_1 and mu_2
        each, whatever they did spend: together they are sqrt(mu_1^2 + mu_2^2)-GDP, the budget of the result.
        """
        if not isinstance(other, Ledger):
            raise InvalidArgument(f"other={other!r} is not a ledger; give one")
        if self.mode != other.mode:
            raise InvalidArgument(
                f"a ledger of mode {self.mode!r} and one of mode {other.mode!r} cannot be merged: "
                "what holds for one does not hold for the other"
            )
        budget, mu = self.budget if self.budget == other.budget else None, None
        if self.mu is not None and other.mu is not None:
            mu = root_up(decimal(self.mu) ** 2 + decimal(other.mu) ** 2)
            budget = Budget(mu=mu)
        return _extended(Ledger(self.mode, budget, mu), [*self.events, *other.events])

    def save(self, path: str | PathLike[str]) -> Ledger:
        """The same ledger in a new file, to be continued."""
        budget = None if self.budget is None else self.budget.to_dict()
        header = {"format": FORMAT, "version": VERSION, "mode": self.mode, "budget": budget, "mu": self.mu}
        create(Path(path), header, self.events)
        return Ledger.open(path)

    @cached_property
    def mechanism(self) -> Mechanism:
        """All events as one mechanism; of a planned ledger only."""
        self._require_planned()
        return Composed(entry.mechanism for entry in self.events).canonical()

    def account(self, *, method: str = "auto", degree: int = 2) -> Account:
        """The account of everything so far; of a planned ledger only."""
        return account(self.mechanism, method=method, degree=degree)

    def guarantee(self) -> Account:
        """What holds for an adaptive ledger however it goes on: mu-GDP, for the mu of its budget."""
        if self.mu is None:
            raise Unsupported("a planned ledger has no filter; ask its account() for what was spent")
        return account(GaussianDP(self.mu))

    @property
    def spent_mu(self) -> float:
        """Returns at least sqrt(sum of mu_i^2) of an adaptive ledger: how much of its mu is used, not a guarantee."""
        if self.mu is None:
            raise Unsupported("a planned ledger does not count in mu; ask its account() for what was spent")
        return root_up(self.spent)

    def can_afford(self, event: Mechanism, budget: Budget | None = None) -> bool:
        """Whether everything so far and this event are proved to be within the budget."""
        entry, kept = Event(event), self._asked(budget)
        if self.mu is not None:
            return self.spent + mu_squared(entry.mechanism) <= decimal(self.mu) ** 2
        return kept.allows(self.mechanism * entry.mechanism)

    def steps_left(self, budget: Budget | None = None, event: Mechanism | None = None) -> float:
        """How often the event may still run within the budget: a whole number, or inf if it costs nothing.

        The event is one more of the last step if it is not given. At most 10^12 are looked for.
        """
        kept, step = self._asked(budget), self._last_step() if event is None else Event(event).mechanism
        limit = self.mu if self.mu is not None else kept.mu
        if limit is None:
            return count_within(kept, self.mechanism, step)
        spent = self.spent if self.mu is not None else mu_squared(self.mechanism)
        room, charge = decimal(limit) ** 2 - spent, mu_squared(step)
        if room < 0:
            return 0
        return int(room // charge) if charge else math.inf

    def close(self) -> None:
        """Let another process write to the file; a ledger in memory has nothing to close."""
        if self._file is not None:
            self._file.close()

    def _asked(self, budget: Budget | None) -> Budget:
        """The budget that a question is about."""
        given = _as_budget(budget)
        if given is not None and self.mu is not None:
            raise InvalidArgument(
                f"budget={given!r} cannot be asked of an adaptive ledger: its own, {self.budget!r}, was fixed when it "
                "was made; leave budget out"
            )
        kept = self.budget if given is None else given
        if kept is None:
            raise InvalidArgument("budget is missing; give one, e.g. Budget(epsilon=3.0, delta=1e-5)")
        return kept

    def _last_step(self) -> Mechanism:
        steps = self.events[-1].mechanism.steps() if self.events else ()
        if len(steps) != 1:
            raise InvalidArgument("event is missing, and the last event is not one step repeated; say which step")
        return steps[0][0]

    def _require_planned(self) -> None:
        if self.mu is not None:
            raise Unsupported(
                "an adaptive ledger has no exact curve: its parameters may depend on earlier outputs, and composing "
                "their curves bounds nothing then; guarantee() is the account of what does hold"
            )

    @classmethod
    def _of(cls, log: Log, file: LogFile | None) -> Ledger:
        """What a file says."""
        budget = None if log.header["budget"] is None else Budget.from_dict(log.header["budget"])
        return _extended(cls(log.header["mode"], budget, log.header["mu"], _file=file), log.events)

    def __len__(self) -> int:
        return self.releases

    def __bool__(self) -> bool:
        return bool(self.events)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self.mode, self.budget, self.mu, self.events) == (other.mode, other.budget, other.mu, other.events)

    def __hash__(self) -> int:
        return hash((self.mode, self.budget, self.mu, self.events))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = [f"mode={self.mode!r}", f"releases={self.releases}", f"events={len(self.events)}"]
        if self.budget is not None:
            parts.append(f"budget={self.budget!r}")
        if self.mu is not None:
            parts.append(f"spent_mu={self.spent_mu:.6g}")
        if self._file is not None:
            parts.append(f"path={str(self._file.path)!r}")
        return f"Ledger({', '.join(parts)})"


def _extended(ledger: Ledger, entries: Iterable[Event]) -> Ledger:
    """The ledger and these events, in memory. An adaptive one sums mu^2 event by event, so resuming changes no bit."""
    added = tuple(entries)
    spent = ledger.spent
    for entry in added if ledger.mu is not None else ():
        spent = tidied(spent + mu_squared(entry.mechanism))
    return replace(
        ledger,
        events=ledger.events + added,
        releases=ledger.releases + sum(entry.releases for entry in added),
        adjacency=agreed([ledger.adjacency, *(entry.mechanism.adjacency for entry in added)]),
        spent=spent,
    )


def _as_budget(budget: object) -> Budget | None:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidArgument(f"budget={budget!r} is not a budget; give one, e.g. Budget(epsilon=3.0, delta=1e-5)")
    return budget
