"""The piecewise-linear working form: vertices, on which every operation is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeworth import validation
from edgeworth.curves.elementwise import Array, Numbers, read_only
from edgeworth.curves.hull import cell_of, lower_hull, needed_vertices
from edgeworth.curves.piecewise_profile import PiecewiseProfile
from edgeworth.curves.tradeoff import TradeOff
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PiecewiseLinear"]

_SLACK = 16 * float(np.finfo(np.float64).eps)  # each coordinate may be off by some ulps of its own size


@dataclass(frozen=True, eq=False, init=False)
class PiecewiseLinear(TradeOff):
    """The convex function through the vertices (alpha_i, beta_i), from alpha = 0 to (1, 0).

    ``power`` = 1 - beta and ``acceptance`` = 1 - alpha may be given where they are known better than by
    subtraction; then values near 1 keep the relative precision of their complement.

    >>> f = PiecewiseLinear([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    >>> f(0.125), f.inverse()(0.625), f.gamma
    (0.625, 0.125, 0.25)
    """

    alpha: Array
    beta: Array
    vertex_power: Array
    acceptance: Array

    def __init__(
        self,
        alpha: Numbers,
        beta: Numbers,
        *,
        power: Numbers | None = None,
        acceptance: Numbers | None = None,
    ) -> None:
        a, b = validation.probabilities(alpha=alpha), validation.probabilities(beta=beta)
        p = 1 - b if power is None else validation.probabilities(power=power)
        c = 1 - a if acceptance is None else validation.probabilities(acceptance=acceptance)
        if not (a.ndim == 1 and a.shape == b.shape == p.shape == c.shape and a.size >= 2):
            shapes = ", ".join(str(array.shape) for array in (a, b, p, c))
            raise InvalidArgument(f"alpha, beta, power, acceptance have shapes {shapes}; give equal lengths >= 2")
        if not (a[0] == 0 and a[-1] == 1 and b[-1] == 0):
            raise InvalidArgument(
                f"the vertices go from ({a[0]!s}, {b[0]!s}) to ({a[-1]!s}, {b[-1]!s}); "
                "start at alpha=0.0 and end at (1.0, 0.0)"
            )
        kept = needed_vertices(a, c, b)
        for name, values in (("alpha", a), ("beta", b), ("vertex_power", p), ("acceptance", c)):
            object.__setattr__(self, name, read_only(values[kept]))
        self._require_convex()

    def _require_convex(self) -> None:
        across, down = self.across, self.down
        if not ((across >= 0).all() and (down >= -_SLACK).all()):
            raise InvalidArgument("alpha must not decrease and beta must not increase; sort the vertices by alpha")
        slack_across = _SLACK * np.minimum(self.alpha, self.acceptance)
        slack_down = _SLACK * np.minimum(self.beta, self.vertex_power)
        turn = down[:-1] * across[1:] - down[1:] * across[:-1]
        slack = (slack_down[:-2] + slack_down[1:-1] + slack_down[2:]) * (across[1:] + across[:-1]) + (
            slack_across[:-2] + slack_across[1:-1] + slack_across[2:]
        ) * (down[1:] + down[:-1])
        if not (turn >= -slack).all():
            worst = int(np.argmin(turn + slack))
            raise InvalidArgument(
                f"vertices {worst}, {worst + 1}, {worst + 2} turn the wrong way: not convex; "
                "use PiecewiseLinear.hull for the largest convex function below the points"
            )

    @classmethod
    def hull(
        cls,
        alpha: Numbers,
        beta: Numbers,
        *,
        power: Numbers | None = None,
        acceptance: Numbers | None = None,
        start: float = 1.0,
    ) -> PiecewiseLinear:
        """The largest convex function below the points clipped to [0, 1 - alpha], (0, start) and (1, 0).

        >>> PiecewiseLinear.hull([0.5, 0.25], [0.25, 0.75]).alpha
        array([0. , 0.5, 1. ])
        """
        a, b = validation.probabilities(alpha=alpha), validation.reals(beta=beta)
        p = 1 - b if power is None else validation.reals(power=power)
        c = 1 - a if acceptance is None else validation.probabilities(acceptance=acceptance)
        first = validation.probability(start=start)
        b, p = np.clip(b, 0.0, c), np.clip(p, a, 1.0)
        a, c = np.concatenate([[0.0], a, [1.0]]), np.concatenate([[1.0], c, [0.0]])
        b, p = np.concatenate([[first], b, [0.0]]), np.concatenate([[1 - first], p, [1.0]])
        order = np.lexsort((-b, p, -c, a))  # from left to right, and down where several points share an alpha
        a, b, p, c = a[order], b[order], p[order], c[order]
        kept = lower_hull(a, c, b, p)
        return cls(a[kept], b[kept], power=p[kept], acceptance=c[kept])

    @property
    def across(self) -> Array:
        """alpha_(i+1) - alpha_i, taken in alpha or in its complement, whichever is smaller."""
        return np.where(self.alpha[:-1] < 0.5, np.diff(self.alpha), -np.diff(self.acceptance))

    @property
    def down(self) -> Array:
        """beta_i - beta_(i+1), taken in beta or in its complement, whichever is smaller."""
        return np.where(self.beta[:-1] < 0.5, -np.diff(self.beta), np.diff(self.vertex_power))

    def _shares(self, alpha: Array) -> tuple[NDArray[np.intp], Array, Array]:
        """The cell of each alpha, and the weights of its two vertices, both >= 0: sums cannot cancel."""
        cell = cell_of(alpha, self.alpha, self.acceptance)
        near_zero = self.alpha[cell] < 0.5
        low = np.where(near_zero, self.alpha[cell], -self.acceptance[cell])
        high = np.where(near_zero, self.alpha[cell + 1], -self.acceptance[cell + 1])
        place = np.clip(np.where(near_zero, alpha, -(1 - alpha)), low, high)
        return cell, (high - place) / (high - low), (place - low) / (high - low)

    def _evaluate(self, alpha: Array) -> Array:
        cell, before, after = self._shares(alpha)
        return np.asarray(before * self.beta[cell] + after * self.beta[cell + 1])

    def _power(self, alpha: Array) -> Array:
        cell, before, after = self._shares(alpha)
        return np.asarray(before * self.vertex_power[cell] + after * self.vertex_power[cell + 1])

    @property
    def kinks(self) -> Array:
        """The inner vertices."""
        return self.alpha[1:-1]

    @property
    def zero_from(self) -> float:
        """The first vertex on the axis."""
        return float(self.alpha[np.argmax(self.beta == 0)])

    @property
    def is_symmetric(self) -> bool:
        """Whether the mirrored vertices are the same numbers."""
        mirror = self.inverse()
        return all(
            np.array_equal(getattr(self, name), getattr(mirror, name))
            for name in ("alpha", "beta", "vertex_power", "acceptance")
        )

    def inverse(self) -> PiecewiseLinear:
        """f^-1, exactly: the vertices mirrored in the diagonal."""
        a, b = self.beta[::-1], self.alpha[::-1]
        c, p = self.vertex_power[::-1], self.acceptance[::-1]
        if a[-1] < 1:
            a, b, c, p = np.append(a, 1.0), np.append(b, 0.0), np.append(c, 0.0), np.append(p, 1.0)
        return PiecewiseLinear(a, b, power=p, acceptance=c)

    def symmetrise(self) -> PiecewiseLinear:
        """min{f, f^-1}**, the hull of the vertices of both; the right half mirrors the left, bit for bit."""
        if self.is_symmetric:
            return self
        mirror = self.inverse()
        both = PiecewiseLinear.hull(
            np.concatenate([self.alpha, mirror.alpha]),
            np.concatenate([self.beta, mirror.beta]),
            power=np.concatenate([self.vertex_power, mirror.vertex_power]),
            acceptance=np.concatenate([self.acceptance, mirror.acceptance]),
            start=min(float(self.beta[0]), float(mirror.beta[0])),
        )
        left, fixed = both.alpha < both.beta, both.alpha == both.beta
        half = (both.alpha[left], both.beta[left], both.vertex_power[left], both.acceptance[left])
        a, b, p, c = (
            np.concatenate([one, both_one[fixed], other[::-1]])
            for one, both_one, other in (
                (half[0], both.alpha, half[1]),
                (half[1], both.beta, half[0]),
                (half[2], both.vertex_power, half[3]),
                (half[3], both.acceptance, half[2]),
            )
        )
        if a[-1] < 1:
            a, b, p, c = np.append(a, 1.0), np.append(b, 0.0), np.append(p, 1.0), np.append(c, 0.0)
        return PiecewiseLinear(a, b, power=p, acceptance=c)

    def subsample(self, rate: float) -> PiecewiseLinear:
        """The mixture rate * f + (1 - rate) * Id, vertex by vertex."""
        rate = validation.probability(rate=rate)
        return PiecewiseLinear(
            self.alpha,
            rate * self.beta + (1 - rate) * self.acceptance,
            power=rate * self.vertex_power + (1 - rate) * self.alpha,
            acceptance=self.acceptance,
        )

    def profile(self) -> PiecewiseProfile:
        """The dual, exactly: it keeps the vertices, and gives them back."""
        return PiecewiseProfile(self)

    @property
    def gamma(self) -> float:
        """Area under f symmetrised: the trapezoids between its vertices, with nothing left out."""
        f = self.symmetrise()
        return float(np.sum(f.across * (f.beta[:-1] + f.beta[1:]) / 2))

    @property
    def fixed_point(self) -> float:
        """a* = f(a*), f symmetrised: on the segment that crosses the diagonal."""
        f = self.symmetrise()
        cell = int(np.argmax(f.alpha[1:] >= f.beta[1:]))
        a, b, width, drop = f.alpha[cell], f.beta[cell], f.across[cell], f.down[cell]
        return float((b * width + a * drop) / (width + drop))
