"""What certified figures cost a training with Opacus: `python -m benchmarks.opacus_training` prints it.

The calibration of Opacus with this accountant and with its own, in one run, and what each call of the accountant adds
to a step of the network of `examples/opacus_training.py`. Needs the extras `opacus` and `plot`.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from opacus.accountants.utils import get_noise_multiplier

from edgeworth.integrations.opacus import EdgeworthAccountant, accounts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

CALIBRATION = {"target_epsilon": 3.0, "target_delta": 1e-5, "sample_rate": 256 / 50_000, "steps": 5000}
NOISE, RATE, DELTA = 1.0, 1 / 32, 1e-5
RUNS = 3  # the best counts
NETWORK_STEPS = 60
FREE_STEPS = 2000  # over which the cost of the figure for every step is spread
EXAMPLE = Path(__file__).parent.parent / "examples" / "opacus_training.py"


def forget() -> None:
    """Make the next reading a first one."""
    for remembered in (accounts.account_of, accounts.epsilon_of, accounts.most_steps):
        remembered.cache_clear()


def seconds(work: Callable[[], object]) -> float:
    """The time of one core. All of this runs on one, and others may be busy on the machine."""
    start = time.process_time()
    work()
    return time.process_time() - start


def calibrations() -> dict[str, float]:
    """Seconds of Opacus' search for the noise, cold, with each accountant in turn."""
    best = dict.fromkeys(("edgeworth", "prv", "rdp"), float("inf"))
    for _ in range(RUNS):
        for accountant in best:
            forget()
            took = seconds(lambda name=accountant: get_noise_multiplier(**CALIBRATION, accountant=name))
            best[accountant] = min(best[accountant], took)
    return best


def example() -> ModuleType:
    """The example as a module, by its path: Opacus itself installs a package called `examples`."""
    spec = importlib.util.spec_from_file_location("opacus_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def network_step() -> float:
    """The median time of a private step of the small network."""
    training = example()
    with tempfile.TemporaryDirectory() as folder:
        run = training.Run(training.options(["--out", folder]))
        batches = run.batches()
        return statistics.median(seconds(lambda: run.step(*next(batches))) for _ in range(NETWORK_STEPS))


def with_steps(count: int) -> EdgeworthAccountant:
    """An accountant after so many steps."""
    accountant = EdgeworthAccountant()
    accountant.history = [(NOISE, RATE, count)]
    return accountant


def one_step() -> float:
    """Of `step()` alone."""
    accountant = EdgeworthAccountant()
    return seconds(lambda: [accountant.step(noise_multiplier=NOISE, sample_rate=RATE) for _ in range(10_000)]) / 10_000


def exact(count: int) -> float:
    """The median of `get_epsilon` after each of 20 steps, each a history of its own."""
    forget()
    return statistics.median(seconds(lambda n=n: with_steps(n).get_epsilon(DELTA)) for n in range(count, count + 20))


def after_every_step(ask: Callable[[EdgeworthAccountant], object]) -> float:
    """The mean over a run from its start of `step()` and a question, all first readings included."""
    forget()
    accountant = EdgeworthAccountant()

    def whole_run() -> None:
        for _ in range(FREE_STEPS):
            accountant.step(noise_multiplier=NOISE, sample_rate=RATE)
            ask(accountant)

    return seconds(whole_run) / FREE_STEPS


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    best = calibrations()
    print("Opacus get_noise_multiplier, cold, epsilon 3 at 1e-5, rate 256/50000, 5000 steps")
    for accountant, took in best.items():
        print(f"  {accountant:<10}{1e3 * took:9.1f} ms   {took / best['edgeworth']:6.1f} times edgeworth")
    whole = network_step()
    print(f"\nOne private step of a small CNN, batches of 128: {1e3 * whole:.1f} ms. Beside it:")
    costs = {
        "step()": one_step(),
        "step() and steps_left()": after_every_step(lambda accountant: accountant.steps_left(30.0, DELTA)),
        "step() and epsilon_at_most()": after_every_step(lambda accountant: accountant.epsilon_at_most(DELTA)),
        "get_epsilon(), after 20 steps": exact(20),
        "get_epsilon(), after 200 steps": exact(200),
        "get_epsilon(), after 2000 steps": exact(2000),
    }
    for name, took in costs.items():
        print(f"  {name:<34}{1e3 * took:9.3f} ms   {took / whole:8.2%}")


if __name__ == "__main__":
    main()
