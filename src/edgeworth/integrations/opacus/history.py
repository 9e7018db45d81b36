"""What Opacus remembers of a run: a list of (noise_multiplier, sample_rate, steps), read and checked.

The list belongs to Opacus and to whoever trains. Both overwrite it, and a checkpoint may bring it back with lists,
arrays or tensors inside, so it is read anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from edgeworth import validation
from edgeworth.errors import InvalidArgument

__all__ = ["Segment", "noise_and_rate", "segment", "segments", "tally"]

_SHAPE = "(noise_multiplier, sample_rate, steps)"


class Segment(NamedTuple):
    """Steps in a row that had the same noise and the same rate."""

    noise_multiplier: float
    sample_rate: float
    steps: int


def segments(history: Any) -> list[Segment]:
    """Every entry of a history as plain numbers; nonsense is refused by its place.

    >>> import numpy as np
    >>> segments([[1, 0.01, 500], np.array([0.5, 0.02, 100.0])])[1]
    Segment(noise_multiplier=0.5, sample_rate=0.02, steps=100)
    """
    if isinstance(history, str) or not isinstance(history, Iterable):
        raise InvalidArgument(f"history={history!r} is not a list; give a list of {_SHAPE}")
    return [segment(entry, place) for place, entry in enumerate(history)]


def segment(entry: Any, place: int) -> Segment:
    """The entry at this place of a history as plain numbers."""
    try:
        noise, rate, steps = entry
    except (TypeError, ValueError):
        raise InvalidArgument(f"history[{place}]={entry!r} is no part of a run; give {_SHAPE}") from None
    where = f"history[{place}]."
    return Segment(*noise_and_rate(noise, rate, where), _whole(steps, f"{where}steps"))


def noise_and_rate(noise_multiplier: Any, sample_rate: Any, where: str = "") -> tuple[float, float]:
    """Both as floats, the noise at least 0 and the rate a probability."""
    return (
        validation.non_negative(**{f"{where}noise_multiplier": _plain(noise_multiplier)}),
        validation.probability(**{f"{where}sample_rate": _plain(sample_rate)}),
    )


def tally(history: Iterable[Segment]) -> tuple[Segment, ...]:
    """How often each kind of step ran, in an order that does not depend on that of the run.

    >>> tally([Segment(2.0, 0.1, 5), Segment(1.0, 0.1, 0), Segment(2.0, 0.1, 1)])
    (Segment(noise_multiplier=2.0, sample_rate=0.1, steps=6),)
    """
    counts: dict[tuple[float, float], int] = {}
    for noise, rate, steps in history:
        counts[noise, rate] = counts.get((noise, rate), 0) + steps
    return tuple(Segment(*step, steps) for step, steps in sorted(counts.items()) if steps)


def _plain(value: Any) -> Any:
    """A tensor or an array with one number as that number; all else as it is, for the validators to judge."""
    if isinstance(value, (float, int)) or not hasattr(value, "item"):
        return value
    try:
        return value.item()
    except (RuntimeError, ValueError):  # what torch and NumPy say of several numbers
        return value


def _whole(steps: Any, name: str) -> int:
    """A count. A row of floats makes it a float: 100.0 is taken for 100, and 100.5 refused."""
    plain = _plain(steps)
    return validation.count(**{name: int(plain) if isinstance(plain, float) and plain.is_integer() else plain})
