"""One measurement, in this process and nothing else: `python -m benchmarks.worker` with a job on standard input.

Two lines of JSON come out: the first reading with its memory, then the second reading of the same account. A first one
that took long is written before the second begins, so that a time limit cannot take it away; a quick one after it, so
that nothing comes between the two, and its memory is that of both.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats

from benchmarks import packages
from benchmarks.cases import Case

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY_LIMIT = 8 * 2**30
LONG = 1.0  # seconds


def warm_up() -> None:
    """Pay once what the first use of NumPy and SciPy costs any package: threads, tables, pages."""
    numbers = np.linspace(0.1, 1.0, 4096)
    np.exp(1j * numbers)
    scipy.special.erfc(numbers)
    scipy.fft.ifft(scipy.fft.fft(numbers))
    np.outer(numbers[:256], numbers[:256]) @ numbers[:256]
    scipy.optimize.brentq(math.cos, 1.0, 2.0)
    scipy.integrate.quad(math.exp, 0.0, 1.0)
    scipy.signal.fftconvolve(numbers, numbers)
    scipy.stats.norm.cdf(numbers)


def peak_megabytes() -> float:
    """The most memory this process has held. Linux hands `ru_maxrss` down from the parent, so its own mark is read."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work returns, and its seconds."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def tell(**found: Any) -> None:
    """One line of JSON, at once."""
    print(json.dumps(found, allow_nan=False), flush=True)


def finite(answer: tuple[float | None, ...]) -> list[float | None]:
    """An infinite end claims nothing."""
    return [end if end is not None and math.isfinite(end) else None for end in answer]


def run(package: str, case: Case, points: int) -> None:
    """Read epsilon twice; or, with points, that many alphas of the trade-off function once."""
    reader = packages.BY_NAME[package].load()
    warm_up()
    alphas = np.linspace(0.001, 0.999, points)
    baseline = peak_megabytes()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    def first() -> Any:
        reader.compose(case)
        return reader.tradeoff(alphas) if points else reader.epsilon(case.delta)

    found, seconds = timed(first)

    def tell_first() -> None:
        peak = peak_megabytes()
        tell(first=seconds, memory=peak - baseline, peak=peak, answer=[None] * 3 if points else finite(found))

    if seconds > LONG:
        tell_first()
    if not points:
        _, again = timed(lambda: reader.epsilon(case.second_delta))
    if seconds <= LONG:
        tell_first()
    if not points:
        tell(second=again)


def answer(job: dict[str, Any]) -> None:
    """Measure what the job asks for; a failure is an answer too."""
    try:
        run(job["package"], Case.from_dict(job["case"]), job["points"])
    except MemoryError:
        tell(failure=f"> {MEMORY_LIMIT >> 30} GB")
    except Exception as error:  # noqa: BLE001 - whatever a package raises is what its user would see
        tell(failure=f"{type(error).__name__}: {error}"[:200])


if __name__ == "__main__":
    answer(json.load(sys.stdin))
