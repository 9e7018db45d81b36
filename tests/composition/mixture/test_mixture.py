"""Few steps, alone or beside few-valued ones: against 30 digits, other engines, and what holds for any partition."""

import itertools
import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import contour, mixture, moments
from edgeworth.composition.answered import Ends
from edgeworth.composition.mixture import formulas
from edgeworth.composition.mixture.answers import Aim, Beside
from edgeworth.composition.mixture.atoms import atoms_of
from edgeworth.composition.mixture.formulas import Formula
from edgeworth.composition.mixture.integrated import Integrated
from edgeworth.composition.profile_alone import ProfileAlone
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import MergedValues, TotalLoss, privacy_loss

DIRECTIONS = ("forward", "backward")
NEARLY = 1 + 1e-13
TWO = json.loads((Path(__file__).parents[1] / "truth_two_steps.json").read_text(encoding="utf-8"))


def sample(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate)


def laplace_sample(scale, rate):
    return ew.PoissonSampled(ew.Laplace(scale), rate=rate)


def total_of(mechanism):
    return TotalLoss.of(mechanism).finite


def relative(ends):
    return float((ends.upper[0] - ends.lower[0]) / ends.upper[0])


# --- truths with 30 digits


def laplace_profile(epsilon, theta):
    if epsilon < -theta:
        return -mpmath.expm1(epsilon)
    return -mpmath.expm1(min((epsilon - theta) / 2, 0))


def sampled(profile, p, epsilon, direction):
    """The profile of a sample of a symmetric base, from that of the base."""
    rise = 1 + mpmath.expm1(epsilon if direction == "forward" else -epsilon) / p
    if direction == "forward":
        return p * profile(mpmath.log(rise)) if rise > 0 else -mpmath.expm1(epsilon)
    return p * mpmath.exp(epsilon) * rise * profile(-mpmath.log(rise)) if rise > 0 else mpmath.mpf(0)


def two_laplace_samples(epsilon, theta, p, direction):
    """The mean of the profile of one over the other: two atoms, and a density with a kink where the first one ends."""

    def term(z):
        loss = mpmath.log1p(p * mpmath.expm1(2 * z - theta))
        if direction == "forward":
            return mpmath.exp(loss) * sampled(lambda t: laplace_profile(t, theta), p, epsilon - loss, direction)
        return sampled(lambda t: laplace_profile(t, theta), p, epsilon + loss, direction)

    sign = 1 if direction == "forward" else -1
    ends = [mpmath.log1p(p * mpmath.expm1(side * theta)) for side in (-1, 1)]
    kinks = [1 + mpmath.expm1(sign * epsilon - end) / p for end in ends]
    turns = [(mpmath.log(kink) + theta) / 2 for kink in kinks if kink > 0]
    places = sorted([mpmath.mpf(0), theta, *(turn for turn in turns if 0 < turn < theta)])
    density = mpmath.quad(lambda z: mpmath.exp(-z) / 2 * term(z), places)
    return density + term(mpmath.mpf(0)) / 2 + term(theta) * mpmath.exp(-theta) / 2


