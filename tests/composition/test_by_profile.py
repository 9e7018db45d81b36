"""f by its dual: against formulas, concave functions whose maximum is known, and exact sums of atoms."""

import math

import numpy as np
import pytest
from flint import arb, arb_poly, ctx
from hypothesis import example, given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import mixture
from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.concave import greatest
from edgeworth.composition.work import MOST_WORK, spend
from edgeworth.curves import GaussianTradeOff
from edgeworth.errors import ComputationFailed
from edgeworth.losses import TotalLoss


class Profiled:
    """An engine with all digits of the profile of G_mu, up to a width, and none of its tests."""

    def __init__(self, mu, width=0.0):
        self.profile, self.width, self.tests = GaussianTradeOff(mu).profile(), width, 0

    def delta(self, _, epsilon):
        value = self.profile(epsilon)
        return Ends(value * (1 - self.width - 1e-12), value * (1 + self.width + 1e-12))

    def epsilon(self, _, delta):
        return self.delta(_, delta)

    def tradeoff(self, _, alpha):
        self.tests += alpha.size
        return Ends(np.zeros(alpha.size), 1 - alpha)

    def bridge(self):
        return 0.1, 0.2


ALPHAS = np.array([1e-80, 1e-10, 0.003, 0.4, 0.97, 1 - 1e-9])


@pytest.mark.parametrize("mu", [1e-3, 0.2, 3.0, 9.0])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_the_dual_of_a_gaussian_profile_is_its_trade_off_function(mu, direction):
    found = ByProfile(Profiled(mu), 1e-6).tradeoff(direction, ALPHAS)
    truth = GaussianTradeOff(mu)(ALPHAS)
    assert np.all(found.lower <= truth * (1 + 1e-13))
    assert np.all(found.upper >= truth * (1 - 1e-13))
    seen = (truth > 1e-3) | (mu < 9)  # with next to no privacy left 1 - delta has few digits where alpha is small
    assert np.all((found.upper - found.lower)[seen] <= 2e-8 * truth[seen])


def test_a_wide_profile_gives_wide_ends_that_hold():
    found = ByProfile(Profiled(1.0, 1e-5), 1e-6).tradeoff("forward", ALPHAS[2:4])
    truth = GaussianTradeOff(1.0)(ALPHAS[2:4])
    assert np.all((found.lower <= truth) & (truth <= found.upper))
    assert np.all(found.upper - found.lower < 1e-4)


def test_tests_are_asked_last_where_that_is_said_and_only_for_what_is_wide():
    quick, poor = Profiled(1.0), Profiled(1.0, 1e-3)
    ByProfile(quick, 1e-6, tests_last=True).tradeoff("forward", ALPHAS[2:5])
    ByProfile(poor, 1e-6, tests_last=True).tradeoff("forward", ALPHAS[2:5])
    assert (quick.tests, poor.tests) == (0, 3)


def test_the_other_readings_are_those_of_the_engine():
    made, engine = ByProfile(Profiled(1.0), 1e-6), Profiled(1.0)
    assert made.delta("forward", ALPHAS).lower.tolist() == engine.delta("forward", ALPHAS).lower.tolist()
    assert made.epsilon("forward", ALPHAS).lower.tolist() == engine.epsilon("forward", ALPHAS).lower.tolist()
    assert made.bridge() == (0.1, 0.2)


def test_who_knows_roughly_where_a_test_is_saves_questions():
    alpha, told, asked = np.array([0.4]), [], []

    class Counted(Profiled):
        def delta(self, direction, epsilon):
            asked.extend(epsilon.tolist())
            return super().delta(direction, epsilon)

    def places(direction, at):
        told.append((direction, at))
        return (-1.5, 0.5) if direction == "forward" else (-0.5, 0.5)

    true = GaussianTradeOff(1.0)(alpha)
    found = ByProfile(Counted(1.0), 1e-6, slow=True, places=places).tradeoff("both", alpha)
    assert told == [("forward", 0.4), ("backward", 0.4)]
    assert found.lower[0] <= true[0] <= found.upper[0]
    assert found.upper[0] - found.lower[0] <= 1e-6 * found.upper[0]
    assert max(np.abs(asked)) <= 1.5 + 0.2


