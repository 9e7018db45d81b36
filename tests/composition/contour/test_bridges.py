"""Where neither direction is the worse one everywhere, the hull of both curves bridges gaps between them."""

import numpy as np
import pytest

import edgeworth as ew

RUN = ew.PoissonSampled(ew.Gaussian(12.3), 0.00183) ** 368_029 * ew.PoissonSampled(ew.Gaussian(0.537), 0.00777) ** 230
MIX = RUN * ew.DiscreteLaplace(0.749) ** 6 * ew.DiscreteLaplace(0.51) ** 2
FEW = ew.PoissonSampled(ew.Gaussian(0.7), 0.004) ** 3000 * ew.RandomizedResponse(4.0)


def hull_at(x, y, at):
    """The lower convex hull of the points (x, y), x rising, at a place between two of them: by all chords."""
    left, right = x < at, x >= at
    share = (at - x[left][:, None]) / (x[right] - x[left][:, None])
    return float(np.min(y[left][:, None] * (1 - share) + y[right] * share))


@pytest.mark.parametrize(
    ("mechanism", "alpha", "around"),
    [(MIX, 0.208, 4.0), (MIX, 0.9, 1.1), (FEW, 0.97, 1.02), (FEW, 0.1, 9.0), (FEW, 1e-4, 50.0)],
)
def test_the_hull_is_that_of_many_points_of_both_curves(mechanism, alpha, around):
    alphas = np.geomspace(alpha / around, min(alpha * around, 1 - 1e-9), 800)
    lower = np.minimum(
        *(ew.account(mechanism, direction=way).tradeoff(alphas).upper for way in ("forward", "backward"))
    )
    found = ew.account(mechanism).tradeoff(alpha)
    assert found.upper - found.lower <= 1e-9 * found.upper
    hull = hull_at(alphas, lower, alpha)
    assert found.lower <= hull <= found.upper * (1 + 1e-4)


def test_a_gap_is_bridged_below_both_curves():
    found, forward = (ew.account(MIX, direction=way).tradeoff(0.208) for way in ("both", "forward"))
    backward = ew.account(MIX, direction="backward").tradeoff(0.208)
    assert found.upper < 0.99999 * min(forward.lower, backward.lower)


def test_of_many_alphas_each_is_as_narrow_as_alone():
    alphas = np.array([0.05, 0.208, 0.3, 0.7, 0.95])
    many = ew.account(MIX).tradeoff(alphas)
    assert np.all(many.upper - many.lower <= 1e-8 * many.upper)
    for alpha, lower, upper in zip(alphas.tolist(), many.lower, many.upper, strict=True):
        alone = ew.account(MIX).tradeoff(alpha)
        assert alone.lower <= upper
        assert lower <= alone.upper
