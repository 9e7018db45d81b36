"""Certified ends of delta, epsilon and f from lists of atoms of laws on either side of the true one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition import moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.searched import SearchedAnswers

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.enclosed.noise_law import Side
    from edgeworth.composition.lattice.enumerated import Enumeration
    from edgeworth.composition.lattice.tilted_lattice import Kind
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["EnclosedAnswers"]

#: which laws give the lower and the upper end
_SIDES: dict[Kind, tuple[Side, Side]] = {
    "delta": ("below", "above"),
    "reverse": ("below", "above"),
    "overlap": ("less", "more"),
}


class EnclosedAnswers(SearchedAnswers):
    """Ends of delta, epsilon and f in each direction."""

    def __init__(self, total: TotalLoss, law: Callable[[Side], Enumeration]) -> None:
        cumulants = total.cumulants(2)
        middle = 0.5 * float(cumulants.null[0] + cumulants.alternative[0])
        super().__init__(moments.prepared(total), 0.0 if total.is_symmetric else middle, symmetric=total.is_symmetric)
        self._law = cache(law)

    def read(self, kind: Kind, t: Array) -> Ends:
        """Ends of one kind at every t."""
        below, above = (self._law(side) for side in _SIDES[kind])
        ends = [(below.ends(kind, x)[0], above.ends(kind, x)[1]) for x in t.tolist()]
        return Ends(np.array([end[0] for end in ends]), np.array([end[1] for end in ends]))
