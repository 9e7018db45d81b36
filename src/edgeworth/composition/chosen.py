"""Which engine answers: the table that `auto` reads from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition import closed_form, contour, fourier, lattice, residues

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.losses import TotalLoss

__all__ = ["choose"]

_FEW = 5_000  # steps, more of which a line may answer as well and sooner


def choose(total: TotalLoss) -> tuple[str, str]:
    """The method that `auto` stands for, and why: the first row that applies.

    | where                                                       | method      | because                         |
    |---|---|---|
    | many dense samples of Gaussian noise, n p^2 > .02, n >= 50  | contour     | all digits, milliseconds        |
    | a formula exists                                            | closed-form | all digits, microseconds        |
    | responses and discrete noise that share one lattice        | fourier     | all digits, milliseconds        |
    | Laplace noise, few enough steps for its atoms to matter     | residues    | all digits, 10 to 100 ms        |
    | more of them, if nearly all are equal                       | residues    | all digits, f with contour      |
    | Gaussian noise in any mix; very many steps of Laplace noise | contour     | all digits, milliseconds        |
    | its samples: n p^2 sigma^2.5 > .02, or n >= 50, n p^2 > .001 | contour    | all digits, ms to a second      |
    | fewer of them, n p^2 > .0001, less than some 10^6 nodes     | contour     | nine digits, ms to a second     |
    | samples alone, or 50 of them in a mix, at rates below .05   | contour     | jump by jump, .1 s to seconds   |
    | discrete noise, few samples, mixes of atoms                 | lattice     | exact, or six digits in seconds |
    | many different steps with atoms, sampled Laplace noise      | lattice     | by lines, eight digits          |
    | many samples of discrete noise, also at tiny rates          | lattice     | by lines, jumps sorted          |
    | few equal samples of discrete noise                         | lattice     | by runs listed, or sorted       |
    | little Laplace noise, or samples of it, beside atoms        | lattice     | by lists of atoms, eight digits |
    | few samples at small rates beside atoms or Laplace noise    | lattice     | on graded points, six digits    |
    | more of them, n p > .03 or n p^2 > .001, or beside others   | lattice     | by lines, nine digits           |
    | one or two steps beside responses                           | lattice     | by formulas, nine digits, ms    |
    | discrete noise on two lattices, the other of few values     | lattice     | by Fourier sums, nine digits    |
    | few values, far apart beside a narrow heap of other steps   | lattice     | by mixtures of it, seven digits |
    | more steps than that, if they smooth at all                 | contour     | what digits it can              |
    | otherwise                                                   | recursion   | an enclosure for everything     |
    """
    for name, holds, reason in _TABLE:
        if holds(total):
            return name, reason
    return "recursion", "no formula, no line and no lattice that can be had; the recursion encloses every mechanism"


def _many_laplace_steps(total: TotalLoss) -> bool:
    return residues.has_few_terms(total) and contour.applies(total)


def _few_steps(total: TotalLoss) -> bool:
    return sum(n for _, n in total.parts) <= _FEW and lattice.applies(total)


def _has_a_line(total: TotalLoss) -> bool:
    return contour.applies(total) and contour.prepared(total).usable


#: the rows of the table in `choose`
_TABLE: list[tuple[str, Callable[[TotalLoss], bool], str]] = [
    ("contour", contour.has_dense_samples, "smooth losses: the line integral gives all digits"),
    ("closed-form", closed_form.exists, "this composition has a formula"),
    ("fourier", fourier.applies, "losses on one lattice: their Fourier sum gives all digits"),
    ("residues", residues.answers_well, "Laplace noise: finitely many residues give all digits"),
    (
        "residues",
        _many_laplace_steps,
        "many equal steps of Laplace noise: residues give all digits of epsilon and delta, the line integral of f",
    ),
    ("contour", contour.answers_well, "smooth losses: the line integral gives all digits"),
    ("lattice", _few_steps, "few steps, or losses with atoms: two lattice laws enclose the truth"),
    ("contour", _has_a_line, "too many steps for a lattice: the line integral gives what digits it can"),
    ("lattice", lattice.applies, "losses with atoms: two lattice laws enclose the truth"),
]
