"""Where a line ends is guessed so well that its steps are tilted once, and the guess enters no answer."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.contour import line
from edgeworth.composition.contour.tail import Guess

RUNS = [  # sigma, rate, steps, how often the step may be tilted: more where jumps become most of the tilted law
    (0.8, 256 / 50_000, 5_000, {1e-5: 1, 1e-10: 2}),
    (0.8, 256 / 50_000, 20_000, {1e-5: 1, 1e-10: 1}),
    (1.0, 0.01, 10_000, {1e-5: 1, 1e-10: 1}),
    (1.0, 1e-4, 10**8, {1e-5: 1, 1e-10: 1}),
    (0.6, 1e-3, 10**6, {1e-5: 1, 1e-10: 1}),
    (0.5, 0.01, 10_000, {1e-5: 1, 1e-10: 1}),
    (0.4, 1e-3, 10**7, {1e-5: 1, 1e-10: 1}),
    (3.0, 0.2, 50, {1e-5: 1, 1e-10: 1}),
    (6.07, 0.00442, 77_568, {1e-5: 1, 1e-10: 1}),
    (0.8, 256 / 50_000, 1_000, {1e-5: 2, 1e-10: 2}),
    (1.0, 0.02, 60, {1e-5: 2, 1e-10: 2}),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "most"), RUNS)
@pytest.mark.parametrize("delta", [1e-5, 1e-10])
def test_the_steps_of_a_run_are_tilted_once(monkeypatch, sigma, rate, steps, most, delta):
    tilted, tilt = [], line.tilt_part
    monkeypatch.setattr(line, "tilt_part", lambda *asked: tilted.append(asked) or tilt(*asked))
    found = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps).epsilon(delta)
    assert len(tilted) <= most[delta]
    assert found.upper - found.lower < 1e-9 * found.upper


@pytest.mark.parametrize("times", [0.3, 0.97, 1.2, 3.0])
def test_another_guess_leads_to_the_same_answer(monkeypatch, times):
    run = ew.PoissonSampled(ew.Gaussian(6.07), 0.00442) ** 77_568
    usual = ew.account(run).delta(0.9)
    made = line.Line.__init__

    def init(self, steps, c, period, guess):
        made(self, steps, c, period, Guess(times * guess.frequency, is_sure=guess.is_sure))

    monkeypatch.setattr(line.Line, "__init__", init)
    other = ew.account(run).delta(0.9)
    assert other.lower <= usual.upper
    assert usual.lower <= other.upper
    assert abs(other.value - usual.value) < 1e-11 * usual.value


def test_segments_of_a_tail_are_in_order(monkeypatch):
    tails, beyond = [], line.tail_beyond
    monkeypatch.setattr(line, "tail_beyond", lambda *asked: tails.append(beyond(*asked)) or tails[-1])
    for sigma in (2.0, 6.0745, 12.5, 30.0):  # lines of so few nodes that the last one is beyond several frequencies
        ew.account(ew.PoissonSampled(ew.Gaussian(sigma), 0.0044) ** 77_568).epsilon(1e-10)
    assert tails
    assert all(np.all(np.diff(tail.start) > 0) for tail in tails)
