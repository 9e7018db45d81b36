"""The lattice's work is counted: a reading ends when it is spent, with ends that hold, the same in every company."""

import functools
import operator

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import moments, noisy_lines
from edgeworth.composition.lattice import ladder
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.composition.work import spend, spent
from edgeworth.losses import TotalLoss

MIX = TotalLoss.of(ew.PoissonSampled(ew.Laplace(scale=1.0), rate=0.1) ** 3 * ew.RandomizedResponse(0.3))
ASKED = {"epsilon": 1e-5, "delta": 0.7, "tradeoff": 0.02}


def read(answers, what):
    lower, upper = getattr(answers, what)("both", np.array([ASKED[what]]))
    return float(lower[0]), float(upper[0])


def test_work_adds_up():
    before = spent()
    spend(5)
    spend(0.5)
    assert spent() - before == 5.5


@pytest.mark.parametrize("what", ASKED)
def test_ends_hold_however_little_work_is_allowed(monkeypatch, what):
    lower, upper = read(LatticeAnswers(MIX), what)
    widths = []
    for most in (1.0, 3e5):
        monkeypatch.setattr(ladder, "MOST_WORK", most)
        wide = read(LatticeAnswers(MIX), what)
        assert 0 <= wide[0] <= upper
        assert lower <= wide[1] < np.inf
        widths.append(wide[1] - wide[0])
    assert upper - lower <= widths[1] <= widths[0]


def test_less_work_is_done_where_less_is_allowed(monkeypatch):
    taken = []
    for most in (3e6, 1.0):
        monkeypatch.setattr(ladder, "MOST_WORK", most)
        before = spent()
        read(LatticeAnswers(MIX), "epsilon")
        taken.append(spent() - before)
    assert taken[1] < taken[0] < 1e7


def test_a_spent_reading_leaves_the_next_one_its_own_work(monkeypatch):
    monkeypatch.setattr(ladder, "MOST_WORK", 3e5)
    alone = {what: read(LatticeAnswers(MIX), what) for what in ASKED}
    together = LatticeAnswers(MIX)
    assert {what: read(together, what) for what in ASKED} == alone
    assert {what: read(together, what) for what in reversed(ASKED)} == alone


def different_samples(count):
    steps = [ew.PoissonSampled(ew.Laplace(1 + 0.01 * k), rate=0.01 + 0.0005 * k) for k in range(count)]
    return functools.reduce(operator.mul, steps)


def test_of_very_many_different_steps_f_is_no_work_for_a_lattice(monkeypatch):
    monkeypatch.setattr(noisy_lines, "applies", lambda _: False)
    monkeypatch.setattr(ladder.Ladder, "rung", lambda *_: pytest.fail("a lattice was asked"))
    account = ew.account(different_samples(151))
    test = account.tradeoff(0.1)
    known = moments.prepared(account.total).tradeoff("both", np.array([0.1]))
    assert (test.lower, test.upper) == (known.lower[0], known.upper[0])
    assert 0 < test.lower < test.upper


def test_no_better_slope_is_sought_where_the_ends_are_blurred(monkeypatch):
    made = LatticeAnswers(TotalLoss.of(different_samples(3)))
    lines = []
    monkeypatch.setattr(made, "_common_line", lambda _, t: lines.append(t) or 0.2)
    monkeypatch.setattr(made, "_miss", lambda direction, _: (0.5 if direction == "forward" else -0.1, 0.2, 0.3))
    assert made._hull(0.1, 0.3) == (0.2, 0.3)
    assert lines == [0.5, 0.1]


@pytest.mark.parametrize("number", [-ladder._MOST_RUNGS, ladder._MOST_RUNGS - 1])
def test_no_rung_is_sought_beyond_the_last(monkeypatch, number):
    made = LatticeAnswers(MIX)
    monkeypatch.setattr(made._tests, "_rung_of_test", lambda *_: number)
    _, lower, upper = made.miss("forward", 0.3)
    assert 0 <= lower <= upper <= 1
