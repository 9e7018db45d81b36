"""Real numbers in two doubles, and the largest losses that they are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.exact import TwoDoubles, exact_quotient
from edgeworth.losses import TotalLoss

UNIT = Fraction(1, 2**53)
sizes = st.floats(1e-100, 1e100)


@given(above=sizes, below=sizes, n=st.integers(1, 10**9), share=st.floats(-3.0, 3.0))
def test_a_difference_has_all_its_digits_and_its_sign(above, below, n, share):
    exact = n * Fraction(above) / Fraction(below)
    top = TwoDoubles.of(exact)
    for x in (top.high, math.nextafter(top.high, 0.0), math.nextafter(top.high, math.inf), share * top.high):
        truth, found = exact - Fraction(x), Fraction(float(top.less(np.array([x]))[0]))
        assert abs(found - truth) <= 4 * UNIT * abs(truth)


@pytest.mark.parametrize(
    ("mechanism", "largest"),
    [
        (ew.Laplace(3.0) ** 3, Fraction(1)),
        (ew.Laplace(2.0, sensitivity=0.1) ** 7, 7 * Fraction(0.1) / 2),
        (ew.RandomizedResponse(0.1) ** 5 * ew.RandomizedResponse(0.3, categories=4), 5 * Fraction(0.1) + Fraction(0.3)),
        (ew.DiscreteLaplace(3.0) ** 2 * ew.DiscreteLaplace(7.0, sensitivity=5), Fraction(2, 3) + Fraction(5, 7)),
    ],
)
def test_the_largest_loss_is_the_rational_that_was_given(mechanism, largest):
    total = TotalLoss.of(mechanism)
    assert total.largest == largest
    assert total.support == (-float(largest), float(largest))


@pytest.mark.parametrize(
    "mechanism",
    [ew.Gaussian(1.0), ew.Laplace(3.0) * ew.DiscreteGaussian(2.0), ew.PoissonSampled(ew.Laplace(2.0), rate=0.3)],
)
def test_other_largest_losses_are_no_rationals(mechanism):
    assert TotalLoss.of(mechanism).largest is None


def test_a_quotient_that_is_a_double_needs_no_other_number():
    assert exact_quotient(3.0, 8.0) is None
    assert exact_quotient(1.0, 0.1) == 1 / Fraction(0.1)


@pytest.mark.parametrize("size", [2, 3, 1000])
def test_a_group_keeps_the_quotient(size):
    """Three records of 1/3 each are at most 1 apart, and the profile ends exactly there."""
    profile = ew.account(ew.Laplace(3.0)).group(size)
    assert profile.delta(size / 3 * (1 + 1e-15)).upper == 0
    below = math.nextafter(size / 3, 0.0)
    gap = Fraction(size, 3) - Fraction(below)
    found = profile.delta(below)
    assert found.lower <= float(gap) / 2 <= found.upper <= found.lower * (1 + 1e-10)
