"""Few equal samples with atoms: runs listed, or sorted beside a bulk, against lists of atoms and whole numbers."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.deferred import Deferred
from edgeworth.composition.equal_samples import applies
from edgeworth.composition.lattice.enumerated import Enumeration
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.rare_atoms import few_samples, listed_runs
from edgeworth.composition.rare_atoms.jumping_atoms import JumpingAtoms, Split
from edgeworth.composition.rare_atoms.merged_tails import Levels, merged
from edgeworth.composition.rare_atoms.smooth_bulk import SmoothBulk, StepLaw
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues, TotalLoss

TRUTH = json.loads(Path(__file__).with_name("truth_few_samples.json").read_text(encoding="utf-8"))
DIRECTIONS = ("forward", "backward")


def sample(scale, sensitivity, rate, steps):
    return ew.PoissonSampled(ew.DiscreteGaussian(scale, sensitivity=sensitivity), rate=rate) ** steps


def finite(run, nats=45.0):
    return merged(TotalLoss.of(run), nats).total


def is_narrow(bracket):
    return bracket.upper - bracket.lower <= 1e-6 * bracket.upper


# --- auto


@pytest.mark.parametrize(
    ("scale", "sensitivity", "rate", "steps", "direction", "epsilon", "low", "high"),
    TRUTH,
    ids=[f"{row[0]}-{row[3]}-{row[4]}-{row[5]}" for row in TRUTH],
)
def test_auto_has_the_digits_that_it_promises(scale, sensitivity, rate, steps, direction, epsilon, low, high):
    found = ew.account(sample(scale, sensitivity, rate, steps), direction=direction).delta(epsilon=epsilon)
    assert found.lower <= float(high)
    assert float(low) <= found.upper
    assert is_narrow(found)


@pytest.mark.parametrize(
    ("run", "direction", "delta", "reached"),
    [
        (sample(0.424, 3, 3.36e-4, 128), "both", 1.08e-39, 388.264978275),
        (sample(0.695, 1, 0.258, 16), "backward", 7.95e-77, 4.77074534908),
        (sample(0.44, 2, 2e-5, 88), "forward", 1e-15, 39.2050823336),
        (sample(0.365, 1, 6.64e-6, 17), "forward", 1.314e-89, 64.891473031),
    ],
)
def test_a_tiny_delta_has_its_epsilon(run, direction, delta, reached):
    epsilon = ew.account(run, direction=direction).epsilon(delta=delta)
    assert is_narrow(epsilon)
    assert epsilon.lower <= reached * (1 + 1e-10)
    assert reached * (1 - 1e-10) <= epsilon.upper


@pytest.mark.parametrize(
    ("run", "alpha"), [(sample(0.606, 3, 3.49e-6, 35), 2.88e-4), (sample(0.323, 1, 0.0509, 21), 7.29e-4)]
)
def test_a_test_agrees_with_the_profile(run, alpha):
    account = ew.account(run, direction="forward")
    f = account.tradeoff(alpha)
    assert is_narrow(f)
    for epsilon in (0.0, 1e-5, 0.1, 2.0):
        line = 1 - account.delta(epsilon=epsilon).upper - math.exp(epsilon) * alpha
        assert line <= f.upper * (1 + 1e-12)


def test_these_engines_are_for_few_equal_samples_with_atoms():
    one = ew.PoissonSampled(ew.DiscreteGaussian(1.0), rate=0.1)
    assert applies(TotalLoss.of(one**30))
    assert not applies(TotalLoss.of(one**10_000))
    assert not applies(TotalLoss.of(one**30 * ew.PoissonSampled(ew.DiscreteGaussian(2.0), rate=0.1)))
    assert not applies(TotalLoss.of(ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1) ** 30))
    with pytest.raises(Unsupported):  # endlessly many atoms
        listed_runs.prepared(TotalLoss.of(one**30), 45.0, 1)


# --- listed runs


def all_pairs(total):
    """The atoms of a total of very few steps, every sequence of outcomes on its own."""
    ((loss, n),) = total.parts
    place, log_mass = loss.nodes().held()
    one = PairedValues(place, log_mass)
    made = one
    for _ in range(n - 1):
        made = made.times(one)
    return EnumeratedAnswers(Enumeration.alone(made))


def overlap(ends, truth, slack=1e-11):
    assert np.all(ends.lower <= truth.upper * (1 + slack))
    assert np.all(truth.lower <= ends.upper * (1 + slack))


@pytest.mark.parametrize("lists", [1, 2])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_listed_runs_are_those_of_all_sequences(direction, lists):
    total = finite(sample(0.8, 1, 0.01, 3), nats=100.0)
    found, truth = listed_runs.prepared(total, 100.0, lists), all_pairs(total)
    epsilon = np.array([-0.02, 0.0, 0.003, 0.01, 0.02, 0.5, 3.0])
    ends = found.delta(direction, epsilon)
    overlap(ends, truth.delta(direction, epsilon))
    large = ends.upper > 1e-25
    assert np.all(ends.upper[large] - ends.lower[large] <= 1e-8 * ends.upper[large])


@pytest.mark.parametrize("nats", [3.0, 8.0, 20.0])
def test_runs_that_are_left_out_weigh_no_more_than_what_is_lost(nats):
    ((loss, n),) = finite(sample(0.6, 1, 0.05, 12)).parts
    made = listed_runs.listed(loss, n, nats, 10**6)
    null, alternative = np.sum(np.exp(made.log_mass)), np.sum(np.exp(made.log_mass + made.place))
    assert 1 - min(null, alternative) <= made.lost * (1 + 1e-9) + 1e-9
    assert max(null, alternative) <= 1 + 1e-11
    assert 0 < made.lost < math.exp(-nats)
    assert np.all(np.diff(made.place) >= 0)


@pytest.mark.parametrize("kind", ["delta", "reverse", "overlap"])
@pytest.mark.parametrize("pairs", [False, True])
def test_losses_may_be_off_by_a_share_of_themselves(kind, pairs):
    """Any law whose losses are off by less is enclosed, also where two large ones cancel."""
    rng, share = np.random.default_rng(3), 1e-3
    laws = [np.sort(rng.uniform(-0.5, 4.0, size)) for size in ((30, 40) if pairs else (1, 40))]
    laws[0] *= pairs
    masses = [np.log(rng.dirichlet(np.ones(place.size))) - 5 for place in laws]  # E[X] <= 1
    made = [
        PairedValues(place, mass, stretch=share, error=8 * share * 8.0)
        for place, mass in zip(laws, masses, strict=True)
    ]
    found = Enumeration.of_pairs(*made)
    for sign in (-1.0, 1.0, rng.uniform(-1, 1, 40)):
        moved = [place * (1 + share * np.broadcast_to(sign, 40)[: place.size]) for place in laws]
        orders = [np.argsort(place) for place in moved]
        exactly = zip(moved, masses, orders, strict=True)
        truth = Enumeration.of_pairs(*(PairedValues(place[k], mass[k]) for place, mass, k in exactly))
        for t in np.linspace(-1.2, 8.2, 200).tolist():
            (low, high), (exact, again) = found.ends(kind, t), truth.ends(kind, t)
            assert low <= again
            assert exact <= high


def test_too_many_runs_are_refused():
    ((loss, n),) = finite(sample(3.0, 1, 0.05, 40)).parts
    with pytest.raises(Unsupported, match="too many runs"):
        listed_runs.listed(loss, n, 45.0, 2_000)


# --- the bulk


@pytest.mark.parametrize("fine", [1e-2, 1e-4])
@pytest.mark.parametrize("backward", [False, True])
def test_a_smooth_bulk_encloses_the_profile_of_all_sequences(backward, fine):
    place = np.log1p(0.01 * np.expm1(np.array([-2.3, -1.1, 0.2, 0.9, 1.7, 3.1])))
    mass = np.array([0.11, 0.23, 0.31, 0.2, 0.1, 0.05])
    null, alternative = mass, mass * np.exp(place)
    law = StepLaw(place - math.log(np.sum(alternative)), np.log(null), 1e-17)
    law = law.mirrored() if backward else law
    for steps in (1, 2, 4):
        one = PairedValues(law.place, law.log_mass)
        made = one
        for _ in range(steps - 1):
            made = made.times(one)
        truth = Enumeration.alone(made)
        t = np.linspace(steps * law.place[0], steps * law.place[-1], 400)[1:-1]
        exact = np.array([truth.delta(x) for x in t.tolist()])
        ends = SmoothBulk(law, 4, 30.0, fine).delta(steps, t)
        assert np.all(ends.lower <= exact * (1 + 1e-11))
        assert np.all(exact <= ends.upper * (1 + 1e-11))
        known = ends.upper < 1
        assert np.count_nonzero(known) > 300
        assert np.median((ends.upper - ends.lower)[known] / exact[known]) < 20 * fine


def test_a_bulk_of_one_loss_has_no_tilts():
    law = StepLaw(np.zeros(2), np.log([0.5, 0.5]), 0.0)
    ends = SmoothBulk(law, 3, 30.0, 1e-3).delta(3, np.array([-1.0, 0.0, 1.0]))
    assert ends.lower.tolist() == [0.0] * 3
    assert ends.upper.tolist() == [1.0] * 3
    account = ew.account(sample(0.35, 3, 5.757e-5, 3))
    assert is_narrow(account.delta(epsilon=1e-4))


def test_one_tilt_follows_upon_another():
    total = finite(sample(2.06, 1, 0.003, 36), nats=60.0)
    bulk = few_samples.prepared(total, 60.0, 1e-3)
    assert len(bulk._runs) > 3
    for way in DIRECTIONS:
        made = bulk._runs[0].bulk._ways[way]
        assert all(one.following == other.tilt > one.tilt for one, other in pairwise(made._ladder))
        assert all(one.window[0] < one.window[1] for one in made._ladder)
        assert np.all(np.diff(made._range(36)) > 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sorted_runs_of_which_all_steps_may_jump(direction):
    total = finite(sample(0.8, 1, 0.01, 3), nats=100.0)
    found = JumpingAtoms(total, Split(0, 9), (100.0, 1e-4), few_samples._Bulks(100.0, 1e-3))
    truth = all_pairs(total)
    assert len(found._runs) == 4
    epsilon = np.array([0.0, 0.003, 0.01, 0.02, 0.5, 3.0, 9.0])
    overlap(found.delta(direction, epsilon), truth.delta(direction, epsilon))


# --- around them


def test_levels_are_as_deep_as_a_reading():
    levels = Levels((10.0, 20.0, 40.0), below=5.0)
    assert [levels.of(math.exp(-x)) for x in (1.0, 6.0, 30.0, 90.0)] == [10.0, 20.0, 40.0, 40.0]
    assert [levels.after(x) for x in (10.0, 20.0, 40.0)] == [20.0, 40.0, 40.0]


def test_what_cannot_be_made_is_tried_once():
    tried = []

    def prepare():
        tried.append(1)
        raise Unsupported("no")

    made = Deferred(prepare)
    for _ in range(2):
        with pytest.raises(Unsupported):
            made.delta("forward", np.zeros(1))
    assert len(tried) == 1
