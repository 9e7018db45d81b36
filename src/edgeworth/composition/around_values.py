"""Few values far apart beside a narrow heap of other steps: which engines are asked, in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition import mixture
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined
from edgeworth.composition.few_first import MIXTURES, FewFirst
from edgeworth.composition.in_turn import Aim

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = ["heaps_first"]

_ROUGH = 1e-4  # relative width of the profile of a heap, which is enough for most readings and for nearly all of f


def heaps_first(
    total: TotalLoss, aim: Aim, of_heap: Callable[[TotalLoss, Aim], Answers], after: Callable[[], Answers]
) -> Answers:
    """A mixture over all values, of a heap that is known roughly and then closely, and others behind it."""

    def mixed(wide: Aim) -> Answers:
        made = mixture.around_values(total, lambda heap: of_heap(heap, wide))
        return ByProfile(made, aim.wide, slow=True, remainder=made.remainder)

    rough = Aim.of(_ROUGH)
    first = Combined(mixed(rough), lambda: mixed(aim), aim.wide) if aim.wide < _ROUGH else mixed(aim)
    return FewFirst(first, after, aim.wide, MIXTURES)
