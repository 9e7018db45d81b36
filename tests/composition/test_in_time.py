"""Readings end: what takes too long is broken off, and what is left open is known from quicker answers, and holds."""

import math

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import work
from edgeworth.composition.answered import Ends
from edgeworth.composition.both_ways import one_by_one
from edgeworth.composition.combined import Combined
from edgeworth.composition.in_time import InTime
from edgeworth.composition.remembered import Remembered
from edgeworth.composition.work import MOST_WORK, WorkSpent, breaking_off, one_reading, spend, spent
from edgeworth.curves import GaussianTradeOff


class Engine:
    """An engine for Gaussian noise whose every reading takes so many steps of work, and is so wide."""

    def __init__(self, steps, width):
        self.steps, self.width, self.taken = steps, width, 0

    def tradeoff(self, _, alpha):
        return self._ends(GaussianTradeOff(1.0)(alpha))

    def delta(self, _, epsilon):
        return self._ends(GaussianTradeOff(1.0).profile()(epsilon))

    def epsilon(self, _, delta):
        return self._ends(GaussianTradeOff(1.0).profile().epsilon(delta))

    def _ends(self, truth):
        for _ in range(self.steps):
            spend(0.01 * MOST_WORK)
            self.taken += 1
        return Ends(truth * (1 - self.width), truth * (1 + self.width))


@pytest.mark.parametrize("what", ["tradeoff", "delta", "epsilon"])
def test_what_takes_too_long_is_broken_off_and_the_quick_engine_answers(what):
    endless, quick = Engine(10**6, 1e-9), Engine(0, 0.1)
    found = getattr(Remembered(InTime(endless, lambda: quick)), what)("forward", np.array([0.1]))
    known = getattr(quick, what)("forward", np.array([0.1]))
    assert (found.lower, found.upper) == (known.lower, known.upper)
    assert 100 < endless.taken < 130


def test_an_engine_that_is_broken_off_leaves_the_ends_of_the_one_before():
    endless = Engine(10**6, 1e-9)
    answers = Remembered(InTime(Combined(Engine(0, 1e-3), lambda: endless), lambda: Engine(0, 0.1)))
    lower, upper = answers.tradeoff("forward", np.array([0.1]))
    assert endless.taken > 100
    assert upper - lower < 3e-3 * upper


def test_nothing_is_broken_off_where_no_other_engine_answers():
    slow = Engine(300, 1e-9)
    Remembered(slow).tradeoff("forward", np.array([0.1]))
    assert slow.taken == 300


