"""Values far apart beside a narrow heap: mixtures against whole numbers, and against lists of all runs."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import exp, expm1, log, mp, mpf, ncdf

import edgeworth as ew
from edgeworth.composition import mixture, moments
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.mixture.apart import _by_chernoff, _by_steps
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

TRUTH = json.loads(Path(__file__).with_name("truth_apart.json").read_text(encoding="utf-8"))
DIRECTIONS = ("forward", "backward")
NOTE = "values far apart"


def sampled(noise, rate):
    return ew.PoissonSampled(noise, rate=rate)


# --- auto


@pytest.mark.parametrize(
    ("scale", "sensitivity", "rate", "steps", "response", "categories", "direction", "epsilon", "low", "high"),
    TRUTH,
    ids=[f"{row[0]}-{row[4]}-{row[6]}-{row[7]}" for row in TRUTH],
)
def test_auto_has_the_digits_that_it_promises(
    scale, sensitivity, rate, steps, response, categories, direction, epsilon, low, high
):
    samples = sampled(ew.DiscreteGaussian(scale, sensitivity=sensitivity), rate) ** steps
    account = ew.account(samples * ew.RandomizedResponse(response, categories=categories), direction=direction)
    found = account.delta(epsilon=epsilon)
    assert account.certificate.notes[-1].startswith(NOTE)
    assert found.lower <= float(high)
    assert float(low) <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("mechanism", "direction", "reading", "argument"),
    [
        (
            ew.RandomizedResponse(1.54, categories=3)
            * ew.ApproxDP(0.119, delta=7.37e-7) ** 2
            * sampled(ew.DiscreteGaussian(3.64), 0.00181) ** 54,
            "both",
            "tradeoff",
            0.092,
        ),
        (
            sampled(ew.DiscreteGaussian(1.2), 0.00165) ** 727 * ew.RandomizedResponse(2.21, categories=3),
            "both",
            "epsilon",
            9.19e-13,
        ),
        (
            ew.DiscreteLaplace(0.591) ** 39
            * ew.DiscreteGaussian(0.738) ** 2
            * sampled(ew.DiscreteGaussian(7.63), 0.00606) ** 87,
            "both",
            "tradeoff",
            0.00204,
        ),
        (
            sampled(ew.RandomizedResponse(2.29), 0.0255) ** 827 * sampled(ew.DiscreteGaussian(18.0), 0.00462) ** 7,
            "backward",
            "tradeoff",
            0.24,
        ),
        (
            sampled(ew.Laplace(0.961), 0.00294) * ew.DiscreteGaussian(0.689) ** 47 * ew.DiscreteLaplace(2.0) ** 5,
            "forward",
            "tradeoff",
            2.08e-6,
        ),
        (ew.DiscreteGaussian(0.5) ** 844 * sampled(ew.Laplace(3.203), 1.2e-4), "forward", "delta", 2104.0),
        (
            sampled(ew.Laplace(16.9), 0.147) ** 4
            * sampled(ew.Gaussian(1.27), 0.00283) ** 2
            * ew.RandomizedResponse(0.834) ** 2,
            "both",
            "epsilon",
            1.11e-4,
        ),
        (
            sampled(ew.Laplace(3.35), 0.149) ** 3
            * sampled(ew.DiscreteGaussian(6.41), 0.00952) ** 4
            * ew.DiscreteLaplace(0.554) ** 36
            * sampled(ew.Gaussian(7.08), 0.0016) ** 23,
            "backward",
            "tradeoff",
            2.34e-4,
        ),
        (  # and here runs of the samples with atoms soon have all digits, where a mixture takes all the work
            ew.DiscreteLaplace(2.48) ** 8
            * ew.ApproxDP(0.0614, delta=1.76e-9)
            * ew.ApproxDP(1.64, delta=1.59e-12)
            * sampled(ew.DiscreteGaussian(1.13), 4.99e-4) ** 56,
            "both",
            "epsilon",
            2.65e-5,
        ),
        (
            ew.DiscreteLaplace(0.907)
            * sampled(ew.DiscreteGaussian(0.649), 2.4e-4) ** 79
            * ew.RandomizedResponse(0.939) ** 4
            * sampled(ew.Laplace(0.593), 3.23e-4) ** 2,
            "both",
            "tradeoff",
            5.56e-4,
        ),
    ],
    ids=[
        "disclosed",
        "many samples",
        "two lattices",
        "sampled responses",
        "one step of noise",
        "many values",
        "two kinds of samples",
        "three kinds of samples",
        "runs listed beside disclosed mass",
        "runs on points",
    ],
)
def test_heaps_are_read_to_six_digits(mechanism, direction, reading, argument):
    found = getattr(ew.account(mechanism, direction=direction), reading)(argument)
    assert found.upper - found.lower <= 1e-6 * found.upper
    # moments enclose every law, and are no part of a mixture
    total = TotalLoss.of(mechanism)
    if total.alternative_only == 0:
        others = getattr(moments.prepared(total), reading)(direction, np.array([argument]))
        assert others.lower[0] <= found.upper
        assert found.lower <= others.upper[0]


# --- the mixture, of steps all runs of which are listed

RATE, HEAP, STEPS, FAR = 0.01, 0.5, 12, 1.5


def all_runs():
    """Losses and masses under P of twelve samples of a response with three values, beside another response."""
    e, p = mpf(HEAP), mpf(RATE)
    whole = exp(e) + 2
    likely, same, rare = exp(e) / whole, 1 / whole, 1 / whole
    one = [(log(1 - p + p * exp(-e)), likely), (mpf(0), same), (log(1 - p + p * exp(e)), rare)]
    far = mpf(FAR)
    runs = []
    for i in range(STEPS + 1):
        for j in range(STEPS + 1 - i):
            k = STEPS - i - j
            ways = math.factorial(STEPS) // (math.factorial(i) * math.factorial(j) * math.factorial(k))
            place = i * one[0][0] + k * one[2][0]
            mass = ways * one[0][1] ** i * one[1][1] ** j * one[2][1] ** k
            runs += [(place + far, mass / (1 + exp(far))), (place - far, mass * exp(far) / (1 + exp(far)))]
    return sorted(runs)


def true_delta(runs, direction, epsilon):
    u = exp(mpf(epsilon))
    if direction == "forward":
        return sum((mass * max(exp(loss) - u, 0) for loss, mass in runs), mpf(0))
    return sum((mass * max(1 - u * exp(loss), 0) for loss, mass in runs), mpf(0))


def true_tradeoff(runs, direction, alpha):
    """The vertices of f, one for every threshold, and the chord at alpha."""
    rising = runs if direction == "backward" else runs[::-1]
    first, second = mpf(0), mpf(1)
    for loss, null in rising:
        one, other = (null, null * exp(loss)) if direction == "forward" else (null * exp(loss), null)
        if first + one >= alpha:
            return second - other * (mpf(alpha) - first) / one
        first, second = first + one, second - other
    return mpf(0)


@pytest.fixture(scope="module")
def listed():
    with mp.workdps(50):
        return all_runs()


def made():
    heap = sampled(ew.RandomizedResponse(HEAP, categories=3), RATE) ** STEPS
    total = TotalLoss.of(heap * ew.RandomizedResponse(FAR))
    found = mixture.heaps(total)
    assert [n for _, n in found.heap.parts] == [STEPS]
    answers = mixture.around_values(total, lambda heap: ew.composition.lattice.prepared(heap, 1e-7))
    return ByProfile(answers, 1e-6, slow=True, remainder=answers.remainder)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_delta_of_a_mixture(listed, direction):
    answers = made()
    for epsilon in (-1.51, -0.2, 0.0, 0.7, 1.46, 1.4999, 1.5, 1.5003, 1.51, 1.53):
        low, high = (end[0] for end in answers.delta(direction, np.array([epsilon])))
        with mp.workdps(50):
            truth = true_delta(listed, direction, epsilon)
            assert low <= truth <= high
        assert high - low <= 1e-6 * high


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_epsilon_of_a_mixture(listed, direction):
    answers = made()
    for delta in (0.3, 1e-3, 1e-5, 1e-9):
        low, high = (float(end[0]) for end in answers.epsilon(direction, np.array([delta])))
        with mp.workdps(50):
            assert true_delta(listed, direction, high) <= delta <= true_delta(listed, direction, low)
        assert high - low <= 1e-6 * high


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_f_of_a_mixture(listed, direction):
    answers = made()
    for alpha in (1e-6, 0.01, 0.18, 0.4, 0.9, 1 - 1e-6):
        low, high = (end[0] for end in answers.tradeoff(direction, np.array([alpha])))
        with mp.workdps(50):
            assert low <= true_tradeoff(listed, direction, alpha) <= high
        assert high - low <= 1e-6 * high


# --- a glance


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_chernoff_encloses_a_heap(direction):
    samples = sampled(ew.DiscreteGaussian(1.2), 0.00165) ** 727
    glance = _by_chernoff(TotalLoss.of(samples))
    t = np.array([-2.0, -1.1, -0.3, -0.1, -0.01, 0.0, 0.01, 0.1, 0.3, 0.7, 1.1, 3.0])
    low, high = glance(direction, t, np.full(t.size, 1e-9))
    true = ew.account(samples, direction=direction).delta(t[t <= 0.7])
    assert np.all(low[: true.upper.size] <= true.upper)
    assert np.all(true.lower <= high[: true.lower.size])
    assert high[-2] < 1e-10


def test_beyond_the_largest_loss_a_glance_is_enough():
    samples = sampled(ew.DiscreteGaussian(0.586), 0.000343) ** 30
    glance = _by_chernoff(TotalLoss.of(samples))
    largest = -30 * math.log1p(-0.000343)
    t, room = np.array([largest * (1 + 1e-12), largest * (1 - 1e-12)]), np.zeros(2)
    high = glance("backward", t, room).upper
    assert high[0] == 0 < high[1]
    low, high = glance("forward", -t[:1], room[:1])
    assert high[0] - low[0] <= 1e-15


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_steps_enclose_a_heap(direction):
    """A sample of Gaussian noise has a formula, here to fifty digits."""
    sigma, rate = 1.5, 0.02
    total = TotalLoss.of(sampled(ew.Gaussian(sigma), rate))
    glance = _by_steps(total, moments.prepared(total), 0.02)
    t = np.array([-1.0, -0.021, -0.0199, -0.01, -1e-4, 0.0, 1e-4, 0.01, 0.2, 0.7, 2.0])
    low, high = glance(direction, t, np.full(t.size, 1e-9))
    with mp.workdps(50):
        for place, least, most in zip(t.tolist(), low, high, strict=True):
            assert least <= true_sample(sigma, rate, direction, place) <= most
    assert high[-1] < 1e-3


def true_sample(sigma, rate, direction, t):
    """delta of one sample: backward delta'(t) = 1 - e^t (1 - delta(-t)), and 0 beyond -log(1 - p)."""
    if direction == "backward" and exp(-mpf(t)) <= 1 - mpf(rate):
        return mpf(0)
    if direction == "backward":
        return 1 - exp(mpf(t)) * (1 - true_sample(sigma, rate, "forward", -t))
    p, mu = mpf(rate), 1 / mpf(sigma)
    above = (exp(mpf(t)) - (1 - p)) / p
    if above <= 0:
        return -expm1(mpf(t))
    e = log(above)
    return p * (ncdf(-e / mu + mu / 2) - above * ncdf(-e / mu - mu / 2))


# --- where it applies


def test_what_is_no_heap():
    narrow = sampled(ew.DiscreteGaussian(3.0), 0.001)
    far = ew.RandomizedResponse(1.5)
    apart = [
        narrow**50 * far,
        narrow**50 * ew.Laplace(2.0) * far,  # as wide as the values are apart
        ew.Gaussian(20.0) * far,  # noise, not samples of it
        narrow * far,  # a list
        narrow**50,
    ]
    assert [mixture.heaps(TotalLoss.of(run)) is None for run in apart] == [False, True, True, True, True]
    with pytest.raises(Unsupported, match="far apart"):
        mixture.around_values(TotalLoss.of(apart[1]), moments.prepared)
