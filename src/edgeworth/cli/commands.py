"""The commands with their options. What a command needs beyond parsing is imported when it runs."""

# ruff: noqa: PLC0415 - so that --version and --help answer at once

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path  # noqa: TC003 - Typer reads the annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeworth.cli import describe, files
from edgeworth.cli.describe import Asked  # noqa: TC001 - Typer reads the annotations when it runs
from edgeworth.cli.options import AsJson, Degree, Delta, Deltas, Group, Method, Plot, named, of_a_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.report import Statement

__all__ = ["register"]

_RUN = "--noise-multiplier 0.8 --rate 256/50000 --steps 5000"
_VALUES = "Values, repeatable: 0.8, from:to:count evenly, or from:to:countx by equal factors."
_KINDS = ("tradeoff", "profile", "roc", "compare")
_EXAMPLE_WIDTH = 74
_NO_BREAK = "\N{NO-BREAK SPACE}"
_PATIENCE = 10.0  # seconds of long work between two plain lines
_BATCHES = "--noise-multiplier 0.8 --examples 50000 --batch-size 256 --epochs 26 --sampler poisson"


def register(app: typer.Typer) -> None:
    """Add every command to the app, each with its examples."""
    written = _listed if app.rich_markup_mode else _plain
    for command, (summary, *examples) in _COMMANDS.items():
        app.command(short_help=summary, epilog=written(examples))(command)


def _listed(examples: list[str]) -> str:
    """The examples in Markdown, for a terminal."""
    return "Examples:\n\n" + "\n".join(f"- `{example}`" for example in examples)


def _plain(examples: list[str]) -> str:
    """The examples as lines of at most 80 columns that a shell takes as they are; a backspace keeps them lines."""
    kept = (re.sub(r"(--\S+) (?!-)", rf"\1{_NO_BREAK}", example) for example in examples)  # an option and its value
    lines = (
        textwrap.wrap(example, _EXAMPLE_WIDTH, subsequent_indent="    ", break_on_hyphens=False) for example in kept
    )
    return "\b\nExamples:\n" + "\n".join("  " + " \\\n  ".join(each) for each in lines).replace(_NO_BREAK, " ")


