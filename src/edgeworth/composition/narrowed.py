"""What `auto` adds to the engine that it chose: the next ones, for what the first leaves wide or fails on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.composition import (
    around_values,
    contour,
    decimals,
    equal_samples,
    in_turn,
    lattice,
    mixture,
    moments,
    noisy_lines,
    residues,
    samples_beside,
    spread,
)
from edgeworth.composition.aim import Aim
from edgeworth.composition.beside_disclosure import BesideDisclosure
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.chosen import choose
from edgeworth.composition.combined import Combined, Instead
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.everyone import Everyone, Turn
from edgeworth.composition.few_first import Limited
from edgeworth.composition.from_the_top import FromTheTop
from edgeworth.composition.in_time import InTime
from edgeworth.composition.kinds_of_samples import has_rare_jumps
from edgeworth.composition.many_tests import ManyTests
from edgeworth.composition.one_way import OneWay
from edgeworth.composition.remembered import answered
from edgeworth.composition.result import nothing_ran
from edgeworth.composition.samples import density, gaussian_samples
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses import TotalLoss

__all__ = ["narrowed"]

# n p^2 of few samples, from which on their line is tried before graded points, and before a lattice, by measurement
_DENSE, _LESS_DENSE = 1e-5, 1e-6
# Nine digits of delta and epsilon are promised where there is Gaussian noise, or samples of it, so many and so dense.
_NINE_DIGITS, _MANY, _DENSE_ENOUGH = 1e-9, 50, 1e-3


def narrowed(total: TotalLoss, name: str, composed: ComposedCurve, aim: Aim) -> ComposedCurve:
    """What the chosen engine leaves wide, or fails on, is narrowed by the next one: `auto` always answers.

    The first row of its method that applies says which; where none does, the engine has the last word.

    | method    | where                                     | engines in turn                                       |
    |---|---|---|
    | contour   | many dense samples of Gaussian noise      | lines, all others that apply                          |
    | contour   | rare jumps of samples beside a rest       | graded points, mixtures, lines, lattice               |
    | contour   | few rare samples of little noise alone    | lines (f: graded points), lattice, graded points      |
    | contour   | Gaussian noise beside atoms               | lines, a formula for every value, lattice             |
    | contour   | the lattice applies                       | lines, graded points, mixtures, lattice               |
    | contour   | the laws are formulas                     | lines, moments                                        |
    | lattice   | two lattices, the other of few values     | mixtures of Fourier sums, lines or lattice            |
    | lattice   | few values, far apart beside narrow steps | (runs listed, if quick), mixtures over them, others   |
    | lattice   | few samples with atoms beside a rest      | lines with noise, runs listed, graded points, others  |
    | lattice   | Laplace noise of many scales              | lines for it, lines with noise, lattice or moments    |
    | lattice   | little Laplace noise beside listed atoms  | lists of atoms, lines with noise, lattice             |
    | lattice   | few equal samples with atoms              | lines with noise, runs listed or sorted, the others   |
    | lattice   | many steps with atoms                     | lines with noise, lists, lattice or moments           |
    | lattice   | some of them samples                      | the same, with rare outcomes merged or sorted         |
    | lattice   | one step or two, or samples, beside atoms | formulas, an integral or mixtures, lattice, recursion |
    | lattice   | two samples alone                         | an integral, lines, lattice, graded points            |
    | lattice   | few samples beside atoms, rare jumps      | graded points, mixtures, lines, lattice, recursion    |
    | lattice   | few samples beside Laplace noise alone    | lattice, graded points, recursion                     |
    | lattice   | three samples beside others               | lines, graded points, lattice                         |
    | lattice   | more than 50 different steps              | lattice, moments                                      |
    | lattice   | otherwise                                 | lattice, moments, recursion                           |
    | residues  | always                                    | residues (f of rare atoms: lines), lists, lattice     |
    | fourier   | always                                    | Fourier sums, moments, lattice, recursion             |
    | recursion | the laws are formulas                     | recursion, moments                                    |

    More digits than a lattice has room for may cost it some: what misses a fine aim is narrowed by the usual one, too.
    What all of them leave wide is asked of every other engine that applies, in turn: a table cannot know all mixes.
    What takes longer than a reading may is broken off, and the moments say what they can.
    """
    row = _first_row(total, name)
    if row is None:
        return composed
    answers = row.answers(total, aim)
    if aim.fine < lattice.FINE:
        fine, usual = answers, row.answers(total, Aim())
        answers = Combined(fine, lambda: usual, aim.wide)
    rough = None
    if row.answers is in_turn.dense_lines:  # samples of Gaussian noise alone: none of the others applies
        answers = InTime(answers, lambda: moments.prepared(total))
    else:
        discloses = total.null_only > 0 or total.alternative_only > 0
        rough = moments.prepared(total) if discloses and _has_moments(total) else None
        answers = _beside_others(answers, total, name, aim, rough)
    wide = f"readings left wider than {aim.wide:.0e}".replace("e-0", "e-")
    certificate = replace(composed.certificate, notes=(*composed.certificate.notes, row.note.format(wide=wide)))
    return answered(answers, total, certificate, rough)


def _beside_others(answers: Answers, total: TotalLoss, name: str, aim: Aim, rough: Answers | None) -> Answers:
    """The answers of a row, and of all others where it leaves readings wide; `rough` where something discloses."""
    if _has_a_smooth_part(total) and aim.wide > _NINE_DIGITS:
        nine_digits = Limited(Deferred(partial(_over_listed_values, total, Aim.of(_NINE_DIGITS))), _FOR_NINE_DIGITS)
        profile = Combined(answers, lambda: nine_digits, _NINE_DIGITS)
        answers = Instead(profile, tests=answers)
    if total.is_exact:
        quick = partial(moments.prepared, total) if _has_moments(total) else None
        share = _LESS_OF_IT if mixture.may_list_values(total) else _MOST_OF_IT
        answers = Everyone([Turn(answers, share), *_others(total, aim)], aim.wide, quick)
    if _has_moments(total):
        answers = InTime(answers, lambda: moments.prepared(total))
    if rough is not None:
        answers = BesideDisclosure(answers, rough, total)
    if _has_slow_tests(total, name):
        answers = ManyTests(answers, aim.wide)
    answers = FromTheTop(answers, total)
    return OneWay(answers) if total.is_symmetric else answers


def _others(total: TotalLoss, aim: Aim) -> list[Turn]:
    """All engines that may apply, those first that soon know whether they have digits."""
    return [
        Turn(Deferred(partial(_if_applies, applies, engine, total, aim)), work) for applies, engine, work in _OTHERS
    ]


def _if_applies(
    applies: Callable[[TotalLoss], bool], engine: Callable[[TotalLoss, Aim], Answers], total: TotalLoss, aim: Aim
) -> Answers:
    if not applies(total):
        raise Unsupported("an engine does not apply: others follow")
    return engine(total, aim)


def _first_row(total: TotalLoss, name: str) -> _Row | None:
    return next((row for row in _TABLE if row.method == name and row.holds(total)), None)


def _has_rare_jumps(total: TotalLoss) -> bool:
    return has_rare_jumps(total) and lattice.applies(total)


def _has_slow_tests(total: TotalLoss, name: str) -> bool:
    """Whether a test of its own takes its engines long, for each alpha."""
    if name == "lattice":
        return not lattice.prepared(total).exact
    return name == "contour" and _has_rare_jumps(total)


def _has_moments(total: TotalLoss) -> bool:
    return total.is_exact and not nothing_ran(total)


def _has_laplace_lines(total: TotalLoss) -> bool:
    """Whether lines for Laplace noise come first: where lines with a little noise have no more digits."""
    return residues.lines_answer_well(total) or (residues.lines_apply(total) and not noisy_lines.applies(total))


def _has_heaps(total: TotalLoss) -> bool:
    """Whether values far apart have narrow heaps around them: where there is neither a list of all atoms nor a formula.

    Beside formulas, and lines of Gaussian samples, there are mixtures with more digits, and so have graded points.
    """
    if not total.is_exact or mixture.heaps(total) is None or lattice.prepared(total).exact:
        return False
    if spread.applies(total) and not spread.has_atoms(total):
        return False
    return noisy_lines.applies(total) or not mixture.applies(total)


def _around_values(total: TotalLoss, aim: Aim) -> Answers:
    """A heap is answered as it would be alone, and what that leaves wide by the next row of the table."""
    found = mixture.heaps(total)
    assert found is not None
    row = _first_row(found.heap, choose(found.heap)[0])
    is_slow = row is not None and row.answers is in_turn.rounded

    def of_heap(heap: TotalLoss, wide: Aim) -> Answers:
        if row is None:
            raise Unsupported("nobody answers for such a heap")
        return row.answers(heap, wide)

    def after() -> Answers:
        rows = [row for row in _TABLE if row.method == "lattice" and row.holds is not _has_heaps]
        return next(row for row in rows if row.holds(total)).answers(total, aim)

    others = around_values.Others(of_heap, is_slow, after, samples_follow=_has_samples_beside(total))
    return around_values.heaps_first(total, aim, others)


def _has_little_noise(total: TotalLoss) -> bool:
    """Whether lists of atoms, the noise put on points, come first: of one step or two there may be formulas."""
    return in_turn.has_little_noise(total) and not (mixture.has_formulas(total) and mixture.applies(total))


def _has_lines(total: TotalLoss) -> bool:
    """Whether lines with a little noise are narrower than a lattice: no atoms that can be listed, and enough steps."""
    return not nothing_ran(total) and noisy_lines.applies(total) and not lattice.prepared(total).exact


def _has_equal_samples(total: TotalLoss) -> bool:
    """Whether runs of few samples with atoms are listed or sorted: where there is no list of all atoms."""
    return equal_samples.applies(total) and total.is_exact and not lattice.prepared(total).exact


def _has_samples_beside(total: TotalLoss) -> bool:
    """Whether samples with atoms meet a rest that is known: of one step or two beside them there may be formulas."""
    return samples_beside.applies(total) and not (mixture.has_formulas(total) and mixture.applies(total))


def _has_two_lattices(total: TotalLoss) -> bool:
    """Whether a mixture of Fourier sums says more than a list of all atoms."""
    return mixture.has_two_lattices(total) and not lattice.prepared(total).exact


def _has_a_mixture(total: TotalLoss) -> bool:
    if mixture.has_two_lattices(total):  # of atoms that are listed
        return False
    quick = mixture.has_formulas(total) and not mixture.integrates_normal_noise(total)
    return mixture.applies(total) and (quick or not spread.applies(total))


def _has_points(total: TotalLoss) -> bool:
    """Whether samples are on graded points beside a rest: where jumps are rare, or no line can be tried before."""
    return spread.applies(total) and (has_rare_jumps(total) or not _has_a_line(total, _DENSE))


def _has_a_line(total: TotalLoss, dense: float = _LESS_DENSE) -> bool:
    """Whether few samples are so dense that lines are tried: one through rare jumps takes long, and has few digits."""
    return contour.applies(total) and density(gaussian_samples(total)) >= dense


def _has_many_parts(total: TotalLoss) -> bool:
    return len(total.parts) > in_turn.MANY_PARTS


def _has_noisy_lines(total: TotalLoss) -> bool:
    return noisy_lines.applies(total)


def _has_a_lattice(total: TotalLoss) -> bool:
    return lattice.applies(total) and not _has_many_parts(total)


def _always(_: TotalLoss) -> bool:
    return True


def _has_listed_values(total: TotalLoss) -> bool:
    """Whether a mixture over values that can be listed may narrow what the row of a total leaves wide."""
    return mixture.listed_values(total) is not None


def _has_a_smooth_part(total: TotalLoss) -> bool:
    """Whether Gaussian noise, or many dense samples of it, may be beside values that can be listed."""
    if not mixture.may_list_values(total):
        return False
    noise = any(isinstance(loss, GaussianLoss) and loss.mu > 0 for loss, _ in total.parts)
    sampled = gaussian_samples(total)
    dense = sum(n for _, n in sampled) >= _MANY and density(sampled) >= _DENSE_ENOUGH
    return noise or dense


def _over_listed_values(total: TotalLoss, aim: Aim) -> Answers:
    """A mixture over all values that can be listed, of the answers that the rest would have alone."""
    found = mixture.listed_values(total)
    assert found is not None

    def of_rest(rest: TotalLoss) -> Answers:
        row = _first_row(rest, choose(rest)[0])
        if row is None:
            raise Unsupported("nobody answers for such a rest")
        return row.answers(rest, aim)

    made = mixture.around_values(total, of_rest, found, aim.fine)
    return ByProfile(made, aim.wide, slow=True, remainder=made.remainder, places=made.places)


# Engines for what the row of a total leaves wide, and the units of work that each may take.
_FOR_NINE_DIGITS = 3e7
_MOST_OF_IT, _LESS_OF_IT = 6.5e7, 5.5e7  # that row itself; where a mixture follows that takes about as much
_OTHERS: list[tuple[Callable[[TotalLoss], bool], Callable[[TotalLoss, Aim], Answers], float]] = [
    (decimals.applies, lambda total, _: decimals.prepared(total), 4e7),
    (_has_listed_values, _over_listed_values, 8e7),
    (contour.applies, in_turn.by_contour, 2.5e7),
    (spread.applies, in_turn.on_points, 3e7),
    (_has_a_lattice, in_turn.lattice_closely, 8e7),
    (mixture.applies, in_turn.mixed, 4e7),
    (_has_noisy_lines, in_turn.by_noisy_lines, 2e7),
    (_has_a_lattice, in_turn.lattice_alone, 3.5e7),
]


class _Row(NamedTuple):
    """One row of the table in `narrowed`; the note of its certificate may speak of the readings that are {wide}."""

    method: str
    holds: Callable[[TotalLoss], bool]
    answers: Callable[[TotalLoss, Aim], Answers]
    note: str


_TABLE = [
    _Row("contour", contour.has_dense_samples, in_turn.dense_lines, "{wide} are narrowed by the lattice or by moments"),
    _Row(
        "contour",
        _has_rare_jumps,
        in_turn.along_lines,
        "rare jumps beside atoms: the loss of the samples on graded points comes first, and line integrals follow",
    ),
    _Row("contour", lattice.applies, in_turn.along_lines, "{wide} are narrowed by the lattice"),
    _Row("contour", _has_moments, in_turn.lines_and_moments, "{wide} are narrowed by moments of tilted laws"),
    _Row(
        "lattice",
        _has_two_lattices,
        in_turn.mixture_first,
        "two lattices: a mixture of Fourier sums comes first, and {wide} are narrowed by the lattice",
    ),
    _Row(
        "lattice",
        _has_heaps,
        _around_values,
        "values far apart: a mixture over them comes first, and {wide} are narrowed by the others",
    ),
    _Row(
        "lattice",
        _has_samples_beside,
        samples_beside.meeting_a_rest,
        "samples with atoms beside others: line integrals come first, and {wide} are narrowed by runs beside the rest",
    ),
    _Row(
        "lattice",
        _has_laplace_lines,
        in_turn.by_laplace_lines,
        "Laplace noise of many scales: a line integral comes first, and {wide} are narrowed by the others",
    ),
    _Row(
        "lattice",
        _has_little_noise,
        in_turn.enclosed_first,
        "little noise beside atoms: lists of all atoms come first, and {wide} are narrowed by the others",
    ),
    _Row(
        "lattice",
        _has_equal_samples,
        equal_samples.runs_sorted,
        "few equal samples with atoms: line integrals come first, and {wide} are narrowed by runs listed or sorted",
    ),
    _Row(
        "lattice",
        _has_lines,
        in_turn.by_lines,
        "many steps with atoms: line integrals come first, and {wide} are narrowed by the others",
    ),
    _Row(
        "lattice",
        _has_a_mixture,
        in_turn.mixture_first,
        "few steps: one integral, or a mixture of lines, comes first, and {wide} are narrowed by the lattice",
    ),
    _Row(
        "lattice",
        _has_points,
        in_turn.beside_a_rest,
        "few samples beside atoms: their loss on graded points comes first, and the lattice for many readings",
    ),
    _Row(
        "lattice",
        _has_a_line,
        in_turn.along_lines,
        "few samples beside others: line integrals come first, and {wide} are narrowed by points or the lattice",
    ),
    _Row("lattice", _has_many_parts, in_turn.lattice_alone, "{wide} are narrowed by moments of tilted laws"),
    _Row("lattice", _always, in_turn.rounded, "readings left wider than 1e-3 are narrowed by the recursion"),
    _Row(
        "residues",
        _always,
        in_turn.by_residues,
        "f is narrowed by the profile, and readings left wider than 1e-9 by the line integral where it applies; "
        "{wide} by other lines or lists of atoms elsewhere",
    ),
    _Row("fourier", _always, in_turn.by_fourier, "{wide} are narrowed by the lattice and the recursion"),
    _Row("recursion", _has_moments, in_turn.recursion_and_moments, "{wide} are narrowed by moments of tilted laws"),
]
