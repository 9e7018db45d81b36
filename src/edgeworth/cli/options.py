"""The options that several commands share; the description of a run is written once."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from edgeworth.cli.describe import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AsJson", "Degree", "Delta", "Group", "Method", "Plot", "of_a_run"]


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False)


Delta = Annotated[list[str] | None, _option("NUMBER", "Report epsilon at this delta; repeatable. Without it: 1e-5.")]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="auto and recursion give guarantees, clt or edgeworth estimates, ...")
]
Degree = Annotated[str, typer.Option(metavar="COUNT", help="Degree of an expansion.")]
Group = Annotated[str, typer.Option(metavar="COUNT", help="Protect groups of this many records.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Plot = Annotated[
    str | None,
    _option("[PATH]", "Draw it: into this .png, .pdf or .svg file, or on the terminal when no file is named."),
]

_FILE = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="What ran: the JSON that `edgeworth.to_json` writes, or a run in JSON or TOML with the keys of "
        "`edgeworth.DPSGD`; - reads stdin.",
        show_default=False,
    ),
]

_FLAGS: dict[str, Any] = {
    "noise_multiplier": Annotated[str | None, _option("NUMBER", "Noise standard deviation over the clipping norm.")],
    "rate": Annotated[
        str | None,
        _option(
            "NUMBER",
            "Poisson sampling: every record enters every batch by itself with this probability. "
            "A number or a fraction such as 256/50000; 1 means no sampling.",
        ),
    ],
    "steps": Annotated[str | None, _option("COUNT", "Number of noisy gradient steps.")],
    "examples": Annotated[str | None, _option("COUNT", "Number of records; with --batch-size, instead of --rate.")],
    "batch_size": Annotated[str | None, _option("COUNT", "Records in a batch, or expected in one.")],
    "epochs": Annotated[str | None, _option("COUNT", "Passes over the records, instead of --steps.")],
    "sampler": Annotated[str | None, _option("NAME", "How batches are drawn: poisson, fixed-size, shuffle or none.")],
    "adjacency": Annotated[str | None, _option("NAME", "What neighbours are: add-remove, replace or zero-out.")],
    "drop_last": Annotated[bool, typer.Option("--drop-last", help="An epoch leaves out its smaller last batch.")],
}


def of_a_run(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose first argument is an Asked, with the file and the flags that describe a run."""
    hints = get_type_hints(command, include_extras=True)
    own = list(inspect.signature(command).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=False if name == "drop_last" else None, annotation=annotation)
        for name, annotation in {"file": _FILE, **_FLAGS}.items()
    ]
    own = [parameter.replace(kind=keyword, annotation=hints[parameter.name]) for parameter in own]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        flags = {f"--{name.replace('_', '-')}": given.pop(name) for name in _FLAGS}
        flags["--drop-last"] = "yes" if flags["--drop-last"] else None
        command(Asked(given.pop("file"), flags), **given)

    wrapped.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]  # what Typer reads
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)}
    del wrapped.__wrapped__  # or the types of `command` would be read instead
    return wrapped
