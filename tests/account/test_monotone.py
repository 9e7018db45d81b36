"""What must not change an answer, and what may change it one way only."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.account.examples import ALPHAS, EPSILONS, METHODS, SGD, few

import edgeworth as ew


@pytest.mark.parametrize("method", METHODS)
def test_order_and_grouping_do_not_change_a_bit(method):
    a, b = SGD**4, ew.Gaussian(2.0) ** 2 * ew.PoissonSampled(ew.Gaussian(3.0), 0.2)
    one, other = ew.account(a * b, method=method), ew.account(b * a, method=method)
    parts = [ew.PoissonSampled(ew.Gaussian(3.0), 0.2), *[SGD] * 4, *[ew.Gaussian(2.0)] * 2]
    listed = ew.account(ew.Composed(parts), method=method)
    for reading in (lambda x: x.tradeoff(ALPHAS), lambda x: x.delta(EPSILONS)):
        found, swapped, apart = (reading(account) for account in (one, other, listed))
        assert np.array_equal(found.value, swapped.value)
        assert np.array_equal(found.upper, swapped.upper)
        assert np.array_equal(found.value, apart.value)


@settings(few, max_examples=6)
@given(st.floats(0.5, 30), st.floats(1e-3, 1), st.integers(1, 5000), st.floats(1.01, 2))
def test_more_steps_less_noise_or_a_larger_rate_never_give_more_privacy(sigma, rate, n, more):
    """The truth is monotone: no certified upper end of the worse may lie below the lower end of the better."""
    alpha = np.array([1e-6, 1e-3, 0.05, 0.3, 0.7])

    def read(s, p, k):
        return ew.account(ew.PoissonSampled(ew.Gaussian(s), p) ** k).tradeoff(alpha)

    base = read(sigma, rate, n)
    for worse in (
        read(sigma / more, rate, n),
        read(sigma, min(1.0, rate * more), n),
        read(sigma, rate, n + 3),
    ):
        assert np.all(worse.lower <= base.upper)


@pytest.mark.parametrize("method", ["closed-form", "edgeworth", "cornish-fisher", "saddlepoint", "clt"])
def test_values_fall_with_every_step(method):
    """On Gaussian noise, where every method is exact, strictly so."""
    values = [ew.account(ew.Gaussian(2.0) ** n, method=method).tradeoff(0.1).value for n in (1, 2, 3, 10, 50)]
    assert np.all(np.diff(values) < 0)


@functools.cache
def by_the_saddlepoint():
    run = ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 400
    return ew.account(run, method="saddlepoint", degree=4).tradeoff(np.array([0.1, 0.3, 0.5])).value


@pytest.mark.parametrize("degree", range(9))
def test_edgeworth_takes_degrees_zero_to_eight(degree):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 400, method="edgeworth", degree=degree)
    gap = np.abs(account.tradeoff(np.array([0.1, 0.3, 0.5])).value - by_the_saddlepoint())
    assert np.max(gap) < (2e-2, 4e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3)[degree]


@pytest.mark.parametrize("method", METHODS)
def test_asking_twice_gives_the_same_bits(method):
    account = ew.account(SGD**10, method=method)
    again = ew.account(SGD**10, method=method)
    first = account.tradeoff(ALPHAS).value
    assert np.array_equal(first, account.tradeoff(ALPHAS).value)
    assert np.array_equal(first, again.tradeoff(ALPHAS).value)


@functools.cache
def two_hundred_steps(method):
    return ew.account(ew.PoissonSampled(ew.Gaussian(1.5), 0.1) ** 200, method=method).tradeoff(ALPHAS)


@pytest.mark.parametrize("method", ["edgeworth", "cornish-fisher", "saddlepoint"])
def test_estimates_lie_within_or_near_the_certified_bracket(method):
    """Noisy SGD at n = 200: degree 2 within 2e-3 of the enclosure everywhere."""
    certified, value = two_hundred_steps("auto"), two_hundred_steps(method).value
    assert np.all(value >= certified.lower - 2e-3)
    assert np.all(value <= certified.upper + 2e-3)
