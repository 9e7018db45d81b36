"""How long work is told: a bar on a terminal, plain lines elsewhere. Both go to stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, int, int], None]

__all__ = ["reporter"]


@contextmanager
def reporter(title: str, *, quiet: bool = False) -> Iterator[Report]:
    """A function of (what is being done, how many are done, of how many); quiet keeps silent off a terminal."""
    if not sys.stderr.isatty():
        yield _silent if quiet else _plain_line
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield report


def _silent(_what: str, _done: int, _total: int) -> None:
    pass


def _plain_line(what: str, done: int, total: int) -> None:
    typer.echo(f"[{done}/{total}] {what}", err=True)
