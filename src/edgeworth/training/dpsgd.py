"""A run of DP-SGD in the words of whoever trains: examples, batches, epochs. The rest is derived, and shown."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from edgeworth import validation
from edgeworth.account import Account, account
from edgeworth.errors import InvalidArgument
from edgeworth.training.description import describe
from edgeworth.training.rules import ADJACENCIES, RULES, SAMPLERS, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeworth.mechanisms import Mechanism

__all__ = ["DPSGD"]

_NATURAL = {"fixed-size": "replace"}  # where it is amplified; the other samplers mean add-remove
_NOISE = (
    "each step adds Gaussian noise of standard deviation noise_multiplier * clipping norm to the sum of the clipped "
    "gradients of its batch, before the sum is divided by a number that does not depend on the data"
)
_FIXED = "sizes, noise and the number of steps were fixed before the run"


@dataclass(frozen=True, kw_only=True)
class DPSGD:
    """A run of DP-SGD, or a phase of one, with one noise multiplier and one batch size.

    Give ``epochs`` or ``steps``, and always the sampler: how your code draws its batches. Counts are whole
    numbers. An epoch has ceil(examples / batch_size) steps, since a smaller last batch is a release too; with
    ``drop_last=True`` it is left out and an epoch has floor(examples / batch_size).

    ``adjacency`` is "add-remove" unless given ("replace" for sampler="fixed-size", where it is amplified).

    >>> run = DPSGD(examples=50_000, batch_size=256, epochs=2, noise_multiplier=0.8, sampler="poisson")
    >>> run.steps, run.rate
    (392, 0.00512)
    >>> run.mechanism
    Repeated(mechanism=PoissonSampled(mechanism=Gaussian(noise_multiplier=0.8), rate=0.00512), count=392)
    >>> dataclasses.replace(run, sampler="shuffle").mechanism  # doctest: +NORMALIZE_WHITESPACE
    Repeated(mechanism=Composed(mechanisms=(Gaussian(noise_multiplier=0.4),
    Gaussian(noise_multiplier=0.8))), count=2)
    """

    examples: int
    batch_size: int
    noise_multiplier: float
    sampler: str = ""
    epochs: int | None = None
    steps: int = None  # type: ignore[assignment]  # derived from epochs where it is not given
    drop_last: bool = False
    adjacency: str = ""

    def __post_init__(self) -> None:
        _keep(self, "examples", _at_least_one(examples=self.examples))
        _keep(self, "batch_size", _at_least_one(batch_size=self.batch_size))
        if self.batch_size > self.examples:
            raise InvalidArgument(
                f"batch_size={self.batch_size} is larger than examples={self.examples}; give at most one batch of all"
            )
        _keep(self, "noise_multiplier", validation.positive(noise_multiplier=self.noise_multiplier))
        _check_sampler(self.sampler)
        _keep(self, "adjacency", self.adjacency or _NATURAL.get(self.sampler, "add-remove"))
        validation.choice(ADJACENCIES, adjacency=self.adjacency)
        if not isinstance(self.drop_last, bool):
            raise InvalidArgument(f"drop_last={self.drop_last!r} is not a truth value; give True or False")
        _keep(self, "steps", self._derived_steps())

    def _derived_steps(self) -> int:
        if self.epochs is None:
            if self.steps is None:
                raise InvalidArgument("epochs and steps are both missing; give one of the two")
            return validation.count(steps=self.steps)
        try:
            _keep(self, "epochs", validation.count(epochs=self.epochs))
        except InvalidArgument as error:
            raise InvalidArgument(f"{error}, or give steps") from None
        derived = self.epochs * self.steps_per_epoch
        if self.steps is not None and validation.count(steps=self.steps) != derived:
            raise InvalidArgument(
                f"steps={self.steps} is not what epochs={self.epochs} means, which is {derived} steps; "
                "give one of the two, and None for the other"
            )
        return derived

    @property
    def steps_per_epoch(self) -> int:
        """ceil(examples / batch_size), or floor with ``drop_last``, in whole numbers."""
        whole, rest = divmod(self.examples, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    @property
    def passes(self) -> int:
        """How many epochs were begun."""
        return -(-self.steps // self.steps_per_epoch)

    @property
    def exact_rate(self) -> Fraction:
        """batch_size / examples, the share of the records in a batch."""
        return Fraction(self.batch_size, self.examples)

    @property
    def rate(self) -> float:
        """batch_size / examples, rounded once."""
        return self.batch_size / self.examples  # of two ints: the float nearest to the fraction

    @property
    def rule(self) -> Rule:
        """What a record can do under this sampler and adjacency."""
        return RULES[self.sampler, self.adjacency]

    @property
    def amplified(self) -> bool:
        """Whether the sampling counts; if not, ``notes`` says why."""
        return self.rule.amplify is not None

    @property
    def unit(self) -> Mechanism:
        """What repeats: one step or, for sampler="shuffle", one epoch."""
        return self.rule.unit(self)

    @property
    def units(self) -> int:
        """How often the unit repeats: the steps or, for sampler="shuffle", the epochs begun."""
        return self.passes if self.rule.per_pass else self.steps

    @property
    def mechanism(self) -> Mechanism:
        """What ran."""
        return self.unit**self.units

    @property
    def without_amplification(self) -> Mechanism:
        """The same run if it were known which batches the record is in."""
        return self.rule.plain(self) ** self.units

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true of the code that ran."""
        drawn = f"sampler {self.sampler!r}: {SAMPLERS[self.sampler]}"
        return (drawn, *self.rule.assumptions, _NOISE, _FIXED)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not amplified, and where the noise multiplier counts half; empty when there is nothing to say."""
        return self.rule.notes

    @property
    def phases(self) -> tuple[DPSGD, ...]:
        """This run is its only phase."""
        return (self,)

    def account(self, *, method: str = "auto", degree: int = 2) -> Account:
        """The account of the run."""
        return account(self, method=method, degree=degree)

    def describe(self, *, delta: float = 1e-5) -> str:
        """The derived figures as a short table, with the epsilon without amplification beside the other."""
        return describe(self, delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """The arguments as plain values; ``steps`` is left out where ``epochs`` says it."""
        fields = dataclasses.asdict(self)
        fields.pop("epochs" if self.epochs is None else "steps")
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> DPSGD:
        """The run that ``to_dict`` wrote, or that a person wrote with the same keys.

        >>> DPSGD.from_dict(
        ...     {"examples": 1000, "batch_size": 10, "steps": 7, "noise_multiplier": 2, "sampler": "none"}
        ... ).mechanism
        Repeated(mechanism=Gaussian(noise_multiplier=2.0), count=7)
        """
        known = [field.name for field in dataclasses.fields(cls)]
        if not isinstance(fields, dict):
            raise InvalidArgument(f"run={fields!r} is not an object; give one with {', '.join(known)}")
        for name in fields:
            if name not in known:
                raise InvalidArgument(f"{name}={fields[name]!r} is not part of a run; give {', '.join(known)}")
        for name in ("examples", "batch_size", "noise_multiplier"):
            if name not in fields:
                raise InvalidArgument(f"{name} is missing from the run; give {', '.join(known)}")
        return cls(**fields)


def _keep(run: DPSGD, name: str, value: object) -> None:
    object.__setattr__(run, name, value)


def _at_least_one(**argument: Any) -> int:
    """The one keyword argument as a whole number >= 1."""
    ((name, value),) = argument.items()
    whole = validation.count(**argument)
    if whole == 0:
        raise InvalidArgument(f"{name}={value!r} is out of range; give an int >= 1")
    return whole


def _check_sampler(sampler: object) -> None:
    meanings = "; ".join(f"{name!r}: {meaning}" for name, meaning in SAMPLERS.items())
    if not sampler:
        raise InvalidArgument(f"sampler is missing; epsilon depends on how batches are drawn, so say it. {meanings}")
    if sampler not in SAMPLERS:
        raise InvalidArgument(f"sampler={sampler!r} is unknown; give one of these. {meanings}")
