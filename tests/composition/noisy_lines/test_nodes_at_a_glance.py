"""Nodes that one value of the transform stands for: they are left out with a bound, and lines reach farther."""

import math

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.noisy_lines import engine, line, step_waves
from edgeworth.composition.noisy_lines.wave_sums import WaveSums
from edgeworth.composition.rare_atoms.merged_tails import merged
from edgeworth.composition.work import spent
from edgeworth.losses import TotalLoss, privacy_loss

COUNTS = ew.PoissonSampled(ew.DiscreteGaussian(19.2), rate=0.00482)
MIXES = {
    "counts beside noise and responses": (
        ew.Laplace(4.35) ** 10 * ew.RandomizedResponse(0.334) ** 14 * COUNTS**48,
        6.98,
    ),
    "noise of three kinds": (
        ew.Laplace(1.08) ** 7 * ew.DiscreteGaussian(8.08) * ew.Laplace(18.4) ** 6 * ew.DiscreteLaplace(0.595) ** 2,
        12.2,
    ),
    "noise and samples of four kinds": (
        ew.Laplace(1.78)
        * ew.Laplace(1.58) ** 3
        * ew.PoissonSampled(ew.Laplace(4.1), rate=0.0197) ** 3
        * ew.PoissonSampled(ew.DiscreteGaussian(13.5), rate=0.0197) ** 188
        * ew.PoissonSampled(ew.Laplace(3.13), rate=0.0251) ** 34,
        3.15,
    ),
}


@pytest.mark.parametrize(("mechanism", "epsilon"), MIXES.values(), ids=MIXES.keys())
def test_mixes_whose_atoms_return_late_have_six_digits_and_meet_the_lattice(mechanism, epsilon):
    found = ew.account(mechanism, direction="forward").delta(epsilon)
    assert 0 < found.upper - found.lower < 1e-6 * found.upper
    other = ew.account(mechanism, direction="forward", method="lattice").delta(epsilon)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


def test_the_same_readings_with_every_node_looked_at(monkeypatch):
    total = merged(TotalLoss.of(ew.Laplace(4.35) ** 10 * COUNTS**48), 60.0).total  # no outcomes that are hardly there
    epsilon = np.array([0.5, 1.5, 2.2])

    def read():
        before = spent()
        return engine.NoisyLines(total, 1e-5).delta("forward", epsilon), spent() - before

    at_a_glance, work = read()
    monkeypatch.setattr(line, "_stride", lambda *_: 1)
    each, more = read()
    assert np.all(np.maximum(at_a_glance.lower, each.lower) <= np.minimum(at_a_glance.upper, each.upper))
    assert np.all(at_a_glance.upper - at_a_glance.lower < 1e-4 * at_a_glance.upper)
    assert work < more


@pytest.mark.parametrize("count", [1, 20, 48, 1000, 10**6])
def test_a_value_stands_for_no_more_nodes_than_leave_its_power_small(count):
    """What is lost between the nodes is at most what leaves e^-60 of the power where |phi| is its largest mass."""
    step, h, size = step_waves.step_waves(privacy_loss(COUNTS), count, 30.0, math.inf, mirrored=False), 0.3, 2**14
    stride = line._stride(step, h, size)
    assert size % stride == 0
    if stride > 1:
        raised = step.largest + stride * h * step.bend
        assert count * math.log(raised) <= -60.0 * (1 - 1e-12)
        assert raised <= 1 - 0.7 * (1 - step.largest) + 1e-12
    else:
        raised = step.largest + 2 * h * step.bend
        assert count * math.log(raised) > -60.0 or raised > 1 - 0.7 * (1 - step.largest)


def test_terms_are_added_row_by_row():
    """Rounding is that of a row and of all rows, not that of all terms one after the other."""
    sums = WaveSums(np.ones((2, 2**16)), np.arange(2**16), 0.01)
    assert sums.longest == 512