@pytest.mark.parametrize(
    ("scale", "rate"),
    [(22.099454408944485, 0.7870445601666118), (9.083430665412662, 0.1), (1.64, 6e-5), (0.4, 1e-3), (10.3, 3e-6)],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_samples_of_laplace_noise_hold_thirty_digits(scale, rate, direction):
    """Also next to the end of the support."""
    total = total_of(laplace_sample(scale, rate) ** 2)
    answers = mixture.prepared(total)
    largest = total.support[1] if direction == "forward" else -total.support[0]
    with mpmath.workdps(30):
        theta, p = mpmath.mpf(privacy_loss(ew.Laplace(scale)).theta), mpmath.mpf(rate)
        for place in (-0.8, 0.0, 0.5, 0.99, 1 - 1e-4, 1 - 1e-7):
            epsilon = place * largest
            exact = two_laplace_samples(mpmath.mpf(epsilon), theta, p, direction)
            ends = answers.delta(direction, np.array([epsilon]))
            assert ends.lower[0] <= exact * NEARLY
            assert exact <= ends.upper[0] * NEARLY
            assert relative(ends) <= 1e-7 or place > 0.999


@pytest.mark.parametrize("row", TWO, ids=lambda row: str(row["case"]))
def test_two_samples_of_gaussian_noise_hold_twenty_digits(row):
    sigma, rate, epsilon = row["case"]
    ends = mixture.prepared(total_of(sample(sigma, rate) ** 2)).delta("forward", np.array([epsilon]))
    assert ends.lower[0] <= float(row["delta"]) * NEARLY
    assert float(row["delta"]) <= ends.upper[0] * NEARLY
    assert relative(ends) <= 2e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("place", [-0.7, 0.0, 0.9, 1.0, 1.0 + 1e-9, 1.001])
def test_one_sample_beside_responses_holds_thirty_digits(direction, place):
    """Two responses of different epsilon: four values, summed by hand."""
    theta, p, first, second = 0.7, 2e-4, 1.1, 0.3
    mechanism = ew.PoissonSampled(ew.Laplace(1 / theta), rate=p) * ew.RandomizedResponse(first)
    total = total_of(mechanism * ew.RandomizedResponse(second))
    epsilon = place * (first + second)
    with mpmath.workdps(30):
        theta, p = mpmath.mpf(privacy_loss(ew.Laplace(1 / theta)).theta), mpmath.mpf(p)
        exact = mpmath.mpf(0)
        for signs in itertools.product((-1, 1), repeat=2):
            losses = [sign * mpmath.mpf(size) for sign, size in zip(signs, (first, second), strict=True)]
            mass = mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
            away = mpmath.mpf(epsilon) - mpmath.fsum(losses)  # backward the responses are mirrored
            exact += mass * sampled(lambda t: laplace_profile(t, theta), p, away, direction)
        low, high = (float(end[0]) for end in mixture.prepared(total).delta(direction, np.array([epsilon])))
        assert low <= exact * NEARLY
        assert exact <= high * NEARLY + mpmath.mpf(10) ** -300
        assert high - low <= 1e-6 * high or place > 1 - 1e-12


# --- other engines

NOISE = st.one_of(
    st.tuples(st.floats(-0.5, 1.3), st.floats(-6, -0.1)).map(lambda b: sample(10 ** b[0], 10 ** b[1])),
    st.tuples(st.floats(-0.5, 1.3), st.floats(-6, -0.1)).map(lambda b: laplace_sample(10 ** b[0], 10 ** b[1])),
    st.floats(-0.5, 1.3).map(lambda b: ew.Laplace(10**b)),
)
FEW_VALUED = st.one_of(
    st.tuples(st.floats(0.1, 1.5), st.integers(1, 4)).map(lambda b: ew.RandomizedResponse(b[0]) ** b[1]),
    st.tuples(st.floats(0.5, 5.0), st.integers(1, 3)).map(lambda b: ew.DiscreteLaplace(b[0]) ** b[1]),
    st.floats(0.1, 1.5).map(lambda e: ew.ApproxDP(e, 1e-9) ** 2 * ew.RandomizedResponse(e / 3, categories=5)),
)


@settings(max_examples=25, deadline=None)
@given(
    one=NOISE,
    other=st.one_of(st.none(), NOISE),
    few=FEW_VALUED,
    reading=st.one_of(
        st.tuples(st.just("delta"), st.floats(-1.0, 1.1)),
        st.tuples(st.just("epsilon"), st.floats(-30, -0.5).map(lambda x: 10**x)),
    ),
    direction=st.sampled_from([*DIRECTIONS, "both"]),
)
def test_readings_agree_with_tilted_moments(one, other, few, reading, direction):
    total = total_of(one * few if other is None else one * other * few)
    what, argument = reading
    asked = np.array([argument * min(total.support[1], 20.0) if what == "delta" else argument])
    ends, truth = (getattr(engine.prepared(total), what)(direction, asked) for engine in (mixture, moments))
    assert ends.lower[0] <= truth.upper[0] * NEARLY
    assert truth.lower[0] <= ends.upper[0] * NEARLY
    assert ends.lower[0] <= ends.upper[0]


@pytest.mark.parametrize(("n", "sigma", "rate"), [(3, 3.0, 1e-5), (11, 0.5, 1e-3)])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_more_samples_beside_a_response_agree_with_lines(n, sigma, rate, direction):
    """At and next to the last value, where the loss of the samples has its heap, and the other term is tiny."""
    samples, response = sample(sigma, rate) ** n, 0.4
    total, alone = total_of(samples * ew.RandomizedResponse(response)), total_of(samples)
    likely = 1 / (1 + math.exp(-response))
    for epsilon in (response, response + 1e-5):
        ends = mixture.prepared(total).delta(direction, np.array([epsilon]))
        near = contour.prepared(alone).delta(direction, np.array([epsilon - response]))
        far = moments.prepared(alone).delta(direction, np.array([epsilon + response]))
        assert ends.lower[0] <= (likely * near.upper[0] + (1 - likely) * far.upper[0]) * (1 + 1e-9)
        assert likely * near.lower[0] + (1 - likely) * far.lower[0] <= ends.upper[0] * (1 + 1e-9)
        assert relative(ends) <= 1e-6


# --- what holds for any partition, and for any choice of terms


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (sample(0.6, 0.2), sample(3.0, 1e-3)),
        (laplace_sample(2.0, 0.3), sample(1.0, 1e-4)),
        (ew.Laplace(0.7), laplace_sample(5.0, 0.5)),
    ],
)
def test_either_step_may_be_integrated_with_any_cells(one, other, direction):
    first, second = (Integrated(privacy_loss(a), Formula(total_of(b))) for a, b in ((one, other), (other, one)))
    for epsilon in (-0.3, 0.0, 0.2, 0.9):
        low, high = first.at(direction, epsilon, 1e-9)
        for integrated, aim in itertools.product((first, second), (0.5, 1e-3, 1e-6)):
            found = integrated.at(direction, epsilon, aim)
            assert found[0] <= high
            assert low <= found[1]
            assert found[1] - found[0] <= aim * found[1] + 1e-300
    off = first.at(direction, 0.2, 1e-6, 1e-3)
    assert off[0] <= first.at(direction, 0.201, 1e-6)[1]
    assert first.at(direction, 0.199, 1e-6)[0] <= off[1]
    assert off[0] <= first.at(direction, 0.2, 1e-6)[1]


