"""Which data sets count as neighbours: one record added or removed, or one record replaced by another.

Noise is neutral: its sensitivity is measured for whichever of the two is meant. Sampling is not, and two samplers that
mean different neighbours cannot stand in one account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ADJACENCIES", "Adjacency", "agreed"]

Adjacency: TypeAlias = Literal["add-remove", "replace"]

ADJACENCIES: tuple[Adjacency, Adjacency] = ("add-remove", "replace")


def agreed(adjacencies: Iterable[Adjacency | None]) -> Adjacency | None:
    """The one adjacency that all of these mean; None when all are neutral.

    >>> agreed([None, "replace", None])
    'replace'
    """
    meant = {adjacency for adjacency in adjacencies if adjacency is not None}
    if len(meant) > 1:
        raise InvalidArgument(
            "adjacency='add-remove' and adjacency='replace' are mixed: one counts a record added or removed, the other "
            "a record replaced, and no account holds for both; give every sampler the same adjacency"
        )
    return meant.pop() if meant else None
