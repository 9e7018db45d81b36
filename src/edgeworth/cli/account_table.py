"""One account as a table for people: what ran, epsilon at every delta, what an attacker can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from edgeworth.cli.screen import show
from edgeworth.report import passages
from edgeworth.report.digits import at_most, ends, nearest

if TYPE_CHECKING:
    from rich.console import Console

    from edgeworth.report import Statement

__all__ = ["print_account"]


def print_account(statement: Statement) -> None:
    """The figures of a statement, without its small print."""
    show(lambda console: _print(statement, console))


def _print(statement: Statement, console: Console) -> None:
    account = statement.account
    for line in passages.step_lines(account.mechanism):
        console.print(Text(line, style="bold"))
    console.print(Text(passages.method(account)))
    console.print()
    console.print(_epsilons(statement))
    console.print()
    console.print(_risks(statement))
    console.print()
    console.print(Text(statement.sentence))
    console.print()
    console.print(_assumed(statement))


def _assumed(statement: Statement) -> Table:
    """Who is protected, and what was taken for granted about neighbours and samples."""
    account = statement.account
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row("unit", passages.unit(account))
    grid.add_row("neighbours", passages.neighbours(account, statement.run))
    for place, sampler in enumerate(passages.samplers(account.mechanism, statement.run)):
        grid.add_row("" if place else "sampler", sampler)
    return grid


def _epsilons(statement: Statement) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("delta", "epsilon"):
        grid.add_column(name, justify="right")
    grid.add_column("truth lies in")
    grid.add_column("this is")
    if statement.unamplified is not None:
        grid.add_column("without amplification", justify="right")
    for place, (delta, found) in enumerate(zip(statement.deltas, statement.epsilon, strict=True)):
        kind = Text("guarantee", style="bold green") if found.certified else Text("estimate", style="yellow")
        plain = [] if statement.unamplified is None else [at_most(statement.unamplified[place])]
        interval = ends(found) if found.certified else ""
        grid.add_row(f"{delta:g}", nearest(float(found.value)), interval, kind, *plain)
    return grid


def _risks(statement: Statement) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    grid.add_column(no_wrap=True)
    for name, found in statement.risk:
        value = ends(found, 4) if found.certified else f"{nearest(float(found.value), 4)} (estimate)"
        grid.add_row(name, value)
    return grid
