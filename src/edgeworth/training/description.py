"""A training run as a short table: what was derived, what it costs, and what it would cost without amplification."""

from __future__ import annotations

import textwrap
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Protocol

from edgeworth import validation
from edgeworth.account import account
from edgeworth.training.rules import ADJACENCIES

if TYPE_CHECKING:
    from edgeworth.mechanisms import Mechanism
    from edgeworth.training.dpsgd import DPSGD

__all__ = ["describe"]

_WIDTH = 100
_UP = Context(prec=5, rounding=ROUND_CEILING)
_HEADINGS = ("phase", "sampler", "examples", "batch size", "rate q", "steps n", "noise multiplier")


class Run(Protocol):
    """What a run and a run in phases have in common."""

    @property
    def phases(self) -> tuple[DPSGD, ...]: ...
    @property
    def adjacency(self) -> str: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def without_amplification(self) -> Mechanism: ...
    @property
    def assumptions(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def describe(run: Run, *, delta: float) -> str:
    """The table, then both epsilons, then what was assumed."""
    delta = validation.probability(delta=delta)
    lines = _table([_HEADINGS, *(_row(number, phase) for number, phase in enumerate(run.phases, 1))])
    lines += [
        "",
        f"neighbours              {ADJACENCIES[run.adjacency]} ({run.adjacency})",
        f"epsilon                 {_epsilon(run.mechanism, delta)} at delta = {delta:g}",
        f"without amplification   {_epsilon(run.without_amplification, delta)} at delta = {delta:g}",
    ]
    for title, texts in (("noted", run.notes), ("assumed", run.assumptions)):
        for text in texts:
            lines += textwrap.wrap(f"{title:<24}{text}", _WIDTH, subsequent_indent=" " * 24)
    return "\n".join(lines)


def _row(number: int, phase: DPSGD) -> tuple[str, ...]:
    q, sizes = phase.exact_rate, (phase.batch_size, phase.examples)
    return (
        str(number),
        phase.sampler,
        str(phase.examples),
        str(phase.batch_size),
        f"{sizes[0]}/{sizes[1]} = {float(q):.6g}",
        str(phase.steps) if phase.epochs is None else f"{phase.epochs} x {phase.steps_per_epoch} = {phase.steps}",
        f"{phase.noise_multiplier:g}",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _epsilon(mechanism: Mechanism, delta: float) -> str:
    """The certified upper end, rounded up."""
    upper = float(account(mechanism).epsilon(delta).upper_bound())
    return f"at most {_UP.plus(Decimal(upper)):f}" if upper < float("inf") else "inf"
