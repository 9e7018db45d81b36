"""Inside dp_accounting's own search for noise, which tries no noise at all first."""

from __future__ import annotations

import dp_accounting
import mpmath
import pytest
from dp_accounting import dp_event

import edgeworth as ew
from edgeworth.integrations.dp_accounting import EdgeworthAccountant


def _training(noise):
    return dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(noise)), 1000)


@pytest.mark.parametrize("delta", [1e-5, 1e-12])
def test_noise_for_a_training_run(delta):
    noise = dp_accounting.calibrate_dp_mechanism(EdgeworthAccountant, _training, 2.0, delta)
    ours = ew.noise_multiplier(rate=0.01, steps=1000, epsilon=2.0, delta=delta, sampler="poisson")
    assert EdgeworthAccountant().compose(_training(noise)).get_epsilon(delta) <= 2.0
    assert noise == pytest.approx(ours.value, abs=2e-6)


def _delta(noise, epsilon):
    """Of the Gaussian mechanism with mu = 1/noise: Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."""
    with mpmath.workdps(40):
        mu = 1 / mpmath.mpf(noise)
        return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def test_noise_for_one_release_is_the_analytic_one():
    noise = dp_accounting.calibrate_dp_mechanism(EdgeworthAccountant, dp_event.GaussianDpEvent, 1.0, 1e-6)
    assert _delta(noise, 1) <= 1e-6 < _delta(noise - 2e-6, 1)


def test_pure_privacy_is_met_by_laplace_noise():
    noise = dp_accounting.calibrate_dp_mechanism(EdgeworthAccountant, dp_event.LaplaceDpEvent, 0.5, 0.0)
    assert 2.0 <= noise <= 2.0 + 2e-6


def test_steps_within_a_budget():
    steps = dp_accounting.calibrate_dp_mechanism(
        EdgeworthAccountant,
        lambda steps: dp_event.SelfComposedDpEvent(_training(2.0).event, steps),
        1.0,
        1e-5,
        dp_accounting.LowerEndpointAndGuess(0, 1000),
        discrete=True,
    )
    step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(2.0))
    assert EdgeworthAccountant().compose(step, steps).get_epsilon(1e-5) <= 1.0
    assert EdgeworthAccountant().compose(step, steps + 2).get_epsilon(1e-5) > 1.0


def test_an_accountant_that_was_used_is_refused():
    with pytest.raises(dp_accounting.mechanism_calibration.NonEmptyAccountantError):
        dp_accounting.calibrate_dp_mechanism(
            lambda: EdgeworthAccountant().compose(_training(1.0)), _training, 1.0, 1e-5
        )
