"""How the engine draws its batches decides what a step costs."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom, norm

import edgeworth as ew
from edgeworth.integrations.opacus.hook import noise_of_one

NOT_POISSON = "poisson_sampling=False: amplification is proved for Poisson batches"


def test_other_batches_are_accounted_without_amplification(training):
    with pytest.warns(UserWarning, match=NOT_POISSON) as told:
        run = training(poisson_sampling=False)
    (place,) = {each.filename for each in told if NOT_POISSON in str(each.message)}
    assert place.endswith("conftest.py")  # whoever called make_private
    run.steps(10)
    assert run.accountant.history == [(1.0, 1.0, 10)]
    assert run.engine.get_epsilon(1e-5) == ew.account(ew.Gaussian(1.0) ** 10).epsilon(1e-5).upper
    assert "none: every record is in every release" in run.accountant.account.statement().text()


def test_noise_calibrated_for_poisson_batches_is_seen_to_miss_its_target(training):
    with pytest.warns(UserWarning, match=NOT_POISSON):
        run = training(epsilon=5.0, poisson_sampling=False)
    run.steps(20 * len(run.loader))
    assert run.engine.get_epsilon(1e-3) > 20.0


def test_the_rate_of_a_loader_of_ones_own_is_told_by_a_hook(training):
    with pytest.warns(UserWarning, match=NOT_POISSON):
        run = training(poisson_sampling=False)
    run.optimizer.attach_step_hook(
        lambda optimizer: run.accountant.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=0.1)
    )
    run.steps(10)
    assert run.accountant.history == [(1.0, 0.1, 10)]


def test_a_checkpoint_remembers_what_was_not_amplified(training):
    with pytest.warns(UserWarning, match=NOT_POISSON):
        run = training(poisson_sampling=False)
    resumed = training()
    resumed.accountant.load_state_dict(run.steps(10).accountant.state_dict())
    resumed.steps(10)
    assert resumed.accountant.history == [(1.0, 1.0, 10), (1.0, 0.1, 10)]


def test_accumulated_poisson_batches(training):
    run = training()
    run.module.allow_grad_accumulation()  # Opacus forbids it unless told otherwise
    run.steps(6, accumulate=2)
    (entry,) = run.accountant.history
    assert entry == (noise_of_one(1.0, 2), 0.1, 12)


def test_accumulated_batches_of_another_loader(training):
    with pytest.warns(UserWarning, match=NOT_POISSON):
        run = training(poisson_sampling=False)
    run.steps(6, accumulate=4)
    assert run.accountant.history == [(noise_of_one(1.0, 4), 1.0, 24)]


@pytest.mark.parametrize("batches", [1, 2, 3, 7, 1000])
def test_the_noise_of_one_batch_is_never_rounded_up(batches):
    noise = noise_of_one(1.1, batches)
    assert noise**2 * batches == pytest.approx(1.1**2, rel=2e-15, abs=0.0)
    assert noise == 1.1 or noise * np.sqrt(batches) < 1.1


def _of_accumulated(epsilon, noise, rate, batches):
    """Delta of N(0, noise^2) against a record that is in Binomial(batches, rate) of the batches, up to rounding.

    The likelihood ratio sum_j Binomial(j) e^(j x/noise^2 - j^2/(2 noise^2)) rises with x: best tests are thresholds.
    """
    times = np.arange(batches + 1)
    shares = binom.pmf(times, batches, rate)

    def log_ratio(x):
        return logsumexp(times * x / noise**2 - times**2 / (2 * noise**2), b=shares)

    def delta(tail, sign):
        """Of the test on one side of the threshold where the ratio is e^(sign epsilon)."""
        ends = (-1e3, 1e3)
        if (log_ratio(ends[0]) - sign * epsilon) * (log_ratio(ends[1]) - sign * epsilon) > 0:
            return 0.0  # the ratio never gets there: e^-epsilon is below the share of runs without the record
        at = brentq(lambda x: log_ratio(x) - sign * epsilon, *ends, xtol=1e-13)
        without, with_record = tail(at, 0, noise), tail(at, times, noise) @ shares
        return sign * (with_record - np.exp(sign * epsilon) * without) * (1 if sign > 0 else np.exp(epsilon))

    return max(delta(norm.sf, 1), delta(norm.cdf, -1))


@pytest.mark.parametrize(("noise", "rate", "batches"), [(1.0, 0.05, 2), (0.8, 0.1, 4), (2.0, 0.2, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_a_step_of_accumulated_batches_costs_no_more_than_its_parts(noise, rate, batches, epsilon):
    parts = ew.PoissonSampled(ew.Gaussian(noise_of_one(noise, batches)), rate=rate) ** batches
    exact = _of_accumulated(epsilon, noise, rate, batches)
    assert exact * (1 - 1e-9) <= ew.account(parts).delta(epsilon).upper


def test_the_product_of_rate_and_batches_would_promise_too_much():
    product = ew.PoissonSampled(ew.Gaussian(1.0), rate=2 * 0.05)
    assert _of_accumulated(3.0, 1.0, 0.05, 2) > 2 * ew.account(product).delta(3.0).upper


def test_adaptive_clipping_is_refused_before_the_first_update(training):
    run = training(
        clipping="adaptive",
        noise_multiplier=1.0,
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2,
        max_clipbound=10.0,
        min_clipbound=0.1,
        unclipped_num_std=2.0,
    )
    before = run.inner.weight.detach().clone()
    with pytest.raises(ew.Unsupported) as refusal:
        run.steps(1)
    assert str(refusal.value) == (
        "clipping='adaptive' has no guarantee: Opacus divides the noisy number of unclipped gradients by the exact "
        "size of the batch, and no noise hides that; use clipping='flat' or 'per_layer'"
    )
    assert (run.inner.weight == before).all()
    assert len(run.accountant) == 0
