"""What is known at one argument says something at others, and an engine is asked no more than it has to be."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.answered import Ends, Remembered, _falling, _moved
from edgeworth.curves import GaussianTradeOff


class Counted:
    """The trade-off function of G_mu with ends of some width, and a count of the alphas that were asked for."""

    def __init__(self, mu, width):
        self.curve, self.width, self.asked = GaussianTradeOff(mu), width, 0

    def tradeoff(self, _, alpha):
        self.asked += alpha.size
        value = self.curve(alpha)
        return Ends(value * (1 - self.width), value * (1 + self.width))


@pytest.mark.parametrize("width", [1e-13, 1e-6])
def test_neighbours_within_some_ulps_are_one_question_and_their_ends_hold(width):
    engine = Counted(1.0, width)
    remembered, alpha = Remembered(engine), np.array([1e-9, 0.02, 0.3, 0.9])
    remembered.tradeoff("both", alpha)
    for room in (1 - 2.0**-50, 1 + 2.0**-50):
        found, truth = remembered.tradeoff("both", alpha * room), engine.curve(alpha * room)
        assert np.all((found.lower <= truth) & (truth <= found.upper))
        assert np.all(found.upper - found.lower <= 1.02 * 2 * width * truth + 1e-12 * truth)
    assert engine.asked == alpha.size


def test_an_f_too_small_for_its_neighbour_is_asked_for_again():
    """f(0.1) of G_12 is some 1e-26: an ulp of alpha is more than that."""
    engine = Counted(12.0, 1e-12)
    remembered, alpha = Remembered(engine), np.array([0.1, 1e-30])
    remembered.tradeoff("both", alpha)
    found = remembered.tradeoff("both", alpha * (1 + 2.0**-50))
    assert engine.asked == 3
    assert found.lower[0] == engine.curve(alpha[0] * (1 + 2.0**-50)) * (1 - 1e-12)


def test_ends_elsewhere_are_no_ends_here():
    known = Ends(np.array([0.4]), np.array([0.5]))
    assert not _moved(np.array([0.1]), known, np.array([0.3]), lambda gap, least: gap / least)[1].any()


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_a_falling_function_hold_one_another_and_fall(seed):
    rng = np.random.default_rng(seed)
    argument = rng.uniform(0, 5, 40)
    truth = np.exp(-argument)
    known = Ends(truth * (1 - rng.uniform(0, 0.5, 40)), truth * (1 + rng.uniform(0, 0.5, 40)))
    found = _falling(argument, known)
    assert np.all((known.lower <= found.lower) & (found.lower <= truth))
    assert np.all((truth <= found.upper) & (found.upper <= known.upper))
    order = np.argsort(argument)
    assert np.all(np.diff(found.lower[order]) <= 1e-9)
    assert np.all(np.diff(found.upper[order]) <= 1e-9)


def test_narrow_ends_and_ends_that_contradict_each_other_keep_their_bits():
    argument = np.array([1.0, 2.0, 3.0])
    narrow = Ends(np.array([0.5, 0.5 + 1e-12, 0.4]), np.array([0.5, 0.5 + 1e-12, 0.4]))
    assert _falling(argument, narrow) is narrow
    apart = Ends(np.array([0.1, 0.6, 0.3]), np.array([0.2, 0.7, 0.8]))
    found = _falling(argument, apart)
    assert (found.lower[0], found.upper[0]) == (0.1, 0.2)
    assert found.lower[1] == 0.6


def test_what_is_disclosed_costs_no_second_reading_of_f():
    """Three neighbours of alpha/(1 - delta) are asked for; the ends hold what the undisclosed run would have."""
    run = ew.PoissonSampled(ew.Laplace(1.0), 0.05) ** 4
    given, alone = ew.account(run * ew.ApproxDP(0.0, 1e-9)), ew.account(run)
    found, beside = given.tradeoff(0.2), alone.tradeoff(0.2 / (1 - 1e-9))
    assert found.lower <= (1 - 1e-9) * beside.upper
    assert found.upper >= (1 - 1e-9) * beside.lower
    assert found.upper - found.lower <= 1.1 * (beside.upper - beside.lower) + 1e-13
