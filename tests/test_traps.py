"""What other accountants got wrong: one test for each row of the table of traps that this package answers by now."""

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.errors import NotCertified

TESTS = Path(__file__).parent
SGD = ew.PoissonSampled(ew.Gaussian(1.0), 0.01) ** 1000


@pytest.mark.parametrize(
    ("mechanism", "delta", "least"),
    [
        (ew.PoissonSampled(ew.Gaussian(3.0), 0.2) ** 50, 1 / 48_000, 1.958),
        (SGD, 1e-5, 1.823),
    ],
)
def test_the_central_limit_under_reports_and_is_never_returned_as_a_bound(mechanism, delta, least):
    estimate = ew.account(mechanism, method="clt").epsilon(delta)
    assert estimate.value < least  # it does under-report, here as elsewhere
    assert estimate.upper == math.inf
    with pytest.raises(NotCertified, match=r"^method='clt' gives an estimate, which has no upper bound"):
        estimate.upper_bound()
    assert ew.account(mechanism).epsilon(delta).upper >= least


def test_at_rate_one_ten_steps_cost_the_exact_17_857_not_25_585():
    mechanism = ew.PoissonSampled(ew.Gaussian(1.0), 1.0) ** 10
    for method in ("auto", "clt", "edgeworth", "cornish-fisher", "saddlepoint"):
        assert ew.account(mechanism, method=method).epsilon(1e-5).value == pytest.approx(17.857, rel=1e-4), method


def test_epsilon_goes_to_zero_with_the_sampling_rate():
    """No floor of 0.103: certified epsilon falls with the rate, to nothing at a millionth."""
    found = [
        ew.account(ew.PoissonSampled(ew.Gaussian(1.0), rate) ** 10).epsilon(1e-5).upper for rate in (1e-2, 1e-3, 1e-6)
    ]
    assert found[0] > found[1] >= found[2]
    assert found[2] < 1e-3


def gaussian_delta(sigma, n, epsilon):
    """Delta of n steps of Gaussian noise, a ball with 300 digits to spare at 1e-300."""
    before, ctx.prec = ctx.prec, 2330
    try:
        e, mu, scale = arb(epsilon), arb(n).sqrt() / arb(sigma), arb(2).sqrt()
        tails = [((e / mu + side * mu / 2) / scale).erfc() / 2 for side in (-1, 1)]
        return tails[0] - e.exp() * tails[1]
    finally:
        ctx.prec = before


@pytest.mark.parametrize("mechanism", [ew.Gaussian(50.0) ** 100, ew.Gaussian(2.0), ew.Gaussian(0.5) ** 4])
def test_epsilon_of_gaussian_noise_is_monotone_and_exact_from_delta_1e_minus_1_to_1e_minus_300(mechanism):
    account = ew.account(mechanism)
    delta = 10.0 ** -np.arange(1, 301, 13)
    found = account.epsilon(delta)
    assert np.all(np.isfinite(found.upper))
    assert np.all(np.diff(found.value) > 0)
    steps = np.diff(found.value)
    assert np.all(np.abs(np.diff(steps)) < steps[:-1])  # smooth: no jump from one decade to the next
    ((step, n),) = mechanism.steps()
    for low, high, wanted in zip(found.lower.tolist(), found.upper.tolist(), delta.tolist(), strict=True):
        at = [gaussian_delta(step.noise_multiplier, n, epsilon) for epsilon in (low, high)]
        assert at[1] <= arb(wanted)
        assert at[0] >= arb(wanted) or low == 0


@pytest.mark.parametrize("method", ["auto", "clt", "edgeworth", "cornish-fisher", "saddlepoint"])
@pytest.mark.parametrize(
    "mechanism",
    [ew.Gaussian(0.01), ew.PoissonSampled(ew.Gaussian(0.05), 0.5) ** 3, ew.RandomizedResponse(100.0)],
    ids=repr,
)
def test_a_numerical_failure_is_never_an_epsilon_of_zero(mechanism, method):
    """Much leaks here: whatever happens inside, 0 would be a lie."""
    assert ew.account(mechanism, method=method).epsilon(1e-6).value > 1


@pytest.mark.parametrize("method", ["auto", "edgeworth", "saddlepoint"])
def test_true_positive_rates_never_fall_below_false_positive_rates(method):
    for direction in ("forward", "backward", "both"):
        account = ew.account(SGD, method=method, direction=direction)
        alpha = np.geomspace(1e-12, 1, 60)
        assert np.all(account.curve.power(alpha) >= alpha)
        assert np.all(account.tradeoff(alpha).upper <= 1 - alpha)


def test_one_direction_is_read_off_the_other_after_twenty_thousand_steps():
    """f and f^-1 come from one law: inverting the backward curve gives the forward one, f(.01) near .824."""
    mechanism = ew.PoissonSampled(ew.Gaussian(0.8), 256 / 50_000) ** 20_000
    forward, backward = (ew.account(mechanism, method="saddlepoint", direction=way) for way in ("forward", "backward"))
    for alpha in (1e-6, 1e-3, 0.01, 0.2):
        beta = forward.tradeoff(alpha).value
        assert backward.tradeoff(beta).value == pytest.approx(alpha, rel=1e-7)


