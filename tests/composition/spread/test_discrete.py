"""Samples of discrete Gaussian noise beside a rest: against all sequences in 30 digits, and other engines."""

import math
from functools import cache, reduce
from itertools import product as all_sequences

import mpmath
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.composition.spread.examples import DIRECTIONS, NEARLY, above, laplace, normal, total_of

import edgeworth as ew
from edgeworth.composition import lattice, moments, samples_beside, spread
from edgeworth.composition.rare_atoms import few_samples
from edgeworth.composition.rare_atoms.merged_tails import merged
from edgeworth.composition.spread.graded import Graded
from edgeworth.composition.spread.law import Shares, SpreadLaw
from edgeworth.composition.spread.merged import MergedLaw
from edgeworth.composition.spread.resolution import centred_for, graded_for
from edgeworth.composition.spread.steps import one_step, shares_of
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import TotalLoss, privacy_loss

LITTLE_WORK = 3e8


def discrete(sigma, rate, sensitivity=1):
    return ew.PoissonSampled(ew.DiscreteGaussian(sigma, sensitivity=sensitivity), rate=rate)


# --- truths with 30 digits


@cache
def outcomes(sigma, rate, sensitivity):
    """Ratios and P-masses of one sample, without outcomes below 1e-60."""
    with mpmath.workdps(40):
        sigma, rate = mpmath.mpf(sigma), mpmath.mpf(rate)
        reach = int(17 * sigma) + 2
        weight = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * sigma**2)) for k in range(-reach, reach + sensitivity + 1)}
        whole = sum(weight.values())
        ratio = {k: mpmath.exp(mpmath.mpf((2 * k - sensitivity) * sensitivity) / (2 * sigma**2)) for k in weight}
        return [(1 - rate + rate * ratio[k], weight[k] / whole) for k in weight]


def rest_profile(t, theta, response):
    """That of Laplace noise beside a response, or without one."""
    if response:
        likely = 1 / (1 + mpmath.exp(-response))
        return likely * rest_profile(t - response, theta, 0) + (1 - likely) * rest_profile(t + response, theta, 0)
    if t >= theta:
        return mpmath.mpf(0)
    return -mpmath.expm1((t - theta) / 2) if t > -theta else -mpmath.expm1(t)


def truth(samples, theta, response, epsilon, direction):
    """The sum over all sequences of outcomes, of which those that cannot count are left out."""
    with mpmath.workdps(40):
        total, e = mpmath.mpf(0), mpmath.mpf(epsilon)
        theta, response = mpmath.mpf(theta), mpmath.mpf(response)
        for sequence in all_sequences(*(outcomes(*sample) for sample in samples)):
            x, mass = (reduce(lambda a, b: a * b, column) for column in zip(*sequence, strict=True))
            if mass * max(x, 1) < mpmath.mpf(10) ** -34:
                continue
            if direction == "forward":
                total += mass * x * rest_profile(e - mpmath.log(x), theta, response)
            else:
                total += mass * rest_profile(e + mpmath.log(x), theta, response)
        return total


CASES = [
    ([(0.7, 0.01, 1)], 0.5, 0.0, (-0.2, 0.3, 0.5, 0.52, 1.4)),
    ([(1.1, 2e-3, 2)] * 2, 0.3, 0.0, (0.1, 0.2999, 0.35, 2.0)),
    ([(0.6, 0.05, 1)] * 2 + [(0.8, 1e-3, 1)], 1.2, 0.4, (0.5, 1.61, 2.5)),
]


