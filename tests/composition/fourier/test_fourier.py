"""Losses on a lattice: against sums of 60 digits, closed forms, another engine, and themselves."""

import functools
import math
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import fourier
from edgeworth.composition.fourier import answers as fourier_answers
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

DIRECTIONS = ("forward", "backward", "both")


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


def answers(mechanism):
    return fourier.prepared(TotalLoss.of(mechanism))


# --- the oracle: atoms and their masses in 60 digits


def response(epsilon, categories=2):
    """Losses and masses under P of one randomized response."""
    epsilon = mpmath.mpf(epsilon)
    whole = mpmath.e**epsilon + categories - 1
    atoms = {-1: mpmath.e**epsilon / whole, 1: 1 / whole}
    if categories > 2:
        atoms[0] = (categories - 2) / whole
    return epsilon, mpmath.mpf(0), atoms


def sampled_response(epsilon, rate):
    """One sample of a randomized response: two atoms, at log(1 - p + p e^(+-eps))."""
    epsilon, rate = mpmath.mpf(epsilon), mpmath.mpf(rate)
    low, high = (mpmath.log(1 - rate + rate * mpmath.e ** (sign * epsilon)) for sign in (-1, 1))
    truth = mpmath.e**epsilon / (1 + mpmath.e**epsilon)
    return high - low, low, {0: truth, 1: 1 - truth}


def discrete_gaussian(sigma, reach=14):
    sigma = mpmath.mpf(sigma)
    weights = {
        k: mpmath.e ** (-mpmath.mpf(k * k) / (2 * sigma**2))
        for k in range(-reach * math.ceil(sigma), 1 + reach * math.ceil(sigma))
    }
    whole = mpmath.fsum(weights.values())
    return 1 / sigma**2, -1 / (2 * sigma**2), {k: w / whole for k, w in weights.items()}


def power(law, n):
    """The sum of n copies: losses and masses."""
    step, offset, atoms = law
    total = {0: mpmath.mpf(1)}
    for _ in range(n):
        new = {}
        for a, p in total.items():
            for b, q in atoms.items():
                new[a + b] = new.get(a + b, mpmath.mpf(0)) + p * q
        total = new
    return [(n * offset + step * k, p) for k, p in sorted(total.items())]


def reversed_pair(atoms):
    return sorted((-t, p * mpmath.e**t) for t, p in atoms)


def delta_of(atoms, epsilon):
    epsilon = mpmath.mpf(epsilon)
    return mpmath.fsum(p * (mpmath.e**t - mpmath.e**epsilon) for t, p in atoms if t > epsilon)


def tradeoff_of(atoms, alpha):
    """Neyman and Pearson's test of size alpha: reject the largest losses first."""
    rest, power_ = mpmath.mpf(alpha), mpmath.mpf(0)
    for t, p in reversed(atoms):
        part = min(rest, p)
        power_ += part * mpmath.e**t
        rest -= part
    return 1 - power_


#: the mechanism, the oracle's law (made when it is asked for, with 60 digits), the number of steps
LAWS = {
    "response": (ew.RandomizedResponse(0.7), lambda: response(0.7), 9),
    "categories": (ew.RandomizedResponse(1.3, categories=5), lambda: response(1.3, 5), 6),
    "sampled": (ew.PoissonSampled(ew.RandomizedResponse(2.0), rate=0.1), lambda: sampled_response(2.0, 0.1), 12),
    "discrete Gaussian": (ew.DiscreteGaussian(1.7), lambda: discrete_gaussian(1.7), 3),
    "one response": (ew.RandomizedResponse(3.0), lambda: response(3.0), 1),
}


@functools.cache
def atoms_of(name):
    """Losses and masses of a whole law, and those of its reversed pair."""
    _, law, n = LAWS[name]
    atoms = power(law(), n)
    return atoms, reversed_pair(atoms)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("epsilon", [-3.1, -0.4, 0.0, 0.3, 1.0, 2.6, 4.1])
def test_the_profile_is_enclosed_in_both_directions(name, epsilon):
    mechanism, _, n = LAWS[name]
    found, (atoms, backward) = answers(mechanism**n), atoms_of(name)
    for direction, truth in (
        ("forward", delta_of(atoms, epsilon)),
        ("backward", delta_of(backward, epsilon)),
    ):
        ends = found.delta(direction, np.array([epsilon]))
        assert ends.lower[0] <= truth <= ends.upper[0]
        assert ends.upper[0] - ends.lower[0] <= 1e-10 * ends.upper[0]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("alpha", [1e-12, 1e-5, 0.02, 0.3, 0.5, 0.71, 0.99, 1 - 1e-9])