class Clock:
    """Every step of work takes so many seconds."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds = 1000.0, seconds
        monkeypatch.setattr(work.time, "thread_time", self.tick)

    def tick(self):
        self.now += self.seconds
        return self.now


@pytest.mark.parametrize(("count", "seconds"), [(1, 10.0), (2, 20.0), (9, 20.0)])
def test_on_a_slow_machine_the_clock_ends_a_reading_before_its_work_is_spent(monkeypatch, count, seconds):
    endless, clock = Engine(10**6, 1e-9), Clock(monkeypatch, 0.2)
    begin = clock.now
    Remembered(InTime(endless, lambda: Engine(0, 0.1))).tradeoff("forward", np.full(count, 0.1))
    assert 0.65 * seconds < clock.now - begin < 0.8 * seconds
    assert endless.taken < 100  # steps of work, of which a reading may take a hundred


def test_on_a_slow_machine_no_further_engine_is_begun(monkeypatch):
    Clock(monkeypatch, 0.2)
    first, second = Engine(33, 0.1), Engine(1, 1e-9)
    Remembered(InTime(Combined(first, lambda: second), lambda: Engine(0, 0.5))).tradeoff("forward", np.array([0.1]))
    assert (first.taken, second.taken) == (33, 0)


def test_no_engine_takes_what_is_broken_off_for_its_own_failure():
    """They catch what they raise, and may remember that a line or a lattice cannot be had."""
    assert not issubclass(WorkSpent, (ArithmeticError, ValueError, ew.EdgeworthError))


def test_the_outermost_of_many_are_asked_first_and_none_once_the_work_is_spent():
    asked = []

    def ask(x):
        asked.append(x)
        spend(0.45 * MOST_WORK)
        return x, x

    with one_reading(9), breaking_off():
        lower, upper = one_by_one(np.array([3.0, 1, 5, 2, 4, 6]), ask, (0.0, math.inf))
    assert asked == [1, 6, 3, 2, 4]
    assert lower.tolist() == [3, 1, 0, 2, 4, 6]
    assert upper.tolist() == [3, 1, math.inf, 2, 4, 6]


def test_the_values_of_a_call_that_are_left_lie_between_their_neighbours():
    class Wide(Engine):
        def epsilon(self, way, delta):
            return one_by_one(delta, lambda x: tuple(end[0] for end in Engine.epsilon(self, way, [x])), (0.0, math.inf))

    delta = np.logspace(-12, -1, 23)
    lower, upper = Remembered(InTime(Wide(50, 1e-9), lambda: Engine(0, 0.5))).epsilon("forward", delta)
    truth = GaussianTradeOff(1.0).profile().epsilon(delta)
    assert np.all((lower <= truth) & (truth <= upper))
    assert np.count_nonzero(upper - lower < 1e-8 * upper) == 4  # half a reading each
    assert np.all(upper[1:-1] <= 1.0001 * upper[0])
    assert np.all(lower >= 0.9999 * lower[-1])


def sample(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate)


#: mixes of which a reading took up to twenty seconds
LONG = {
    "rare jumps of three samples": sample(0.408, 1.54e-4) ** 44
    * sample(0.736, 2.48e-5) ** 43837
    * sample(2.522, 0.00447) ** 2712
    * ew.RandomizedResponse(4.908) ** 16,
    "few samples": sample(17.331, 2.06e-6) ** 5,
    "samples of Laplace noise": ew.PoissonSampled(ew.Laplace(0.851), rate=0.608) ** 12 * ew.Laplace(6.161) ** 9,
    "samples beside noise": sample(2.0, 1e-4) ** 5 * ew.Laplace(3.0) ** 2,
}
QUESTIONS = [("tradeoff", 0.01), ("epsilon", 1e-6), ("delta", 0.3)]


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize(("what", "value"), QUESTIONS)
def test_no_reading_takes_more_than_its_work_and_what_was_begun(monkeypatch, name, what, value):
    """And the ends hold: those that ten times the work finds lie in the same place."""
    monkeypatch.setattr(work, "MOST_WORK", 3e6)
    account = ew.account(LONG[name], direction="forward")
    before = spent()
    found = getattr(account, what)(value)
    assert spent() - before < 1.25 * work.MOST_WORK + 2e6  # the last step, and the moments
    monkeypatch.setattr(work, "MOST_WORK", 3e7)
    more = getattr(ew.account(LONG[name], direction="forward"), what)(value)
    assert found.lower <= more.upper
    assert more.lower <= found.upper


def test_many_values_of_epsilon_take_no_more_than_two_readings(monkeypatch):
    monkeypatch.setattr(work, "MOST_WORK", 1e7)
    mix = sample(1.0, 1e-3) ** 20 * ew.RandomizedResponse(1.0) ** 4
    delta = np.logspace(-12, -1, 60)
    account = ew.account(mix, direction="forward")
    before = spent()
    found = account.epsilon(delta=delta)
    assert spent() - before < 2.25 * work.MOST_WORK + 1e7
    known = ew.account(mix, method="lattice", direction="forward")
    for k in (0, 13, 40, 59):
        one = known.epsilon(delta=float(delta[k]))
        assert found.lower[k] <= one.upper
        assert one.lower <= found.upper[k]
    assert np.all(np.diff(found.upper) <= 0)
    assert np.all(found.upper < np.inf)
