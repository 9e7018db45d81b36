"""The three questions of DP-SGD: how much noise, how many steps, how large a sampling rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeworth import validation
from edgeworth.calibration.calibrate import calibrate
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms import Gaussian, PoissonSampled

if TYPE_CHECKING:
    from edgeworth.calibration.calibrated import Calibrated
    from edgeworth.mechanisms import Mechanism

__all__ = ["max_rate", "max_steps", "noise_multiplier"]

_SAMPLERS = ("poisson", "none")


def noise_multiplier(*, steps: int, sampler: str, rate: float | None = None, **target: Any) -> Calibrated:
    """The least noise multiplier of `steps` steps of noisy SGD that meets the target of `calibrate`.

    `sampler` is "poisson" (every record enters every batch by itself with probability `rate`) or "none" (no
    amplification: every record may be in every batch).

    >>> import edgeworth as ew
    >>> found = ew.noise_multiplier(epsilon=2.0, delta=1e-5, rate=0.01, steps=1000, sampler="poisson")
    >>> round(found.value, 4)
    0.9591
    """
    steps = validation.count(steps=steps)
    _check_sampler(sampler, rate)
    return calibrate(lambda sigma: _step(sigma, rate) ** steps, integer=False, **target)


def max_steps(*, noise_multiplier: float, sampler: str, rate: float | None = None, **target: Any) -> Calibrated:
    """The largest number of steps of noisy SGD that meets the target; 0 if not even one does.

    >>> import edgeworth as ew
    >>> ew.max_steps(epsilon=1.0, delta=1e-5, noise_multiplier=40.0, sampler="none").value
    114
    """
    _check_sampler(sampler, rate)
    step = _step(noise_multiplier, rate)
    return calibrate(lambda steps: step**steps, integer=True, **target)


def max_rate(*, noise_multiplier: float, steps: int, sampler: str, **target: Any) -> Calibrated:
    """The largest rate of Poisson sampling at which `steps` steps of noisy SGD meet the target; 1 if every rate does.

    >>> import edgeworth as ew
    >>> ew.max_rate(epsilon=1.0, delta=1e-5, noise_multiplier=40.0, steps=100, sampler="poisson").value
    1.0
    """
    if validation.choice(_SAMPLERS, sampler=sampler) == "none":
        raise InvalidArgument("sampler='none' has no rate to look for; give sampler='poisson' if that is what runs")
    noise, steps = Gaussian(noise_multiplier), validation.count(steps=steps)
    return calibrate(lambda rate: PoissonSampled(noise, rate) ** steps, integer=False, **target)


def _check_sampler(sampler: str, rate: float | None) -> None:
    validation.choice(_SAMPLERS, sampler=sampler)
    if sampler == "poisson" and rate is None:
        raise InvalidArgument("rate=None is missing; sampler='poisson' needs the probability that a record is sampled")
    if sampler == "none" and rate is not None:
        raise InvalidArgument(f"rate={rate!r} means nothing with sampler='none'; leave it out")


def _step(noise_multiplier: float, rate: float | None) -> Mechanism:
    return Gaussian(noise_multiplier) if rate is None else PoissonSampled(Gaussian(noise_multiplier), rate)
