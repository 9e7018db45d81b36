"""The values that dp_accounting expects in its own tests: our upper ends are not above them beyond its tolerances.

From dp_accounting 0.6.0: pld/pld_privacy_accountant_test.py, pld/accountant_test.py and
rdp/rdp_privacy_accountant_test.py; (epsilon, delta) events and true positive rates from the first of these in the
repository google/differential-privacy at b5b0286. Where a closed form is known, our bracket contains it.
"""

from __future__ import annotations

import math

import mpmath
import pytest
from dp_accounting import NeighboringRelation, dp_event

from edgeworth.integrations.dp_accounting import EdgeworthAccountant

PLACES = 5e-8  # what its assertions allow that name no tolerance: half a unit of the seventh place
REPLACE = NeighboringRelation.REPLACE_ONE


def _ran(*runs, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    accountant = EdgeworthAccountant(relation)
    for event, count in runs:
        accountant.compose(event, count)
    return accountant


def _gaussian_delta(mu, epsilon):
    """Of the Gaussian mechanism: Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."""
    with mpmath.workdps(40):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


GAUSSIAN = dp_event.GaussianDpEvent(math.sqrt(3))
SAMPLED = dp_event.PoissonSampledDpEvent(0.2, dp_event.GaussianDpEvent(0.5))
GIVEN = dp_event.EpsilonDeltaDpEvent
SAMPLED_LAPLACE = dp_event.PoissonSampledDpEvent(0.2, dp_event.LaplaceDpEvent(0.5))


@pytest.mark.parametrize(
    ("runs", "epsilon", "delta", "of_delta", "of_epsilon"),
    [
        ([(GAUSSIAN, 1), (GAUSSIAN, 2)], 1.0, 0.126936, 1e-3, 1e-3),
        ([(SAMPLED, 1), (SAMPLED, 2)], 1.0, 0.15594, 1e-3, 1e-3),
        ([(dp_event.SelfComposedDpEvent(SAMPLED, 3), 1)], 1.0, 0.15594, 1e-3, 1e-3),
        ([(dp_event.LaplaceDpEvent(1), 3), (dp_event.LaplaceDpEvent(2), 2)], 4.0, 1e-14, 1e-6, 1e-6),
        ([(SAMPLED_LAPLACE, 1), (SAMPLED_LAPLACE, 2)], 2.46964, 1e-14, 1e-6, 1e-3),
        (
            [(dp_event.DiscreteLaplaceDpEvent(1, 1), 3), (dp_event.DiscreteLaplaceDpEvent(0.5, 1), 2)],
            4.0,
            0.0,
            1e-6,
            1e-6,
        ),
        (
            [(GIVEN(1.0, 0.0), 1), (GIVEN(2.0, 0.0), 1)],
            3.0,
            0.0,
            1e-12,
            1e-12,
        ),
    ],
    ids=["Gaussian", "sampled", "repeated", "Laplace", "sampled Laplace", "discrete Laplace", "pure"],
)
def test_the_values_of_the_pld_accountant(runs, epsilon, delta, of_delta, of_epsilon):
    accountant = _ran(*runs)
    assert accountant.get_delta(epsilon * (1 + 1e-15)) <= delta + of_delta
    assert accountant.get_epsilon(delta) <= epsilon + of_epsilon


def test_the_steps_of_all_gaussian_noise_make_one():
    bracket = _ran((GAUSSIAN, 3)).account.delta(epsilon=1.0)
    assert bracket.lower <= _gaussian_delta(1, 1) <= bracket.upper


def test_pure_privacy_adds_up():
    """At delta = 0 epsilon is the greatest loss: a sum over the steps, in closed form."""
    laplace = _ran((dp_event.LaplaceDpEvent(1), 3), (dp_event.LaplaceDpEvent(2), 2)).account.epsilon(delta=0.0)
    assert laplace.lower <= 4 <= laplace.upper
    sampled = _ran((SAMPLED_LAPLACE, 3)).account.epsilon(delta=0.0)
    with mpmath.workdps(40):
        assert sampled.lower <= 3 * mpmath.log(1 + mpmath.mpf(0.2) * (mpmath.exp(2) - 1)) <= sampled.upper


def test_a_response():
    accountant = _ran((dp_event.RandomizedResponseDpEvent(4 / (3 + math.e), 4), 1), relation=REPLACE)
    assert accountant.get_delta(1.0) <= PLACES


def test_deltas_add_up():
    """Of two steps with (1, 0.1) and (2, 0.2): 1 - 0.9 * 0.8 at epsilon = 3."""
    accountant = _ran((GIVEN(1.0, 0.1), 1), (GIVEN(2.0, 0.2), 1))
    bracket = accountant.account.delta(epsilon=3.0)
    assert bracket.lower <= 0.28 <= bracket.upper <= 0.28 * (1 + 1e-9)
    assert accountant.get_epsilon(0.28 * (1 + 1e-9)) <= 3.0 * (1 + 1e-9)
    assert accountant.get_true_positive_rates(0.1) <= 0.91938 + 1e-3


def test_mu_is_finite_over_tests_that_can_be_run_even_where_something_is_disclosed():
    """dp_accounting says inf. The best test with 1e-12 false alarms finds what is disclosed, and little more."""
    event = GIVEN(1.0, 0.28)
    with mpmath.workdps(40):
        found = 0.28 + 0.72 * mpmath.e * mpmath.mpf("1e-12") / 0.72
        least = mpmath.sqrt(2) * (mpmath.erfinv(2 * found - 1) - mpmath.erfinv(2 * mpmath.mpf("1e-12") - 1))
    assert least * (1 - 1e-9) <= _ran((event, 1)).get_gdp_parameter_estimate() <= least * (1 + 1e-4)


def test_true_positive_rates_and_mu():
    gaussian = _ran((GAUSSIAN, 3))
    assert gaussian.get_true_positive_rates(0.1) <= 0.38914 + 1e-3
    assert gaussian.get_gdp_parameter_estimate() <= 1 + 1e-3
    pure = _ran((GIVEN(1.0, 0.0), 1), (GIVEN(2.0, 0.0), 1))
    assert pure.get_true_positive_rates(0.1) <= 0.8286 + 1e-3
    assert pure.get_gdp_parameter_estimate([0.005, 0.5]) <= 2.358 + 1e-3


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta", "queries", "scale"),
    [(21, 3, 0, 10, 70), (1, 1, 1e-4, 20, 13.6), (0.5, 1, 1e-4, 20, 6.8), (1, 1, 1e-4, 500, 71.0)],
)
def test_the_smallest_laplace_noise(sensitivity, epsilon, delta, queries, scale):
    found = _ran((dp_event.LaplaceDpEvent((scale + 0.1) / sensitivity), queries))
    assert found.get_epsilon(delta) <= epsilon


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta", "queries", "rate"),
    [(2, 3, 0, 5, 0.3), (1, 1, 1e-4, 20, 0.073), (5, 1, 1e-4, 20, 0.014)],
)
def test_the_smallest_discrete_laplace_noise(sensitivity, epsilon, delta, queries, rate):
    found = _ran((dp_event.DiscreteLaplaceDpEvent(rate - 1e-3, sensitivity), queries))
    assert found.get_epsilon(delta) <= epsilon


