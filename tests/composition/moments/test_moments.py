"""Tilted moments: what they are made of against 50 digits, and their ends against closed forms and other engines."""

import math

import mpmath as mp
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.moments.answers import MomentAnswers
from edgeworth.composition.moments.normal_tails import log_ends
from edgeworth.composition.moments.tilted_moments import TiltedMoments
from edgeworth.losses import TotalLoss

TILTS = np.array([-7.0, -0.3, 1e-7, 0.01, 0.4, 0.6, 0.999, 1.0, 1.0000003, 1.2, 4.0, 30.0])
STEPS = 10**6


def laplace_log_moment(theta):
    def log_moment(s):
        top = (1 - s) * mp.exp(-s * theta) - s * mp.exp(-theta) * mp.exp(s * theta)
        return mp.log(top / (1 - 2 * s))

    return log_moment


def response_log_moment(epsilon):
    def log_moment(s):
        return mp.log((mp.exp(epsilon * (1 - s)) + mp.exp(epsilon * s)) / (1 + mp.exp(epsilon)))

    return log_moment


LAWS = [
    (ew.Laplace(scale=2.0), laplace_log_moment(mp.mpf(0.5))),
    (ew.Laplace(scale=1 / 64), laplace_log_moment(mp.mpf(64))),
    (ew.Laplace(scale=1024.0), laplace_log_moment(mp.mpf(1) / 1024)),
    (ew.RandomizedResponse(epsilon=3.0), response_log_moment(mp.mpf(3))),
    (ew.RandomizedResponse(epsilon=0.001), response_log_moment(mp.mpf(0.001))),
    (ew.RandomizedResponse(epsilon=90.0), response_log_moment(mp.mpf(90))),
    (ew.Gaussian(noise_multiplier=4.0), lambda s: s * (s - 1) / 32),
]
MIXED = [
    ew.Laplace(scale=1.0) ** 10**12 * ew.RandomizedResponse(0.3) ** 10**9,
    ew.DiscreteGaussian(scale=0.52) ** 10**12 * ew.DiscreteLaplace(scale=0.49) ** 10**12,
    ew.PoissonSampled(ew.Laplace(scale=1.0), rate=0.01) ** 10**10 * ew.RandomizedResponse(0.7) ** 10**10,
    ew.RandomizedResponse(math.sqrt(2) / 1e5) ** 10**9
    * ew.RandomizedResponse(math.sqrt(3) / 1e5, categories=3) ** 10**9,
    ew.Laplace(scale=1.0) ** 10**10,
    ew.DiscreteLaplace(scale=0.49) ** 10**12,
]


def name(law):
    return str(law[0])


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_moments_and_their_allowances_against_50_digits(law):
    mechanism, log_moment = law
    with mp.workdps(150):  # derivatives by differences keep a third of these
        rows = TiltedMoments(TotalLoss.of(mechanism**STEPS)).rows(TILTS)
        for tilt, k, mean, deviation, doubt, drift in zip(
            TILTS, rows.log, rows.mean, rows.deviation, rows.doubt, rows.drift, strict=True
        ):
            c = mp.mpf(float(tilt))
            assert abs(STEPS * log_moment(c) - mp.mpf(float(k))) <= doubt
            assert abs(STEPS * mp.diff(log_moment, c) - mp.mpf(float(mean))) <= drift
            true = mp.sqrt(STEPS * mp.diff(log_moment, c, 2))
            assert abs(true / mp.mpf(float(deviation)) - 1) < 1e-10 or deviation == 1e-100


def test_tilts_near_a_pole_keep_the_digits_of_their_distance_from_it_both_ways():
    rows = TiltedMoments(TotalLoss.of(ew.Laplace(scale=1.0) ** 10)).rows(np.array([-3e-7, 1 + 2.0**-30]))
    assert rows.mirror.excess[0] == 3e-7
    assert rows.mirror.tilt[1] == -(2.0**-30)
    assert all(map(np.array_equal, rows.mirror.mirror, rows))


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 1), (1.0, 10), (0.2, 40), (3.0, 100)])
@pytest.mark.parametrize("tilt", [0.0, 0.5, 1.4])
def test_the_distance_from_the_normal_law_is_no_more_than_claimed(epsilon, count, tilt):
    rows = TiltedMoments(TotalLoss.of(ew.RandomizedResponse(epsilon) ** count)).rows(np.array([tilt]))
    share = 1 / (1 + math.exp(epsilon * (1 - 2 * tilt)))  # of +epsilon under the tilted law
    k = np.arange(count + 1)
    mass = np.array([math.comb(count, j) for j in k.tolist()]) * share**k * (1 - share) ** (count - k)
    place = ((2 * k - count) * epsilon - rows.mean[0]) / rows.deviation[0]
    normal = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in place])
    below = np.cumsum(mass)
    farthest = max(np.max(np.abs(below - normal)), np.max(np.abs(below - mass - normal)))
    assert farthest < rows.gap[0]


