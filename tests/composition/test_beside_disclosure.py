"""Beside outcomes that disclose a record, a delta that is nothing next to them is not asked for to all its digits."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.answered import Ends
from edgeworth.composition.beside_disclosure import BesideDisclosure
from edgeworth.losses import TotalLoss


class Counting:
    """Answers that fall by e^-40 with every unit of eps, and count how often they were asked."""

    def __init__(self, above=0.0):
        self.asked, self.above = [], above

    def delta(self, direction, epsilon):
        self.asked.append((direction, epsilon.tolist()))
        value = np.exp(-40 * epsilon)
        return Ends(value, value * (1 + self.above))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_only_what_counts_beside_the_disclosed_mass_is_asked_for(direction):
    total = TotalLoss.of(ew.ApproxDP(epsilon=0.5, delta=1e-6) * ew.Laplace(2.0))
    slow, quick = Counting(), Counting(above=1.0)
    lower, upper = BesideDisclosure(slow, quick, total).delta(direction, np.array([0.5, 1.0, 2.0]))
    assert slow.asked == [(direction, [0.5, 1.0])]
    assert upper[:2].tolist() == lower[:2].tolist() == np.exp([-20.0, -40.0]).tolist()
    assert lower[2] == np.exp(-80.0)
    assert upper[2] == 2 * np.exp(-80.0)


def test_without_a_disclosed_mass_nothing_is_negligible():
    slow, quick = Counting(), Counting(above=1.0)
    BesideDisclosure(slow, quick, TotalLoss.of(ew.Laplace(2.0))).delta("both", np.array([5.0]))
    assert slow.asked == [("both", [5.0])]
    assert not quick.asked


def test_far_out_delta_is_the_disclosed_mass_to_all_digits():
    """Six samples have lost e^-1000 at eps = 1, and seconds were spent on its digits."""
    mechanism = ew.PoissonSampled(ew.Gaussian(10.0), 0.04) ** 6 * ew.ApproxDP(epsilon=0.5, delta=1e-8)
    found = ew.account(mechanism).delta(1.0)
    assert found.lower <= 1e-8 <= found.upper
    assert found.upper - found.lower <= 1e-14 * found.upper
