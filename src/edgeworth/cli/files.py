"""Files named on the command line: descriptions to read and names to write to, or a refusal that says why."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeworth.errors import InvalidArgument, require_extra

__all__ = ["STDIN", "TERMINAL", "Document", "check_plot_path", "check_writable", "make_folder", "read"]

STDIN = "-"
TERMINAL = "terminal"  # --plot without a file name
_PICTURES = (".pdf", ".png", ".svg")
_WANTED = "give a JSON file that edgeworth.to_json wrote, a JSON or TOML file that describes a run, or - for stdin"


@dataclass(frozen=True)
class Document:
    """What a file says: the values in it, and the same as JSON."""

    values: Any
    json: str

    @property
    def describes_run(self) -> bool:
        """Whether it has the keys of a training run, not those of a mechanism."""
        return isinstance(self.values, dict) and not {"format", "type"} & self.values.keys()


def read(name: str) -> Document:
    """The JSON or TOML of a file, or of stdin for "-"."""
    text = _text(name)
    if not text.strip():
        raise InvalidArgument(f"{_called(name)} is empty; {_WANTED}")
    if name.endswith(".toml") or (name == STDIN and text.lstrip()[0] not in "{["):
        values = _toml(name, text)
        return Document(values, json.dumps(values, default=str))
    return Document(_json(name, text), text)


def _text(name: str) -> str:
    try:
        return (sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()).decode()
    except OSError as error:
        raise InvalidArgument(f"cannot read {_called(name)}: {error.strerror}; {_WANTED}") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{_called(name)} is not UTF-8 text; {_WANTED}") from None


def _called(name: str) -> str:
    return "stdin" if name == STDIN else repr(name)


def _toml(name: str, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{_called(name)} is not TOML: {error}; {_WANTED}") from None


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidArgument(f"{_called(name)} is not JSON: {error}; {_WANTED}") from None
    except RecursionError:
        raise InvalidArgument(f"{_called(name)} is nested too deeply; {_WANTED}") from None


def check_plot_path(plot: str | None, *, option: str = "plot") -> None:
    """Refused before any work when the picture could not be written."""
    if plot is None or plot == TERMINAL:
        return
    if Path(plot).suffix.lower() not in _PICTURES:
        raise InvalidArgument(f"{option}={plot!r} is not a picture; give a name that ends in {', '.join(_PICTURES)}")
    check_writable(Path(plot), option=option)
    require_extra("matplotlib", extra="plot")


def check_writable(path: Path, *, option: str = "out") -> None:
    """Refused before any work when no file of that name could be written."""
    told = f"{option}={str(path)!r}"
    if path.is_dir():
        raise InvalidArgument(f"{told} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{told} is in a folder that is not there; make it first: mkdir -p {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidArgument(f"{told} may not be written; give a name in a folder of yours")


def make_folder(path: Path) -> None:
    """The folder is there afterwards, or the reason why it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"out={str(path)!r} cannot be a folder: {error.strerror}; give another") from None
