"""Very many steps on a lattice: moments in decimals against many digits, and nine digits of delta and epsilon."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.composition.fourier.exact_exponent import ExactExponent
from edgeworth.composition.fourier.lattice_sum import lattice_sum
from edgeworth.losses import TotalLoss, privacy_loss

STEPS = [
    ew.DiscreteGaussian(0.4, sensitivity=2),
    ew.DiscreteGaussian(2.4),
    ew.DiscreteGaussian(2.6, sensitivity=3),
    ew.DiscreteGaussian(40.0),
    ew.DiscreteLaplace(3.3),
    ew.DiscreteLaplace(3.3, sensitivity=4),
    ew.RandomizedResponse(0.7, categories=5),
    ew.PoissonSampled(ew.RandomizedResponse(0.7), 0.01),
]


def atoms(step):
    """Losses and masses under P, to 60 digits: not from the losses of the package."""
    if isinstance(step, ew.DiscreteGaussian):
        rate, shift = 1 / (2 * mpf(step.scale) ** 2), step.sensitivity
        numbers = range(-math.ceil(18 * step.scale) - 60, math.ceil(18 * step.scale) + 60 + 4 * shift)
        weight = [mp.exp(-rate * k * k) for k in numbers]
        return [(2 * k - shift) * shift * rate for k in numbers], [w / mp.fsum(weight) for w in weight]
    if isinstance(step, ew.DiscreteLaplace):
        q, last = mp.exp(-1 / mpf(step.scale)), step.sensitivity
        weight = [(1 if j in (0, last) else 1 - q) * q**j / (1 + q) for j in range(last + 1)]
        return [(2 * j - last) / mpf(step.scale) for j in range(last + 1)], weight
    if isinstance(step, ew.PoissonSampled):
        places, weight = atoms(step.mechanism)
        return [mp.log1p(mpf(step.rate) * mp.expm1(x)) for x in places], weight
    growth, k = mp.exp(mpf(step.epsilon)), step.categories
    whole = growth + k - 1
    middle = ([mpf(0)], [(k - 2) / whole]) if k > 2 else ([], [])
    e = mpf(step.epsilon)
    return [-e, *middle[0], e], [growth / whole, *middle[1], 1 / whole]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("c", [0.0, 0.37, 1.0, 1.0004, 3.2])
@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_what_is_left_of_two_large_numbers_is_the_nearest_double(step, c, mirrored):
    n = 10**9
    with mpmath.workdps(60):
        places, weight = atoms(step)
        tilt = 1 - mpf(c) if mirrored else mpf(c)
        mass = [w * mp.exp(tilt * x) for x, w in zip(places, weight, strict=True)]
        k = mp.log(mp.fsum(mass))
        mean = mp.fsum(m * x for m, x in zip(mass, places, strict=True)) / mp.fsum(mass)
        threshold = Fraction(float(n * (-mean if mirrored else mean)))
        truth = n * k + (1 - mpf(c)) * mpf(threshold.numerator) / threshold.denominator
        found = ExactExponent(((privacy_loss(step), n),), mirrored).at(c, 1.0, threshold)
        assert abs(mpf(found) - truth) <= abs(truth) * mpf(2) ** -52 + mpf(10) ** -30


def test_too_many_atoms_are_left_to_doubles():
    law = ExactExponent(((privacy_loss(ew.DiscreteLaplace(50.0, sensitivity=5000)), 1),))
    assert law.at(0.5, 1.0, Fraction(1)) is None


def tail(ratio, log_first, start):
    """The sum of e^(log mass) from `start` on: the first from its logarithm, the others by falling ratios."""
    total = term = mp.exp(log_first)
    k = start
    while term > total * mpf(10) ** -30:
        term *= ratio(k)
        total, k = total + term, k + 1
    return total


def binomial_tail(n, p, start):
    log_first = mp.loggamma(n + 1) - mp.loggamma(start + 1) - mp.loggamma(n - start + 1)
    log_first += start * mp.log(p) + (n - start) * mp.log1p(-p)
    return tail(lambda k: mpf(n - k) / (k + 1) * p / (1 - p), log_first, start)


def responses(epsilon, rate, n, deviations):
    """eps and delta of n samples of a response, at so many deviations of the count above its mean under Q."""
    e, r = mpf(epsilon), mpf(rate)
    lie = 1 / (1 + mp.exp(e))
    low, high = (mp.log1p(r * mp.expm1(x)) for x in (-e, e))
    other = lie * mp.exp(high)  # Q[L = high]
    count = n * other + deviations * mp.sqrt(n * other * (1 - other))
    at = float(n * low + count * (high - low))
    first = int(mp.floor((mpf(at) - n * low) / (high - low))) + 1
    return at, binomial_tail(n, other, first) - mp.exp(mpf(at)) * binomial_tail(n, lie, first)


def discrete_gaussian(sigma, sensitivity, n, deviations):
    """The same of discrete noise: its sum has the masses e^(-k^2/(2 n sigma^2)), to 1e-53 for sigma >= 2.5."""
    variance, shift = n * mpf(sigma) ** 2, n * sensitivity
    count = shift + deviations * mp.sqrt(variance)
    at = float((2 * count - shift) * sensitivity / (2 * mpf(sigma) ** 2))
    first = int(mp.floor((mpf(at) * 2 * mpf(sigma) ** 2 / sensitivity + shift) / 2)) + 1
    log_whole = mp.log(mp.sqrt(2 * mp.pi * variance))

    def beyond(start):
        return tail(
            lambda k: mp.exp(-(2 * k + 1) / (2 * variance)), -(mpf(start) ** 2) / (2 * variance) - log_whole, start
        )

    return at, beyond(first - shift) - mp.exp(mpf(at)) * beyond(first)


CASES = [
    (ew.RandomizedResponse(1.21) ** 68395200, lambda: responses(1.21, 1.0, 68395200, 6.0)),
    (ew.RandomizedResponse(0.004) ** 10**9, lambda: responses(0.004, 1.0, 10**9, 9.0)),
    (ew.PoissonSampled(ew.RandomizedResponse(1.71), 0.14) ** 665094000, lambda: responses(1.71, 0.14, 665094000, 8.0)),
    (ew.DiscreteGaussian(3.0, sensitivity=2) ** 10**8, lambda: discrete_gaussian(3.0, 2, 10**8, 7.0)),
    (ew.DiscreteGaussian(2.5) ** 10**7, lambda: discrete_gaussian(2.5, 1, 10**7, 3.0)),
]


@pytest.mark.parametrize(("mechanism", "known"), CASES, ids=[repr(mechanism) for mechanism, _ in CASES])
def test_nine_digits_of_delta_at_epsilons_of_millions(mechanism, known):
    account = ew.account(mechanism, direction="forward")
    with mpmath.workdps(50):
        at, truth = known()
        found = account.delta(at)
        assert account.certificate.method == "fourier"
        assert found.lower <= truth <= found.upper
        assert found.upper <= found.lower * (1 + 1e-9)
        eps = account.epsilon(float(truth))
        assert eps.lower <= at * (1 + 1e-12)
        assert eps.upper >= at * (1 - 1e-12)
        assert eps.upper <= eps.lower * (1 + 1e-11)


def test_few_steps_are_answered_by_doubles(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(ExactExponent, "at", never)
    law = lattice_sum(TotalLoss.of(ew.RandomizedResponse(0.5) ** 100))
    assert law.points is not None
    assert np.isfinite(ew.account(ew.RandomizedResponse(0.5) ** 100).epsilon(1e-6).upper)
