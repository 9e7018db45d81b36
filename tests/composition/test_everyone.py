"""Engines one after the other: what they prove together, and that none keeps the next from answering."""

import math

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.answered import Ends
from edgeworth.composition.everyone import Everyone, Turn
from edgeworth.composition.work import breaking_off, one_reading, spend
from edgeworth.errors import ComputationFailed


class Says:
    """Answers with the same two ends to every question, for so much work."""

    def __init__(self, lower, upper, work=1.0):
        self.ends, self.work, self.asked = (lower, upper), work, []

    def delta(self, _, argument):
        self.asked.append(argument.tolist())
        spend(self.work)
        return Ends(*(np.full(argument.size, end) for end in self.ends))

    epsilon = tradeoff = delta

    def bridge(self):
        return self.ends


class Fails(Says):
    def delta(self, *_):
        raise ComputationFailed("on purpose")

    epsilon = tradeoff = delta


def everyone(*engines, work=100.0):
    return Everyone([Turn(engine, work) for engine in engines], 1e-6)


def test_the_ends_are_what_all_of_them_prove_together():
    found = everyone(Says(0.1, 0.5), Fails(0, 1), Says(0.3, 0.7)).delta("forward", np.array([1.0, 2.0]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.3, 0.3], [0.5, 0.5])


def test_nobody_is_asked_for_what_is_narrow():
    last = Says(0.1, 0.9)
    found = everyone(Says(0.4, 0.4), last).epsilon("both", np.array([1e-5]))
    assert (found.lower.tolist(), found.upper.tolist(), last.asked) == ([0.4], [0.4], [])


def test_an_engine_that_would_take_all_the_work_is_given_up_for_the_next():
    slow, quick = Says(0.4, 0.4, work=1000.0), Says(0.2, 0.3)
    with one_reading(1), breaking_off():
        found = everyone(slow, quick).tradeoff("backward", np.array([0.1]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.2], [0.3])
    assert slow.asked == quick.asked == [[0.1]]


def test_at_the_end_of_the_whole_reading_what_was_found_before_is_kept():
    last = Says(0.2, 0.2)
    with one_reading(1), breaking_off():
        asked = everyone(Says(0.1, 0.5), Says(0.4, 0.4, work=1e12), last, work=math.inf)
        found = asked.delta("forward", np.array([1.0]))
    assert ([end.tolist() for end in found], last.asked) == ([[0.1], [0.5]], [])


def test_many_readings_at_a_time_are_those_of_the_first():
    first, second = Says(0.1, 0.5, work=1000.0), Says(0.3, 0.3)
    found = everyone(first, second).delta("both", np.linspace(0, 1, 5))
    assert (found.lower.tolist(), second.asked) == ([0.1] * 5, [])
    assert everyone(first, second).bridge() == (0.1, 0.5)


def test_where_all_fail_the_ends_are_trivial():
    nobody = everyone(Fails(0, 1), Fails(0, 1))
    assert [end.tolist() for end in nobody.delta("forward", np.array([1.0]))] == [[0.0], [1.0]]
    assert [end.tolist() for end in nobody.epsilon("forward", np.array([0.1]))] == [[0.0], [math.inf]]
    lower, upper = nobody.tradeoff("forward", np.array([0.1]))
    assert lower.tolist() == [0.0]
    assert 0.9 <= upper[0] < 0.9 + 1e-15


