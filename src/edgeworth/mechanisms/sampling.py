"""Mechanisms that see only a random part of the data. The sampler is always named; there is no default."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from edgeworth import validation
from edgeworth.mechanisms.base import Mechanism, Step, as_mechanism
from edgeworth.mechanisms.flatten import tally

__all__ = ["PoissonSampled"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoissonSampled(Step):
    """A mechanism run on a sample into which every record enters by itself with probability rate.

    A composed mechanism may be sampled: it then runs as a whole on one sample, as one step. At rate 1 this
    is the mechanism itself, at rate 0 nothing runs.

    >>> from edgeworth.mechanisms import Gaussian
    >>> PoissonSampled(Gaussian(2), rate=1) == Gaussian(2)
    True
    >>> PoissonSampled(Gaussian(2) ** 3, rate=0.1).releases
    1
    """

    mechanism: Mechanism
    rate: float
    # Kept from construction, so that sampling inside sampling needs no recursion to be compared.
    _inner: Mechanism = field(init=False)
    _identity: str = field(init=False)
    _parts: tuple[tuple[Mechanism, int], ...] | None = field(init=False)

    def __post_init__(self) -> None:
        mechanism = as_mechanism(mechanism=self.mechanism)
        rate = validation.probability(rate=self.rate) + 0.0  # -0.0 becomes 0.0
        sampled = tally(mechanism)
        runs = "\n".join(f"{count} {identity}" for identity, (_, count) in sampled.items())
        digest = hashlib.blake2b(runs.encode(), digest_size=20).hexdigest()
        identity = json.dumps({"type": "PoissonSampled", "rate": rate, "mechanism": digest})
        always = ((mechanism, 1),) if rate == 1 else None
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "_inner", mechanism.canonical())
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_parts", always if rate and sampled else ())

    def parts(self) -> tuple[tuple[Mechanism, int], ...] | None:
        """The mechanism itself at rate 1; nothing at rate 0 or if it runs nothing; otherwise one step."""
        return self._parts

    def nested(self) -> tuple[Mechanism, ...]:
        """What is sampled."""
        return (self.mechanism,)

    def canonical_step(self) -> PoissonSampled:
        """This rate of the canonical form of what is sampled."""
        if self._inner is self.mechanism:
            return self
        step = object.__new__(PoissonSampled)  # what construction would find is known already
        for name in ("rate", "_inner", "_identity", "_parts"):
            object.__setattr__(step, name, getattr(self, name))
        object.__setattr__(step, "mechanism", self._inner)
        return step

    def identity(self) -> str:
        """The rate, and a digest of the steps that are sampled."""
        return self._identity