@pytest.mark.parametrize(("sensitivity", "queries", "deviation"), [(1, 1, 1 / 3), (6, 25, 10)])
def test_the_smallest_gaussian_noise(sensitivity, queries, deviation):
    found = _ran((dp_event.GaussianDpEvent((deviation + PLACES) / sensitivity), queries))
    assert found.get_delta(1.0) <= 0.78760074


@pytest.mark.parametrize(
    ("queries", "sensitivity", "rate", "deviation"), [(1, 1, 0.01, 0.67379294682), (25, 6, 0.001, 3.20956502598)]
)
def test_the_smallest_subsampled_gaussian_noise(queries, sensitivity, rate, deviation):
    noise = dp_event.GaussianDpEvent((deviation + PLACES) / sensitivity)
    found = _ran((dp_event.PoissonSampledDpEvent(rate, noise), queries))
    assert found.get_epsilon(1e-5) <= 1.0


@pytest.mark.parametrize(
    ("event", "count", "delta", "epsilon"),
    [
        (dp_event.GaussianDpEvent(4.530877117), 1, 1e-6, 1.0),
        (dp_event.LaplaceDpEvent(1 / 100.0), 1, 1e-10, 100.0),
        (dp_event.LaplaceDpEvent(1 / 1.0), 100, 1e-10, 100.0),
    ],
)
def test_the_values_of_the_rdp_accountant(event, count, delta, epsilon):
    assert _ran((event, count)).get_epsilon(delta) <= epsilon + PLACES
