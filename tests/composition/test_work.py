"""The work of a reading is counted, whatever engines it turns to: it ends once that is spent, with ends that hold."""

from contextlib import suppress
from contextvars import copy_context
from threading import Barrier, Thread
from types import SimpleNamespace

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import work
from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined
from edgeworth.composition.few_first import FarOut
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.composition.remembered import Remembered
from edgeworth.composition.work import MOST_WORK, WorkSpent, is_spent, one_reading, spend, spent
from edgeworth.curves import GaussianTradeOff
from edgeworth.losses import TotalLoss


class Slow:
    """An engine for Gaussian noise whose every reading takes so much work, and is so wide."""

    def __init__(self, share, width):
        self.work, self.width, self.asked = share * MOST_WORK, width, 0

    def tradeoff(self, _, alpha):
        return self._ends(GaussianTradeOff(1.0)(alpha))

    def delta(self, _, epsilon):
        return self._ends(GaussianTradeOff(1.0).profile()(epsilon))

    def _ends(self, truth):
        self.asked += 1
        spend(self.work)
        return Ends(truth * (1 - self.width), truth * (1 + self.width))


@pytest.mark.parametrize(("share", "asked"), [(0.9, 1), (1.1, 0)])
def test_a_reading_that_has_spent_its_work_turns_to_no_further_engine(share, asked):
    first, second = Slow(share, 0.1), Slow(0.0, 1e-9)
    answers = Remembered(Combined(first, lambda: second))
    for alpha in (0.1, 0.1, 0.2):
        ends = answers.tradeoff("forward", np.array([alpha]))
        assert ends.lower[0] < GaussianTradeOff(1.0)(alpha) < ends.upper[0]
        assert (ends.lower[0] > 0.99 * ends.upper[0]) == bool(asked)
    assert (first.asked, second.asked) == (2, 2 * asked)  # the last of them is remembered


def test_each_of_many_values_has_its_own_work():
    first, second = Slow(1.1, 0.1), Slow(0.0, 1e-9)
    Remembered(Combined(first, lambda: second)).tradeoff("forward", np.array([0.1, 0.2]))
    assert second.asked == 1


def test_no_lattice_narrows_what_is_far_out_once_the_work_is_spent():
    first, second = Slow(1.1, 0.1), Slow(0.0, 1e-9)
    Remembered(FarOut(first, lambda: second, 1e-6, 0.0)).delta("forward", np.array([1.0]))
    assert second.asked == 0


@pytest.mark.parametrize("slow", [False, True])
def test_a_search_for_f_ends_once_the_work_is_spent(slow):
    rounds = {}
    for share in (0.0, 0.3):
        engine = Slow(share, 1e-13)
        engine.tradeoff = lambda _, alpha: Ends(np.zeros(alpha.size), 1 - alpha)
        ends = Remembered(ByProfile(engine, 1e-9, slow=slow)).tradeoff("forward", np.array([0.1]))
        assert ends.lower[0] < GaussianTradeOff(1.0)(0.1) < ends.upper[0]
        rounds[share] = engine.asked
    assert rounds[0.3] <= 6 < rounds[0.0]


def sample(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate)


def response(epsilon, rate):
    return ew.PoissonSampled(ew.RandomizedResponse(epsilon), rate=rate)


#: readings of mixes that took more than ten seconds
LONG = [
    (sample(1.531, 1.14e-6) ** 4, 0.74),
    (
        ew.PoissonSampled(ew.Laplace(0.322), rate=2.2e-4) ** 2
        * ew.DiscreteGaussian(0.556) ** 12
        * ew.ApproxDP(0.1, delta=1e-6) ** 6
        * ew.DiscreteGaussian(2.615) ** 14,
        0.001,
    ),
    (
        sample(0.666, 0.0547)
        * ew.RandomizedResponse(0.745, categories=4) ** 10
        * ew.RandomizedResponse(0.023) ** 10
        * ew.DiscreteGaussian(2.457) ** 6,
        0.0011,
    ),
]


@pytest.mark.parametrize(("mechanism", "alpha"), LONG)
def test_a_reading_of_a_mix_takes_a_share_of_its_work(mechanism, alpha):
    before = spent()
    bracket = ew.account(mechanism, direction="forward").tradeoff(alpha)
    assert 0 < spent() - before < 0.3 * MOST_WORK
    assert bracket.upper - bracket.lower <= 1e-6 * bracket.upper


def test_ends_hold_however_little_work_a_reading_has(monkeypatch):
    """And they are wider, where engines that would narrow them are not asked."""
    mechanism = sample(0.53, 0.0114) ** 6 * ew.RandomizedResponse(3.423, categories=5) ** 3
    known = ew.account(mechanism, direction="backward").tradeoff(1e-3)
    widths = []
    for most in (1e6, 1e4):
        monkeypatch.setattr(work, "MOST_WORK", most)
        found = ew.account(mechanism, direction="backward").tradeoff(1e-3)
        assert found.lower <= known.upper
        assert known.lower <= found.upper
        widths.append(found.upper - found.lower)
    assert known.upper - known.lower <= widths[0] <= widths[1]


def test_work_is_spent_in_a_reading_alone():
    spend(2 * MOST_WORK)
    assert not is_spent()
    with one_reading(1):
        assert not is_spent()
        spend(2 * MOST_WORK)
        with one_reading(1):  # part of the same
            assert is_spent()


def test_readings_in_two_threads_share_no_work():
    """Nor does what one engine may take at most bind another, outside of any reading."""
    both, found = Barrier(2, timeout=60), {}

    def read(name, most, units):
        with one_reading(1) if most is None else work.at_most(most):
            both.wait()
            with suppress(WorkSpent):
                spend(units)
            both.wait()
            found[name] = is_spent()

    for most in (None, 1.5 * MOST_WORK):
        threads = [
            Thread(target=copy_context().run, args=(read, units, most, units * MOST_WORK)) for units in (0.5, 2.0)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {0.5: False, 2.0: True}


def test_a_search_for_epsilon_that_is_broken_off_keeps_what_it_has_proved():
    class BrokenOff(ProfileAlone):
        left = 6

        def at(self, _, epsilon):
            self.left -= 1
            if self.left < 0:
                raise work.WorkSpent
            value = float(GaussianTradeOff(1.0).profile()(epsilon))
            return value * (1 - 1e-9), value * (1 + 1e-9)

    total = TotalLoss.of(ew.Gaussian(1.0) ** 2 * ew.Laplace(1.0))
    known = 0.5, 30.0
    made = BrokenOff(total)
    made._places = SimpleNamespace(root=lambda *_: known)
    lower, upper = made.root("forward", 1e-5)
    true = float(GaussianTradeOff(1.0).profile().epsilon(1e-5))
    assert made.left < 0
    assert lower <= true <= upper
    assert upper - lower < 0.1 * (known[1] - known[0])
