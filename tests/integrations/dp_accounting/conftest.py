"""Events that later releases of dp_accounting have, with their fields: every test runs with every release.

EpsilonDeltaDpEvent and DiscreteGaussianDpEvent are in its repository and not yet in 0.6.0; the other two came with
0.5.0.
"""

import attr
from dp_accounting import dp_event


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):
    epsilon: float
    delta: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class DiscreteGaussianDpEvent(dp_event.DpEvent):
    sigma: float
    sensitivity: float = 1.0
    dimension: int | None = None


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RandomizedResponseDpEvent(dp_event.DpEvent):
    noise_parameter: float
    num_buckets: int


@attr.s(frozen=True, slots=True, auto_attribs=True)
class DiscreteLaplaceDpEvent(dp_event.DpEvent):
    noise_parameter: float
    sensitivity: int


for later in (EpsilonDeltaDpEvent, DiscreteGaussianDpEvent, RandomizedResponseDpEvent, DiscreteLaplaceDpEvent):
    if not hasattr(dp_event, later.__name__):
        setattr(dp_event, later.__name__, later)
