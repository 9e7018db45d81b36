"""The targets that a user gave, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeworth import validation
from edgeworth.calibration.above import Above
from edgeworth.calibration.targets import AtMostAdvantage, AtMostEpsilon, AtMostMu, AtMostPower, Target
from edgeworth.curves import TradeOff
from edgeworth.errors import InvalidArgument

__all__ = ["asked"]


def asked(
    epsilon: Any, delta: Any, mu: Any, tpr: Any, fpr: Any, advantage: Any, tradeoff: Any, smallest_error: Any
) -> tuple[Target, ...]:
    """The targets that were given, each checked."""
    found: list[Target] = []
    for one, other, names in ((epsilon, delta, ("epsilon", "delta")), (tpr, fpr, ("tpr", "fpr"))):
        if (one is None) != (other is None):
            given, missing = names if other is None else names[::-1]
            raise InvalidArgument(f"{given} was given without {missing}; the two make a target together")
    if not 0 < validation.probability(smallest_error=smallest_error) < 0.5:
        raise InvalidArgument(f"smallest_error={smallest_error!r} is out of range; give a number between 0 and 0.5")
    if epsilon is not None:
        epsilons = validation.reals(epsilon=epsilon)
        if not np.all((epsilons >= 0) & (epsilons < np.inf)):
            raise InvalidArgument(f"epsilon={epsilon!r} is out of range; give finite numbers >= 0")
        found.append(AtMostEpsilon(*_pairs(epsilons, validation.probabilities(delta=delta), "epsilon", "delta")))
    if mu is not None:
        found.append(AtMostMu(validation.non_negative(mu=mu), smallest_error))
    if tpr is not None:
        rates = validation.probabilities(tpr=tpr), validation.probabilities(fpr=fpr)
        found.append(AtMostPower(*_pairs(*rates, "tpr", "fpr")))
    if advantage is not None:
        found.append(AtMostAdvantage(validation.probability(advantage=advantage)))
    if tradeoff is not None:
        if not isinstance(tradeoff, TradeOff):
            raise InvalidArgument(
                f"tradeoff={tradeoff!r} is not a trade-off function; give one, e.g. GaussianTradeOff(1.0)"
            )
        found.append(Above(tradeoff, smallest_error))
    if not found:
        raise InvalidArgument("no target was given; give epsilon and delta, mu, tpr and fpr, advantage or tradeoff")
    return tuple(found)


def _pairs(one: Any, other: Any, *names: str) -> tuple[Any, Any]:
    try:
        pair = np.broadcast_arrays(one, other)
    except ValueError:
        raise InvalidArgument(
            f"{names[0]} has shape {one.shape} and {names[1]} has shape {other.shape}; give as many of each"
        ) from None
    if not pair[0].size:
        raise InvalidArgument(f"{names[0]} is empty; give at least one number")
    return pair[0], pair[1]
