"""Convolutions in blocks are sums of products like any others: of positive terms every one keeps its digits."""

from fractions import Fraction

import numpy as np
import pytest

from edgeworth.composition.one_thread import _LONG, convolution


@pytest.mark.parametrize("sizes", [(_LONG, _LONG), (_LONG + 77, 3 * _LONG + 5), (5 * _LONG + 1, _LONG)])
def test_every_sum_of_a_long_convolution_keeps_its_digits(sizes):
    """Factors over 260 orders of magnitude: an error relative to the largest sum would be felt."""
    rng = np.random.default_rng(sum(sizes))
    one, other = (np.exp(-rng.uniform(0, 300, size)) for size in sizes)
    found = convolution(one, other)
    assert found.size == sum(sizes) - 1
    for k in (0, 1, 130, sizes[0] - 1, sizes[0] + 700, found.size - 2, found.size - 1):
        first, last = max(0, k - sizes[1] + 1), min(k, sizes[0] - 1)
        exact = sum(Fraction(one[i]) * Fraction(other[k - i]) for i in range(first, last + 1))
        assert abs(Fraction(found[k]) / exact - 1) <= (last - first + 1) * Fraction(1, 2**53)


def test_the_order_of_the_factors_does_not_matter():
    rng = np.random.default_rng(3)
    one, other = rng.random(_LONG + 9), rng.random(2 * _LONG)
    assert np.array_equal(convolution(one, other), convolution(other, one))