def test_f_is_enclosed_in_both_directions(name, alpha):
    mechanism, _, n = LAWS[name]
    found, (atoms, backward) = answers(mechanism**n), atoms_of(name)
    for direction, pair in (("forward", atoms), ("backward", backward)):
        ends, truth = found.tradeoff(direction, np.array([alpha])), tradeoff_of(pair, alpha)
        assert ends.lower[0] <= truth <= ends.upper[0]
        assert ends.upper[0] - ends.lower[0] <= 1e-8 * ends.upper[0]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-7, 1e-14])
def test_epsilon_has_delta_on_its_two_sides(name, delta):
    mechanism, _, n = LAWS[name]
    found, (atoms, backward) = answers(mechanism**n), atoms_of(name)
    for direction, pair in (("forward", atoms), ("backward", backward)):
        ends = found.epsilon(direction, np.array([delta]))
        assert delta_of(pair, ends.upper[0]) <= delta
        assert ends.lower[0] == 0 or delta_of(pair, ends.lower[0]) >= delta
        assert ends.upper[0] - ends.lower[0] <= 1e-11 * ends.upper[0]


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 6.0), st.integers(1, 40), st.floats(0.0, 1.0), st.sampled_from([2, 3, 20]))
def test_any_response_any_number_of_times(epsilon, n, place, categories):
    threshold = place * n * epsilon
    found = answers(ew.RandomizedResponse(epsilon, categories=categories) ** n).delta("both", np.array([threshold]))
    atoms = power(response(epsilon, categories), n)
    truth = delta_of(atoms, threshold)
    assert found.lower[0] <= truth <= found.upper[0]
    assume(truth > 1e-290)
    # At a lattice point the last ulp of eps decides between two slopes, so a width of some ulps of eps stays.
    slope = n * epsilon * 1e-14 * mpmath.fsum(p * mpmath.e**t for t, p in atoms if t > threshold - 1e-9)
    assert found.upper[0] - found.lower[0] <= 1e-9 * truth + slope


@pytest.mark.parametrize(("epsilon", "n"), [(0.01, 10_000), (1e-3, 10**6), (1e-4, 10**8)])
@pytest.mark.parametrize("deviations", [0.5, 4.0, 15.0])
def test_many_responses_against_their_binomial_sum(epsilon, n, deviations):
    """Terms of the sum from the threshold outwards by their ratio, until they no longer count."""
    threshold = deviations * epsilon * math.sqrt(n)
    lie = 1 / (1 + mpmath.e ** mpmath.mpf(epsilon))
    first = int(mpmath.floor((mpmath.mpf(threshold) / epsilon + n) / 2)) + 1
    mass = mpmath.binomial(n, first) * lie**first * (1 - lie) ** (n - first)
    ratio, limit = mpmath.e ** ((2 * first - n) * mpmath.mpf(epsilon)), mpmath.e ** mpmath.mpf(threshold)
    odds, growth = lie / (1 - lie), mpmath.e ** (2 * mpmath.mpf(epsilon))
    truth, k, term = mpmath.mpf(0), first, mpmath.inf
    while term > truth * mpmath.mpf(10) ** -25:
        term = mass * (ratio - limit)
        truth += term
        mass *= odds * (n - k) / (k + 1)
        ratio *= growth
        k += 1
    ends = answers(ew.RandomizedResponse(epsilon) ** n).delta("forward", np.array([threshold]))
    assert ends.lower[0] <= truth <= ends.upper[0]
    assert ends.upper[0] - ends.lower[0] <= 1e-8 * truth


@functools.cache
def thinned(sigma):
    """Some epsilons and their deltas of one step of sensitivity 3: the losses are (2k - 3) 3/(2 sigma^2)."""
    rate = 1 / (2 * mpmath.mpf(sigma) ** 2)
    weight = {k: mpmath.e ** (-rate * k * k) for k in range(-math.ceil(12 * sigma), math.ceil(20 * sigma))}
    whole = mpmath.fsum(weight.values())
    ratio = {k: mpmath.e ** ((2 * k - 3) * 3 * rate) for k in weight}
    truths = {}
    for epsilon in (-0.2, 0.0, 1.3 / sigma, 20 / sigma):
        limit = mpmath.e**epsilon
        gain = (w * (ratio[k] - limit) for k, w in weight.items())
        truths[epsilon] = mpmath.fsum(g for g in gain if g > 0) / whole
    return truths


@pytest.mark.parametrize("sigma", [16.0, 40.0, 300.0])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_step_of_thinned_noise_against_60_digits(sigma, direction):
    step = answers(ew.DiscreteGaussian(sigma, sensitivity=3))
    for epsilon, truth in thinned(sigma).items():
        ends = step.delta(direction, np.array([epsilon]))
        assert ends.lower[0] <= truth <= ends.upper[0] <= float(truth) * (1 + 1e-9)