class Asked:
    """A profile that counts the places it is asked at: the exact one, wider by a share."""

    def __init__(self, share):
        self.share, self.places = share, 0

    def __call__(self, side, t, room):
        assert side == "forward"
        assert np.all(room < 1e-12)
        self.places += t.size
        truth = np.exp(-np.maximum(t, 0.0))
        return Ends(truth * (1 - self.share), truth * (1 + self.share))


def test_only_terms_that_count_are_read_again():
    atoms = MergedValues(np.array([-30.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.3, 0.5]))
    coarse, fine = Asked(1e-3), Asked(0.0)
    total = total_of(sample(1.0, 0.1) ** 3)
    lower, upper = Beside(total, atoms, (coarse, fine), Aim(1e-9)).at("forward", 2.0)
    assert (coarse.places, fine.places) == (3, 2)
    assert upper - lower <= 1e-9 * upper
    lower, upper = Beside(total, atoms, (coarse, fine), Aim(1e-9, 1e-3)).at("forward", 2.0)
    assert (coarse.places, fine.places) == (6, 2)
    assert lower < upper * (1 - 1e-3)


def test_quicker_answers_that_give_up_are_done_without():
    class GivesUp(ProfileAlone):
        def at(self, *_):
            raise ComputationFailed("no more")

    class Exact(ProfileAlone):
        def at(self, side, epsilon):
            value = float(self.truth.delta(side, np.array([epsilon])).lower[0])
            return value * (1 - 1e-12), value * (1 + 1e-12)

    total = total_of(ew.Laplace(1.0) ** 2)
    answers = Exact(total, GivesUp(total))
    answers.truth = contour.prepared(total_of(ew.Gaussian(1.0)))
    with pytest.raises(ComputationFailed, match=r"^no more$"):
        GivesUp(total).epsilon("forward", np.array([1e-3]))
    found = answers.epsilon("forward", np.array([0.3]))
    assert answers.at("forward", float(found.lower[0]))[0] >= 0.3 >= answers.at("forward", float(found.upper[0]))[1]
    assert answers.tradeoff("forward", np.array([0.3, 1.0])).lower.tolist() == [0.0, 0.0]


# --- the values


