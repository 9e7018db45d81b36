"""A quick engine before a slow one: which of them is asked for how many readings."""

import numpy as np
import pytest

from edgeworth.composition.answered import Ends
from edgeworth.composition.few_first import MIXTURES, MOMENTS, MOMENTS_FOR_TESTS, POINTS, FarOut, FewFirst
from edgeworth.errors import ComputationFailed


class Says:
    """Answers with the same two ends to every question, and counts what it is asked for."""

    def __init__(self, lower, upper):
        self.ends, self.asked = (lower, upper), []

    def delta(self, direction, argument):
        self.asked.append((direction, argument.size))
        return Ends(*(np.full(argument.size, end) for end in self.ends))

    epsilon = tradeoff = delta

    def bridge(self):
        return self.ends


@pytest.mark.parametrize(("most", "profile", "tests"), [(MOMENTS, 16, 16), (MIXTURES, 64, 16), (POINTS, 256, 16)])
def test_few_are_asked_of_the_first_and_many_of_the_second_alone(most, profile, tests):
    quick, slow = Says(0.5, 0.5), Says(0.4, 0.6)
    answers = FewFirst(quick, lambda: slow, 1e-9, most)
    for what, limit in (("delta", profile), ("epsilon", profile), ("tradeoff", tests)):
        few, many = (getattr(answers, what)("forward", np.full(size, 0.3)) for size in (limit, limit + 1))
        assert (few.upper.max(), many.upper.max()) == (0.5, 0.6)
        assert (quick.asked.pop(), slow.asked.pop()) == (("forward", limit), ("forward", limit + 1))
    assert (quick.asked, slow.asked) == ([], [])
    assert answers.bridge() == (0.4, 0.6)


def test_what_the_first_leaves_wide_is_narrowed():
    answers = FewFirst(Says(0.1, 0.5), lambda: Says(0.3, 0.7), 1e-9, MOMENTS)
    ends = answers.delta("both", np.full(2, 0.1))
    assert (ends.lower.tolist(), ends.upper.tolist()) == ([0.3, 0.3], [0.5, 0.5])


@pytest.mark.parametrize("size", [1, 1000])
def test_of_very_many_different_steps_f_is_asked_of_the_moments_alone(size):
    slow = Says(0.3, 0.7)
    ends = FewFirst(Says(0.1, 0.5), lambda: slow, 1e-9, MOMENTS_FOR_TESTS).tradeoff("forward", np.full(size, 0.1))
    assert ends.upper.tolist() == [0.5] * size
    assert slow.asked == []


def test_far_out_the_wide_ones_are_narrowed_by_another_engine():
    other = Says(0.3, 0.7)
    answers = FarOut(Says(0.1, 0.5), lambda: other, 1e-9, far=2.0)
    ends = answers.delta("forward", np.array([1.0, 2.0, 3.0]))
    assert (ends.lower.tolist(), ends.upper.tolist()) == ([0.1, 0.1, 0.3], [0.5] * 3)
    assert other.asked == [("forward", 1)]
    assert answers.epsilon("forward", np.array([1e-5])).lower.tolist() == [0.1]  # that is an epsilon of 0.1: not far
    assert answers.tradeoff("forward", np.array([0.1])).lower.tolist() == [0.1]
    assert answers.delta("forward", np.full(17, 3.0)).lower.tolist() == [0.1] * 17
    assert len(other.asked) == 1
    assert answers.bridge() == (0.1, 0.5)


def test_an_engine_that_fails_far_out_changes_nothing():
    class Broken(Says):
        def delta(self, direction, argument):
            raise ComputationFailed(f"nothing for {direction} and {argument}")

    answers = FarOut(Says(0.1, 0.5), lambda: Broken(0.0, 1.0), 1e-9, far=0.0)
    assert answers.delta("forward", np.ones(1)).upper.tolist() == [0.5]
