"""What kind of samples a total has, by measurement: it decides which engines have their digits, and which soonest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth.composition import spread
from edgeworth.composition.samples import density, expected_jumps, samples
from edgeworth.losses import GaussianLoss, LaplaceLoss

if TYPE_CHECKING:
    from edgeworth.losses import PrivacyLoss, TotalLoss

__all__ = ["has_a_wide_bulk", "has_dense_laplace_samples", "has_rare_jumps", "has_short_jumps", "has_slow_tests"]

_LARGE_MU = 3.0  # from which on a lattice's tests cost more than its profile
_SHORT_JUMPS = 1.5  # mu, up to which lines of rare samples take little time wherever their profile is not tiny
_DENSE, _SPARSE = 1e-3, 1e-5  # n p^2, from which on lines have nine digits, and below which they have few
_RARE = 0.03  # n p, below which jumps are rare
_FEWEST, _FEW_PER_CUBE = 3, 3.0  # n, and n/mu^3 besides, up to which lines of samples alone take long for f …
_NO_SMALL_MU, _NOT_DENSE = 0.4, 2e-3  # … above this mu, and below this n p^2


def has_rare_jumps(total: TotalLoss) -> bool:
    """Whether jumps of samples beside a rest are so rare that lines have few digits, or take long."""
    if len(total.parts) == 1 or not spread.applies(total) or spread.has_noise_alone(total):
        return False
    jumping = spread.samples_of(total)
    dense = density(jumping)
    return dense < _SPARSE or (dense < _DENSE and expected_jumps(jumping) < _RARE)


def has_a_wide_bulk(total: TotalLoss) -> bool:
    """Whether samples are few, rare and of little noise: without a jump their loss has many sizes, as on no line."""
    parts = samples(total)
    mu = max(_mu(loss.base) for loss, _ in parts)
    few = mu > _NO_SMALL_MU and sum(n for _, n in parts) <= _FEWEST + _FEW_PER_CUBE * mu**3
    return few and density(parts) < _NOT_DENSE


def has_short_jumps(total: TotalLoss) -> bool:
    """Whether lines of rare samples, all of Gaussian noise, take little time wherever their profile is not tiny."""
    return all(0 < _mu(loss.base) <= _SHORT_JUMPS for loss, _ in samples(total))


def has_slow_tests(total: TotalLoss) -> bool:
    """Whether the tests of a lattice would take all the time that a reading of f has."""
    return any(_mu(loss.base) > _LARGE_MU for loss, _ in samples(total))


def has_dense_laplace_samples(total: TotalLoss) -> bool:
    """Whether samples, some of Laplace noise, are so many that a lattice may hold them better than graded points do."""
    parts = samples(total)
    return density(parts) >= _DENSE and any(isinstance(loss.base, LaplaceLoss) for loss, _ in parts)


def _mu(loss: PrivacyLoss) -> float:
    return loss.mu if isinstance(loss, GaussianLoss) else 0.0
