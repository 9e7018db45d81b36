"""A record replaced at a tiny rate: far outcomes on both sides, of which the lattice needs only those that count."""

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import moments
from edgeworth.composition.lattice.ladder import Ladder
from edgeworth.composition.lattice.plan import Goal, planned
from edgeworth.composition.lattice.reach import back
from edgeworth.losses import TotalLoss

mp = mpmath.mp


def replaced(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate, adjacency="replace") ** n


class Replaced:
    """One step in 40 digits: right of 0 the density is phi(x), x > mu/2, at L = log(1 - p + p e^(mu x - mu^2/2))."""

    def __init__(self, sigma, rate):
        self.mu, self.p = 1 / mp.mpf(sigma), mp.mpf(rate)
        right, right_q = mpmath.ncdf(-self.mu / 2), mpmath.ncdf(self.mu / 2)
        self.at_zero = 1 - right - ((1 - self.p) * right + self.p * right_q)

    def loss(self, x):
        return mpmath.log1p(self.p * mpmath.expm1(self.mu * x - self.mu**2 / 2))

    def place(self, loss):
        return mpmath.log1p(mpmath.expm1(loss) / self.p) / self.mu + self.mu / 2

    def delta(self, epsilon):
        """E[(X - u)_+], by symmetry for u < 1."""
        if epsilon < 0:
            return -mpmath.expm1(epsilon) + mpmath.exp(epsilon) * self.delta(-epsilon)
        x, u = self.place(epsilon), mpmath.exp(epsilon)
        return self.p * mpmath.ncdf(self.mu - x) - (u - 1 + self.p) * mpmath.ncdf(-x)

    def two_steps(self, epsilon):
        """E_Q[delta(eps - L)]: right of 0 Q has phi e^L, at -L it has phi."""
        kink = self.place(mp.mpf(epsilon))
        ends = [self.mu / 2, kink - 1, kink, kink + 1, kink + 3, kink + 8, kink + 20]

        def both(x):
            loss = self.loss(x)
            return mpmath.npdf(x) * (mpmath.exp(loss) * self.delta(epsilon - loss) + self.delta(epsilon + loss))

        return mpmath.quad(both, ends) + self.at_zero * self.delta(mp.mpf(epsilon))


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1.3, 2e-5, 0.01), (0.7, 1e-4, 0.5), (2.0, 1e-3, 0.02)])
def test_two_steps_by_an_integral(sigma, rate, epsilon):
    with mpmath.workdps(40):
        truth = Replaced(sigma, rate).two_steps(epsilon)
    found = ew.account(replaced(sigma, rate, 2), method="lattice").delta(epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower < 2e-6 * float(truth)


@pytest.mark.parametrize("epsilon", [0.01, 0.2])
def test_hundreds_of_steps_at_a_tiny_rate_are_narrow(epsilon):
    """One far outcome alone is nearly all: n times the delta of one step is close, and less than that of the sum."""
    sigma, rate, n = 1.3, 1.9e-5, 456
    found = ew.account(replaced(sigma, rate, n), direction="forward").delta(epsilon)
    with mpmath.workdps(40):
        one = float(n * Replaced(sigma, rate).delta(mp.mpf(epsilon)))
    assert found.upper - found.lower < 1e-4 * found.upper
    assert 0.5 * one < found.lower < 20 * one


def test_the_range_of_a_step_ends_a_little_beyond_the_threshold():
    total = TotalLoss.of(replaced(1.3, 1.9e-5, 456))
    ladder = Ladder(total)
    number = ladder.number(0.01)
    ends = ladder.threshold(number), ladder.threshold(number + 1)
    (reach,) = planned(ladder.parts, Goal("delta", *ends, 1e-6), ladder.spread).reach
    assert ends[1] < reach[1] < 2 * ends[1]
    assert -2 * ends[1] < reach[0] < 0


def test_how_likely_a_sum_comes_back_is_about_that_of_one_far_outcome():
    total = TotalLoss.of(replaced(1.3, 1.9e-5, 456))
    t = np.array([-0.02, -0.01])
    ahead = back(total.parts, t, right=True)
    mirrored = back(total.parts, t, right=False)
    with mpmath.workdps(40):
        step = Replaced(1.3, 1.9e-5)
        halves = [step.place(mp.mpf(-x) / 2) for x in t.tolist()]
        exact = [float(456 * ((1 - step.p) * mpmath.ncdf(-x) + step.p * mpmath.ncdf(step.mu - x))) for x in halves]
    np.testing.assert_allclose(ahead, exact, rtol=1e-6)
    np.testing.assert_allclose(mirrored, exact, rtol=1e-6)
    assert back(total.parts, np.array([0.0]), right=True)[0] == 1.0


def test_a_bulk_beside_far_outcomes_is_seen_closely():
    """Of very many steps the bulk counts, which lies within one cell of a law that reaches to all far outcomes."""
    many = ew.PoissonSampled(ew.Gaussian(1.485785309231603), 1.1e-5, adjacency="replace", clipped=True) ** 29512
    account = ew.account(many, method="lattice", direction="forward")
    found = account.epsilon(2.57e-17)
    known = moments.prepared(account.total).root("forward", 2.57e-17)
    assert max(found.lower, known[0]) <= min(found.upper, known[1])
    assert found.upper - found.lower < 1e-6 * found.upper
