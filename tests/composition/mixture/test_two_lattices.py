"""A mixture of Fourier sums over the values of steps that lie on another lattice: against sums over all atoms."""

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import fourier, mixture
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.mixture.two_lattices import lattice_and_values
from edgeworth.losses import TotalLoss

STEPS = ew.DiscreteGaussian(1.5) ** 5 * ew.DiscreteLaplace(2.2) ** 3 * ew.RandomizedResponse(0.7) ** 2


def normal_sums(n, scale):
    """Places (2X - n)/(2 s^2) and masses under P of X, the sum of n discrete normal numbers."""
    reach = range(-22, 23)
    weight = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(scale) ** 2)) for x in reach]
    whole = mpmath.fsum(weight)
    mass = {0: mpmath.mpf(1)}
    for _ in range(n):
        more = {}
        for total, share in mass.items():
            for x, w in zip(reach, weight, strict=True):
                more[total + x] = more.get(total + x, 0) + share * w / whole
        mass = more
    return [((2 * x - n) / (2 * mpmath.mpf(scale) ** 2), share) for x, share in mass.items()]


def two_valued_sums(n, epsilon):
    """Places and masses under P of the sum of n losses of +-epsilon."""
    up = 1 / (1 + mpmath.exp(epsilon))
    return [((2 * k - n) * epsilon, mpmath.binomial(n, k) * up**k * (1 - up) ** (n - k)) for k in range(n + 1)]


@pytest.fixture(scope="module")
def atoms():
    """All values of the sum, with their masses under P."""
    with mpmath.workdps(40):
        normal = normal_sums(5, 1.5)
        laplace, response = two_valued_sums(3, 1 / mpmath.mpf(2.2)), two_valued_sums(2, mpmath.mpf(0.7))
        return [(a + b + c, p * q * r) for a, p in normal for b, q in laplace for c, r in response]


@pytest.fixture(scope="module")
def answers():
    return ByProfile(mixture.prepared(TotalLoss.of(STEPS)), 1e-6, slow=True)


@mpmath.workdps(40)
def truth(atoms, direction, epsilon):
    epsilon = mpmath.mpf(epsilon)
    if direction == "forward":
        return mpmath.fsum(p * (mpmath.exp(t) - mpmath.exp(epsilon)) for t, p in atoms if t > epsilon)
    return mpmath.fsum(p * (1 - mpmath.exp(epsilon + t)) for t, p in atoms if t < -epsilon)


@mpmath.workdps(40)
def error_of_the_best_test(atoms, alpha):
    """The least type II error: the atoms of the largest losses are rejected, the last of them in part."""
    power, size = mpmath.mpf(0), mpmath.mpf(0)
    for t, p in sorted(atoms, reverse=True):
        part = min(p, alpha - size)
        size, power = size + part, power + mpmath.exp(t) * part
        if size >= alpha:
            break
    return 1 - power


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("epsilon", [0.0, 0.37, 2.5, 7.0, 14.2])
def test_delta_encloses_the_sum_over_all_atoms(answers, atoms, direction, epsilon):
    (lower,), (upper,) = answers.delta(direction, np.array([epsilon]))
    assert lower <= truth(atoms, direction, epsilon) <= upper
    assert upper - lower <= 1e-11 * upper


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-25])
def test_epsilon_encloses_where_the_sum_over_all_atoms_is_delta(answers, atoms, direction, delta):
    (lower,), (upper,) = answers.epsilon(direction, np.array([delta]))
    assert truth(atoms, direction, upper) <= delta <= truth(atoms, direction, lower)
    assert upper - lower <= 1e-9 * upper


@pytest.mark.parametrize("alpha", [1e-8, 0.03, 0.48])
def test_f_encloses_the_error_of_the_best_test(answers, atoms, alpha):
    (lower,), (upper,) = answers.tradeoff("forward", np.array([alpha]))
    assert lower <= error_of_the_best_test(atoms, alpha) <= upper
    assert upper - lower <= 1e-6 * upper


def test_auto_asks_for_it_first_where_atoms_are_too_many_to_be_listed():
    account = ew.account(ew.DiscreteGaussian(2.27) ** 150 * ew.DiscreteLaplace(2.23) ** 30)
    assert account.certificate.notes[-1].startswith("two lattices: a mixture of Fourier sums comes first")
    found, by_lattice = account.tradeoff(0.2), ew.account(account.mechanism, method="lattice").tradeoff(0.2)
    assert by_lattice.lower <= found.upper
    assert by_lattice.upper >= found.lower
    assert found.upper - found.lower <= 1e-7 * found.upper


def test_the_split_leaves_the_fewest_values():
    lattice, values = lattice_and_values(TotalLoss.of(STEPS))
    assert sum(n for _, n in lattice.parts) == 5
    assert values.place.size == 4 * 3
    assert fourier.applies(lattice)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.DiscreteGaussian(1.5) ** 5,
        ew.DiscreteGaussian(1.5) ** 5 * ew.Laplace(2.0),
        ew.DiscreteGaussian(1.5) ** 5 * ew.RandomizedResponse(0.7) ** 500 * ew.DiscreteLaplace(2.2) ** 500,
    ],
    ids=["one lattice", "noise", "too many values"],
)
def test_other_steps_are_not_split(mechanism):
    assert lattice_and_values(TotalLoss.of(mechanism)) is None
    assert not mixture.has_two_lattices(TotalLoss.of(mechanism))


def test_steps_with_one_lattice_stay_together():
    responses = ew.RandomizedResponse(0.5) ** 300 * ew.RandomizedResponse(1.0) ** 200
    split = lattice_and_values(TotalLoss.of(responses * ew.DiscreteLaplace(1.7) ** 9))
    assert split is not None
    assert sum(n for _, n in split.lattice.parts) == 500
    assert split.values.place.size == 10
