"""Which neighbours an event is meant for, and what a value of norm at most C can do to a sum then.

An event gives its noise in units of C, the bound on one record's value. A record that is added, removed or replaced by
the record that adds nothing moves the sum by C; one that is replaced by any other moves it by 2 C.

| neighboring_relation | moves a sum by | a sampler's adjacency |
|---|---|---|
| ADD_OR_REMOVE_ONE | C | "add-remove" |
| REPLACE_SPECIAL | C | "add-remove": a record that adds nothing and one that is not there have the same law |
| REPLACE_ONE | 2 C | "replace" |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dp_accounting import NeighboringRelation

from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.mechanisms.adjacency import Adjacency

__all__ = ["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL", "adjacency_of", "checked_relation", "moves"]

ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE_ONE = NeighboringRelation.REPLACE_ONE
REPLACE_SPECIAL = NeighboringRelation.REPLACE_SPECIAL


def checked_relation(neighboring_relation: Any) -> Any:
    """The relation, refused unless it is one of dp_accounting's."""
    if not isinstance(neighboring_relation, NeighboringRelation):
        raise InvalidArgument(
            f"neighboring_relation={neighboring_relation!r} is not a relation; give a "
            "dp_accounting.NeighboringRelation, e.g. NeighboringRelation.ADD_OR_REMOVE_ONE"
        )
    return neighboring_relation


def moves(relation: Any) -> int:
    """How far one record moves a sum of values of norm at most C, in units of C: 1 or 2."""
    return 2 if relation is REPLACE_ONE else 1


def adjacency_of(relation: Any) -> Adjacency:
    """What a sampler means under this relation."""
    return "replace" if relation is REPLACE_ONE else "add-remove"
