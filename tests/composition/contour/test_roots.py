"""Where readings have given values: against formulas, by both ways, and in any company."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

import edgeworth as ew
from edgeworth.composition.contour.answers import Answers
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.roots import _newton
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.composition.contour.waves import waves_at_multiples
from edgeworth.losses import GaussianLoss, TotalLoss
from edgeworth.losses.moments import excess

MU = 1.3
UNIT = 2.0**-53


def sgd(sigma, rate, n):
    return TotalLoss.of(ew.PoissonSampled(ew.Gaussian(noise_multiplier=sigma), rate=rate) ** n)


@pytest.mark.parametrize("probability", [0.4, 1e-3, 1e-12])
@pytest.mark.parametrize("kind", ["alpha", "acceptance", "power", "beta"])
def test_thresholds_of_a_gaussian_are_its_quantiles(kind, probability):
    """T is normal with variance mu^2 and mean -mu^2/2 under P, mu^2/2 under Q."""
    integrals = Integrals(Steps.of(TotalLoss(((GaussianLoss(MU), 1),))))
    mean = -MU * MU / 2 if kind in ("alpha", "acceptance") else MU * MU / 2
    expected = mean + MU * ndtri(probability) * (-1 if kind in ("alpha", "power") else 1)
    guess = np.array([expected + 0.1])
    ((rung, _),) = integrals.owners(kind, guess)
    found, width = integrals.root(kind, rung, guess, np.log([probability]))
    assert 0 < width[0] < 1e-11 * MU
    assert abs(found[0] - expected) <= width[0] / 2


@pytest.mark.parametrize("kind", ["delta", "reverse", "alpha", "acceptance", "power", "beta"])
@pytest.mark.parametrize(("sigma", "rate", "n"), [(0.8, 0.00512, 5000), (4.0, 3.3e-4, 10_000), (1.0, 0.5, 50)])
def test_interpolation_and_newton_find_the_same_root(sigma, rate, n, kind):
    integrals = Integrals(Steps.of(sgd(sigma, rate, n), -60.0))
    outward = 1.0 if kind in ("delta", "alpha", "power") else -1.0
    centre = {"delta": 0.0, "reverse": 0.0, "alpha": integrals.mean_under_p, "acceptance": integrals.mean_under_p}
    start = centre.get(kind, integrals.mean_under_q)
    t = start + outward * integrals.spread * np.linspace(0.2, 4.0, 25)
    for rung, here in integrals.owners(kind, t):
        log_value = np.log(rung.value_and_slope(kind, t[here])[0])
        found, width = integrals.root(kind, rung, t[here] + 0.01 * integrals.spread, log_value)
        other, _ = _newton(rung, kind, t[here] + 0.01 * integrals.spread, log_value, integrals.spread)
        assert np.all(np.abs(found - t[here]) <= width)
        assert np.all(np.abs(other - t[here]) <= width)


def test_one_question_gets_the_same_bits_after_any_others():
    """Whatever was asked before, the ladder is as long as it likes and the lines are those that they were."""
    total, deltas = sgd(0.8, 0.00512, 5000), [1e-5, 1e-2, 1e-20, 3e-5, 1e-9]
    alphas = np.array([1e-6, 0.01, 0.3, 0.9])
    used = Answers(total)
    for delta in deltas:
        fresh = Answers(total)
        asked = np.array([delta])
        assert used.epsilon("both", asked) == fresh.epsilon("both", asked)
        for one, other in zip(used.tradeoff("both", alphas), fresh.tradeoff("both", alphas), strict=True):
            assert one.tolist() == other.tolist()


@given(st.floats(-700, 700).map(lambda z: z if abs(z) > 1e-140 else 0.0))
def test_the_excess_is_accurate_relative_to_itself(z):
    with mpmath.workdps(300):
        truth = mpmath.expm1(mpmath.mpf(z)) - mpmath.mpf(z)
        found = mpmath.mpf(float(excess(np.array([z]))[0]))
        assert abs(found - truth) <= 8 * UNIT * truth + mpmath.mpf(10) ** -300


@pytest.mark.parametrize("count", [2, 3, 12, 141])
def test_waves_at_multiples_are_accurate_relative_to_their_angles(count):
    angle = np.array([1e-9, -3e-4, 0.02, 0.7, -2.5])
    waves = waves_at_multiples(angle, count)
    for j in range(count):
        for at, found in zip(angle.tolist(), waves[j].tolist(), strict=True):
            with mpmath.workdps(40):
                truth = mpmath.expj(j * mpmath.mpf(at)) - 1
                assert abs(mpmath.mpc(found) - truth) <= 8 * (1 + count.bit_length()) * UNIT * abs(j * at)


def test_far_from_its_line_a_root_comes_from_newton():
    """A guess and a root beyond the pieces: nothing is interpolated there."""
    integrals = Integrals(Steps.of(sgd(1.0, 0.5, 50)))
    ((rung, _),) = integrals.owners("delta", np.array([3.0]))
    beyond = rung.centre + 5 * math.sqrt(rung.variance)
    log_value = np.log(rung.value_and_slope("delta", np.array([beyond]))[0])
    found, width = integrals.root("delta", rung, np.array([beyond - 0.1]), log_value)
    assert abs(found[0] - beyond) <= width[0]


def test_points_that_are_too_uneven_for_a_polynomial_leave_the_root_to_newton():
    """Between two heaps that hardly overlap the level is all but flat: the shares of its points may cancel to 0."""
    mu, epsilon, alpha = math.sqrt(3) / 11.373407514288392, 1.5361012313033209, 0.5
    mix = ew.Gaussian(11.373407514288392) ** 3 * ew.RandomizedResponse(epsilon)
    with mpmath.workdps(30):
        honest = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))

        def errors(t):
            """Of the test that rejects losses above t: the answer is a lie under P, or under Q, now and then."""
            high, low = (t - epsilon) / mu, (t + epsilon) / mu
            first = (1 - honest) * mpmath.ncdf(-high - mu / 2) + honest * mpmath.ncdf(-low - mu / 2)
            return first, honest * mpmath.ncdf(high - mu / 2) + (1 - honest) * mpmath.ncdf(low - mu / 2)

        threshold = mpmath.findroot(lambda t: errors(t)[0] - alpha, (-2.5, 0), solver="anderson")
        assert mpmath.almosteq(errors(threshold)[0], alpha)
        truth = errors(threshold)[1]
        found = ew.account(mix, method="contour").tradeoff(alpha)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-9 * truth
