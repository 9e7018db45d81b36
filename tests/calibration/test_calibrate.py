"""Calibration keeps its target, wastes nothing, finds its own way, and says what can be reached."""

import functools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.errors import InvalidArgument, Unsupported

few = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
fewer = settings(few, max_examples=5)
SLIGHTLY = 1e-5


def sgd(sigma, rate=256 / 50_000, steps=5000):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps


def analytic_gaussian(epsilon, delta):
    """The least sigma of one release: Phi(1/(2s) - eps s) - e^eps Phi(-1/(2s) - eps s) = delta, in 50 digits."""
    with mp.workdps(50):
        e, d = mp.mpf(epsilon), mp.mpf(delta)

        def excess(log_sigma):
            s = mp.exp(log_sigma)
            return mp.log(mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)) - mp.log(d)

        low, high = mp.mpf(-12), mp.mpf(40)
        while high - low > mp.mpf(10) ** -20:
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return mp.exp(high)


# --- closed forms -----------------------------------------------------------------------------------------


@few
@given(st.floats(-3, 1.5), st.floats(-12, -1), st.integers(1, 10_000))
def test_gaussian_noise_is_the_analytic_gaussian_mechanism(log_epsilon, log_delta, n):
    epsilon, delta = 10**log_epsilon, 10**log_delta
    found = ew.calibrate(lambda sigma: ew.Gaussian(sigma) ** n, epsilon=epsilon, delta=delta)
    truth = analytic_gaussian(epsilon, delta) * mp.sqrt(n)
    assert 0 <= found.value / truth - 1 <= 1.1e-6
    assert found.evaluations <= 6


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6, 1e12])
def test_the_scale_of_the_parameter_does_not_matter(scale):
    found = ew.calibrate(lambda x: ew.Gaussian(x / scale), epsilon=1.0, delta=1e-5)
    assert 0 <= found.value / (analytic_gaussian(1.0, 1e-5) * scale) - 1 <= 1.1e-6
    found = ew.calibrate(lambda x: ew.Gaussian(scale / x), epsilon=1.0, delta=1e-5)
    assert -1.1e-6 <= found.value / (scale / analytic_gaussian(1.0, 1e-5)) - 1 <= 0


@few
@given(st.floats(0.01, 20), st.integers(1, 30))
def test_pure_privacy_of_laplace_noise_and_randomized_response(epsilon, n):
    noise = ew.calibrate(ew.Laplace, epsilon=epsilon, delta=0.0)
    assert 0 <= noise.value * epsilon - 1 <= 1.1e-6
    answers = ew.calibrate(lambda e: ew.RandomizedResponse(e) ** n, epsilon=epsilon, delta=0.0)
    assert -1.1e-6 <= answers.value * n / epsilon - 1 <= 0


@few
@given(st.floats(1e-3, 20), st.integers(1, 1000))
def test_mu_of_gaussian_noise(mu, n):
    truth = mp.sqrt(n) / mp.mpf(mu)
    by_mu = ew.calibrate(lambda sigma: ew.Gaussian(sigma) ** n, mu=mu)
    by_curve = ew.calibrate(lambda sigma: ew.Gaussian(sigma) ** n, tradeoff=ew.GaussianTradeOff(mu))
    for found in (by_mu, by_curve):
        assert 0 <= found.value / truth - 1 <= 1.1e-6


@few
@given(st.floats(1e-4, 0.99))
def test_advantage_of_gaussian_noise(advantage):
    """delta(0) = 2 Phi(mu/2) - 1."""
    truth = 1 / (2 * mp.sqrt(2) * mp.erfinv(mp.mpf(advantage)))
    assert 0 <= ew.calibrate(ew.Gaussian, advantage=advantage).value / truth - 1 <= 1.1e-6


@few
@given(st.floats(-6, -0.5), st.floats(0.01, 0.99))
def test_true_positive_rate_of_gaussian_noise(log_fpr, share):
    fpr = 10**log_fpr
    tpr = fpr + share * (1 - fpr)
    mu = mp.sqrt(2) * (mp.erfinv(2 * mp.mpf(tpr) - 1) - mp.erfinv(2 * mp.mpf(fpr) - 1))
    found = ew.calibrate(ew.Gaussian, tpr=tpr, fpr=fpr)
    assert -1e-9 <= found.value * mu - 1 <= 1.1e-6
    assert found.achieved["tpr"].upper_bound() <= tpr


# --- laws -------------------------------------------------------------------------------------------------


