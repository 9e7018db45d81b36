"""What `auto` adds to the engine that it chose: the next one, for what the first leaves wide or fails on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition import contour, fourier, lattice, mixture, moments, recursion, residues, spread
from edgeworth.composition.answered import Ends, answered, is_wide, narrow
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined, CurveAnswers
from edgeworth.composition.result import nothing_ran
from edgeworth.errors import EdgeworthError
from edgeworth.losses import GaussianLoss, SampledLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeworth.composition.answered import Answers, Direction
    from edgeworth.composition.result import ComposedCurve
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["Aim", "narrowed"]

_NEARLY_ALL_DIGITS = 1e-9
_FEW_READINGS = 16  # at a time, which tilted moments are asked for before a lattice
_MORE_READINGS = 64  # of delta and epsilon of samples beside a rest
_NOTHING_OPEN = 1e-11  # a relative width at which their answer is taken
_FEW_PARTS = 20  # different steps, for which a lattice is finer than a line for Laplace noise
_VERY_MANY_PARTS = 150  # for which a lattice has no points left for f
_MANY_PARTS = 50  # different steps, for which a recursion takes too long
_WIDE = 1e-6  # a relative width at which another engine is asked, where no tolerance says so
_SHARE, _FINEST, _COARSEST = 0.3, 1e-12, 1e-2  # of a tolerance that a lattice aims at, and its limits
_FINER = 0.1  # of what a lattice aims at, that lines do: f is a difference of what they read
_WIDE_FOR_A_LATTICE = 1e-4  # relative: what a lattice can narrow of samples beside atoms
_FAR = 0.05  # farther out than a rest reaches, from where on it may
_LARGE_MU = 3.0  # of samples, from which on a lattice's tests cost more than its profile
_DENSE, _SPARSE = (
    1e-3,
    1e-5,
)  # n p^2 of samples, from which on lines have nine digits, and below which short jumps have few
_RARE, _SHORT = 0.03, 0.5  # n p and mu of samples, below which their jumps are rare, or short
_VERY_WIDE = 1e-3  # relative: what the recursion can narrow, whose width grows with the steps


class Aim(NamedTuple):
    """What relative width is wide enough to ask another engine, and what width a lattice aims at."""

    wide: float = _WIDE
    fine: float = lattice.FINE

    @classmethod
    def of(cls, tolerance: float | None) -> Aim:
        """A tolerance buys more digits, or less work."""
        return cls() if tolerance is None else cls(tolerance, min(max(_SHARE * tolerance, _FINEST), _COARSEST))


def narrowed(total: TotalLoss, name: str, composed: ComposedCurve, aim: Aim) -> ComposedCurve:
    """What the chosen engine leaves wide, or fails on, is narrowed by the next one: `auto` always answers.

    More digits than a lattice has room for may cost it some: what misses a fine aim is narrowed by the usual one, too.
    """
    made = _narrowed(total, name, composed, aim)
    if made is None:
        return composed
    answers, note = made
    if aim.fine < lattice.FINE:
        fine, usual = answers, _narrowed(total, name, composed, Aim())
        assert usual is not None
        answers = Combined(fine, lambda: usual[0], aim.wide)
    certificate = replace(composed.certificate, notes=(*composed.certificate.notes, note))
    return answered(answers, total, certificate)


def _narrowed(total: TotalLoss, name: str, composed: ComposedCurve, aim: Aim) -> tuple[Answers, str] | None:
    """The engines behind one another, and a note that says so; None where the first has the last word."""
    answers: Answers
    wide = f"readings left wider than {aim.wide:.0e}".replace("e-0", "e-")
    if name == "contour" and lattice.applies(total):
        answers = _along_lines(total, aim)
        sparse = (
            "rare jumps beside atoms: the loss of the samples on graded points comes first, and line integrals follow"
        )
        note = sparse if _is_sparse(total) else f"{wide} are narrowed by the lattice"
    elif name == "lattice" and _has_laplace_lines(total):
        answers = _by_laplace_lines(total, aim)
        note = f"Laplace noise of many scales: a line integral comes first, and {wide} are narrowed by the others"
    elif name == "lattice" and not nothing_ran(total) and _has_lines(total):
        answers = _by_lines(total, aim)
        note = f"many steps with atoms: line integrals come first, and {wide} are narrowed by the others"
    elif name == "lattice" and mixture.applies(total) and (mixture.has_formulas(total) or not spread.applies(total)):
        answers = _MixtureFirst(_mixed(total, aim), lambda: _rounded(total, aim), aim.wide)
        note = f"few steps: one integral, or a mixture of lines, comes first, and {wide} are narrowed by the lattice"
    elif name == "lattice" and spread.applies(total):
        answers = _BesideARest(total, aim)
        note = "few samples beside atoms: their loss on graded points comes first, and the lattice for many readings"
    elif name == "lattice" and composed.certificate.certified and len(total.parts) > _MANY_PARTS:
        answers = _on_lattice(total, aim)
        if len(total.parts) <= _VERY_MANY_PARTS:
            answers = ByProfile(answers, aim.wide, slow=True)
        note = f"{wide} are narrowed by moments of tilted laws"
    elif name == "lattice" and composed.certificate.certified:
        answers = _rounded(total, aim)
        note = "readings left wider than 1e-3 are narrowed by the recursion"
    elif name == "residues":
        answers = _by_residues(total, aim)
        note = "f is narrowed by the profile, and readings left wider than 1e-9 by the line integral where it applies"
    elif name == "fourier":
        after = _after_moments(total, lambda: _after_fourier(total, aim), aim)
        answers = Combined(fourier.prepared(total), lambda: after, aim.wide)
        note = f"{wide} are narrowed by the lattice and the recursion"
    elif name in ("contour", "recursion") and total.is_exact and not nothing_ran(total):
        first = ByProfile(contour.prepared(total), aim.wide) if name == "contour" else _by_recursion(total)
        answers = Combined(first, lambda: moments.prepared(total), aim.wide)
        note = f"{wide} are narrowed by moments of tilted laws"
    else:
        return None
    return answers, note


def _along_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line integral, narrowed by the lattice where that applies; f by the profile of each.

    Samples beside a rest are put on graded points, too: before that where jumps are rare, and after it elsewhere.
    """
    lines = ByProfile(contour.prepared(total), aim.wide)
    if not lattice.applies(total):
        return lines

    def after() -> Answers:
        if lattice.lines_apply(total):
            return _by_lines(total, aim)
        made = _after_moments(total, lambda: lattice.prepared(total, aim.fine), aim)
        return ByProfile(made, aim.wide, slow=True, tests_last=_has_little_noise(total))

    def others() -> Answers:
        return Combined(_on_points(total, aim), after, aim.wide) if spread.applies(total) else after()

    if _is_sparse(total):
        return _MixtureFirst(_on_points(total, aim), lambda: Combined(lines, after, aim.wide), aim.wide)
    return Combined(lines, others, aim.wide)


