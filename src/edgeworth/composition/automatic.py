"""Which engine answers: every method by name, and the table that `auto` reads from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from edgeworth import validation
from edgeworth.composition import closed_form, clt, contour, cornish_fisher, edgeworth, recursion, saddlepoint
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses import TotalLoss

__all__ = ["METHODS", "choose", "compose"]


class Engine(Protocol):
    """From a total loss to its composed curve."""

    def __call__(self, total: TotalLoss, *, degree: int) -> ComposedCurve: ...


#: every engine by name, with the degrees that it takes
METHODS: dict[str, tuple[Engine, range]] = {
    "closed-form": (closed_form.compose, range(9)),
    "contour": (contour.compose, range(9)),
    "recursion": (recursion.compose, range(9)),
    "clt": (clt.compose, range(9)),
    "edgeworth": (edgeworth.compose, range(9)),
    "cornish-fisher": (cornish_fisher.compose, range(1, 5)),
    "saddlepoint": (saddlepoint.compose, range(9)),
}


def choose(total: TotalLoss) -> tuple[str, str]:
    """The method that `auto` stands for, and why: the first row that applies.

    | where                                          | method      | because                            |
    |---|---|---|
    | a formula exists                               | closed-form | all digits, microseconds           |
    | Gaussian noise, or n >= 20 samples of it with n p^2 >= 5e-4, if a line can be had | contour | all digits |
    | otherwise                                      | recursion   | an enclosure for every mechanism   |
    """
    if closed_form.exists(total):
        return "closed-form", "this composition has a formula"
    if contour.answers_well(total):
        return "contour", "smooth losses: the line integral gives all digits"
    return "recursion", "no formula and no line that can be had; the recursion encloses every mechanism"


def compose(total: TotalLoss, method: str, degree: int) -> ComposedCurve:
    """The composed curve by the named method; `auto` decides by the table of `choose`."""
    validation.choice(["auto", *METHODS], method=method)
    name = choose(total)[0] if method == "auto" else method
    engine, degrees = METHODS[name]
    if validation.count(degree=degree) not in degrees:
        raise InvalidArgument(
            f"degree={degree!r} is out of range for method={name!r}; give an int from {degrees[0]} to {degrees[-1]}"
        )
    return engine(total, degree=degree)
