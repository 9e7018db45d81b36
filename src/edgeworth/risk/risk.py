"""What one account means for one person: every figure an attacker's success is told by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.errors import Unsupported
from edgeworth.risk import attacks, renyi, words
from edgeworth.risk.covering import GaussianFit, gaussian_fit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeworth.account import Account
    from edgeworth.curves import Bracket
    from edgeworth.losses import TotalLoss

__all__ = ["Risk"]

_FPR = (0.001, 0.01, 0.1)


@dataclass(frozen=True, eq=False)
class Risk:
    """What an attacker who sees everything that was released can tell about one record; both directions count.

    >>> import edgeworth as ew
    >>> risk = ew.account(ew.Gaussian(noise_multiplier=2.0)).risk
    >>> print(risk.sentence())
    Whoever wrongly accuses 1 in 100 of the people whose record was not used recognises at most 3.39 in 100 of those whose record was; guessing without the output, it would be 1 in 100.
    """  # noqa: E501 - the sentence as it is

    account: Account

    @classmethod
    def of(cls, account: Account) -> Risk:
        """The risk of an account, in both directions and with the best brackets, however the account itself reads."""
        as_is = account.direction == "both" and account.tolerance is None
        return cls(account if as_is else replace(account, direction="both", tolerance=None))

    def tpr(self, fpr: ArrayLike) -> Bracket:
        """The greatest true positive rate of any attacker with that false positive rate."""
        return attacks.tpr(self.account, fpr)

    @cached_property
    def advantage(self) -> Bracket:
        """The greatest true positive rate minus false positive rate: the total variation distance."""
        return attacks.advantage(self.account)

    def posterior(self, prior: ArrayLike, fpr: ArrayLike = 0.01) -> Bracket:
        """How sure an accusation at that false positive rate makes an attacker who believed `prior` before."""
        return attacks.posterior(self.account, prior, fpr)

    def relative_risk(self, fpr: ArrayLike) -> Bracket:
        """How many times likelier an accusation is for a record that was used."""
        return attacks.relative_risk(self.account, fpr)

    def bayes_error(self, prior: ArrayLike = 0.5) -> Bracket:
        """The least share of wrong guesses of an attacker with that prior; min(prior, 1 - prior) is perfect privacy."""
        return attacks.bayes_error(self.account, prior)

    def gaussian(self, *, smallest_error: float = 1e-10, tolerance: float = 1e-6) -> GaussianFit:
        """The covering mu over tests whose two errors are at least `smallest_error`, and how well G_mu fits."""
        return gaussian_fit(self.account, smallest_error=smallest_error, tolerance=tolerance)

    @cached_property
    def mu(self) -> GaussianFit:
        """The covering mu over tests whose two errors are at least 1e-10."""
        return self.gaussian()

    def rdp(self, order: ArrayLike) -> Bracket:
        """The Rényi divergence of that order, at least 1; it does not depend on the method of the account."""
        return renyi.rdp(self._total, order)

    def zcdp(self, largest_order: float = math.inf) -> Bracket:
        """The least rho with Rényi divergence at most rho * order up to the largest order."""
        return renyi.zcdp(self._total, largest_order)

    @property
    def _total(self) -> TotalLoss:
        if self.account.group_size > 1:
            raise Unsupported(
                f"a Rényi divergence for groups of {self.account.group_size} records is not computed; "
                "read epsilon, delta or f of the group instead"
            )
        return self.account.total

    def sentence(self, fpr: float = 0.01) -> str:
        """One plain sentence with odds."""
        return words.sentence(self.tpr(fpr), fpr)

    def rows(self) -> list[tuple[str, Bracket]]:
        """The figures that a reader should always see, with their names."""
        power = self.tpr(np.array(_FPR))
        rates = [
            (f"true positive rate at {100 * rate:g} % false alarms", words.entry(power, k))
            for k, rate in enumerate(_FPR)
        ]
        return [
            *rates,
            ("advantage (TPR - FPR at its greatest)", self.advantage),
            ("belief after an accusation, 1 % false alarms, from 50 %", self.posterior(0.5, 0.01)),
            ("belief after an accusation, 1 % false alarms, from 10 %", self.posterior(0.1, 0.01)),
            ("share of wrong guesses at even odds (50 % tells nothing)", self.bayes_error(0.5)),
            (f"mu, over tests with both errors >= {self.mu.smallest_error:.3g}", self.mu.mu),
        ]

    def table(self) -> str:
        """The rows as text: upper ends of what an attacker can reach, or estimates that are marked."""
        return words.table(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """The rows for a program: name, lower, value, upper, certified."""
        return {name: words.as_dict(found) for name, found in self.rows()} | {"sentence": self.sentence()}

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.sentence()}"