def test_an_engine_that_gives_up_leaves_what_was_known():
    engine = Profiled(1.0)
    engine.delta = lambda *_: (_ for _ in ()).throw(ComputationFailed("no profile"))
    found = ByProfile(engine, 1e-6).tradeoff("forward", ALPHAS[2:4])
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.0, 0.0], (1 - ALPHAS[2:4]).tolist())


def test_of_a_slow_engine_more_readings_than_are_worth_it_are_left_as_they_are():
    many = np.linspace(0.1, 0.9, 17)
    assert np.all(ByProfile(Profiled(1.0), 1e-6, slow=True).tradeoff("forward", many).lower == 0)
    assert np.all(ByProfile(Profiled(1.0), 1e-6, slow=True).tradeoff("forward", many[1:]).lower > 0)


def test_a_reading_has_the_same_bits_alone_and_in_company_and_a_curve_is_searched_in_few_questions():
    engine, many = Profiled(1.0), np.linspace(0.001, 0.999, 500)
    asked = []
    engine.delta = lambda way, eps, delta=engine.delta: (asked.append(eps.size), delta(way, eps))[1]
    together = ByProfile(engine, 1e-6).tradeoff("forward", many)
    assert len(asked) <= 61
    alone = ByProfile(engine, 1e-6).tradeoff("forward", many[77:78])
    assert (alone.lower[0], alone.upper[0]) == (together.lower[77], together.upper[77])


def test_between_two_lines_a_kink_is_found_where_they_cross():
    """log 3 is no middle of anything: its digits cannot be had by halving alone in so few rounds."""
    t = np.array([-0.1, 0.2, 0.9, 1.3, 2.0, 2.3])
    value = np.minimum(2 + 0.5 * (np.exp(t) - 3), 2 - 0.25 * (np.exp(t) - 3))
    bound, place = greatest(t, Ends(value, value))
    assert abs(place - math.log(3)) < 1e-10
    assert 2 <= bound < 2 + 1e-10


def test_a_slow_engine_is_asked_no_more_once_its_work_is_done():
    engine, asked = Profiled(1.0), []

    def laborious(way, epsilon, delta=engine.delta):
        asked.append(epsilon.size)
        spend(0.5 * MOST_WORK)
        return delta(way, epsilon)

    engine.delta = laborious
    ByProfile(engine, 1e-6).tradeoff("forward", ALPHAS[3:4])
    quick = len(asked)
    ByProfile(engine, 1e-6, slow=True).tradeoff("forward", ALPHAS[3:4])
    assert quick > 6
    assert len(asked) - quick == 2  # both sides of 0 in the first round


@pytest.mark.parametrize("alpha", [1e-4, 0.2, 0.9])
def test_on_the_vertices_of_few_outcomes_f_takes_few_questions(alpha):
    """An engine that knows nothing within 1e-7 of a kink and everything elsewhere."""
    curve = ew.account(ew.RandomizedResponse(1.5), direction="forward").curve
    engine, asked = Profiled(1.0), []

    def delta(_, epsilon):
        asked.append(epsilon.size)
        value, near = curve.profile()(epsilon), np.abs(np.abs(epsilon) - 1.5) < 1e-7
        return Ends(np.where(near, 0.5 * value, value), np.where(near, np.minimum(2 * value, 1.0), value))

    engine.delta = delta
    found = ByProfile(engine, 1e-6, slow=True).tradeoff("forward", np.array([alpha]))
    assert found.lower[0] <= curve(alpha) * (1 + 1e-13)
    assert found.upper[0] >= curve(alpha) * (1 - 1e-13)
    assert found.upper[0] - found.lower[0] < 1e-6 * found.upper[0]
    assert sum(asked) <= 20


