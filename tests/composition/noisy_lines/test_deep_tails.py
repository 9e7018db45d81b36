"""Readings far out, where the tilted law is many times narrower than the law itself, or rare atoms take over."""

import itertools
import math

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import noisy_lines
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.noisy_lines import engine, line, step_waves
from edgeworth.composition.noisy_lines.engine import NoisyLines
from edgeworth.composition.noisy_lines.tilted_sum import TiltedSums
from edgeworth.losses import TotalLoss, privacy_loss

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


@pytest.mark.parametrize("rate", [1e-12, 1e-6, 0.01, 0.6])
def test_losses_of_samples_are_as_near_the_truth_as_is_said(rate):
    loss = privacy_loss(ew.PoissonSampled(ew.DiscreteGaussian(1.3), rate=rate))
    with mpmath.workdps(40):
        variance = mpmath.mpf(1.3) ** 2
        for number, place in enumerate(loss.atoms.loss.tolist(), start=-math.ceil(37.5 * 1.3)):
            truth = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1((2 * number - 1) / (2 * variance)))
            assert abs(place - truth) <= loss.place_error * abs(truth)


@pytest.mark.parametrize("mirrored", [False, True])
def test_what_lies_left_and_right_of_listed_atoms_is_bounded(mirrored):
    loss = privacy_loss(ew.PoissonSampled(ew.DiscreteGaussian(1.3), rate=1e-3))
    left, right = step_waves.last_moves(loss)
    floor, spacing = math.log1p(-1e-3), 1 / 1.3**2
    assert 0 < left < 1e-12
    assert right == pytest.approx(spacing, rel=1e-12, abs=0)
    assert loss.atoms.loss[0] - floor <= left
    tilt = -30_000.0 if mirrored else 30.0
    assert step_waves._beyond(loss, loss.nodes(), tilt) < 1e-30


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.3])
def test_nodes_left_out_at_a_glance_change_next_to_nothing(monkeypatch, epsilon):
    total = TotalLoss.of(ew.PoissonSampled(ew.DiscreteLaplace(1.5, sensitivity=3), rate=0.001) ** 5000)
    quick = NoisyLines(total).delta("forward", np.array([epsilon]))
    assert line._stride(step_waves.step_waves(total.parts[0][0], 5000, 1.5, 1.0, mirrored=False), 0.01) > 1
    monkeypatch.setattr(line, "_LONGEST_STRIDE", 1)
    slow = NoisyLines(total).delta("forward", np.array([epsilon]))
    assert quick.lower[0] <= slow.upper[0] * (1 + 1e-11)
    assert slow.lower[0] * (1 - 1e-11) <= quick.upper[0]
    widths = [(ends.upper[0] - ends.lower[0]) / ends.upper[0] for ends in (quick, slow)]
    assert widths[0] == pytest.approx(widths[1], rel=0.01, abs=0)


def test_lines_of_a_far_tail_are_close_to_each_other():
    total = TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(1.934), rate=4.639e-5) ** 7_455_286)
    ladder = engine._Ladder(TiltedSums(total), "delta", mirrored=False)
    ladder.number(0.3)
    rungs = ladder._rungs
    assert len(rungs) > 2
    for one, other in itertools.pairwise(rungs):
        assert 0 < (other.c - one.c) * (other.mean - one.mean) <= 2 * engine._FARTHEST


def test_a_small_f_is_not_sought_where_it_has_no_digits(monkeypatch):
    """1 - delta and 1 - delta' say little about an f of 4e-4: lines far out are not made for them."""
    laplace = ew.PoissonSampled(ew.Laplace(0.322), rate=2.2e-4) ** 2
    responses = ew.RandomizedResponse(0.1) ** 6
    total = TotalLoss.of(laplace * ew.DiscreteGaussian(0.556) ** 12 * responses * ew.DiscreteGaussian(2.615) ** 14)
    lines = []
    prepare = NoisyLines._prepared
    monkeypatch.setattr(
        NoisyLines, "_prepared", lambda self, kind, *a, **k: lines.append(kind) or prepare(self, kind, *a, **k)
    )
    ends = NoisyLines(total, 3e-9, NoisyLines(total, 1e-3)).tradeoff("forward", np.array([0.001]))
    assert ends.lower[0] < 4e-4
    assert narrow(ends, 1e-6)
    assert len(lines) < 12
