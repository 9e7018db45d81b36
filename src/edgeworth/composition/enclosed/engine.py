"""Certified composition of a few steps of Laplace noise, or of samples of it, beside steps whose atoms can be listed.

A lattice that holds both rounds the atoms, too, and its points have to reach as far as all of them do. Here the noise
alone is put on points, and every one of these meets every atom. `docs/proofs/enclosed.md` proves every bound.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from edgeworth.composition.combined import Combined
from edgeworth.composition.enclosed.answers import EnclosedAnswers
from edgeworth.composition.enclosed.noise_law import length, noise_law, points_apart
from edgeworth.composition.lattice.enumerated import Enumeration, enumerable
from edgeworth.errors import Unsupported
from edgeworth.losses import LaplaceLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from edgeworth.composition.answered import Answers
    from edgeworth.composition.enclosed.noise_law import Side
    from edgeworth.losses import PrivacyLoss

__all__ = ["applies", "noise_of", "prepared"]

_DIRECTLY = tuple(2**k for k in range(12, 16))  # points of the noise, convolved as sums of positive terms
_BY_TRANSFORMS = 2**18  # more of them
_LONGEST = 40.0  # from its least to its largest loss
_CLOSE, _WIDEST = 1e-9, 5e-7  # n h^2, of which a share is what the points leave open of a reading


def applies(total: TotalLoss) -> bool:
    """Whether some steps are Laplace noise or samples of it, few enough for their points, and all others have atoms.

    >>> import edgeworth as ew
    >>> sample = ew.PoissonSampled(ew.Laplace(1.5), rate=0.001)
    >>> applies(TotalLoss.of(sample**3 * ew.DiscreteLaplace(2.0) ** 20 * ew.RandomizedResponse(0.3) ** 9))
    True
    >>> applies(TotalLoss.of(sample**3))
    False
    """
    noise, rest = _split(total)
    if not noise or not rest.parts or not total.is_exact or not all(_is_laplace(loss) for loss, _ in noise):
        return False
    if not 0 < length(noise) <= _LONGEST:
        return False
    return bool(_points(total))


def noise_of(total: TotalLoss) -> TotalLoss:
    """The steps with noise alone."""
    return TotalLoss(_split(total)[0], is_finite=True)


@lru_cache(maxsize=2)
def prepared(total: TotalLoss, wide: float) -> Answers:
    """The answers of a total loss, of which more points narrow what few leave wide; the last ones are kept."""
    if not applies(total):
        raise Unsupported("these are not few steps of Laplace noise beside steps whose atoms can be listed")
    first, *others = (EnclosedAnswers(total, partial(_law, total, points)) for points in _points(total))
    return Combined(first, lambda: others[0], wide) if others else first


@lru_cache(maxsize=8)
def _points(total: TotalLoss) -> list[int]:
    """How many points the noise may have at first, and then: close enough for the aim, and listed with all atoms.

    Of different steps only one kind has both its atoms on points, and more points leave more to rounding.
    """
    noise, rest = _split(total)
    steps = sum(n for _, n in noise)
    apart = {points: steps * points_apart(noise, points) ** 2 for points in (*_DIRECTLY, _BY_TRANSFORMS)}
    held = [points for points, wide in apart.items() if wide <= _WIDEST and enumerable(rest, points)]
    few = [points for points in held if points in _DIRECTLY]
    first = next((points for points in few if apart[points] <= _CLOSE), max(few, default=0))
    more = [points for points in held if points > first and (points == _DIRECTLY[-1] or len(noise) == 1)]
    return [points for points in (first, *more[-1:]) if points]


def _law(total: TotalLoss, points: int, side: Side) -> Enumeration:
    """All atoms of one law of the sum."""
    noise, rest = _split(total)
    return Enumeration.of(rest, noise_law(noise, points_apart(noise, points), side))


@lru_cache(maxsize=8)
def _split(total: TotalLoss) -> tuple[tuple[tuple[PrivacyLoss, int], ...], TotalLoss]:
    """The steps with noise, and those with atoms alone."""
    parts = [(loss, n) for loss, n in total.parts if n > 0 and loss.support != (0.0, 0.0)]
    rest = tuple((loss, n) for loss, n in parts if loss.is_atomic)
    return tuple((loss, n) for loss, n in parts if not loss.is_atomic), TotalLoss(rest, is_finite=True)


def _is_laplace(loss: PrivacyLoss) -> bool:
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return isinstance(base, LaplaceLoss)
