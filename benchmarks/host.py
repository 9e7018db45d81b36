"""One package, imported once: `python -m benchmarks.host NAME` forks a process for every job on standard input.

A job is a line of JSON. What its process tells goes to standard output, and a line follows that says how it ended.
The host composes and reads nothing itself: each process is as cold as a fresh one, with a memory and an end of its own.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
from typing import Any

import numpy as np
import scipy.linalg.blas

from benchmarks import packages, pages, worker
from benchmarks.processes import STARTING


def settle(shared: list[pages.Run]) -> None:
    """Be where a fresh process is after its imports: with threads for linear algebra, and no memory to be copied.

    Threads do not survive a fork. Those of NumPy and those of SciPy start with a product, and are asleep again when
    the memory is copied.
    """
    square = np.ones((256, 256))
    square @ square
    scipy.linalg.blas.dgemm(1.0, square, square)
    pages.own(shared)


def measure(job: dict[str, Any], shared: list[pages.Run]) -> None:
    """Settle, and answer."""
    settle(shared)
    worker.answer(job)


def attend(job: dict[str, Any], shared: list[pages.Run]) -> str:
    """Fork the process of a job, wait for it no longer than its limit, and say how it ended."""
    process = multiprocessing.get_context("fork").Process(target=measure, args=(job, shared), daemon=True)
    process.start()
    process.join(job["limit"] + STARTING)
    if process.is_alive():
        process.kill()
        process.join()
        return f"> {job['limit']:g} s"
    return f"ended with {process.exitcode}"


def main(package: str) -> None:
    """Import the package, then attend to every job."""
    with contextlib.suppress(Exception):  # what fails here fails again in every process, which tells it
        packages.BY_NAME[package].load()
    worker.warm_up()
    shared = pages.resident()
    for line in sys.stdin:
        worker.tell(ending=attend(json.loads(line), shared))


if __name__ == "__main__":
    main(sys.argv[1])
