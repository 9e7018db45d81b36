"""G_mu against mpmath at 60 digits, across 300 decades."""

import mpmath as mp
import numpy as np
import pytest

from edgeworth.curves import GaussianTradeOff, Identity
from edgeworth.curves.interpret import area_by_quadrature, fixed_point_by_duality, mu_star_by_duality

MUS = [1e-6, 1e-4, 1e-3, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 70.0, 100.0]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def phi_upper(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def true_delta(mu, epsilon):
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    threshold = epsilon / mu
    with mp.workdps(60 + int(20 + abs(mp.log10(mu)) * 3)):
        return phi_upper(threshold - mu / 2) - mp.exp(epsilon) * phi_upper(threshold + mu / 2)


def true_quantile(alpha):
    """z with Phi(-z) = alpha."""
    alpha = mp.mpf(alpha)
    z = mp.mpf(1)
    for _ in range(200):
        hazard = mp.npdf(z) / phi_upper(z)
        step = mp.log(phi_upper(z) / alpha) / hazard
        z += step
        if abs(step) < mp.mpf(10) ** -50:
            return z
    raise AssertionError


def relative(value, truth):
    return float(abs(mp.mpf(value) / truth - 1))


@pytest.mark.parametrize("mu", MUS)
def test_delta_has_relative_precision_down_to_1e_300(mu):
    profile = GaussianTradeOff(mu).profile()
    x = np.random.default_rng(1).uniform(-38, 36.5, 60)  # x = epsilon/mu - mu/2: all real epsilon
    for epsilon in (x + mu / 2) * mu:
        truth = true_delta(mu, epsilon)
        assert relative(profile(float(epsilon)), truth) < 1e-13, epsilon
        assert abs(profile.log(float(epsilon)) - mp.log(truth)) < 1e-14 * max(1, abs(mp.log(truth))), epsilon


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(1e-3, 0.5), (1e-6, 1e-3), (0.02, 0.5), (1e-3, 10.0), (1.0, 200.0), (100.0, 2e4)]
)
def test_log_delta_below_the_range_of_doubles(mu, epsilon):
    truth = mp.log(true_delta(mu, epsilon)) if epsilon / mu < 1e3 else log_tail(mu, epsilon)
    assert relative(GaussianTradeOff(mu).profile().log(epsilon), truth) < 1e-14


def log_tail(mu, epsilon):
    """log delta by the asymptotic series of the Mills ratio, for thresholds beyond 400."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    x = epsilon / mu - mu / 2

    def mills(y):
        return sum((-1) ** k * mp.fac2(2 * k - 1) / y ** (2 * k + 1) for k in range(15))

    return -x * x / 2 - mp.log(2 * mp.pi) / 2 + mp.log(mills(x) - mills(x + mu))


def test_a_value_worth_remembering():
    assert GaussianTradeOff(0.02).profile()(0.5) == pytest.approx(3.1297767729801340377e-141, rel=1e-13)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 40.0, 70.0, 100.0])
def test_both_errors_have_relative_precision(mu):
    rng = np.random.default_rng(2)
    alphas = np.concatenate([10.0 ** rng.uniform(-300, 0, 30), 1 - 10.0 ** rng.uniform(-15, 0, 15)])
    f = GaussianTradeOff(mu)
    checked = 0
    for alpha in alphas:
        z = true_quantile(alpha)
        for value, truth in (
            (f(float(alpha)), phi_upper(mu - z)),
            (f.power(float(alpha)), phi_upper(z - mu)),
        ):
            if truth > mp.mpf(10) ** -300:
                assert relative(value, truth) < 1e-13, alpha
                checked += 1
    assert checked >= 45


def test_ends_are_exact():
    for mu in (0.0, 1e-6, 1.0, 100.0):
        f = GaussianTradeOff(mu)
        assert (f(0.0), f(1.0), f.power(0.0), f.power(1.0)) == (1.0, 0.0, 0.0, 1.0)
        assert (f.profile()(np.inf), f.profile()(-np.inf), f.profile().log(np.inf)) == (0.0, 1.0, -np.inf)


def test_mu_zero_is_the_identity():
    alpha, epsilon = np.linspace(0, 1, 101), np.array([-700.0, -3.0, -1e-9, 0.0, 1e-9, 3.0, 700.0])
    np.testing.assert_allclose(GaussianTradeOff(0.0)(alpha), Identity()(alpha), rtol=1e-15, atol=0)
    np.testing.assert_array_equal(GaussianTradeOff(0.0).profile()(epsilon), Identity().profile()(epsilon))


@pytest.mark.parametrize("mu", [1e-3, 0.5, 1.0, 5.0, 20.0, 40.0])
def test_closed_forms_of_the_parameters_agree_with_the_generic_ones(mu):
    f = GaussianTradeOff(mu)
    assert area_by_quadrature(f) == pytest.approx(f.gamma, rel=1e-10)
    assert fixed_point_by_duality(f) == pytest.approx(f.fixed_point, rel=1e-12)
    assert mu_star_by_duality(f) == pytest.approx(f.mu_star, rel=1e-12)
    assert relative(f.gamma, phi_upper(mp.mpf(mu) / mp.sqrt(2))) < 1e-13


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0])
def test_epsilon_inverts_delta_down_to_1e_300(mu):
    profile = GaussianTradeOff(mu).profile()
    deltas = 10.0 ** -np.linspace(0.01, 300, 80)
    epsilons = profile.epsilon(deltas)
    assert np.all(np.diff(epsilons) >= 0)
    positive = epsilons > 0
    assert positive.any()
    assert np.all(profile(epsilons) <= deltas)
    np.testing.assert_allclose(profile.log(epsilons)[positive], np.log(deltas)[positive], rtol=1e-13, atol=0)


def test_epsilon_of_a_gaussian_to_full_precision():
    for mu, delta in ((1.0, 1e-5), (0.01, 1e-30), (5.0, 1e-200)):
        epsilon = mp.findroot(
            lambda e, mu=mu, delta=delta: mp.log(true_delta(mu, e)) - mp.log(mp.mpf(delta)),
            GaussianTradeOff(mu).profile().epsilon(delta),
        )
        assert relative(GaussianTradeOff(mu).profile().epsilon(delta), epsilon) < 1e-14


def test_epsilon_at_the_ends():
    profile = GaussianTradeOff(1.0).profile()
    assert profile.epsilon(0.0) == np.inf
    assert profile.epsilon(1.0) == 0.0
    assert profile.epsilon(profile(0.0)) == 0.0
    assert GaussianTradeOff(0.0).profile().epsilon(0.0) == 0.0


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-40, 1e-200])
def test_epsilon_takes_few_readings_of_delta(mu, delta, monkeypatch):
    profile, asked = GaussianTradeOff(mu).profile(), []
    read = type(profile)._log_delta
    monkeypatch.setattr(type(profile), "_log_delta", lambda self, at: asked.append(at) or read(self, at))
    epsilon = profile.epsilon(delta)
    assert len(asked) <= 9
    assert epsilon == 0 or profile(epsilon) <= delta < profile(epsilon * (1 - 1e-14))
