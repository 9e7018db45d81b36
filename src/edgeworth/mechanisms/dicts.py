"""Mechanisms as plain dicts, lists and numbers, and back."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.base import as_mechanism
from edgeworth.mechanisms.composed import Composed, Repeated
from edgeworth.mechanisms.distributions import restore
from edgeworth.mechanisms.flatten import children_first
from edgeworth.mechanisms.given import ApproxDP, DensityPair, GaussianDP
from edgeworth.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from edgeworth.mechanisms.responses import RandomizedResponse
from edgeworth.mechanisms.sampling import PoissonSampled, SampledWithoutReplacement

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.mechanisms.base import Mechanism

__all__ = ["exact_fields", "from_dict", "short", "to_dict"]

_TYPES: dict[str, type[Mechanism]] = {
    kind.__name__: kind
    for kind in (
        ApproxDP,
        Composed,
        DensityPair,
        DiscreteGaussian,
        DiscreteLaplace,
        Gaussian,
        GaussianDP,
        Laplace,
        PoissonSampled,
        RandomizedResponse,
        Repeated,
        SampledWithoutReplacement,
    )
}

_DEEPEST = 100  # levels; every JSON reader can follow that, Python's own stops near 500
_LARGEST = 1_000_000  # mechanisms in one text, about 60 MB


def to_dict(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism as plain dicts, lists and numbers, to embed in JSON or TOML.

    The tree is kept as it was built. One that is deeper than 100 levels or has more than a million mechanisms
    is written in its canonical form, which is equal to it.

    >>> to_dict(Gaussian(noise_multiplier=0.8))
    {'type': 'Gaussian', 'noise_multiplier': 0.8}
    """
    if not _fits(as_mechanism(mechanism=mechanism)):
        mechanism = mechanism.canonical()
        if not _fits(mechanism):
            raise InvalidArgument(
                f"mechanism={short(mechanism)} cannot be written: sampling nests more than {_DEEPEST} deep, "
                f"or there are more than {_LARGEST} different steps; write its parts one by one"
            )
    return _written(mechanism)


def from_dict(fields: dict[str, Any]) -> Mechanism:
    """The mechanism that ``to_dict`` wrote; anything else is refused.

    >>> from_dict({"type": "Gaussian", "noise_multiplier": 0.8})
    Gaussian(noise_multiplier=0.8)
    """
    return _read(fields, where="mechanism", level=1)


def _written(mechanism: Mechanism) -> dict[str, Any]:
    written = {name: _WRITERS.get(name, _as_it_is)(value) for name, value in mechanism.arguments().items()}
    return {"type": type(mechanism).__name__} | written


def _as_it_is(value: Any) -> Any:
    return value


_WRITERS: dict[str, Callable[[Any], Any]] = {  # by field name; numbers are written as they are
    "mechanism": _written,
    "mechanisms": lambda mechanisms: [_written(mechanism) for mechanism in mechanisms],
    "null": lambda distribution: distribution.to_dict(),
    "alternative": lambda distribution: distribution.to_dict(),
}


def _read(fields: object, where: str, level: int) -> Mechanism:
    if level > _DEEPEST:
        raise InvalidArgument(f"{where} is nested more than {_DEEPEST} levels deep; give what to_dict returned")
    if not isinstance(fields, dict) or "type" not in fields:
        raise InvalidArgument(f"{where}={short(fields)} does not say which mechanism; give an object with a 'type'")
    kind_name = fields["type"]
    if not isinstance(kind_name, str) or kind_name not in _TYPES:
        raise InvalidArgument(f"{where}: type={short(kind_name)} is unknown; give one of {', '.join(_TYPES)}")
    kind = _TYPES[kind_name]
    given = kind.unwritten | {name: fields[name] for name in fields if name != "type"}
    values = exact_fields(given, kind.__match_args__, of=kind.__name__, where=where)
    arguments = {
        name: _READERS[name](value, f"{where}.{name}", level) if name in _READERS else value
        for name, value in values.items()
    }
    try:
        return kind(**arguments)
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None


def _read_mechanism(value: object, where: str, level: int) -> Mechanism:
    return _read(value, where, level + 1)


def _read_mechanisms(value: object, where: str, level: int) -> list[Mechanism]:
    if not isinstance(value, list):
        raise InvalidArgument(f"{where}={short(value)} is not a list; give a list of mechanisms")
    return [_read(item, f"{where}[{position}]", level + 1) for position, item in enumerate(value)]


def _read_distribution(value: object, where: str, _level: int) -> Any:
    fields = exact_fields(value, ("name", "shapes", "loc", "scale"), of="a distribution", where=where)
    try:
        return restore(**fields)
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None


_READERS: dict[str, Callable[[Any, str, int], Any]] = {  # by field name; numbers are checked by the mechanism
    "mechanism": _read_mechanism,
    "mechanisms": _read_mechanisms,
    "null": _read_distribution,
    "alternative": _read_distribution,
}


def exact_fields(value: object, names: tuple[str, ...], of: str, where: str) -> dict[str, Any]:
    """The value as an object with exactly these fields."""
    listed = ", ".join(names)
    if not isinstance(value, dict):
        raise InvalidArgument(f"{where}={short(value)} is not an object; give one with {listed}")
    for name in value:
        if name not in names:
            raise InvalidArgument(f"{where}: {name}={short(value[name])} is not a field of {of}; give {listed}")
    for name in names:
        if name not in value:
            raise InvalidArgument(f"{where}: {name} is missing from {of}; give {listed}")
    return {name: value[name] for name in names}


def _fits(mechanism: Mechanism) -> bool:
    """Whether the tree as built, shared branches written out, is shallow and small enough to write."""
    depth: dict[int, int] = {}
    size: dict[int, int] = {}
    for node in children_first(mechanism, lambda node: node.nested()):
        children = [id(child) for child in node.nested()]
        depth[id(node)] = 1 + max((depth[child] for child in children), default=0)
        size[id(node)] = 1 + sum(size[child] for child in children)
    return depth[id(mechanism)] <= _DEEPEST and size[id(mechanism)] <= _LARGEST


def short(value: object) -> str:
    """The value in an error message, cut when it is long."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
