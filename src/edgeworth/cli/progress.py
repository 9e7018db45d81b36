"""How long work is told: a bar on a terminal, plain lines elsewhere. Both go to stderr."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, int, int], None]

__all__ = ["reporter"]


@contextmanager
def reporter(title: str, *, every: float = 0.0) -> Iterator[Report]:
    """A function of (what is being done, how many are done, of how many).

    Off a terminal it prints a line `every` so many seconds: work that takes less is silent there.
    """
    if not sys.stderr.isatty():
        yield _plain_lines(title, every)
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield report


def _plain_lines(title: str, every: float) -> Report:
    last = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            typer.echo(f"[{done}/{total}] {title}: {what}", err=True)

    return report
