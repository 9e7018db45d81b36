"""Which engine answers: every method by name, and the table that `auto` reads from top to bottom."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from edgeworth import validation
from edgeworth.composition import (
    closed_form,
    clt,
    contour,
    cornish_fisher,
    edgeworth,
    fourier,
    lattice,
    moment_answers,
    recursion,
    residues,
    saddlepoint,
)
from edgeworth.composition.answered import answered
from edgeworth.composition.combined import Combined, CurveAnswers
from edgeworth.composition.expansion import group_sizes
from edgeworth.composition.result import nothing_ran
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers, Ends
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

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


_FEW = 5_000  # steps, more of which a line may answer as well and sooner
_MOST_EXPONENTIALS = 5_000
_NEARLY_ALL_DIGITS = 1e-9
_FEW_READINGS = 16  # at a time, which tilted moments are asked for before a lattice
_NOTHING_OPEN = 1e-11  # a relative width at which their answer is taken
_MANY_PARTS = 50  # different steps, for which a recursion takes too long
_WIDE = 1e-6  # a relative width at which another engine is asked, where no tolerance says so
_SHARE, _FINEST, _COARSEST = 0.3, 1e-12, 1e-2  # of a tolerance that a lattice aims at, and its limits
_VERY_WIDE = 1e-3  # relative: what the recursion can narrow, whose width grows with the steps


def choose(total: TotalLoss) -> tuple[str, str]:
    """The method that `auto` stands for, and why: the first row that applies.

    | where                                                       | method      | because                         |
    |---|---|---|
    | a formula exists                                            | closed-form | all digits, microseconds        |
    | responses and discrete noise that share one lattice        | fourier     | all digits, milliseconds        |
    | Laplace noise, few enough steps for its atoms to matter     | residues    | all digits, 10 to 100 ms        |
    | more of them, if nearly all are equal                       | residues    | all digits, f with contour      |
    | Gaussian noise in any mix; very many steps of Laplace noise | contour     | all digits, milliseconds        |
    | its samples: n p^2 sigma^2.5 > .02, or n >= 50, n p^2 > .001 | contour    | all digits, ms to a second      |
    | fewer of them, n p^2 > .0001, less than some 10^6 nodes     | contour     | nine digits, ms to a second     |
    | samples alone, or 50 of them in a mix, at rates below .03   | contour     | jump by jump, .1 s to seconds   |
    | discrete noise, few samples, mixes of atoms                 | lattice     | exact, or six digits in seconds |
    | more steps than that, if they smooth at all                 | contour     | what digits it can              |
    | otherwise                                                   | recursion   | an enclosure for everything     |
    """
    steps = sum(n for _, n in total.parts)
    rows: list[tuple[str, Callable[[], bool], str]] = [
        ("closed-form", lambda: closed_form.exists(total), "this composition has a formula"),
        ("fourier", lambda: fourier.applies(total), "losses on one lattice: their Fourier sum gives all digits"),
        ("residues", lambda: residues.answers_well(total), "Laplace noise: finitely many residues give all digits"),
        (
            "residues",
            lambda: _few_exponentials(total) and contour.applies(total),
            "many equal steps of Laplace noise: residues give all digits of epsilon and delta, the line integral of f",
        ),
        ("contour", lambda: contour.answers_well(total), "smooth losses: the line integral gives all digits"),
        (
            "lattice",
            lambda: steps <= _FEW and lattice.applies(total),
            "few steps, or losses with atoms: two lattice laws enclose the truth",
        ),
        (
            "contour",
            lambda: contour.applies(total) and contour.prepared(total).usable(),
            "too many steps for a lattice: the line integral gives what digits it can",
        ),
        ("lattice", lambda: lattice.applies(total), "losses with atoms: two lattice laws enclose the truth"),
    ]
    for name, holds, reason in rows:
        if holds():
            return name, reason
    return "recursion", "no formula, no line and no lattice that can be had; the recursion encloses every mechanism"


def _few_exponentials(total: TotalLoss) -> bool:
    """Whether residues are sums of so few terms that they cost next to nothing."""
    return residues.applies(total) and math.prod(group_sizes(total)) <= _MOST_EXPONENTIALS


class Aim(NamedTuple):
    """What relative width is wide enough to ask another engine, and what width a lattice aims at."""

    wide: float = _WIDE
    fine: float = lattice.FINE

    @classmethod
    def of(cls, tolerance: float | None) -> Aim:
        """A tolerance buys more digits, or less work."""
        return cls() if tolerance is None else cls(tolerance, min(max(_SHARE * tolerance, _FINEST), _COARSEST))


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
    return _narrowed(total, name, composed, aim) if method == "auto" else composed


def _narrowed(total: TotalLoss, name: str, composed: ComposedCurve, aim: Aim) -> ComposedCurve:
    """What the chosen engine leaves wide, or fails on, is narrowed by the next one: `auto` always answers."""
    answers: Answers
    wide = f"readings left wider than {aim.wide:.0e}".replace("e-0", "e-")
    if name == "contour" and lattice.applies(total):
        answers = _along_lines(total, aim)
        note = f"{wide} are narrowed by the lattice"
    elif name == "lattice" and composed.certificate.certified and len(total.parts) > _MANY_PARTS:
        answers = _on_lattice(total, aim)
        note = f"{wide} are narrowed by moments of tilted laws"
    elif name == "lattice" and composed.certificate.certified:
        answers = Combined(_on_lattice(total, aim), lambda: _by_recursion(total), _VERY_WIDE)
        note = "readings left wider than 1e-3 are narrowed by the recursion"
    elif name == "residues" and contour.applies(total):
        answers = Combined(residues.prepared(total), lambda: _along_lines(total, aim), _NEARLY_ALL_DIGITS)
        note = "readings left wider than 1e-9 are narrowed by the line integral"
    elif name == "fourier":
        after = _after_moments(total, lambda: _after_fourier(total, aim), aim)
        answers = Combined(fourier.prepared(total), lambda: after, aim.wide)
        note = f"{wide} are narrowed by the lattice and the recursion"
    elif name in ("contour", "recursion") and total.is_exact and not nothing_ran(total):
        first = contour.prepared(total) if name == "contour" else _by_recursion(total)
        answers = Combined(first, lambda: moment_answers.prepared(total), aim.wide)
        note = f"{wide} are narrowed by moments of tilted laws"
    else:
        return composed
    certificate = replace(composed.certificate, notes=(*composed.certificate.notes, note))
    return answered(answers, total, certificate)


def _along_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral, narrowed by the lattice where that applies."""
    if not lattice.applies(total):
        return contour.prepared(total)

    def after() -> Answers:
        return _after_moments(total, lambda: lattice.prepared(total, aim.fine), aim)

    return Combined(contour.prepared(total), after, aim.wide)


