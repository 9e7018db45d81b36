"""What a statement says in words: who is protected, how batches were drawn, what was assumed, what is not covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from edgeworth.mechanisms import Composed, DensityPair, PoissonSampled, SampledWithoutReplacement
from edgeworth.training import DPSGD, Training
from edgeworth.training.rules import ADJACENCIES, SAMPLERS

if TYPE_CHECKING:
    from edgeworth.account import Account
    from edgeworth.mechanisms import Mechanism

__all__ = [
    "NOT_COVERED",
    "Run",
    "assumptions",
    "method",
    "neighbours",
    "samplers",
    "step_lines",
    "unit",
    "without_amplification",
]

Run: TypeAlias = DPSGD | Training

_MOST_STEPS = 6  # lines that describe what ran
_SAMPLED = (PoissonSampled, SampledWithoutReplacement)

NOT_COVERED = (
    "a person with several records: the figures are for one of them; account.group(k) is for k",
    "other releases from the same records, and choices made by looking at them: whatever touched them must be in here",
    "what can be concluded about a person from facts about everyone, with or without their record",
    "the code: a noise generator that can be predicted, clipping or sampling that is not as described, side channels",
)

_NOISE_HOLDS = "the noise is drawn as described and the sensitivities hold for every record"
_FIXED = "noise, rates and the number of releases were fixed before the run; the outputs may steer anything else"
_POISSON = "every record enters every sample by itself, with the stated probability; shuffled or fixed batches do not"
_WITHOUT_REPLACEMENT = "every batch is drawn afresh from all records, always as many of them"
_ALL_SEEN = "whoever attacks sees every release and knows all other records"
_DENSITIES = "the two given distributions are the worst case of the mechanism"


def unit(account: Account) -> str:
    """Whose presence is hidden."""
    return "one record" if account.group_size == 1 else f"a group of {account.group_size} records"


def neighbours(account: Account, run: Run | None) -> str:
    """Which data sets must look alike."""
    meant = account.adjacency if run is None else run.adjacency
    if meant is None:
        return "those for which the sensitivities were measured; nothing is sampled"
    told = f"{ADJACENCIES[meant]} ({meant})"
    return told if account.group_size == 1 else f"{told}, up to {account.group_size} times over"


def method(account: Account) -> str:
    """By which method, and why by that one."""
    return f"{account.certificate.method} ({account.why})"


def samplers(mechanism: Mechanism, run: Run | None) -> tuple[str, ...]:
    """How the records of each release were drawn, each way once."""
    if run is not None:
        return tuple(dict.fromkeys(f"{phase.sampler}: {SAMPLERS[phase.sampler]}" for phase in run.phases))
    drawn = {PoissonSampled: "Poisson", SampledWithoutReplacement: "fixed size, without replacement"}
    found = [drawn.get(type(step), "none: every record is in every release") for step, _ in mechanism.steps()]
    return tuple(dict.fromkeys(found)) or ("none: nothing ran",)


def step_lines(mechanism: Mechanism) -> list[str]:
    """What ran, a line for each kind of step, the first few."""
    steps = mechanism.steps()
    lines = [f"{count} x {step!r}" if count != 1 else repr(step) for step, count in steps[:_MOST_STEPS]]
    if len(steps) > _MOST_STEPS:
        lines.append(f"and {len(steps) - _MOST_STEPS} more kinds of step")
    return lines or ["nothing ran"]


def without_amplification(mechanism: Mechanism, run: Run | None) -> Mechanism | None:
    """The same with every record in every sample; None where nothing was amplified."""
    if run is not None:
        return run.without_amplification if run.amplified else None
    steps = mechanism.steps()
    if not any(isinstance(step, _SAMPLED) for step, _ in steps):
        return None
    return Composed([(step.mechanism if isinstance(step, _SAMPLED) else step) ** count for step, count in steps])


def assumptions(mechanism: Mechanism, run: Run | None) -> tuple[str, ...]:
    """What must be true of what ran; for a run, also what was not amplified and where the noise counts half."""
    if run is not None:
        return (*run.assumptions, *run.notes, _ALL_SEEN)
    kinds = {type(step) for step, _ in mechanism.steps()}
    special = {PoissonSampled: _POISSON, SampledWithoutReplacement: _WITHOUT_REPLACEMENT, DensityPair: _DENSITIES}
    return (*(text for kind, text in special.items() if kind in kinds), _NOISE_HOLDS, _FIXED, _ALL_SEEN)