@of_a_run
def account(
    asked: Asked,
    *,
    delta: Delta = None,
    method: Method = "auto",
    degree: Degree = "2",
    group: Group = "1",
    max_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Exit with 3 unless epsilon is certainly at most this at every --delta.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """How much privacy is left after one run: epsilon and what an attacker can do.

    With --max-epsilon it is a gate for scripts: exit code 3 when the budget is exceeded, or not guaranteed to be kept.
    """
    from edgeworth.cli import account_table, budget, pictures

    files.check_plot_path(plot)
    most = None if max_epsilon is None else budget.most(max_epsilon, delta)
    statement = _statement(asked, delta or ["1e-5"], method, degree, group)
    if as_json:
        typer.echo(json.dumps(budget.answer(statement, most), indent=2, allow_nan=False))
    else:
        account_table.print_account(statement)
    pictures.draw_account(statement.account, plot, quiet=as_json)
    if most is not None:
        budget.check(statement, most)


@of_a_run
def statement(
    asked: Asked,
    *,
    delta: Deltas = None,
    method: Method = "auto",
    degree: Degree = "2",
    group: Group = "1",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a model card.")] = False,
    as_json: AsJson = False,
) -> None:
    """A statement for a model card: what is guaranteed to whom, what is assumed, how to check it."""
    from edgeworth.report.statement import DELTAS

    told = _statement(asked, delta or [repr(each) for each in DELTAS], method, degree, group)
    typer.echo(told.json() if as_json else told.markdown() if markdown else told.text())


def _statement(asked: Asked, deltas: list[str], method: str, degree: str, group: str) -> Statement:
    """What ran, composed and ready to be told."""
    from edgeworth.account import account as compose
    from edgeworth.errors import InvalidArgument

    asked_deltas = [describe.number(delta=text) for text in deltas]
    whole, size = describe.whole_number(degree=degree), describe.whole_number(group=group)
    if size == 0:
        raise InvalidArgument("group=0 is out of range; give an int >= 1")
    ran = asked.described()
    composed = compose(ran.mechanism, method=method, degree=whole)
    return (composed if size == 1 else composed.group(size)).statement(deltas=asked_deltas, run=ran.run)


@of_a_run
def compare(
    asked: Asked,
    *,
    delta: Delta = None,
    degree: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COUNT",
            help="Degree of the expansions, 0 to 8; repeatable. Without it: 2, and 4 for edgeworth.",
        ),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Every accounting method on one run: epsilon, guarantee or estimate, f, mu* and time.

    Describe a DP-SGD run by flags, or anything else by a file.
    """
    from edgeworth.cli import pictures, progress, tables
    from edgeworth.report import MethodsTable

    mechanism = asked.described().mechanism
    files.check_plot_path(plot)
    deltas = [describe.number(delta=text) for text in delta or ("1e-5",)]
    degrees = [describe.whole_number(degree=text) for text in degree or ()]
    with progress.reporter("comparing", every=_PATIENCE) as report:
        table = MethodsTable.of(mechanism, deltas=deltas, degrees=degrees, progress=report)
    if as_json:
        typer.echo(table.to_json())
    else:
        tables.print_methods(table)
    pictures.draw_methods(table, plot, quiet=as_json)


@of_a_run
def calibrate(
    asked: Asked,
    *,
    what: Annotated[str, named("What to look for: noise, steps or rate.", ("noise", "steps", "rate"), "--find")],
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="NUMBER", help="At most this epsilon at --delta; repeatable, in pairs.")
    ] = None,
    delta: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="The delta of --epsilon.")] = None,
    mu: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="At most this mu, over tests with both errors >= 1e-10.")
    ] = None,
    tpr: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="At most this true positive rate at --fpr; repeatable, in pairs."),
    ] = None,
    fpr: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="The false positive rate of --tpr.")] = None,
    advantage: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="At most this true minus false positive rate.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The least noise, or the most steps or sampling, with which a DP-SGD run certainly meets a target.

    Describe the run by flags, or by a file with the keys of DPSGD, without the one that is looked for. Several targets
    hold all at once.
    """
    from edgeworth.cli import targets

    lists: dict[str, list[str] | None] = {"epsilon": epsilon, "delta": delta, "tpr": tpr, "fpr": fpr}
    target: dict[str, Any] = {
        name: [describe.number(**{name: text}) for text in texts] for name, texts in lists.items() if texts
    }
    singles = {"mu": mu, "advantage": advantage}
    target |= {name: describe.number(**{name: text}) for name, text in singles.items() if text is not None}
    found = targets.find(what, asked, target)
    typer.echo(targets.as_json(what, found) if as_json else targets.as_text(what, found))


@of_a_run
def plot(
    asked: Asked,
    *,
    kind: Annotated[str, named("tradeoff, profile (delta over epsilon), roc or compare.", _KINDS)] = "tradeoff",
    method: Method = "auto",
    degree: Degree = "2",
    out: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="A .png, .pdf or .svg file. Without it: the terminal.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a run, into a file or on the terminal; --json prints the numbers that are drawn."""
    from edgeworth.cli import drawing, pictures

    files.check_plot_path(out, option="out")
    whole = describe.whole_number(degree=degree)
    mechanism = asked.described().mechanism
    display = drawing.display(kind, mechanism, method, whole)
    if as_json:
        typer.echo(json.dumps(drawing.numbers(kind, display), allow_nan=False))
    if out is not None or not as_json:
        pictures.draw(display, out or files.TERMINAL, mechanism, quiet=as_json)


def sweep(
    *,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="The table, .csv or .parquet; one that is there is continued.")
    ],
    noise_multiplier: Annotated[list[str], typer.Option(metavar="VALUES", help=_VALUES)],
    rate: Annotated[list[str], typer.Option(metavar="VALUES", help="Poisson sampling rate, likewise.")],
    steps: Annotated[list[str], typer.Option(metavar="VALUES", help="Number of steps, likewise, rounded.")],
    delta: Annotated[
        list[str] | None, typer.Option(metavar="VALUES", help="Likewise. Without it: 1e-5.", show_default=False)
    ] = None,
    jobs: Annotated[str, typer.Option(metavar="COUNT", help="Processes on this machine; 0 takes all cores.")] = "0",
    backend: Annotated[str, named("local, or dask with --scheduler.", ("local", "dask"))] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, e.g. tcp://host:8786.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Certified epsilon over a grid of runs, every combination a row; a stopped sweep resumes where it was."""
    from edgeworth.cli import grid, progress
    from edgeworth.cli.rows import Table
    from edgeworth.cli.sweep import groups, run

    describe.check_backend(backend, scheduler)
    table, workers = Table(out), describe.whole_number(jobs=jobs)
    table.check()
    points = grid.points(noise_multiplier, rate, steps, delta or ["1e-5"])
    known = table.known() & set(points)
    work = groups(points, known)
    with progress.reporter("sweeping", every=_PATIENCE) as report:
        try:
            run(work, table, jobs=workers or -1, scheduler=scheduler, progress=report)
        except KeyboardInterrupt:
            typer.echo(
                f"stopped: the rows so far are in {table.rows_file}; the same command goes on from there", err=True
            )
            raise
    computed, found = len(points) - len(known), len(known)
    if as_json:
        _echo_json("sweep", table=str(out), points=len(points), computed=computed, found=found)
    else:
        typer.echo(f"table: {out} ({computed} computed, {found} found)")


def reproduce(
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page; made if it is not there.")],
    as_json: AsJson = False,
) -> None:
    """Redraw every figure and table of the paper, each with its error, on one HTML page."""
    from edgeworth.cli import progress
    from edgeworth.paper import reproduce as redraw

    files.make_folder(out)
    with progress.reporter("reproducing") as report:
        page = redraw(out, progress=report)
    if as_json:
        _echo_json("reproduction", page=str(page))
    else:
        typer.echo(f"page: {page}")


def _echo_json(kind: str, **told: str | int) -> None:
    typer.echo(json.dumps({"format": f"edgeworth-{kind}", "version": 1} | told, indent=2))


#: a line for the list of commands, then examples
_COMMANDS: dict[Callable[..., None], tuple[str, ...]] = {
    account: (
        "Epsilon of one run, and what an attacker can do.",
        f"edgeworth account {_RUN}",
        f"edgeworth account {_BATCHES}",
        "edgeworth account run.toml --max-epsilon 3 --delta 1e-5",
        "edgeworth account - --json < mechanism.json",
    ),
    compare: (
        "Every method on one run, guarantee or estimate.",
        f"edgeworth compare {_RUN}",
        "edgeworth compare --noise-multiplier 1 --rate 0.01 --steps 1000 --delta 1e-5 --delta 1e-8 --plot run.png",
        "edgeworth compare mechanism.json --json",
    ),
    calibrate: (
        "The noise, steps or rate that meet a target.",
        "edgeworth calibrate --find noise --epsilon 3 --delta 1e-5 --rate 256/50000 --steps 5000",
        "edgeworth calibrate --find steps --tpr 0.05 --fpr 0.01 --noise-multiplier 0.8 --rate 256/50000",
        "edgeworth calibrate --find rate --mu 0.5 --noise-multiplier 0.8 --steps 5000",
    ),
    statement: (
        "A statement for a model card.",
        f"edgeworth statement {_BATCHES}",
        "edgeworth statement run.toml --markdown >> README.md",
    ),
    plot: (
        "Draw a run, on the terminal or into a file.",
        f"edgeworth plot {_RUN}",
        "edgeworth plot run.toml --kind roc --out roc.png",
        "edgeworth plot mechanism.json --kind profile --json",
    ),
    sweep: (
        "A table of epsilon over a grid of runs.",
        "edgeworth sweep --noise-multiplier 0.6:2:15 --rate 0.001:0.1:5x --steps 1000 --steps 10000 --out sweep.csv",
        (
            "edgeworth sweep --noise-multiplier 1 --rate 0.01 --steps 100:10000:20x --out sweep.parquet "
            "--backend dask --scheduler tcp://head:8786"
        ),
    ),
    reproduce: (
        "The figures and tables of the paper, redrawn.",
        "edgeworth reproduce --out out/paper",
    ),
}
