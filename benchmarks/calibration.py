"""The noise of one training run from its target: ours against the calibrations of the peers, in one run.

`calibrations()` gives the rows, which `make bench` shows; `python -m benchmarks.calibration` prints them alone. Every
package runs cold in processes of its own; imports and the first use of NumPy and SciPy are not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

OURS, PLD, PRV = "edgeworth", "dp-accounting PLD", "Opacus PRV"
EPSILON, DELTA, RATE, STEPS = 3.0, 1e-5, 256 / 50_000, 5000
TIME_LIMIT = 240.0  # s
RUNS = 3  # fresh processes for each package, as many for ours as for theirs; the best counts
TITLE = f"Noise multiplier for epsilon = {EPSILON:g} at delta = {DELTA:g}, rate 256/50000, {STEPS} steps"


@dataclass(frozen=True)
class Calibration:
    """The noise that a package gives, the certified epsilon that this noise really has, and the best time."""

    package: str
    noise_multiplier: float | None
    epsilon: float | None
    seconds: float


def _edgeworth() -> Callable[[], float]:
    import edgeworth as ew  # noqa: PLC0415 - only the package that is measured

    ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 100).epsilon(1e-5)
    return lambda: ew.noise_multiplier(epsilon=EPSILON, delta=DELTA, rate=RATE, steps=STEPS, sampler="poisson").value


def _dp_accounting() -> Callable[[], float]:
    import dp_accounting  # noqa: PLC0415
    from dp_accounting.pld import PLDAccountant  # noqa: PLC0415

    def event(sigma: float) -> Any:
        step = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(step, STEPS)

    PLDAccountant().compose(dp_accounting.GaussianDpEvent(1.0), 10).get_epsilon(1e-5)
    return lambda: dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, EPSILON, DELTA)


def _opacus() -> Callable[[], float]:
    import warnings  # noqa: PLC0415

    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    warnings.simplefilter("ignore")
    arguments = {"target_delta": DELTA, "sample_rate": RATE, "steps": STEPS, "accountant": "prv"}
    return lambda: get_noise_multiplier(target_epsilon=EPSILON, **arguments)


PACKAGES = {OURS: _edgeworth, PLD: _dp_accounting, PRV: _opacus}


def calibrations(runs: int | None = None) -> list[Calibration]:
    """One row a package."""
    return [_best(name, [_in_a_process(name) for _ in range(runs or RUNS)]) for name in PACKAGES]


def _best(name: str, found: list[dict[str, Any]]) -> Calibration:
    import edgeworth as ew  # noqa: PLC0415 - a worker of a peer does without

    sigma, epsilon = found[0]["noise multiplier"], None
    if sigma is not None:
        epsilon = float(ew.account(ew.PoissonSampled(ew.Gaussian(sigma), RATE) ** STEPS).epsilon(DELTA).upper)
    return Calibration(name, sigma, epsilon, min(one["seconds"] for one in found))


def _in_a_process(name: str) -> dict[str, Any]:
    """What a fresh interpreter measures; the time limit and no noise where it does not come back."""
    worker = [sys.executable, "-m", "benchmarks.calibration", "--worker", name]
    try:
        told = subprocess.run(worker, capture_output=True, text=True, check=True, timeout=TIME_LIMIT)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"noise multiplier": None, "seconds": TIME_LIMIT}
    return json.loads(told.stdout.splitlines()[-1])


def measured(name: str) -> dict[str, Any]:
    """One cold calibration in this process."""
    solve = PACKAGES[name]()
    start = time.perf_counter()
    sigma = float(solve())
    return {"noise multiplier": sigma, "seconds": time.perf_counter() - start}


def main() -> None:
    """Print the rows, or be the worker of one package."""
    if "--worker" in sys.argv:
        print(json.dumps(measured(sys.argv[-1])))
        return
    print(TITLE)
    for row in calibrations():
        print(f"{row.package}: {row.noise_multiplier}, which has epsilon {row.epsilon}, in {row.seconds:.3g} s")


if __name__ == "__main__":
    main()
