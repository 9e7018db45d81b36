"""The log as text: a header, then one line of JSON per event, each numbered and chained to the line before.

The checksum of a line is a digest of the checksum before it and of what the line says. A line that was changed,
dropped, repeated or moved is therefore found, and named.

>>> from edgeworth.mechanisms import Gaussian
>>> header, chained = encode({"format": FORMAT, "version": VERSION, "mode": "planned", "budget": None, "mu": None})
>>> print(header.decode(), end="")  # doctest: +ELLIPSIS
{"format": "edgeworth-ledger", "version": 1, "mode": "planned", "budget": null, "mu": null, "checksum": "..."}
>>> print(encode(event_fields(1, Event(Gaussian(2.0))), chained)[0].decode(), end="")  # doctest: +ELLIPSIS
{"sequence": 1, "event": {"type": "Gaussian", "noise_multiplier": 2.0}, "note": "", "checksum": "..."}
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeworth.errors import InvalidArgument, LedgerDamaged
from edgeworth.ledger.event import Event
from edgeworth.mechanisms import from_dict, to_dict

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "VERSION", "Log", "decode", "encode", "event_fields", "torn_line"]

FORMAT = "edgeworth-ledger"
VERSION = 1
_HEADER = ["format", "version", "mode", "budget", "mu"]
_EVENT = ["sequence", "event", "note"]


@dataclass(frozen=True)
class Log:
    """What a file says, how far it can be trusted, and the checksum that the next line continues."""

    header: dict[str, Any]
    events: tuple[Event, ...]
    size: int
    checksum: str
    torn: bool


def encode(fields: dict[str, Any], previous: str = "") -> tuple[bytes, str]:
    """The line with its newline, and its checksum."""
    checksum = _checksum(fields, previous)
    return (json.dumps(fields | {"checksum": checksum}, allow_nan=False) + "\n").encode("ascii"), checksum


def event_fields(sequence: int, event: Event) -> dict[str, Any]:
    """What the line of an event says."""
    return {"sequence": sequence, "event": to_dict(event.mechanism), "note": event.note}


def decode(text: bytes, path: Path) -> Log:
    """What the file says. A torn last line is left out and reported; any other fault raises LedgerDamaged."""
    *whole, rest = text.split(b"\n")
    if not whole:
        raise LedgerDamaged(f"{path}, line 1: there is no header; this is not a ledger, or it was never finished")
    header = _header(whole[0], path)
    events: list[Event] = []
    checksum, size = header.pop("checksum"), len(whole[0]) + 1
    torn = bool(rest)
    for number, line in enumerate(whole[1:], 2):
        fields = _parsed(line)
        if fields is None and number == len(whole) and not rest:
            torn = True
            break
        checksum = _checked(fields, checksum, number, path)
        events.append(_event(fields, number, path))
        size += len(line) + 1
    return Log(header, tuple(events), size, checksum, torn)


def torn_line(path: Path, log: Log) -> LedgerDamaged:
    """The refusal of a log whose last line was not finished."""
    return LedgerDamaged(
        f"{path}, line {len(log.events) + 2}: the last line is torn, it was never acknowledged; "
        "Ledger.open(path, repair=True) drops it and nothing else"
    )


def _checksum(fields: dict[str, Any], previous: str) -> str:
    said = previous + json.dumps(fields, allow_nan=False)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _header(line: bytes, path: Path) -> dict[str, Any]:
    fields = _parsed(line)
    if fields is None or fields.get("format") != FORMAT:
        raise LedgerDamaged(f"{path}, line 1: this is not the header of a ledger; give a file that Ledger wrote")
    if fields.get("version") != VERSION:
        raise LedgerDamaged(
            f"{path}, line 1: version={fields.get('version')!r} is unknown; this release reads version {VERSION}, "
            "a newer one may read yours"
        )
    if list(fields) != [*_HEADER, "checksum"] or _checksum(_said(fields), "") != fields["checksum"]:
        raise _altered(path, 1)
    return fields


def _checked(fields: dict[str, Any] | None, previous: str, number: int, path: Path) -> str:
    """The checksum of the line, refused unless it continues the one before."""
    if fields is None or list(fields) != [*_EVENT, "checksum"] or fields["sequence"] != number - 1:
        raise _altered(path, number)
    if _checksum(_said(fields), previous) != fields["checksum"]:
        raise _altered(path, number)
    return str(fields["checksum"])


def _event(fields: dict[str, Any] | None, number: int, path: Path) -> Event:
    assert fields is not None  # _checked refused it
    try:
        return Event(from_dict(fields["event"]), fields["note"])
    except InvalidArgument as error:
        raise LedgerDamaged(f"{path}, line {number}: {error}") from None


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "checksum"}


def _altered(path: Path, number: int) -> LedgerDamaged:
    return LedgerDamaged(
        f"{path}, line {number}: this is not the line that was written here; restore the file from a copy"
    )
