"""Epsilon from few readings of delta near what rougher answers say."""

import math

import numpy as np
import pytest

from edgeworth.composition.answered import Ends
from edgeworth.composition.near_root import NearRoot
from edgeworth.errors import Unsupported

RATES = {"forward": 7.0, "backward": 9.0}


class Known:
    """delta(eps) = e^(-rate eps), known up to a share, and epsilon up to another one."""

    def __init__(self, share, off=0.0):
        self.share, self.off, self.asked = share, off, []

    def exact(self, direction, epsilon):
        if direction == "both":
            return np.maximum(self.exact("forward", epsilon), self.exact("backward", epsilon))
        return np.exp(-RATES[direction] * epsilon)

    def delta(self, direction, epsilon):
        self.asked.append((direction, epsilon.tolist()))
        value = self.exact(direction, epsilon)
        return Ends(value * (1 - self.share), value * (1 + self.share))

    def epsilon(self, direction, delta):
        rate = min(RATES.values()) if direction == "both" else RATES[direction]
        value = -np.log(delta) / rate
        return Ends(value * (1 - self.off), value * (1 + 3 * self.off))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("delta", [1e-3, 1e-25])
def test_an_epsilon_is_as_narrow_as_delta_nearby(direction, delta):
    close, rough = Known(1e-9), Known(1e-4, off=1e-4)
    low, high = (float(end[0]) for end in NearRoot(close, rough, 1e-6).epsilon(direction, np.array([delta])))
    exact = -math.log(delta) / min(RATES.values() if direction == "both" else [RATES[direction]])
    assert low <= exact <= high
    assert high - low <= 1e-7 * high
    assert len(close.asked) <= 7
    assert {way for way, _ in close.asked} == {"forward" if direction == "both" else direction}


def test_what_is_narrow_is_not_read_again():
    close, rough = Known(1e-9), Known(1e-4, off=1e-9)
    found = NearRoot(close, rough, 1e-6).epsilon("both", np.array([1e-3, 1e-6]))
    assert np.all(found.upper - found.lower < 1e-8)
    assert close.asked == []


def test_readings_that_say_nothing_leave_the_ends_as_they_were():
    rough = Known(1e-4, off=1e-4)
    for share in (1.0, 0.5):
        low, high = NearRoot(Known(share), rough, 1e-6).epsilon("forward", np.array([1e-3]))
        known = rough.epsilon("forward", np.array([1e-3]))
        assert known.lower[0] <= low[0] <= -math.log(1e-3) / 7 <= high[0] <= known.upper[0]
    at_one = NearRoot(Known(1e-9), rough, 1e-6).epsilon("forward", np.array([1.0]))
    assert (at_one.lower[0], at_one.upper[0]) == (0.0, 0.0)


def test_of_both_directions_the_worse_one_is_asked():
    close = Known(1e-9)
    found = NearRoot(close, Known(1e-4), 1e-6).delta("both", np.array([0.0, 0.5]))
    assert np.all(found.upper >= np.exp(-7 * np.array([0.0, 0.5])))
    assert close.asked == [("both", [0.0]), ("forward", [0.5])]


class GivesUp(Known):
    def delta(self, *_):
        raise Unsupported("no")

    epsilon = delta


def test_without_rough_answers_the_others_are_asked_as_they_are():
    close = Known(1e-9, off=1e-9)
    found = NearRoot(close, GivesUp(1.0), 1e-6)
    assert found.epsilon("both", np.array([1e-3])) == close.epsilon("both", np.array([1e-3]))
    assert found.delta("both", np.array([0.5])).upper[0] >= math.exp(-3.5)
    assert close.asked == [("both", [0.5])]
