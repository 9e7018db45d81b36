"""Readings: scalars and arrays, ends in order, an estimate never a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.account.examples import ALPHAS, DELTAS, EPSILONS, ESTIMATES, METHODS, SGD, few, many, modest

import edgeworth as ew
from edgeworth.errors import NotCertified


@pytest.mark.parametrize("method", METHODS)
def test_scalars_in_scalars_out_arrays_in_arrays_out(method):
    account = ew.account(SGD**20, method=method)
    for reading in (account.tradeoff, account.delta, account.epsilon):
        one = reading(0.25)
        assert all(type(end) is float for end in (one.lower, one.value, one.upper))
        for shape in ((3,), (2, 3), (0,)):
            many = reading(np.full(shape, 0.25))
            assert all(end.shape == shape for end in (many.lower, many.value, many.upper))
            np.testing.assert_allclose(many.value, one.value, rtol=1e-14, atol=0)
        assert reading([0.25, 0.5]).value.shape == (2,)


def test_results_cannot_be_overwritten():
    found = ew.account(SGD**5).delta(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="read-only"):
        found.upper[0] = 0.0


def assert_in_order(account, deltas):
    for found in (account.tradeoff(ALPHAS), account.delta(EPSILONS), account.epsilon(deltas)):
        assert np.all(found.lower <= found.value)
        assert np.all(found.value <= found.upper)


@many
@given(modest, st.sampled_from(["clt", "edgeworth", "cornish-fisher"]))
def test_estimates_are_in_order_everywhere(mechanism, method):
    assert_in_order(ew.account(mechanism, method=method), ALPHAS)


@few
@given(modest)
def test_lower_value_and_upper_are_in_order_everywhere(mechanism):
    assert_in_order(ew.account(mechanism), DELTAS)


@pytest.mark.parametrize("method", ESTIMATES)
def test_an_estimate_has_trivial_ends_and_refuses_to_bound(method):
    account = ew.account(SGD**50, method=method)
    assert not account.certified
    found = account.tradeoff(0.25)
    assert (found.lower, found.upper, found.certified) == (0.0, 0.75, False)
    found = account.delta(np.array([-1.0, 2.0]))
    assert np.array_equal(found.lower, [-np.expm1(-1.0), 0.0])
    assert np.array_equal(found.upper, [1.0, 1.0])
    found = account.epsilon(1e-5)
    assert (found.lower, found.upper) == (0.0, math.inf)
    assert str(found).endswith("(estimate, not a guarantee)")
    for bound, side in ((found.upper_bound, "upper"), (found.lower_bound, "lower")):
        with pytest.raises(
            NotCertified,
            match=rf"^method='{method}' gives an estimate, which has no {side} bound; "
            r'use method="auto" for a guarantee$',
        ):
            bound()


@pytest.mark.parametrize("mechanism", [ew.Gaussian(2.0) ** 3, SGD**20])
def test_a_guarantee_gives_its_bounds(mechanism):
    account = ew.account(mechanism)
    assert account.certified
    found = account.epsilon(1e-3)
    assert found.certified
    assert found.lower == found.lower_bound() <= found.value <= found.upper_bound() == found.upper
