"""Frozen distributions of scipy.stats, by name and parameters. Imports scipy.stats only to restore one."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from edgeworth import validation
from edgeworth.errors import InvalidArgument, Unsupported

__all__ = ["Distribution", "own_copy", "restore"]

_WAY_OUT = "give a frozen continuous distribution of scipy.stats, such as scipy.stats.norm(loc=0, scale=1)"
_NEEDED = ("dist", "args", "kwds", "pdf", "logpdf", "cdf")


@dataclass(frozen=True, slots=True)
class Distribution:
    """The name and the parameters of a frozen distribution."""

    name: str
    shapes: tuple[tuple[str, float], ...]
    loc: float
    scale: float
    own: str | None  # a fresh token, for a distribution that scipy.stats does not know by this name

    def __repr__(self) -> str:
        parameters = (*self.shapes, ("loc", self.loc), ("scale", self.scale))
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in parameters)})"

    def key(self) -> list[Any]:
        """What two equal distributions share."""
        return [
            self.name,
            [[name, _written(value)] for name, value in self.shapes],
            self.loc,
            self.scale,
            self.own,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The distribution for JSON, unless scipy.stats does not know it by name."""
        if self.own is not None:
            raise Unsupported(
                f"{self!r} cannot be saved: scipy.stats has no such distribution; use one that it has by name"
            )
        shapes = {name: _written(value) for name, value in self.shapes}
        return {"name": self.name, "shapes": shapes, "loc": self.loc, "scale": self.scale}


def own_copy(**argument: Any) -> tuple[Any, Distribution]:
    """The one keyword argument as a frozen distribution nobody else holds, and its name and parameters."""
    ((name, frozen),) = argument.items()
    if hasattr(frozen, "pmf") and not hasattr(frozen, "pdf"):
        raise InvalidArgument(f"{name}={_shown(frozen)} is discrete; {_WAY_OUT}")
    if not all(hasattr(frozen, attribute) for attribute in _NEEDED):
        raise InvalidArgument(f"{name}={_shown(frozen)} is not a frozen distribution; {_WAY_OUT}")
    try:
        described = _described(frozen)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}={_shown(frozen)} has parameters that are not numbers; {_WAY_OUT}") from None
    shapes = [value for _, value in described.shapes]
    finite = math.isfinite(described.loc) and 0 < described.scale < math.inf
    if not (finite and frozen.dist._argcheck(*shapes)):  # noqa: SLF001  scipy has no public check
        raise InvalidArgument(f"{name}={described!r} has parameters out of range; {_WAY_OUT}")
    if described.own is not None:
        return frozen, described
    return frozen.dist(*shapes, loc=described.loc, scale=described.scale), described


def _described(frozen: Any) -> Distribution:
    """The name and parameters of a frozen distribution, whichever of them were given by position."""
    dist = frozen.dist
    shapes, loc, scale = dist._parse_args(*frozen.args, **frozen.kwds)  # noqa: SLF001  scipy binds them nowhere else
    known = getattr(sys.modules.get("scipy.stats"), str(dist.name), None)
    return Distribution(
        name=str(dist.name),
        shapes=tuple((name, _scalar(value)) for name, value in zip(_shape_names(dist), shapes, strict=True)),
        loc=_scalar(loc),
        scale=_scalar(scale),
        own=None if type(known) is type(dist) else uuid4().hex,
    )


def _scalar(value: Any) -> float:
    array = validation.reals(parameter=value)
    if array.ndim:
        raise InvalidArgument("parameter is an array; give a number")
    return float(array) + 0.0  # -0.0 becomes 0.0


def _shape_names(dist: Any) -> list[str]:
    return [name.strip() for name in (dist.shapes or "").split(",") if name.strip()]


def restore(name: object, shapes: object, loc: object, scale: object) -> Any:
    """The frozen distribution that ``Distribution.to_dict`` wrote."""
    import scipy.stats  # noqa: PLC0415  slow to import, and only needed here

    dist = getattr(scipy.stats, name, None) if isinstance(name, str) else None
    if not isinstance(dist, scipy.stats.rv_continuous):
        raise InvalidArgument(
            f"name={name!r} is not a continuous distribution of scipy.stats; give one, such as 'norm'"
        )
    wanted = _shape_names(dist)
    if not isinstance(shapes, dict) or set(shapes) != set(wanted):
        example = "{" + ", ".join(f"{shape!r}: ..." for shape in wanted) + "}"
        raise InvalidArgument(f"shapes={shapes!r} does not fit {name}; give {example}")
    values = {shape: _read(shape, shapes[shape]) for shape in wanted}
    return dist(**values, loc=_read("loc", loc), scale=_read("scale", scale))


def _written(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)  # JSON has no infinity: truncnorm needs "inf"


def _read(name: str, value: object) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(f"{name}={value!r} is not a number; give a number")
    return float(value)


def _shown(frozen: Any) -> str:
    name = getattr(getattr(frozen, "dist", None), "name", None)
    return f"{name}(...)" if name else repr(frozen)
