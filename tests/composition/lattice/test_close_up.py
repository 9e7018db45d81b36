"""Rungs for one reading against closed forms, integrals of many digits, lists of all atoms, and the ladder."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.lattice import CloseUp
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.lattice.profile import LatticeProfile
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

DIRECTIONS = ["forward", "backward", "both"]
GAP = ew.PoissonSampled(ew.DiscreteGaussian(1.2), 0.001) ** 3 * ew.RandomizedResponse(0.5) ** 2
SAMPLED = ew.PoissonSampled(ew.DiscreteLaplace(scale=2.0), 0.3) ** 2 * ew.RandomizedResponse(0.7)


def close_up(mechanism):
    return CloseUp(TotalLoss.of(mechanism))


def read(made, what, direction, argument):
    ends = getattr(made, what)(direction, np.array([argument]))
    return float(ends.lower[0]), float(ends.upper[0])


def width(ends):
    return (ends[1] - ends[0]) / ends[1]


def meet(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


# --- closed forms


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gaussian_readings_are_enclosed(direction):
    made, mu = close_up(ew.GaussianDP(1.0) ** 3), mpmath.sqrt(3)
    with mpmath.workdps(40):
        for epsilon in (0.0, 2.0, 9.0, 20.0):
            ends = read(made, "delta", direction, epsilon)
            assert ends[0] <= gaussian_delta(mu, epsilon) <= ends[1]
            assert width(ends) <= 1e-6
        for delta in (1e-3, 1e-20):
            ends = read(made, "epsilon", direction, delta)
            assert gaussian_delta(mu, ends[0]) >= delta >= gaussian_delta(mu, ends[1])
            assert width(ends) <= 1e-6


# --- Laplace noise beside a response: an integral over the loss of one step, the others in closed form


def laplace_delta(theta, epsilon):
    if epsilon <= -theta:
        return -mpmath.expm1(epsilon)
    return -mpmath.expm1((epsilon - theta) / 2) if epsilon < theta else mpmath.mpf(0)


def two_laplace_delta(theta, epsilon):
    """E[delta_1(eps - L)] under Q: atoms at both ends, and e^((x - theta)/2)/4 between them."""
    kinks = sorted({-theta, theta, *(x for x in (epsilon - theta, epsilon + theta) if abs(x) < theta)})
    between = mpmath.quad(lambda x: mpmath.exp((x - theta) / 2) / 4 * laplace_delta(theta, epsilon - x), kinks)
    ends = laplace_delta(theta, epsilon - theta) + mpmath.exp(-theta) * laplace_delta(theta, epsilon + theta)
    return between + ends / 2


def beside_response(scale, answer, epsilon):
    """Delta of two steps of Laplace noise and a response."""
    theta, step, epsilon = 1 / mpmath.mpf(scale), mpmath.mpf(answer), mpmath.mpf(epsilon)
    true = 1 / (1 + mpmath.exp(-step))
    return true * two_laplace_delta(theta, epsilon - step) + (1 - true) * two_laplace_delta(theta, epsilon + step)


LAPLACE = ew.Laplace(1.0) ** 2 * ew.RandomizedResponse(0.9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_laplace_noise_beside_a_response_by_an_integral(direction):
    made = close_up(LAPLACE)
    with mpmath.workdps(30):
        for epsilon in (0.0, 0.8, 1.4, 2.5, 2.85, 2.899):
            ends = read(made, "delta", direction, epsilon)
            assert ends[0] <= beside_response(1.0, 0.9, epsilon) <= ends[1]
            assert width(ends) <= 1e-6
        for delta in (0.2, 1e-3):
            ends = read(made, "epsilon", direction, delta)
            assert beside_response(1.0, 0.9, ends[0]) >= delta >= beside_response(1.0, 0.9, ends[1])
            assert width(ends) <= 1e-6


@pytest.mark.parametrize("epsilon", [2.89, 2.899, 2.8995])
def test_next_to_the_end_of_the_support_it_is_narrower_than_the_ladder(epsilon):
    """A rung of the ladder ends with the support, and its tilt is that of its middle."""
    total = TotalLoss.of(LAPLACE)
    mine, theirs = (read(made(total), "delta", "backward", epsilon) for made in (CloseUp, LatticeAnswers))
    assert meet(mine, theirs)
    assert 3 * width(mine) <= width(theirs)


# --- lists of all atoms


@st.composite
def listed_mixes(draw):
    """Sums of few steps with few values, whose atoms can be listed."""
    scale = st.floats(0.8, 4.0)
    steps = [
        st.builds(ew.RandomizedResponse, st.floats(0.1, 1.5), st.integers(2, 3)),
        st.builds(ew.DiscreteLaplace, scale, st.integers(1, 2)),
        st.builds(ew.PoissonSampled, st.builds(ew.DiscreteLaplace, scale), st.floats(0.05, 0.9)),
        st.builds(ew.PoissonSampled, st.builds(ew.RandomizedResponse, st.floats(0.2, 2.0)), st.floats(0.05, 0.9)),
    ]
    return ew.Composed(draw(st.lists(st.one_of(steps), min_size=2, max_size=4)))


@settings(max_examples=12, deadline=None)
@given(mechanism=listed_mixes(), share=st.floats(0.05, 0.9), direction=st.sampled_from(DIRECTIONS))
def test_delta_of_mixes_with_atoms_encloses_the_sum_over_all(mechanism, share, direction):
    total = TotalLoss.of(mechanism)
    made, listed = CloseUp(total), EnumeratedAnswers(total)
    epsilon = share * max(total.support[1], -total.support[0])
    assert meet(read(made, "delta", direction, epsilon), read(listed, "delta", direction, epsilon))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_samples_of_discrete_noise_enclose_the_sum_over_all_atoms(direction):
    made, listed = close_up(SAMPLED), EnumeratedAnswers(TotalLoss.of(SAMPLED))
    for epsilon in (0.0, 0.5, 0.9):
        mine = read(made, "delta", direction, epsilon)
        assert meet(mine, read(listed, "delta", direction, epsilon))
        assert width(mine) <= 1e-6
    for delta in (0.1, 1e-3):
        mine = read(made, "epsilon", direction, delta)
        assert meet(mine, read(listed, "epsilon", direction, delta))
        assert width(mine) <= 1e-6


def test_discrete_gaussian_noise_beside_others_encloses_the_sum_over_all_atoms():
    noise = ew.DiscreteGaussian(scale=2.0) * ew.DiscreteLaplace(scale=1.3) * ew.RandomizedResponse(0.7)
    made, listed = close_up(noise), EnumeratedAnswers(TotalLoss.of(noise))
    for epsilon in (0.3, 2.1, 3.4):
        mine = read(made, "delta", "forward", epsilon)
        assert meet(mine, read(listed, "delta", "forward", epsilon))
        assert width(mine) <= 1e-6


# --- both directions


def test_both_directions_are_the_larger_of_the_two():
    made = close_up(SAMPLED)
    for what, arguments in (("delta", (0.2, 0.5)), ("epsilon", (0.1, 1e-3))):
        for argument in arguments:
            one, other, both = (read(made, what, direction, argument) for direction in DIRECTIONS)
            assert both == (max(one[0], other[0]), max(one[1], other[1]))


def test_of_the_direction_that_is_surely_smaller_a_rough_rung_is_enough(monkeypatch):
    made, fine = close_up(GAP), []
    delta = LatticeProfile.delta

    def counted(self, direction, epsilon, *, rough=False):
        fine.extend([] if rough else [direction])
        return delta(self, direction, epsilon, rough=rough)

    monkeypatch.setattr(LatticeProfile, "delta", counted)
    forward, backward = (read(made, "delta", way, 1.2) for way in ("forward", "backward"))
    assert backward[1] < forward[0]
    fine.clear()
    assert read(made, "delta", "both", 1.2) == forward
    assert fine == ["forward"]


# --- ends of epsilon


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(("delta", "known"), [(1e-3, (2.8, 2.9)), (1e-2, (2.5, 2.88)), (0.2, (1.0, 2.2))])
def test_ends_of_epsilon_come_nearer_and_hold(direction, delta, known):
    low, high = close_up(LAPLACE)._nearer(direction, delta, known, rough=True)
    assert known[0] < low <= high < known[1]
    low, high = close_up(LAPLACE)._nearer(direction, delta, (low, high), rough=False)
    assert high - low <= 1e-6 * high
    with mpmath.workdps(30):
        assert beside_response(1.0, 0.9, low) >= delta >= beside_response(1.0, 0.9, high)


@pytest.mark.parametrize("known", [(0.0, 2.9), (2.7, math.inf), (2.7, 2.7)])
def test_ends_without_a_rung_between_them_stay(known):
    assert close_up(LAPLACE)._nearer("forward", 1e-3, known, rough=False) == known


@pytest.mark.parametrize(("delta", "known"), [(1e-3, (2.7, 2.8)), (0.2, (2.0, 2.5))])
def test_ends_that_do_not_hold_the_root_are_not_moved_past_it(delta, known):
    """An end is moved only to where delta was read to be on its side of the target."""
    low, high = close_up(LAPLACE)._nearer("forward", delta, known, rough=False)
    with mpmath.workdps(30):
        assert low == known[0] or beside_response(1.0, 0.9, low) >= delta
        assert high == known[1] or beside_response(1.0, 0.9, high) <= delta


# --- what it refuses, and what it leaves to the ladder


@pytest.mark.parametrize("what", ["delta", "epsilon"])
def test_many_readings_at_a_time_are_refused(what):
    made = close_up(SAMPLED)
    message = r"^5 readings at a time are too many for rungs of their own: use the ladder$"
    with pytest.raises(Unsupported, match=message):
        getattr(made, what)("forward", np.linspace(0.1, 0.5, 5))
    assert (getattr(made, what)("forward", np.linspace(0.1, 0.3, 4)).upper > 0).all()


def test_f_is_that_of_a_ladder():
    total = TotalLoss.of(LAPLACE)
    assert meet(read(CloseUp(total), "tradeoff", "forward", 0.2), read(LatticeAnswers(total), "tradeoff", "both", 0.2))
