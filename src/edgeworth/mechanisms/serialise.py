"""Mechanisms as versioned JSON, and back. What version 1 means never changes; a new meaning is a new version.

>>> from edgeworth.mechanisms import Gaussian
>>> text = to_json(Gaussian(noise_multiplier=0.8) ** 5_000)
>>> print(text)  # doctest: +NORMALIZE_WHITESPACE
{"format": "edgeworth-mechanism", "version": 1, "mechanism": {"type": "Repeated",
"mechanism": {"type": "Gaussian", "noise_multiplier": 0.8}, "count": 5000}}
>>> from_json(text)
Repeated(mechanism=Gaussian(noise_multiplier=0.8), count=5000)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.dicts import exact_fields, from_dict, short, to_dict

if TYPE_CHECKING:
    from edgeworth.mechanisms.base import Mechanism

__all__ = ["from_json", "to_json"]

_FORMAT = "edgeworth-mechanism"
_VERSION = 1


def to_json(mechanism: Mechanism) -> str:
    """The mechanism as one line of JSON, exact to the last bit of every number."""
    return json.dumps({"format": _FORMAT, "version": _VERSION, "mechanism": to_dict(mechanism)}, allow_nan=False)


def from_json(text: str) -> Mechanism:
    """The mechanism that ``to_json`` wrote; anything else is refused."""
    if not isinstance(text, str):
        raise InvalidArgument(f"text={short(text)} is not text; give the JSON that to_json returned")
    try:
        envelope = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except InvalidArgument:
        raise
    except ValueError as error:
        raise InvalidArgument(f"text={short(text)} is not JSON: {error}; give what to_json returned") from None
    except RecursionError:
        raise InvalidArgument(f"text={short(text)} is nested too deeply; give what to_json returned") from None
    fields = exact_fields(envelope, ("format", "version", "mechanism"), of="the outermost object", where="text")
    if fields["format"] != _FORMAT:
        raise InvalidArgument(f"format={short(fields['format'])} is unknown; give {_FORMAT!r}")
    if type(fields["version"]) is not int or fields["version"] != _VERSION:
        raise InvalidArgument(
            f"version={short(fields['version'])} is unknown; this release reads version {_VERSION}, "
            "a newer one may read yours"
        )
    return from_dict(fields["mechanism"])


def _refuse_constant(literal: str) -> NoReturn:
    raise InvalidArgument(f"text has the number {literal}; give finite numbers")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise InvalidArgument(
                f"text gives {name!r} twice in one object, the second time {short(value)}; give it once"
            )
        fields[name] = value
    return fields
