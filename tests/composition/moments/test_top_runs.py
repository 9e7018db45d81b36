"""Runs in which every step has its largest loss: the bound itself, and readings next to the end of the support."""

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.moments.top_runs import top_runs
from edgeworth.losses import TotalLoss


def sampled_laplace(scale, rate, n):
    return ew.PoissonSampled(ew.Laplace(scale=scale), rate) ** n


def ends_of_sampled_laplace(scale, rate, direction):
    """The largest loss of a step, and the mass of its atom under the law that is read, at 50 digits."""
    theta, rate = 1 / mp.mpf(scale), mp.mpf(rate)
    if direction == "backward":
        return -mp.log(1 - rate + rate * mp.exp(-theta)), mp.mpf(1) / 2
    return mp.log(1 - rate + rate * mp.exp(theta)), (1 - rate) * mp.exp(-theta) / 2 + rate / 2


@pytest.mark.parametrize("direction", ["forward", "backward"])
@given(st.floats(0.2, 50.0), st.floats(1e-5, 0.95), st.integers(1, 1000), st.floats(0.0, 1.0))
def test_the_runs_of_samples_are_those_of_their_atoms(direction, scale, rate, n, share):
    with mp.workdps(50):
        top, mass = ends_of_sampled_laplace(scale, rate, direction)
        runs = top_runs(TotalLoss.of(sampled_laplace(scale, rate, n)), direction)
        # Besides the atom there is what a few ulps of the density hold.
        assert n * top * (1 - mp.mpf(10) ** -13) <= runs.place <= n * top
        assert abs(runs.log_mass - n * mp.log(mass)) < n * 1e-10
        epsilon = share * float(n * top)
        truth_of_runs = mass**n * -mp.expm1(min(epsilon - n * top, 0))
        assert runs.delta(epsilon) <= float(truth_of_runs * (1 + mp.mpf(10) ** -9 * n)) + 1e-300


@given(st.floats(0.01, 3.0), st.integers(1, 200), st.floats(0.0, 1.0))
def test_the_bound_is_below_the_profile_of_responses(epsilon, n, share):
    runs = top_runs(TotalLoss.of(ew.RandomizedResponse(epsilon) ** n), "forward")
    place = share * n * epsilon
    assert runs.delta(place) <= ew.account(ew.RandomizedResponse(epsilon) ** n).delta(place).upper
    assert runs.delta(runs.epsilon(runs.delta(place) + 1e-300)) >= runs.delta(place) or runs.delta(place) == 0


def test_no_runs_where_a_loss_has_no_end():
    runs = top_runs(TotalLoss.of(ew.Gaussian(1.0) * ew.Laplace(1.0)), "forward")
    assert (runs.log_mass, runs.delta(0.5), runs.epsilon(1e-300)) == (-math.inf, 0.0, 0.0)


CASES = [
    (sampled_laplace(1.5326700187724074, 0.3273064298006967, 30), 1e-27),
    (sampled_laplace(22.099454408944485, 0.7870445601666118, 2), 1e-30),
    (sampled_laplace(1.93680576742348, 0.1481111527420021, 3) * ew.RandomizedResponse(0.02434403368043841) ** 3, 1e-27),
]


@pytest.mark.parametrize(("mechanism", "delta"), CASES, ids=["thirty", "two", "mix"])
def test_epsilon_next_to_the_end_has_all_its_digits(mechanism, delta):
    with mp.workdps(50):
        top, log_mass = mp.mpf(0), mp.mpf(0)
        for loss, n in TotalLoss.of(mechanism).parts:
            if hasattr(loss, "rate"):
                place, mass = ends_of_sampled_laplace(1 / loss.base.theta, loss.rate, "forward")
            else:
                place, mass = mp.mpf(loss.epsilon), 1 / (1 + mp.exp(-mp.mpf(loss.epsilon)))
            top, log_mass = top + n * place, log_mass + n * mp.log(mass)
        least = top + mp.log1p(-delta * mp.exp(-log_mass))  # other runs make it larger, but not than the end
        bracket = ew.account(mechanism, direction="forward").epsilon(delta)
        assert bracket.lower <= top
        assert bracket.upper >= least
        assert bracket.upper - bracket.lower < 1e-12 * bracket.upper


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.9999])
def test_delta_next_to_the_end_against_two_steps_at_50_digits(share):
    scale, rate = 2.0, 0.3
    with mp.workdps(30):
        theta, p = mp.mpf(1) / 2, mp.mpf(rate)
        loss = lambda x: mp.log(1 - p + p * mp.exp(x))  # noqa: E731
        eps = share * float(2 * loss(theta))

        def profile(e):
            """Of one sample: p times that of Laplace noise at the eps that sampling makes of it."""
            base = mp.log1p(mp.expm1(e) / p) if mp.expm1(e) > -p else None
            if base is None or base <= -theta:
                return -mp.expm1(e)
            value = max(1 - mp.exp((base - theta) / 2), 0) if base >= -theta else -mp.expm1(base)
            return p * value

        def first(x):
            """The density of the base loss under Q, which the sample mixes with that under P."""
            return ((1 - p) * mp.exp(-(x + theta) / 2) + p * mp.exp((x - theta) / 2)) / 4

        atoms = [(theta, (1 - p) * mp.exp(-theta) / 2 + p / 2), (-theta, (1 - p) / 2 + p * mp.exp(-theta) / 2)]
        inner = mp.quad(lambda x: first(x) * profile(eps - loss(x)), [-theta, kink(eps, p, theta), theta])
        truth = inner + sum(mass * profile(eps - loss(x)) for x, mass in atoms)
        bracket = ew.account(sampled_laplace(scale, rate, 2), direction="forward").delta(eps)
        assert bracket.lower <= truth <= bracket.upper
        assert bracket.upper - bracket.lower < 1e-6 * bracket.upper


def kink(eps, p, theta):
    """Where the first step leaves exactly the largest loss of the second."""
    x = mp.log1p(mp.expm1(eps - mp.log(1 - p + p * mp.exp(theta))) / p)
    return min(max(x, -theta), theta)
