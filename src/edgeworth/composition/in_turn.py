"""Engines in turn: what is asked first of a sum of losses, and what narrows the readings that it leaves wide."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from edgeworth.composition import (
    contour,
    enclosed,
    fourier,
    lattice,
    mixture,
    moments,
    noisy_lines,
    recursion,
    residues,
    spread,
)
from edgeworth.composition.aim import USUALLY_WIDE, Aim
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined, CurveAnswers, Instead
from edgeworth.composition.few_first import (
    MIXTURES,
    MOMENTS,
    MOMENTS_FOR_TESTS,
    POINTS,
    Brief,
    FarOut,
    FewFirst,
    FirstForTests,
    Limited,
)
from edgeworth.composition.kinds_of_samples import (
    has_a_wide_bulk,
    has_dense_laplace_samples,
    has_rare_jumps,
    has_short_jumps,
    has_slow_tests,
)
from edgeworth.composition.rare_atoms import jumping_atoms, merged_tails
from edgeworth.composition.samples import samples
from edgeworth.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.composition.answered import Answers
    from edgeworth.losses import TotalLoss

__all__ = [
    "MANY_PARTS",
    "along_lines",
    "beside_a_rest",
    "by_contour",
    "by_fourier",
    "by_laplace_lines",
    "by_lines",
    "by_noisy_lines",
    "by_residues",
    "dense_lines",
    "enclosed_first",
    "has_little_noise",
    "lattice_alone",
    "lattice_closely",
    "lines_and_moments",
    "mixed",
    "mixture_first",
    "on_points",
    "recursion_and_moments",
    "rounded",
]

# Relative widths above which the next engine is asked.
_NEARLY_ALL_DIGITS = 1e-9  # of residues, behind which the line integral has more, and of that, where formulas have
_NOTHING_OPEN = 1e-11  # of tilted moments before a lattice: what is wider is taken from it, and values stay in order
_WIDE_FOR_A_LATTICE = 1e-4  # what a lattice can narrow of samples beside atoms
_VERY_WIDE = 1e-3  # what the recursion can narrow, whose width grows with the steps

_FINER = 0.1  # of what a lattice aims at, what lines do: f is a difference of what they read

# Numbers of different steps.
_FEW_PARTS = 20  # a lattice is finer than a line for Laplace noise
MANY_PARTS = 50  # more: a recursion takes too long
_VERY_MANY_PARTS = 150  # more: a lattice has no points left for f

# Samples, by measurement.
_VERY_FEW, _QUICK = 20, 3.5e7  # samples alone, whose lines may take so much work: some three seconds
_BRIEF = 3e7  # the same for lines of few samples beside others, after which these are asked
_LONG = 5e7  # the same for their points
_AT_A_GLANCE = 5e6  # the same before points for one reading
_LARGEST_MIXED = 0.05  # rate, up to which a mixture of their lines says more than a lattice in its time
_FAR = 0.05  # farther out than the rest beside them reaches, from where on a lattice may narrow what is wide


def along_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral, narrowed by the lattice where that applies; f by the profile of each.

    Samples beside a rest are put on graded points, too: before that where jumps are rare, and after it elsewhere.
    """
    lines: Answers = by_contour(total, aim)
    if mixture.has_normal_noise(total):  # between atoms that are far apart a line has fewer digits
        lines = Combined(lines, lambda: mixed(total, aim), min(_NEARLY_ALL_DIGITS, aim.wide))
    if not lattice.applies(total):
        return lines

    def after() -> Answers:
        if noisy_lines.applies(total):
            return by_lines(total, aim)
        made = _after_moments(total, lambda: lattice.prepared(total, aim.fine), aim)
        return ByProfile(made, aim.wide, slow=True, tests_last=has_slow_tests(total))

    if spread.applies_alone(total):
        return _samples_on_lines(total, lines, after, aim)

    def others() -> Answers:
        return Combined(_closely(total, on_points, aim), after, aim.wide) if spread.applies(total) else after()

    if has_rare_jumps(total):
        points = Brief(_closely(total, _points_and_lines, aim), _LONG)
        return FewFirst(points, lambda: Combined(lines, after, aim.wide), aim.wide, POINTS)
    if not contour.prepared(total).usable:
        return others()
    return Combined(lines if contour.answers_well(total) else Brief(lines, _BRIEF), others, aim.wide)


