"""Fewer samples of Gaussian noise than lines are chosen for, beside others: lines come first, or behind points."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, spread
from edgeworth.losses import TotalLoss


def sampled(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate)


@pytest.mark.parametrize(
    ("mechanism", "reading", "argument"),
    [
        (
            ew.PoissonSampled(ew.RandomizedResponse(2.5), 0.0063) ** 142
            * ew.DiscreteLaplace(0.91) ** 142
            * sampled(5.6, 0.0015) ** 14,
            "delta",
            103.6,
        ),
        (
            ew.PoissonSampled(ew.DiscreteGaussian(1.35), 0.29) ** 6
            * ew.PoissonSampled(ew.DiscreteGaussian(1.09), 0.076) ** 3
            * ew.DiscreteLaplace(9.5) ** 14
            * sampled(0.9, 0.012) ** 2
            * sampled(0.6, 0.002) ** 8,
            "tradeoff",
            2.7e-4,
        ),
        (sampled(0.477, 6.04e-5) ** 15 * sampled(0.762, 0.0145) ** 33 * ew.Laplace(0.404) ** 19, "epsilon", 8.6e-13),
        (sampled(0.71, 0.009) ** 9 * ew.Laplace(0.37) ** 27, "epsilon", 5e-27),
        (
            ew.DiscreteLaplace(8.66) ** 4
            * ew.RandomizedResponse(1.144, categories=8) ** 26
            * ew.ApproxDP(2.818, delta=1.2e-8) ** 20
            * sampled(1.888, 6.13e-4) ** 16
            * ew.PoissonSampled(ew.RandomizedResponse(2.25), 0.238) ** 14,
            "epsilon",
            1.7e-4,
        ),
    ],
    ids=["responses and noise", "six kinds", "little noise beside Laplace noise", "deep", "hardly dense"],
)
def test_few_samples_are_enough_for_a_line(mechanism, reading, argument):
    account = ew.account(mechanism)
    found = getattr(account, reading)(argument)
    assert found.upper - found.lower <= 1e-9 * found.upper
    assert account.certificate.notes[-1].startswith("few samples beside others: line integrals come first")
    by_lattice = getattr(ew.account(mechanism, method="lattice"), reading)(argument)
    assert by_lattice.lower <= found.upper
    assert by_lattice.upper >= found.lower


def test_lines_that_take_long_leave_time_for_others():
    mechanism = sampled(0.784, 0.01) ** 10 * ew.PoissonSampled(ew.Laplace(1.66), 0.000531) ** 2
    for alpha in (0.01, 0.12):
        found = ew.account(mechanism, direction="forward").tradeoff(alpha)
        assert found.upper - found.lower <= 1e-6 * found.upper
        by_lattice = ew.account(mechanism, direction="forward", method="lattice").tradeoff(alpha)
        assert by_lattice.lower <= found.upper
        assert by_lattice.upper >= found.lower


def test_what_graded_points_leave_wide_is_narrowed_by_lines():
    mechanism = sampled(0.45, 3e-4) ** 4 * ew.RandomizedResponse(0.3) ** 2 * ew.Laplace(1.3) ** 3
    total = TotalLoss.of(mechanism)
    found = ew.account(mechanism, direction="forward").epsilon(5e-15)
    on_points = spread.prepared(total).epsilon("forward", np.array([5e-15]))
    assert on_points.upper[0] - on_points.lower[0] > 1e-6 * on_points.upper[0]
    assert found.upper - found.lower <= 1e-9 * found.upper
    assert on_points.lower[0] <= found.lower
    assert found.upper <= on_points.upper[0]


@pytest.mark.parametrize(
    ("direction", "alpha"), [("both", 1e-5), ("both", 0.01), ("forward", 1e-7), ("backward", 1e-7)]
)
def test_many_rare_samples_and_a_few_dense_ones_make_no_line_of_a_lattice(direction, alpha):
    """Those that count are six, of much noise: what they smooth is a thousandth of the distance of the other values."""
    mechanism = (
        ew.RandomizedResponse(2.51) ** 2
        * ew.DiscreteGaussian(5.4) ** 14
        * sampled(2.67, 2.81e-5) ** 90
        * sampled(42.2, 0.0551) ** 6
        * ew.PoissonSampled(ew.Laplace(0.927), 0.357) ** 19
    )
    assert not contour.prepared(TotalLoss.of(mechanism)).usable
    account = ew.account(mechanism, direction=direction)
    assert account.certificate.method == "lattice"
    found = account.tradeoff(alpha)
    assert found.upper - found.lower <= 1e-6 * found.upper
    epsilon = np.linspace(-15.0, 15.0, 61)
    lines = 1 - np.asarray(account.delta(epsilon).upper) - np.exp(epsilon) * alpha
    assert 0.5 * found.upper < lines.max() <= found.upper  # the best of them is next to the truth
