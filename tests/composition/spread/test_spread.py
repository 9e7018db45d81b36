"""Samples beside a rest: against 30 digits, other engines, and the bounds on what spreading raises themselves."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.composition.spread.examples import DIRECTIONS, NEARLY, normal, total_of

import edgeworth as ew
from edgeworth.composition import in_turn, lattice, moments, spread, work
from edgeworth.composition.aim import Aim
from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.spread import engine
from edgeworth.composition.spread.graded import Graded
from edgeworth.composition.spread.rest import Known, kinks_of, known_lower, known_upper
from edgeworth.composition.spread.steps import one_step
from edgeworth.curves import LaplaceTradeOff
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import TotalLoss, privacy_loss

LITTLE_WORK = 3e8


def relative(ends):
    return float((ends.upper[0] - ends.lower[0]) / ends.upper[0])


# --- truths with 30 digits


def one_sample(epsilon, mu, p, direction):
    """The profile of one sample, as a formula without cancellation of what is small."""
    if direction == "forward":
        rise = mpmath.expm1(epsilon) + p
        if rise <= 0:
            return -mpmath.expm1(epsilon)
        y = mpmath.log(rise / p) / mu + mu / 2
        return p * mpmath.ncdf(mu - y) - rise * mpmath.ncdf(-y)
    fall = (mpmath.expm1(-epsilon) + p) / p
    if fall <= 0:
        return mpmath.mpf(0)
    y = mpmath.log(fall) / mu + mu / 2
    return p * mpmath.exp(epsilon) * (fall * mpmath.ncdf(y) - mpmath.ncdf(y - mu))


def two_samples(epsilon, mu, p, direction):
    """The mean of the profile of one over the outcome of the other, split where it bends."""

    def integrand(x):
        rise = p * mpmath.expm1(mu * x - mu * mu / 2)
        loss = mpmath.log1p(rise)
        if direction == "backward":
            return mpmath.npdf(x) * one_sample(epsilon + loss, mu, p, direction)
        return mpmath.npdf(x) * (1 + rise) * one_sample(epsilon - loss, mu, p, direction)

    places = [mpmath.mpf(x) for x in (-12, -7, -4, -2, 0, 2, 4, 7, 12, 18)]
    sign = 1 if direction == "forward" else -1
    bend = mpmath.expm1(sign * epsilon - mpmath.log1p(-p)) + p
    if bend > 0:
        turn = mpmath.log(bend / p) / mu + mu / 2
        places = sorted([*places, *(turn + step for step in (-1, -0.2, 0, 0.2, 1) if -12 < turn + step < 18)])
    return mpmath.quad(integrand, places)


def beside_a_response(truth, epsilon, response, *arguments):
    """Under Q the response says response with probability 1/(1 + e^-response); under P so it says -response."""
    likely = 1 / (1 + mpmath.exp(-response))
    return likely * truth(epsilon - response, *arguments) + (1 - likely) * truth(epsilon + response, *arguments)


PLACES = (-0.3, 0.0, 0.4, 0.999, 1.0, 1.0 + 1e-6, 1.001, 1.02, 1.4)


@pytest.mark.parametrize(
    ("n", "sigma", "rate", "response"),
    [
        (1, 0.4, 1e-5, 1.7),
        (1, 2.0, 3e-3, 0.3),
        (1, 12.0, 0.02, 1.1),
        (2, 0.9, 2e-4, 0.6),
        (2, 5.0, 1e-6, 2.3),
    ],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("few_points")
def test_delta_holds_thirty_digits_beside_a_response(n, sigma, rate, response, direction):
    answers = spread.prepared(total_of(normal(sigma, rate) ** n * ew.RandomizedResponse(response)))
    truth = one_sample if n == 1 else two_samples
    with mpmath.workdps(30 if n == 1 else 20):
        nothing = mpmath.mpf(10) ** (-28 if n == 1 else -18)
        mu, p, answer = 1 / mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.mpf(response)
        for place in PLACES if n == 1 else PLACES[2::3]:
            epsilon = place * response
            exact = beside_a_response(truth, mpmath.mpf(epsilon), answer, mu, p, direction)
            low, high = (float(end[0]) for end in answers.delta(direction, np.array([epsilon])))
            assert low <= exact * NEARLY + nothing
            assert exact <= high * NEARLY + nothing


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("few_points")
def test_delta_holds_thirty_digits_beside_laplace_noise(direction):
    """The rest has a density: its profile for |eps| <= theta is 1 - e^((eps - theta)/2)."""
    sigma, rate, theta = 1.3, 1e-3, 0.8
    answers = spread.prepared(total_of(normal(sigma, rate) * ew.Laplace(1 / theta)))
    with mpmath.workdps(30):
        mu, p, most = 1 / mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.mpf(theta)

        def rest(epsilon):
            return 1 - mpmath.exp(epsilon) if epsilon < -most else max(1 - mpmath.exp((epsilon - most) / 2), 0)

        def integrand(x, epsilon):
            rise = p * mpmath.expm1(mu * x - mu * mu / 2)
            if direction == "forward":
                return mpmath.npdf(x) * (1 + rise) * rest(epsilon - mpmath.log1p(rise))
            return mpmath.npdf(x) * rest(epsilon + mpmath.log1p(rise))

        for place in (-0.9, 0.0, 0.5, 0.99, 1.0, 1.0005, 1.2):
            epsilon = place * theta
            sign = 1 if direction == "forward" else -1
            bends = [mpmath.expm1(sign * (epsilon + end)) + p for end in (-most, most)]
            turns = [mpmath.log(bend / p) / mu + mu / 2 for bend in bends if bend > 0]
            places = sorted([*range(-12, 21, 2), *(turn for turn in turns if -12 < turn < 20)])
            exact = mpmath.quad(partial(integrand, epsilon=mpmath.mpf(epsilon)), places)
            low, high = (float(end[0]) for end in answers.delta(direction, np.array([epsilon])))
            assert low <= exact * NEARLY + mpmath.mpf(10) ** -25
            assert exact <= high * NEARLY + mpmath.mpf(10) ** -25


# --- other engines

RESTS = st.one_of(
    st.tuples(st.floats(0.3, 10.0), st.integers(1, 3)).map(lambda b: ew.Laplace(b[0]) ** b[1]),
    st.tuples(st.floats(0.4, 8.0), st.floats(0.1, 2.0)).map(lambda b: ew.Laplace(b[0]) * ew.RandomizedResponse(b[1])),
    st.tuples(st.floats(0.1, 1.5), st.integers(1, 6)).map(lambda b: ew.RandomizedResponse(b[0]) ** b[1]),
    st.floats(0.1, 1.5).map(lambda e: ew.ApproxDP(e, 1e-9) ** 2),
)


@pytest.mark.usefixtures("few_points")
@settings(max_examples=10, deadline=None)
@given(
    sigma=st.floats(-0.5, 0.5).map(lambda x: 10**x),
    rate=st.floats(-6, -2).map(lambda x: 10**x),
    n=st.integers(1, 20),
    rest=RESTS,
    reading=st.one_of(
        st.tuples(st.just("delta"), st.floats(-1.0, 1.1)),
        st.tuples(st.just("epsilon"), st.floats(-30, -0.5).map(lambda x: 10**x)),
        st.tuples(st.just("tradeoff"), st.floats(-8, -0.01).map(lambda x: 10**x)),
    ),
    direction=st.sampled_from([*DIRECTIONS, "both"]),
)
def test_readings_agree_with_tilted_moments(sigma, rate, n, rest, reading, direction):
    total = total_of(normal(sigma, rate) ** n * rest)
    what, argument = reading
    asked = np.array([argument * spread.reach_of_rest(total) if what == "delta" else argument])
    engines = ByProfile(spread.prepared(total), 1e-6), moments.prepared(total)
    ends, truth = (getattr(answers, what)(direction, asked) for answers in engines)
    assert ends.lower[0] <= truth.upper[0] * NEARLY
    assert truth.lower[0] <= ends.upper[0] * NEARLY


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("few_points")
def test_readings_agree_with_the_lattice(direction):
    total = total_of(normal(0.7, 0.02) ** 3 * ew.RandomizedResponse(0.4))
    found, other = spread.prepared(total), lattice.prepared(total, 1e-2)
    for what, argument in (("delta", 0.3), ("delta", 0.7), ("epsilon", 1e-4)):
        ends, truth = (getattr(answers, what)(direction, np.array([argument])) for answers in (found, other))
        assert ends.lower[0] <= truth.upper[0] * NEARLY
        assert truth.lower[0] <= ends.upper[0] * NEARLY
        assert direction == "backward" or (relative(ends) < 0.05 and relative(truth) < 0.1)


def test_many_samples_are_centred_and_agree_with_points_on_one_side(monkeypatch):
    total = total_of(normal(1.8, 3e-5) ** 40 * ew.Laplace(2.0))
    places = np.array([0.2, 0.5, 0.5 + 3e-4])
    ends = []
    for least in (8, 10**9):
        monkeypatch.setattr(engine, "_CENTRED", least)
        engine.prepared.cache_clear()
        engine._law.cache_clear()
        ends += [spread.prepared(total).delta(direction, places) for direction in DIRECTIONS]
    engine._law.cache_clear()
    for one, other in zip(ends[:2], ends[2:], strict=True):
        assert np.all(np.maximum(one.lower, other.lower) <= np.minimum(one.upper, other.upper))
        assert np.all(one.upper - one.lower <= other.upper - other.lower)


def test_too_few_points_are_refused():
    loss = privacy_loss(normal(0.5, 1e-3))
    with pytest.raises(ComputationFailed, match=r"^the points are too few for the loss of these samples$"):
        one_step(Graded(0.5, 2, [True, True]), loss, 1, "forward")


def test_samples_without_points_in_common_are_refused():
    total = total_of(normal(90.0, 0.01) ** 200 * normal(0.3, 1e-7) ** 3 * ew.RandomizedResponse(0.5))
    with pytest.raises(ComputationFailed, match=r"^the losses of these samples have no points in common that can be"):
        spread.prepared(total).delta("forward", np.zeros(1))


def test_without_a_lower_law_the_rest_alone_is_below():
    total = total_of(normal(0.5, 1e-5) ** 3 * normal(30.0, 1e-4) ** 7 * ew.RandomizedResponse(1.0))
    response = ew.account(ew.RandomizedResponse(1.0))
    ends = spread.prepared(total).delta("forward", np.array([0.5]))
    assert ends.lower[0] == pytest.approx(response.delta(0.5).lower, rel=1e-12)
    assert ends.lower[0] < ends.upper[0] < ends.lower[0] * 1.01


# --- the rest


@settings(max_examples=40, deadline=None)
@given(
    theta=st.floats(0.1, 5.0),
    places=st.lists(st.integers(-1500, 1500), min_size=3, max_size=12, unique=True),
    width=st.sampled_from([1e-12, 1e-9, 1e-3]),
)
def test_a_profile_is_enclosed_wherever_it_is_known(theta, places, width):
    profile = LaplaceTradeOff(theta).profile()
    at = np.sort(np.array(places)) * (theta / 1000)
    values = profile(at)
    table = Known(at, Ends(values * (1 - width), values * (1 + width)), np.zeros(at.size, dtype=bool))
    t = np.linspace(-3 * theta, 3 * theta, 401)
    ends, truth = Ends(known_lower(table, t), known_upper(table, t)), profile(t)
    assert np.all(ends.lower <= truth * (1 + 1e-12) + 1e-15)
    assert np.all(truth <= ends.upper * (1 + 1e-12) + 1e-15)


def test_atoms_are_listed_once():
    rest = TotalLoss.of(ew.RandomizedResponse(0.1) ** 30 * ew.RandomizedResponse(0.2) ** 10 * ew.ApproxDP(0.3, 1e-6))
    kinks = kinks_of(rest)
    assert kinks.place.round(6).tolist() == [round(0.1 * k, 6) for k in range(-53, 54, 2)]
    assert kinks.room < 1e-10
    assert kinks_of(TotalLoss.of(ew.DiscreteGaussian(2.0))) is None
    assert kinks_of(TotalLoss.of(ew.RandomizedResponse(0.1) ** 10_000)) is None


def test_between_atoms_a_profile_is_straight_to_all_digits():
    """One sample of next to no loss adds nothing, and reading the rest from a table loses nothing."""
    answers = spread.prepared(total_of(normal(1.0, 1e-9) * ew.RandomizedResponse(0.5) ** 3))
    truth = ew.account(ew.RandomizedResponse(0.5) ** 3)
    for epsilon in (0.0, 0.2, 0.77, 1.2):
        ends = answers.delta("forward", np.array([epsilon]))
        assert relative(ends) < 2e-8
        assert ends.lower[0] * (1 - 1e-8) <= truth.delta(epsilon).upper


# --- who asks for it


def test_it_applies_to_few_samples_beside_what_has_all_digits():
    few = normal(2.0, 1e-5) ** 10
    assert engine.applies(total_of(few * ew.RandomizedResponse(0.3)))
    assert engine.applies(total_of(few * ew.Laplace(1.0) ** 3))
    assert not engine.applies(total_of(few))
    assert not engine.applies(total_of(few * ew.Gaussian(1.0)))
    assert not engine.applies(total_of(normal(0.5, 1e-5) ** 3000 * ew.Laplace(1.0)))
    assert not engine.applies(total_of(normal(2.0, 0.6) ** 3 * ew.Laplace(1.0)))
    assert engine.applies(total_of(normal(2.0, 1e-5) ** 3000 * ew.Laplace(1.0)))
    with pytest.raises(Unsupported, match=r"^there are no few samples here beside steps that another engine"):
        engine.prepared(total_of(ew.Laplace(1.0)))


def test_the_overlap_is_not_read():
    answers = spread.prepared(total_of(normal(2.0, 1e-5) * ew.RandomizedResponse(0.3)))
    with pytest.raises(Unsupported, match=r"^the overlap is not read here; f follows from the profile$"):
        answers.read("overlap", np.zeros(1))
    ends = answers.read("reverse", np.array([-0.1]))
    assert ends == answers.delta("backward", np.array([0.1]))
    assert answers.delta("forward", np.array([math.inf, -math.inf])).upper.tolist() == [0.0, 1.0]
    assert answers.delta("backward", np.array([0.30001, 0.300011])).upper.tolist()[1] == 0.0


def test_readings_beyond_the_atoms_have_six_digits():
    mechanism = normal(3.44, 2.198e-6) ** 3 * ew.Laplace(4.555) ** 2 * ew.RandomizedResponse(0.3547)
    account = ew.account(mechanism, direction="forward")
    assert account.certificate.method == "lattice"
    assert "graded points" in account.certificate.notes[-1]
    for reading in (account.epsilon(1e-13), account.delta(0.5), account.tradeoff(0.3)):
        assert reading.upper - reading.lower <= 1e-6 * reading.upper


def test_many_readings_are_left_to_the_lattice(monkeypatch):
    """And what is wider than a small tolerance is narrowed by it, once."""
    asked = []

    class Other:
        def epsilon(self, direction, delta):
            asked.append((direction, delta.size))
            return Ends(np.full(delta.size, 9.0), np.full(delta.size, 9.5))

        tradeoff = epsilon

    total = total_of(normal(0.5, 1e-4) ** 2 * ew.RandomizedResponse(0.3))
    monkeypatch.setattr(in_turn, "rounded", lambda *_: Other())
    answers = in_turn.beside_a_rest(total, Aim(1e-9, 1e-9))
    assert answers.epsilon("forward", np.full(257, 1e-3)).upper.tolist() == [9.5] * 257
    answers.epsilon("forward", np.array([1e-20]))
    assert answers.tradeoff("forward", np.full(17, 0.1)).upper.tolist() == [9.5] * 17
    assert asked == [("forward", 257), ("forward", 1), ("forward", 17)]


@pytest.mark.usefixtures("few_points")
def test_the_later_values_of_a_call_that_is_spent_are_those_of_the_moments(monkeypatch):
    total = total_of(normal(2.0, 1e-4) ** 5 * ew.Laplace(3.0) ** 2)
    places = np.array([0.2, 0.3, 0.4])
    answers, known = spread.prepared(total), moments.prepared(total).delta("forward", places)
    truth = answers.delta("forward", places)
    monkeypatch.setattr(work, "MOST_WORK", 1.0)
    with work.one_reading(places.size):
        ends = answers.delta("forward", places)
    assert (ends.lower[0], ends.upper[0]) == (truth.lower[0], truth.upper[0])
    assert ends.lower[1:].tolist() == known.lower[1:].tolist()
    assert ends.upper[1:].tolist() == known.upper[1:].tolist()
    assert np.all((ends.lower <= truth.upper) & (truth.lower <= ends.upper))
