"""Delta next to a largest loss that is a rational number, against fractions and many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import edgeworth as ew
from edgeworth.composition.answered import Ends
from edgeworth.composition.from_the_top import FromTheTop
from edgeworth.losses import TotalLoss


def exact(responses, epsilon):
    """delta of responses (epsilon, categories, count) at an eps above all losses but the largest."""
    with mpmath.workdps(50):
        gap = sum(n * Fraction(e) for e, _, n in responses) - Fraction(epsilon)
        if gap <= 0:
            return mp.mpf(0)
        mass = mp.mpf(1)
        for e, k, n in responses:
            mass *= (mpmath.exp(mp.mpf(e)) / (mpmath.exp(mp.mpf(e)) + k - 1)) ** n
        return mass * -mpmath.expm1(-mp.mpf(gap.numerator) / gap.denominator)


def composed(responses):
    return ew.Composed([ew.RandomizedResponse(e, categories=k) ** n for e, k, n in responses])


SUMS = {
    "below": ([(2.33, 13, 1), (0.165, 2, 3), (0.131, 2, 5)], 3.48),
    "just below": ([(0.68, 2, 4), (1.22, 2, 4)], 7.6),
    "beyond": ([(1.51, 2, 5), (2.41, 2, 1)], 9.96),
    "far enough": ([(1.32, 2, 1), (2.37, 5, 2)], 5.9),
}


@pytest.mark.parametrize(("responses", "epsilon"), SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("direction", ["both", "forward", "backward"])
def test_the_sum_of_all_epsilons_has_all_digits_of_delta(responses, epsilon, direction):
    found, truth = ew.account(composed(responses), direction=direction).delta(epsilon), exact(responses, epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-12 * found.upper


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.1, 3.0), st.integers(2, 9), st.integers(1, 6)), min_size=2, max_size=4),
    st.floats(0.0, 0.09),
)
def test_below_the_largest_loss_it_is_that_of_one_atom(responses, below):
    total = TotalLoss.of(composed(responses))
    epsilon = float(total.largest) - below
    answers = FromTheTop(Nobody(), total, total.largest)
    (low,), (high,) = answers.delta("forward", np.array([epsilon]))
    truth = exact(responses, epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-12 * high


class Nobody:
    """Counts what is not read from the top."""

    def __init__(self):
        self.asked = []

    def delta(self, _, epsilon):
        self.asked.append(epsilon.tolist())
        return Ends(np.full(epsilon.size, 0.25), np.full(epsilon.size, 0.5))


def test_farther_down_and_at_infinity_others_are_asked():
    total, nobody = TotalLoss.of(composed([(1.0, 2, 1), (0.7, 2, 1)])), Nobody()
    found = FromTheTop(nobody, total, total.largest).delta("both", np.array([0.0, 2.0, 0.29, math.inf, 1.65]))
    assert nobody.asked == [[0.0, 0.29, math.inf]]
    assert found.lower[[0, 1, 2]].tolist() == [0.25, 0.0, 0.25]


def test_beside_laplace_noise_nothing_but_the_end_is_known():
    total, nobody = TotalLoss.of(ew.Laplace(2.0) * ew.RandomizedResponse(0.7)), Nobody()
    end = float(total.largest)
    found = FromTheTop(nobody, total, total.largest).delta("both", np.array([end - 1e-3, end]))
    assert nobody.asked == [[end - 1e-3]]
    assert (found.lower[1], found.upper[1]) == (0.0, 0.0) or Fraction(end) < total.largest
