"""What the paper claims, as assertions against the truth; where a claim is false, the truth about it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edgeworth.paper.experiments import (
    CLT,
    EDGEWORTH,
    FULL,
    LAPLACE,
    NUMERICAL,
    SGD,
    SGD_ROOT,
    account_of,
    curve_of,
    reference_of,
    sup_error,
)
from edgeworth.paper.figures import edgeworth_of
from edgeworth.paper.orders import DESIGNS, measure
from edgeworth.paper.tables import _true_epsilon, change_point

EVERYWHERE = [(LAPLACE, n) for n in FULL.laplace_errors] + [
    (experiment, n) for experiment in (SGD, SGD_ROOT) for n in FULL.sgd_errors
]
EACH = pytest.mark.parametrize(("experiment", "n"), EVERYWHERE, ids=lambda part: getattr(part, "name", str(part)))


@EACH
def test_edgeworth_beats_the_central_limit(experiment, n):
    assert sup_error(experiment, n, EDGEWORTH) < sup_error(experiment, n, CLT)
    assert sup_error(experiment, n, EDGEWORTH, raw=True) < sup_error(experiment, n, CLT)


@pytest.mark.parametrize(("experiment", "n"), [(LAPLACE, 2), (LAPLACE, 10), (SGD, 5), (SGD_ROOT, 500)])
def test_the_truth_is_inside_the_proved_bracket(experiment, n):
    alphas = np.linspace(0.01, 0.99, 99)
    bracket = account_of(experiment, n, NUMERICAL).tradeoff(alphas)
    truth = reference_of(experiment, n)(alphas)
    assert np.all(bracket.lower <= truth + 1e-11)
    assert np.all(truth <= bracket.upper + 1e-11)
    assert np.max(np.abs(bracket.value - truth)) < 2e-5


@pytest.mark.parametrize("n", FULL.sgd_errors[1:])
def test_in_its_unproved_regime_the_central_limit_does_not_improve(n):
    assert sup_error(SGD, n, CLT) > sup_error(SGD, FULL.sgd_errors[0], CLT)
    assert sup_error(SGD, n, EDGEWORTH) < 0.2 * sup_error(SGD, n, CLT)


def test_in_its_proved_regime_the_central_limit_improves_and_edgeworth_more():
    clt, expansion = ([sup_error(SGD_ROOT, n, method) for n in FULL.sgd_errors] for method in (CLT, EDGEWORTH))
    assert np.all(np.diff(clt) < 0)
    assert expansion[-1] / expansion[1] < 0.5 * clt[-1] / clt[1]


@pytest.mark.parametrize("n", FULL.laplace_errors)
def test_edgeworth_predicts_the_change_point_better_than_the_central_limit(n):
    """At equal delta. Below 1e-2 a single release has only the chord that ends the expansion."""
    for level in (3e-2, 1e-2) if n == 1 else (3e-2, 1e-2, 1e-3):
        truth = _true_epsilon(n, level)
        assert abs(change_point(n, EDGEWORTH, level) - truth) < abs(change_point(n, CLT, level) - truth)


def test_against_n_theta_itself_the_central_limit_is_nearer_at_ten_releases():
    end = 3 * math.sqrt(10)
    assert abs(change_point(10, CLT, 1e-2) - end) < abs(change_point(10, EDGEWORTH, 1e-2) - end)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_expansion_understates_epsilon_for_laplace_noise(n):
    assert change_point(n, EDGEWORTH, 1e-2) < _true_epsilon(n, 1e-2) < change_point(n, CLT, 1e-2)


def test_a_higher_degree_helps_many_steps_and_not_one():
    many = [sup_error(SGD, 500, edgeworth_of(degree)) for degree in range(7)]
    assert np.all(np.diff(many) < 0)
    one = [sup_error(LAPLACE, 1, edgeworth_of(degree)) for degree in range(7)]
    assert one[3] > one[2]


@pytest.mark.parametrize("n", [1, 5, 50])
def test_symmetrised_noisy_sgd_is_below_both_directions(n):
    g = curve_of(SGD, n, EDGEWORTH)
    alphas = np.linspace(0.01, 0.99, 99)
    assert np.all(g.symmetrise()(alphas) <= np.minimum(g(alphas), g.inverse()(alphas)) + 1e-12)


def test_orders_on_the_exponential_pair():
    found = measure(DESIGNS[0], 8)
    assert found.slopes == pytest.approx(found.theory, abs=0.1)
    assert found.last_slopes == pytest.approx([-0.5, -1.0, -1.5, -2.0, -2.5], abs=0.02)


def test_orders_on_noisy_sgd_with_growing_noise():
    """Cumulants of one step fall twice as fast as for a fixed law: whole powers of n."""
    found = measure(DESIGNS[1], 8)
    assert found.theory == pytest.approx([-1.0, -2.0, -3.0, -4.0], abs=0)
    assert found.slopes == pytest.approx(found.theory, abs=0.1)


def test_orders_on_noisy_sgd_with_falling_rate():
    found = measure(DESIGNS[2], 8)
    assert found.last_slopes[:3] == pytest.approx(found.theory[:3], abs=0.1)
