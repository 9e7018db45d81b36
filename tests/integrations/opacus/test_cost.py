"""The accountant does not slow a training, measured as processor time: other work on the machine does not count."""

import importlib.util
import statistics
import time
from pathlib import Path

import pytest
from opacus.accountants.utils import get_noise_multiplier

from edgeworth.integrations.opacus import EdgeworthAccountant, accounts

EXAMPLE = Path(__file__).parents[3] / "examples" / "opacus_training.py"


def _seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.fixture
def run(tmp_path):
    """The training of the example, by its path: Opacus itself installs a package called `examples`."""
    spec = importlib.util.spec_from_file_location("opacus_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example.Run(example.options(["--out", str(tmp_path)]))


def test_counting_takes_less_than_a_hundredth_of_a_step_of_a_small_network(run):
    batches = run.batches()
    network = statistics.median(_seconds(lambda: run.step(*next(batches))) for _ in range(20))
    accountant = EdgeworthAccountant()

    def a_thousand_steps():
        for _ in range(1000):
            accountant.step(noise_multiplier=1.0, sample_rate=1 / 32)
            accountant.steps_left(30.0, 1e-5)

    accountant.steps_left(30.0, 1e-5, noise_multiplier=1.0, sample_rate=1 / 32)  # once in a run
    assert _seconds(a_thousand_steps) / 1000 < 0.01 * network
    assert len(run.engine.accountant) == 20


def test_calibration_is_at_least_ten_times_as_fast_as_with_prv():
    asked = {"target_epsilon": 3.0, "target_delta": 1e-5, "sample_rate": 256 / 50_000, "steps": 5000}
    accounts.account_of.cache_clear()
    accounts.epsilon_of.cache_clear()
    ours, theirs = (
        _seconds(lambda name=accountant: get_noise_multiplier(**asked, accountant=name))
        for accountant in ("edgeworth", "prv")
    )
    assert 10 * ours <= theirs