@pytest.mark.parametrize("tilt", [1.0, 1.3, 5.0])
def test_chebyshevs_end_alone_is_below_the_profile_of_one_step(tilt):
    """One step is nowhere near normal: the lower end is Chebyshev's, the upper one Chernoff's."""
    mechanism = ew.Laplace(scale=1.0)
    rows = TiltedMoments(TotalLoss.of(mechanism)).rows(np.array([tilt]))
    t = np.linspace(-3.0, 0.95, 40)
    ends = log_ends("profile", rows, t)
    truth = np.log(np.array([ew.account(mechanism, direction="forward").delta(x).value for x in t]))
    assert (ends.lower <= truth).all()
    assert (truth <= ends.upper).all()
    assert np.isfinite(ends.lower).any()


def accounts():
    """Mixes with a bracket of their own to hold the moments against."""
    rng = np.random.default_rng(5)
    steps = [
        lambda: ew.Gaussian(float(np.exp(rng.uniform(-2, 4)))),
        lambda: ew.Laplace(scale=float(np.exp(rng.uniform(-1, 5)))),
        lambda: ew.RandomizedResponse(float(np.exp(rng.uniform(-6, 2))), categories=int(rng.choice([2, 3, 9]))),
        lambda: ew.DiscreteGaussian(scale=float(np.exp(rng.uniform(-1, 3)))),
        lambda: ew.DiscreteLaplace(scale=float(np.exp(rng.uniform(-1, 3)))),
        lambda: ew.PoissonSampled(ew.RandomizedResponse(float(rng.uniform(0.1, 4))), rate=float(rng.uniform(0, 1))),
    ]
    for number in range(24):
        yield steps[number % 6]() ** int(rng.choice([40, 1000, 10**5] if number % 6 != 1 else [1, 3, 10**5]))


@pytest.mark.parametrize("mechanism", list(accounts()), ids=str)
def test_ends_meet_those_of_an_engine_that_knows_all_digits(mechanism):
    moments, account = MomentAnswers(TotalLoss.of(mechanism)), ew.account(mechanism)
    for level in (0.3, 1e-12):
        found = account.epsilon(level)
        lower, upper = (float(end[0]) for end in moments.epsilon("both", np.array([level])))
        assert lower <= found.upper
        assert found.lower * (1 - 1e-13) <= upper < math.inf
        for epsilon in (float(found.value), -float(found.value), 0.5 * float(found.value)):
            delta = account.delta(epsilon)
            lower, upper = (float(end[0]) for end in moments.delta("both", np.array([epsilon])))
            assert lower <= delta.upper
            assert delta.lower <= upper <= 1
        for alpha in (level, 1 - level):
            if 0 < alpha < 1:
                miss = account.tradeoff(alpha)
                lower, upper = (float(end[0]) for end in moments.tradeoff("both", np.array([alpha])))
                assert lower <= miss.upper
                assert miss.lower <= upper


@pytest.mark.parametrize("mechanism", MIXED, ids=str)
def test_no_number_of_steps_leaves_auto_without_two_ends(mechanism):
    account = ew.account(mechanism)
    found = account.epsilon(1e-9)
    assert 0 < found.lower <= found.upper < math.inf
    assert found.upper / found.lower - 1 < 1e-6 * max(1, 1e4 / float(found.lower))
    delta = account.delta(float(found.value))
    assert 1e-9 * 0.9 < delta.lower <= delta.upper < 1e-9 * 1.1
    miss = account.tradeoff(0.01)
    assert miss.upper < 0.99


def test_the_width_falls_as_one_over_the_root_of_the_steps():
    widths = []
    for count in (10**6, 10**8, 10**10):
        moments = MomentAnswers(TotalLoss.of(ew.Laplace(scale=math.sqrt(count)) ** count))
        lower, upper = (float(end[0]) for end in moments.delta("both", np.array([4.0])))
        widths.append(upper / lower - 1)
    assert widths[1] == pytest.approx(widths[0] / 10, rel=0.1)
    assert widths[2] == pytest.approx(widths[1] / 10, rel=0.1)


def test_ends_do_not_depend_on_what_else_was_asked():
    total = TotalLoss.of(ew.Laplace(scale=3.0) ** 50 * ew.RandomizedResponse(0.3) ** 70)
    together = MomentAnswers(total).epsilon("both", np.array([1e-3, 1e-20, 0.1]))
    alone = MomentAnswers(total).epsilon("both", np.array([1e-20]))
    assert (together.lower[1], together.upper[1]) == (alone.lower[0], alone.upper[0])
