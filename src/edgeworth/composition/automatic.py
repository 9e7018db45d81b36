"""Which engine answers: every method by name, and `auto`, which chooses one and narrows what it leaves wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from edgeworth import validation
from edgeworth.composition import closed_form, contour, fourier, lattice, recursion, residues
from edgeworth.composition.aim import Aim
from edgeworth.composition.chosen import choose
from edgeworth.composition.estimates import clt, cornish_fisher, edgeworth, saddlepoint
from edgeworth.composition.narrowed import narrowed
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
    "fourier": (fourier.compose, range(9)),
    "residues": (residues.compose, range(9)),
    "lattice": (lattice.compose, range(9)),
    "recursion": (recursion.compose, range(9)),
    "clt": (clt.compose, range(9)),
    "edgeworth": (edgeworth.compose, range(9)),
    "cornish-fisher": (cornish_fisher.compose, range(1, 5)),
    "saddlepoint": (saddlepoint.compose, range(9)),
}


def compose(total: TotalLoss, method: str, degree: int, tolerance: float | None = None) -> ComposedCurve:
    """The composed curve by the named method; `auto` decides by the table of `choose`."""
    validation.choice(["auto", *METHODS], method=method)
    name = choose(total)[0] if method == "auto" else method
    engine, degrees = METHODS[name]
    if validation.count(degree=degree) not in degrees:
        raise InvalidArgument(
            f"degree={degree!r} is out of range for method={name!r}; give an int from {degrees[0]} to {degrees[-1]}"
        )
    aim = Aim.of(tolerance)
    composed = lattice.compose(total, fine=aim.fine) if name == "lattice" else engine(total, degree=degree)
    return narrowed(total, name, composed, aim) if method == "auto" else composed
