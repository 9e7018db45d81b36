"""Few values far apart beside a narrow heap of other steps: which engines are asked, in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgeworth.composition import mixture, samples_beside
from edgeworth.composition.aim import Aim
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined, Instead
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.few_first import MIXTURES, Brief, FewFirst, Limited

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = ["Others", "heaps_first"]

_BRIEF = 3e7  # units of work before others are asked, where these have digits
_AT_A_GLANCE = 6e6  # units of work of runs of samples with atoms, which soon know whether they have digits
_ROUGH = 1e-4  # relative width of the profile of a heap, which is enough for most readings and for nearly all of f


class Others(NamedTuple):
    """Who else answers: for a heap alone, which may be slow, and for all behind the mixture."""

    of_heap: Callable[[TotalLoss, Aim], Answers]
    is_slow: bool
    after: Callable[[], Answers]
    samples_follow: bool
    """Whether samples with atoms, which have digits in most cases, are left time behind the mixture."""


def heaps_first(total: TotalLoss, aim: Aim, others: Others) -> Answers:
    """A mixture over all values, of a heap that is known roughly and then closely, and others behind it.

    f takes many of delta: where each of these takes long, others are asked for it before. Runs of samples with atoms
    come first if they are quick.
    """

    def mixed(wide: Aim) -> Answers:
        made = mixture.around_values(total, lambda heap: others.of_heap(heap, wide))
        return ByProfile(made, aim.wide, slow=True, remainder=made.remainder, places=made.places)

    rough = Aim.of(_ROUGH)
    first = Combined(mixed(rough), lambda: mixed(aim), aim.wide) if aim.wide < _ROUGH else mixed(aim)
    briefly = Limited(first, _BRIEF) if others.samples_follow else first
    made = FewFirst(briefly, others.after, aim.wide, MIXTURES)
    tests = Combined(Deferred(others.after), lambda: first, aim.wide)
    mixtures = Instead(made, tests=tests) if others.is_slow else made
    if not others.samples_follow:
        return mixtures
    return Combined(Brief(samples_beside.runs(total, aim), _AT_A_GLANCE), lambda: mixtures, aim.wide)
