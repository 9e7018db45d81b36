"""One law is composed; the other direction, and both at once, are readings of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.account.examples import EPSILONS, ESTIMATES, METHODS, SGD

import edgeworth as ew


@pytest.mark.parametrize(
    "mechanism", [SGD, ew.PoissonSampled(ew.Laplace(1.0), 0.3), ew.PoissonSampled(ew.ApproxDP(1.0, 0.1), 0.4)]
)
def test_backward_is_the_inverse_of_forward(mechanism):
    forward, backward = (ew.account(mechanism, direction=way) for way in ("forward", "backward"))
    alpha = np.array([1e-6, 1e-3, 0.05, 0.3, 0.6])
    image = forward.tradeoff(alpha).value
    strict = (image > 0) & (image < forward.tradeoff(0.0).value)
    np.testing.assert_allclose(backward.tradeoff(image[strict]).value, alpha[strict], rtol=1e-9, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_the_backward_profile_is_read_off_the_forward_one(method):
    """delta'(eps) = 1 - e^eps (1 - delta(-eps)): one law is composed, the other direction is a reading of it."""
    forward, backward = (ew.account(SGD**20, method=method, direction=way) for way in ("forward", "backward"))
    epsilon = np.array([0.0, 0.1, 0.3, 0.7])
    expected = 1 - np.exp(epsilon) * (1 - forward.delta(-epsilon).value)
    np.testing.assert_allclose(backward.delta(epsilon).value, expected, rtol=1e-9, atol=1e-14 * math.e)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mechanism", [SGD**20, ew.PoissonSampled(ew.Gaussian(0.7), 0.004) ** 500 * ew.Gaussian(1.0)])
def test_both_directions_are_below_each_and_symmetric(method, mechanism):
    both, forward, backward = (
        ew.account(mechanism, method=method, direction=way) for way in ("both", "forward", "backward")
    )
    alpha = np.array([1e-5, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8])
    symmetric = both.tradeoff(alpha).value
    slack = 1e-9
    for one in (forward, backward):
        if method in ESTIMATES:  # a certified value is the interpolated law, not one end's curve
            assert np.all(symmetric <= one.tradeoff(alpha).value * (1 + slack))
        assert np.all(both.tradeoff(alpha).lower <= one.tradeoff(alpha).lower * (1 + slack))
        assert np.all(both.delta(EPSILONS).value * (1 + slack) >= one.delta(EPSILONS).value)
    images = both.curve(alpha)
    inner = (images > 1e-12) & (images < 1)
    np.testing.assert_allclose(both.curve(images[inner]), alpha[inner], rtol=1e-8, atol=0)