class _MomentsFirst(Combined):
    """Tilted moments take milliseconds a reading, a lattice seconds: a few readings are tried by the moments first.

    Only what they leave next to nothing open of is taken from them, so that values stay in order.
    """

    def _ask(self, argument: Array, ask: Callable[[Answers, Array], Ends]) -> Ends:
        return ask(self._second, argument) if argument.size > _FEW_READINGS else super()._ask(argument, ask)

    def bridge(self) -> tuple[float, float]:
        """That of the lattice."""
        return self._second.bridge()


def _after_moments(total: TotalLoss, following: Callable[[], Answers], aim: Aim) -> Answers:
    """What follows, with the tilted moments before it for quick answers and behind it for wide ones."""
    moments = moment_answers.prepared(total)
    return _MomentsFirst(moments, lambda: Combined(following(), lambda: moments, aim.wide), _NOTHING_OPEN)


def _on_lattice(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice, which takes seconds, after the tilted moments; before them where it is exact."""
    made = lattice.prepared(total, aim.fine)
    if made.exact:
        return Combined(made, lambda: moment_answers.prepared(total), aim.wide)
    return _after_moments(total, lambda: made, aim)


def _by_recursion(total: TotalLoss) -> Answers:
    return CurveAnswers(recursion.compose(total.finite))


def _after_fourier(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice where it applies, narrowed by the recursion."""
    if not lattice.applies(total):
        return _by_recursion(total)
    return Combined(lattice.prepared(total, aim.fine), lambda: _by_recursion(total), aim.wide)
