"""The options that several commands share; the description of a run is written once."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from edgeworth.cli.describe import Asked
from edgeworth.composition import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AsJson", "Degree", "Delta", "Deltas", "Group", "Method", "Plot", "named", "of_a_run"]


def _option(metavar: str, text: str, *, words: tuple[str, ...] = ()) -> Any:
    """An option without a default; `words` are what a shell can complete."""
    return typer.Option(metavar=metavar, help=text, show_default=False, autocompletion=_completion(words))


def _completion(words: tuple[str, ...]) -> Callable[[str], list[str]] | None:
    def beginning_with(incomplete: str) -> list[str]:  # Typer goes by the name of the argument
        return [word for word in words if word.startswith(incomplete)]

    return beginning_with if words else None


def named(text: str, words: tuple[str, ...], *flags: str) -> Any:
    """An option that takes one of a few words."""
    return typer.Option(*flags, metavar="NAME", help=text, autocompletion=_completion(words))


ESTIMATES = ("clt", "edgeworth", "cornish-fisher", "saddlepoint")
GUARANTEES = ("auto", *(name for name in METHODS if name not in ESTIMATES))

Delta = Annotated[list[str] | None, _option("NUMBER", "Report epsilon at this delta; repeatable. Without it: 1e-5.")]
Deltas = Annotated[
    list[str] | None, _option("NUMBER", "Report epsilon at this delta; repeatable. Without it: 1e-5, 1e-6 and 1e-8.")
]
Method = Annotated[
    str,
    named(f"For a guarantee {', '.join(GUARANTEES)}; for an estimate {', '.join(ESTIMATES)}.", GUARANTEES + ESTIMATES),
]
Degree = Annotated[str, typer.Option(metavar="COUNT", help="Degree of an expansion.")]
Group = Annotated[str, typer.Option(metavar="COUNT", help="Protect groups of this many records.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Plot = Annotated[
    str | None,
    _option("[PATH]", "Draw it: into this .png, .pdf or .svg file, or on the terminal when no file is named."),
]

_WHAT_RAN = (
    "What ran: the JSON that `edgeworth.to_json` writes, or a run in JSON or TOML with the keys of `edgeworth.DPSGD`; "
    "- reads stdin."
)
_FILE = Annotated[str | None, typer.Argument(metavar="FILE", help=_WHAT_RAN, show_default=False)]

_SAMPLERS = ("poisson", "fixed-size", "shuffle", "none")
_ADJACENCIES = ("add-remove", "replace", "zero-out")

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
    "sampler": Annotated[
        str | None, _option("NAME", "How batches are drawn: poisson, fixed-size, shuffle or none.", words=_SAMPLERS)
    ],
    "adjacency": Annotated[
        str | None, _option("NAME", "What neighbours are: add-remove, replace or zero-out.", words=_ADJACENCIES)
    ],
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
