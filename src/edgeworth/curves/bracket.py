"""A number that carries its guarantee: lower, upper, and the certificate that says why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.curves.elementwise import Array, read_only
from edgeworth.errors import ComputationFailed, InvalidArgument, NotCertified

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Bracket", "Certificate", "trivial_delta_ends", "trivial_epsilon_ends", "trivial_tradeoff_ends"]


@dataclass(frozen=True)
class Certificate:
    """How a number was computed, whether its ends are guaranteed, and what each source of error adds.

    >>> print(Certificate("lattice", certified=True, sources={"truncated mass": 1e-12}))
    lattice: certified
      truncated mass: 1e-12
    """

    method: str
    certified: bool
    sources: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sources = {name: float(size) for name, size in self.sources.items()}
        for name, size in sources.items():
            if not size >= 0:
                raise InvalidArgument(f"sources[{name!r}]={size!r} is out of range; give an error size >= 0")
        object.__setattr__(self, "sources", MappingProxyType(sources))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __reduce__(self) -> tuple[Any, ...]:
        return Certificate, (self.method, self.certified, dict(self.sources), self.notes)

    def __str__(self) -> str:
        lines = [f"{self.method}: {'certified' if self.certified else 'estimate, not a guarantee'}"]
        lines += [f"  {name}: {size:.3g}" for name, size in self.sources.items()]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Bracket:
    """The truth lies in [lower, upper]; value is the best point of it. Floats, or arrays of one shape.

    An estimate has the trivial ends of its quantity (see ``trivial_tradeoff_ends`` and its siblings), so that
    it cannot be mistaken for a bound. There is no silent conversion to float.

    >>> certificate = Certificate("contour", certified=True)
    >>> print(Bracket(lower=3.261971, upper=3.261989, value=3.26198, certificate=certificate))
    3.26198 in [3.26197, 3.26199]
    """

    lower: float | Array
    upper: float | Array
    value: float | Array
    certificate: Certificate

    def __post_init__(self) -> None:
        if type(self.lower) is type(self.value) is type(self.upper) is float:
            if not self.lower <= self.value <= self.upper:
                raise self._disordered(self.lower, self.value, self.upper)
            return
        shapes = {np.shape(end) for end in (self.lower, self.value, self.upper)}
        if len(shapes) > 1:
            raise ComputationFailed(f"lower, value and upper have different shapes: {sorted(shapes)}")
        scalar = shapes == {()}
        for name in ("lower", "upper", "value"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, float(given) if scalar else read_only(given))
        ordered = np.atleast_1d((self.lower <= self.value) & (self.value <= self.upper))
        if not ordered.all():
            where = int(np.argmin(ordered))
            lower, value, upper = (float(np.ravel(end)[where]) for end in (self.lower, self.value, self.upper))
            raise self._disordered(lower, value, upper)

    def _disordered(self, lower: float, value: float, upper: float) -> ComputationFailed:
        return ComputationFailed(
            f"{self.certificate.method}: lower <= value <= upper fails: {lower!r}, {value!r}, {upper!r}"
        )

    @property
    def certified(self) -> bool:
        """Whether the ends are guaranteed and say more than the trivial ones."""
        return self.certificate.certified

    @property
    def width(self) -> float | Array:
        """The gap upper - lower; 0 where both are the same infinity."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        same = lower == upper
        gap = np.where(same, 0.0, upper - np.where(same, 0.0, lower))
        return float(gap) if gap.ndim == 0 else gap

    def lower_bound(self) -> float | Array:
        """The lower end, for which truth >= lower is guaranteed; raises NotCertified for an estimate."""
        self._require_certified("lower")
        return self.lower

    def upper_bound(self) -> float | Array:
        """The upper end, for which truth <= upper is guaranteed; raises NotCertified for an estimate."""
        self._require_certified("upper")
        return self.upper

    def _require_certified(self, side: str) -> None:
        if not self.certified:
            raise NotCertified(
                f"method={self.certificate.method!r} gives an estimate, which has no {side} bound; "
                'use method="auto" for a guarantee'
            )

    def __str__(self) -> str:
        if not isinstance(self.value, float):
            return self._array_text(self.value)
        if not self.certified:
            return f"{self.value:.4g} (estimate, not a guarantee)"
        digits = _digits_that_show(float(self.width), self.value)
        lower, upper = (
            _outward(end, digits, way)
            for end, way in ((float(self.lower), ROUND_FLOOR), (float(self.upper), ROUND_CEILING))
        )
        return f"{self.value:.{digits}g} in [{lower}, {upper}]"

    def _array_text(self, value: Array) -> str:
        shown = np.array2string(value, precision=5, threshold=6, edgeitems=2, separator=", ")
        if not self.certified:
            return f"{shown} (estimates, not guarantees)"
        widest = float(np.max(self.width)) if value.size else 0.0
        return f"{shown} (certified, widest bracket {widest:.2g})"


def trivial_tradeoff_ends(alpha: float | Array) -> tuple[float | Array, float | Array]:
    """0 and 1 - alpha: what is true of every trade-off function at alpha."""
    return np.zeros(np.shape(alpha)) if np.ndim(alpha) else 0.0, 1.0 - alpha


def trivial_delta_ends(epsilon: float | Array) -> tuple[float | Array, float | Array]:
    """max(0, 1 - e^epsilon) and 1: what is true of every profile at epsilon."""
    least = -np.expm1(np.minimum(epsilon, 0.0))
    return (least, np.ones(np.shape(epsilon))) if np.ndim(epsilon) else (float(least), 1.0)


def trivial_epsilon_ends(delta: float | Array) -> tuple[float | Array, float | Array]:
    """0 and inf: what is true of every epsilon at delta."""
    shape = np.shape(delta)
    return (np.zeros(shape), np.full(shape, np.inf)) if shape else (0.0, np.inf)


def _digits_that_show(width: float, value: float) -> int:
    """Significant digits at which the two ends of a bracket print differently, between 3 and 15."""
    if not (0 < width < math.inf and value != 0 and math.isfinite(value)):
        return 6
    return min(15, max(3, math.floor(math.log10(abs(value))) - math.floor(math.log10(width)) + 1))


def _outward(end: float, digits: int, rounding: str) -> str:
    """The end with that many digits, rounded away from the bracket unless the digits are the end itself."""
    nearest = f"{end:.{digits}g}"
    if not math.isfinite(end) or float(nearest) == end:
        return nearest
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(end))
    return f"{float(rounded):.{digits}g}"
