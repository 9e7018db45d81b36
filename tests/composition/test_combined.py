"""Two engines behind one another: narrower than either, and an answer where one gives up."""

import itertools

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.answered import Ends
from edgeworth.composition.combined import Combined, CurveAnswers, Instead
from edgeworth.composition.recursion import compose
from edgeworth.errors import ComputationFailed
from edgeworth.losses import TotalLoss


class Fixed:
    """Answers with the same two ends to every question."""

    def __init__(self, lower, upper):
        self.ends = lower, upper

    def delta(self, direction, argument):
        assert direction == "forward"
        return Ends(*(np.full(argument.size, end) for end in self.ends))

    epsilon = tradeoff = delta

    def bridge(self):
        return self.ends


class Broken:
    """An engine that gives up."""

    def delta(self, direction, argument):
        raise ComputationFailed(f"nothing for {direction} and {argument}")

    epsilon = tradeoff = delta

    def bridge(self):
        raise ComputationFailed("no bridge")


ASKED = np.array([0.1, 0.2])


@pytest.mark.parametrize("what", ["delta", "epsilon", "tradeoff"])
def test_wide_answers_are_intersected(what):
    ends = getattr(Combined(Fixed(0.1, 0.5), lambda: Fixed(0.3, 0.7)), what)("forward", ASKED)
    assert (ends.lower.tolist(), ends.upper.tolist()) == ([0.3, 0.3], [0.5, 0.5])


def test_narrow_answers_ask_no_one_else():
    def never():
        raise AssertionError("not to be prepared")

    ends = Combined(Fixed(0.5, 0.5 + 1e-9), never).delta("forward", ASKED)
    assert ends.lower.tolist() == [0.5, 0.5]


def test_another_engine_answers_instead_what_it_is_asked_for_alone():
    others, profile, tests = Fixed(0.1, 0.2), Fixed(0.3, 0.4), Fixed(0.5, 0.6)
    made = Instead(others, profile=profile, tests=tests)
    one = np.ones(1)
    found = [getattr(made, what)("forward", one).lower[0] for what in ("delta", "epsilon", "tradeoff")]
    assert (found, made.bridge()) == ([0.3, 0.1, 0.5], (0.1, 0.2))
    assert Instead(others, tests=tests).delta("forward", one).lower[0] == 0.1


def test_an_engine_that_gives_up_gives_way_on_either_side():
    assert Combined(Broken(), lambda: Fixed(0.1, 0.2)).epsilon("forward", ASKED).upper.tolist() == [0.2, 0.2]
    assert Combined(Fixed(0.1, 0.2), Broken).epsilon("forward", ASKED).upper.tolist() == [0.2, 0.2]
    assert Combined(Broken(), lambda: Fixed(0.1, 0.2)).bridge() == (0.1, 0.2)


def test_a_slip_of_an_engine_is_not_taken_for_giving_up():
    class Slips(Broken):
        def delta(self, direction, argument):
            raise IndexError(f"{direction}, {argument}")

    for both in (Combined(Slips(), lambda: Fixed(0.1, 0.2)), Combined(Fixed(0.1, 0.2), Slips)):
        with pytest.raises(IndexError):
            both.delta("forward", ASKED)


def test_what_nobody_can_answer_is_an_error():
    with pytest.raises(ComputationFailed):
        Combined(Broken(), Broken).delta("forward", ASKED)


def test_curves_answer_like_an_engine():
    mechanism = ew.RandomizedResponse(0.7) ** 3
    answers = CurveAnswers(compose(TotalLoss.of(mechanism)))
    exact = ew.account(mechanism)
    for direction in ("forward", "backward", "both"):
        at = ew.account(mechanism, direction=direction)
        for what, argument in (("delta", 0.4), ("epsilon", 0.05), ("tradeoff", 0.2)):
            ends = getattr(answers, what)(direction, np.array([argument]))
            truth = getattr(at, what)(argument).value
            assert ends.lower[0] <= truth * (1 + 1e-12)
            assert ends.upper[0] >= truth * (1 - 1e-12)
    least, greatest = answers.bridge()
    assert least == greatest >= exact.curve.fixed_point * (1 - 1e-12)


def test_auto_narrows_what_the_line_leaves_wide():
    """Here little smooths the total, and the line alone says nothing."""
    mechanism = ew.PoissonSampled(ew.Gaussian(0.3), rate=0.1) ** 3
    line = ew.account(mechanism, method="contour", direction="forward").epsilon(1e-2)
    both = ew.account(mechanism, direction="forward").epsilon(1e-2)
    assert line.upper - line.lower > 1e-5 * line.upper
    assert line.lower <= both.lower <= both.upper <= line.upper
    assert both.upper - both.lower < 1e-6 * both.upper


# --- which engine answers for samples of Gaussian noise


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "method"),
    [
        (0.357, 0.00858, 64, "contour"),
        (0.7, 0.05, 10, "contour"),
        (1.0, 0.01, 3, "contour"),
        (0.5, 0.01, 5, "contour"),
        (0.3, 0.1, 3, "lattice"),  # 10^7 nodes
        (3.0, 1e-4, 10, "contour"),  # jumps
        (1.0, 0.3, 2, "lattice"),
    ],
)
def test_the_choice_is_made_by_formula(sigma, rate, n, method, monkeypatch):
    def never(*_):
        raise AssertionError("no line is to be tried")

    monkeypatch.setattr("edgeworth.composition.contour.line.Line.__init__", never)
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n)
    assert account.certificate.method == method