@settings(max_examples=30, deadline=None)
@given(
    parts=st.lists(
        st.tuples(
            st.one_of(
                st.floats(0.05, 3.0).map(ew.RandomizedResponse),
                st.floats(0.3, 3.0).map(lambda e: ew.RandomizedResponse(e, categories=4)),
                st.floats(0.2, 3.0).map(lambda e: ew.PoissonSampled(ew.RandomizedResponse(e), rate=0.2)),
            ),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=2,
    )
)
def test_values_are_those_of_all_sequences(parts):
    steps = [privacy_loss(step).atoms for step, n in parts for _ in range(n)]
    total = TotalLoss(tuple((privacy_loss(step), n) for step, n in parts))
    found = atoms_of(total, 1000)
    assert found.lost == 0.0
    mass = np.zeros((2, found.place.size))
    for outcome in itertools.product(*(range(step.loss.size) for step in steps)):
        loss = math.fsum(float(step.loss[k]) for step, k in zip(steps, outcome, strict=True))
        nearest = int(np.argmin(np.abs(found.place - loss)))
        assert abs(found.place[nearest] - loss) <= found.slack + 1e-15
        for side, name in enumerate(("null", "alternative")):
            mass[side, nearest] += math.prod(
                float(getattr(step, name)[k]) for step, k in zip(steps, outcome, strict=True)
            )
    np.testing.assert_allclose([found.null, found.alternative], mass, rtol=1e-12)
    assert np.all(np.diff(found.place) > 0)


def test_small_masses_are_left_out_and_many_values_refused():
    found = atoms_of(total_of(ew.RandomizedResponse(0.1) ** 1000), 1000)
    assert 0 < found.lost < 1e-195
    assert math.fsum(found.null) == pytest.approx(1.0, rel=1e-12)
    assert found.place.size < 1000
    assert atoms_of(total_of(ew.RandomizedResponse(0.1) ** 400), 100) is None
    assert atoms_of(total_of(ew.RandomizedResponse(0.1, categories=3) ** 10**9), 100) is None
    assert atoms_of(total_of(ew.DiscreteGaussian(60.0) * ew.DiscreteGaussian(61.0)), 4000) is None
    assert atoms_of(total_of(ew.Laplace(1.0)), 100) is None
    assert atoms_of(total_of(ew.DiscreteGaussian(1.0)), 4000).lost > 0


# --- who asks for it


def test_it_applies_to_few_steps_beside_few_values():
    response = ew.RandomizedResponse(0.3)
    assert mixture.applies(total_of(sample(2.0, 1e-5) ** 2))
    assert mixture.applies(total_of(sample(2.0, 1e-5) * laplace_sample(1.0, 0.2) * response**5))
    assert mixture.applies(total_of(sample(2.0, 1e-5) ** 20 * response))
    assert not mixture.applies(total_of(sample(2.0, 1e-5) ** 20))
    assert not mixture.applies(total_of(laplace_sample(2.0, 1e-5) ** 3 * response))
    assert not mixture.applies(total_of(sample(2.0, 1e-5) ** 2 * response**200))
    assert not mixture.applies(total_of(response))
    assert mixture.has_formulas(total_of(sample(2.0, 1e-5) * response))
    assert not mixture.has_formulas(total_of(sample(2.0, 1e-5) ** 20 * response))
    with pytest.raises(Unsupported, match=r"^these are not few steps with noise beside steps that take few values$"):
        mixture.prepared(total_of(response))


@pytest.mark.parametrize(
    ("mechanism", "what", "argument", "note"),
    [
        (laplace_sample(22.099454408944485, 0.7870445601666118) ** 2, "epsilon", 1.963147494668517e-06, "few steps"),
        (laplace_sample(1.641859026287475, 5.958946287940621e-05) ** 2, "epsilon", 6.839578997402865e-11, "few steps"),
        (sample(3.085, 1.3815e-3) ** 2 * ew.RandomizedResponse(1.164) ** 2, "delta", 2.32804, "graded points"),
        (sample(3.085, 1.3815e-3) ** 2 * ew.RandomizedResponse(1.164) ** 2, "tradeoff", 1e-4, "graded points"),
        (sample(1.35, 7.38e-4) ** 3 * ew.ApproxDP(1.32, 1e-7), "delta", 1.3213, "graded points"),
        (sample(3.682, 8.2e-6) ** 86 * ew.Laplace(5.122), "epsilon", 1.1e-10, "rare jumps beside atoms"),
    ],
)
def test_auto_has_six_digits_where_few_steps_end(mechanism, what, argument, note):
    account = ew.account(mechanism)
    reading = getattr(account, what)(argument)
    assert note in account.certificate.notes[-1]
    assert reading.lower > 0
    assert reading.upper - reading.lower <= 1e-6 * reading.upper


def test_values_that_hardly_count_are_read_in_runs(monkeypatch):
    """Beside tens of thousands of values a reading asks for a share of them, and is what all of them make it."""
    total = total_of(
        sample(0.666, 0.0547)
        * ew.RandomizedResponse(0.745, categories=4) ** 10
        * ew.RandomizedResponse(0.023) ** 10
        * ew.DiscreteGaussian(2.457) ** 6
    )
    made, asked = mixture.prepared(total), []
    read = Formula.upper
    monkeypatch.setattr(Formula, "upper", lambda self, side, t: asked.append(t.size) or read(self, side, t))
    places = [(side, epsilon) for side in ("forward", "backward") for epsilon in (-1.0, 0.1, 5.0, 14.0)]
    found = [made.at(*place) for place in places]
    in_runs = sum(asked)
    asked.clear()
    monkeypatch.setattr(formulas, "_MANY", math.inf)
    one_by_one = [made.at(*place) for place in places]
    assert in_runs < 0.5 * sum(asked)
    for (low, high), (least, greatest) in zip(found, one_by_one, strict=True):
        assert low <= greatest * NEARLY
        assert least <= high * NEARLY
        assert high - low <= (greatest - least) * (1 + 1e-9) + 1e-13 * greatest
