"""Laplace steps by residues: against sums in real space, closed forms, quadrature, the recursion, and themselves."""

import functools
import json
import math
import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.account import Account
from edgeworth.composition import recursion, residues
from edgeworth.composition.residues.engine import ResidueAnswers
from edgeworth.curves import LaplaceTradeOff
from edgeworth.errors import Unsupported
from edgeworth.losses import BinaryLoss, LaplaceLoss, TotalLoss

HERE = Path(__file__).parent
TRUTH = runpy.run_path(str(HERE / "truth_residues.py"))
ROWS = json.loads((HERE / "truth_residues.json").read_text(encoding="utf-8"))
DIRECTIONS = ("forward", "backward", "both")


def total_of(steps, responses=()):
    losses = [(LaplaceLoss(theta), n) for theta, n in steps] + [(BinaryLoss(epsilon), n) for epsilon, n in responses]
    return TotalLoss(tuple(losses))


def account(mechanism, direction="both"):
    total = TotalLoss.of(mechanism)
    return Account(mechanism, "residues", 2, direction, residues.compose(total), total)


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield


# --- against the direct sums


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['steps']}-{row['responses']}-{row['t']:.3g}")
def test_stored_truth_is_enclosed_to_nine_digits(row):
    answers, t = ResidueAnswers(total_of(row["steps"], row["responses"])), np.array([row["t"]])
    delta, tail = answers.delta("forward", t), answers._tail("forward", t)
    assert delta.lower[0] <= mpmath.mpf(row["delta"]) <= delta.upper[0]
    assert tail.lower[0] <= mpmath.mpf(row["alpha"]) <= tail.upper[0]
    assert delta.upper[0] - delta.lower[0] <= 1e-9 * delta.upper[0]
    reading = answers.forward("alpha", answers.forward.expansion.below(t))
    assert abs(reading.value[0] - mpmath.mpf(row["alpha"])) <= reading.error[0] <= 1e-9 * reading.value[0]


@pytest.mark.parametrize("number", range(0, len(ROWS), 7))
def test_the_stored_truth_is_what_its_script_says(number):
    row = ROWS[number]
    for kind in ("delta", "alpha"):
        again = TRUTH["truth"](kind, row["steps"], row["responses"], row["t"])
        assert abs(again - mpmath.mpf(row[kind])) <= mpmath.mpf(10) ** -45 * abs(again)


thetas = st.floats(min_value=math.log(1e-4), max_value=math.log(20.0)).map(math.exp)
shares = st.floats(min_value=0.0, max_value=1.0)


@settings(max_examples=40)
@given(theta=thetas, n=st.integers(1, 200), share=shares)
def test_equal_steps_are_enclosed(theta, n, share):
    answers = ResidueAnswers(total_of([(theta, n)]))
    t = share * n * theta
    truth = TRUTH["truth"]("delta", [(theta, n)], [], t)
    ends = answers.delta("forward", np.array([t]))
    assert ends.lower[0] <= truth <= ends.upper[0]
    tail = TRUTH["truth"]("alpha", [(theta, n)], [], t)
    ends = answers._tail("forward", np.array([t]))
    assert ends.lower[0] <= tail <= ends.upper[0]


@settings(max_examples=40)
@given(
    steps=st.lists(st.tuples(thetas, st.integers(1, 4)), min_size=1, max_size=3),
    responses=st.lists(st.tuples(st.floats(0.01, 3.0), st.integers(1, 3)), max_size=2),
    share=st.floats(0.0, 0.95),
)
def test_mixes_are_enclosed_to_nine_digits(steps, responses, share):
    answers = ResidueAnswers(total_of(steps, responses))
    t = share * math.fsum(n * size for size, n in [*steps, *responses])
    truth = TRUTH["truth"]("delta", steps, responses, t)
    ends = answers.delta("forward", np.array([t]))
    assert ends.lower[0] <= truth <= ends.upper[0]
    assert ends.upper[0] - ends.lower[0] <= 1e-9 * ends.upper[0]
    epsilon = answers.epsilon("forward", np.array([float(truth)]))
    assert epsilon.lower[0] <= t * (1 + 1e-9) + 1e-300
    assert epsilon.upper[0] >= t * (1 - 1e-9)


