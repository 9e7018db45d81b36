"""Roots and maxima stay in their brackets and are found to the last bits."""

import numpy as np
import pytest

from edgeworth.curves.search import bracketed_root, golden_maximum, positive_root
from edgeworth.errors import ComputationFailed


def test_roots_over_six_hundred_decades():
    roots = 10.0 ** np.linspace(-300, 300, 121)

    def g(x, which):
        return np.log(roots[which]) - np.log(x)

    found = positive_root(g, np.ones(roots.size), largest=1e307)
    np.testing.assert_allclose(found, roots, rtol=3e-13, atol=0)
    assert np.all(g(found, np.arange(roots.size)) <= 0)


@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-6, 1e-2, 10.0])
def test_a_good_guess_is_enough_and_a_bad_one_does_no_harm(off):
    roots, asked = 10.0 ** np.linspace(-200, 200, 41), [0]

    def g(x, which):
        asked[0] += 1
        return np.log(roots[which]) - np.log(x)

    found = positive_root(g, roots * (1 + off), 1e-9, largest=1e307)
    np.testing.assert_allclose(found, roots, rtol=3e-13, atol=0)
    assert asked[0] <= 7 or off > 1e-12


def test_no_root_is_inf_and_everything_is_zero():
    np.testing.assert_array_equal(positive_root(lambda x, _: np.ones(x.size), np.ones(2), largest=1e300), np.inf)
    np.testing.assert_array_equal(positive_root(lambda x, _: -np.ones(x.size), np.ones(2), largest=1e300), 0.0)


def test_a_jump_is_found_from_above():
    jumps = np.array([0.1, 0.3, 1e-200, 7.0])
    found = positive_root(lambda x, which: np.where(x >= jumps[which], -1.0, 1.0), np.ones(4), largest=1e300)
    assert np.all(found >= jumps)
    np.testing.assert_allclose(found, jumps, rtol=2e-15, atol=0)


def test_wild_functions_converge():
    low, high = np.zeros(3), np.ones(3)
    functions = (lambda x: 1e-3 - x**9, lambda x: np.exp(-500 * x) - 1e-40, lambda x: 0.5 - np.sign(x - 0.7))

    def g(x, which):
        return np.array([functions[k](v) for k, v in zip(which, x, strict=True)])

    found = bracketed_root(g, low, high)
    np.testing.assert_allclose(found, [1e-3 ** (1 / 9), 40 * np.log(10) / 500, 0.7], rtol=1e-14, atol=0)


def test_nan_is_a_failure_and_not_a_number():
    with pytest.raises(ComputationFailed, match=r"^a function is not a number at 0\.5; it has no root there$"):
        bracketed_root(lambda x, _: np.where(x == 0, 1.0, np.where(x == 1, -1.0, np.nan)), np.zeros(1), np.ones(1))


def test_golden_section_finds_each_maximum():
    tops = np.array([-3.0, 0.25, 9.5])
    found = golden_maximum(lambda x: -(np.abs(x - tops) ** 1.5), np.full(3, -10.0), np.full(3, 10.0))
    np.testing.assert_allclose(found, tops, rtol=0, atol=1e-7)
