"""Samples with atoms beside other steps: which engines are asked, in turn.

Lines have all digits of many such steps, and of some only after a long time. Behind them all runs of the samples are
listed, their loss is put on graded points, or their jumps are sorted beside a bulk that has all else in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition import in_turn, noisy_lines, spread
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined, Instead
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.few_first import POINTS, Brief, FewFirst, Limited
from edgeworth.composition.near_root import NearRoot
from edgeworth.composition.rare_atoms import few_samples
from edgeworth.composition.rare_atoms.merged_tails import FEW_SAMPLES, MergedTails
from edgeworth.composition.remembered import Remembered

if TYPE_CHECKING:
    from edgeworth.composition.aim import Aim
    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = ["applies", "meeting_a_rest", "runs"]

_BRIEF, _LONG = 1.5e7, 4e7  # units of work for lines before others are asked, and for a bulk before finer points are
_FINER = 0.4  # of a width that is wide, what a bulk aims at

applies = spread.has_atoms


def meeting_a_rest(total: TotalLoss, aim: Aim) -> Answers:
    """Lines that are quick, runs listed, on graded points or sorted, and what else there is."""

    def after() -> Answers:
        return in_turn.by_lines(total, aim) if noisy_lines.applies(total) else in_turn.rounded(total, aim)

    def behind() -> Answers:
        return FewFirst(runs(total, aim), after, aim.wide, POINTS)

    if not noisy_lines.applies(total):
        return behind()
    return Combined(Brief(in_turn.by_noisy_lines(total, aim), _BRIEF), behind, aim.wide)


def runs(total: TotalLoss, aim: Aim) -> Answers:
    """Runs listed, on few points, sorted by their jumps beside a bulk, which begins with what these say, or on more.

    f asks for delta at many places, each of which would take a bulk of its own: it is read from lists and points.
    """
    listed = Deferred(lambda: spread.prepared_runs(total))
    rough = Remembered(spread.prepared(total, rough=True))
    fine = NearRoot(spread.prepared(total), rough, aim.wide)

    def bulk(finite: TotalLoss, nats: float) -> Answers:
        return few_samples.prepared_bulk(finite, nats, _FINER * aim.wide)

    def after_lists(points: Answers) -> Answers:
        return Combined(listed, lambda: points, aim.wide)

    sorted_by_jumps = NearRoot(MergedTails(total, bulk, FEW_SAMPLES, rough), rough, aim.wide)
    closer = Combined(Limited(sorted_by_jumps, _LONG), lambda: fine, aim.wide)
    tests, finer = (ByProfile(after_lists(points), aim.wide, slow=True) for points in (rough, fine))
    made = after_lists(Combined(rough, lambda: closer, aim.wide))
    return Instead(made, tests=Combined(tests, lambda: finer, aim.wide))
