"""What a total loss knows of its parts."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.losses import TotalLoss, privacy_loss

MIRRORED = {
    "gaussian": ew.Gaussian(1.3),
    "laplace": ew.Laplace(0.7),
    "response": ew.RandomizedResponse(0.9),
    "categories": ew.RandomizedResponse(0.9, categories=5),
    "discrete laplace": ew.DiscreteLaplace(scale=2.0, sensitivity=3),
    "discrete gaussian": ew.DiscreteGaussian(scale=1.7, sensitivity=2),
    "disclosure": ew.ApproxDP(0.4, 1e-3),
    "replaced": ew.PoissonSampled(ew.Laplace(0.7), 0.2, adjacency="replace"),
    "replaced and clipped": ew.PoissonSampled(ew.Gaussian(0.5), 0.2, adjacency="replace", clipped=True),
}
SAMPLED = {
    "gaussian": ew.PoissonSampled(ew.Gaussian(1.0), 0.3),
    "laplace": ew.PoissonSampled(ew.Laplace(0.7), 0.2),
    "response": ew.PoissonSampled(ew.RandomizedResponse(0.9), 0.2),
    "discrete": ew.PoissonSampled(ew.DiscreteLaplace(scale=2.0), 0.2),
}


@pytest.mark.parametrize("name", MIRRORED)
def test_a_sum_of_mirror_images_is_one(name):
    assert TotalLoss.of(MIRRORED[name] ** 3).is_symmetric
    if "replaced" not in name:
        assert TotalLoss.of(MIRRORED[name] ** 2 * ew.Laplace(3.0) * ew.Gaussian(2.0)).is_symmetric


@pytest.mark.parametrize("name", ["gaussian", "laplace", "response", "categories", "discrete laplace", "replaced"])
def test_mirror_images_have_the_same_tails(name):
    """P[L > t] = Q[L < -t], which is all that the word means."""
    t = np.array([-1.1, -0.3, 0.07, 0.4, 1.3])
    loss = privacy_loss(MIRRORED[name])
    null_below, null_above, _, _ = loss.distribution(t)
    _, _, below, above = loss.distribution(-t)
    assert null_above == pytest.approx(below, rel=1e-12, abs=1e-15)
    assert null_below == pytest.approx(above, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", SAMPLED)
def test_one_sample_is_enough_for_two_directions(name):
    assert not TotalLoss.of(SAMPLED[name]).is_symmetric
    assert not TotalLoss.of(ew.Gaussian(1.0) ** 5 * SAMPLED[name] * ew.RandomizedResponse(0.3)).is_symmetric
