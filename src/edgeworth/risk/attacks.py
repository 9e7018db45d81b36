"""What an attacker who sees the output can find out about one record, each figure as a bracket.

The attacker decides between H0, the record was not used, and H1, it was (or the reverse: f is symmetric). A false
positive accuses wrongly, a true positive rightly: the best test of false positive rate alpha has power 1 - f(alpha).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves import Bracket

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeworth.account import Account

    Array = NDArray[np.float64]

__all__ = ["advantage", "bayes_error", "posterior", "relative_risk", "tpr"]

_ULPS = 1e-15  # of the few operations that follow a reading


def tpr(account: Account, fpr: ArrayLike) -> Bracket:
    """1 - f(fpr), the greatest true positive rate at that false positive rate; at least fpr itself."""
    return account.power(validation.probabilities(fpr=fpr))


def advantage(account: Account) -> Bracket:
    """The greatest true positive rate minus false positive rate, max over alpha of 1 - alpha - f(alpha) = delta(0)."""
    return account.delta(0.0)


def posterior(account: Account, prior: ArrayLike, fpr: ArrayLike) -> Bracket:
    """How sure an accusation makes: pi TPR/(pi TPR + (1 - pi) FPR), for a prior belief pi that the record was used.

    At most the prior at TPR = FPR, where the output tells nothing. At fpr = 0 whoever is accused at all was used.
    """
    belief, alpha = np.broadcast_arrays(validation.probabilities(prior=prior), validation.probabilities(fpr=fpr))
    power = tpr(account, alpha)

    def sure(rate: float | Array) -> Array:
        right, wrong = belief * rate, (1 - belief) * alpha
        with np.errstate(invalid="ignore"):
            return np.where(right > 0, right / (right + wrong), np.where(belief > 0, 1.0, 0.0))

    lower = np.where(np.asarray(power.lower) > 0, sure(power.lower) * (1 - _ULPS), belief)
    upper = np.minimum(sure(power.upper) * (1 + _ULPS), 1.0)
    return _bracket(np.minimum(lower, upper), upper, np.clip(sure(power.value), lower, upper), account)


def relative_risk(account: Account, fpr: ArrayLike) -> Bracket:
    """TPR/FPR: how many times likelier an accusation is for a record that was used; at most 1/FPR."""
    alpha = validation.probabilities(fpr=fpr)
    power = tpr(account, alpha)

    def ratio(rate: float | Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(alpha > 0, rate / alpha, np.inf)

    lower = np.where(alpha > 0, np.maximum(ratio(power.lower) * (1 - _ULPS), 1.0), 1.0)
    upper = np.maximum(ratio(power.upper) * (1 + _ULPS), lower)
    return _bracket(lower, upper, np.clip(ratio(power.value), lower, upper), account)


def bayes_error(account: Account, prior: ArrayLike) -> Bracket:
    """The least share of wrong guesses by an attacker with prior pi: pi (1 - delta(log((1 - pi)/pi))).

    A test with errors alpha and f(alpha) is wrong in (1 - pi) alpha + pi f(alpha) of all cases, and
    min_alpha f(alpha) + e^eps alpha = 1 - delta(eps). As f is symmetric, pi and 1 - pi give the same.
    """
    belief = validation.probabilities(prior=prior)
    rarer = np.minimum(belief, 1 - belief)
    with np.errstate(divide="ignore"):
        delta = account.delta(np.log1p(-rarer) - np.log(rarer))
    lower = np.maximum(rarer * (1 - np.asarray(delta.upper)) * (1 - _ULPS) - _ULPS * rarer, 0.0)
    upper = np.minimum(rarer * (1 - np.asarray(delta.lower)) * (1 + _ULPS) + _ULPS * rarer, rarer)
    value = np.clip(rarer * (1 - np.asarray(delta.value)), lower, upper)
    return _bracket(lower, upper, value, account)


def _bracket(lower: Array, upper: Array, value: Array, account: Account) -> Bracket:
    return Bracket(lower, upper, value, account.certificate)
