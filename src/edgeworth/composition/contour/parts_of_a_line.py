"""What a line is made of: Gaussian steps, what is known at its nodes, how far it goes, the terms of its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeworth.composition.contour.tail import Tail
    from edgeworth.composition.contour.tilted_part import TiltedPart
    from edgeworth.losses.law import Array

__all__ = ["Along", "Gaussian", "Reach", "Terms"]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The Gaussian steps of a total, tilted: phi is known in closed form."""

    variance: float
    c: float

    @property
    def log_moment(self) -> float:
        """K(c) = mu^2 c (c-1)/2."""
        return self.variance * self.c * (self.c - 1) / 2


class Terms(NamedTuple):
    """The terms phi(t)/den(t) of a sum, and its error: a fixed part, and one that grows with the threshold's size."""

    term: NDArray[np.complex128]
    """As a square, row after row; zeros beyond the last."""
    fixed: float
    growing: float


class Along(NamedTuple):
    """What is known at every node of a line."""

    log_phi: NDArray[np.complex128]
    log_bound: Array
    """At least log |phi|."""
    relative: Array
    """The relative error of phi."""

    def up_to(self, count: int) -> Along:
        """The same at the first nodes."""
        return Along(self.log_phi[:count], self.log_bound[:count], self.relative[:count])


class Reach(NamedTuple):
    """How far a line goes: its parts, the tail beyond the cut, and the nodes if they were needed to find it."""

    parts: list[TiltedPart]
    tail: Tail
    cut: float
    along: Along | None = None