def _samples_on_lines(total: TotalLoss, lines: Answers, lattices: Callable[[], Answers], aim: Aim) -> Answers:
    """Samples alone that have graded points: lines, the lattice, and the points; of very few, lines that are quick.

    For f the points come first where lines would take long, and are seldom narrow. An epsilon that is small beside the
    loss of samples that say nothing wants more digits of delta than it has: points that are closest there come last.
    """
    points = ByProfile(spread.prepared_alone(total), aim.wide, slow=True)
    few = sum(n for _, n in samples(total)) <= _VERY_FEW
    made = Combined(Limited(lines, _QUICK) if few else lines, lattices, aim.wide)
    made = Combined(made, lambda: points, aim.wide)
    made = Combined(made, lambda: spread.prepared_alone(total, near=True), aim.wide)
    return FirstForTests(made, points, aim.wide) if has_a_wide_bulk(total) else made


def by_contour(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral."""
    return ByProfile(contour.prepared(total), aim.wide)


def on_points(total: TotalLoss, aim: Aim) -> Answers:
    """Samples beside a rest on graded points, and as a mixture where the rest takes few values."""
    first = ByProfile(spread.prepared(total), aim.wide, slow=True)
    rare = max(loss.rate for loss, _ in samples(total)) <= _LARGEST_MIXED
    are_mixed = mixture.applies(total) and (mixture.has_formulas(total) or rare)
    made = Combined(first, lambda: mixed(total, aim), aim.wide) if are_mixed else first
    return _by_remainder(total, Instead(made, tests=first), aim) if mixture.has_remainder(total) else made


def _points_and_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The same, and short lines for what they leave wide, in which little noise is no narrow heap."""
    points = on_points(total, aim)
    lines = Combined(points, lambda: Brief(by_contour(total, aim), _AT_A_GLANCE), aim.wide)
    return lines if contour.applies(total) else points


def _closely(total: TotalLoss, first: Callable[[TotalLoss, Aim], Answers], aim: Aim) -> Answers:
    """What is left wide of a profile on points for that reading alone, which take as much work as all before them."""
    return Combined(first(total, aim), lambda: spread.prepared_closely(total), aim.wide)


def _by_remainder(total: TotalLoss, answers: Answers, aim: Aim) -> Answers:
    """The same answers, with f from 1 - delta as a mixture: before their own tests, or after if lines take long."""
    remainder = mixture.remainder_of(total, _samples_alone)
    return ByProfile(answers, aim.wide, slow=True, tests_last=has_short_jumps(total), remainder=remainder)


def beside_a_rest(total: TotalLoss, aim: Aim) -> Answers:
    """Samples beside a rest, lines for what graded points leave wide, and a lattice for what is very wide after that.

    No lattice holds both a heap of samples of Gaussian noise and a rest; but farther out than the rest reaches it may
    have more digits, and so it may for many samples of Laplace noise. Where there is no rest but noise it comes first.
    """
    if spread.has_noise_alone(total):
        return _beside_noise(total, aim)
    fine = aim.wide < USUALLY_WIDE or has_dense_laplace_samples(total)
    lattices = cache(lambda: rounded(total, aim))
    wide = aim.wide if fine else max(aim.wide, _WIDE_FOR_A_LATTICE)
    points = _closely(total, _points_and_lines, aim)
    points = Combined(points, lambda: by_contour(total, aim), aim.wide) if contour.applies(total) else points
    first = FewFirst(points, lattices, wide, POINTS)
    return first if fine else FarOut(first, lattices, aim.wide, spread.reach_of_rest(total) + _FAR)


def _beside_noise(total: TotalLoss, aim: Aim) -> Answers:
    """Samples of Gaussian noise beside Laplace noise and samples of it: a lattice where it holds both, or points."""
    made = Combined(_on_lattice(total, aim), lambda: spread.prepared(total), aim.wide)
    made = Combined(made, lambda: _by_recursion(total), _VERY_WIDE)
    return ByProfile(made, aim.wide, slow=True)


def mixture_first(total: TotalLoss, aim: Aim) -> Answers:
    """Formulas, one integral or a mixture, and lines or the lattice for what they leave wide."""

    def after() -> Answers:
        if spread.applies_alone(total):
            return along_lines(total, aim)
        return by_lines(total, aim) if noisy_lines.applies(total) else rounded(total, aim)

    first = mixed(total, aim)
    first = _by_remainder(total, first, aim) if mixture.has_remainder(total) else first
    return FewFirst(first, after, aim.wide, MIXTURES)


def mixed(total: TotalLoss, aim: Aim) -> Answers:
    """Formulas, one integral or a mixture."""
    made = mixture.prepared(total, _samples_alone)
    return ByProfile(made, aim.wide, slow=True, remainder=made.remainder, places=made.places)


def _samples_alone(total: TotalLoss) -> Answers:
    return along_lines(total, Aim())


def by_residues(total: TotalLoss, aim: Aim) -> Answers:
    """The residues, with f by their profile between runs of atoms; behind them the line integral, or other engines.

    Where the terms of a residue cancel too much for the tests, it is the line that is asked for f first.
    """
    alone = ByProfile(residues.prepared(total), aim.wide)
    if not contour.applies(total):
        return _residues_without_lines(total, alone, aim)
    made = Combined(alone, lambda: along_lines(total, aim), _NEARLY_ALL_DIGITS)
    if residues.answers_well(total):
        return made
    lines = by_contour(total, aim)
    return Instead(made, tests=Combined(lines, lambda: made, aim.wide))


def _residues_without_lines(total: TotalLoss, alone: Answers, aim: Aim) -> Answers:
    if noisy_lines.applies(total):
        return Combined(alone, lambda: by_lines(total, aim), aim.wide)
    return Combined(alone, lambda: enclosed_first(total, aim), aim.wide) if enclosed.applies(total) else alone


def by_laplace_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line for Laplace noise of many scales; lattices only where there are few enough of these to be narrower."""

    def after() -> Answers:
        if noisy_lines.applies(total):
            return by_lines(total, aim)
        return moments.prepared(total) if len(total.parts) > _FEW_PARTS else _on_lattice(total, aim)

    return Combined(residues.prepared_lines(total), after, aim.wide)


def by_lines(total: TotalLoss, aim: Aim) -> Answers:
    """Lines, and behind them atoms and points that enclose the noise, the lattice, or the moments."""

    def after() -> Answers:
        return _on_points_of_noise(total, _behind_lines, aim) if enclosed.applies(total) else _behind_lines(total, aim)

    return Combined(by_noisy_lines(total, aim), after, aim.wide)


def by_noisy_lines(total: TotalLoss, aim: Aim) -> Answers:
    """Lines with a little noise; those of samples with atoms reach as deep as a reading, and may have jumps sorted."""
    fine = _FINER * aim.fine

    def sorted_runs(finite: TotalLoss, nats: float) -> Answers:
        jumping = jumping_atoms.prepared(finite, nats, fine)
        if jumping is None:
            raise Unsupported("no jumps of these steps can be sorted")
        return ByProfile(jumping, aim.wide, slow=True)

    def lines(finite: TotalLoss, nats: float) -> Answers:
        plain: Answers = ByProfile(noisy_lines.prepared(finite, fine), aim.wide, slow=True)
        if jumping_atoms.are_few(finite, nats) and jumping_atoms.prepared(finite, nats, fine) is not None:
            return Combined(sorted_runs(finite, nats), lambda: plain, aim.wide)
        return Combined(plain, lambda: sorted_runs(finite, nats), aim.wide)

    return merged_tails.MergedTails(total, lines) if merged_tails.applies(total) else noisy_lines.prepared(total, fine)


def _behind_lines(total: TotalLoss, aim: Aim) -> Answers:
    """Graded points, or the lattice where there are few enough different steps for it, or the moments."""
    if len(total.parts) > _FEW_PARTS:
        return moments.prepared(total)
    if spread.applies(total):
        return beside_a_rest(total, aim)
    return ByProfile(_on_lattice(total, aim), aim.wide, slow=True)


def has_little_noise(total: TotalLoss) -> bool:
    """Whether few steps of Laplace noise, or samples of it, smooth so little that lines are no quick way."""
    return enclosed.applies(total) and not noisy_lines.applies(enclosed.noise_of(total))


def enclosed_first(total: TotalLoss, aim: Aim) -> Answers:
    """Atoms and points that enclose the noise, and lines, graded points or the lattice for what they leave wide."""

    def after(total: TotalLoss, aim: Aim) -> Answers:
        if noisy_lines.applies(total):
            lines = by_noisy_lines(total, aim)
            return Combined(lines, lambda: _behind_lines(total, aim), aim.wide)
        return beside_a_rest(total, aim) if spread.applies(total) else rounded(total, aim)

    return _on_points_of_noise(total, after, aim)


def _on_points_of_noise(total: TotalLoss, after: Callable[[TotalLoss, Aim], Answers], aim: Aim) -> Answers:
    return FewFirst(enclosed.prepared(total, aim.wide), lambda: after(total, aim), aim.wide, MIXTURES)


def rounded(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice, narrowed by the recursion, and f by the profile of both."""
    made = Combined(_on_lattice(total, aim), lambda: _by_recursion(total), _VERY_WIDE)
    return ByProfile(made, aim.wide, slow=True)


def lattice_alone(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice without the recursion behind it, which takes long, and for many different steps too long."""
    made = _on_lattice(total, aim)
    return ByProfile(made, aim.wide, slow=True) if len(total.parts) <= _VERY_MANY_PARTS else made


def lattice_closely(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice for one reading at a time, with more points than it has for many."""
    return ByProfile(lattice.CloseUp(total, aim.fine), aim.wide, slow=True)


def _on_lattice(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice, which takes seconds, after the tilted moments; before them, and before lines, where it is exact."""
    made = lattice.prepared(total, aim.fine)
    if made.exact:
        return Combined(made, lambda: _lines_or_moments(total, aim), aim.wide)
    return _after_moments(total, lambda: made, aim)


def _lines_or_moments(total: TotalLoss, aim: Aim) -> Answers:
    tilted = moments.prepared(total)
    return Combined(by_noisy_lines(total, aim), lambda: tilted, aim.wide) if noisy_lines.applies(total) else tilted


def _after_moments(total: TotalLoss, following: Callable[[], Answers], aim: Aim) -> Answers:
    """What follows, with the tilted moments before it for quick answers and behind it for wide ones."""
    tilted = moments.prepared(total)
    most = MOMENTS if len(total.parts) <= _VERY_MANY_PARTS else MOMENTS_FOR_TESTS
    return FewFirst(tilted, lambda: Combined(following(), lambda: tilted, aim.wide), _NOTHING_OPEN, most)


def by_fourier(total: TotalLoss, aim: Aim) -> Answers:
    """The Fourier sum, and behind it moments, the lattice where it applies, and the recursion.

    Far out few steps may leave it eight digits of the profile, and a list of all atoms has more.
    """

    def following() -> Answers:
        if not lattice.applies(total):
            return _by_recursion(total)
        return Combined(lattice.prepared(total, aim.fine), lambda: _by_recursion(total), aim.wide)

    def listed() -> Answers:
        if not (lattice.applies(total) and (made := lattice.prepared(total, aim.fine)).exact):
            raise Unsupported("there is no list of all atoms")
        return made

    after = _after_moments(total, following, aim)
    first = Combined(fourier.prepared(total), lambda: after, aim.wide)
    return Instead(first, profile=Combined(first, listed, min(_NEARLY_ALL_DIGITS, aim.wide)))


def dense_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral of many dense samples: what else applies is looked for when a reading is left wide."""

    def after() -> Answers:
        return along_lines(total, aim) if lattice.applies(total) else lines_and_moments(total, aim)

    return Combined(by_contour(total, aim), after, aim.wide)


def lines_and_moments(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral of steps that have no lattice."""
    return Combined(by_contour(total, aim), lambda: moments.prepared(total), aim.wide)


def recursion_and_moments(total: TotalLoss, aim: Aim) -> Answers:
    """The recursion of steps that have nothing else."""
    return Combined(_by_recursion(total), lambda: moments.prepared(total), aim.wide)


def _by_recursion(total: TotalLoss) -> Answers:
    return CurveAnswers(recursion.compose(total.finite))
