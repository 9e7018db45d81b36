"""A true trade-off function from a raw parametric curve, such as an Edgeworth expansion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from edgeworth import validation
from edgeworth.curves.elementwise import Array, Numbers, elementwise, read_only
from edgeworth.curves.hull import cell_of, lower_hull, needed_vertices
from edgeworth.curves.patchwork import Errors, Patchwork, Tests, both_errors, parameter_at
from edgeworth.curves.piecewise import PiecewiseLinear
from edgeworth.errors import ComputationFailed, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ThresholdCurve"]

_NOTICED = 1e-12  # changes smaller than this, or closer than this to alpha = 0 or 1, are rounding
_SAMPLES_PER_CELL = 8
_NEGLIGIBLE = 1e-200


@dataclass(frozen=True, eq=False, init=False)
class ThresholdCurve(Patchwork):
    """The raw curve u -> (alpha(u), beta(u)) made a trade-off function, and left as it is where it is one.

    ``tests`` gives (alpha, beta, 1 - beta), or a fourth entry 1 - alpha, vectorised over u; a higher u is a
    higher threshold, so alpha decreases. The raw curve may turn back, leave [0, 1 - alpha], be non-convex:

    1. keep the longest run of grid points around alpha = 1/2 on which alpha strictly decreases in [0, 1];
    2. clip beta to [0, 1 - alpha]; take the lower convex hull with (0, 1) and (1, 0);
    3. a cell between neighbouring grid points is smooth when these two, and the next on either side, are
       unclipped vertices of the hull; there the raw curve itself is evaluated, elsewhere the chord.

    Why the margin of one cell: where the raw curve has no inflection inside two neighbouring cells whose ends
    are hull vertices, it is convex there, so the slope of the chord of the first is at most its derivative at
    their common end. The patched function is then convex at every joint. (An inflection that turns twice
    within one cell is not seen: the grid is the resolution.)

    >>> from scipy.special import ndtr
    >>> f = ThresholdCurve(lambda u: (ndtr(-u), ndtr(u - 1), ndtr(1 - u)), np.linspace(-9, 10, 500))
    >>> round(f(0.05), 12), f.repaired
    (0.740488977159, ())
    """

    u: Array
    raw_u: Array

    def __init__(self, tests: Tests, u: Numbers, *, raw: Numbers | None = None) -> None:
        """The curve on the grid u; ``raw`` is a wider grid on which the raw values may still be asked for."""
        grid = validation.reals(u=u)
        if not (grid.ndim == 1 and grid.size >= 4 and np.isfinite(grid).all() and (np.diff(grid) > 0).all()):
            raise InvalidArgument(f"u has shape {grid.shape}; give at least 4 finite increasing numbers")
        errors = both_errors(tests, grid)
        run = _monotone_run(errors)
        frame, low, high = _patched(Errors(*(part[run] for part in errors)), grid[run])
        object.__setattr__(self, "tests", tests)
        object.__setattr__(self, "frame", frame)
        wide = grid if raw is None else validation.reals(raw=raw)
        branch = wide[_decreasing_run(both_errors(tests, wide))]
        for name, values in (("low", low), ("high", high), ("u", grid[run]), ("raw_u", branch)):
            object.__setattr__(self, name, read_only(values))

    @overload
    def raw(self, alpha: float) -> float: ...
    @overload
    def raw(self, alpha: Numbers) -> Array: ...
    def raw(self, alpha: float | Numbers) -> float | Array:
        """The raw beta at alpha, on the monotone branch; nan where the branch does not reach."""
        return elementwise(self._raw, validation.probabilities(alpha=alpha))

    def _raw(self, alpha: Array) -> Array:
        on_grid, back = both_errors(self.tests, self.raw_u), slice(None, None, -1)
        values = np.full(alpha.size, np.nan)
        (reached,) = np.nonzero((alpha >= on_grid.alpha[-1]) & (alpha <= on_grid.alpha[0]))
        cell = cell_of(alpha[reached], on_grid.alpha[back], on_grid.acceptance[back])
        low, high = self.raw_u[back][cell + 1], self.raw_u[back][cell]
        values[reached] = both_errors(self.tests, parameter_at(self.tests, alpha[reached], low, high)).beta
        return values

    @property
    def repaired(self) -> tuple[tuple[float, float], ...]:
        """The intervals of alpha, merged, in which the raw curve was changed by more than 1e-12."""
        return self._repairs[0]

    @property
    def largest_repair(self) -> float:
        """The supremum of |raw - repaired|, 0 when nothing was changed; sampled in every cell."""
        return self._repairs[1]

    @cached_property
    def _repairs(self) -> tuple[tuple[tuple[float, float], ...], float]:
        """Both of the above; only the chords need a look, since smooth cells are the raw curve itself."""
        lowest = np.sort(self.low[np.isfinite(self.low)])
        suspect = ~np.isin(self.raw_u[:-1], lowest)
        share = (np.arange(_SAMPLES_PER_CELL + 1)) / _SAMPLES_PER_CELL
        samples = self.raw_u[:-1][suspect][:, None] + np.diff(self.raw_u)[suspect][:, None] * share
        errors = both_errors(self.tests, samples.ravel())
        visible = (errors.alpha > _NOTICED) & (errors.alpha < 1 - _NOTICED)
        change = np.where(visible, np.abs(errors.beta - self(np.clip(errors.alpha, 0.0, 1.0))), 0.0)
        changed = np.zeros(self.raw_u.size - 1, dtype=bool)
        changed[suspect] = change.reshape(samples.shape).max(axis=1, initial=0.0) > _NOTICED
        edges = np.flatnonzero(np.diff(np.concatenate([[False], changed, [False]])))
        alpha = np.clip(both_errors(self.tests, self.raw_u).alpha, _NOTICED, 1 - _NOTICED)
        spans = [(float(alpha[last]), float(alpha[first])) for first, last in edges.reshape(-1, 2)]
        largest = float(change.max(initial=0.0))
        return tuple(reversed(spans)), largest if largest > _NOTICED else 0.0


def _monotone_run(errors: Errors) -> slice:
    """The longest stretch around alpha = 1/2 on which alpha strictly decreases and all errors are probabilities.

    Below 0 the expansion has left the range of probabilities, and a test of alpha = 0 with some power would claim
    outcomes that only Q can produce; where all of this is negligible it is rounding, and harmless.
    """
    valid = (errors.acceptance >= 0) & ((errors.alpha > 0) | (errors.power < _NEGLIGIBLE))
    valid &= (errors.beta >= 0) & (errors.power >= -_NEGLIGIBLE)
    if not valid.any():
        raise ComputationFailed("no test on the grid has a type I error within [0, 1]")
    return _run_around_the_centre(errors, valid)


def _decreasing_run(errors: Errors) -> slice:
    """The longest stretch around alpha = 1/2 on which alpha strictly decreases within [0, 1], whatever beta does."""
    return _run_around_the_centre(errors, (errors.alpha >= 0) & (errors.acceptance >= 0))


def _run_around_the_centre(errors: Errors, valid: NDArray[np.bool_]) -> slice:
    alpha, acceptance = errors.alpha, errors.acceptance
    centre = int(np.argmin(np.where(valid, np.abs(alpha - 0.5), np.inf)))
    with np.errstate(invalid="ignore"):
        decreasing = np.where(alpha[1:] < 0.5, np.diff(alpha) < 0, np.diff(acceptance) > 0)
    linked = valid[:-1] & valid[1:] & decreasing
    breaks_before, breaks_after = np.flatnonzero(~linked[:centre]), np.flatnonzero(~linked[centre:])
    first = int(breaks_before[-1]) + 1 if breaks_before.size else 0
    last = centre + (int(breaks_after[0]) if breaks_after.size else linked.size - centre)
    return slice(first, last + 1)


def _patched(errors: Errors, u: Array) -> tuple[PiecewiseLinear, Array, Array]:
    """The hull of the clipped points, and for each of its cells the range of u, nan where the chord stays."""
    back = slice(None, None, -1)
    alpha, acceptance = errors.alpha[back], np.clip(errors.acceptance[back], 0.0, 1.0)
    raw_beta = errors.beta[back]
    beta, power = np.clip(raw_beta, 0.0, acceptance), np.clip(errors.power[back], alpha, 1.0)
    # a place of its own for (0, 1) and (1, 0): index 0 and the last
    alpha, acceptance = np.concatenate([[0.0], alpha, [1.0]]), np.concatenate([[1.0], acceptance, [0.0]])
    beta, power = np.concatenate([[1.0], beta, [0.0]]), np.concatenate([[0.0], power, [1.0]])
    hull = lower_hull(alpha, acceptance, beta, power)
    hull = hull[needed_vertices(alpha[hull], acceptance[hull], beta[hull])]
    untouched = np.zeros(alpha.size, dtype=bool)
    kept_power, kept_beta = errors.power[back] == power[1:-1], raw_beta == beta[1:-1]
    untouched[1:-1] = np.where(raw_beta < 0.5, kept_beta, kept_power)  # seen in the error that is small
    is_vertex = np.zeros(alpha.size, dtype=bool)
    is_vertex[hull] = untouched[hull]
    middle = is_vertex[1:-2] & is_vertex[2:-1]
    cell_smooth = np.zeros(alpha.size - 1, dtype=bool)
    cell_smooth[1:-1] = middle & is_vertex[:-3] & is_vertex[3:]
    smooth = cell_smooth[hull[:-1]] & (np.diff(hull) == 1)
    place = np.concatenate([[np.nan], u[back], [np.nan]])
    low, high = np.where(smooth, place[hull[1:]], np.nan), np.where(smooth, place[hull[:-1]], np.nan)
    frame = PiecewiseLinear(alpha[hull], beta[hull], power=power[hull], acceptance=acceptance[hull])
    return frame, low, high
