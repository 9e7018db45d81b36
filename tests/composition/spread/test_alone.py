"""Rare samples of little noise with nothing beside them: f from graded points, against formulas and lines."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, spread
from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.combined import Combined
from edgeworth.composition.few_first import FirstForTests, Limited
from edgeworth.composition.work import MOST_WORK, spend, spent
from edgeworth.errors import ComputationFailed
from edgeworth.losses import TotalLoss


def sgd(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n


def on_points(mechanism):
    return ByProfile(spread.prepared_alone(TotalLoss.of(mechanism)), 1e-6, slow=True)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize(("sigma", "rate", "alpha"), [(0.319, 6.77e-4, 0.0153), (0.31, 1e-4, 0.4)])
def test_two_samples_against_their_integral(sigma, rate, alpha, direction):
    mechanism = sgd(sigma, rate, 2)
    (lower,), (upper,) = on_points(mechanism).tradeoff(direction, np.array([alpha]))
    truth = ew.account(mechanism, direction=direction).tradeoff(alpha)
    assert 0 < upper - lower <= 1e-6 * upper
    assert max(lower, truth.lower) <= min(upper, truth.upper)


def test_many_samples_against_lines_where_these_look_at_jumps():
    mechanism, alpha = sgd(0.305, 3.07e-5, 109), np.array([2.74e-5])
    points = on_points(mechanism).tradeoff("forward", alpha)
    lines = contour.prepared(TotalLoss.of(mechanism)).tradeoff("forward", alpha)
    assert np.all(lines.upper - lines.lower <= 1e-9)
    assert np.all(np.maximum(points.lower, lines.lower) <= np.minimum(points.upper, lines.upper))


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "direction", "alpha"),
    [(0.31, 1e-4, 6, "forward", 0.5), (0.305, 1.82e-6, 8, "backward", 7.27e-5), (0.3, 1e-3, 20, "both", 1e-3)],
)
def test_a_reading_in_the_bulk_has_six_digits_and_takes_little_work(sigma, rate, n, direction, alpha):
    before = spent()
    found = ew.account(sgd(sigma, rate, n), direction=direction).tradeoff(alpha)
    assert spent() - before < 0.4 * MOST_WORK
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper


def test_tests_that_stay_wide_backward_ones_and_many_are_asked_of_the_others():
    asked = []

    class Spy:
        def __init__(self, name, width):
            self.name, self.width = name, width

        def tradeoff(self, _, alpha):
            asked.append((self.name, alpha.tolist()))
            return Ends(0.5 * (1 - alpha), 0.5 * (1 - alpha) * (1 + self.width))

    alpha, many = np.array([0.0, 0.1, 0.2]), np.linspace(0.1, 0.9, 17)
    narrow = FirstForTests(Spy("others", 1e-9), Spy("points", 1e-9), 1e-6)
    assert np.all(narrow.tradeoff("forward", alpha[1:]).upper < 0.51)
    assert asked == [("points", [0.1, 0.2])]
    asked.clear()
    narrow.tradeoff("backward", alpha)
    narrow.tradeoff("both", many)
    assert asked == [("others", alpha.tolist()), ("others", many.tolist())]
    asked.clear()
    wide = FirstForTests(Spy("others", 1e-9), Spy("points", 0.1), 1e-6)
    assert np.all(wide.tradeoff("forward", alpha).upper < 0.51)
    assert asked == [("points", [0.1, 0.2]), ("others", alpha.tolist())]


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "direction", "alpha"),
    [
        (0.368, 0.003499, 4, "both", 0.2724),
        (0.3013, 0.007566, 17, "both", 0.864),
        (0.3179, 0.00127, 39, "both", 2.134e-4),
        (2.02, 4.2e-6, 3, "forward", 8.5e-6),
    ],
)
def test_f_of_few_samples_for_which_lines_take_long_is_read_on_points(sigma, rate, n, direction, alpha):
    """The first was 2e-4 wide and the others took up to seventeen seconds; one lattice encloses the same value."""
    before = spent()
    found = ew.account(sgd(sigma, rate, n), direction=direction).tradeoff(alpha)
    assert spent() - before < 0.4 * MOST_WORK
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper
    other = ew.account(sgd(sigma, rate, n), direction=direction, method="lattice").tradeoff(alpha)
    assert found.lower <= other.upper
    assert other.lower <= found.upper


def test_two_samples_have_lines_behind_their_integral():
    """The integral and the lattice left epsilon, far below n p, 1.6e-5 wide."""
    run = sgd(16.86, 2.068e-4, 2)
    found = ew.account(run, direction="backward").epsilon(6.893e-6)
    assert 0 < found.upper - found.lower <= 1e-9 * found.upper
    other = ew.account(run, direction="backward", method="lattice").epsilon(6.893e-6)
    assert other.lower <= found.lower
    assert found.upper <= other.upper


def test_what_the_lattice_leaves_wide_is_narrowed_by_points():
    found = ew.account(sgd(0.3058, 4.64e-6, 17)).delta(0.1)
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper


def test_an_engine_with_a_limit_gives_up_and_the_next_one_answers():
    class Slow:
        def __init__(self, units):
            self.units = units

        def epsilon(self, _, delta):
            spend(self.units)
            return Ends(delta, 2 * delta)

    delta = np.array([0.1])
    assert Limited(Slow(10), 20).epsilon("both", delta).upper.tolist() == [0.2]
    with pytest.raises(ComputationFailed, match="given up after 2e\\+01 units of work"):
        Limited(Slow(30), 20).epsilon("both", delta)
    made = Combined(Limited(Slow(30), 20), lambda: Slow(1), 1e-6)
    assert made.epsilon("both", delta).upper.tolist() == [0.2]


def test_points_closest_in_the_heap_have_more_digits_of_a_small_epsilon():
    """delta is a quarter of n p, and epsilon a sixth: the usual points left it 3.5e-6 wide."""
    total, delta = TotalLoss.of(sgd(0.768, 9.45e-5, 4)), np.array([9.84e-5])
    usual, near = (spread.prepared_alone(total, near=near).epsilon("forward", delta) for near in (False, True))
    assert usual.lower <= near.lower <= near.upper <= usual.upper
    assert 0 < near.upper - near.lower <= min(1e-6 * near.upper, 0.25 * (usual.upper - usual.lower))
    found = ew.account(sgd(0.768, 9.45e-5, 4), direction="forward").epsilon(float(delta[0]))
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_five_samples_that_no_line_or_lattice_reads_are_read_on_points():
    """delta is a third of n p: what counts are runs with one sample, and those are no heap and no jump."""
    run = ew.PoissonSampled(ew.Gaussian(0.694), rate=7.1e-6) ** 5
    account, lines = (ew.account(run, direction="forward", method=method) for method in ("auto", "contour"))
    profile, root = account.delta(1.69083e-6), account.epsilon(1.10239e-5)
    assert profile.upper - profile.lower <= 1e-6 * profile.upper
    assert root.upper - root.lower <= 4e-6 * root.upper
    for found, other in ((profile, lines.delta(1.69083e-6)), (root, lines.epsilon(1.10239e-5))):
        assert found.lower <= other.upper
        assert other.lower <= found.upper