@fewer
@given(st.floats(0.5, 8), st.floats(-10, -3), st.floats(0.002, 0.05), st.integers(500, 20_000))
def test_noise_of_sgd_meets_the_target_and_slightly_less_does_not(epsilon, log_delta, rate, steps):
    delta = 10**log_delta
    found = ew.noise_multiplier(epsilon=epsilon, delta=delta, rate=rate, steps=steps, sampler="poisson")
    assert found.achieved["epsilon"].upper_bound() <= epsilon
    assert found.account.epsilon(delta).upper_bound() <= epsilon
    assert found.mechanism == sgd(found.value, rate, steps)
    assert ew.account(sgd(found.value * (1 - SLIGHTLY), rate, steps)).epsilon(delta).lower_bound() > epsilon
    assert 0 < 1 - found.missed_at / found.value <= 1.1e-6
    assert found.evaluations <= 8


@fewer
@given(st.floats(0.3, 6), st.floats(0.6, 3), st.floats(0.005, 0.05))
@example(1 / 3, 2.6561749257202245, 0.013)  # its estimates fall from 4 steps to 64
def test_steps_of_sgd_meet_the_target_and_one_more_does_not(epsilon, sigma, rate):
    found = ew.max_steps(epsilon=epsilon, delta=1e-6, noise_multiplier=sigma, rate=rate, sampler="poisson")
    assert type(found.value) is int
    assert found.missed_at == found.value + 1
    if found.value:
        assert found.account.epsilon(1e-6).upper_bound() <= epsilon
    assert ew.account(sgd(sigma, rate, found.value + 1)).epsilon(1e-6).upper_bound() > epsilon


@fewer
@given(st.floats(1, 6), st.floats(0.8, 3))
def test_rates_of_sgd_meet_the_target_and_slightly_more_does_not(epsilon, sigma):
    found = ew.max_rate(epsilon=epsilon, delta=1e-6, noise_multiplier=sigma, steps=2000, sampler="poisson")
    assert found.account.epsilon(1e-6).upper_bound() <= epsilon
    more = found.value * (1 + SLIGHTLY)
    assert ew.account(sgd(sigma, more, 2000)).epsilon(1e-6).lower_bound() > epsilon


TARGETS = [
    {"epsilon": 2.0, "delta": 1e-5},
    {"mu": 0.5},
    {"tpr": 0.05, "fpr": 0.01},
    {"advantage": 0.15},
    {"tradeoff": ew.LaplaceTradeOff(2.0)},
    {"tradeoff": ew.ApproxDPTradeOff(2.0, 1e-5)},
]


@functools.cache
def calibrated(number):
    """The noise for one of the targets, found once for all tests of it."""
    return ew.calibrate(sgd, **TARGETS[number])


@pytest.mark.parametrize("number", range(6), ids=lambda number: str(TARGETS[number]))
def test_every_kind_of_target_is_met_and_not_wasted(number):
    target, found = TARGETS[number], calibrated(number)
    (reading,) = found.achieved.values()
    (limit,) = [1.0 if name == "tradeoff" else target[name] for name in found.achieved]
    assert reading.upper_bound() <= limit
    assert reading.value == pytest.approx(limit, rel=1e-4)
    assert found.missed_at < found.value < found.missed_at * (1 + 1.1e-6)


def test_an_approximate_curve_is_the_same_target_as_epsilon_and_delta():
    one, other = calibrated(0), calibrated(5)
    assert one.value == pytest.approx(other.value, rel=2e-6)


@pytest.mark.parametrize("number", range(1, 5), ids=lambda number: str(TARGETS[number]))
def test_curves_lie_where_the_target_wants_them(number):
    """Whatever was asked for, by readings of f alone."""
    target, f = TARGETS[number], calibrated(number).account
    alpha = np.geomspace(1e-10, 0.45, 40)
    miss = np.asarray(f.tradeoff(alpha).upper)
    if "mu" in target:
        assert np.all(miss >= ew.GaussianTradeOff(target["mu"])(alpha) * (1 - 1e-12))
    if "tradeoff" in target:
        assert np.all(miss >= target["tradeoff"](alpha) * (1 - 1e-12))
    if "fpr" in target:
        assert 1 - f.tradeoff(target["fpr"]).upper <= target["tpr"]
    if "advantage" in target:
        assert np.all(1 - miss - alpha <= target["advantage"])


def test_several_targets_hold_at_once_and_the_hardest_decides():
    together = {"epsilon": [1.0, 2.0], "delta": [1e-3, 1e-9], "tpr": [0.05, 0.3], "fpr": [0.01, 0.1], "advantage": 0.3}
    found = ew.calibrate(sgd, **together)
    singles = [
        ew.calibrate(sgd, epsilon=1.0, delta=1e-3),
        ew.calibrate(sgd, epsilon=2.0, delta=1e-9),
        ew.calibrate(sgd, tpr=0.05, fpr=0.01),
        ew.calibrate(sgd, tpr=0.3, fpr=0.1),
        ew.calibrate(sgd, advantage=0.3),
    ]
    assert found.value == pytest.approx(max(single.value for single in singles), rel=2e-6)
    assert np.all(found.achieved["epsilon"].upper_bound() <= together["epsilon"])
    assert np.all(found.achieved["tpr"].upper_bound() <= together["tpr"])
    assert found.achieved["advantage"].upper_bound() <= 0.3


