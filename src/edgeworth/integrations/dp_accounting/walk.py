"""An event as a flat list: every event that is no composition, once, with how often it ran."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dp_accounting import dp_event

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.integrations.dp_accounting.parameters import plain
from edgeworth.integrations.dp_accounting.refused import EventRefused

__all__ = ["is_hashable", "leaves", "repetitions"]


def leaves(event: Any) -> list[tuple[Any, int]]:
    """The events inside, equal ones merged; counts are multiplied as whole numbers, and nesting may be deep.

    >>> gaussian = dp_event.GaussianDpEvent(2.0)
    >>> twice = dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(gaussian, 10**9), 10**9)
    >>> leaves(dp_event.ComposedDpEvent([twice, gaussian]))
    [(GaussianDpEvent(noise_multiplier=2.0), 1000000000000000001)]
    """
    found: dict[Any, tuple[Any, int]] = {}
    waiting: list[tuple[Any, int]] = [(event, 1)]
    while waiting:
        inner, times = waiting.pop()
        if type(inner) is dp_event.SelfComposedDpEvent:
            waiting.append((inner.event, times * _count(inner)))
        elif type(inner) is dp_event.ComposedDpEvent:
            waiting.extend((part, times) for part in reversed(_parts(inner)))
        else:
            key = inner if is_hashable(inner) else id(inner)
            first, before = found.get(key, (inner, 0))
            found[key] = first, before + times
    return list(found.values())


def repetitions(event: Any) -> tuple[Any, int]:
    """What is repeated, and how often: the event without the repetitions around it.

    >>> repetitions(dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(dp_event.NoOpDpEvent(), 2), 3))
    (NoOpDpEvent(), 6)
    """
    times = 1
    while type(event) is dp_event.SelfComposedDpEvent:
        event, times = event.event, times * _count(event)
    return event, times


def _count(event: Any) -> int:
    try:
        return validation.count(count=plain(event.count))
    except InvalidArgument as refusal:
        raise EventRefused(str(refusal), event) from None


def _parts(event: Any) -> list[Any]:
    if not isinstance(event.events, Iterable):
        raise EventRefused(f"events={event.events!r} is not a list of events; give one, such as [a, b]", event)
    return list(event.events)


def is_hashable(event: Any) -> bool:
    """Whether equal events can be looked up; one that holds a list cannot, and may change."""
    try:
        hash(event)
    except TypeError:
        return False
    return True
