"""Every valid argument gets an answer, in bounded time and memory."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from tests.account.examples import EPSILONS, ESTIMATES, SGD

import edgeworth as ew

EXTREMES = [
    *(
        (method, s, p, n)
        for method in ESTIMATES[:3]
        for s in (1e-3, 0.3, 1e6)
        for p in (0.0, 1e-6, 0.5, 1.0)
        for n in (1, 10**12)
    ),
    *(("saddlepoint", s, p, 10**12) for s, p in ((1.0, 1e-6), (1.0, 0.5), (1e6, 0.5), (1e6, 1.0))),
    ("saddlepoint", 1e-3, 0.5, 10),
]


@pytest.mark.parametrize(("method", "sigma", "rate", "n"), EXTREMES)
def test_estimates_are_total(method, sigma, rate, n):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n, method=method)
    for found in (
        account.tradeoff(np.array([0.0, 1e-300, 1e-9, 0.5, 1.0])),
        account.delta(np.array([-math.inf, -1e3, 0.0, 1.0, 1e3, 1e6, math.inf])),
        account.epsilon(np.array([0.0, 1e-300, 1e-5, 0.5, 1.0])),
    ):
        assert not np.isnan(found.value).any()
    assert np.all(np.diff(account.tradeoff(np.array([0.0, 1e-300, 1e-9, 0.5, 1.0])).value) <= 2e-16)  # an ulp


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.Laplace(1e-3),
        ew.Laplace(1e6) ** 3,
        ew.RandomizedResponse(800.0),
        ew.ApproxDP(800.0, 0.5),
        ew.Gaussian(1e-3) ** 2,
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["auto", "clt", "edgeworth"])
def test_extremes_of_other_mechanisms_are_total(mechanism, method):
    account = ew.account(mechanism, method=method)
    for found in (
        account.tradeoff(np.array([0.0, 1e-300, 0.5, 1.0])),
        account.delta(EPSILONS),
        account.epsilon(1e-9),
    ):
        assert not np.isnan(found.value).any()


HANGS = [
    ("PoissonSampled(Gaussian(1.0), 1e-4) ** 10", "auto"),
    ("PoissonSampled(Gaussian(1.0), 0.05) ** 4 * Laplace(2.0) ** 2", "saddlepoint"),
    ("PoissonSampled(Gaussian(0.3), 1e-6)", "saddlepoint"),
    ("PoissonSampled(Gaussian(1e6), 1e-6) ** 10**12", "saddlepoint"),
]


@pytest.mark.parametrize(("mechanism", "method"), HANGS)
def test_an_answer_comes_in_seconds_and_in_bounded_memory(mechanism, method):
    """In a process of its own, with 4 GB and 8 s of processor: a crash or a hang there is a failure here, no worse."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)); "
        "resource.setrlimit(resource.RLIMIT_CPU, (8, 8)); from edgeworth import *; "
        f"print(account({mechanism}, method={method!r}).epsilon(1e-5).value)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert float(ran.stdout) >= 0


def test_more_steps_than_any_grid_can_round_get_an_answer_that_says_so():
    account = ew.account(SGD**10**12, method="recursion")
    assert account.certificate.notes == (
        "more steps than a grid of 2097152 losses can round: the ends are basic composition and perfect privacy",
    )
    found = account.epsilon(1e-5)
    assert (found.lower, found.upper) == (0.0, np.inf)
