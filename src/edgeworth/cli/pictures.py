"""Where a picture goes: into a file or onto the terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import typer

from edgeworth.cli.files import TERMINAL
from edgeworth.cli.screen import WIDTH
from edgeworth.report import CompareDisplay, ProfileDisplay, RocDisplay, TradeoffDisplay, passages
from edgeworth.report.pen import save

if TYPE_CHECKING:
    from edgeworth.account import Account
    from edgeworth.mechanisms import Mechanism
    from edgeworth.report import MethodsTable

    Display = CompareDisplay | ProfileDisplay | RocDisplay | TradeoffDisplay

__all__ = ["DISPLAYS", "draw", "draw_account", "draw_methods"]

#: what can be drawn of one account
DISPLAYS: dict[str, Any] = {"tradeoff": TradeoffDisplay, "profile": ProfileDisplay, "roc": RocDisplay}
_MOST_COLUMNS = 120


def draw_account(account: Account, plot: str | None, *, quiet: bool = False) -> None:
    """The trade-off function of one account, below its table."""
    if plot is not None:
        draw(TradeoffDisplay.from_account(account), plot, account.mechanism, below=True, quiet=quiet)


def draw_methods(table: MethodsTable, plot: str | None, *, quiet: bool = False) -> None:
    """All methods that answered, in one picture, below their table."""
    if plot is not None:
        draw(CompareDisplay.from_accounts(table.accounts), plot, table.mechanism, below=True, quiet=quiet)


def draw(display: Display, plot: str, mechanism: Mechanism, *, below: bool = False, quiet: bool = False) -> None:
    """The picture in a file, whose name is told, or on the terminal; `quiet` keeps both off stdout.

    It says what ran, unless it stands below a table that does.
    """
    ran = passages.step_lines(mechanism)
    if plot != TERMINAL:
        save(display, plot, title=" · ".join(ran))
        told = f"plot: {plot}"
    else:
        columns = min(shutil.get_terminal_size().columns, _MOST_COLUMNS) if sys.stdout.isatty() else WIDTH
        told = display.picture().text(width=columns)
        told = told if below else "\n".join([*ran, "", told])
    typer.echo(f"\n{told}" if below and not quiet else told, err=quiet)
