"""What is known at one argument says something at others, and an engine is asked no more than it has to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.answered import Ends
from edgeworth.composition.neighbours import Known, moved
from edgeworth.composition.remembered import Remembered, _falling
from edgeworth.curves import GaussianTradeOff


class Counted:
    """The trade-off function and the profile of G_mu with ends of some width, and a count of what was asked for."""

    def __init__(self, mu, width):
        self.curve, self.width, self.asked = GaussianTradeOff(mu), width, 0
        self.profile = self.curve.profile()

    def tradeoff(self, _, alpha):
        return self._around(self.curve(alpha))

    def delta(self, _, epsilon):
        return self._around(self.profile(epsilon))

    def _around(self, value):
        self.asked += value.size
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


def test_what_is_no_neighbour_asks_nothing_of_the_rough_engine():
    """A second reading costs what it costs: nothing is spent on whether the first one bounds it."""
    engine, rough = Counted(1.0, 1e-12), Counted(1.0, 0.1)
    remembered = Remembered(engine, rough)
    remembered.delta("both", np.array([1.0]))
    remembered.delta("both", np.array([1.001]))
    remembered.tradeoff("both", np.array([0.02]))
    remembered.tradeoff("both", np.array([0.04]))
    assert (engine.asked, rough.asked) == (4, 0)


@pytest.mark.parametrize("width", [1e-13, 1e-6])
def test_deltas_within_some_ulps_are_one_question_and_their_ends_hold(width):
    engine = Counted(1.0, width)
    remembered, epsilon = Remembered(engine), np.array([-0.4, 0.0, 0.02, 0.3, 1.5])
    remembered.delta("both", epsilon)
    for away in (-(2.0**-50), 2.0**-50):
        found, truth = remembered.delta("both", epsilon + away), engine.profile(epsilon + away)
        assert np.all((found.lower <= truth) & (truth <= found.upper))
        assert np.all(found.upper - found.lower <= 1.02 * 2 * width * truth + 1e-12 * truth)
    assert engine.asked == epsilon.size


def test_a_delta_too_small_for_its_neighbour_is_asked_for_again():
    """delta(12) of G_1 is some 1e-31: an ulp of eps is more than that; delta(0.5) is not asked for again."""
    engine = Counted(1.0, 1e-12)
    remembered, epsilon = Remembered(engine), np.array([0.5, 12.0])
    remembered.delta("both", epsilon)
    beside = epsilon * (1 + 2.0**-50)
    found = remembered.delta("both", beside)
    assert engine.asked == 3
    assert found.lower[1] == engine.profile(beside)[1] * (1 - 1e-12)


def test_a_delta_alone_too_small_for_its_neighbour_is_remembered_at_the_new_place():
    engine = Counted(1.0, 1e-12)
    remembered, beside = Remembered(engine), np.array([12.0 * (1 + 2.0**-50)])
    remembered.delta("both", np.array([12.0]))
    first = remembered.delta("both", beside)
    assert remembered.delta("both", beside) is first
    assert engine.asked == 2


def test_each_direction_has_neighbours_of_its_own():
    engine = Counted(1.0, 1e-6)
    remembered = Remembered(engine)
    remembered.delta("forward", np.array([0.3]))
    remembered.delta("backward", np.array([0.3 + 2.0**-50]))
    assert engine.asked == 2


def _width_allowed(known):
    return np.maximum(1e-10 * known.lower, 0.01 * (known.upper - known.lower)) + 1e-15


@given(
    question=st.sampled_from(["delta", "tradeoff", "epsilon"]),
    mu=st.floats(0.2, 6.0),
    place=st.floats(0.01, 0.99),
    away=st.floats(-1.0, 1.0).filter(lambda away: away != 0),
    smaller=st.integers(0, 50),
    width=st.sampled_from([1e-13, 1e-6, 0.1, 1.0]),
    slack=st.sampled_from([None, 1.0, 30.0]),
)
def test_moved_ends_hold_however_far_they_were_moved(question, mu, place, away, smaller, width, slack):
    """The bound on the fall is for any two places; that they are near is asked for lest the ends be wide."""
    curve = GaussianTradeOff(mu)
    ask = {"delta": curve.profile(), "tradeoff": curve, "epsilon": curve.profile().epsilon}[question]
    before = np.array([9 * place if question == "delta" else place])
    after = np.clip(before * (1 + away * 2.0**-smaller), 1e-9, 9.0 if question == "delta" else 1.0)
    truth = ask(after)
    known = Ends(ask(before) * (1 - width), ask(before) * (1 + width))
    rough = None if slack is None else lambda places: Ends(np.zeros(places.size), slack * ask(places))
    ends, near = moved(question, Known(before, known), after, rough)
    assert ends.lower[0] <= truth[0] * (1 + 1e-12) + 1e-15
    assert truth[0] * (1 - 1e-12) - 1e-15 <= ends.upper[0]
    wider = (ends.upper - ends.lower) - (known.upper - known.lower)
    assert not near[0] or wider[0] <= _width_allowed(known)[0]


@pytest.mark.parametrize(
    ("question", "place"),
    [("tradeoff", 1e-3), ("tradeoff", 0.2), ("delta", 12.0), ("epsilon", 1e-40), ("epsilon", 0.1)],
)
@pytest.mark.parametrize("away", [-(2.0**-49), 2.0**-49])
def test_a_rough_engine_says_that_neighbours_are_near(question, place, away):
    """f(0.001) of G_12 is some 1e-19: an ulp of alpha is more, f falls by less; ends ten times too high say so."""
    curve = GaussianTradeOff(12.0 if question == "tradeoff" else 1.0)
    ask = {"delta": curve.profile(), "tradeoff": curve, "epsilon": curve.profile().epsilon}[question]
    before, after = np.array([place]), np.array([place * (1 + away)])
    known = Ends(ask(before), ask(before))
    rough = (lambda places: Ends(places, ask(places) + 1)) if question == "epsilon" else None
    rough = rough or (lambda places: Ends(places, 10 * ask(places)))
    ends, near = moved(question, Known(before, known), after, rough)
    assert near.all()
    assert not moved(question, Known(before, known), after)[1].any()
    assert np.all((ends.lower <= ask(after) * (1 + 1e-13)) & (ask(after) <= ends.upper * (1 + 1e-13)))


def test_a_rough_engine_that_fails_says_nothing():
    def fails(_):
        raise ValueError

    known = Known(np.array([0.5]), Ends(np.array([1e-20]), np.array([1e-20])))
    assert not moved("tradeoff", known, np.array([0.5 + 2.0**-50]), fails)[1].any()


def test_many_alphas_bound_each_other():
    """The least of them has none below: it is asked for again."""
    curve = GaussianTradeOff(12.0)
    alpha = np.linspace(0.02, 0.9, 40)
    engine = Counted(12.0, 1e-9)
    remembered = Remembered(engine)
    remembered.tradeoff("both", alpha)
    found, truth = remembered.tradeoff("both", alpha * (1 + 2.0**-50)), curve(alpha * (1 + 2.0**-50))
    assert engine.asked <= alpha.size + 5
    assert np.all((found.lower <= truth) & (truth <= found.upper))
    assert np.all(found.upper - found.lower <= 1.02 * 2e-9 * truth + 1e-10 * truth)


@given(epsilon=st.floats(-3.0, 3.0), gap=st.floats(1e-6, 3.0))
def test_no_profile_falls_faster_than_that_of_one_loss_alone(epsilon, gap):
    """0 <= delta(a) - delta(b) <= 1 - e^(a-b) <= b - a, with equality where Q has the loss b alone."""
    for atoms in ({0.0: 1.0}, {-1.0: 0.5, 1.0: 0.5}, {epsilon + gap: 1.0}):
        at = [sum(q * max(-np.expm1(t - loss), 0.0) for loss, q in atoms.items()) for t in (epsilon, epsilon + gap)]
        assert -1e-15 <= at[0] - at[1] <= -np.expm1(-gap) + 1e-15
    assert at[0] - at[1] >= -np.expm1(-gap) * (1 - 1e-9)


def test_ends_elsewhere_are_no_ends_here():
    known = Ends(np.array([0.4]), np.array([0.5]))
    assert not moved("tradeoff", Known(np.array([0.1]), known), np.array([0.3]))[1].any()


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


@pytest.mark.parametrize("ask", ["tradeoff", "epsilon", "delta"])
def test_what_is_disclosed_is_one_question_also_where_the_answer_is_tiny(ask, monkeypatch):
    """Each engine is asked by `Remembered` once: f is 4e-17 here, and was three searches of seconds each."""
    account = ew.account(
        ew.DiscreteGaussian(0.6) ** 32 * ew.RandomizedResponse(1.3) ** 5 * ew.ApproxDP(0.05, 1e-8), direction="forward"
    )
    asked = []
    count = Remembered._remembered

    def counting(self, question, direction, argument):
        asked.append(question)
        return count(self, question, direction, argument)

    monkeypatch.setattr(Remembered, "_remembered", counting)
    found = {"tradeoff": account.tradeoff, "epsilon": account.epsilon, "delta": account.delta}[ask](
        {"tradeoff": 1e-3, "epsilon": 1e-7, "delta": 90.0}[ask]
    )
    assert asked.count(ask) == 1 if ask != "delta" else len(set(asked)) == 1
    assert 0 < found.upper - found.lower <= 1e-8 * found.upper
