"""Sums of waves as products of matrices, against a wave for every term."""

import numpy as np
import pytest

from edgeworth.composition.noisy_lines.wave_sums import WaveSums


@pytest.mark.parametrize(("size", "share"), [(1, 1.0), (700, 1.0), (60_000, 1.0), (60_000, 0.3), (60_000, 1e-3)])
def test_sums_are_those_of_a_wave_for_every_term(size, share):
    random = np.random.default_rng(size)
    k = np.flatnonzero(np.append(True, random.random(size - 1) < share))
    terms = random.normal(size=(2, k.size)) + 1j * random.normal(size=(2, k.size))
    a, h = np.array([0.0, -3.7, 0.31, 250.0]), 0.013
    sums = (terms @ np.exp(1j * np.multiply.outer(h * k, a))).real
    room = 1e-15 * (size + 64 + 8 * h * size * np.abs(a)) * np.abs(terms).sum(axis=1)[:, None]
    assert np.all(np.abs(WaveSums(terms, k, h).at(a) - sums) <= room)