def _is_sparse(total: TotalLoss) -> bool:
    """Whether jumps of samples beside a rest are so rare, or so short, that lines have few digits: by measurement."""
    if len(total.parts) == 1:
        return False
    samples = [(loss, n) for loss, n in total.parts if isinstance(loss, SampledLoss)]
    jumps, dense = sum(n * loss.rate for loss, n in samples), sum(n * loss.rate**2 for loss, n in samples)
    short = all(isinstance(loss.base, GaussianLoss) and loss.base.mu < _SHORT for loss, _ in samples)
    return dense < _DENSE and (jumps < _RARE or (short and dense < _SPARSE)) and spread.applies(total)


def _on_points(total: TotalLoss, aim: Aim) -> Answers:
    """Samples beside a rest on graded points, and as a mixture where the rest takes few values."""
    first = ByProfile(spread.prepared(total), aim.wide)
    return Combined(first, lambda: _mixed(total, aim), aim.wide) if mixture.applies(total) else first


def _has_little_noise(total: TotalLoss) -> bool:
    """Whether the tests of a lattice would take all the time that a reading of f has: by measurement."""
    samples = [loss.base for loss, _ in total.parts if isinstance(loss, SampledLoss)]
    return any(isinstance(base, GaussianLoss) and base.mu > _LARGE_MU for base in samples)


class _FewFirst(Combined):
    """A few readings are asked of one engine, and what it leaves wide of another one; many of the latter alone."""

    _most = _FEW_READINGS

    def _ask(self, argument: Array, ask: Callable[[Answers, Array], Ends]) -> Ends:
        return ask(self._second, argument) if argument.size > self._most else super()._ask(argument, ask)

    def bridge(self) -> tuple[float, float]:
        """That of the latter."""
        return self._second.bridge()