# --- against formulas and quadrature


@pytest.mark.parametrize("theta", [1e-4, 0.3, 2.0, 20.0])
def test_one_step_is_the_closed_form(theta):
    answers, exact = ResidueAnswers(total_of([(theta, 1)])), LaplaceTradeOff(theta)
    epsilon = theta * np.array([-0.9, -0.2, 0.0, 0.3, 0.9])
    ends, truth = answers.delta("forward", epsilon), exact.profile()(epsilon)
    assert np.all(ends.lower <= truth * (1 + 1e-14))
    assert np.all(ends.upper >= truth * (1 - 1e-14))
    assert np.all(ends.upper <= ends.lower * (1 + 1e-9))
    alpha = np.array([1e-10, 1e-4, 0.01, 0.2, 0.5, 0.7, 0.999])
    ends, truth = answers.tradeoff("forward", alpha), exact(alpha)
    assert np.all(ends.lower <= truth * (1 + 1e-14))
    assert np.all(ends.upper >= truth * (1 - 1e-14))
    assert np.all(ends.upper <= ends.lower * (1 + 1e-6))  # alpha = 1/2 is where an atom's segment ends


def step_profile(theta, epsilon):
    """The profile of one Laplace step."""
    if epsilon >= theta:
        return mpmath.mpf(0)
    return 1 - mpmath.exp((epsilon - theta) / 2 if epsilon > -theta else epsilon)


def after_one_more(theta, profile, epsilon, kinks):
    """E_Q[delta(eps - L)]: atoms e^-theta/2 and 1/2 at -theta and theta, the density e^((l - theta)/2)/4 between."""
    inner = sorted({-theta, theta, *(k for k in kinks if -theta < k < theta)})
    smooth = mpmath.quad(lambda l: profile(epsilon - l) * mpmath.exp((l - theta) / 2) / 4, inner)
    return profile(epsilon - theta) / 2 + profile(epsilon + theta) * mpmath.exp(-theta) / 2 + smooth


@pytest.mark.parametrize("epsilon", [0.1, 0.9, 1.7, 2.2])
def test_two_different_steps_are_one_integral(epsilon):
    one, other = mpmath.mpf(1.5), mpmath.mpf(0.75)
    e = mpmath.mpf(epsilon)
    truth = after_one_more(other, lambda x: step_profile(one, x), e, (e - one, e + one))
    ends = ResidueAnswers(total_of([(1.5, 1), (0.75, 1)])).delta("forward", np.array([epsilon]))
    assert ends.lower[0] <= truth <= ends.upper[0]


def test_three_equal_steps_are_two_integrals():
    theta, e = mpmath.mpf(1), mpmath.mpf(1.25)

    def two(x):
        return after_one_more(theta, lambda y: step_profile(theta, y), x, (x - theta, x + theta))

    with mpmath.workdps(20):
        truth = after_one_more(theta, two, e, (e - 2, e, e + 2))
    ends = ResidueAnswers(total_of([(1.0, 3)])).delta("forward", np.array([1.25]))
    assert ends.lower[0] * (1 - 1e-12) <= truth <= ends.upper[0] * (1 + 1e-12)


@functools.cache
def by_recursion(mechanism):
    """One composition, which all directions read."""
    return recursion.compose(TotalLoss.of(mechanism))


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.Laplace(2.0) ** 5,
        ew.Laplace(1.0) * ew.Laplace(3.0) ** 2 * ew.RandomizedResponse(0.5),
        ew.Laplace(1.5) ** 2 * ew.PoissonSampled(ew.RandomizedResponse(0.9), 0.3) ** 2,
        ew.Laplace(1.5) * ew.RandomizedResponse(1.1, categories=4) ** 2,
        ew.Laplace(1.5) * ew.ApproxDP(0.5, 1e-3),
    ],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_recursion_overlaps(mechanism, direction):
    total = TotalLoss.of(mechanism)
    wide = Account(mechanism, "recursion", 2, direction, by_recursion(mechanism), total)
    narrow = account(mechanism, direction)
    for read, grid in (("delta", [-1.0, 0.0, 0.5, 1.4]), ("tradeoff", [1e-3, 0.1, 0.5, 0.9]), ("epsilon", [1e-2, 0.1])):
        one, other = getattr(wide, read)(np.array(grid)), getattr(narrow, read)(np.array(grid))
        assert np.all(one.lower <= other.upper)
        assert np.all(other.lower <= one.upper)
        assert np.all(other.width <= 1e-9 * other.upper)


