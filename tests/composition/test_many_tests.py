"""f at many alphas from one table of the profile: against formulas, single readings, and with little work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.composition.test_by_profile import Profiled

import edgeworth as ew
from edgeworth.composition import many_tests, work
from edgeworth.composition.many_tests import ManyTests
from edgeworth.curves import GaussianTradeOff
from edgeworth.errors import ComputationFailed

ALPHAS = ndtr(np.linspace(-5.0, 5.0, 41))


class Asked(Profiled):
    """The same, which counts the values of the profile that it is asked for."""

    def __init__(self, mu, width=0.0, units=0.0):
        super().__init__(mu, width)
        self.places, self.units = 0, units

    def delta(self, direction, epsilon):
        self.places += epsilon.size
        work.spend(self.units * epsilon.size)
        return super().delta(direction, epsilon)


class Kinked(Asked):
    """An engine for one randomized response, whose f has a kink and is straight on either side of it."""

    def __init__(self, epsilon):
        super().__init__(1.0)
        self.profile = ew.account(ew.RandomizedResponse(epsilon)).curve.profile()


@settings(max_examples=30, deadline=None)
@given(
    mu=st.floats(1e-3, 6.0),
    direction=st.sampled_from(["forward", "backward", "both"]),
    width=st.sampled_from([0.0, 1e-9, 1e-4]),
)
def test_a_table_of_a_gaussian_profile_encloses_its_trade_off_function(mu, direction, width):
    found = ManyTests(Asked(mu, width), 1e-6).tradeoff(direction, ALPHAS)
    truth = GaussianTradeOff(mu)(ALPHAS)
    assert np.all(found.lower <= truth * (1 + 1e-13))
    assert np.all(found.upper >= truth * (1 - 1e-13))
    inner = (truth > 1e-4) & (width == 0)  # else f has the digits that 1 - delta has
    assert np.all((found.upper - found.lower)[inner] <= 2e-6 * truth[inner])


@pytest.mark.parametrize("epsilon", [1e-3, 0.4, 3.0])
def test_a_kink_is_found(epsilon):
    found = ManyTests(Kinked(epsilon), 1e-6).tradeoff("forward", ALPHAS)
    truth = ew.account(ew.RandomizedResponse(epsilon)).tradeoff(ALPHAS)
    assert np.all((found.lower <= truth.upper * (1 + 1e-13)) & (truth.lower <= found.upper * (1 + 1e-13)))
    assert np.all(found.upper - found.lower <= 1e-5 * truth.value)


def test_neighbours_share_their_places():
    few, many = Asked(1.0), Asked(1.0)
    ManyTests(few, 1e-3).tradeoff("forward", ALPHAS)
    ManyTests(many, 1e-3).tradeoff("forward", ndtr(np.linspace(-5.0, 5.0, 1000)))
    assert few.tests == many.tests == 0
    assert many.places < 4 * few.places
    assert many.places < 1000


def test_few_are_asked_for_alone_and_so_are_those_that_stay_wide():
    engine = Asked(1.0)
    ManyTests(engine, 1e-6).tradeoff("forward", ALPHAS[:16])
    assert (engine.tests, engine.places) == (16, 0)
    ends = ManyTests(engine, 1e-6).tradeoff("forward", np.concatenate([[0.0], ALPHAS, [1.0]]))
    assert engine.tests > 16
    assert ends.upper[0] == 1.0
    assert ends.upper[-1] == 0.0


def test_what_is_spent_ends_the_search_with_ends_that_hold():
    alphas, truth = ndtr(np.linspace(-4.0, 4.0, 300)), GaussianTradeOff(1.0)(ndtr(np.linspace(-4.0, 4.0, 300)))
    engine = Asked(1.0, units=work.MOST_WORK / 50)
    with work.one_reading(alphas.size):
        found = ManyTests(engine, 1e-6).tradeoff("both", alphas)
    assert engine.places < 50 * 2 + 2 * many_tests._AT_ONCE
    assert np.all((found.lower <= truth) & (truth <= found.upper))
    assert np.all(found.upper - found.lower < 0.1)


def test_an_engine_that_gives_up_leaves_what_is_always_true():
    class Broken(Asked):
        def delta(self, *_):
            raise ComputationFailed("no line is left")

    found = ManyTests(Broken(1.0), 1e-6).tradeoff("forward", ALPHAS)
    assert np.all(found.lower == 0)
    assert np.all((found.upper >= 1 - ALPHAS) & (found.upper <= (1 - ALPHAS) * (1 + 1e-15)))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_many_readings_of_a_mix_agree_with_single_ones(direction):
    mix = ew.DiscreteGaussian(3.0) ** 10 * ew.Laplace(4.0) ** 2
    many = ew.account(mix, direction=direction).tradeoff(ALPHAS)
    assert np.all(many.upper - many.lower <= 1e-5 * many.upper)
    for k in range(0, ALPHAS.size, 8):
        one = ew.account(mix, direction=direction).tradeoff(float(ALPHAS[k]))
        assert one.lower <= many.upper[k]
        assert many.lower[k] <= one.upper


def test_the_work_of_many_readings_is_that_of_a_few(monkeypatch):
    """Five samples beside Laplace noise take a second for one alpha, and some to prepare."""
    monkeypatch.setattr(work, "MOST_WORK", 4e7)
    mix = ew.PoissonSampled(ew.Gaussian(2.0), rate=1e-4) ** 5 * ew.Laplace(3.0) ** 2
    before = work.spent()
    found = ew.account(mix).tradeoff(ndtr(np.linspace(-3.0, 3.0, 100)))
    assert work.spent() - before < 2.5 * work.MOST_WORK
    assert np.all(found.upper - found.lower < 0.2 * found.upper)