class _MixtureFirst(_FewFirst):
    """Formulas, one integral or a mixture: some milliseconds a reading."""

    _most = _MORE_READINGS

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha), each of which takes many of delta."""
        if alpha.size > _FEW_READINGS:
            return self._second.tradeoff(direction, alpha)
        return super().tradeoff(direction, alpha)


def _mixed(total: TotalLoss, aim: Aim) -> Answers:
    return ByProfile(mixture.prepared(total, _samples_alone), aim.wide, slow=True)


def _samples_alone(total: TotalLoss) -> Answers:
    return _along_lines(total, Aim())


class _BesideARest(_MixtureFirst):
    """Samples beside a rest, and a lattice for what is very wide after that.

    No lattice holds both a heap of samples and a rest; but farther out than the rest reaches it may have more digits.
    """

    def __init__(self, total: TotalLoss, aim: Aim) -> None:
        wide = aim.wide if aim.wide < _WIDE else max(aim.wide, _WIDE_FOR_A_LATTICE)
        super().__init__(_on_points(total, aim), lambda: _rounded(total, aim), wide)
        self._asked, self._far = aim.wide, spread.reach_of_rest(total) + _FAR

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of the profile at eps."""
        ends = super().delta(direction, epsilon)
        return self._far_out(ends, epsilon, lambda some: self._second.delta(direction, epsilon[some]))

    def epsilon(self, direction: Direction, delta: Array) -> Ends:
        """Ends of the least eps >= 0 with delta(eps) <= delta."""
        ends = super().epsilon(direction, delta)
        return self._far_out(ends, ends.lower, lambda some: self._second.epsilon(direction, delta[some]))

    def _far_out(self, ends: Ends, epsilon: Array, ask: Callable[[NDArray[np.intp]], Ends]) -> Ends:
        (wide,) = np.nonzero(is_wide(ends, self._asked) & (epsilon > self._far))
        if 0 < wide.size <= _FEW_READINGS:
            with suppress(EdgeworthError, ArithmeticError, ValueError, IndexError):  # extremes leave nothing
                kept = Ends(ends.lower.copy(), ends.upper.copy())
                narrow(kept, wide, ask(wide))
                return kept
        return ends


class _MomentsFirst(_FewFirst):
    """Tilted moments take milliseconds a reading, a lattice seconds: a few readings are tried by the moments first.

    Only what they leave next to nothing open of is taken from them, so that values stay in order.
    """


class _MomentsForTests(_MomentsFirst):
    """Of so many different steps that a lattice has too few points for f: the tilted moments alone say it."""

    def tradeoff(self, direction: Direction, alpha: Array) -> Ends:
        """Ends of f(alpha)."""
        return self._first.tradeoff(direction, alpha)


def _after_moments(total: TotalLoss, following: Callable[[], Answers], aim: Aim) -> Answers:
    """What follows, with the tilted moments before it for quick answers and behind it for wide ones."""
    tilted = moments.prepared(total)
    kind = _MomentsFirst if len(total.parts) <= _VERY_MANY_PARTS else _MomentsForTests
    return kind(tilted, lambda: Combined(following(), lambda: tilted, aim.wide), _NOTHING_OPEN)


def _by_residues(total: TotalLoss, aim: Aim) -> Answers:
    """The residues, with f by their profile between runs of atoms, and behind them the line integral."""
    made = ByProfile(residues.prepared(total), aim.wide)
    return Combined(made, lambda: _along_lines(total, aim), _NEARLY_ALL_DIGITS) if contour.applies(total) else made


def _by_laplace_lines(total: TotalLoss, aim: Aim) -> Answers:
    """The line for Laplace noise of many scales; lattices only where there are few enough of these to be narrower."""

    def after() -> Answers:
        if lattice.lines_apply(total):
            return _by_lines(total, aim)
        return moments.prepared(total) if len(total.parts) > _FEW_PARTS else _on_lattice(total, aim)

    return Combined(residues.prepared_lines(total), after, aim.wide)


def _has_laplace_lines(total: TotalLoss) -> bool:
    """Whether lines for Laplace noise come first: where lines with a little noise have no more digits."""
    return residues.lines_answer_well(total) or (residues.lines_apply(total) and not lattice.lines_apply(total))


def _has_lines(total: TotalLoss) -> bool:
    """Whether lines with a little noise are narrower than a lattice: no atoms that can be listed, and enough steps."""
    return lattice.lines_apply(total) and not lattice.prepared(total).exact


def _by_lines(total: TotalLoss, aim: Aim) -> Answers:
    """Lines, and behind them the lattice where there are few enough different steps for it, or the moments."""

    def after() -> Answers:
        if len(total.parts) > _FEW_PARTS:
            return moments.prepared(total)
        return ByProfile(_on_lattice(total, aim), aim.wide, slow=True)

    return Combined(lattice.prepared_lines(total, _FINER * aim.fine), after, aim.wide)


def _rounded(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice, narrowed by the recursion, and f by the profile of both."""
    made = Combined(_on_lattice(total, aim), lambda: _by_recursion(total), _VERY_WIDE)
    return ByProfile(made, aim.wide, slow=True)


def _on_lattice(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice, which takes seconds, after the tilted moments; before them where it is exact."""
    made = lattice.prepared(total, aim.fine)
    if made.exact:
        return Combined(made, lambda: moments.prepared(total), aim.wide)
    return _after_moments(total, lambda: made, aim)


def _by_recursion(total: TotalLoss) -> Answers:
    return CurveAnswers(recursion.compose(total.finite))


def _after_fourier(total: TotalLoss, aim: Aim) -> Answers:
    """The lattice where it applies, narrowed by the recursion."""
    if not lattice.applies(total):
        return _by_recursion(total)
    return Combined(lattice.prepared(total, aim.fine), lambda: _by_recursion(total), aim.wide)