# --- laws


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_lattice_engine_agrees_on_two_kinds_of_steps(direction):
    mechanism = (
        ew.RandomizedResponse(1.0) ** 3
        * ew.RandomizedResponse(0.5) ** 10
        * ew.PoissonSampled(ew.RandomizedResponse(1.0), 1.0)
    )
    one = ew.account(mechanism, method="fourier", direction=direction)
    other = ew.account(mechanism, method="lattice", direction=direction)
    for reading in (
        lambda a: a.delta(0.3),
        lambda a: a.epsilon(1e-6),
        lambda a: a.tradeoff(0.07),
        lambda a: a.tradeoff(0.8),
    ):
        ours, theirs = reading(one), reading(other)
        assert ours.lower <= theirs.upper
        assert theirs.lower <= ours.upper
        assert ours.upper - ours.lower <= 1e-10 * ours.upper


def test_discrete_noise_of_a_large_scale_is_gaussian_noise():
    """A million steps with mu = sqrt(n)/sigma: one step of the lattice is 1e-5."""
    many = ew.account(ew.DiscreteGaussian(300.0) ** 10**6)
    for delta in (1e-3, 1e-10, 1e-40):
        ours = many.epsilon(delta)
        theirs = ew.account(ew.Gaussian(300.0) ** 10**6).epsilon(delta)
        assert abs(ours.value / theirs.value - 1) < 1e-6
        assert ours.upper - ours.lower <= 1e-9 * ours.upper


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.DiscreteLaplace(3.776564582823635) ** 5000,
        ew.RandomizedResponse(7.0) ** 100,
        ew.RandomizedResponse(1.0) ** 20_000,
    ],
    ids=["discrete Laplace", "strong responses", "many responses"],
)
def test_losses_beyond_the_range_of_exp_keep_their_digits(mechanism):
    """Epsilon is finite however small delta is, though e^epsilon and P[T > epsilon] leave the range of doubles."""
    account = ew.account(mechanism)
    most = TotalLoss.of(mechanism).support[1]
    before = 0.0
    for delta in (1e-3, 1e-50, 1e-124, 1e-300):
        found = account.epsilon(delta)
        assert before <= found.lower <= found.upper <= most * (1 + 1e-12)
        assert found.upper - found.lower <= 1e-9 * found.upper
        before = found.lower
    f = account.tradeoff([1e-100, 1e-3, 0.5])
    assert (f.lower <= f.upper).all()
    assert (f.upper > 0).all()


def test_readings_fall_as_they_must():
    account = ew.account(ew.DiscreteGaussian(4.0) ** 50)
    epsilon = account.epsilon(np.logspace(-1, -100, 120))
    assert (np.diff(epsilon.value) > 0).all()
    f = account.tradeoff(np.linspace(0.0, 1.0, 60))
    assert (np.diff(f.value) <= 0).all()


def test_a_symmetric_law_is_symmetric():
    found = answers(ew.DiscreteGaussian(2.0) ** 20)
    alpha = np.array([1e-6, 0.1, 0.4])
    one, other = found.tradeoff("forward", alpha), found.tradeoff("backward", alpha)
    assert (one.lower <= other.upper).all()
    assert (other.lower <= one.upper).all()


# --- who may ask


@pytest.mark.parametrize(
    "mechanism",
    [ew.Gaussian(1.0), ew.Laplace(1.0) ** 3, ew.RandomizedResponse(1.0) * ew.RandomizedResponse(math.sqrt(2))],
)
def test_other_losses_are_refused(mechanism):
    message = (
        'method="fourier" needs losses that lie on one lattice, as those of randomized response and of discrete noise '
        'do; use method="auto", which falls back on others'
    )
    with pytest.raises(Unsupported) as caught:
        ew.account(mechanism, method="fourier").epsilon(1e-5)
    assert str(caught.value) == message


def test_disclosures_are_put_back():
    found = ew.account(ew.ApproxDP(0.1, 1e-6) ** 1000 * ew.RandomizedResponse(0.2))
    assert found.certificate.method == "fourier"
    assert found.delta(1e9).lower > 0.000999
    assert math.isinf(found.epsilon(1e-4).lower)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.epsilon(0.01).upper < 100


