"""What an attacker can do: closed forms, brute force, invariants, trivial ends of estimates, refusals."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.errors import InvalidArgument, NotCertified

SGD = ew.PoissonSampled(ew.Gaussian(0.8), 256 / 50_000) ** 5000
few = settings(max_examples=15, deadline=None)
shares = st.floats(1e-6, 1 - 1e-6)


def gaussian_power(mu, alpha):
    """1 - G_mu(alpha) in 40 digits."""
    with mp.workdps(40):
        z = mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))  # Phi^-1(1 - alpha)
        return mp.ncdf(mp.mpf(mu) - z)


def contains(bracket, truth):
    return bracket.lower <= truth <= bracket.upper


@pytest.mark.parametrize("fpr", [1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
def test_true_positive_rates_of_gaussian_noise(sigma, fpr):
    risk = ew.account(ew.Gaussian(sigma)).risk
    truth = gaussian_power(1 / mp.mpf(sigma), fpr)
    found = risk.tpr(fpr)
    assert contains(found, truth)
    assert abs(found.value / truth - 1) < 1e-3 + 1e-15 / fpr
    assert contains(risk.relative_risk(fpr), truth / mp.mpf(fpr))
    for prior in (1e-4, 0.1, 0.5, 0.99):
        with mp.workdps(40):
            right, wrong = mp.mpf(prior) * truth, (1 - mp.mpf(prior)) * mp.mpf(fpr)
            assert contains(risk.posterior(prior, fpr), right / (right + wrong))


@few
@given(st.floats(0.05, 8), shares)
def test_randomized_response_is_exact(epsilon, fpr):
    """f(alpha) = max(0, 1 - e^eps alpha, e^-eps (1 - alpha))."""
    risk = ew.account(ew.RandomizedResponse(epsilon)).risk
    e = mp.e ** mp.mpf(epsilon)
    truth = min(1, e * mp.mpf(fpr), 1 - (1 - mp.mpf(fpr)) / e)
    assert contains(risk.tpr(fpr), truth)
    assert contains(risk.advantage, mp.tanh(mp.mpf(epsilon) / 2))
    assert contains(risk.relative_risk(fpr), truth / mp.mpf(fpr))


@few
@given(st.floats(0.2, 5), shares)
def test_bayes_error_is_the_least_over_all_tests(sigma, prior):
    risk = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), 0.3)).risk
    small = np.geomspace(1e-12, 0.5, 2000)
    alpha = np.concatenate([[0.0], small, 1 - small, [1.0]])
    tried = np.min((1 - prior) * alpha + prior * np.asarray(risk.account.tradeoff(alpha).upper))
    found = risk.bayes_error(prior)
    assert found.lower <= tried
    assert tried <= found.value + 1e-3 * prior * (1 - prior)
    assert found.upper <= min(prior, 1 - prior)


@few
@given(st.floats(0.2, 5), shares)
def test_bayes_error_does_not_care_which_hypothesis_is_called_which(sigma, prior):
    risk = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), 0.3)).risk
    assert risk.bayes_error(prior).value == pytest.approx(risk.bayes_error(1 - prior).value, rel=1e-9)


def test_bayes_error_at_even_odds_is_half_of_what_the_advantage_leaves():
    risk = ew.account(SGD).risk
    assert risk.bayes_error().value == pytest.approx((1 - risk.advantage.value) / 2, rel=1e-12)


def test_advantage_is_the_greatest_gap_between_the_rates():
    risk = ew.account(SGD).risk
    alpha = np.linspace(0.3, 0.45, 61)
    gaps = np.asarray(risk.tpr(alpha).value) - alpha
    assert gaps.max() <= risk.advantage.upper
    assert gaps.max() == pytest.approx(risk.advantage.value, rel=1e-4)


@few
@given(st.lists(shares, min_size=2, max_size=6))
def test_rates_are_in_order(rates):
    """TPR >= FPR, growing with FPR; relative risk between 1 and 1/FPR, falling."""
    fpr = np.unique(rates)
    risk = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1)).risk
    power, ratio = risk.tpr(fpr), risk.relative_risk(fpr)
    assert np.all(power.lower >= fpr)
    assert np.all(np.diff(power.value) >= 0)
    assert np.all((ratio.lower >= 1) & (ratio.upper <= (1 + 1e-15) / fpr))
    assert np.all(np.diff(ratio.value) <= 1e-9 * ratio.value[:-1])


def test_an_accusation_never_lowers_the_belief():
    risk = ew.account(SGD).risk
    prior = np.array([0.0, 1e-9, 0.01, 0.5, 0.99, 1.0])
    found = risk.posterior(prior, 0.05)
    assert np.all(found.upper >= prior)
    assert found.value[0] == 0.0
    assert found.upper[-1] == 1.0


def test_the_ends_of_the_range():
    risk = ew.account(ew.Gaussian(1.0)).risk
    assert risk.tpr(0.0).upper < 1e-11
    assert risk.tpr(1.0).value == 1.0
    assert (risk.relative_risk(0.0).lower, risk.relative_risk(0.0).upper) == (1.0, math.inf)
    assert (risk.posterior(0.3, 0.0).lower, risk.posterior(0.3, 0.0).upper) == (0.3, 1.0)
    assert risk.bayes_error(0.0).upper == risk.bayes_error(1.0).upper == 0.0
    leaky = ew.account(ew.ApproxDP(0.5, 0.01)).risk
    assert leaky.tpr(0.0).value == pytest.approx(0.01, rel=1e-9)
    assert leaky.posterior(0.3, 0.0).lower == pytest.approx(1.0, rel=1e-12)


def test_shapes_follow_the_arguments():
    risk = ew.account(ew.Gaussian(1.0)).risk
    assert type(risk.tpr(0.1).value) is float
    assert risk.tpr(np.full((2, 3), 0.1)).value.shape == (2, 3)
    assert risk.posterior([0.1, 0.2], 0.01).value.shape == (2,)
    assert risk.posterior(np.full((2, 1), 0.1), np.full(3, 0.2)).value.shape == (2, 3)
    assert risk.bayes_error([0.1, 0.5]).value.shape == (2,)


def test_an_estimate_has_trivial_ends_everywhere():
    risk = ew.account(SGD, method="edgeworth").risk
    assert (risk.tpr(0.1).lower, risk.tpr(0.1).upper) == (0.1, 1.0)
    assert (risk.advantage.lower, risk.advantage.upper) == (0.0, 1.0)
    assert risk.relative_risk(0.1).lower == 1.0
    assert risk.relative_risk(0.1).upper == pytest.approx(10, rel=1e-14)
    assert (risk.bayes_error(0.25).lower, risk.bayes_error(0.25).upper) == (0.0, 0.25)
    assert (risk.mu.mu.lower, risk.mu.mu.upper) == (0.0, math.inf)
    for found in (risk.tpr(0.1), risk.advantage, risk.posterior(0.5), risk.mu.mu, risk.mu.distance, risk.mu.shortfall):
        with pytest.raises(NotCertified, match=r"^method='edgeworth' gives an estimate, which has no upper bound"):
            found.upper_bound()
    certified = ew.account(SGD).risk
    assert risk.tpr(0.1).value == pytest.approx(certified.tpr(0.1).value, rel=0.01)
    assert risk.bayes_error().value == pytest.approx(certified.bayes_error().value, rel=0.01)


def test_risk_takes_both_directions():
    one_sided, both = ew.account(SGD, direction="forward").risk, ew.account(SGD).risk
    assert one_sided.account.direction == "both"
    assert one_sided.tpr(0.01).upper == both.tpr(0.01).upper


def test_groups_have_risks_of_their_own():
    """A pair of records under noise 2 is one record under noise 1."""
    pair, alone = ew.account(ew.Gaussian(2.0)).group(2).risk, ew.account(ew.Gaussian(1.0)).risk
    assert pair.tpr(0.01).upper == pytest.approx(alone.tpr(0.01).upper, rel=1e-9)
    assert pair.mu.mu.upper == pytest.approx(1.0, rel=1e-5)
    assert pair.mu.mu.upper >= 1.0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda risk: risk.tpr(1.5), r"^fpr=1.5 is out of range; give numbers between 0 and 1$"),
        (lambda risk: risk.posterior(-0.1), r"^prior=-0.1 is out of range; give numbers between 0 and 1$"),
        (lambda risk: risk.bayes_error(math.nan), r"^prior=nan has a nan; give real numbers$"),
        (lambda risk: risk.rdp(0.5), r"^order=0.5 is out of range; give numbers >= 1$"),
        (lambda risk: risk.zcdp(1.0), r"^largest_order=1.0 is out of range; give a number > 1$"),
        (
            lambda risk: risk.gaussian(smallest_error=0.5),
            r"^smallest_error=0.5 is out of range; give a number between 0 and 0.5$",
        ),
    ],
)
def test_bad_arguments_are_named(ask, message):
    with pytest.raises(InvalidArgument, match=message):
        ask(ew.account(ew.Gaussian(1.0)).risk)