@pytest.mark.parametrize(
    ("name", "easier", "fixed"),
    [
        ("epsilon", [0.5, 1.0, 4.0], {"delta": 1e-6}),
        ("delta", [1e-12, 1e-8, 1e-3], {"epsilon": 1.0}),
        ("mu", [0.1, 0.4, 2.0], {}),
        ("tpr", [0.02, 0.1, 0.5], {"fpr": 0.01}),
        ("fpr", [1e-4, 1e-3, 1e-2], {"tpr": 0.1}),
        ("advantage", [0.01, 0.1, 0.6], {}),
    ],
)
def test_a_harder_target_needs_more_noise(name, easier, fixed):
    """All but fpr are limits to stay below; a true positive rate is harder to keep with more false alarms."""
    values = [ew.calibrate(lambda s: sgd(s, 0.01, 1000), **{name: one}, **fixed).value for one in easier]
    assert values == sorted(values, reverse=name != "fpr")


def test_asking_twice_gives_the_same_bits():
    one, other = (ew.calibrate(sgd, epsilon=3.0, delta=1e-5) for _ in range(2))
    assert (one.value, one.missed_at, one.evaluations) == (other.value, other.missed_at, other.evaluations)


def test_a_coarse_tolerance_is_kept_on_the_right_side():
    fine, coarse = (ew.calibrate(sgd, epsilon=3.0, delta=1e-5, tolerance=t) for t in (1e-6, 1e-2))
    assert fine.value * (1 - 1e-6) <= coarse.value <= fine.value * 1.01
    assert coarse.evaluations <= fine.evaluations


# --- families ---------------------------------------------------------------------------------------------


def test_which_numbers_a_family_takes_is_found_out():
    steps = ew.calibrate(lambda n: ew.Gaussian(40.0) ** n, epsilon=1.0, delta=1e-5)
    assert (steps.value, steps.missed_at, type(steps.value)) == (114, 115, int)
    told = ew.calibrate(lambda n: ew.Gaussian(40.0) ** int(n), epsilon=1.0, delta=1e-5, integer=True)
    assert told.value == 114


def test_whole_numbers_that_grow_more_private():
    """Noise in whole units: the least that meets the target."""
    found = ew.calibrate(lambda k: ew.Gaussian(float(k)) ** 100, epsilon=1.0, delta=1e-5, integer=True)
    assert (found.value, found.missed_at) == (38, 37)


def test_many_steps_to_the_last_one():
    found = ew.calibrate(lambda n: ew.Gaussian(1e6) ** n, epsilon=1.0, delta=1e-5)
    exact = (1e6 / analytic_gaussian(1.0, 1e-5)) ** 2
    assert abs(found.value - exact) <= 1 + 1e-11 * exact
    assert found.missed_at == found.value + 1


def test_the_end_of_a_family_is_an_answer():
    found = ew.calibrate(lambda rate: ew.PoissonSampled(ew.Gaussian(40.0), rate) ** 10, epsilon=1.0, delta=1e-5)
    assert (found.value, found.missed_at) == (1.0, None)


def test_not_even_one_step():
    found = ew.max_steps(epsilon=0.1, delta=1e-5, noise_multiplier=0.5, sampler="none")
    assert (found.value, found.missed_at, found.achieved["epsilon"].upper) == (0, 1, 0.0)


def test_a_family_that_does_not_take_one():
    found = ew.calibrate(lambda x: ew.PoissonSampled(ew.Gaussian(1.0), 50 * x) ** 100, epsilon=1.0, delta=1e-5)
    direct = ew.max_rate(noise_multiplier=1.0, steps=100, sampler="poisson", epsilon=1.0, delta=1e-5)
    assert 50 * found.value == pytest.approx(direct.value, rel=2e-6)


def test_mixes_are_families_too():
    found = ew.calibrate(lambda s: sgd(s, 0.01, 500) * ew.Gaussian(3.0) ** 2, epsilon=4.0, delta=1e-5)
    assert found.achieved["epsilon"].upper_bound() <= 4.0
    less = found.value * (1 - SLIGHTLY)
    assert ew.account(sgd(less, 0.01, 500) * ew.Gaussian(3.0) ** 2).epsilon(1e-5).lower_bound() > 4.0


# --- refusals ---------------------------------------------------------------------------------------------


def test_what_cannot_be_met_says_what_can():
    with pytest.raises(
        Unsupported,
        match=r"^epsilon <= 1 at delta = 1e-09 cannot be met by this family; at its most private end "
        r"that could be read, 1e\+18, it reaches epsilon \d\.\d+ in \[.*\]$",
    ):
        ew.calibrate(lambda s: ew.Gaussian(s) * ew.Gaussian(1.0), epsilon=1.0, delta=1e-9)


