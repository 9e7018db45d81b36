"""The noise of one training run from its target: ours against the calibrations of the peers, in one run.

`calibrations()` gives the rows; `python -m benchmarks.calibration` prints them. Every package runs cold in processes of
its own; imports and the first use of NumPy and SciPy are not counted. The peers must be installed: see `make bench`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

EPSILON, DELTA, RATE, STEPS = 3.0, 1e-5, 256 / 50_000, 5000
TIME_LIMIT = 240.0  # s
RUNS = 3  # fresh processes for each package, as many for ours as for theirs; the best counts


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


PACKAGES = {"edgeworth": _edgeworth, "dp-accounting PLD": _dp_accounting, "opacus PRV": _opacus}


def calibrations() -> list[dict[str, Any]]:
    """One row a package: the noise, the certified epsilon it really has, the best time, and the ratio to ours."""
    import edgeworth as ew  # noqa: PLC0415 - a worker of a peer does without

    rows = []
    for name in PACKAGES:
        found = [_in_a_process(name) for _ in range(RUNS)]
        sigma = found[0].get("noise multiplier")
        row: dict[str, Any] = {"package": name, "noise multiplier": sigma, "epsilon it has": None}
        if sigma is not None:
            mechanism = ew.PoissonSampled(ew.Gaussian(sigma), RATE) ** STEPS
            row["epsilon it has"] = ew.account(mechanism).epsilon(DELTA).upper
        row["seconds"] = min(one["seconds"] for one in found)
        rows.append(row)
    for row in rows:
        row["times ours"] = row["seconds"] / rows[0]["seconds"]
    return rows


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
    print(f"noise multiplier for epsilon = {EPSILON:g} at delta = {DELTA:g}, rate {RATE:g}, {STEPS} steps")
    for row in calibrations():
        print("  ".join(f"{key} {value:.6g}" if isinstance(value, float) else str(value) for key, value in row.items()))


if __name__ == "__main__":
    main()
