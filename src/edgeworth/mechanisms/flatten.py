"""Walks over trees of mechanisms, without recursion and without visiting a shared branch twice.

``run = run * step`` in a loop nests as deep as the loop is long, and ``m = m * m`` doubles the number of
paths each time: both are answered in time proportional to the number of objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from edgeworth.mechanisms.base import Mechanism, Step

__all__ = ["children_first", "repr_of", "tally"]

_MOST_SHOWN = 200  # mechanisms in one repr; chosen so that it fits a terminal page, longer ones end in "..."


def children_first(root: Mechanism, children: Callable[[Mechanism], Iterable[Mechanism]]) -> list[Mechanism]:
    """Every object reachable from the root once, each after all of its children."""
    order: list[Mechanism] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend([(child, False) for child in children(node)])
    return order


def _run_by(node: Mechanism) -> list[Mechanism]:
    return [child for child, _ in node.parts() or ()]


def tally(root: Mechanism) -> dict[str, tuple[Step, int]]:
    """The steps that run at least once, with their total counts, by identity and in the order of identity."""
    if root.parts() is None:
        step = cast("Step", root)
        return {step.identity(): (step.canonical_step(), 1)}
    runs = {id(root): 1}
    found: dict[str, tuple[Step, int]] = {}
    for node in reversed(children_first(root, _run_by)):  # parents first: a count is complete when it is used
        times = runs[id(node)]
        parts = node.parts()
        if parts is None:
            step = cast("Step", node)
            identity = step.identity()
            if identity in found:
                known, before = found[identity]
                found[identity] = (known, before + times)
            else:
                found[identity] = (step.canonical_step(), times)
        else:
            for child, count in parts:
                runs[id(child)] = runs.get(id(child), 0) + times * count
    return {identity: entry for identity, entry in sorted(found.items()) if entry[1]}


def repr_of(root: Mechanism) -> str:
    """The call that builds this description, cut with "..." after many mechanisms."""
    from edgeworth.mechanisms.base import Mechanism  # noqa: PLC0415  base imports this file

    pieces: list[str] = []
    shown = 0
    stack: list[object] = [root]  # bare texts are written as they are
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            pieces.append(item)
        elif isinstance(item, Mechanism):
            shown += 1
            if shown > _MOST_SHOWN:
                pieces.append("...")
                break
            stack.extend(reversed(_call(item)))
        elif isinstance(item, tuple):
            stack.append(_Text(",)" if len(item) == 1 else ")"))
            stack.extend(reversed(_separated(item[: _MOST_SHOWN + 1])))
            stack.append(_Text("("))
        else:
            pieces.append(repr(item))
    return "".join(pieces)


class _Text(str):
    """A piece of a repr that is already text."""

    __slots__ = ()


def _separated(items: Iterable[object]) -> list[object]:
    separated: list[object] = []
    for item in items:
        if separated:
            separated.append(_Text(", "))
        separated.append(item)
    return separated


def _call(mechanism: Mechanism) -> list[object]:
    pieces: list[object] = [_Text(f"{type(mechanism).__name__}(")]
    for position, (name, value) in enumerate(mechanism.arguments().items()):
        pieces += [_Text(f"{', ' if position else ''}{name}="), value]
    return [*pieces, _Text(")")]
