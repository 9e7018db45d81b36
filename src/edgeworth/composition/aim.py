"""What a reading aims at: as narrow as its tolerance asks for, or as is usual."""

from __future__ import annotations

from typing import NamedTuple

from edgeworth.composition import lattice

__all__ = ["USUALLY_WIDE", "Aim"]

USUALLY_WIDE = 1e-6  # a relative width at which the next engine is asked where no tolerance says so
_SHARE, _FINEST, _COARSEST = 0.3, 1e-12, 1e-2  # of a tolerance that a lattice aims at, and its limits


class Aim(NamedTuple):
    """What relative width is wide enough to ask another engine, and what width a lattice aims at."""

    wide: float = USUALLY_WIDE
    fine: float = lattice.FINE

    @classmethod
    def of(cls, tolerance: float | None) -> Aim:
        """A tolerance buys more digits, or less work.

        >>> Aim.of(None) == Aim(), Aim.of(1e-9).wide
        (True, 1e-09)
        """
        return cls() if tolerance is None else cls(tolerance, min(max(_SHARE * tolerance, _FINEST), _COARSEST))
