"""Samples of Laplace noise on a line: how small their transform is far out, and what that does for a mix."""

import math

import numpy as np
import pytest
from flint import acb, arb, ctx

import edgeworth as ew
from edgeworth.composition import contour, lattice, noisy_lines
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.losses import TotalLoss, privacy_loss


def sample(theta, rate):
    return ew.PoissonSampled(ew.Laplace(1 / theta), rate=rate)


def transform(theta, rate, s):
    """E[e^(sL)] of L = log(1 - p + p e^x), a ball: two atoms, and the density e^(-(x + theta)/2)/4 of x."""
    ctx.prec = 100
    theta, rate = acb(theta), arb(rate)

    def power(x, analytic=False):
        return (s * (1 - rate + rate * x.exp()).log(analytic=analytic)).exp()

    inner = acb.integral(lambda x, analytic: power(x, analytic) * (-(x + theta) / 2).exp() / 4, -theta, theta)
    return power(-theta) / 2 + power(theta) * (-theta).exp() / 2 + inner


@pytest.mark.parametrize(
    ("theta", "rate", "c"),
    [(1.2, 0.9, 0.5), (1.2, 0.9, 3.0), (0.4, 0.01, 40.0), (3.0, 0.1, -2.5), (3.0, 1e-3, 1.2), (0.05, 0.3, -60.0)],
)
def test_the_transform_is_below_its_bound_far_out(theta, rate, c):
    loss = privacy_loss(sample(theta, rate))
    t = np.array([0.3, 1.0, 4.0, 20.0, 60.0]) / (loss.support[1] - loss.support[0])
    part = tilt_part(loss, 7, c, float(t[-1]))
    bound = np.exp(part.log_far_bound(t))
    assert part.atoms_are_read
    assert part.atoms < 0.99
    whole = transform(theta, rate, acb(c))
    for frequency, most in zip(t.tolist(), bound.tolist(), strict=True):
        phi = transform(theta, rate, acb(c, frequency)) / whole
        assert phi.abs_upper() <= most


def test_the_bound_far_out_has_little_more_than_the_atoms():
    loss = privacy_loss(sample(1.2, 0.9))
    part = tilt_part(loss, 1, 0.5, 50.0)
    assert part.atoms < math.exp(float(part.log_far_bound(np.array([50.0]))[0])) < part.atoms + 0.05


def test_a_bound_that_overflows_claims_nothing():
    part = tilt_part(privacy_loss(sample(650.0, 1e-3)), 1, 0.5, 1.0)
    assert part.decay == math.inf
    assert part.log_far_bound(np.array([1.0]))[0] == 0.0


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_many_samples_beside_normal_ones_have_all_digits(direction):
    normal = ew.PoissonSampled(ew.Gaussian(8.0), rate=0.006) ** 130
    total = TotalLoss.of(sample(1.2, 0.9) ** 200 * normal * ew.RandomizedResponse(4.0) ** 4)
    epsilon = np.array([60.0, 100.0, 170.0])
    ends = contour.prepared(total).delta(direction, epsilon)
    np.testing.assert_array_less(ends.upper - ends.lower, 1e-10 * ends.upper)
    other = lattice.prepared(total).delta(direction, epsilon)
    assert np.all((other.lower <= ends.upper) & (ends.lower <= other.upper))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_little_normal_noise_changes_little(direction):
    """Gaussian noise of mu^2 = v raises delta by at most v e^(v/8) times a density below 1, and never lowers it."""
    steps = sample(1.2, 0.9) ** 200 * ew.DiscreteLaplace(1.5) ** 6
    smooth, plain = TotalLoss.of(steps * ew.Gaussian(1e5)), TotalLoss.of(steps)
    epsilon = np.array([60.0, 100.0, 140.0])
    ends = contour.prepared(smooth).delta(direction, epsilon)
    other = noisy_lines.prepared(plain, 1e-8).delta(direction, epsilon)
    assert np.all(other.lower <= ends.upper)
    assert np.all(ends.lower <= other.upper + 1.01e-10)
    np.testing.assert_array_less(ends.upper - ends.lower, 1e-10 * ends.upper)
