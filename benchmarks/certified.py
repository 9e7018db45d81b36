"""The certified engine on the runs that people ask about, and the estimates beside it."""

from __future__ import annotations

import time
from typing import Any

import edgeworth as ew
from edgeworth.losses import total


def sgd(sigma: float, rate: float, steps: int) -> ew.Mechanism:
    """Noisy SGD."""
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps


CASES: list[tuple[str, ew.Mechanism, float]] = [
    ("Gaussian sigma 20, n 1000", ew.Gaussian(20.0) ** 1000, 1e-5),
    ("SGD 0.8, 256/50000, n 1000", sgd(0.8, 256 / 50_000, 1000), 1e-5),
    ("SGD 0.8, 256/50000, n 5000", sgd(0.8, 256 / 50_000, 5000), 1e-5),
    ("SGD 0.8, 256/50000, n 20000", sgd(0.8, 256 / 50_000, 20_000), 1e-5),
    ("SGD 1, 0.01, n 1e4", sgd(1.0, 0.01, 10_000), 1e-5),
    ("SGD 1, 0.01, n 1e4", sgd(1.0, 0.01, 10_000), 1e-12),
    ("SGD 0.6, 0.001, n 1e6", sgd(0.6, 0.001, 10**6), 1e-6),
    ("SGD 1, 1e-4, n 1e8", sgd(1.0, 1e-4, 10**8), 1e-9),
    ("SGD 50, 0.001, n 1000", sgd(50.0, 0.001, 1000), 1e-6),
    ("SGD 0.7, 0.004, n 3000 and Laplace(1)", sgd(0.7, 0.004, 3000) * ew.Laplace(1.0), 1e-5),
]


def epsilons() -> list[dict[str, Any]]:
    """Both ends of epsilon, the relative width, and the time of the first and of a second reading."""
    ew.account(sgd(1.0, 0.1, 100)).epsilon(1e-5)  # imports and first-call costs of NumPy
    rows = []
    for name, mechanism, delta in CASES:
        total._cumulants.cache_clear()
        start = time.perf_counter()
        account = ew.account(mechanism)
        found = account.epsilon(delta)
        first = time.perf_counter() - start
        start = time.perf_counter()
        account.epsilon(delta * 1.001)
        second = time.perf_counter() - start
        rows.append(
            {
                "case": name,
                "delta": delta,
                "method": account.certificate.method,
                "lower": f"{found.lower:.12g}",
                "upper": f"{found.upper:.12g}",
                "relative width": found.width / found.value,
                "first ms": 1e3 * first,
                "second ms": 1e3 * second,
            }
        )
    return rows


def estimates() -> list[dict[str, Any]]:
    """The relative error of each estimate of epsilon against the certified one."""
    rows = []
    for name, mechanism, delta in CASES[1:]:
        truth = ew.account(mechanism).epsilon(delta)
        row: dict[str, Any] = {"case": name, "delta": delta, "certified": f"{truth.value:.8g}"}
        for method, degree in (("clt", 0), ("edgeworth", 2), ("edgeworth", 4), ("saddlepoint", 2), ("saddlepoint", 4)):
            found = ew.account(mechanism, method=method, degree=degree).epsilon(delta).value
            row[method if method == "clt" else f"{method} {degree}"] = f"{found / truth.value - 1:+.1e}"
        rows.append(row)
    return rows
