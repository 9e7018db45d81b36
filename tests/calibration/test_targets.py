"""Every kind of target against closed forms of simple noise, and what is told without a curve."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.calibration.targets import share_sampled
from edgeworth.errors import InvalidArgument, TooLarge, Unsupported
from edgeworth.losses import TotalLoss

few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
NEAR = 1e-6  # relative: what the search promises


def at_most(found, truth):
    """Whether a parameter that must stay below the truth does, and wastes no more than was promised."""
    return -NEAR <= found.value / truth - 1 <= 1e-13


def at_least(found, truth):
    return -1e-13 <= found.value / truth - 1 <= NEAR


# --- closed forms -----------------------------------------------------------------------------------------


@few
@given(st.floats(-1.5, 1.0))
def test_a_curve_above_laplace_noise_is_that_noise(log_theta):
    theta = 10**log_theta
    assert at_least(ew.calibrate(ew.Laplace, tradeoff=ew.LaplaceTradeOff(theta)), 1 / theta)


@few
@given(st.floats(-2.0, 1.0))
def test_a_curve_above_a_randomized_response_is_that_response(log_epsilon):
    epsilon = 10**log_epsilon
    assert at_most(ew.calibrate(ew.RandomizedResponse, tradeoff=ew.ApproxDPTradeOff(epsilon, 0.0)), epsilon)


@few
@given(st.floats(1e-3, 0.95))
def test_advantage(advantage):
    """delta(0) is 1 - e^(-theta/2) for Laplace noise and tanh(eps/2) for a randomized response."""
    assert at_least(ew.calibrate(ew.Laplace, advantage=advantage), -1 / (2 * mp.log1p(-mp.mpf(advantage))))
    assert at_most(ew.calibrate(ew.RandomizedResponse, advantage=advantage), 2 * mp.atanh(mp.mpf(advantage)))


@few
@given(st.floats(-6, -1), st.floats(0.05, 0.95))
def test_true_positive_rates(log_fpr, share):
    """Below its kink f falls with slope -e^eps: a true positive rate up to 1/2 is e^eps times the false one."""
    fpr = 10**log_fpr
    tpr = fpr * (0.5 / fpr) ** share
    truth = mp.log(mp.mpf(tpr) / mp.mpf(fpr))
    assert at_least(ew.calibrate(ew.Laplace, tpr=tpr, fpr=fpr), 1 / truth)
    if tpr < 0.5 * (1 - fpr):
        assert at_most(ew.calibrate(ew.RandomizedResponse, tpr=tpr, fpr=fpr), truth)


@few
@given(st.floats(0.05, 3.0))
def test_mu_of_a_randomized_response(mu):
    """Its curve has one vertex, a = 1/(1 + e^eps), and touches G_mu there: Phi^-1(1 - a) = mu/2."""
    truth = mp.log(mp.ncdf(mp.mpf(mu) / 2) / mp.ncdf(-mp.mpf(mu) / 2))
    assert at_most(ew.calibrate(ew.RandomizedResponse, mu=mu), truth)


@few
@given(st.floats(-1, 1.3), st.floats(-12, -2))
def test_epsilon_of_one_laplace_release(log_epsilon, log_delta):
    """delta(eps) = 1 - e^((eps - theta)/2)."""
    epsilon, delta = 10**log_epsilon, 10**log_delta
    truth = 1 / (mp.mpf(epsilon) - 2 * mp.log1p(-mp.mpf(delta)))
    assert at_least(ew.calibrate(ew.Laplace, epsilon=epsilon, delta=delta), truth)


@few
@given(st.floats(0.3, 3), st.floats(0.05, 0.9))
def test_one_sampled_release(mu, rate):
    """f = p G_mu + (1 - p) Id: the advantage is p times that of the noise."""
    advantage = 0.9 * rate * math.erf(mu / math.sqrt(8))
    found = ew.noise_multiplier(advantage=advantage, rate=rate, steps=1, sampler="poisson")
    truth = 1 / (2 * mp.sqrt(2) * mp.erfinv(mp.mpf(advantage) / mp.mpf(rate)))
    assert at_least(found, truth)


# --- what needs no curve ----------------------------------------------------------------------------------


@few
@given(st.floats(-5, -0.1), st.integers(1, 30), st.floats(0.02, 2))
def test_nothing_leaks_more_than_the_share_of_runs_that_sample(log_rate, steps, sigma):
    step = ew.PoissonSampled(ew.Gaussian(sigma), 10**log_rate)
    share = share_sampled(TotalLoss.of(step**steps))
    with mp.workdps(50):
        exact = 1 - (1 - mp.mpf(10**log_rate)) ** steps
    assert exact <= share <= exact * (1 + mp.mpf("1e-13"))
    assert ew.account(step).delta(0.0).lower <= share
    assert share_sampled(TotalLoss.of(step * ew.Gaussian(1.0))) == 1.0


@pytest.mark.parametrize(
    "target",
    [{"advantage": 0.9}, {"epsilon": 1.0, "delta": 1e-2}, {"tpr": 0.5, "fpr": 0.01}],
    ids=str,
)
def test_a_target_above_the_share_of_runs_that_sample_limits_nothing(target):
    with pytest.raises(Unsupported, match=r" is met by every parameter that was tried; it sets no limit, so give a h"):
        ew.noise_multiplier(**target, rate=1e-6, steps=1000, sampler="poisson")


PERFECT = [
    ({"epsilon": 0.0, "delta": 0.0}, "epsilon <= 0 at delta = 0", r"epsilon inf in \[inf, inf\]"),
    ({"mu": 0.0}, "mu <= 0 over tests with both errors >= 1e-10", r"mu .* in \[.*\]"),
    ({"tpr": 0.1, "fpr": 0.1}, "TPR <= 0.1 at FPR = 0.1", r"tpr .* in \[.*\]"),
    ({"advantage": 0.0}, "advantage <= 0", r"advantage .* in \[.*\]"),
]


@pytest.mark.parametrize(("target", "words", "reached"), PERFECT, ids=str)
def test_perfect_privacy_is_refused_at_once_and_says_what_is_reached(target, words, reached):
    message = f"^{words} is perfect privacy, which only a mechanism that releases nothing has; at 1 this family reaches"
    with pytest.raises(Unsupported, match=f"{message} {reached}$"):
        ew.noise_multiplier(**target, rate=0.01, steps=1000, sampler="poisson")
    assert ew.max_steps(**target, noise_multiplier=1.0, rate=0.01, sampler="poisson").value == 0


def test_the_identity_is_perfect_privacy():
    with pytest.raises(Unsupported, match=r"^f >= Identity\(\) .* is perfect privacy, which only"):
        ew.calibrate(ew.Gaussian, tradeoff=ew.Identity())


def test_pure_privacy_of_gaussian_noise_is_refused_before_anything_is_composed():
    with pytest.raises(Unsupported, match=r"^epsilon <= 1 at delta = 0 cannot be solved for; at every parameter"):
        ew.noise_multiplier(epsilon=1.0, delta=0.0, rate=256 / 50_000, steps=5_000, sampler="poisson")


def test_noise_too_small_for_any_table_is_refused_before_it_is_made():
    with pytest.raises(TooLarge, match=r"^noise of multiplier 1e-09 separates neighbours so far that its law takes "):
        ew.account(ew.PoissonSampled(ew.Gaussian(1e-9), 0.01) ** 100)


def test_a_loss_far_beyond_epsilon_is_no_obstacle():
    """The search looks at scales at which epsilon would be 1e8."""
    assert at_least(ew.calibrate(ew.Laplace, epsilon=50.0, delta=1e-12), 1 / (50 - 2 * math.log1p(-1e-12)))


# --- families of runs -------------------------------------------------------------------------------------


def run(noise_multiplier=0.8, epochs=26):
    return ew.DPSGD(
        examples=50_000, batch_size=256, epochs=epochs, noise_multiplier=noise_multiplier, sampler="poisson"
    )


def test_a_family_of_runs_is_a_family_of_their_mechanisms():
    found = ew.calibrate(run, epsilon=3.0, delta=1e-5)
    same = ew.calibrate(lambda sigma: run(sigma).mechanism, epsilon=3.0, delta=1e-5)
    assert (found.value, found.missed_at, found.mechanism) == (same.value, same.missed_at, same.mechanism)
    assert found.account.run == run(found.value)
    assert same.account.run is None
    assert "50000 examples, batches of 256" in found.account.statement(deltas=[1e-5]).text()


def test_whole_epochs_are_found_out():
    found = ew.calibrate(lambda epochs: run(epochs=epochs), epsilon=3.0, delta=1e-5)
    assert (found.value, found.missed_at) == (21, 22)
    steps = ew.max_steps(epsilon=3.0, delta=1e-5, noise_multiplier=0.8, rate=256 / 50_000, sampler="poisson").value
    assert run(epochs=21).steps <= steps < run(epochs=22).steps


def test_a_family_of_something_else_is_named():
    with pytest.raises(TypeError, match=r"^family\(1.0\) is 'noise', which is not a mechanism$"):
        ew.calibrate(lambda _: "noise", mu=1.0)
    with pytest.raises(InvalidArgument, match=r"^mechanism='noise' is not a mechanism; give one, e\.g\. Gaussian"):
        ew.account("noise")


@few
@given(st.floats(0.2, 5), st.sampled_from([1e-2, 1e-5, 1e-9]))
def test_several_pairs_are_as_hard_as_the_hardest(epsilon, delta):
    pairs = np.array([epsilon, 2 * epsilon]), np.array([delta, delta / 100])
    both = ew.calibrate(lambda s: ew.Gaussian(s) ** 10, epsilon=pairs[0], delta=pairs[1])
    each = [ew.calibrate(lambda s: ew.Gaussian(s) ** 10, epsilon=e, delta=d).value for e, d in zip(*pairs, strict=True)]
    assert both.value == pytest.approx(max(each), rel=2e-6)


def test_a_search_turns_back_from_losses_too_large_to_be_written_down():
    """Discrete noise of a scale beyond 56 000 has too many values; the answer lies well before that."""
    found = ew.calibrate(ew.DiscreteGaussian, epsilon=0.1, delta=1e-9)
    assert found.achieved["epsilon"].upper_bound() <= 0.1
    assert ew.account(ew.DiscreteGaussian(found.value * (1 - 3e-6))).epsilon(1e-9).lower > 0.1
