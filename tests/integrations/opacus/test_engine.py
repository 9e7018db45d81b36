"""The accountant in the real engine: Opacus trains, and the figures are those of what it did."""

import io
import math

import pytest
import torch
from opacus import PrivacyEngine
from opacus.schedulers import ExponentialNoise, StepNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager

import edgeworth as ew
from edgeworth.integrations.opacus import EdgeworthAccountant


def poisson(noise, rate):
    return ew.PoissonSampled(ew.Gaussian(noise), rate=rate)


def test_the_engine_takes_the_name(training):
    run = training()
    assert type(run.accountant) is EdgeworthAccountant
    assert run.engine.get_epsilon(1e-5) == 0.0
    run.steps(60)
    assert run.accountant.history == [(1.0, 0.1, 60)]
    assert len(run.accountant) == 60
    assert run.engine.get_epsilon(1e-5) == ew.account(poisson(1.0, 0.1) ** 60).epsilon(1e-5).upper


def test_the_rate_is_that_of_the_loader_which_opacus_made(training):
    run = training(batch_size=7).steps(60)  # 6 batches: 1/6, not 7/40
    assert run.loader.sample_rate == 1 / 6
    assert run.accountant.history == [(1.0, 1 / 6, 60)]


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_calibrated_noise_keeps_the_target(training, epsilon):
    run = training(epsilon=epsilon)
    run.steps(20 * len(run.loader))
    assert epsilon - 0.01 <= run.engine.get_epsilon(1e-3) <= epsilon


def test_a_second_calibration_warns_that_something_was_spent(training):
    run = training().steps(1)
    with pytest.warns(UserWarning, match="non-zero privacy budget already spent"):
        run.engine.make_private_with_epsilon(
            module=run.module,
            optimizer=run.optimizer,
            data_loader=run.loader,
            target_epsilon=5.0,
            target_delta=1e-3,
            epochs=20,
            max_grad_norm=1.0,
        )


def test_noise_that_falls_at_every_step(training):
    run = training(noise_multiplier=2.0)
    scheduler = ExponentialNoise(run.optimizer, gamma=0.5)
    for _ in range(3):
        run.steps(20)
        scheduler.step()
    assert run.accountant.history == [(2.0, 0.1, 20), (1.0, 0.1, 20), (0.5, 0.1, 20)]
    mixed = poisson(2.0, 0.1) ** 20 * poisson(1.0, 0.1) ** 20 * poisson(0.5, 0.1) ** 20
    assert run.engine.get_epsilon(1e-5) == ew.account(mixed).epsilon(1e-5).upper


def test_noise_that_comes_back_is_counted_with_what_it_was(training):
    run = training(noise_multiplier=2.0)
    for noise in (2.0, 1.0, 2.0):
        run.optimizer.noise_multiplier = noise
        run.steps(30)
    assert len(run.accountant.history) == 3
    assert run.accountant.account.mechanism == poisson(2.0, 0.1) ** 60 * poisson(1.0, 0.1) ** 30


def test_batches_that_grow_during_the_run(training):
    run = training().steps(30)
    larger = torch.utils.data.DataLoader(run.loader.dataset, batch_size=10)
    run.module, run.optimizer, run.loader = run.engine.make_private(
        module=run.module, optimizer=run.optimizer, data_loader=larger, noise_multiplier=1.0, max_grad_norm=1.0
    )
    run.steps(30)
    assert run.accountant.history == [(1.0, 0.1, 30), (1.0, 0.25, 30)]
    assert len(run.accountant) == 60


def test_small_physical_batches_are_one_step_each_logical_batch(training):
    run = training(batch_size=20)
    taken = 0
    for _ in range(10):
        with BatchMemoryManager(data_loader=run.loader, max_physical_batch_size=3, optimizer=run.optimizer) as physical:
            for records, labels in physical:
                run.backward(records, labels)
                run.optimizer.step()
                run.optimizer.zero_grad()
                taken += 1
    assert taken > 3 * 20
    assert run.accountant.history == [(1.0, 0.5, 20)]


def test_ghost_clipping(training):
    run = training(grad_sample_mode="ghost")
    for _ in range(3):
        for records, labels in run.loader:
            run.optimizer.zero_grad()
            run.backward(records, labels)
            run.optimizer.step()
    assert run.accountant.history == [(1.0, 0.1, 30)]


def test_clipping_by_layer(training):
    run = training(clipping="per_layer", max_grad_norm=[1.0, 1.0]).steps(5)
    assert run.accountant.history == [(1.0, 0.1, 5)]


def test_no_noise_no_promise(training):
    run = training(noise_multiplier=0.0).steps(1)
    assert run.engine.get_epsilon(1e-5) == math.inf


def test_a_checkpoint_resumed_equals_a_run_without_a_break(training):
    whole, first, second = training(), training(), training()
    whole.steps(80)
    first.steps(50)
    kept = io.BytesIO()
    first.engine.save_checkpoint(path=kept, module=first.module, optimizer=first.optimizer)
    kept.seek(0)
    second.engine.load_checkpoint(path=kept, module=second.module, optimizer=second.optimizer)
    assert second.engine.get_epsilon(1e-5) == first.engine.get_epsilon(1e-5)
    second.steps(30)
    assert second.accountant.history == whole.accountant.history == [(1.0, 0.1, 80)]
    assert second.engine.get_epsilon(1e-5) == whole.engine.get_epsilon(1e-5)
    assert first.accountant.history == [(1.0, 0.1, 50)]


def test_a_checkpoint_carries_the_noise_schedule(training):
    run, resumed = training(noise_multiplier=2.0), training(noise_multiplier=2.0)
    schedules = [StepNoise(each.optimizer, step_size=1, gamma=0.5) for each in (run, resumed)]
    run.steps(10)
    schedules[0].step()
    kept = io.BytesIO()
    run.engine.save_checkpoint(path=kept, module=run.module, optimizer=run.optimizer, noise_scheduler=schedules[0])
    kept.seek(0)
    resumed.engine.load_checkpoint(
        path=kept, module=resumed.module, optimizer=resumed.optimizer, noise_scheduler=schedules[1]
    )
    assert schedules[1].last_epoch == 1
    resumed.optimizer.noise_multiplier = run.optimizer.noise_multiplier  # the engine keeps it nowhere
    resumed.steps(10)
    assert resumed.accountant.history == [(2.0, 0.1, 10), (1.0, 0.1, 10)]


def test_a_checkpoint_of_another_accountant_is_refused(training):
    run, other = training(), training(accountant="rdp")
    kept = io.BytesIO()
    other.engine.save_checkpoint(path=kept, module=other.module)
    kept.seek(0)
    with pytest.raises(ValueError, match="state_dict of rdp cannot be loaded"):
        run.engine.load_checkpoint(path=kept, module=run.module)


def test_an_unknown_accountant_is_still_refused():
    with pytest.raises(ValueError, match="Unexpected accounting mechanism: edgworth"):
        PrivacyEngine(accountant="edgworth")
