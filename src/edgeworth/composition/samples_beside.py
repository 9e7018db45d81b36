"""Samples with atoms beside other steps: which engines are asked, in turn.

Lines have all digits of many such steps, and of some only after a long time. Behind them all runs of the samples are
listed, or their loss is put on graded points, and meets the profile of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition import in_turn, noisy_lines, spread
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.few_first import POINTS, Brief, FewFirst

if TYPE_CHECKING:
    from edgeworth.composition.aim import Aim
    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = ["applies", "meeting_a_rest"]

_BRIEF, _LONG = 1e7, 5e7  # units of work for lines before others are asked, and for these

applies = spread.has_atoms


def meeting_a_rest(total: TotalLoss, aim: Aim) -> Answers:
    """Lines that are quick, runs listed or on graded points, and what else there is."""

    def after() -> Answers:
        return in_turn.by_lines(total, aim) if noisy_lines.applies(total) else in_turn.rounded(total, aim)

    def behind() -> Answers:
        made = Combined(Deferred(lambda: spread.prepared_runs(total)), lambda: spread.prepared(total), aim.wide)
        return FewFirst(Brief(ByProfile(made, aim.wide, slow=True), _LONG), after, aim.wide, POINTS)

    if not noisy_lines.applies(total):
        return behind()
    return Combined(Brief(in_turn.by_noisy_lines(total, aim), _BRIEF), behind, aim.wide)
