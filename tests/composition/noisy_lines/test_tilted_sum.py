"""K of many different steps, and the places that Chernoff's inequality tells of it."""

import math

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.noisy_lines.tilted_sum import Chernoff, TiltedSums
from edgeworth.losses import TotalLoss


def total_of(*steps):
    return TotalLoss.of(ew.Composed(list(steps))).finite


def test_moments_of_many_steps_are_those_of_each():
    steps = [
        ew.RandomizedResponse(0.3),
        ew.DiscreteGaussian(4.0),
        ew.Laplace(2.0),
        ew.PoissonSampled(ew.Laplace(1.0), 0.1),
    ]
    total = total_of(*steps)
    sums = TiltedSums(total)
    for c in (-3.0, 0.5, 1.7, 40.0):
        row = total.tilted(np.array([c]), 2, (min(c, 0.0), max(c, 1.0)))[0]
        most, k, mean, variance = sums.row(c)
        assert (k, mean, variance) == pytest.approx(tuple(row), rel=1e-9)
        assert most >= row[0]
    narrow = TiltedSums(total_of(ew.DiscreteGaussian(0.5), ew.RandomizedResponse(0.1)))
    assert math.isinf(narrow.row(15.0)[0]) or narrow.row(15.0)[0] >= narrow.row(15.0)[1]
    assert math.isinf(narrow.row(18.6)[0])


def test_chernoff_places_hold_the_readings():
    total = total_of(
        *map(ew.RandomizedResponse, np.random.default_rng(7).uniform(0.1, 0.9, 12).tolist()),
        ew.PoissonSampled(ew.RandomizedResponse(1.0), 0.3),
    )
    places, truth = Chernoff(TiltedSums(total)), EnumeratedAnswers(total)
    for direction in ("forward", "backward"):
        for delta in (1e-6, 0.1):
            exact = float(truth.epsilon(direction, np.array([delta])).upper[0])
            low, high = places.root(direction, delta)
            assert low <= exact <= high
            assert places.surely_reached(direction, high, delta)
            assert not places.surely_reached(direction, 0.5 * exact, delta)
        low, high = places.between(direction, 0.01)
        assert low < truth.miss(direction, 0.01)[0] < high
        assert places.root(direction, 1.0) == (0.0, 0.0)
        assert places.root(direction, 0.0)[1] >= (total.support[1] if direction == "forward" else -total.support[0])