REPEATABLE = [
    ew.Gaussian(2.0),
    ew.Laplace(2.0),
    ew.RandomizedResponse(0.5),
    ew.ApproxDP(0.3, 1e-3),
    ew.GaussianDP(0.4),
    ew.PoissonSampled(ew.Gaussian(1.0), 0.1),
    ew.PoissonSampled(ew.RandomizedResponse(1.0), 0.2),
]


@pytest.mark.parametrize("mechanism", REPEATABLE, ids=repr)
def test_repetitions_count_for_every_mechanism(mechanism):
    repeated, listed = ew.account(mechanism**5), ew.account(ew.Composed([mechanism] * 5))
    once = ew.account(mechanism)
    epsilon = np.array([0.0, 0.3, 1.0])
    assert np.array_equal(repeated.delta(epsilon).upper, listed.delta(epsilon).upper)
    assert repeated.delta(0.0).lower > once.delta(0.0).upper


def test_a_hundred_randomized_responses_cost_a_hundred_times_one():
    assert ew.account(ew.RandomizedResponse(math.log(28)) ** 100).epsilon(0.0).value == pytest.approx(333.22, rel=1e-5)


@pytest.mark.parametrize("method", ["auto", "clt", "edgeworth", "cornish-fisher", "saddlepoint"])
def test_asking_a_second_time_drops_nothing(method):
    mechanism = ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 5 * ew.Gaussian(3.0) * ew.GaussianDP(0.1)
    first, second = (ew.account(mechanism, method=method).epsilon(1e-3) for _ in range(2))
    assert (first.lower, first.value, first.upper) == (second.lower, second.value, second.upper)
    assert mechanism.releases == 7


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 10.0])
def test_gaussian_noise_is_accounted_by_its_own_formula_beyond_epsilon_one(epsilon):
    """Dwork's sigma = sqrt(2 log(1.25/delta))/eps is no guarantee for eps > 1; the formula gives another delta."""
    delta = 1e-5
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    found = ew.account(ew.Gaussian(sigma)).delta(epsilon).value
    with mp.workdps(40):
        m, e = 1 / mpf(sigma), mpf(epsilon)
        exact = mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert (found > delta) == (epsilon == 10.0)


def test_less_noise_never_costs_less():
    """Fine steps in sigma, rate and n; certified by closed forms, strictly monotone in the value."""
    sigma = 1 + np.arange(40) * 1e-3
    costs = [ew.account(ew.Gaussian(s) ** 7).epsilon(1e-6).value for s in sigma]
    assert np.all(np.diff(costs) < 0)
    costs = [ew.account(ew.PoissonSampled(ew.Gaussian(1.0), r)).delta(0.1).value for r in 0.1 + np.arange(40) * 1e-3]
    assert np.all(np.diff(costs) > 0)
    costs = [ew.account(ew.Gaussian(30.0) ** n).epsilon(1e-6).value for n in range(100, 140)]
    assert np.all(np.diff(costs) > 0)
    costs = ew.account(ew.Gaussian(1.0)).epsilon(np.geomspace(1e-12, 0.3, 50)).value
    assert np.all(np.diff(costs) < 0)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.RandomizedResponse(750.0),
        ew.PoissonSampled(ew.Laplace(0.5), 0.1),
        ew.Laplace(1e-3),
        ew.ApproxDP(1000.0, 1e-6),
    ],
    ids=repr,
)
def test_atoms_and_epsilons_beyond_709_do_not_crash(mechanism):
    account = ew.account(mechanism)
    found = account.delta(np.array([0.0, 10.0, 708.0, 710.0, 1e4]))
    assert np.all((found.upper >= found.lower) & (found.upper <= 1))
    assert np.all(np.diff(found.value) <= 0)


@pytest.mark.parametrize("method", ["clt", "edgeworth", "cornish-fisher", "saddlepoint"])
def test_a_vacuous_bound_says_so(method):
    """No uniform error bound of an expansion is dressed up as an upper epsilon: the ends are the trivial ones."""
    found = ew.account(SGD, method=method).delta(2.0)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert "not a guarantee" in str(found)


BANNED = re.compile(r"\b(np|numpy|math)\.isclose\b|assertAlmost" + "Equal")


def silent_approximations(text):
    """The lines of calls of approx that name neither rel nor abs."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "approx"]
    return [call.lineno for call in named if not {"rel", "abs"} & {keyword.arg for keyword in call.keywords}]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_is_blind_below_1e_minus_8(path):
    """isclose has an absolute tolerance of 1e-8 by default, approx one of 1e-12: both must be said aloud."""
    text = path.read_text(encoding="utf-8")
    assert silent_approximations(text) == []
    if path != Path(__file__):
        assert BANNED.findall(text) == []


def test_the_search_for_silent_approximations_finds_them():
    assert silent_approximations("x == pytest.approx(\n    1e-9\n)") == [1]
    assert silent_approximations("x == pytest.approx(1e-9, rel=1e-6)") == []


@pytest.mark.parametrize("sigma", [5.0, 50.0])
def test_the_bracket_is_narrow_relative_to_a_small_epsilon(sigma):
    """sigma 50, rate 0.001, n = 1000, delta 1e-6: .001631, where a fixed grid says .003527."""
    found = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), 0.001) ** 1000).epsilon(1e-6)
    assert found.upper <= found.lower * 1.5
