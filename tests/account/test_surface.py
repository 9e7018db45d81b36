"""What an account says about itself, and how light the package is to import."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from tests.account.examples import SGD

import edgeworth as ew


def test_the_account_says_why_its_method_was_used():
    assert ew.account(ew.Gaussian(1.0)).why == "this composition has a formula"
    assert ew.account(ew.Gaussian(1.0), method="clt").why == 'method="clt" was asked for'


def test_the_account_prints_its_kind():
    shown = repr(ew.account(ew.Gaussian(1.0), method="clt"))
    assert shown == "Account(Gaussian(noise_multiplier=1.0), method='clt', estimate, direction='both')"
    assert "certified" in repr(ew.account(ew.Gaussian(1.0)))


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_two_parameters_of_gaussian_noise(mu):
    """mu* = mu, and gamma = P[the worse of two draws] = Phi(-mu/sqrt 2)."""
    account = ew.account(ew.GaussianDP(mu))
    assert account.mu_star == pytest.approx(mu, rel=1e-12)
    assert account.gamma == pytest.approx(0.5 * math.erfc(mu / 2), rel=1e-9)


def test_raw_expansions_can_be_read():
    account = ew.account(SGD**100, method="edgeworth", direction="forward")
    raw = account.raw_tradeoff(np.array([0.2, 0.5]))
    np.testing.assert_allclose(raw, account.tradeoff(np.array([0.2, 0.5])).value, rtol=1e-6, atol=0)


def test_importing_the_package_is_light():
    code = (
        "import sys, edgeworth; heavy = {'scipy.stats', 'matplotlib', 'typer', 'rich', 'mpmath'} & set(sys.modules); "
        "print(sorted(heavy))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert loaded.stdout.strip() == "[]"
