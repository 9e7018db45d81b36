"""From mechanisms to dp_accounting's events, for its other accountants and for programs that exchange events."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dp_accounting import dp_event

from edgeworth.errors import Unsupported
from edgeworth.integrations.dp_accounting.parameters import noise_of_response, quotient_above, quotient_below
from edgeworth.integrations.dp_accounting.relation import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    adjacency_of,
    checked_relation,
    moves,
)
from edgeworth.mechanisms import (
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonSampled,
    RandomizedResponse,
    SampledWithoutReplacement,
)
from edgeworth.mechanisms.base import as_mechanism

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["to_dp_event"]


def to_dp_event(mechanism: Mechanism, *, neighboring_relation: Any = ADD_OR_REMOVE_ONE) -> Any:
    """The event that describes the mechanism under that relation; Unsupported where dp_accounting has no such event.

    `from_dp_event` gives the mechanism back, up to units in the last place where no float carries a number over.

    >>> import edgeworth as ew
    >>> to_dp_event(ew.PoissonSampled(ew.Gaussian(0.8), rate=0.01) ** 100)  # doctest: +NORMALIZE_WHITESPACE
    SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01,
    event=GaussianDpEvent(noise_multiplier=0.8)), count=100)
    """
    relation = checked_relation(neighboring_relation)
    meant = as_mechanism(mechanism=mechanism).adjacency
    if meant not in (None, adjacency_of(relation)):
        raise Unsupported(
            f"neighboring_relation={relation.name} is not what the sampling inside means, adjacency={meant!r}; "
            f"give {'REPLACE_ONE' if meant == 'replace' else 'ADD_OR_REMOVE_ONE'}"
        )
    events = [_repeated(_event(step, relation), count) for step, count in mechanism.steps()]
    if not events:
        return dp_event.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def _repeated(event: Any, count: int) -> Any:
    return event if count == 1 else dp_event.SelfComposedDpEvent(event, count)


def _event(step: Mechanism, relation: Any) -> Any:
    if type(step) not in _EVENTS:
        raise Unsupported(
            f"dp_accounting has no event for {step!r}; describe it as noise, a response or (epsilon, delta)"
        )
    return _EVENTS[type(step)](step, relation)


def _class(name: str, step: Mechanism) -> Any:
    """The class of that name, which the installed release may not have yet."""
    found = getattr(dp_event, name, None)
    if found is None:
        raise Unsupported(f"this release of dp_accounting has no {name}, which {step!r} would be; use a later one")
    return found


def _gaussian(step: Any, relation: Any) -> Any:
    return dp_event.GaussianDpEvent(min(step.noise_multiplier * moves(relation), sys.float_info.max))


def _laplace(step: Any, relation: Any) -> Any:
    if not step.sensitivity:
        return dp_event.NoOpDpEvent()
    return dp_event.LaplaceDpEvent(quotient_below(step.scale, step.sensitivity / moves(relation)))


def _discrete_laplace(step: Any, relation: Any) -> Any:
    """Whole numbers that differ by an odd sensitivity are no record replaced by another: each has norm C or less."""
    if step.sensitivity % moves(relation):
        raise Unsupported(
            f"dp_accounting has no event for {step!r} under REPLACE_ONE, where the sensitivity is twice the bound on a "
            "record; give an even sensitivity"
        )
    rate = quotient_above(1.0, step.scale)
    return _class("DiscreteLaplaceDpEvent", step)(rate, step.sensitivity // moves(relation))


def _discrete_gaussian(step: Any, _: Any) -> Any:
    return _class("DiscreteGaussianDpEvent", step)(step.scale, sensitivity=step.sensitivity, dimension=1)


def _approximate(step: Any, _: Any) -> Any:
    if step.delta == 1:
        return dp_event.NonPrivateDpEvent()
    return _class("EpsilonDeltaDpEvent", step)(step.epsilon, step.delta)


def _response(step: Any, relation: Any) -> Any:
    if relation is not REPLACE_ONE:
        raise Unsupported(f"dp_accounting has no event for {step!r} under {relation.name}; use REPLACE_ONE")
    noise = noise_of_response(step.epsilon, step.categories)
    return _class("RandomizedResponseDpEvent", step)(noise, step.categories)


def _poisson(step: Any, relation: Any) -> Any:
    return dp_event.PoissonSampledDpEvent(step.rate, to_dp_event(step.mechanism, neighboring_relation=relation))


def _without_replacement(step: Any, relation: Any) -> Any:
    sampled = to_dp_event(step.mechanism, neighboring_relation=relation)
    return dp_event.SampledWithoutReplacementDpEvent(step.population, step.size, sampled)


_EVENTS: dict[type[Mechanism], Callable[[Any, Any], Any]] = {
    ApproxDP: _approximate,
    DiscreteGaussian: _discrete_gaussian,
    DiscreteLaplace: _discrete_laplace,
    Gaussian: _gaussian,
    Laplace: _laplace,
    PoissonSampled: _poisson,
    RandomizedResponse: _response,
    SampledWithoutReplacement: _without_replacement,
}