@pytest.mark.parametrize("seed", range(200))
def test_no_concave_function_passes_the_bound_of_its_values(seed):
    """The least of some lines, or a parabola: values with errors, at places anywhere around the maximum."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(-2, 2, rng.integers(3, 9)))
    u, fine = np.exp(t), np.exp(np.linspace(-8, 8, 200_001))
    if seed % 2:
        slopes, heights = rng.normal(size=5) * np.array([1, 1, 1, 1, 5]), rng.uniform(0, 2, 5)
        slopes[:2] = abs(slopes[0]), -abs(slopes[1])

        def g(x):
            return np.min(heights[:, None] + slopes[:, None] * (x - 1), axis=0)
    else:
        centre, bend = math.exp(rng.uniform(-1, 1)), 10 ** rng.uniform(-2, 3)

        def g(x):
            return 1 - bend * (x - centre) ** 2

    width = 10 ** rng.uniform(-12, -2)
    error = rng.uniform(-1, 1, t.size) * width
    bound, place = greatest(t, Ends(g(u) + error - width, g(u) + error + width))
    assert bound >= np.max(g(fine)) - 1e-12
    assert bound == math.inf or t[0] <= place <= t[-1]


@given(
    lines=st.lists(st.tuples(st.floats(-5, 5), st.floats(-3, 3)), min_size=2, max_size=6),
    places=st.lists(st.floats(-700, 700) | st.floats(-4, 4), min_size=4, max_size=12, unique=True),
    doubt=st.sampled_from([0.0, 1e-9, 1e-2]),
)
@example(lines=[(0.0, 0.0), (0.0, 0.0)], places=[0.0, 267.0, 268.0, -443.0], doubt=0.0)
@example(lines=[(0.0, 0.0), (0.0, 0.0)], places=[-700.0, -699.0, 10.0, 11.0], doubt=0.0)
@example(lines=[(0.0, 0.0), (0.5, -2.0)], places=[2.0, 1.5, -16.0, -17.0], doubt=0.0)
def test_the_maximum_of_a_concave_function_is_enclosed(lines, places, doubt):
    """The least of some lines in u = e^t, with one rising and one falling: its maximum is where two of them cross."""
    lines = [*lines, (3.5, 2.0), (-3.5, 9.0)]
    t = np.sort(np.array(places))
    if np.diff(t).min() < 1e-6:
        return
    value = np.min([slope * np.exp(t) + start for slope, start in lines], axis=0)
    doubt = doubt + 1e-15 * np.max([abs(slope) * np.exp(t) + abs(start) for slope, start in lines], axis=0)
    crossings = [(b2 - b1) / (a1 - a2) for a1, b1 in lines for a2, b2 in lines if abs(a1 - a2) > 1e-9]
    top = max(min(slope * u + start for slope, start in lines) for u in crossings if u > 0)
    assert greatest(t, Ends(value - doubt, value + doubt))[0] >= top - 1e-9 * (1 + abs(top))


@pytest.mark.parametrize("scale", [1.0, 1e-290, 1e-308])
def test_a_maximum_about_to_underflow_is_enclosed_without_a_warning(scale):
    """The gaps between places are as small as the values: their ratios are taken, never a slope."""
    t = math.log(scale) + np.linspace(-0.4, 0.6, 9)
    value = np.exp(t) * (1 - 0.5 * (np.exp(t) / scale))
    assert 0.5 * scale * (1 - 1e-9) <= greatest(t, Ends(value, value))[0] <= 0.51 * scale


def test_three_places_around_a_smooth_maximum_prove_it_to_the_square_of_their_distance():
    for distance in (1e-2, 1e-4):
        t = distance * np.array([-1.5, -0.5, 0.5, 1.5])
        value = 1 - np.expm1(t) ** 2
        assert 1 <= greatest(t, Ends(value, value))[0] < 1 + 2 * distance**2


def test_values_that_do_not_enclose_a_maximum_prove_nothing():
    t = np.array([-1.0, 0.0, 1.0])
    rising = Ends(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]))
    assert greatest(t, rising)[0] == math.inf


def test_a_place_of_which_nothing_is_known_is_no_warning():
    t = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    value = 1 - np.abs(t)
    unknown = Ends(np.where(t == 0, -math.inf, value), np.where(t == 0, math.inf, value))
    with np.errstate(all="raise"):
        assert greatest(t, unknown)[0] == math.inf
    low = Ends(np.where(t == 0, -math.inf, value), np.where(t == 0, 1.0, value))
    with np.errstate(all="raise"):
        assert greatest(t, low)[0] >= 1


def exact_tests(scale, sensitivity, times, mu, t):
    """P[T > t] and Q[T <= t] of discrete Gaussian steps and one G_mu, in balls: a sum of normal tails."""
    reach = int(45 * scale) + sensitivity
    weights = [(-(arb(k) ** 2) / (2 * arb(scale) ** 2)).exp() for k in range(-reach, reach + 1)]
    whole = sum(weights, arb(0))
    masses = arb_poly([w / whole for w in weights]) ** times
    alpha, beta = arb(0), arb(0)
    for k in range(len(masses)):
        place = k - times * reach
        loss = (2 * place - times * sensitivity) * arb(sensitivity) / (2 * arb(scale) ** 2)
        away = (arb(t) - loss) / mu
        alpha += masses[k] * ((away + mu / 2) / arb(2).sqrt()).erfc() / 2
        beta += masses[k] * loss.exp() * ((mu / 2 - away) / arb(2).sqrt()).erfc() / 2
    return alpha, beta


@pytest.mark.parametrize("t", [-24.1, -3.0, 0.7, 9.9])
def test_a_law_that_is_nearly_on_a_lattice_has_six_digits_of_f(t):
    """Little Gaussian noise beside discrete noise: between its peaks the tests of a line have no digits."""
    before, ctx.prec = ctx.prec, 300
    try:
        scale, sigma = 1.2671960511006, 32.20131570100805
        alpha, beta = exact_tests(scale, 3, 10, 1 / arb(sigma), t)
        asked = float(alpha)
        truth = beta - arb(t).exp() * (arb(asked) - alpha)  # f is convex: to the square of a rounding
        account = ew.account(ew.Gaussian(sigma) * ew.DiscreteGaussian(scale, 3) ** 10, direction="forward")
        found = account.tradeoff(asked)
        assert arb(found.lower) <= truth * (1 + arb(10) ** -25)
        assert truth * (1 - arb(10) ** -25) <= arb(found.upper)
        assert found.upper - found.lower < 1e-6 * found.upper
    finally:
        ctx.prec = before


@pytest.mark.parametrize("top", [1, 2])
def test_between_two_runs_of_responses_f_of_laplace_noise_has_its_digits(top):
    p = 1 / (1 + math.exp(1.3))  # of a response that speaks for Q, under P; 2 theta = .08 does not reach the next run
    counts = [math.comb(3, k) for k in range(top)]
    alpha = sum(ways * p ** (3 - k) * (1 - p) ** k for k, ways in enumerate(counts))
    truth = 1 - sum(ways * (1 - p) ** (3 - k) * p**k for k, ways in enumerate(counts))
    mechanism = ew.Laplace(scale=50.0) ** 2 * ew.RandomizedResponse(1.3) ** 3
    bracket = ew.account(mechanism, direction="forward").tradeoff(alpha)
    assert bracket.lower - 1e-13 <= truth <= bracket.upper + 1e-13
    assert bracket.upper - bracket.lower < 1e-9 * bracket.upper


def test_a_kink_that_is_all_but_sharp_is_found_in_few_rounds():
    """Noise of 1e-6 beside one response: g has a smooth top that is no wider than that."""
    total = TotalLoss.of(ew.RandomizedResponse(1.0) * ew.Gaussian(1e6))
    engine = mixture.prepared(total)
    alpha = np.array([0.2])
    ends = ByProfile(engine, 1e-9, slow=True).tradeoff("forward", alpha)
    truth = ew.account(ew.RandomizedResponse(1.0)).tradeoff(0.2).value
    assert ends.upper[0] - ends.lower[0] <= 1e-9
    assert abs(ends.upper[0] - truth) <= 1e-6  # noise lowers f by no more than its own distance
