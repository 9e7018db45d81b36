"""Readings beyond the last run of large atoms, where the tilted law is many times narrower than the law itself."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import noisy_lines
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.losses import TotalLoss

RESPONSES = ew.RandomizedResponse(0.817) ** 20


def narrow(ends, width):
    return np.all(ends.upper - ends.lower <= width * ends.upper)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_deep_tails_hold_the_listed_atoms(direction):
    steps = RESPONSES * ew.DiscreteGaussian(12.3) ** 2 * ew.RandomizedResponse(0.11) ** 5
    total = TotalLoss.of(steps)
    epsilon = np.array([16.0, 16.9, 17.5, 18.2])
    ends = noisy_lines.prepared(total).delta(direction, epsilon)
    truth = EnumeratedAnswers(total).delta(direction, epsilon)
    assert truth.upper[-1] < 1e-25
    assert np.all((truth.lower * (1 - 1e-11) <= ends.upper) & (ends.lower <= truth.upper * (1 + 1e-11)))
    assert narrow(ends, 1e-7)


@pytest.mark.parametrize(
    "steps",
    [
        RESPONSES * ew.DiscreteGaussian(12.3) ** 2 * ew.PoissonSampled(ew.Laplace(1.436), rate=0.00824) ** 201,
        ew.DiscreteLaplace(0.766) ** 6
        * ew.Laplace(0.402) ** 2
        * ew.DiscreteGaussian(9.914) ** 2
        * ew.PoissonSampled(ew.Laplace(2.595), rate=0.0012) ** 77,
    ],
)
@pytest.mark.parametrize("delta", [1e-10, 1e-20, 1e-30])
def test_deep_tails_have_seven_digits(steps, delta):
    found = ew.account(steps).epsilon(delta=delta)
    assert found.upper - found.lower <= 1e-7 * found.upper
    value = ew.account(steps).delta(epsilon=found.upper)
    assert value.lower <= delta * (1 + 1e-12)
    assert value.upper >= delta * (1 - 1e-4)
