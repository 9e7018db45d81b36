"""Backward readings of samples next to the largest loss, -n log(1 - p): steep tilts to the left shrink the law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.losses import GaussianLoss, SampledLoss


def samples(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "delta"),
    [
        (0.504, 1.97e-5, 16, 7.9e-86),
        (0.311, 5.96e-5, 106, 2.9e-41),
        (0.305, 0.00138, 90, 9.9e-40),
        (0.345, 3.61e-5, 55, 5.3e-65),
        (0.673, 0.0147, 3, 6.2e-47),
    ],
)
def test_epsilon_next_to_the_largest_loss_has_nine_digits(sigma, rate, n, delta):
    account = ew.account(samples(sigma, rate, n), direction="backward")
    found = account.epsilon(np.array([delta, delta * 1e-3]))
    assert (found.upper - found.lower <= 1e-9 * found.upper).all()
    assert found.upper[0] < found.lower[1]
    assert found.upper[1] < -n * math.log1p(-rate)


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "delta"), [(0.673, 0.0147, 3, 1e-12), (0.504, 1e-3, 4, 1e-12), (0.4, 0.01, 5, 1e-10)]
)
def test_lines_and_the_lattice_agree_on_it(sigma, rate, n, delta):
    run = samples(sigma, rate, n)
    lines = ew.account(run, direction="backward", method="contour").epsilon(delta)
    lattice = ew.account(run, direction="backward", method="lattice").epsilon(delta)
    assert lattice.lower <= lines.upper
    assert lines.lower <= lattice.upper
    assert lattice.upper - lattice.lower <= 1e-5 * lattice.upper


@settings(max_examples=40)
@given(mu=st.floats(0.05, 4), log_rate=st.floats(-13.8, -2), push=st.floats(0.1, 10))
def test_the_nodes_of_a_steeply_tilted_sample_have_its_log_moment(mu, log_rate, push):
    rate = math.exp(log_rate)
    posterior = rate / (rate + (1 - rate) * math.exp(mu * mu / 2 + mu * push))
    c = -push / (mu * posterior)  # the peak is at -push
    nodes = SampledLoss(GaussianLoss(mu), rate).nodes((c, 1.0))
    assert nodes.loss.size < 20_000
    h = 1e-3 / max(1.0, mu)
    x = h * np.arange(-(push + 14) / h, 9 / h)
    loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    fine = np.logaddexp.reduce(c * loss - 0.5 * x * x) + math.log(h) - 0.5 * math.log(2 * math.pi)
    found = np.logaddexp.reduce(c * nodes.loss + nodes.log_weight)
    assert abs(found - fine) <= 1e-11 * (1 + abs(fine))
