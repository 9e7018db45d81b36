"""Where neither direction is the worse one everywhere, or both end at an atom, f of both directions has its digits."""

import mpmath
import numpy as np
import pytest

import edgeworth as ew

THREE = ew.PoissonSampled(ew.Laplace(2.18), 0.00112) ** 3


@pytest.mark.parametrize("alpha", [1e-10, 1e-4, 0.01465, 0.03])
def test_up_to_the_mass_of_the_largest_loss_f_of_both_directions_is_a_line(alpha):
    """P[L = t] = e^(-theta) / 2 for each step at its top: up to its cube f = 1 - alpha e^(3 t), and delta(3 t) = 0."""
    with mpmath.workdps(40):
        theta = 1 / mpmath.mpf(2.18)
        assert alpha < (mpmath.exp(-theta) / 2) ** 3
        rate = mpmath.mpf(0.00112)
        truth = 1 - mpmath.mpf(alpha) * (1 - rate + rate * mpmath.exp(theta)) ** 3
        found = ew.account(THREE).tradeoff(alpha)
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert found.upper - found.lower <= 1e-9 * found.upper


def test_next_to_the_largest_loss_delta_is_at_most_what_one_run_there_has():
    """(1 - e^(eps - L))+ is at most that of the largest L: of a threshold that rounding confuses with it, too."""
    top = ew.account(THREE).total.support[1]
    answers = ew.account(THREE, method="lattice", direction="forward")
    for away in (-1e-15, 0.0, 1e-15):
        assert 0 <= answers.delta(top + away).upper <= 3e-15


@pytest.mark.parametrize(
    ("mechanism", "alpha"),
    [
        (ew.PoissonSampled(ew.Laplace(0.3), 0.004) * ew.PoissonSampled(ew.Laplace(3.0), 0.4) ** 4, 0.14),
        (ew.PoissonSampled(ew.RandomizedResponse(3.0), 0.01) ** 4 * ew.PoissonSampled(ew.Laplace(4.0), 0.5) ** 3, 0.3),
    ],
)
def test_the_hull_is_the_chord_between_both_curves_where_their_profiles_cross(mechanism, alpha):
    """Below both curves, and all lines below it: at slopes all around the best one none is higher."""
    found = ew.account(mechanism).tradeoff(alpha)
    ways = [ew.account(mechanism, direction=way) for way in ("forward", "backward")]
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.upper < min(way.tradeoff(alpha).lower for way in ways)
    place, room = 0.5, 0.5
    for _ in range(4):  # the lines are concave in their slope: closer and closer around the highest
        t = np.linspace(max(place - room, 0.0), place + room, 9)
        delta = np.maximum(*(way.delta(t).lower for way in ways))
        lines = np.maximum(1 - delta - np.exp(t) * alpha, np.exp(-t) * (1 - delta - alpha))
        assert np.max(lines) <= found.upper
        place, room = float(t[np.argmax(lines)]), 0.25 * room
    assert np.max(lines) >= found.lower - 1e-3
