"""Very many rare samples of noise with atoms: merged tails and sorted jumps, against lists of atoms and 30 digits."""

import json
import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import lattice, noisy_lines
from edgeworth.composition.answered import Ends
from edgeworth.composition.rare_atoms import jumping_atoms, merged_tails
from edgeworth.composition.rare_atoms.jumping_atoms import JumpingAtoms
from edgeworth.composition.rare_atoms.merged_tails import MergedTails, merged
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

TRUTH = json.loads(Path(__file__).with_name("truth_rare_atoms.json").read_text(encoding="utf-8"))


def sample(scale, sensitivity, rate, steps):
    return ew.PoissonSampled(ew.DiscreteGaussian(scale, sensitivity=sensitivity), rate=rate) ** steps


def listed_delta(loss, steps, epsilon, direction):
    """Delta of few steps as the sum over all their outcomes."""
    atoms, sums = loss.atoms, []
    for outcome in product(range(atoms.loss.size), repeat=steps):
        null, alternative = (math.prod(mass[k] for k in outcome) for mass in (atoms.null, atoms.alternative))
        first, second = (alternative, null) if direction == "forward" else (null, alternative)
        sums.append(max(first - math.exp(epsilon) * second, 0.0))
    return math.fsum(sums)


# --- auto


@pytest.mark.parametrize(("scale", "sensitivity", "rate", "steps", "epsilon", "delta"), TRUTH)
def test_auto_has_the_digits_that_it_promises(scale, sensitivity, rate, steps, epsilon, delta):
    account = ew.account(sample(scale, sensitivity, rate, steps), direction="forward")
    delta = float(delta)
    found = account.delta(epsilon=epsilon)
    assert found.lower <= delta * (1 + 1e-15)
    assert delta * (1 - 1e-15) <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper
    found = account.epsilon(delta=delta)
    assert found.lower <= epsilon * (1 + 1e-15)
    assert epsilon * (1 - 1e-15) <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("run", "direction", "delta"),
    [
        (sample(1.648, 2, 5.28e-6, 1209), "both", 1e-7),
        (sample(2.69, 5, 2.026e-6, 49), "forward", 1e-15),
        (sample(10.5, 5, 0.005217, 531), "both", 6e-30),
        (sample(3.818, 5, 4.36e-5, 878361), "backward", 2e-11),
        (sample(0.5412, 2, 0.257, 37740), "forward", 6.6e-5),
    ],
)
def test_epsilon_and_delta_belong_together(run, direction, delta):
    account = ew.account(run, direction=direction)
    epsilon = account.epsilon(delta=delta)
    assert epsilon.upper - epsilon.lower <= 1e-6 * epsilon.upper
    assert account.delta(epsilon=epsilon.lower).upper >= delta * (1 - 1e-12)
    assert account.delta(epsilon=epsilon.upper).lower <= delta * (1 + 1e-12)


def test_a_test_of_rare_samples_agrees_with_their_profile():
    account = ew.account(sample(1.05, 1, 2.331e-6, 1238511), direction="forward")
    alpha = 0.01
    f = account.tradeoff(alpha)
    assert f.upper - f.lower <= 1e-6 * f.upper
    for epsilon in (0.002, 0.005, 0.008):
        line = 1 - account.delta(epsilon=epsilon).upper - math.exp(epsilon) * alpha
        assert line <= f.upper * (1 + 1e-12)


# --- merged tails


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("nats", [3.0, 8.0])
def test_merging_lowers_delta_by_no_more_than_it_says(direction, nats):
    total = TotalLoss.of(sample(0.9, 1, 0.3, 2))
    found = merged(total, nats)
    (whole, _), (some, _) = total.parts[0], found.total.parts[0]
    assert some.atoms.loss.size < whole.atoms.loss.size
    lost = found.alternative if direction == "forward" else found.null
    for epsilon in (-0.5, 0.0, 0.3, 0.9, 1.6):
        truth, low = (listed_delta(loss, 2, epsilon, direction) for loss in (whole, some))
        assert low <= truth * (1 + 1e-12) + 1e-15
        assert truth <= (low + lost) * (1 + 1e-12)
    assert 0 < lost <= 1.1 * math.exp(-nats)


def test_a_merged_law_is_a_law():
    found = merged(TotalLoss.of(sample(3.0, 2, 1e-4, 1000)), 60.0).total.parts[0][0].atoms
    assert math.fsum(found.null) == pytest.approx(1, abs=1e-14)
    assert math.fsum(found.alternative) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(found.null * np.exp(found.loss), found.alternative, rtol=1e-13)