SAMPLES = [
    (0.3, 0.01, 100, 1e-9),
    (0.33, 0.0047, 50, 1e-9),
    (0.357, 0.00858, 64, 1e-9),
    (0.5, 0.2, 3, 1e-9),
    (0.7, 0.05, 10, 1e-9),
    (1.0, 0.01, 3, 1e-8),
]


@pytest.mark.parametrize(("sigma", "rate", "n", "width"), SAMPLES)
def test_few_samples_of_little_noise_are_read_to_nine_digits(sigma, rate, n, width):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n)
    asked = np.array([1e-3, 1e-6, 1e-12, 1e-30])
    epsilon = account.epsilon(asked)
    assert np.all(epsilon.upper - epsilon.lower <= width * epsilon.upper)
    above, below = account.delta(epsilon.lower), account.delta(epsilon.upper)
    assert np.all(above.upper - above.lower <= 10 * width * above.upper)
    assert np.all((above.upper >= asked) & (below.lower <= asked))
    f = account.tradeoff([1e-6, 0.01, 0.9])
    assert np.all(f.upper - f.lower <= 1e-6 * f.upper)


@pytest.mark.parametrize(("sigma", "rate", "n", "delta"), [(0.5, 0.2, 3, 1e-3), (0.7, 0.05, 10, 1e-6)])
def test_few_samples_agree_with_the_lattice(sigma, rate, n, delta):
    mechanism = ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n
    line, lattice = (ew.account(mechanism, method=method).epsilon(delta) for method in ("contour", "lattice"))
    assert lattice.lower <= line.lower <= line.upper <= lattice.upper


@pytest.mark.parametrize("deltas", [(0.1, 0.2), (1e-6, 1e-6)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.9, 3.0, 3.0000001, 4.0])
def test_what_one_engine_discloses_is_not_taken_for_what_another_composes(deltas, epsilon):
    """Two (eps, delta) steps in 40 digits; at the end of the support only the disclosures are left."""
    with mpmath.workdps(40):
        kept = (1 - mpmath.mpf(deltas[0])) * (1 - mpmath.mpf(deltas[1]))
        truth = 1 - kept
        for one, other in itertools.product((1, -1), repeat=2):
            loss = one + 2 * other
            mass = 1 / (1 + mpmath.e ** mpmath.mpf(-one)) / (1 + mpmath.e ** mpmath.mpf(-2 * other))
            truth += kept * mass * max(0, 1 - mpmath.e ** (mpmath.mpf(epsilon) - loss))
        found = ew.account(ew.ApproxDP(1.0, deltas[0]) * ew.ApproxDP(2.0, deltas[1])).delta(epsilon)
        assert found.lower <= truth <= found.upper


@pytest.mark.parametrize(("scale", "n"), [(1.0, 100), (2.0, 300), (1.0, 300)])
def test_many_equal_steps_of_laplace_noise_are_read_by_residues_and_along_the_line(scale, n):
    account = ew.account(ew.Laplace(scale) ** n)
    assert account.certificate.method == "residues"
    assert "readings left wider than 1e-9 by the line integral" in account.certificate.notes[-1]
    epsilon = account.epsilon([1e-2, 1e-10, 1e-30])
    assert np.all(epsilon.upper - epsilon.lower <= 1e-9 * epsilon.upper)
    delta = account.delta(epsilon.value)
    assert np.all(delta.upper - delta.lower <= 1e-9 * delta.upper)
    line = ew.account(ew.Laplace(scale) ** n, method="contour", direction="forward")  # which is that of both
    f, by_line = (one.tradeoff([1e-6, 1e-3]) for one in (account, line))
    assert np.all(f.upper - f.lower <= 1e-6 * f.upper)
    assert np.all((by_line.lower <= f.lower) & (f.upper <= by_line.upper))


class Says:
    """An engine with one answer."""

    def __init__(self, lower, upper):
        self.ends = Ends(np.array([lower]), np.array([upper]))

    def delta(self, *_question):
        return self.ends


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ((0.1, 0.4), (0.2, 0.6), (0.2, 0.4)),
        ((0.1, 0.2), (0.3, 0.6), (0.1, 0.6)),
        ((0.3, 0.6), (0.1, 0.2), (0.1, 0.6)),
    ],
)
def test_brackets_that_contradict_each_other_are_both_covered(first, second, both):
    ends = Combined(Says(*first), lambda: Says(*second)).delta("forward", np.zeros(1))
    assert (ends.lower[0], ends.upper[0]) == both


def test_laplace_noise_of_some_scales_is_narrow_next_to_the_largest_loss():
    """There the law is nearly all atoms: no line without noise can be had, and lines with a little of it follow."""
    queries = ew.Laplace(10.75) * ew.Laplace(0.324) ** 18 * ew.Laplace(0.314) ** 15 * ew.Laplace(0.761) ** 11
    found = ew.account(queries).epsilon(6.5e-15)
    assert 117.0 < found.lower <= found.upper <= found.lower * (1 + 1e-6)
    back = ew.account(queries).delta(found.value)
    assert back.lower <= 6.5e-15 * (1 + 1e-5)
    assert back.upper >= 6.5e-15 * (1 - 1e-5)
