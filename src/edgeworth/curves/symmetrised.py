"""min{f, f^-1}**: what holds for both directions of adjacency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeworth.curves.elementwise import Array, times_exp
from edgeworth.curves.search import bracketed_root
from edgeworth.curves.tradeoff import TradeOff

if TYPE_CHECKING:
    from edgeworth.curves.profile import Profile

__all__ = ["Symmetrised"]

_GRID = np.concatenate([[0.0], np.geomspace(1e-9, 745.0, 700)])  # eps at which the two directions are compared
_SAME = 1e-13  # a relative difference of the two profiles below this is rounding: no crossing


@dataclass(frozen=True)
class Symmetrised(TradeOff):
    """min{f, f^-1}**, exactly: its profile is max{delta, delta'}, and each kink of that is a segment of f.

    For eps from +inf down to 0, alpha grows from 0 to the fixed point. Between two crossings of delta and
    delta' the larger one rules and the curve is the direction it belongs to; at a crossing eps_c the curve is
    the segment 1 - delta(eps_c) - e^eps_c alpha between the points where it touches one direction and the
    other. eps = 0 is always a crossing: its segment 1 - delta(0) - alpha crosses the diagonal. Beyond it the
    curve is mirrored.
    Crossings are looked for on a grid of 701 eps; a pair of them between two grid points is not seen.

    >>> from edgeworth.curves.gaussian import GaussianTradeOff
    >>> f = Symmetrised(GaussianTradeOff(1.0).subsample(0.1))
    >>> abs(f(f(0.01)) - 0.01) < 1e-15
    True
    """

    base: TradeOff

    @property
    def is_symmetric(self) -> bool:
        """By construction."""
        return True

    def profile(self) -> Profile:
        """max{delta, delta'}."""
        forward = self.base.profile()
        return forward.maximum(forward.reverse())

    @cached_property
    def _pieces(self) -> tuple[Array, tuple[_Piece, ...]]:
        """The edges between the pieces of [0, 1], and the pieces: one more than edges."""
        f, inverse = self.base, self.base.inverse()
        rulers, crossings = self._rulers
        edges: list[float] = []
        images: list[float] = []
        left: list[_Piece] = []
        right: list[_Piece] = []
        for ruler, epsilon in zip(rulers, crossings, strict=True):
            touches = (f._touching(epsilon), f._touching(-epsilon)[::-1])  # noqa: SLF001
            first, second = touches if ruler == 0 else touches[::-1]
            left.append(_Direction(f if ruler == 0 else inverse))
            right.append(_Direction(inverse if ruler == 0 else f))
            edges.append(first[0])
            images.append(first[1])
            if epsilon > 0:
                delta = float(self.profile()(epsilon))
                left.append(_Segment(epsilon, delta))
                right.append(_MirroredSegment(epsilon, delta))
                edges.append(second[0])
                images.append(second[1])
        centre = _Segment(0.0, float(self.profile()(0.0)))
        places = np.maximum.accumulate(np.concatenate([edges, images[::-1]]))
        return places, (*left, centre, *right[::-1])

    @cached_property
    def _rulers(self) -> tuple[list[int], list[float]]:
        """Which direction rules (0 is f, 1 is f^-1) from eps = inf down to each crossing, last 0."""
        forward = self.base.profile()
        profiles = (forward, forward.reverse())

        def lead(epsilon: Array) -> Array:
            here, there = (np.maximum(one._bounded_log(epsilon), -1e300) for one in profiles)  # noqa: SLF001
            same = np.abs(here - there) <= _SAME * (1 - np.maximum(here, there))
            return np.where(same, 0.0, here - there)

        on_grid = lead(_GRID)
        (decided,) = np.nonzero(on_grid)
        if not decided.size:
            return [0], [0.0]
        signs = np.sign(on_grid[decided])
        (changes,) = np.nonzero(np.diff(signs))
        crossings = bracketed_root(
            lambda epsilon, which: signs[changes[which]] * lead(epsilon),
            _GRID[decided[changes]],
            _GRID[decided[changes + 1]],
        )
        rulers = [0 if sign > 0 else 1 for sign in [*signs[changes + 1][::-1], signs[0]]]
        return rulers, [*(float(one) for one in crossings[::-1]), 0.0]

    def _read(self, alpha: Array, *, power: bool) -> Array:
        edges, pieces = self._pieces
        values = np.empty(alpha.size)
        owner = np.searchsorted(edges, alpha, side="left")
        for number in np.unique(owner):
            mine = owner == number
            values[mine] = pieces[number].read(alpha[mine], power=power)
        return values

    def _evaluate(self, alpha: Array) -> Array:
        return self._read(alpha, power=False)

    def _power(self, alpha: Array) -> Array:
        return self._read(alpha, power=True)

    @property
    def kinks(self) -> Array:
        """The ends of the segments, and the kinks of both directions."""
        edges, _ = self._pieces
        places = np.unique(np.concatenate([edges, self.base.kinks, self.base.inverse().kinks]))
        return places[(places > 0) & (places < 1)]


class _Piece(Protocol):
    """A part of the curve: f, or 1 - f, at some alphas."""

    def read(self, alpha: Array, *, power: bool) -> Array: ...


@dataclass(frozen=True)
class _Direction:
    """f or f^-1 itself."""

    curve: TradeOff

    def read(self, alpha: Array, *, power: bool) -> Array:
        return self.curve._bounded_power(alpha) if power else self.curve._bounded_evaluate(alpha)  # noqa: SLF001


@dataclass(frozen=True)
class _Segment:
    """1 - delta - e^eps alpha."""

    epsilon: float
    delta: float

    def read(self, alpha: Array, *, power: bool) -> Array:
        rise = times_exp(alpha, self.epsilon)
        return self.delta + rise if power else (1 - self.delta) - rise


@dataclass(frozen=True)
class _MirroredSegment:
    """e^-eps (1 - delta - alpha)."""

    epsilon: float
    delta: float

    def read(self, alpha: Array, *, power: bool) -> Array:
        value = times_exp(np.maximum((1 - alpha) - self.delta, 0.0), -self.epsilon)
        return 1 - value if power else value