@pytest.mark.parametrize(
    ("mechanism", "direction", "reading", "argument"),
    [  # a table alone asked another engine, which took all the work of the reading
        (
            ew.PoissonSampled(ew.Gaussian(2.67), 1.28e-5) ** 30
            * ew.RandomizedResponse(0.805) ** 21
            * ew.RandomizedResponse(0.319) ** 28,
            "both",
            "epsilon",
            4.18e-9,
        ),
        (
            ew.DiscreteLaplace(0.956) ** 3
            * ew.RandomizedResponse(1.93, categories=17) ** 25
            * ew.PoissonSampled(ew.Gaussian(0.985), 1.6e-4) ** 2,
            "both",
            "epsilon",
            3.97e-3,
        ),
        (  # and here one that has too few digits
            ew.PoissonSampled(ew.Gaussian(2.35), 1.07e-4) ** 35
            * ew.DiscreteGaussian(9.46) ** 14
            * ew.DiscreteLaplace(0.922),
            "forward",
            "delta",
            5.51,
        ),
        (
            ew.PoissonSampled(ew.RandomizedResponse(1.58, categories=5), 5.89e-4) ** 15
            * ew.PoissonSampled(ew.RandomizedResponse(2.45, categories=5), 0.0319) ** 5
            * ew.PoissonSampled(ew.Laplace(2.84), 4.25e-4) ** 3,
            "both",
            "delta",
            1.23,
        ),
    ],
    ids=["two responses", "laplace and responses", "two kinds of discrete noise", "samples of three kinds"],
)
def test_mixes_of_many_kinds_have_six_digits(mechanism, direction, reading, argument):
    found = getattr(ew.account(mechanism, direction=direction), reading)(argument)
    assert 0 < found.upper - found.lower < 1e-6 * found.upper


def test_where_f_underflows_nobody_overflows():
    runs = ew.PoissonSampled(ew.Gaussian(0.402), 0.0439) ** 9_564_501 * ew.RandomizedResponse(0.511)
    mixed = runs * ew.RandomizedResponse(0.216) * ew.ApproxDP(0.511, 1.74e-11) ** 2
    found = ew.account(mixed).tradeoff(4.63e-5)
    assert (found.lower, found.upper < 1e-300) == (0, True)


class Ways(Says):
    """Answers with two ends for each direction, and keeps the directions that it was asked for."""

    def __init__(self, **ends):
        self.ends, self.asked = ends, []

    def delta(self, direction, argument):
        self.asked.append(direction)
        return Ends(*(np.full(argument.size, end) for end in self.ends[direction]))

    epsilon = delta


def test_who_was_given_up_in_both_directions_is_asked_for_one_after_all_others():
    slow, quick = Says(0.4, 0.4, work=1000.0), Says(0.3, 0.3)
    rough = Ways(forward=(0.2, 0.6), backward=(0.0, 0.1))
    with one_reading(1), breaking_off():
        found = Everyone([Turn(slow, 100.0), Turn(quick, 100.0)], 1e-6, lambda: rough).delta("both", np.array([0.5]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.3], [0.3])
    assert (len(slow.asked), len(quick.asked)) == (1, 1)


@pytest.mark.parametrize("reading", ["delta", "epsilon"])
def test_a_direction_that_is_surely_less_is_not_asked_for_once_a_reading_is_wide(reading):
    first = Ways(both=(0.3, 0.5), forward=(0.3, 0.4))
    second = Ways(forward=(0.35, 0.35))
    rough = Ways(forward=(0.2, 0.6), backward=(0.0, 0.1))
    asked = Everyone([Turn(first, 10.0), Turn(second, 10.0)], 1e-6, lambda: rough)
    found = getattr(asked, reading)("both", np.array([0.5]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.35], [0.35])
    assert (first.asked, second.asked) == (["both", "forward"], ["forward"])


def test_where_neither_direction_is_surely_less_both_are_asked_for():
    first, second = Ways(both=(0.3, 0.5)), Ways(both=(0.4, 0.4))
    rough = Ways(forward=(0.2, 0.6), backward=(0.0, 0.3))
    found = Everyone([Turn(first, 10.0), Turn(second, 10.0)], 1e-6, lambda: rough).delta("both", np.array([0.5]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.4], [0.4])
    assert (first.asked, second.asked) == (["both"], ["both"])


def test_the_smaller_direction_of_very_many_samples_may_have_no_digits():
    runs = ew.PoissonSampled(ew.DiscreteGaussian(0.5, sensitivity=2), 1.7e-5) ** 534072044
    found = ew.account(runs).delta(5873.7)
    assert found.lower > 0
    assert found.upper - found.lower < 1e-6 * found.upper
