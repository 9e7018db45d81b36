"""The commands with their options, and what an error looks like.

Exit codes: 0 for an answer, 2 for bad input (one line "error: …" and one line "hint: …" on stderr), 130 when
interrupted. Anything else that goes wrong is a bug and shows its traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - Typer reads the annotations when it runs
from typing import Annotated, Any

import typer

from edgeworth._version import __version__
from edgeworth.errors import EdgeworthError

# What a command needs beyond parsing is imported when it runs, so that --version and --help answer at once.
# ruff: noqa: PLC0415

__all__ = ["app", "main"]

_UsageError: Any = typer.BadParameter.__bases__[0]  # Typer does not export it, and it moved between its versions

app = typer.Typer(
    name="edgeworth",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; bad input becomes one line and exit code 2."""
    try:
        code = typer.main.get_command(app).main(prog_name="edgeworth", standalone_mode=False)
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx else "edgeworth"
        _refuse(error.format_message().rstrip("."), f"{where} --help lists every option, with examples")
    except EdgeworthError as error:
        what, _, way_out = " ".join(str(error).split()).partition("; ")
        _refuse(what, way_out or "edgeworth --help lists the commands")
    except typer.Abort:
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(what: str, way_out: str) -> None:
    typer.echo(f"error: {what}\nhint: {way_out}", err=True)
    sys.exit(2)


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


@app.command(
    epilog="Examples:\n\n"
    "- a DP-SGD run:  `edgeworth compare --noise-multiplier 0.8 --rate 256/50000 --steps 5000`\n"
    "- two deltas, and a picture:  "
    "`edgeworth compare --noise-multiplier 1 --rate 0.01 --steps 1000 --delta 1e-5 --delta 1e-8 --plot run.png`\n"
    "- anything else, described in JSON:  `edgeworth compare mechanism.json`  or\n"
    "  `edgeworth compare - < mechanism.json`\n"
    "- for programs:  `edgeworth compare mechanism.json --json`"
)
def compare(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="What ran, as the JSON that `edgeworth.to_json` writes; - reads stdin.",
            show_default=False,
        ),
    ] = None,
    noise_multiplier: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Noise standard deviation over the clipping norm.", show_default=False),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Poisson sampling: every record enters every batch by itself with this probability. "
            "A number or a fraction such as 256/50000; 1 means no sampling.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Number of noisy gradient steps.", show_default=False),
    ] = None,
    delta: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="Report epsilon at this delta; repeatable. Without it: 1e-5."),
    ] = None,
    degree: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COUNT",
            help="Degree of the expansions, 0 to 8; repeatable. Without it: 2, and 4 for edgeworth.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Draw all methods into this file: .png, .pdf or .svg.", show_default=False),
    ] = None,
) -> None:
    """Every accounting method on one run: epsilon, guarantee or estimate, f, mu* and time.

    Describe a DP-SGD run by --noise-multiplier, --rate and --steps, or anything else by a JSON file.
    """
    from edgeworth.cli import describe, progress, tables
    from edgeworth.report import MethodsTable

    flags = {"--noise-multiplier": noise_multiplier, "--rate": rate, "--steps": steps}
    mechanism = describe.from_json_file(file, flags) if file is not None else describe.from_flags(flags)
    if plot is not None:
        describe.check_plot_path(plot)
    deltas = [describe.number(delta=text) for text in delta or ("1e-5",)]
    degrees = [describe.whole_number(degree=text) for text in degree or ()]
    with progress.reporter("comparing", quiet=True) as report:
        table = MethodsTable.of(mechanism, deltas=deltas, degrees=degrees, progress=report)
    if as_json:
        typer.echo(table.to_json())
    else:
        tables.print_methods(table)
    if plot is not None:
        tables.draw_methods(table, plot)
        typer.echo(f"plot: {plot}", err=as_json)


@app.command(epilog="Example:\n\n- `edgeworth reproduce --out out/paper`")
def reproduce(
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page; made if it is not there.")],
) -> None:
    """Redraw every figure and table of the paper, each with its error, on one HTML page."""
    from edgeworth.cli import describe, progress
    from edgeworth.paper import reproduce as redraw

    describe.make_folder(out)
    with progress.reporter("reproducing") as report:
        page = redraw(out, progress=report)
    typer.echo(f"page: {page}")
