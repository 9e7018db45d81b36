"""Every answer is a trade-off function, and epsilon and delta are inverse to each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.account.examples import ALPHAS, METHODS, SGD, few, many, modest, smooth_steps

import edgeworth as ew


def assert_tradeoff_function(account):
    value = account.tradeoff(ALPHAS).value
    assert np.all((value >= 0) & (value <= 1 - ALPHAS))
    assert np.all(np.diff(value) <= 0)
    a, b, c = ALPHAS[:-2], ALPHAS[1:-1], ALPHAS[2:]
    chord = (value[:-2] * (c - b) + value[2:] * (b - a)) / (c - a)
    assert np.all(value[1:-1] <= chord * (1 + 1e-9) + 1e-15)  # an ulp of numbers near 1


@many
@given(modest, st.sampled_from(["clt", "edgeworth", "cornish-fisher"]), st.integers(1, 4))
def test_every_expansion_gives_a_tradeoff_function(mechanism, method, degree):
    assert_tradeoff_function(ew.account(mechanism, method=method, degree=degree))


@few
@given(modest)
def test_a_certified_value_is_a_tradeoff_function(mechanism):
    assert_tradeoff_function(ew.account(mechanism))


@few
@given(smooth_steps, st.integers(10, 300), st.integers(0, 4))
def test_the_saddlepoint_gives_a_tradeoff_function(step, n, degree):
    assert_tradeoff_function(ew.account(step**n, method="saddlepoint", degree=degree))


@few
@given(modest, st.floats(1e-8, 0.2))
def test_epsilon_and_delta_are_inverse_to_each_other(mechanism, delta):
    account = ew.account(mechanism)
    epsilon = account.epsilon(delta)
    assert account.delta(epsilon.upper).upper <= delta * (1 + 1e-9)
    if epsilon.lower > 0 and math.isfinite(epsilon.lower):
        assert account.delta(epsilon.lower * (1 - 1e-9)).lower >= delta * (1 - 1e-6) - 1e-12


@pytest.mark.parametrize("method", ["closed-form", "clt", "edgeworth", "cornish-fisher", "saddlepoint"])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-7])
def test_values_of_epsilon_and_delta_are_inverse_to_each_other(method, delta):
    account = ew.account(ew.Gaussian(3.0) ** 20, method=method)
    assert account.delta(account.epsilon(delta).value).value == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_ends_of_the_line(method):
    account = ew.account(SGD**20 * ew.ApproxDP(0.1, 0.01), method=method)
    assert account.delta(-math.inf).value == 1.0
    assert account.delta(math.inf).value == pytest.approx(0.01, rel=1e-12)
    assert account.epsilon(0.0).value == math.inf
    assert account.epsilon(1.0).value == 0.0
    assert account.tradeoff(1.0).value == 0.0
    assert account.tradeoff(0.0).value == pytest.approx(0.99, rel=1e-9)
