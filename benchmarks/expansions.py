"""A whole Edgeworth curve, cold, against the plain loop; the same curve as n grows; the reference at n = 500."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import edgeworth as ew
from benchmarks import plain_loop
from edgeworth.losses import total

SIGMA, RATE = 1.0, 0.1
ALPHAS = np.linspace(0.001, 0.999, 1000)


def best_of(times: int, work) -> float:
    """The shortest of several runs, in seconds: the one least disturbed by the machine."""
    spent = []
    for _ in range(times):
        total._cumulants.cache_clear()  # cold: nothing is remembered from the run before
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def curve(n: int) -> np.ndarray:
    """One thousand alphas of the degree-2 curve, cumulants included."""
    step = ew.PoissonSampled(ew.Gaussian(SIGMA), RATE)
    return ew.account(step**n, method="edgeworth", direction="forward").tradeoff(ALPHAS).value


def run() -> list[dict[str, Any]]:
    """Rows of name, seconds, ratio and what the ratio is against."""
    loop = best_of(1, lambda: plain_loop.tradeoff(SIGMA, RATE, 1000, ALPHAS))
    curve(10)
    rows = [{"case": "plain root-finding loop, n = 1000, 1000 alphas", "seconds": loop, "ratio": 1.0}]
    for n in (1000, 10**6, 10**9):
        seconds = best_of(7, lambda n=n: curve(n))
        rows.append(
            {"case": f"edgeworth curve, n = {n}, 1000 alphas, cold", "seconds": seconds, "ratio": loop / seconds}
        )
    return rows
