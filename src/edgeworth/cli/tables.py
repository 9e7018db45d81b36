"""The comparison of methods as a table for people: 80 columns are enough, and plain text off a terminal."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from edgeworth.account import account
from edgeworth.cli.screen import show
from edgeworth.errors import EdgeworthError
from edgeworth.mechanisms import PoissonSampled
from edgeworth.report import passages
from edgeworth.report.digits import at_most, nearest, outward

if TYPE_CHECKING:
    from rich.console import Console

    from edgeworth.curves import Bracket
    from edgeworth.mechanisms import Mechanism
    from edgeworth.report import MethodAnswer, MethodsTable

__all__ = ["print_methods"]

_EXACT = 1e-9  # a relative error that is shown as none


def print_methods(table: MethodsTable) -> None:
    """What ran, every method, a sentence or two in plain words, and the notes."""
    show(lambda console: _print(table, console))


def _print(table: MethodsTable, console: Console) -> None:
    console.print(_what_ran(table.mechanism))
    console.print()
    console.print(_grid_of(table))
    console.print()
    for sentence in _sentences(table):
        console.print(sentence)
    console.print("\nNotes", style="bold")
    console.print(_notes(table))


def _what_ran(mechanism: Mechanism) -> Text:
    return Text("\n").join(Text(line, style="bold") for line in passages.step_lines(mechanism))


def _grid_of(table: MethodsTable) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    grid.add_column("method", no_wrap=True)
    grid.add_column("epsilon", justify="right")
    grid.add_column("truth lies in")
    grid.add_column("this is")
    grid.add_column(f"f({table.alpha:g})", justify="right")
    grid.add_column("mu*", justify="right")
    grid.add_column("ms", justify="right", min_width=5)  # one width, whatever the time
    for place, delta in enumerate(table.deltas):
        grid.add_row(Text(f"at delta = {delta:g}", style="italic"))
        for answer in table.answers:
            if place == 0 or answer.account is not None:
                grid.add_row(*_row(answer, place, table.answers[0].epsilon))
        if place + 1 < len(table.deltas):
            grid.add_section()
    return grid


def _row(answer: MethodAnswer, place: int, truth: Bracket | None) -> list[str | Text]:
    name = Text(f"  {answer.name}", style="bold" if answer.certified else "")
    if answer.epsilon is None or answer.tradeoff is None:
        return [name, "-", "", Text("no answer", style="dim"), *["-"] * 3]
    epsilon = nearest(float(np.ravel(answer.epsilon.value)[place]))
    interval = _error(answer.error(truth)[place : place + 1])
    if answer.certified:
        lower, upper = (float(np.ravel(end)[place]) for end in (answer.epsilon.lower, answer.epsilon.upper))
        interval = f"[{outward(lower, ROUND_FLOOR)}, {outward(upper, ROUND_CEILING)}]"
    kind = Text("guarantee", style="bold green") if answer.certified else Text("estimate", style="yellow")
    row: list[str | Text] = [name, epsilon, interval, kind]
    if place > 0:
        return row
    mu_star = f"<={outward(answer.mu_star, ROUND_CEILING, 4)}" if answer.certified else nearest(answer.mu_star, 4)
    milliseconds = f"{answer.milliseconds:.{1 if answer.milliseconds < 9.95 else 0}f}"
    return [*row, f"{float(answer.tradeoff.value):.4f}", mu_star, milliseconds]


def _error(known: list[tuple[float, float] | None]) -> str:
    """How far an estimate is from the truth, as far as that is known."""
    if not known or known[0] is None:
        return ""
    if max(map(abs, known[0])) < _EXACT:
        return f"error below {_EXACT:.0e}"
    low, high = (f"{100 * each:+.{'0f' if abs(each) >= 1 else '2g'}}%" for each in known[0])
    return f"error {low}" if low == high else f"error {low} to {high}"


def _sentences(table: MethodsTable) -> list[Text]:
    """What the guarantee means for one person, and what was assumed about sampling."""
    first = table.answers[0].account
    sentences = [] if first is None else [Text(first.risk.sentence())]
    if any(isinstance(step, PoissonSampled) for step, _ in table.mechanism.steps()):
        assumed = "Poisson sampling is assumed: each record enters each batch by itself."
        sentences.append(Text(assumed + _without_sampling(table)))
    return sentences


def _without_sampling(table: MethodsTable) -> str:
    """Epsilon with every record in every batch, where that can be had from a formula."""
    plain = passages.without_amplification(table.mechanism, None)
    if plain is None:
        return ""
    delta = table.deltas[0]
    try:
        epsilon = account(plain, method="closed-form").epsilon(delta)
    except EdgeworthError:
        return ""
    return f" With every record in every batch, epsilon would be {at_most(epsilon)} at delta = {delta:g}."


def _notes(table: MethodsTable) -> Table:
    notes = Table.grid(padding=(0, 2, 0, 0))
    notes.add_column(no_wrap=True)
    notes.add_column()
    for answer in table.answers:
        for place, note in enumerate(answer.notes):
            notes.add_row("" if place else f"  {answer.name}", Text(note))
    if any(any(answer.error(table.answers[0].epsilon)) and not answer.certified for answer in table.answers):
        notes.add_row("  error", Text("of an estimate, against the bracket of auto; a minus promises too much"))
    notes.add_row("  ms", Text("time to compose and to read epsilon"))
    return notes
