"""From dp_accounting's events to mechanisms: what ran, in this package's words and units.

| event | mechanism if a record is added or removed | if a record is replaced by any other |
|---|---|---|
| GaussianDpEvent(z) | Gaussian(z) | Gaussian(z/2) |
| LaplaceDpEvent(z) | Laplace(z) | Laplace(z, sensitivity=2) |
| DiscreteLaplaceDpEvent(a, C) | DiscreteLaplace(1/a, C) | DiscreteLaplace(1/a, 2 C) |
| DiscreteGaussianDpEvent(s, D, dimension=1) | DiscreteGaussian(s, D) | the same: D is of the query, not of a record |
| EpsilonDeltaDpEvent(epsilon, delta) | ApproxDP(epsilon, delta) | the same |
| RandomizedResponseDpEvent(p, k) | refused | RandomizedResponse(log(1 + k (1-p)/p), k) |
| PoissonSampledDpEvent(q, e) | PoissonSampled(e, q) | PoissonSampled(e, q, adjacency="replace", clipped=True) |
| SampledWithoutReplacementDpEvent(n, b, e) | refused | SampledWithoutReplacement(e, b, n) |
| NonPrivateDpEvent(), no noise at all | ApproxDP(0, 1), which promises nothing | the same |

An event is known by its exact type: a subclass may mean anything. What a release of dp_accounting does not have yet
is recognised in one that has it.
"""

from __future__ import annotations

import numbers
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dp_accounting import dp_event

