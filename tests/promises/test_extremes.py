"""Far outside of what anyone runs there is still an answer, and it holds."""

from fractions import Fraction

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.contour.quadrature import even_nodes
from edgeworth.errors import ComputationFailed, InvalidArgument, TooLarge


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(0.03, 0.5, 3), (0.001, 0.3, 100)])
def test_with_next_to_no_noise_a_record_is_seen_whenever_it_is_sampled(sigma, rate, steps):
    """delta = 1 - (1 - rate)^steps at every eps that is small beside 1/sigma^2."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps)
    found = account.delta(3.0)
    assert found.lower <= 1 - (1 - rate) ** steps <= found.upper
    assert found.upper - found.lower < 1e-9


def test_what_is_always_disclosed_costs_every_epsilon_and_no_warning():
    account = ew.account(ew.ApproxDP(1.0, 1.0))
    assert account.epsilon(np.array([1e-5, 0.5])).lower.tolist() == [np.inf, np.inf]
    assert account.tradeoff(0.1).upper == 0


def test_of_noise_whose_square_is_no_float_every_epsilon_is_infinite():
    assert ew.account(ew.Gaussian(1e-300) * ew.Gaussian(1.0)).epsilon(1e-5).lower == np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: ew.account(ew.Laplace(5e-324)),
            "sensitivity=1.0 over scale=5e-324 is larger than every float; give a larger scale",
        ),
        (lambda: ew.Gaussian(1.0) ** 10**400, "count is larger than every float; give an int >= 0"),
        (
            lambda: ew.account(ew.Gaussian(1.0), direction=np.empty(0)),
            "direction=array([], dtype=float64) is unknown; give one of 'both', 'forward', 'backward'",
        ),
    ],
)
def test_what_no_float_can_hold_is_refused_by_name(given, message):
    with pytest.raises(InvalidArgument) as refused:
        given()
    assert str(refused.value) == message


def test_a_tolerance_may_be_a_fraction():
    account = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 100, tolerance=Fraction(1, 3))
    assert account.tolerance == 1 / 3
    assert account.epsilon(1e-5).upper > 0


def test_an_epsilon_whose_square_is_no_float_has_no_delta():
    assert ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 100).delta(1e300).upper < 1e-300


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_left_of_a_mean_whose_exponential_is_no_float_delta_is_1_less_little_without_a_warning(direction):
    """The overlap of the laws is read there, e^eps times something that underflows."""
    account = ew.account(ew.PoissonSampled(ew.Laplace(0.3), 0.5) ** 3_000, direction=direction)
    middle = account.epsilon(0.5).value
    assert middle > 1_000
    found = account.delta(middle - np.array([0.0, 60.0, 150.0, 400.0]))
    assert found.lower[0] <= 0.5 <= found.upper[0]
    assert np.all(np.diff(found.value) > 0)
    assert np.all(found.width < 1e-5)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.PoissonSampled(ew.Laplace(961.46), 0.988) ** 524
        * ew.ApproxDP(96.1, 2e-278) ** 4
        * ew.DiscreteGaussian(12.65, 2) ** 2,
        ew.DiscreteGaussian(0.068) ** 40 * ew.PoissonSampled(ew.RandomizedResponse(2.8e-6), 1e-300) ** 384,
        ew.PoissonSampled(ew.Gaussian(0.2145), 2.15e-67) ** 1975,
    ],
    ids=["a loss of hundreds beside tiny ones", "a lattice of no spacing", "jumps that never happen"],
)
def test_extremes_beside_one_another_are_answered_without_a_warning(mechanism):
    account = ew.account(mechanism)
    for found in (account.epsilon(1e-5), account.delta(1.0), account.tradeoff(0.1)):
        assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("reading", ["epsilon", "tradeoff"])
def test_a_line_for_a_loss_whose_variance_underflows_is_refused_by_name(reading):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 1e-300) ** 100, method="contour")
    with pytest.raises(ComputationFailed, match="the variance of the loss underflows: no line can be placed"):
        getattr(account, reading)(0.1)


@pytest.mark.parametrize("n", [3, 1000, 10**9, 10**15])
def test_a_line_for_hardly_any_loss_is_answered(n):
    """Each sample has mu = 7e-6 and a rate of 2e-12."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(133_718.0), 1.69e-12) ** n, method="contour")
    for found in (account.epsilon(1e-20), account.delta(1e-17), account.tradeoff(0.3)):
        assert found.lower <= found.value <= found.upper


def test_a_quadrature_of_too_many_points_is_refused_by_name():
    with pytest.raises(TooLarge, match="the quadrature of the loss would need 20000000 points"):
        even_nodes(1e-6, (-10.0, 10.0))
