"""Answers beside outcomes that disclose a record: what is nothing next to these is not asked for to all its digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.answered import Direction, Ends, Forwarding

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["BesideDisclosure"]

_NOTHING = 1e-17  # of the disclosed mass: b + (1 - b) delta is b, to the last bit
_FEW_READINGS = 16  # at a time, which are asked of the quick engine first


class BesideDisclosure(Forwarding):
    """Answers for the finite losses of a total: a delta that is nothing beside its disclosed mass is a quick one's."""

    def __init__(self, answers: Answers, quick: Answers, total: TotalLoss) -> None:
        super().__init__(answers)
        self._quick = quick
        self._disclosed: dict[Direction, float] = {
            "forward": total.alternative_only,
            "backward": total.null_only,
            "both": min(total.alternative_only, total.null_only),
        }

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        if epsilon.size > _FEW_READINGS or self._disclosed[direction] == 0:
            return self._answers.delta(direction, epsilon)
        lower, upper = (end.copy() for end in self._quick.delta(direction, epsilon))
        (counts,) = np.nonzero(~(upper <= _NOTHING * self._disclosed[direction]))
        if counts.size:
            lower[counts], upper[counts] = self._answers.delta(direction, epsilon[counts])
        return Ends(lower, upper)