from edgeworth import validation
from edgeworth.errors import InvalidArgument, TooLarge, Unsupported
from edgeworth.integrations.dp_accounting.parameters import epsilon_of_response, plain, quotient_below
from edgeworth.integrations.dp_accounting.refused import EventRefused
from edgeworth.integrations.dp_accounting.relation import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    adjacency_of,
    checked_relation,
    moves,
)
from edgeworth.integrations.dp_accounting.walk import is_hashable, leaves
from edgeworth.losses import privacy_loss
from edgeworth.mechanisms import (
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonSampled,
    RandomizedResponse,
    SampledWithoutReplacement,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NON_PRIVATE", "NOTHING", "EventRefused", "from_dp_event"]

NON_PRIVATE = ApproxDP(epsilon=0.0, delta=1.0)
NOTHING = Composed(())


def from_dp_event(event: Any, *, neighboring_relation: Any = ADD_OR_REMOVE_ONE) -> Mechanism:
    """The mechanism that the event describes, in canonical form; EventRefused where no sound one is known.

    Numbers that no float can carry over are rounded towards less privacy, by a few units in the last place.

    >>> from dp_accounting import ComposedDpEvent, GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent
    >>> from_dp_event(ComposedDpEvent([SelfComposedDpEvent(GaussianDpEvent(2.0), 10), LaplaceDpEvent(5.0)]))
    ... # doctest: +NORMALIZE_WHITESPACE
    Composed(mechanisms=(Repeated(mechanism=Gaussian(noise_multiplier=2.0), count=10),
    Laplace(scale=5.0, sensitivity=1.0)))
    """
    relation = checked_relation(neighboring_relation)
    if not isinstance(event, dp_event.DpEvent):
        raise InvalidArgument(f"event={event!r} is not a DpEvent; give one, e.g. dp_accounting.GaussianDpEvent(1.0)")
    found = [(_remembered_step if is_hashable(leaf) else _step, leaf, count) for leaf, count in leaves(event)]
    return Composed([read(leaf, relation) ** count for read, leaf, count in found]).canonical()


@lru_cache(maxsize=1024)
def _remembered_step(event: Any, relation: Any) -> Mechanism:
    """A training loop tells of the same event at every step."""
    return _step(event, relation)


def _step(event: Any, relation: Any) -> Mechanism:
    """What one event that is no composition runs; its loss is looked up, so that only known ones pass."""
    name = type(event).__name__
    if name not in _STEPS or type(event) is not getattr(dp_event, name, None):
        known = ", ".join(sorted(kind for kind in _STEPS if hasattr(dp_event, kind)))
        raise EventRefused(f"{name} is not known; give one of {known}, or compositions of them", event)
    try:
        mechanism = _STEPS[name](event, relation)
        for step, _ in mechanism.steps():
            privacy_loss(step)
    except EventRefused:
        raise
    except (InvalidArgument, TooLarge, Unsupported) as refusal:
        raise EventRefused(str(refusal), event) from None
    return mechanism


def _gaussian(event: Any, relation: Any) -> Mechanism:
    noise = validation.non_negative(noise_multiplier=plain(event.noise_multiplier)) / moves(relation)
    return Gaussian(noise) if noise else NON_PRIVATE


def _laplace(event: Any, relation: Any) -> Mechanism:
    scale = validation.non_negative(noise_multiplier=plain(event.noise_multiplier))
    return Laplace(scale, sensitivity=moves(relation)) if scale else NON_PRIVATE


def _discrete_laplace(event: Any, relation: Any) -> Mechanism:
    """The pmf is tanh(a/2) e^(-a |k|), of scale 1/a; a = 0 is taken for no noise, as dp_accounting does."""
    rate = validation.non_negative(noise_parameter=plain(event.noise_parameter))
    sensitivity = validation.count(sensitivity=plain(event.sensitivity)) * moves(relation)
    if not sensitivity:
        return NOTHING
    return DiscreteLaplace(quotient_below(1.0, rate), sensitivity) if rate else NON_PRIVATE


def _discrete_gaussian(event: Any, _: Any) -> Mechanism:
    if event.dimension != 1:
        raise Unsupported(
            f"dimension={event.dimension!r} has no known pair: discrete Gaussian noise on a vector is not that on a "
            "number; give dimension=1, one event for each number"
        )
    sigma = validation.non_negative(sigma=plain(event.sigma))
    sensitivity = _whole(plain(event.sensitivity))
    if not sensitivity:
        return NOTHING
    return DiscreteGaussian(sigma, sensitivity) if sigma else NON_PRIVATE


def _whole(sensitivity: Any) -> int:
    """dp_accounting's sensitivity of a whole-number query is a float: 2.0 is 2, 2.5 is refused."""
    if isinstance(sensitivity, numbers.Real) and float(sensitivity).is_integer():
        return validation.count(sensitivity=int(float(sensitivity)))
    return validation.count(sensitivity=sensitivity)


def _approximate(event: Any, _: Any) -> Mechanism:
    return ApproxDP(plain(event.epsilon), plain(event.delta))


def _response(event: Any, relation: Any) -> Mechanism:
    if relation is not REPLACE_ONE:
        raise Unsupported(
            f"neighboring_relation={relation.name} has no answer for a response, which one record gives and another "
            "would give otherwise; use REPLACE_ONE"
        )
    noise = validation.probability(noise_parameter=plain(event.noise_parameter))
    categories = validation.count(num_buckets=plain(event.num_buckets))
    if not categories:
        raise InvalidArgument(f"num_buckets={categories!r} is out of range; give an int >= 1")
    if categories == 1:
        return NOTHING
    return RandomizedResponse(epsilon_of_response(noise, categories), categories) if noise else NON_PRIVATE


def _poisson(event: Any, relation: Any) -> Mechanism:
    """The rate is the event's; a sample of something that promises nothing promises nothing, as dp_accounting says."""
    rate = validation.probability(sampling_probability=plain(event.sampling_probability))
    for leaf, _ in leaves(event.event):
        _refuse_unsampled(leaf, relation)
    sampled = from_dp_event(event.event, neighboring_relation=relation)
    if rate and NON_PRIVATE in _steps(sampled):
        return NON_PRIVATE
    return PoissonSampled(sampled, rate, adjacency_of(relation), clipped=relation is REPLACE_ONE)


def _refuse_unsampled(event: Any, relation: Any) -> None:
    """Refuse what has no sound and computable Poisson sample under that relation."""
    name = type(event).__name__
    if name == "EpsilonDeltaDpEvent":
        raise EventRefused(
            f"{name} cannot be Poisson-sampled: no method here composes samples of a mere promise; give the noise "
            "itself, or the (epsilon, delta) of the sample",
            event,
        )
    if relation is REPLACE_ONE and name not in _BOUND_REMOVAL:
        raise EventRefused(
            f"{name} cannot be Poisson-sampled under REPLACE_ONE: what it promises when a record is replaced says "
            "nothing of a record that is left out; use ADD_OR_REMOVE_ONE",
            event,
        )


def _without_replacement(event: Any, relation: Any) -> Mechanism:
    if relation is not REPLACE_ONE:
        raise Unsupported(
            f"neighboring_relation={relation.name} has no known pair for batches of fixed size, in which another "
            "record takes the place of one that is left out; use REPLACE_ONE"
        )
    sampled = from_dp_event(event.event, neighboring_relation=relation)
    population = validation.count(source_dataset_size=plain(event.source_dataset_size))
    size = validation.count(sample_size=plain(event.sample_size))
    batch = SampledWithoutReplacement(sampled, size=size, population=population)
    return NON_PRIVATE if size and NON_PRIVATE in _steps(sampled) else batch


def _steps(mechanism: Mechanism) -> list[Mechanism]:
    return [step for step, _ in mechanism.steps()]


_STEPS: dict[str, Callable[[Any, Any], Mechanism]] = {
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "EpsilonDeltaDpEvent": _approximate,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "NoOpDpEvent": lambda _event, _relation: NOTHING,
    "NonPrivateDpEvent": lambda _event, _relation: NON_PRIVATE,
    "PoissonSampledDpEvent": _poisson,
    "RandomizedResponseDpEvent": _response,
    "SampledWithoutReplacementDpEvent": _without_replacement,
}

#: sums of bounded values: a record that is left out moves them half as far as one that is replaced
_BOUND_REMOVAL = {
    "DiscreteLaplaceDpEvent",
    "GaussianDpEvent",
    "LaplaceDpEvent",
    "NoOpDpEvent",
    "NonPrivateDpEvent",
    "PoissonSampledDpEvent",
}
