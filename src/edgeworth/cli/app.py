"""The command line as a whole, and what an error looks like.

Exit codes: 0 for an answer, 2 for bad input and for files that cannot be read or written, 3 when a guarantee was asked
of an estimate or a budget is exceeded (each with one line "error: …" and one line "hint: …" on stderr), 130 when
interrupted, 1 when whoever read the output went away. Anything else that goes wrong is a bug and shows its traceback.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from edgeworth._version import __version__
from edgeworth.cli import commands
from edgeworth.cli.files import TERMINAL
from edgeworth.errors import EdgeworthError, NotCertified
from edgeworth.ledger import BudgetExceeded

__all__ = ["app", "main"]

_UsageError: Any = typer.BadParameter.__bases__[0]  # Typer does not export it, and it moved between its versions
_BAD_INPUT, _NOT_MET, _INTERRUPTED = 2, 3, 130

app = typer.Typer(
    name="edgeworth",
    rich_markup_mode="markdown" if sys.stdout.isatty() else None,  # plain text when piped
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands.register(app)


def main() -> None:
    """Run the command line; an error becomes two lines and an exit code."""
    arguments = with_plot_names(sys.argv[1:] or ["--help"])
    try:
        code = typer.main.get_command(app).main(args=arguments, prog_name="edgeworth", standalone_mode=False)
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx else " ".join(["edgeworth", *arguments[:1]])
        _refuse(error.format_message().rstrip("."), f"{where} --help lists every option, with examples", _BAD_INPUT)
    except EdgeworthError as error:
        what, _, way_out = " ".join(str(error).split()).partition("; ")
        code = _NOT_MET if isinstance(error, (NotCertified, BudgetExceeded)) else _BAD_INPUT
        _refuse(what, way_out or "edgeworth --help lists the commands", code)
    except OSError as error:
        _refuse(_what_failed(error), "give a name that can be read or written, on a disk with room", _BAD_INPUT)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def with_plot_names(arguments: list[str]) -> list[str]:
    """The arguments, where a --plot that names no picture means the terminal.

    >>> with_plot_names(["account", "--plot", "run.toml"])
    ['account', '--plot', 'terminal', 'run.toml']
    """
    named: list[str] = []
    for place, word in enumerate(arguments):
        named.append(word)
        following = arguments[place + 1] if place + 1 < len(arguments) else "-"
        if word == "--plot" and (following.startswith("-") or following.endswith((".json", ".toml"))):
            named.append(TERMINAL)
    return named


def _what_failed(error: OSError) -> str:
    """The system's own words, with the name of the file where it gives one."""
    name = "" if error.filename is None else f" {str(error.filename)!r}"
    return f"cannot use{name or ' a file'}: {error.strerror}"


def _refuse(what: str, way_out: str, code: int) -> None:
    typer.echo(f"error: {what}\nhint: {way_out}", err=True)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgeworth {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """How much privacy is left after all these private algorithms ran on the same data.

    Every answer says whether it is a guarantee or an estimate.
    """
