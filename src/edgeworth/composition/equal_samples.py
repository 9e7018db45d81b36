"""Few equal samples with atoms: which engines are asked, in turn.

Lines have all digits of many such steps, and of some only after a long time. Behind them runs are listed one by one, or
sorted by their jumps beside a bulk; what is too rare to count is merged or left out in either case.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition import in_turn, noisy_lines
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined, Instead
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.few_first import Brief
from edgeworth.composition.rare_atoms import few_samples, listed_runs
from edgeworth.composition.rare_atoms.merged_tails import FEW_SAMPLES, MergedTails
from edgeworth.composition.samples import density, samples

if TYPE_CHECKING:
    from edgeworth.composition.aim import Aim
    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = ["applies", "runs_sorted"]

_DENSE = 2e-3  # n p^2, from which on lines may answer soon
_BRIEF, _BRIEFEST = 1e7, 2e6  # units of work for them before others are asked, where they may, and elsewhere
_LONG = 3.5e7  # the same for runs listed or sorted, so that others may still answer
_FINER = 0.2  # of a width that is wide, what a bulk aims at

applies = listed_runs.applies


def runs_sorted(total: TotalLoss, aim: Aim) -> Answers:
    """Lines that are quick, runs listed or sorted, and what else there is."""

    def behind() -> Answers:
        after = in_turn.by_lines if noisy_lines.applies(total) else in_turn.rounded
        return Combined(Brief(_sorted(total, aim), _LONG), lambda: after(total, aim), aim.wide)

    if not noisy_lines.applies(total):
        return behind()
    work = _BRIEF if density(samples(total)) >= _DENSE else _BRIEFEST
    return Combined(Brief(in_turn.by_noisy_lines(total, aim), work), behind, aim.wide)


def _sorted(total: TotalLoss, aim: Aim) -> Answers:
    """One list of all runs, a bulk beside jumps, or two lists of the runs of half of the steps.

    An epsilon whose delta falls steeply, and a test of a small delta, ask for fewer digits of it: a rough bulk is asked
    before, and says how deep a delta is, too.
    """
    close = _FINER * aim.wide
    rough = max(few_samples.ROUGH, close)

    @lru_cache(maxsize=2 * len(FEW_SAMPLES.nats))
    def bulk(finite: TotalLoss, nats: float, fine: float) -> Answers:
        return Deferred(lambda: ByProfile(few_samples.prepared(finite, nats, fine), aim.wide, slow=True))

    @lru_cache(maxsize=2 * len(FEW_SAMPLES.nats))
    def lists(finite: TotalLoss, nats: float, number: int) -> Answers:
        return Deferred(lambda: listed_runs.prepared(finite, nats, number))

    def listed(finite: TotalLoss, nats: float) -> Answers:
        return Combined(lists(finite, nats, 1), lambda: lists(finite, nats, 2), aim.wide)

    def roughly(finite: TotalLoss, nats: float) -> Answers:
        return Combined(listed(finite, nats), lambda: bulk(finite, nats, rough), rough)

    def answers(finite: TotalLoss, nats: float) -> Answers:
        sorted_by_jumps = bulk(finite, nats, close)
        in_order = Combined(bulk(finite, nats, rough), lambda: sorted_by_jumps, aim.wide)
        return Combined(listed(finite, nats), lambda: Instead(in_order, profile=sorted_by_jumps), aim.wide)

    return MergedTails(total, answers, FEW_SAMPLES, MergedTails(total, roughly, FEW_SAMPLES))
