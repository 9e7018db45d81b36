"""What may be spent, said in four ways; each refused, converted and kept to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.errors import InvalidArgument
from edgeworth.ledger import Budget

KINDS = "give epsilon and delta, or mu, or points, or tradeoff"
REFUSED = [
    ({}, f"a budget cannot be made of nothing; {KINDS}"),
    ({"epsilon": 1.0}, f"a budget cannot be made of epsilon; {KINDS}"),
    ({"delta": 1e-5}, f"a budget cannot be made of delta; {KINDS}"),
    ({"delta": 1e-5, "mu": 1.0}, f"a budget cannot be made of delta and mu; {KINDS}"),
    (
        {"epsilon": 1.0, "delta": 1e-5, "mu": 1.0},
        f"a budget cannot be made of epsilon and delta and mu; {KINDS}",
    ),
    ({"epsilon": float("nan"), "delta": 0.1}, "epsilon=nan is out of range; give a finite number"),
    ({"epsilon": 1.0, "delta": 2}, "delta=2.0 is out of range; give a number between 0 and 1"),
    ({"mu": -1}, "mu=-1.0 is out of range; give a finite number >= 0"),
    ({"points": []}, "points is empty; give pairs (epsilon, delta)"),
    ({"points": [3]}, "points has 3, which is not a pair; give pairs (epsilon, delta)"),
    ({"points": 3}, "points=3 is not a list of pairs; give pairs (epsilon, delta)"),
    ({"tradeoff": 3}, "tradeoff=3 is not a curve; give one, such as GaussianTradeOff(mu=1.0)"),
]


@pytest.mark.parametrize(("given_as", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(given_as, message):
    with pytest.raises(InvalidArgument) as refused:
        Budget(**given_as)
    assert str(refused.value) == message


def test_a_dictionary_that_is_no_budget_is_refused():
    with pytest.raises(InvalidArgument) as refused:
        Budget.from_dict({"sigma": 1})
    assert str(refused.value) == "budget={'sigma': 1} is not a budget; give epsilon and delta, or mu, or points"


@pytest.mark.parametrize(
    ("budget", "shown"),
    [
        (Budget(epsilon=3, delta=1e-5), "Budget(epsilon=3.0, delta=1e-05)"),
        (Budget(mu=1), "Budget(mu=1.0)"),
        (Budget(points=[(1, 0.1), (2, 0.01)]), "Budget(points=<2 pairs of epsilon and delta>)"),
        (Budget(tradeoff=ew.ApproxDPTradeOff(1.0, 0.1)), "Budget(epsilon=1.0, delta=0.1)"),
        (Budget(tradeoff=ew.GaussianTradeOff(1.0)), "Budget(points=<160 pairs of epsilon and delta>)"),
    ],
)
def test_a_budget_is_shown_and_survives_json(budget, shown):
    assert repr(budget) == shown
    again = Budget.from_dict(json.loads(json.dumps(budget.to_dict())))
    assert again == budget
    assert hash(again) == hash(budget)


def gaussian_delta(mu, epsilon):
    return mp.ncdf(-epsilon / mu + mu / 2) - mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2)


@settings(max_examples=25)
@given(st.floats(0.01, 30), st.integers(1, 60))
def test_the_largest_mu_is_rounded_down_and_tight(epsilon, decimals):
    delta = 10.0**-decimals
    mu = Budget(epsilon=epsilon, delta=delta).largest_mu()
    with mp.workdps(150):
        assert gaussian_delta(mpf(mu), mpf(epsilon)) <= mpf(delta)
        assert gaussian_delta(mpf(mu) * (1 + mpf(10) ** -9), mpf(epsilon)) > mpf(delta)


def test_a_budget_without_delta_has_no_mu():
    assert Budget(epsilon=1.0, delta=0.0).largest_mu() == 0.0


@settings(max_examples=20)
@given(st.floats(0.02, 10))
def test_a_gaussian_curve_admits_what_is_above_it_and_nothing_below(mu):
    budget = Budget(tradeoff=ew.GaussianTradeOff(mu))
    assert budget.allows(ew.GaussianDP(mu * (1 - 1e-3)))
    assert not budget.allows(ew.GaussianDP(mu))
    assert not budget.allows(ew.GaussianDP(mu * (1 + 1e-6)))


def test_a_curve_of_straight_lines_is_kept_everywhere():
    polygon = ew.PiecewiseLinear([0.0, 0.1, 0.4, 1.0], [0.99, 0.7, 0.3, 0.0])
    budget = Budget(tradeoff=polygon)
    # lines: slopes 2.9, 4/3 and 1/2; those below the diagonal and their mirror images
    for epsilon, delta in budget.points:
        for alpha, beta in zip(polygon.alpha, polygon.beta, strict=True):
            line = 1 - delta - mp.exp(mpf(epsilon)) * mpf(float(alpha))
            mirrored = (1 - delta - mpf(float(alpha))) * mp.exp(-mpf(epsilon))
            assert min(line, mirrored) <= mpf(float(beta)) * (1 + mpf(10) ** -9)
    assert budget.allows(ew.ApproxDP(0.1, 0.0))
    assert not budget.allows(ew.ApproxDP(0.1, 0.005))  # below the curve at alpha = 1 - 0.005
    assert not budget.allows(ew.RandomizedResponse(1.0))


def test_a_curve_that_is_not_symmetric_binds_both_ways():
    curve = ew.PiecewiseLinear([0.0, 0.05, 1.0], [1.0, 0.7, 0.0])
    mirrored = curve.inverse()
    first, second = Budget(tradeoff=curve), Budget(tradeoff=mirrored)
    for mechanism in (ew.RandomizedResponse(e) for e in (0.1, 0.3, 0.35, 0.36, 0.5, 1.0, 2.0)):
        account = ew.account(mechanism)
        above = all(account.tradeoff(a).lower >= curve(a) for a in (0.01, 0.05, 0.2, 0.6, 0.7, 0.8, 0.95))
        assert first.allows(mechanism) == second.allows(mechanism) == above, mechanism


def test_no_privacy_and_perfect_privacy_as_curves():
    everything = Budget(tradeoff=ew.PiecewiseLinear([0.0, 1.0], [0.0, 0.0]))
    assert everything.allows(ew.Gaussian(0.01))
    nothing = Budget(tradeoff=ew.Identity())
    assert nothing.allows(ew.Composed(()))
    assert not nothing.allows(ew.GaussianDP(1e-3))


def test_several_points_are_all_kept():
    budget = Budget(points=[(1.0, 1e-2), (3.0, 1e-10)])
    mechanism = ew.GaussianDP(0.5)
    found = ew.account(mechanism).delta([1.0, 3.0]).upper
    assert found[0] <= 1e-2
    assert found[1] > 1e-10
    assert not budget.allows(mechanism)
    assert Budget(points=[(1.0, 1e-2)]).allows(mechanism)


def test_no_delta_at_all_means_that_no_loss_is_larger():
    """A delta of 1e-500 underflows; it is not 0."""
    assert not Budget(epsilon=50.0, delta=0.0).allows(ew.Gaussian(1.0))
    assert Budget(epsilon=1.0, delta=0.0).allows(ew.Laplace(20.0) ** 20)
    assert not Budget(epsilon=0.99, delta=0.0).allows(ew.Laplace(20.0) ** 20)
    assert not Budget(epsilon=1.0, delta=0.0).allows(ew.ApproxDP(0.5, 1e-300))
