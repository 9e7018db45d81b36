"""The arguments behind the rules, by counting every case of small ones and by integrating a small run."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.training import DPSGD


def batches(order, size, number):
    return [frozenset(order[start : start + size]) for start in range(0, size * number, size)]


def without(order, record):
    """The last record of the order takes the place of the missing one."""
    *rest, last = order
    return tuple(rest) if last == record else tuple(last if each == record else each for each in rest)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("examples", "size"), [(4, 1), (5, 2), (6, 2), (6, 3), (7, 3)])
def test_a_removed_record_exchanges_one_record_and_leaves_one_short(examples, size, drop_last):
    """Shuffle, add-remove: the coupled orders are uniform, and the sums move by (2, 1) at most."""
    record = 0
    number = DPSGD(
        examples=examples, batch_size=size, epochs=1, noise_multiplier=1.0, sampler="shuffle", drop_last=drop_last
    ).steps
    met = Counter()
    for order in itertools.permutations(range(examples)):
        shorter = without(order, record)
        met[shorter] += 1
        changes = [
            (len(before - after), len(after - before))
            for before, after in zip(batches(order, size, number), batches(shorter, size, number), strict=True)
            if before != after
        ]
        assert sorted(changes, reverse=True) in ([], [(1, 0)], [(1, 1)], [(1, 1), (1, 0)])
    assert len(met) == np.prod(np.arange(1, examples))
    assert set(met.values()) == {examples}


def test_a_removed_record_of_a_fixed_size_batch_is_stood_in_for():
    """Fixed size, add-remove: batches of the smaller data arise evenly, and a sum moves by two records at most."""
    examples, size, record = 6, 3, 0
    met: dict[frozenset[int], Fraction] = {}
    all_batches = list(itertools.combinations(range(examples), size))
    for batch in map(frozenset, all_batches):
        outside = set(range(examples)) - batch
        stand_ins = [batch - {record} | {other} for other in outside] if record in batch else [batch]
        for other in stand_ins:
            assert len(batch ^ other) in (0, 2)
            met[other] = met.get(other, Fraction(0)) + Fraction(1, len(all_batches) * len(stand_ins))
    assert len(met) == 10
    assert set(met.values()) == {Fraction(1, 10)}


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("adjacency", ["zero-out", "replace"])
def test_a_shuffled_epoch_is_within_one_release(sigma, adjacency):
    """Two records, batches of one: the exact delta, by integration over both outputs, is below the certified one.

    The other record adds 1 to its sum; the record in question adds -1, and its neighbour 0 or +1.
    """
    moved = 0.0 if adjacency == "zero-out" else 1.0
    x = np.arange(-12.0, 12.0, 0.02) * max(sigma, 1.0)
    weight = (x[1] - x[0]) ** 2

    def density(own):
        kernel = [np.exp(-(((x - mean) / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi)) for mean in (own, 1.0)]
        return (np.outer(kernel[0], kernel[1]) + np.outer(kernel[1], kernel[0])) / 2

    run = DPSGD(examples=2, batch_size=1, epochs=1, noise_multiplier=sigma, sampler="shuffle", adjacency=adjacency)
    account = ew.account(run.mechanism)
    null, alternative = density(moved), density(-1.0)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        exact = np.sum(np.maximum(alternative - np.exp(epsilon) * null, 0.0)) * weight
        assert exact * (1 - 1e-6) <= account.delta(epsilon).upper
