"""The last atoms of a sum on a lattice: all digits next to the largest loss, against exact sums in 80 digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.composition.fourier.lattice_sum import lattice_sum
from edgeworth.composition.fourier.top_atoms import TopAtoms, TopPart, _recurrence
from edgeworth.losses import TotalLoss

DIRECTIONS = ("forward", "backward", "both")


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(80):
        yield


def real(x):
    return mpf(x.numerator) / mpf(x.denominator)


def response(epsilon, categories=2):
    """The masses under Q from the top down, and the spacing."""
    odds = mp.exp(mpf(epsilon))
    whole = odds + categories - 1
    if categories == 2:
        return [odds / whole, 1 / whole], 2 * Fraction(epsilon)
    return [odds / whole, (categories - 2) / whole, 1 / whole], Fraction(epsilon)


def geometric(scale, sensitivity):
    q = mp.exp(-1 / mpf(scale))
    inner = [(1 - q) * q**j for j in range(1, sensitivity)]
    return [mass / (1 + q) for mass in (1, *inner, q**sensitivity)], 2 / Fraction(scale)


def power(masses, n, most):
    """The first masses of the n-fold sum."""
    if len(masses) == 2:
        return [math.comb(n, k) * masses[0] ** (n - k) * masses[1] ** k for k in range(min(n + 1, most))]
    found = [mpf(1)]
    for _ in range(n):
        longer = [mpf(0)] * min(len(found) + len(masses) - 1, most)
        for k, a in enumerate(found):
            for j, b in enumerate(masses[: len(longer) - k]):
                longer[k + j] += a * b
        found = longer
    return found


def delta(masses, largest, spacing, epsilon):
    """E_Q[(1 - e^(eps - T))_+] from the atoms beyond eps."""
    gap = largest - Fraction(epsilon)
    return mp.fsum(mass * -mp.expm1(-real(gap - k * spacing)) for k, mass in enumerate(masses) if gap > k * spacing)


CASES = [
    (ew.RandomizedResponse(0.35335053779641906) ** 7, (response, 0.35335053779641906), 7),
    (ew.RandomizedResponse(2.553244960601732) ** 2, (response, 2.553244960601732), 2),
    (ew.RandomizedResponse(0.1) ** 60, (response, 0.1), 60),
    (ew.RandomizedResponse(10.520907676711637) ** 164, (response, 10.520907676711637), 164),
    (ew.RandomizedResponse(13.996970309259465) ** 495278, (response, 13.996970309259465), 495278),
    (ew.RandomizedResponse(1.4445352713774924, categories=7) ** 3, (response, 1.4445352713774924, 7), 3),
    (ew.RandomizedResponse(6.0, categories=4) ** 40, (response, 6.0, 4), 40),
    (ew.DiscreteLaplace(3.0) ** 3, (geometric, 3.0, 1), 3),
    (ew.DiscreteLaplace(14.992767776017148, sensitivity=3) ** 6, (geometric, 14.992767776017148, 3), 6),
    (ew.DiscreteLaplace(0.28027638468173083, sensitivity=9) ** 50, (geometric, 0.28027638468173083, 9), 50),
]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("mechanism", "law", "n"), CASES, ids=[repr(case[0]) for case in CASES])
def test_delta_next_to_the_largest_loss_has_all_its_digits(mechanism, law, n, direction):
    """It is a mass times T - eps in the last cell; and next to the points before, on the right side of each."""
    one, spacing = law[0](*law[1:])
    masses, largest = power(one, n, 30), n * (len(one) - 1) * spacing / 2
    account, top = ew.account(mechanism, direction=direction), float(largest)
    assert account.certificate.method == "fourier"
    below = [float(largest - k * spacing) for k in range(0, min(len(masses) - 1, 10), 3)]
    near = [math.nextafter(place, place + side) for place in below for side in (-1, 1)]
    for epsilon in [*below, *near, *(top * (1 - share) for share in (1e-13, 1e-9, 1e-4))]:
        found = account.delta(epsilon)
        if epsilon >= largest:
            assert (found.lower, found.upper) == (0.0, 0.0)
        elif epsilon >= 0:
            truth = delta(masses, largest, spacing, epsilon)
            assert found.lower <= truth <= found.upper <= found.lower * (1 + 2e-11)
            if truth < 0.9:
                assert delta(masses, largest, spacing, account.epsilon(float(truth)).upper) <= float(truth)


def test_different_strides_share_their_last_atoms():
    """The losses of the second kind are thrice those of the first, as real numbers."""
    mechanism = ew.RandomizedResponse(0.25) ** 5 * ew.RandomizedResponse(0.75, categories=3) ** 4
    one, other = power(response(0.25)[0], 5, 60), power(response(0.75, 3)[0], 4, 60)
    masses = {}
    for k, a in enumerate(one):
        for j, b in enumerate(other):
            masses[2 * k + 3 * j] = masses.get(2 * k + 3 * j, mpf(0)) + a * b
    largest = Fraction(17, 4)
    account = ew.account(mechanism)
    for epsilon in (0.0, 0.3, 1.0, 2.5, 3.0, 4.0, 4.2499999, 4.25, math.nextafter(4.25, 0.0)):
        truth = delta([masses.get(k, mpf(0)) for k in range(40)], largest, Fraction(1, 4), epsilon)
        found = account.delta(epsilon)
        assert found.lower <= truth <= found.upper <= found.lower * (1 + 1e-11)


def test_points_that_are_no_multiples_of_one_number_are_not_rational():
    assert lattice_sum(TotalLoss.of(ew.RandomizedResponse(0.1) ** 3 * ew.RandomizedResponse(0.2))).points is not None
    assert lattice_sum(TotalLoss.of(ew.RandomizedResponse(0.1) ** 3 * ew.RandomizedResponse(0.3))).points is None
    assert lattice_sum(TotalLoss.of(ew.PoissonSampled(ew.DiscreteLaplace(2.0), 0.1) * ew.DiscreteLaplace(2.0))) is None


@pytest.mark.parametrize(
    "mechanism",
    [ew.DiscreteGaussian(4.0, sensitivity=3) ** 7, ew.PoissonSampled(ew.DiscreteLaplace(2.3), 0.01) ** 11],
    ids=repr,
)
def test_points_without_a_rational_last_one_are_known_as_well(mechanism):
    law = lattice_sum(TotalLoss.of(mechanism))
    assert law.top is None
    for one in (law, law.mirror):
        assert not one.points.is_last
        for m in (one.points.number, one.points.number - 3, 5):
            assert float(one.points.loss(m)) == pytest.approx(one.loss(np.array([float(m)]))[0], rel=1e-14, abs=1e-15)
    assert law.points.loss(4) == -law.mirror.points.loss(-4)


def test_the_points_are_where_the_sum_says_in_both_directions():
    law = lattice_sum(TotalLoss.of(ew.DiscreteLaplace(7.0, sensitivity=4) ** 5 * ew.RandomizedResponse(2 / 7)))
    alone = lattice_sum(TotalLoss.of(ew.DiscreteLaplace(7.0, sensitivity=4) ** 5))
    assert law.points is None  # 2/7 as a double is not the quotient
    for one in (alone, alone.mirror):
        for m in (one.points.number, one.points.number - 3, 0):
            assert one.points.loss(m) == pytest.approx(one.loss(np.array([float(m)]))[0], rel=1e-14, abs=1e-14)
        assert one.points.loss(one.points.number) == Fraction(20, 7)


@given(
    logs=st.lists(st.floats(-12.0, -0.01), min_size=2, max_size=6),
    n=st.integers(1, 60),
    below=st.integers(0, 40),
)
def test_readings_are_within_their_error(logs, n, below):
    """Against exact rational sums of the masses given."""
    part = TopPart(np.array(logs), n, 1, 1.0)
    found = TopAtoms([part], 0.125)
    masses, size = [Fraction(math.exp(x)) for x in logs], below + 1
    exact = [Fraction(1)]
    for _ in range(n):
        exact = [
            sum(
                (exact[k - j] * masses[j] for j in range(min(k, len(masses) - 1) + 1) if k - j < len(exact)),
                Fraction(0),
            )
            for k in range(min(len(exact) + len(masses) - 1, size))
        ]
    for slope in (True, False):
        reading = found.read(below, slope=slope)
        if reading is None:
            assert below > n + 1 or n * -logs[0] > 690
            continue
        shares = [mp.exp(-real(Fraction(below - k, 8))) for k in range(len(exact))]
        truth = mp.fsum(real(a) * (s if slope else 1 - s) for a, s in zip(exact, shares, strict=True))
        assert reading[0] <= truth
        assert min(truth, 1) <= reading[1]


@pytest.mark.parametrize("n", [17, 60, 500])
def test_the_recurrence_has_positive_terms_and_its_digits(n):
    ratio = np.array([1.0, 0.5, 3.0, 0.01])
    found, exact = _recurrence(ratio, n, n + 1), [Fraction(1)]
    for k in range(1, n + 2):
        exact.append(sum((j * (n + 1) - k) * Fraction(ratio[j]) * exact[k - j] for j in range(1, min(k, 3) + 1)) / k)
        assert abs(Fraction(found[k]) - exact[k]) <= 12 * k * Fraction(1, 2**53) * exact[k]


def test_an_underflow_is_not_nothing():
    """Next to the largest loss of many responses the profile is smaller than every double, but not 0."""
    found = ew.account(ew.RandomizedResponse(0.1) ** 3000).delta(300.0)
    assert 3000 * Fraction(0.1) > 300
    assert found.lower == 0 < found.upper < 1e-300


@pytest.mark.parametrize("epsilon", [0.0010681420985597012, 0.003704566085158159, 0.4, 5.0])
@pytest.mark.parametrize("target", [2.2e-14, 1.6e-9, 1e-5])
def test_epsilon_of_one_response_of_little_leakage_has_its_digits(epsilon, target):
    masses, spacing = response(epsilon)
    found = ew.account(ew.RandomizedResponse(epsilon)).epsilon(target)
    assert delta(masses, Fraction(epsilon), spacing, found.lower) >= target
    assert delta(masses, Fraction(epsilon), spacing, found.upper) <= target