# --- next to the largest loss


def near(exact):
    """Thresholds from 1 to 1e-17 of the largest loss below it, and its neighbours."""
    top = float(exact)
    beside = [float(exact * (1 - Fraction(share))) for share in (0.4, 1e-3, 1e-8, 1e-14, 3e-16)]
    return sorted({*beside, math.nextafter(top, 0.0), top, math.nextafter(top, math.inf)})


@pytest.mark.parametrize(
    ("steps", "responses"),
    [
        ([(3.8966292793291446, 1)], []),
        ([(7.883176470186748, 2)], []),
        ([(11.04359816333722, 13)], []),
        ([(6.0, 60)], []),
        ([(3.0, 3)], []),
        ([(5.3, 3), (0.7, 2), (31.0, 1)], []),
        ([(1.7, 4)], [(0.3, 2), (1.1, 1)]),
    ],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_delta_next_to_the_largest_loss_has_all_its_digits(steps, responses, direction):
    """It is about (T - eps)^k, T the sum of the quotients 1/scale and not of their doubles."""
    mechanism = ew.Composed(
        [ew.Laplace(scale) ** n for scale, n in steps] + [ew.RandomizedResponse(e) ** n for e, n in responses]
    )
    found, total = account(mechanism, direction), TotalLoss.of(mechanism)
    with mpmath.workdps(200):
        quotients = [(1 / mpmath.mpf(scale), n) for scale, n in steps]
        for epsilon in near(total.largest):
            delta = found.delta(epsilon)
            if epsilon >= total.largest:
                assert (delta.lower, delta.upper) == (0.0, 0.0)
                continue
            truth = TRUTH["truth"]("delta", quotients, responses, epsilon)
            assert delta.lower <= truth <= delta.upper <= delta.lower * (1 + 1e-11)
            eps = found.epsilon(float(truth))
            assert TRUTH["truth"]("delta", quotients, responses, eps.lower) >= float(truth)
            assert TRUTH["truth"]("delta", quotients, responses, eps.upper) <= float(truth)


@pytest.mark.parametrize(
    ("scale", "n", "least"), [(1.6634006186436896, 196, 1e-100), (2.0, 2, 1e-300), (3.3, 9, 1e-300)]
)
def test_epsilon_does_not_fall_where_the_support_ends(scale, n, least):
    found = ew.account(ew.Laplace(scale) ** n, direction="forward").epsilon(np.geomspace(0.1, least, 500))
    assert np.all(found.upper <= found.lower * (1 + 1e-12))
    for end in (found.lower, found.value, found.upper):
        assert np.all(np.diff(end) >= 0)


# --- the shape of the answers


def test_the_ends_of_the_support_are_exact():
    answers = account(ew.Laplace(2.0) ** 6)
    assert answers.epsilon(0.0).lower <= 3.0 <= answers.epsilon(0.0).upper
    assert answers.epsilon(0.0).width <= 1e-13
    assert answers.delta(3.0 + 1e-12).upper == 0.0
    assert answers.delta(math.inf).upper == 0.0
    assert answers.epsilon(1.0).upper == 0.0


def test_tests_on_an_atom_are_straight_segments():
    theta = 1.0
    answers = ResidueAnswers(total_of([(theta, 2)]))
    top = math.exp(-2 * theta) / 4  # P[T = 2 theta]: below, f(alpha) = 1 - e^(2 theta) alpha
    alpha = top * np.array([1e-6, 0.3, 0.99])
    ends, truth = answers.tradeoff("forward", alpha), 1 - math.exp(2 * theta) * alpha
    assert np.all((ends.lower <= truth * (1 + 1e-15)) & (truth * (1 - 1e-15) <= ends.upper))
    assert np.all(ends.upper - ends.lower <= 1e-12)
    # P[T = 0] = e^-theta/2 has slope -1 between the errors of T > 0 and of T >= 0
    centre = TRUTH["truth"]("alpha", [(theta, 2)], [], 0.0)
    delta = TRUTH["truth"]("delta", [(theta, 2)], [], 0.0)
    for share in (0.01, 0.5, 0.99):
        place = float(centre + share * mpmath.exp(-theta) / 2)
        one = answers.tradeoff("forward", np.array([place]))
        assert one.lower[0] <= 1 - delta - mpmath.mpf(place) <= one.upper[0]
        assert one.upper[0] - one.lower[0] <= 1e-12


@pytest.mark.parametrize(("scale", "n"), [(1.0, 2), (1.0, 20), (30.0, 400), (3.0, 3)])
def test_every_curve_is_narrow_and_its_own_inverse(scale, n):
    answers = ResidueAnswers(TotalLoss.of(ew.Laplace(scale) ** n))
    alpha = np.concatenate([np.geomspace(1e-10, 0.4, 25), 1 - np.geomspace(0.4, 1e-10, 25)])
    ends = answers.tradeoff("forward", alpha)
    assert np.all(ends.upper <= ends.lower * (1 + 1e-6))
    assert np.all(np.diff(ends.upper) <= 1e-9 * ends.upper[1:])
    back = answers.tradeoff("forward", np.clip(ends.lower, 0.0, 1.0))  # f(f(alpha)) = alpha where f is steep enough
    assert np.all(back.upper >= alpha * (1 - 1e-6))


def test_epsilon_is_narrow_and_falls_without_jumps():
    delta = np.geomspace(0.1, 1e-60, 200)
    ends = ResidueAnswers(total_of([(0.05, 150)])).epsilon("forward", delta)
    assert np.all(ends.upper - ends.lower <= 1e-9 * ends.upper)
    step = np.diff(ends.upper)
    assert np.all(step >= 0)
    assert np.max(step) == step[0]


def test_a_circle_that_serves_a_long_range_leaves_out_less():
    """At 20.0019 the best circle is that of a place 21 nats away, from where terms left out grow by as much."""
    answers = ResidueAnswers(TotalLoss.of(ew.Laplace(28.3) ** 811))
    ends = answers.epsilon("backward", np.geomspace(1e-90, 1e-100, 24))
    assert np.all(ends.upper - ends.lower <= 1e-12 * ends.upper)


def test_more_steps_and_less_noise_leak_more():
    epsilon = np.array([0.0, 0.2, 0.5])
    few, more, louder = (
        ResidueAnswers(total_of(steps)).delta("forward", epsilon)
        for steps in ([(0.1, 9)], [(0.1, 10)], [(0.1, 9), (0.2, 1)])
    )
    assert np.all(few.upper < more.lower)
    assert np.all(more.upper < louder.lower)


def test_one_direction_is_read_off_the_other():
    mechanism = ew.Laplace(1.5) ** 2 * ew.PoissonSampled(ew.RandomizedResponse(0.9), 0.3)
    answers = ResidueAnswers(TotalLoss.of(mechanism))
    epsilon = np.array([0.2, 0.7, 1.3])
    forward, backward = answers.delta("forward", epsilon), answers.delta("backward", -epsilon)
    # delta(eps) = 1 - e^eps (1 - delta'(-eps))
    assert np.all(forward.lower <= 1 - np.exp(epsilon) * (1 - backward.upper) + 1e-14)
    assert np.all(forward.upper >= 1 - np.exp(epsilon) * (1 - backward.lower) - 1e-14)


def test_a_number_has_the_same_bits_in_every_company_and_every_time():
    total = total_of([(0.3, 12)], [(0.2, 3)])
    together = ResidueAnswers(total)
    epsilon, alpha, delta = np.linspace(-2, 4, 13), np.geomspace(1e-6, 0.9, 9), np.geomspace(1e-20, 0.1, 7)
    for ask, grid in ((together.delta, epsilon), (together.tradeoff, alpha), (together.epsilon, delta)):
        first, second = ask("forward", grid), ask("forward", grid)
        assert np.array_equal(first, second)
    alone = ResidueAnswers(total)
    assert alone.delta("forward", epsilon[5:6]).upper[0] == together.delta("forward", epsilon).upper[5]


@pytest.mark.parametrize("steps", [[(1e-9, 3)], [(500.0, 2)], [(1e-6, 1), (300.0, 1)], [(1e-90, 2)], [(1e5, 4)]])
def test_extreme_scales_have_ordered_ends(steps):
    answers = ResidueAnswers(total_of(steps))
    top = answers.forward.expansion.largest
    for ends in (
        answers.delta("forward", top * np.array([-2.0, -0.5, 0.0, 0.5, 1.0, 2.0])),
        answers.tradeoff("forward", np.array([0.0, 1e-300, 0.3, 0.9, 1.0])),
        answers.epsilon("forward", np.array([0.0, 1e-300, 1e-5, 0.5, 1.0])),
    ):
        assert np.all(ends.lower <= ends.upper)
        assert np.all(np.isfinite(ends.upper))


def test_what_it_takes_and_what_it_refuses():
    def applies(mechanism):
        return residues.applies(TotalLoss.of(mechanism))

    assert applies(ew.Laplace(100.0) ** 10_000)
    assert applies(ew.Composed([ew.Laplace(1.0 + k) for k in range(20)]))
    assert not applies(ew.RandomizedResponse(1.0) ** 3)
    assert not applies(ew.Laplace(1.0) * ew.Gaussian(1.0))
    assert not applies(ew.PoissonSampled(ew.Laplace(1.0), 0.1) ** 3)
    assert not applies(ew.Laplace(1.0) ** 10**9)
    with pytest.raises(Unsupported, match='method="residues" needs Laplace noise'):
        residues.compose(TotalLoss.of(ew.Gaussian(1.0)))


@pytest.mark.parametrize("n", [12, 100, 1000, 10_000])
def test_where_it_answers_well_nine_digits_are_left(n):
    theta = 2 * math.expm1(34.0 / n) * (1 - 1e-9)
    total = total_of([(theta, n)])
    assert residues.answers_well(total)
    assert not residues.answers_well(total_of([(theta, n + n // 10)]))
    answers = ResidueAnswers(total)
    spread = math.sqrt(n) * theta
    ends = answers.delta("forward", spread * np.array([0.0, 0.1, 0.5, 1.0, 2.0]))
    assert np.all(ends.upper - ends.lower <= 1e-9 * ends.upper)
    ends = answers.tradeoff("forward", np.array([1e-10, 1e-6, 1e-3, 0.1, 0.4, 0.6, 0.9, 0.999]))
    narrow = ends.upper - ends.lower <= 1e-6 * ends.upper
    assert np.all(narrow | (ends.upper < 1e-100))  # laws so far apart leave fewer digits where both errors are small


def test_the_certificate_has_its_numbers():
    certificate = account(ew.Laplace(1.0) ** 3).certificate
    assert certificate.certified
    assert certificate.method == "residues"
    assert all(0 <= size < 1e-12 for size in certificate.sources.values())


@pytest.mark.parametrize(("scale", "n", "alpha"), [(6.047, 4661, 0.144), (60.0, 4800, 1e-7)])
def test_tests_of_many_steps_are_asked_of_a_line_before_any_circle(scale, n, alpha):
    """Their residues cancel: a reading of f took seconds, and had no digits."""
    mechanism = ew.Laplace(scale) ** n
    residues.prepared.cache_clear()
    read = ew.account(mechanism, direction="forward").tradeoff(alpha)
    assert read.upper - read.lower <= 1e-8 * read.upper
    assert not residues.prepared(TotalLoss.of(mechanism)).forward._circles
