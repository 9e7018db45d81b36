"""Samples of which one must be far out: the bound against readings, and readings that underflow."""

from dataclasses import replace

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.contour import answers
from edgeworth.composition.contour.one_far import log_one_far
from edgeworth.losses import TotalLoss


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 1e-6, 10), (0.5, 1e-3, 60), (0.8, 0.3, 4)])
def test_one_loss_far_out_bounds_the_profiles(sigma, rate, n):
    mechanism = ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n
    account, epsilon = ew.account(mechanism), np.array([1e-3, 0.3, 4.0])
    for direction in ("forward", "backward", "both"):
        bound = log_one_far(TotalLoss.of(mechanism), direction, epsilon)
        lower = replace(account, direction=direction).delta(epsilon).lower
        with np.errstate(divide="ignore"):
            assert np.all(np.log(lower) <= bound)


def test_a_delta_that_underflows_is_known_at_once(monkeypatch):
    monkeypatch.setattr(answers.Answers, "_delta", None)  # no line is asked
    found = ew.account(ew.PoissonSampled(ew.Gaussian(15.1), 1.5e-6) ** 13).delta(0.0031)
    assert found.lower == 0
    assert 0 < found.upper < 1e-300


def test_a_backward_delta_beyond_the_largest_loss_is_known_at_once(monkeypatch):
    monkeypatch.setattr(answers.Answers, "_delta", None)  # no line is asked
    found = ew.account(ew.PoissonSampled(ew.Gaussian(0.603), 0.0017) ** 15, direction="backward").delta(0.0276)
    assert found.lower == 0
    assert 0 < found.upper < 1e-300