@pytest.mark.parametrize(("samples", "theta", "response", "places"), CASES, ids=["one", "two", "two kinds"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("few_points")
def test_delta_holds_thirty_digits(samples, theta, response, places, direction):
    """On graded points, from a list of all runs, and by jumps beside a bulk, which are no readings of what is tiny."""
    rest = ew.Laplace(1 / theta) * ew.RandomizedResponse(response) if response else ew.Laplace(1 / theta)
    run = reduce(lambda a, b: a * b, [discrete(*sample) for sample in samples], rest)
    total, exactly = total_of(run), 1 / (1 / theta)
    found = merged(total, 75.0)
    lost = {"forward": found.alternative, "backward": found.null}[direction]
    bulk = few_samples.prepared_bulk(found.total, 75.0, 1e-4)
    for epsilon in places:
        exact = truth(samples, exactly, response, epsilon, direction)
        nothing = mpmath.mpf(10) ** -30
        for answers in (spread.prepared(total), spread.prepared_runs(total)):
            low, high = (float(end[0]) for end in answers.delta(direction, np.array([epsilon])))
            assert low <= exact * NEARLY + nothing
            assert exact <= high * NEARLY + nothing
        assert high - low <= 1e-7 * high + 1e-30  # of the list
        low, high = (float(end[0]) for end in bulk.delta(direction, np.array([epsilon])))
        assert low <= exact * NEARLY + nothing
        assert exact <= (high + lost) * NEARLY + nothing


# --- other engines


@pytest.mark.usefixtures("few_points")
@settings(max_examples=12, deadline=None)
@given(
    sigma=st.floats(-0.3, 1.0).map(lambda x: 10**x),
    rate=st.floats(-4, -0.7).map(lambda x: 10**x),
    n=st.integers(1, 60),
    beside=st.sampled_from(
        [
            ew.Laplace(1.1) ** 3,
            ew.RandomizedResponse(0.4) ** 5 * ew.Laplace(3.0),
            laplace(2.0, 0.01) ** 4,
            normal(1.5, 1e-3) ** 3 * ew.DiscreteLaplace(2.0),
        ]
    ),
    reading=st.one_of(
        st.tuples(st.just("delta"), st.floats(-1.0, 1.1)),
        st.tuples(st.just("epsilon"), st.floats(-30, -0.5).map(lambda x: 10**x)),
    ),
    direction=st.sampled_from([*DIRECTIONS, "both"]),
)
def test_readings_agree_with_tilted_moments(sigma, rate, n, beside, reading, direction):
    total = total_of(discrete(sigma, rate) ** n * beside)
    what, argument = reading
    asked = np.array([argument * spread.reach_of_rest(total) if what == "delta" else argument])
    try:
        ends, truth = (getattr(made.prepared(total), what)(direction, asked) for made in (spread, moments))
    except ComputationFailed:  # the samples have no points in common
        reject()
    assert ends.lower[0] <= truth.upper[0] * NEARLY
    assert truth.lower[0] <= ends.upper[0] * NEARLY


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_three_engines_agree_where_there_is_no_formula(direction):
    """Few points, a bulk with all else in it, and a lattice."""
    total = total_of(discrete(2.0, 0.01) ** 30 * ew.Laplace(3.0) ** 2)
    asked = np.array([0.2, 0.7])
    found = merged(total, 45.0)
    lost = max(found.null, found.alternative)
    bulk = few_samples.prepared_bulk(found.total, 45.0, 4e-7).delta(direction, asked)
    others = [spread.prepared(total, rough=True), lattice.prepared(total, 1e-3)]
    for ends in (answers.delta(direction, asked) for answers in others):
        assert np.all(ends.lower <= (bulk.upper + lost) * NEARLY)
        assert np.all(bulk.lower <= ends.upper * NEARLY)
    assert np.all(bulk.upper - bulk.lower <= 2e-6 * bulk.upper)


# --- the laws themselves


@settings(max_examples=60, deadline=None)
@given(
    doubles=st.lists(st.booleans(), min_size=1, max_size=4),
    octaves=st.integers(0, 5),
    seed=st.integers(0, 10**6),
    same=st.booleans(),
)
def test_a_product_of_merged_laws_is_below_that_of_all_pairs(doubles, octaves, seed, same):
    rng = np.random.default_rng(seed)
    grid = Graded(0.05, 4, doubles, below=min(octaves, len(doubles) + 1))
    inside = grid.points > 0.45 * grid.points[0] if octaves else np.ones(grid.points.size, dtype=bool)
    inside &= grid.points < 0.45 * grid.ends[-1]  # no sum is beyond

    def law():
        mass = rng.random(grid.points.size) ** 4 * inside
        return MergedLaw(grid, 0.0, mass, mass * rng.random(mass.size) * np.expm1(np.diff(grid.ends)), 0.0)

    one = law()
    other = one if same else law()
    made = one.times(other)
    pairs = [a.grid.x * (1 + a.excess / np.where(a.mass > 0, a.mass, 1.0)) for a in (one, other)]
    x, mass = np.multiply.outer(*pairs).ravel(), np.multiply.outer(one.mass, other.mass).ravel()
    point, found, farther = made.outcomes
    place = np.exp(point) * (1 + farther)
    assert np.sum(found) == pytest.approx(np.sum(mass), rel=1e-12)
    assert np.sum(found * place) == pytest.approx(np.sum(mass * x), rel=1e-12)
    v = np.exp(np.linspace(grid.points[0], grid.ends[-1], 300))
    assert np.all(above(place, found, v) <= above(x, mass, v) * (1 + 1e-11) + 1e-11)
    assert np.sum(above(place, found, v)) >= 0.5 * np.sum(above(x, mass, v))


@pytest.mark.parametrize(("sigma", "rate", "sensitivity"), [(0.5, 1e-4, 1), (3.0, 0.02, 2), (12.0, 0.3, 1)])
@pytest.mark.parametrize("points", [graded_for, centred_for])
def test_an_outcome_is_shared_by_the_ends_of_its_cell_with_its_mean(sigma, rate, sensitivity, points):
    loss = privacy_loss(discrete(sigma, rate, sensitivity))
    grid = points(((loss, 9),), 0.2)
    shares, high = shares_of(grid, loss, 9), one_step(grid, loss, 9, "above")
    low = MergedLaw.of(grid, shares)
    for law in (low, high):
        point, mass, farther = law.outcomes
        place = np.exp(law.least + point) * (1 + (0.0 if farther is None else farther))
        assert np.sum(mass) == pytest.approx(1.0, rel=1e-12)
        assert np.sum(mass * place) == pytest.approx(1.0, rel=1e-12)
        v = np.exp(np.linspace(1.1 * math.log1p(-rate), 3.0, 200))
        exact = above(np.exp(loss.atoms.loss), loss.atoms.null, v)
        sign = 1 if law is high else -1
        assert np.all(sign * (above(place, mass, v) - exact) >= -1e-12 * exact - 1e-15)


def test_far_outcomes_are_beyond():
    loss = privacy_loss(discrete(1.0, 0.1))
    grid = Graded(2.0**-8, 128, [True])
    shares = shares_of(grid, loss, 1)
    beyond = loss.atoms.loss - shares.least >= grid.ends[-1]
    assert 0 < shares.beyond[0] == pytest.approx(np.sum(loss.atoms.null[beyond]), rel=1e-8)
    assert shares.beyond[1] == pytest.approx(np.sum(loss.atoms.alternative[beyond]) * math.exp(-shares.least), rel=1e-8)
    law = one_step(grid, loss, 1, "above")
    assert isinstance(law, SpreadLaw)
    assert law.left_out[1] >= shares.beyond[1]


def test_sums_below_the_points_are_refused():
    grid = Graded(0.25, 4, [True], below=1)
    left = np.zeros(grid.points.size)
    left[0] = 1.0
    law = MergedLaw.of(grid, Shares(left, np.zeros(left.size), (0.0, 0.0), 0.0, 0.0))
    with pytest.raises(ComputationFailed, match=r"^the points end above the least loss of these samples$"):
        law.times(law)


@pytest.mark.usefixtures("few_points")
def test_sums_beyond_what_doubles_hold_are_beyond():
    """No warning, and ends that hold: nearly all of such samples is known."""
    answers = spread.prepared(total_of(discrete(0.553, 0.266, 2) ** 113 * ew.RandomizedResponse(1.19) ** 3))
    ends = answers.delta("forward", np.array([0.1]))
    assert 0.999 < ends.lower[0] <= 0.9999999790340564
    assert 0.9999999790340534 <= ends.upper[0] <= 1
    far = discrete(0.13, 0.3) ** 300 * ew.RandomizedResponse(1.0)
    with pytest.raises(ComputationFailed, match=r"^the losses of these samples have no points in common"):
        spread.prepared(total_of(far)).delta("forward", np.zeros(1))


# --- lists


def test_a_list_goes_as_deep_as_a_reading():
    total = total_of(discrete(0.659, 0.000744) ** 15 * ew.Laplace(1.59))
    answers = spread.prepared_runs(total)
    for epsilon, depth in ((0.5, 1), (3.78, 2)):
        ends = answers.delta("forward", np.array([epsilon]))
        assert ends.upper[0] - ends.lower[0] <= 1e-7 * ends.upper[0]
        assert answers._law.cache_info().currsize == depth


def test_too_many_runs_are_refused_once(monkeypatch):
    answers = spread.prepared_runs(total_of(discrete(5.0, 0.01) ** 40 * ew.Laplace(1.0)))
    with pytest.raises(Unsupported, match=r"^too many runs of these samples count$"):
        answers.delta("forward", np.array([0.5]))
    monkeypatch.setattr("edgeworth.composition.spread.listed.listed", None)  # nothing is listed again
    with pytest.raises(Unsupported, match=r"^too many runs of these samples count$"):
        answers.delta("backward", np.array([0.1]))


def test_there_are_no_lists_without_samples_that_have_atoms():
    for run in (normal(1.0, 0.01) * ew.Laplace(1.0), discrete(1.0, 0.01) ** 3):
        with pytest.raises(Unsupported, match=r"^there are no samples with atoms here beside steps"):
            spread.prepared_runs(total_of(run))


# --- who asks for it


def test_it_applies_to_samples_with_atoms_beside_what_has_all_digits():
    few = discrete(2.0, 1e-3) ** 10
    for rest in (ew.Laplace(1.0), ew.RandomizedResponse(0.3) ** 2, ew.Laplace(1.0) * normal(1.0, 0.01)):
        assert samples_beside.applies(TotalLoss.of(few * rest))
    assert not samples_beside.applies(TotalLoss.of(few))
    assert not samples_beside.applies(TotalLoss.of(discrete(2.0, 1e-3) ** 500 * ew.Laplace(1.0)))
    assert not samples_beside.applies(
        TotalLoss.of(discrete(1.5, 0.01) ** 3 * ew.RandomizedResponse(1.2) ** 2)
    )  # listed
    assert not samples_beside.applies(TotalLoss.of(few * ew.Gaussian(1.0)))
    assert not samples_beside.applies(TotalLoss.of(normal(2.0, 1e-3) ** 10 * ew.Laplace(1.0)))


@pytest.mark.parametrize(
    ("mechanism", "direction", "what", "argument"),
    [
        (discrete(0.659, 0.000744) ** 15 * ew.Laplace(1.59), "both", "delta", 3.78),
        (discrete(7.35, 0.000166) ** 6 * ew.DiscreteLaplace(1.01) ** 3, "both", "epsilon", 9.21e-31),
        (discrete(0.884, 0.0087) ** 6 * ew.Laplace(15.5) ** 3 * ew.Laplace(1.44) ** 4, "both", "delta", 3.53),
        (laplace(8.63, 0.00114) ** 47 * discrete(1.86, 0.0261) ** 4, "both", "epsilon", 6.6e-10),
        (discrete(2.52, 0.00406) ** 62 * ew.Laplace(3.54) ** 6, "backward", "delta", 1.72),
        (
            discrete(5.51, 0.00103) ** 5 * ew.Laplace(4.68) ** 7 * ew.RandomizedResponse(1.75),
            "forward",
            "tradeoff",
            1e-6,
        ),
    ],
)
def test_readings_have_six_digits(mechanism, direction, what, argument):
    reading = getattr(ew.account(mechanism, direction=direction), what)(argument)
    assert reading.upper - reading.lower <= 1e-6 * reading.upper
