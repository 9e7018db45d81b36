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
    step, h = step_waves.step_waves(privacy_loss(COUNTS), count, 30.0, math.inf, mirrored=False), 0.3
    stride = line._stride(step, h)
    assert stride == 2 ** int(math.log2(stride)) <= line._LONGEST_STRIDE
    if stride > 1:
        raised = step.largest + stride * h * step.bend
        assert count * math.log(raised) <= -60.0 * (1 - 1e-12)
        assert raised <= 1 - 0.7 * (1 - step.largest) + 1e-12
    else:
        raised = step.largest + 2 * h * step.bend
        assert count * math.log(raised) > -60.0 or raised > 1 - 0.7 * (1 - step.largest)


@pytest.mark.parametrize("count", [300, 20_000])
def test_what_is_left_out_row_by_row_is_at_most_what_it_is_counted_for(count):
    total = TotalLoss.of(ew.PoissonSampled(ew.DiscreteLaplace(0.9), rate=0.2) ** count)
    lines = engine.NoisyLines(total)
    lines.delta("forward", np.array([0.01 * count]))
    made = next(iter(lines._lines.values()))
    ((step,), h), stride, size = (made._steps, 2 * math.pi / made.period), 2**9, 2**19
    made._left_out = np.zeros(2)
    nodes, _ = made._sieved(step, step_waves.Block(size // stride, h * stride, np.arange(size // stride)), stride)
    kept = np.concatenate([some.y for some in nodes])
    y = h * (size + np.arange(size))
    left = y[~np.isin(np.rint(y / h), np.rint(kept / h))]
    assert left.size + kept.size == size
    assert left.size > 0.5 * size
    wave = np.exp(np.multiply.outer(1j * left, step.place)) @ step.weight
    modulus = np.abs(wave) ** count
    truth = np.array([np.sum(modulus * np.abs(made._kernel(left))), np.sum(modulus)])
    assert np.all(truth <= made._left_out)
    assert made._left_out[0] <= 1e-6 * math.exp(made.goal.log_least) * made.period


def test_lines_of_very_many_steps_go_on_where_nothing_is():
    """So far that the noise which holds what is beyond is next to nothing, with little work: |phi|^n is 0 there."""
    total = merged(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(0.423), rate=0.478) ** 14_660_000), 60.0).total
    before = spent()
    found = engine.NoisyLines(total).delta("backward", np.array([6.609e6]))
    assert found.upper[0] - found.lower[0] <= 1e-7 * found.upper[0]
    assert spent() - before < 2e6


def test_of_very_many_samples_with_merged_tails_the_mean_has_all_its_digits():
    total = merged(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(1.06), rate=7e-6) ** 187_689_000), 60.0).total
    found = engine.NoisyLines(total).delta("backward", np.array([1.032]))
    assert found.upper[0] - found.lower[0] <= 1e-7 * found.upper[0]


def test_beyond_the_last_line_a_reading_is_at_most_what_chernoff_says():
    total = merged(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(0.851), rate=0.157) ** 42_288_700), 60.0).total
    found = engine.NoisyLines(total).delta("backward", np.array([1.093e6]))
    assert found.lower[0] == 0.0
    assert found.upper[0] < 1e-300


def test_terms_are_added_row_by_row():
    """Rounding is that of a row and of all rows, not that of all terms one after the other."""
    sums = WaveSums(np.ones((2, 2**16)), np.arange(2**16), 0.01)
    assert sums.longest == 512