class _Known:
    """Answers that are known at once."""

    def __init__(self, nats):
        self.nats = nats

    def delta(self, _, epsilon):
        return Ends(np.exp(-10 * epsilon), np.exp(-10 * epsilon))

    def epsilon(self, _, delta):
        return Ends(-np.log(delta) / 10, -np.log(delta) / 10)

    def tradeoff(self, _, alpha):
        return Ends(1e-30 * (1 - alpha), 1e-30 * (1 - alpha))

    def bridge(self):
        return 0.25, 0.5


def test_the_smaller_a_reading_the_less_is_merged():
    asked = []

    def answers(_, nats):
        asked.append(nats)
        return _Known(nats)

    tails = MergedTails(TotalLoss.of(sample(3.0, 1, 1e-4, 1000)), answers)
    tails.delta("forward", np.array([0.1, 6.0]))
    assert asked == [45.0, 105.0]
    asked.clear()
    lower, upper = tails.epsilon("both", np.array([1e-8]))
    assert asked == [45.0]
    assert lower[0] < upper[0] < lower[0] * (1 + 1e-9)
    lower, upper = tails.tradeoff("backward", np.array([0.5]))
    assert 0 < lower[0] < upper[0] == 5e-31
    assert tails.bridge()[0] >= 0.25
    with pytest.raises(Unsupported):
        tails.epsilon("forward", np.array([1e-250]))
    with pytest.raises(Unsupported):
        tails.epsilon("forward", np.array([0.0]))


# --- sorted jumps


@pytest.fixture
def few_steps(monkeypatch):
    """Lines and jumps for laws whose atoms can be listed."""
    monkeypatch.setattr(noisy_lines.engine, "_FEWEST_NATS", 0.0)
    monkeypatch.setattr(jumping_atoms, "_FEWEST_NATS", 0.0)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("kept", [2, 3])
@pytest.mark.parametrize("side", ["forward", "backward"])
def test_jumps_that_are_sorted_enclose_what_lists_of_atoms_say(kept, side):
    run = ew.PoissonSampled(ew.DiscreteLaplace(0.4, sensitivity=3), rate=0.02) ** 12
    total = TotalLoss.of(run)
    truth = lattice.prepared(total)
    assert truth.exact
    lines = partial(noisy_lines.prepared, fine=1e-7)
    found = JumpingAtoms(total, jumping_atoms.Split(0, kept), (30.0, 1e-8), lines)
    for epsilon in (-0.1, 0.0, 0.05, 0.3, 1.0, 2.0):
        lower, upper = found.at(side, epsilon)
        ends = truth.delta(side, np.array([epsilon]))
        assert lower <= ends.upper[0] * (1 + 1e-11)
        assert ends.lower[0] * (1 - 1e-11) <= upper


def test_a_bulk_is_a_law_and_all_runs_have_mass_one():
    total = merged(TotalLoss.of(sample(1.05, 1, 2.331e-6, 1238511)), 45.0).total
    split = jumping_atoms._split(total, 45.0, 12)
    bulk = jumping_atoms.bulk_without(total, split, 0).parts[0][0]
    assert math.fsum(bulk.null) == pytest.approx(1, abs=1e-14)
    assert math.fsum(bulk.alternative) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(bulk.null * np.exp(bulk.loss), bulk.alternative, rtol=1e-13)
    runs = jumping_atoms.prepared(total, 45.0, 1e-7)._runs
    for side in ("null", "alternative"):
        masses = math.fsum(float(np.sum(getattr(run.values, side))) for run in runs)
        assert masses == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize(
    "run",
    [
        sample(1.0, 1, 0.2, 1000),  # at a large rate nothing is far
        sample(1.0, 1, 1e-5, 3),  # too few
        ew.PoissonSampled(ew.RandomizedResponse(1.0, categories=5), rate=0.01) ** 10**6,  # nothing is rare
        sample(1.0, 1, 1e-5, 1000) * sample(2.0, 1, 1e-5, 1000),  # two kinds
    ],
)
def test_where_jumps_are_not_sorted(run):
    assert jumping_atoms.prepared(merged(TotalLoss.of(run), 45.0).total, 45.0, 1e-7) is None


def test_merged_tails_are_for_samples_with_atoms():
    assert merged_tails.applies(TotalLoss.of(sample(1.0, 1, 0.2, 10)))
    assert not merged_tails.applies(TotalLoss.of(ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1) ** 10))
