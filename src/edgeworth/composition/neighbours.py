"""Ends at an argument some ulps beside one that was asked: what is disclosed asks for three of them in place of one.

f is convex in alpha, the profile in e^eps, and e^eps in delta. A convex g that does not rise falls from a to b > a by
at most (b - a) (g(z) - g(a))/(a - z), for every z < a: an upper end of g there, however rough, bounds the fall.
`docs/proofs/by-profile.md`, section 5, proves it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.answered import GIVES_UP, Ends
from edgeworth.composition.work import WorkSpent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Question
    from edgeworth.losses.law import Array

__all__ = ["Known", "are_some_ulps_apart", "moved"]

# Of the answer, without others' upper ends and with these, and of the width of its ends: what ends may be wider.
_NO_LOSS, _LITTLE_LOSS, _LITTLE = 1e-12, 1e-10, 0.01
_SHARES = 2.0 ** -np.array([1.0, 5.0, 10.0, 15.0])  # of an argument: how far below it a rough engine is asked
_FEW = 16  # arguments, up to which a rough engine is asked; more of them bound each other
_MOST_FALL = 0.5  # of eps, for which twice the first order is a bound
_ROUNDING = 2.0  # what a bound on the fall is multiplied by
_ULPS = 2.0**-40  # of an argument, of an eps below 1 absolute: farther apart, a fall is more than what may be lost


class Known(NamedTuple):
    """Arguments of a question, and the ends of its answers."""

    argument: Array
    ends: Ends


def are_some_ulps_apart(question: Question, argument: Array, known: Array) -> bool:
    """Whether ends at one may be those at the other, moved: next to what a reading costs, `moved` is not free.

    >>> are_some_ulps_apart("tradeoff", np.array([0.1, 0.5]), np.array([0.1, 0.5 - 1e-16]))
    True
    >>> are_some_ulps_apart("epsilon", np.array([2e-5]), np.array([1e-5]))
    False
    """
    if known.size == 1:
        one = known.item()
        return bool(abs(argument.item() - one) <= _ULPS * (max(abs(one), 1.0) if question == "delta" else one))
    scale = np.maximum(abs(known), 1.0) if question == "delta" else known  # eps beside 0; else probabilities
    return bool((abs(argument - known) <= _ULPS * scale).all())


def moved(
    question: Question, known: Known, argument: Array, rough: Callable[[Array], Ends] | None = None
) -> tuple[Ends, NDArray[np.bool_]]:
    """Ends at an argument from those at one before, and where that one is near enough for them.

    >>> known = Known(np.array([0.5, 0.1]), Ends(np.array([0.2, 0.6]), np.array([0.3, 0.6])))
    >>> ends, near = moved("tradeoff", known, np.array([0.5, 0.2]))
    >>> near.tolist(), ends.upper.tolist()
    ([True, False], [0.3, 0.6])
    """
    lower, upper = known.ends
    fall, enough = np.where(argument == known.argument, 0.0, np.inf), np.zeros(argument.size)
    for bound, loss in _BOUNDS:
        enough = np.maximum(loss * lower, _LITTLE * (upper - lower))
        far = np.flatnonzero(~(fall <= enough))
        if far.size:
            fall[far] = np.minimum(fall[far], bound(question, known, argument, far, rough))
    low = np.where(argument > known.argument, np.maximum(lower - fall, 0.0), lower)
    return Ends(low, np.where(argument < known.argument, upper + fall, upper)), fall <= enough


def _without_others(
    question: Question, known: Known, argument: Array, far: NDArray[np.intp], _: Callable[[Array], Ends] | None
) -> Array:
    """F and the profile are at most 1, at 0 and at -inf."""
    if question == "epsilon":
        return np.full(far.size, np.inf)
    below = np.full(far.size, 0.0 if question == "tradeoff" else -np.inf)
    return _fall(question, known, argument, far, Known(below, Ends(below, np.ones(far.size))))


def _by_each_other(
    question: Question, known: Known, argument: Array, far: NDArray[np.intp], _: Callable[[Array], Ends] | None
) -> Array:
    """By the next lesser of the arguments that are known."""
    if known.argument.size < 2:
        return np.full(far.size, np.inf)
    places = np.unique(known.argument)
    order = np.searchsorted(known.argument, places, sorter=(sorter := np.argsort(known.argument, kind="stable")))
    upper = known.ends.upper[sorter][order]
    least = np.minimum(argument, known.argument)[far]
    before = np.searchsorted(places, least) - 1
    below = np.where(before >= 0, places[before], np.nan)
    return _fall(question, known, argument, far, Known(below, Ends(below, upper[before])))


def _by_a_rough_one(
    question: Question, known: Known, argument: Array, far: NDArray[np.intp], rough: Callable[[Array], Ends] | None
) -> Array:
    """By a quick engine at some places below."""
    fall = np.full(far.size, np.inf)
    if rough is None or argument.size > _FEW:
        return fall
    least = np.minimum(argument, known.argument)[far]
    for share in _SHARES:
        with suppress(*GIVES_UP, WorkSpent):
            below = least * (1 - share)
            fall = np.minimum(fall, _fall(question, known, argument, far, Known(below, rough(below))))
    return fall


def _fall(question: Question, known: Known, argument: Array, far: NDArray[np.intp], below: Known) -> Array:
    """A bound on the fall between an argument and the one that is known, from upper ends at places below both."""
    before, after = known.argument[far], argument[far]
    least, gap, most = np.minimum(before, after), np.abs(after - before), below.ends.upper
    with np.errstate(all="ignore"):  # what overflows, or is nothing, bounds nothing
        if question == "tradeoff":
            fall = gap / (least - below.argument) * most
        elif question == "delta":
            fall = np.expm1(gap) / -np.expm1(below.argument - least) * most
        else:  # of e^eps to e^eps - d, or from e^eps - d, is one of eps by at most 2d/e^eps where that is small
            fall = 2 * gap / (least - below.argument) * np.exp(most - known.ends.lower[far])
            fall = np.where(fall <= _MOST_FALL, fall, np.inf)
    return np.where((least > below.argument) & (fall >= 0), _ROUNDING * fall, np.inf)


_BOUNDS = ((_without_others, _NO_LOSS), (_by_each_other, _LITTLE_LOSS), (_by_a_rough_one, _LITTLE_LOSS))