@pytest.mark.parametrize(("scale", "epsilon"), [(14.889, 0.661), (11.379, 0.8), (4.919, 2.21), (97.3, 0.1007)])
def test_one_step_of_discrete_gaussian_noise_has_nine_digits_far_out(scale, epsilon):
    """Every sum over its atoms is one of positive terms: all digits in 40 of them."""
    with mpmath.workdps(40):
        sigma, eps = mpmath.mpf(scale), mpmath.mpf(epsilon)
        reach = int(30 * scale)
        mass = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * sigma**2)) for k in range(-reach, reach + 1)}
        first = int(mpmath.floor(eps * sigma**2 + 0.5)) + 1
        tail = mpmath.fsum(mass[k - 1] - mpmath.exp(eps) * mass[k] for k in range(first, reach))
        truth = tail / mpmath.fsum(mass.values())
        read = ew.account(ew.DiscreteGaussian(scale), direction="forward").delta(epsilon)
        assert read.lower <= truth <= read.upper
        assert read.upper - read.lower <= 3e-10 * read.upper


def left_of_one(n, step, away):
    """Eps so many deviations from the mean under Q, and 1 - delta there, of n responses: a sum of positive terms.

    The binomial masses around the mean, each from the one before.
    """
    yes = 1 / (1 + mpmath.exp(-mpmath.mpf(step)))
    mean, spread = n * yes, mpmath.sqrt(n * yes * (1 - yes))
    first, last = int(mean - 14 * spread), int(mean + 14 * spread)
    ways = mpmath.loggamma(n + 1) - mpmath.loggamma(first + 1) - mpmath.loggamma(n - first + 1)
    mass = mpmath.exp(ways + first * mpmath.log(yes) + (n - first) * mpmath.log(1 - yes))
    epsilon = float(step * (2 * (mean + away * spread) - n))
    left, odds = mpmath.mpf(0), yes / (1 - yes)
    for k in range(first, last):
        left += mass * min(1, mpmath.exp(epsilon - mpmath.mpf(step) * (2 * k - n)))
        mass *= odds * (n - k) / (k + 1)
    return epsilon, left


@pytest.mark.parametrize("away", [-8.0, -4.5, -2.1, -0.5, 3.0])
def test_very_many_responses_have_nine_digits_of_delta_on_both_sides_of_the_mean(away):
    with mpmath.workdps(40):
        epsilon, left = left_of_one(200_000, 0.5, away)
        read = ew.account(ew.RandomizedResponse(0.5) ** 200_000, direction="forward").delta(epsilon)
        assert read.lower - mpmath.mpf(10) ** -38 <= 1 - left <= read.upper + mpmath.mpf(10) ** -38
        assert read.upper - read.lower <= 3e-10 * read.upper


@pytest.mark.parametrize("away", [-2.4, -1.6])
def test_what_is_left_of_one_narrows_a_delta_that_is_nearly_one(monkeypatch, away):
    """Wide are only those of very many steps: here every such delta is said to be wide."""
    with mpmath.workdps(40):
        epsilon, left = left_of_one(200_000, 0.25, away)
        run = TotalLoss.of(ew.RandomizedResponse(0.25) ** 200_000)
        alone = fourier.prepared(run).delta("forward", np.array([epsilon]))
        monkeypatch.setattr(fourier_answers, "_FINE", 0.0)
        both = fourier.prepared(run).delta("forward", np.array([epsilon]))
        assert both.lower[0] <= 1 - left <= both.upper[0]
        assert both.upper[0] - both.lower[0] < 0.2 * (alone.upper[0] - alone.lower[0])


def test_most_steps_of_discrete_noise_have_nine_digits_of_a_delta_near_one():
    read = ew.account(ew.DiscreteLaplace(0.682) ** 968_000_000).delta(887_000_000.0)
    assert read.upper - read.lower <= 1e-9 * read.upper


@pytest.mark.parametrize("epsilon", [100.0, 119.0, 125.0])
def test_few_steps_of_little_discrete_noise_have_nine_digits_far_out(epsilon):
    """The Fourier sum has eight there; against all atoms in sixty digits."""
    scale, n = 0.311, 7
    with mpmath.workdps(60):
        whole = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(scale) ** 2)) for k in range(-30, 31)]
        step = [mass / mpmath.fsum(whole) for mass in whole]
        law = [mpmath.mpf(1)]
        for _ in range(n):
            law = [
                mpmath.fsum(law[i - j] * step[j] for j in range(len(step)) if 0 <= i - j < len(law))
                for i in range(len(law) + len(step) - 1)
            ]
        losses = [(2 * (i - 30 * n) - n) / (2 * mpmath.mpf(scale) ** 2) for i in range(len(law))]
        terms = [mass * (mpmath.exp(loss) - mpmath.exp(epsilon)) for mass, loss in zip(law, losses, strict=True)]
        truth = mpmath.fsum(term for term in terms if term > 0)
        found = ew.account(ew.DiscreteGaussian(scale) ** n).delta(epsilon)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-9 * found.upper
