"""Listed values of a sum: places and masses against exact rational numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from edgeworth.losses import MergedValues, Nodes, PairedValues

#: losses k/8 with masses under P; those under Q are made up, since nothing below asks them to be e^l times as large
ONE = {Fraction(-3, 8): (Fraction(1, 2), Fraction(1, 4)), Fraction(1, 4): (Fraction(1, 2), Fraction(3, 4))}
OTHER = {Fraction(-3, 4): (Fraction(1, 8), Fraction(1, 2)), Fraction(0): (Fraction(7, 8), Fraction(1, 2))}


def of_all_pairs(one, other):
    return sorted((a + b, p * r, q * s) for a, (p, q) in one.items() for b, (r, s) in other.items())


def paired(law):
    return PairedValues(np.array([float(x) for x in law]), np.array([math.log(p) for p, _ in law.values()]))


def merged(law):
    place, (null, alternative) = np.array([float(x) for x in law]), np.array(list(law.values()), dtype=float).T
    return MergedValues(place, null, alternative)


def holds(found, truth, error):
    return all(abs(Fraction(x) - y) <= error * y for x, y in zip(found.tolist(), truth, strict=True))


def test_pairs_have_sums_of_values_and_products_of_masses():
    found = paired(ONE).times(paired(OTHER))
    truth = of_all_pairs(ONE, OTHER)
    assert holds(np.abs(found.place), [abs(row[0]) for row in truth], 0)
    assert holds(np.exp(found.log_mass), [row[1] for row in truth], found.error + 2.0**-50)


def test_mirrored_twice_is_the_same_up_to_its_error():
    one = paired(ONE)
    found = one.mirrored().mirrored()
    assert found.place.tolist() == one.place.tolist()
    assert np.all(np.abs(found.log_mass - one.log_mass) <= found.error)


def test_equal_sums_are_one_value_with_the_sum_of_their_masses():
    both = merged(ONE).times(merged(ONE))
    assert both.place.tolist() == [-0.75, -0.125, 0.5]
    assert holds(both.null, [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)], both.error)
    assert holds(both.alternative, [Fraction(1, 16), Fraction(3, 8), Fraction(9, 16)], both.error)
    assert both.lost == 0


def test_close_sums_are_one_value_within_the_slack():
    near = {Fraction(-3, 8) + Fraction(1, 2**52): (1, 1), **ONE}
    found = merged(near).times(merged({Fraction(1): (1, 1)}))
    assert found.place.size == 2
    assert np.all(np.abs(found.place[0] - [0.625, 0.625 + 2.0**-52]) <= found.slack)


@pytest.mark.parametrize("small", [1e-201, 1e-300])
def test_what_weighs_next_to_nothing_is_lost_and_counted(small):
    found = MergedValues(np.array([0.0, 1.0]), np.array([1.0, small]), np.array([1.0, small])).without_the_smallest()
    assert found.place.tolist() == [0.0]
    assert small <= found.lost <= 1e-199


def test_nodes_without_weight_are_no_values():
    place, log_weight = Nodes(np.array([1.0, 2.0, 3.0]), np.array([-1.0, -math.inf, -2.0])).held()
    assert (place.tolist(), log_weight.tolist()) == ([1.0, 3.0], [-1.0, -2.0])
