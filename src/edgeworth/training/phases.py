"""A run whose noise or batch size changes: phases, one after the other on the same records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeworth.account import Account, account
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms import Composed
from edgeworth.training.description import describe
from edgeworth.training.dpsgd import DPSGD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeworth.mechanisms import Mechanism

__all__ = ["Training", "training_from_dict"]


@dataclass(frozen=True, init=False)
class Training:
    """Phases of DP-SGD on the same records, each with its own noise, batch size, sampler and length.

    >>> import dataclasses
    >>> warm_up = DPSGD(examples=1000, batch_size=10, epochs=1, noise_multiplier=2.0, sampler="poisson")
    >>> run = Training([warm_up, dataclasses.replace(warm_up, noise_multiplier=1.0)])
    >>> run.steps, run.mechanism.releases
    (200, 200)
    """

    phases: tuple[DPSGD, ...]

    def __init__(self, phases: Iterable[DPSGD]) -> None:
        listed = tuple(phases) if isinstance(phases, Iterable) else (phases,)
        for position, phase in enumerate(listed):
            if not isinstance(phase, DPSGD):
                raise InvalidArgument(f"phases[{position}]={phase!r} is not a phase; give a DPSGD")
        if not listed:
            raise InvalidArgument("phases is empty; give at least one DPSGD")
        for name, why in (
            ("adjacency", "a guarantee is about one kind of neighbour"),
            ("examples", "one run sees one set of records"),
        ):
            values = list(dict.fromkeys(getattr(phase, name) for phase in listed))
            if len(values) > 1:
                raise InvalidArgument(
                    f"phases have {name}={values[0]!r} and {name}={values[1]!r}; {why}, give all phases the same"
                )
        object.__setattr__(self, "phases", listed)

    @property
    def adjacency(self) -> str:
        """What neighbours are, the same in every phase."""
        return self.phases[0].adjacency

    @property
    def steps(self) -> int:
        """The steps of all phases."""
        return sum(phase.steps for phase in self.phases)

    @property
    def amplified(self) -> bool:
        """Whether the sampling counts in some phase."""
        return any(phase.amplified for phase in self.phases)

    @property
    def mechanism(self) -> Mechanism:
        """What ran."""
        return Composed(phase.mechanism for phase in self.phases)

    @property
    def without_amplification(self) -> Mechanism:
        """The same run if it were known which batches the record is in."""
        return Composed(phase.without_amplification for phase in self.phases)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true of the code that ran, each once."""
        return tuple(dict.fromkeys(text for phase in self.phases for text in phase.assumptions))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not amplified, and where the noise multiplier counts half, each once."""
        return tuple(dict.fromkeys(text for phase in self.phases for text in phase.notes))

    def account(self, *, method: str = "auto", degree: int = 2) -> Account:
        """The account of the whole run."""
        return account(self, method=method, degree=degree)

    def describe(self, *, delta: float = 1e-5) -> str:
        """The derived figures as a short table, with the epsilon without amplification beside the other."""
        return describe(self, delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """The phases as plain values."""
        return {"phases": [phase.to_dict() for phase in self.phases]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Training:
        """The run that ``to_dict`` wrote. What stands beside ``phases`` holds for every phase that does not say it.

        >>> run = Training.from_dict({
        ...     "examples": 1000, "batch_size": 10, "sampler": "none",
        ...     "phases": [{"steps": 5, "noise_multiplier": 2.0}, {"steps": 7, "noise_multiplier": 1.0}],
        ... })
        >>> run.steps
        12
        """
        listed = fields.get("phases") if isinstance(fields, dict) else None
        if not isinstance(listed, list):
            raise InvalidArgument(f"phases={listed!r} is not a list; give a list of runs")
        shared = {name: value for name, value in fields.items() if name != "phases"}
        return cls([_phase(shared, phase, position) for position, phase in enumerate(listed)])


def _phase(shared: dict[str, Any], phase: object, position: int) -> DPSGD:
    try:
        return DPSGD.from_dict(shared | phase if isinstance(phase, dict) else phase)  # type: ignore[arg-type]
    except InvalidArgument as error:
        raise InvalidArgument(f"phases[{position}]: {error}") from None


def training_from_dict(fields: Mapping[str, Any]) -> DPSGD | Training:
    """A run, in one phase or in several, from what ``to_dict`` wrote or a person wrote in JSON or TOML.

    >>> training_from_dict(
    ...     {"examples": 60_000, "batch_size": 600, "epochs": 1, "noise_multiplier": 1, "sampler": "shuffle"}
    ... ).steps
    100
    """
    if isinstance(fields, dict) and "phases" in fields:
        return Training.from_dict(fields)
    return DPSGD.from_dict(fields)
