"""Tables for people: colours on a terminal, plain text of 80 columns elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WIDTH", "show"]

WIDTH = 80


def show(draw: Callable[[Console], None]) -> None:
    """Let `draw` print, on the terminal or as plain lines."""
    if sys.stdout.isatty():
        draw(Console(highlight=False, markup=False, emoji=False))
        return
    console = Console(highlight=False, markup=False, emoji=False, width=WIDTH)
    with console.capture() as captured:
        draw(console)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
