"""Sums whose two directions are one are asked forward only; all others are asked as they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.composition.one_way import OneWay
from edgeworth.losses import TotalLoss

DIRECTIONS = ["forward", "backward", "both"]
READINGS = ["delta", "epsilon", "tradeoff"]


class Directions:
    """Answers with the same ends to every question, and keeps the directions that were asked for."""

    def __init__(self):
        self.asked = []

    def delta(self, direction, argument):
        self.asked.append(direction)
        return Ends(argument / 4, argument / 2)

    epsilon = tradeoff = delta

    def bridge(self):
        return 0.2, 0.3


@pytest.mark.parametrize("what", READINGS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_direction_is_asked_forward(what, direction):
    engine = Directions()
    found = getattr(OneWay(engine), what)(direction, np.array([0.4, 0.8]))
    assert engine.asked == ["forward"]
    assert [end.tolist() for end in found] == [[0.1, 0.2], [0.2, 0.4]]


def test_the_bridge_is_that_of_the_answers():
    assert OneWay(Directions()).bridge() == (0.2, 0.3)


@st.composite
def symmetric_mixes(draw):
    """Sums of two or three steps whose laws are mirror images."""
    scale = st.floats(0.7, 4.0)
    steps = [
        st.builds(ew.Gaussian, scale),
        st.builds(ew.Laplace, scale),
        st.builds(ew.DiscreteGaussian, scale),
        st.builds(ew.DiscreteLaplace, scale),
        st.builds(ew.RandomizedResponse, st.floats(0.1, 1.5), st.integers(2, 3)),
    ]
    return ew.Composed(draw(st.lists(st.one_of(steps), min_size=2, max_size=3)))


@settings(max_examples=5, deadline=None)
@given(mechanism=symmetric_mixes(), share=st.floats(0.0, 0.9))
def test_what_a_lattice_says_of_each_direction_is_what_it_says_of_one(mechanism, share):
    total = TotalLoss.of(mechanism)
    assert total.is_symmetric
    eps = np.array([share * min(total.support[1], 3.0)])
    made, apart = OneWay(LatticeAnswers(total, 1e-4)), LatticeAnswers(total, 1e-4)
    once = [made.delta(direction, eps) for direction in DIRECTIONS]
    assert len({(float(ends.lower[0]), float(ends.upper[0])) for ends in once}) == 1
    for direction in DIRECTIONS:
        other = apart.delta(direction, eps)
        assert once[0].lower[0] <= other.upper[0]
        assert other.lower[0] <= once[0].upper[0]


SYMMETRIC = {
    "noise beside responses": ew.Laplace(1.0) ** 2 * ew.RandomizedResponse(0.9),
    "two lattices": ew.DiscreteGaussian(scale=2.0) * ew.DiscreteLaplace(scale=1.3) ** 2,
    "disclosure on both sides": ew.ApproxDP(0.5, 1e-3) * ew.Laplace(2.0) * ew.DiscreteLaplace(scale=1.3),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_accounts_of_symmetric_sums_have_the_same_bits_in_every_direction(name):
    forward, *others = (ew.account(SYMMETRIC[name], direction=direction) for direction in DIRECTIONS)
    for other in others:
        for what, argument in (("delta", 1.1), ("epsilon", 1e-2), ("tradeoff", 0.2)):
            mine, its = getattr(forward, what)(argument), getattr(other, what)(argument)
            assert (mine.lower, mine.upper) == (its.lower, its.upper)


def test_accounts_of_other_sums_have_two_directions():
    mechanism = ew.PoissonSampled(ew.Laplace(1.0), 0.3) * ew.RandomizedResponse(0.7)
    assert not TotalLoss.of(mechanism).is_symmetric
    forward, backward, both = (ew.account(mechanism, direction=direction).delta(0.5) for direction in DIRECTIONS)
    assert forward.upper < backward.lower
    assert both.lower <= backward.upper
    assert backward.lower <= both.upper


@pytest.mark.parametrize("name", SYMMETRIC)
def test_moments_of_both_directions_enclose_the_one(name):
    """Another proof, which knows nothing of the lattice."""
    total = TotalLoss.of(SYMMETRIC[name]).finite
    known, made = moments.prepared(total), OneWay(LatticeAnswers(total))
    for direction in DIRECTIONS:
        wide, ends = known.delta(direction, np.array([0.7])), made.delta(direction, np.array([0.7]))
        assert wide.lower[0] <= ends.upper[0]
        assert ends.lower[0] <= wide.upper[0]
