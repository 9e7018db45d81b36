"""Rare samples of little noise with nothing beside them: f from graded points, against formulas and lines."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, spread
from edgeworth.composition.answered import Ends
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.few_first import BulkFirst
from edgeworth.composition.work import MOST_WORK, spent
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


def test_small_alphas_and_what_stays_wide_are_asked_of_the_others():
    asked = []

    class Spy:
        def __init__(self, name, width):
            self.name, self.width = name, width

        def tradeoff(self, _, alpha):
            asked.append((self.name, alpha.tolist()))
            return Ends(0.5 * (1 - alpha), 0.5 * (1 - alpha) * (1 + self.width))

    alpha = np.array([1e-9, 0.1, 0.2])
    narrow = BulkFirst(Spy("others", 1e-9), Spy("points", 1e-9), 1e-6, 0.01)
    assert np.all(narrow.tradeoff("forward", alpha).upper < 0.51)
    wide = BulkFirst(Spy("others", 1e-9), Spy("points", 0.1), 1e-6, 0.01)
    assert np.all(wide.tradeoff("forward", alpha).upper < 0.51)
    assert asked == [("points", [0.1, 0.2]), ("others", [1e-9]), ("points", [0.1, 0.2]), ("others", alpha.tolist())]


def test_five_samples_that_no_line_or_lattice_reads_are_read_on_points():
    """delta is a third of n p: what counts are runs with one sample, and those are no heap and no jump."""
    run = ew.PoissonSampled(ew.Gaussian(0.694), rate=7.1e-6) ** 5
    account, lines = (ew.account(run, direction="forward", method=method) for method in ("auto", "contour"))
    profile, root = account.delta(1.69083e-6), account.epsilon(1.10239e-5)
    assert profile.upper - profile.lower <= 1e-6 * profile.upper
    assert root.upper - root.lower <= 1e-4 * root.upper
    for found, other in ((profile, lines.delta(1.69083e-6)), (root, lines.epsilon(1.10239e-5))):
        assert found.lower <= other.upper
        assert other.lower <= found.upper