def test_a_reading_that_never_moves_says_where_it_stands():
    with pytest.raises(
        Unsupported,
        match=r"^epsilon <= 1 at delta = 0 cannot be solved for; at every parameter that was tried the family reaches "
        r"epsilon inf in \[inf, inf\]$",
    ):
        ew.calibrate(ew.Gaussian, epsilon=1.0, delta=0.0)


def test_a_target_that_limits_nothing_says_so():
    with pytest.raises(
        Unsupported, match=r"^advantage <= 1 is met by every parameter that was tried; it sets no limit"
    ):
        ew.calibrate(ew.Gaussian, advantage=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no target was given; give epsilon and delta, mu, tpr and fpr, advantage or tradeoff"),
        ({"epsilon": 1.0}, "epsilon was given without delta; the two make a target together"),
        ({"fpr": 0.1}, "fpr was given without tpr; the two make a target together"),
        ({"epsilon": -1.0, "delta": 1e-5}, "epsilon=-1.0 is out of range; give finite numbers >= 0"),
        ({"epsilon": math.inf, "delta": 1e-5}, "epsilon=inf is out of range; give finite numbers >= 0"),
        ({"epsilon": 1.0, "delta": 2.0}, "delta=2.0 is out of range; give numbers between 0 and 1"),
        (
            {"epsilon": [1.0, 2.0], "delta": [1e-5, 1e-6, 1e-7]},
            r"epsilon has shape \(2,\) and delta has shape \(3,\); give as many of each",
        ),
        ({"epsilon": [], "delta": []}, "epsilon is empty; give at least one number"),
        ({"mu": math.nan}, "mu=nan is out of range; give a finite number >= 0"),
        ({"advantage": 1.5}, "advantage=1.5 is out of range; give a number between 0 and 1"),
        ({"tradeoff": 3}, r"tradeoff=3 is not a trade-off function; give one, e\.g\. GaussianTradeOff\(1\.0\)"),
        ({"mu": 1.0, "tolerance": 0.0}, "tolerance=0.0 is out of range; give a finite number > 0"),
        ({"mu": 1.0, "tolerance": 1.0}, "tolerance=1.0 is out of range; give a number between 1e-12 and 0.5"),
        ({"mu": 1.0, "smallest_error": 0.0}, "smallest_error=0.0 is out of range; give a number between 0 and 0.5"),
    ],
    ids=str,
)
def test_bad_targets_are_named(arguments, message):
    with pytest.raises(InvalidArgument, match=f"^{message}$"):
        ew.calibrate(ew.Gaussian, **arguments)


def test_bad_families_are_named():
    with pytest.raises(
        InvalidArgument, match=r"^family=3 is not callable; give a function from one number to a mechan"
    ):
        ew.calibrate(3, mu=1.0)
    with pytest.raises(TypeError, match=r"^family\(1.0\) is 2.0, which is not a mechanism$"):
        ew.calibrate(lambda x: 2 * x, mu=1.0)
    with pytest.raises(InvalidArgument, match=r"^noise_multiplier=-1.0 is out of range"):
        ew.calibrate(lambda x: ew.Gaussian(-x), mu=1.0)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: ew.noise_multiplier(mu=1.0, steps=10, sampler="shuffle"),
            "sampler='shuffle' is unknown; give one of 'poisson', 'none'",
        ),
        (
            lambda: ew.noise_multiplier(mu=1.0, steps=10, sampler="poisson"),
            "rate=None is missing; sampler='poisson' needs the probability that a record is sampled",
        ),
        (
            lambda: ew.max_steps(mu=1.0, noise_multiplier=1.0, rate=0.1, sampler="none"),
            "rate=0.1 means nothing with sampler='none'; leave it out",
        ),
        (
            lambda: ew.max_rate(mu=1.0, noise_multiplier=1.0, steps=10, sampler="none"),
            "sampler='none' has no rate to look for; give sampler='poisson' if that is what runs",
        ),
        (
            lambda: ew.noise_multiplier(mu=1.0, steps=1.5, rate=0.1, sampler="poisson"),
            "steps=1.5 is not a whole number; give an int >= 0",
        ),
    ],
)
def test_the_sampler_is_always_named(ask, message):
    with pytest.raises(InvalidArgument, match=f"^{message}$"):
        ask()


def test_an_answer_reads_well():
    found = ew.calibrate(lambda sigma: ew.Gaussian(sigma) ** 100, epsilon=1.0, delta=1e-5)
    assert found.target == "epsilon <= 1 at delta = 1e-05"
    assert str(found).startswith("37.3063") and str(found).endswith("; asked for: epsilon <= 1 at delta = 1e-05")  # noqa: PT018
    assert repr(found) == f"Calibrated({found})"
