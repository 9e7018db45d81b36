"""Mechanisms that see only a random part of the data. The sampler is always named; there is no default."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import ClassVar, cast

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.adjacency import ADJACENCIES, Adjacency, agreed
from edgeworth.mechanisms.base import Mechanism, Step, as_mechanism
from edgeworth.mechanisms.flatten import tally

__all__ = ["PoissonSampled", "SampledWithoutReplacement"]

_LONG = 200  # characters, beyond which a digest of the steps stands for them


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Sample(Step):
    """A mechanism run on a sample of the records. It may be composed: it then runs as a whole, as one step."""

    mechanism: Mechanism
    # Kept from construction, so that sampling inside sampling needs no recursion to be compared.
    _inner: Mechanism = field(init=False)
    _identity: str = field(init=False)
    _parts: tuple[tuple[Mechanism, int], ...] | None = field(init=False)

    def _keep(self, rate: float, named: dict[str, object]) -> bool:
        """Remember what is known at construction; says whether this is a step, rather than all or nothing.

        `named` are the fields that, with the steps that are sampled, tell this sample from others.
        """
        mechanism = self.mechanism
        sampled = tally(mechanism)
        runs = "\n".join(f"{count} {identity}" for identity, (_, count) in sampled.items())
        if len(runs) > _LONG:
            runs = hashlib.blake2b(runs.encode(), digest_size=20).hexdigest()
        identity = repr({"type": type(self).__name__} | named | {"mechanism": runs})
        always = ((mechanism, 1),) if rate == 1 else None
        object.__setattr__(self, "_inner", mechanism.canonical())
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_parts", always if rate and sampled else ())
        return self._parts is None

    def parts(self) -> tuple[tuple[Mechanism, int], ...] | None:
        """The mechanism itself at rate 1; nothing at rate 0 or if it runs nothing; otherwise one step."""
        return self._parts

    def nested(self) -> tuple[Mechanism, ...]:
        """What is sampled."""
        return (self.mechanism,)

    def canonical_step(self) -> Step:
        """This sample of the canonical form of what is sampled."""
        if self._inner is self.mechanism:
            return self
        step = object.__new__(type(self))  # what construction would find is known already
        for each in fields(self):
            object.__setattr__(step, each.name, getattr(self, each.name))
        object.__setattr__(step, "mechanism", self._inner)
        return step

    def identity(self) -> str:
        """The sampler and the steps that are sampled, or a digest of these."""
        return self._identity


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoissonSampled(_Sample):
    """A mechanism run on a sample into which every record enters by itself with probability rate.

    A composed mechanism may be sampled: it then runs as a whole on one sample, as one step. At rate 1 this
    is the mechanism itself, at rate 0 nothing runs. Neighbours differ by a record added or removed; with
    adjacency="replace" by a record replaced, and then the sensitivity of the mechanism has to hold for replacing
    a record and for adding or removing one. clipped=True says more: no record adds more than half the sensitivity, as
    in a sum of vectors of norm at most C, whose sensitivity is 2C. Gaussian noise hides such a record far better.

    >>> from edgeworth.mechanisms import Gaussian
    >>> PoissonSampled(Gaussian(2), rate=1) == Gaussian(2)
    True
    >>> PoissonSampled(Gaussian(2) ** 3, rate=0.1).releases
    1
    >>> PoissonSampled(Gaussian(2), rate=0.1, adjacency="replace").adjacency
    'replace'
    >>> PoissonSampled(Gaussian(2), rate=0.1, adjacency="replace", clipped=True).clipped
    True
    """

    rate: float
    # None at rate 0 and 1 of something neutral: what equals plain noise means no neighbours of its own
    adjacency: Adjacency | None = "add-remove"  # a field in place of the property
    clipped: bool = False

    unwritten: ClassVar[dict[str, object]] = {"adjacency": "add-remove", "clipped": False}

    def __post_init__(self) -> None:
        as_mechanism(mechanism=self.mechanism)
        rate = validation.probability(rate=self.rate) + 0.0  # -0.0 becomes 0.0
        adjacency = cast("Adjacency", validation.choice(ADJACENCIES, adjacency=self.adjacency))
        clipped = validation.flag(clipped=self.clipped)
        if clipped and adjacency != "replace":
            raise InvalidArgument('clipped=True is about a replaced record; give it with adjacency="replace" alone')
        object.__setattr__(self, "rate", rate)
        given: dict[str, object] = {"rate": rate, "adjacency": adjacency, "clipped": clipped}
        named = {name: value for name, value in given.items() if value != self.unwritten.get(name)}
        if self._keep(rate, named):
            object.__setattr__(self, "adjacency", agreed([adjacency, self.mechanism.adjacency]))
            object.__setattr__(self, "clipped", clipped)
        else:
            object.__setattr__(self, "adjacency", self.mechanism.adjacency if rate else None)
            object.__setattr__(self, "clipped", False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SampledWithoutReplacement(_Sample):
    """A mechanism run on a batch of exactly `size` records, every such batch of the `population` equally likely.

    Neighbours differ by one record replaced, which keeps the population as large as it is, and the sensitivity of
    the mechanism is measured for that. A composed mechanism runs as a whole on one batch, as one step. With the whole
    population in the batch this is the mechanism itself, with nothing in it nothing runs.

    >>> from edgeworth.mechanisms import Gaussian
    >>> step = SampledWithoutReplacement(Gaussian(2), size=256, population=50_000)
    >>> step.rate, step.adjacency
    (0.00512, 'replace')
    """

    size: int
    population: int

    def __post_init__(self) -> None:
        as_mechanism(mechanism=self.mechanism)
        size, population = validation.count(size=self.size), validation.count(population=self.population)
        if not population >= 1:
            raise InvalidArgument(f"population={population!r} is out of range; give an int >= 1")
        if not size <= population:
            raise InvalidArgument(
                f"size={size!r} is more than population={population!r}; a batch holds every record at most once"
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "population", population)
        if self._keep(self.rate, {"size": size, "population": population}):
            agreed(["replace", self.mechanism.adjacency])

    @property
    def rate(self) -> float:
        """The share size/population of the records, rounded once; 0 and 1 only where it is that exactly."""
        if self.size in (0, self.population):
            return float(bool(self.size))
        return min(self.size / self.population, 1 - 2**-53)

    @property
    def adjacency(self) -> Adjacency | None:
        """Replace-one by nature; that of the mechanism when all records are in the batch."""
        if self._parts is None:
            return "replace"
        return self.mechanism.adjacency if self._parts else None
