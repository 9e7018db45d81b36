"""Runs sorted by their jumps: readings against 460-bit truth, the whole line and the lattice."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour
from edgeworth.composition.contour.jump_answers import JumpAnswers, Jumping
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.errors import ComputationFailed
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

HERE = Path(__file__)
ROWS = json.loads(HERE.with_name("truth_jumps.json").read_text(encoding="utf-8"))
TWO = json.loads((HERE.parents[1] / "truth_two_steps.json").read_text(encoding="utf-8"))
PHASES = json.loads(HERE.with_name("truth_phases.json").read_text(encoding="utf-8"))
BESIDE = json.loads(HERE.with_name("truth_beside_gaussian.json").read_text(encoding="utf-8"))


def total_of(sigma, rate, n):
    return TotalLoss(((SampledLoss(GaussianLoss(1 / sigma), rate), n),))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row["case"])))
def test_delta_contains_the_truth_and_is_narrow(row):
    sigma, rate, n, epsilon = row["case"]
    truth = float(row["delta"])
    ends = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n, direction="forward").delta(epsilon)
    assert ends.lower <= truth <= ends.upper
    assert ends.upper - ends.lower <= 1e-9 * truth


def assert_nine_digits(account, epsilon, truth):
    """Of delta, and of epsilon at the true delta, around the truth."""
    ends = account.delta(epsilon)
    assert ends.lower <= truth <= ends.upper
    assert ends.upper - ends.lower <= 1e-9 * truth
    back = account.epsilon(truth)
    assert back.lower <= epsilon * (1 + 1e-14)
    assert back.upper >= epsilon * (1 - 1e-14)
    assert back.upper - back.lower <= 1e-9 * epsilon


def in_phases(phases):
    return ew.Composed([ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n for sigma, rate, n in phases])


@pytest.mark.parametrize("row", PHASES, ids=lambda row: str(row["epsilon"]))
def test_runs_in_several_phases_contain_the_truth_and_have_nine_digits(row):
    truth, epsilon = float(row["delta"]), row["epsilon"]
    assert_nine_digits(ew.account(in_phases(row["phases"]), direction="forward"), epsilon, truth)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("row", PHASES, ids=lambda row: str(row["epsilon"]))
def test_every_number_of_jumps_of_several_phases_contains_the_truth(row, most):
    truth = float(row["delta"])
    level = math.ceil((25 - math.log(truth)) / 10)
    total = TotalLoss.of(in_phases(row["phases"]))
    ends = JumpAnswers(total, level, most).delta("forward", np.array([row["epsilon"]]))
    assert ends.lower[0] <= truth <= ends.upper[0]


ELEVEN = [
    *[(2.75, 4.72e-4, 3), (1.17, 9.54e-4, 6), (1.87, 4.7e-4, 5), (9.4, 0.00112, 420), (7.44, 0.0386, 4)],
    *[(3.32, 0.0159, 1), (3.9, 0.00586, 11), (7.11, 0.0407, 7), (7.45, 2.99e-4, 51), (2.71, 0.00472, 706)],
    (0.967, 0.0016, 2),
]


def test_many_phases_have_nine_digits_and_agree_with_the_lattice():
    account = ew.account(in_phases(ELEVEN))
    delta, epsilon = account.delta(1.03), account.epsilon(9.02e-14)
    assert delta.upper - delta.lower <= 1e-9 * delta.upper
    assert epsilon.upper - epsilon.lower <= 1e-9 * epsilon.upper
    other = ew.account(in_phases(ELEVEN), method="lattice").delta(1.03)
    assert max(delta.lower, other.lower) <= min(delta.upper, other.upper)
    assert other.upper - other.lower <= 1e-4 * other.upper


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("row", ROWS[:4], ids=lambda row: "-".join(map(str, row["case"])))
def test_every_number_of_jumps_contains_the_truth(row, most):
    sigma, rate, n, epsilon = row["case"]
    truth = float(row["delta"])
    level = math.ceil((25 - math.log(truth)) / 10)
    ends = JumpAnswers(total_of(sigma, rate, n), level, most).delta("forward", np.array([epsilon]))
    assert ends.lower[0] <= truth <= ends.upper[0]


@pytest.mark.parametrize("row", TWO, ids=lambda row: "-".join(map(str, row["case"])))
def test_two_steps_contain_the_truth_with_every_number_of_jumps(row):
    sigma, rate, epsilon = row["case"]
    truth = float(row["delta"])
    level = math.ceil((25 - math.log(truth)) / 10)
    for most in (1, 2):
        ends = JumpAnswers(total_of(sigma, rate, 2), level, most).delta("forward", np.array([epsilon]))
        assert ends.lower[0] * (1 - 1e-15) <= truth <= ends.upper[0] * (1 + 1e-15)


def beside_gaussian(sigma, rate, samples, noise, count, response, responses):
    run = ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** samples * ew.Gaussian(noise) ** count
    return run * ew.RandomizedResponse(response) ** responses if responses else run


@pytest.mark.parametrize("row", BESIDE, ids=lambda row: "-".join(map(str, row["case"])))
def test_few_samples_beside_gaussian_noise_contain_the_truth_and_are_narrow(row):
    direction, *steps, epsilon = row["case"]
    truth = float(row["delta"])
    assert_nine_digits(ew.account(beside_gaussian(*steps), direction=direction), epsilon, truth)


@pytest.mark.parametrize("row", BESIDE, ids=lambda row: "-".join(map(str, row["case"])))
def test_few_samples_beside_gaussian_noise_contain_the_truth_with_every_number_of_jumps(row):
    direction, *steps, epsilon = row["case"]
    truth = float(row["delta"])
    level = math.ceil((25 - math.log(truth)) / 10)
    for most in (1, 2):
        answers = JumpAnswers(TotalLoss.of(beside_gaussian(*steps)), level, most)
        ends = answers.delta(direction, np.array([epsilon]))
        assert ends.lower[0] <= truth <= ends.upper[0]


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 0.01, 3000), (2.0, 0.02, 500)])
def test_all_six_readings_agree_with_the_whole_line(sigma, rate, n):
    total = total_of(sigma, rate, n)
    whole, sorted_ = LineAnswers(total, 0), JumpAnswers(total, 6, 2)
    t = whole.integrals.middle + whole.integrals.spread * np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    for kind in ("delta", "reverse", "alpha", "acceptance", "beta", "power"):
        one, other = whole._read(kind, t), sorted_._read(kind, t)
        assert np.all(np.maximum(one.lower, other.lower) <= np.minimum(one.upper, other.upper))
        assert np.all(other.upper - other.lower <= 1e-8 * other.upper + 2 * math.exp(-60))


WIDE = [(2.5, 4.9e-4, 13_500, 1e-9), (1.2, 6e-5, 300_000, 1e-9), (1.0, 1e-6, 10**6, 1e-6), (0.5, 1e-5, 10**5, 1e-6)]


@pytest.mark.parametrize(("sigma", "rate", "n", "width"), WIDE)
def test_epsilon_is_narrow_monotone_and_without_jumps_where_the_law_splits_in_two(sigma, rate, n, width):
    delta = 10.0 ** -np.arange(6, 31, 6.0)
    epsilon = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n).epsilon(delta)
    assert np.all(epsilon.upper - epsilon.lower <= width * epsilon.upper)
    assert np.all(np.diff(epsilon.value) > 0)


DEEP = [(1.0, 1e-5, 1000), (1.0, 1e-6, 1000), (0.5, 1e-3, 100), (0.559, 2.8e-6, 1489), (46.3, 3.6e-6, 128_553)]


@pytest.mark.parametrize(("sigma", "rate", "n"), DEEP)
def test_epsilon_is_narrow_down_to_1e_100_at_the_smallest_rates(sigma, rate, n):
    delta = 10.0 ** -np.array([6.0, 40.0, 100.0])
    epsilon = contour.prepared(total_of(sigma, rate, n)).epsilon("both", delta)
    assert np.all(epsilon.upper - epsilon.lower <= 1e-7 * epsilon.upper)
    assert np.all(np.diff(epsilon.lower) > 0)


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 1e-6, 1000), (0.559, 2.8e-6, 1489)])
def test_the_lattice_has_the_same_epsilon(sigma, rate, n):
    mechanism, delta = ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n, np.array([1e-6])
    one = contour.prepared(total_of(sigma, rate, n)).epsilon("both", delta)
    other = ew.account(mechanism, method="lattice").epsilon(delta)
    assert np.all(np.maximum(one.lower, other.lower) <= np.minimum(one.upper, other.upper))


def test_the_trade_off_function_at_a_tiny_rate_is_narrow_in_both_directions():
    alpha = np.array([1e-10, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
    mechanism = ew.PoissonSampled(ew.Gaussian(1.0), rate=1e-6) ** 10**6
    for direction in ("forward", "backward", "both"):
        f = ew.account(mechanism, direction=direction).tradeoff(alpha)
        assert np.all(f.upper - f.lower <= 1e-6 * f.upper)
        assert np.all(f.upper <= np.nextafter(1 - alpha, 2.0))


def test_asking_in_company_gives_the_same_bits():
    mechanism = ew.PoissonSampled(ew.Gaussian(1.09), rate=2.1e-5) ** 2_700_000
    alone = ew.account(mechanism).epsilon(1e-20)
    together = ew.account(mechanism).epsilon(np.array([1e-22, 1e-20, 1e-30]))
    assert (alone.lower, alone.upper) == (together.lower[1], together.upper[1])


def test_more_jumps_are_followed_only_until_the_bracket_is_narrow():
    jumping = Jumping(total_of(1.09, 2.1e-5, 2_700_000))
    ends = jumping.ask(np.array([8]), lambda answers, _: answers.epsilon("forward", np.array([1e-20])), 1e-9)
    assert list(jumping._made) == [(8, 1)]
    assert ends.upper[0] - ends.lower[0] <= 1e-9 * ends.upper[0]


def test_a_law_that_has_no_line_is_refused_by_name():
    answers = JumpAnswers(total_of(0.2145, 2.15e-67, 1975), 4, 1)
    with pytest.raises(ComputationFailed) as refused:
        answers.delta("forward", np.array([0.5]))
    assert str(refused.value) == "no line is left: next to the pole the moments of this law are no doubles"
