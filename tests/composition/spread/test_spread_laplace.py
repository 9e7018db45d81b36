"""Samples of Laplace noise beside a rest: against 40 digits, other engines, and the laws above and below themselves."""

import math
from decimal import Decimal, localcontext

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.composition.spread.examples import DIRECTIONS, NEARLY, laplace, normal, total_of

import edgeworth as ew
from edgeworth.composition import moments, spread
from edgeworth.composition.by_squares import power
from edgeworth.composition.spread import laplace_steps
from edgeworth.composition.spread.graded import Graded, _last_merged, product
from edgeworth.composition.spread.law import SpreadLaw
from edgeworth.composition.spread.resolution import graded_for
from edgeworth.composition.spread.steps import one_step
from edgeworth.errors import ComputationFailed
from edgeworth.losses import privacy_loss

LITTLE_WORK = 2e9


# --- truths with 40 digits


def laplace_profile(t, theta):
    """The profile of Laplace noise, the same in both directions."""
    if t >= theta:
        return mpmath.mpf(0)
    return -mpmath.expm1((t - theta) / 2) if t > -theta else -mpmath.expm1(t)


def one_sample(epsilon, theta, p, direction):
    """E[(X - e^eps)_+] or E[(1 - e^eps X)_+] of X = 1 - p + p e^l."""
    if direction == "forward":
        rise = mpmath.expm1(epsilon) + p
        return p * laplace_profile(mpmath.log(rise / p), theta) if rise > 0 else -mpmath.expm1(epsilon)
    fall = (mpmath.expm1(-epsilon) + p) / p
    return mpmath.exp(epsilon) * p * fall * laplace_profile(-mpmath.log(fall), theta) if fall > 0 else mpmath.mpf(0)


def two_samples(epsilon, theta, p, direction):
    """The mean of the profile of one over both atoms and the density of the other, split where it bends."""

    def term(y):
        rise = p * mpmath.expm1(y - theta)
        if direction == "backward":
            return one_sample(epsilon + mpmath.log1p(rise), theta, p, direction)
        return (1 + rise) * one_sample(epsilon - mpmath.log1p(rise), theta, p, direction)

    sign = 1 if direction == "forward" else -1
    bends = []
    for end in (-theta, theta):
        rise = mpmath.exp(sign * epsilon) / (1 + p * mpmath.expm1(end)) - 1 + p
        bends += [mpmath.log(rise / p) + theta] if rise > 0 else []
    places = sorted([mpmath.mpf(0), *(bend for bend in bends if 0 < bend < 2 * theta), 2 * theta])
    density = mpmath.quad(lambda y: mpmath.exp(-y / 2) / 4 * term(y), places)
    return term(mpmath.mpf(0)) / 2 + mpmath.exp(-theta) / 2 * term(2 * theta) + density


@pytest.mark.parametrize(
    ("n", "scale", "rate", "response"),
    [(1, 0.3, 1e-3, 0.7), (1, 8.0, 5e-4, 1.2), (1, 0.9, 0.04, 0.3), (2, 4.0, 1e-3, 0.6), (2, 0.5, 0.02, 1.1)],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("few_points")
def test_delta_holds_forty_digits_beside_a_response(n, scale, rate, response, direction):
    total = total_of(laplace(scale, rate) ** n * ew.RandomizedResponse(response))
    answers, truth = spread.prepared(total), one_sample if n == 1 else two_samples
    reach = total.support[1] if direction == "forward" else -total.support[0]
    with mpmath.workdps(40):
        theta, p, answer = 1 / mpmath.mpf(scale), mpmath.mpf(rate), mpmath.mpf(response)
        likely = 1 / (1 + mpmath.exp(-answer))
        beyond = np.array([0.01, 0.3, 0.6, 0.97]) * (reach - response) + response
        for epsilon in (-0.4 * response, 0.0, 0.5 * response, 0.999 * response, response, *beyond.tolist()):
            near, far = (truth(mpmath.mpf(epsilon) + shift, theta, p, direction) for shift in (-answer, answer))
            exact = likely * near + (1 - likely) * far
            low, high = (float(end[0]) for end in answers.delta(direction, np.array([epsilon])))
            assert low <= exact * NEARLY
            assert exact <= high * NEARLY


# --- other engines


@pytest.mark.usefixtures("few_points")
@settings(max_examples=12, deadline=None)
@given(
    scale=st.floats(-0.6, 1.2).map(lambda x: 10**x),
    rate=st.floats(-4, -1.5).map(lambda x: 10**x),
    n=st.integers(1, 40),
    sigma=st.floats(-0.3, 0.7).map(lambda x: 10**x),
    rest=st.sampled_from([ew.Laplace(1.1) ** 3, ew.RandomizedResponse(0.4) ** 5, ew.DiscreteLaplace(2.0) ** 2]),
    reading=st.one_of(
        st.tuples(st.just("delta"), st.floats(-1.0, 1.1)),
        st.tuples(st.just("epsilon"), st.floats(-30, -0.5).map(lambda x: 10**x)),
    ),
    direction=st.sampled_from(DIRECTIONS),
)
def test_readings_agree_with_tilted_moments(scale, rate, n, sigma, rest, reading, direction):
    total = total_of(laplace(scale, rate) ** n * normal(sigma, rate) ** 3 * rest)
    what, argument = reading
    asked = np.array([argument * spread.reach_of_rest(total) if what == "delta" else argument])
    ends, truth = (getattr(made.prepared(total), what)(direction, asked) for made in (spread, moments))
    assert ends.lower[0] <= truth.upper[0] * NEARLY
    assert truth.lower[0] <= ends.upper[0] * NEARLY


# --- the laws themselves


def values(law, v, side):
    """E[(x - v)_+], or E[(v - x)_+], of a law on points."""
    x, sign = np.exp(law.least + law.grid.points), 1 if side == "forward" else -1
    return np.sum(law.mass * np.maximum(sign * (x - v[:, None]), 0.0), axis=1)


@pytest.mark.parametrize(("scale", "rate"), [(0.25, 1e-3), (1.3, 0.03), (9.0, 5e-4)])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 24])
@pytest.mark.parametrize("side", DIRECTIONS)
def test_the_lower_law_is_below_the_truth_and_the_upper_one(scale, rate, n, side):
    loss = privacy_loss(laplace(scale, rate))
    grid = graded_for(((loss, n),), 0.2)
    low, high = (power(one_step(grid, loss, n, way), n, SpreadLaw.times) for way in (side, "above"))
    v = np.exp(high.least + grid.points[3 :: max(grid.points.size // 300, 1)] * 1.0003)
    lower, upper = values(low, v, side) * (1 - 2 * low.error), values(high, v, side)
    assert np.all(lower <= upper * (1 + 1e-11) + 1e-140)
    if n == 1:
        with mpmath.workdps(40):
            theta, p, sign = 1 / mpmath.mpf(scale), mpmath.mpf(rate), 1 if side == "forward" else -1
            for place, least, most in zip(v.tolist(), lower.tolist(), upper.tolist(), strict=True):
                truth = one_sample(sign * mpmath.log(place), theta, p, side)
                truth *= 1 if side == "forward" else mpmath.mpf(place)
                assert least <= truth * (1 + 1e-11)
                assert truth <= most * (1 + 1e-11)


@settings(max_examples=30, deadline=None)
@given(theta=st.floats(0.05, 2.0), rate=st.floats(1e-5, 0.05), half=st.sampled_from([60, 100, 200]))
def test_merged_masses_have_the_mass_and_the_mean_of_the_noise_and_lie_below_it(theta, rate, half):
    """In 60 digits: the atom, and the integral of (e^y - v) e^(-y/2)/4 from y = log v to 2 theta."""
    loss = privacy_loss(laplace(1 / theta, rate))
    top = loss.support[1] - loss.support[0]
    grid = Graded(math.ldexp(math.floor(math.ldexp(top / (1.5 * half), 60)), -60), half, [True])
    with localcontext() as context:
        context.prec = 60
        exact = laplace_steps._exact_theta(loss.base)
        lower = laplace_steps._lower_rate(grid, loss, loss.base, 1)
        places, images = laplace_steps._images(grid, loss.base, lower)
        made = laplace_steps._merged(images, exact.exp())
        assert lower.rate <= Decimal(rate)
        assert abs(images[-1] - (2 * exact).exp()) < Decimal("1e-50") * images[-1]
        assert len(places) == len(images)
        assert all(mass > 0 for _, mass in made)
        half_mass = Decimal("0.5")
        assert abs(sum(mass for _, mass in made) - 1) < Decimal("1e-50")
        mean = sum(mass * images[k] for k, mass in made)
        assert abs(mean - exact.exp()) < Decimal("1e-50") * mean  # e^y = e^(l + theta), and e^l has mean 1
        for number in range(1, 40):
            v = 1 + (images[-1] - 1) * number / 40
            root = v.sqrt()
            truth = half_mass / exact.exp() * (images[-1] - v)
            truth += half_mass * (exact.exp() - root) - half_mass * v * (1 / root - 1 / exact.exp())
            assert sum(mass * max(images[k] - v, Decimal(0)) for k, mass in made) <= truth * (1 + Decimal("1e-45"))


def test_an_atom_is_shared_by_the_ends_of_its_cell_with_its_mean():
    loss = privacy_loss(laplace(0.8, 0.01))
    grid = Graded(2.0**-12, 64, [True] * 4)
    law = one_step(grid, loss, 1, "above")
    assert np.sum(law.mass) == pytest.approx(1.0, rel=1e-13)
    assert np.sum(law.mass * np.exp(law.least + grid.points)) == pytest.approx(1.0, rel=1e-13)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(3, 20), step=st.floats(1e-4, 0.5))
def test_merging_before_the_last_point_keeps_mass_and_mean_and_raises_nothing(seed, size, step):
    mass = np.random.default_rng(seed).random(size) ** 3
    merged, x = _last_merged(mass, step), np.exp(step * np.arange(size))
    assert np.sum(merged) == pytest.approx(np.sum(mass), rel=1e-13)
    assert np.sum(merged * x) == pytest.approx(np.sum(mass * x), rel=1e-13)
    assert np.all(merged >= 0)
    v = np.linspace(x[0], x[-1], 97)
    raised = np.sum((merged - mass) * np.maximum(x - v[:, None], 0.0), axis=1)
    assert np.all(raised <= 1e-13 * np.sum(mass * x))


def test_next_to_the_last_point_of_a_product_nothing_is_raised():
    """Atoms at both ends, and little between: what comes near the last point is merged, not spread to it."""
    grid = Graded(2.0**-6, 16, [True, True, True])
    mass = np.zeros(grid.points.size)
    mass[1:24], mass[0], mass[24] = 1e-3, 0.5, 0.4
    sums = product(grid, mass, mass, with_tents=True)
    last = int(np.nonzero(sums.mass)[0][-1])
    assert grid.points[last] == 2 * grid.points[24]
    assert sums.mass[last] == pytest.approx(0.16, rel=1e-15)
    assert sums.tents[last - 1] == 0
    assert sums.tents[last - 2] > 0


@pytest.mark.parametrize("side", ["above", *DIRECTIONS])
def test_too_few_points_are_refused(side):
    loss = privacy_loss(laplace(2.0, 0.01))
    match = r"^the points (end below the largest loss|are too few for the loss) of these samples"
    with pytest.raises(ComputationFailed, match=match):
        one_step(Graded(1e-4, 2, [True]), loss, 1, side)


# --- who asks for it


def test_it_applies_to_samples_of_laplace_noise():
    assert spread.applies(total_of(laplace(2.0, 1e-3) ** 30 * ew.RandomizedResponse(0.3)))
    assert not spread.applies(total_of(laplace(2.0, 1e-3) ** 30))
    assert not spread.applies(total_of(laplace(2.0, 0.2) ** 3 * ew.RandomizedResponse(0.3)))


@pytest.mark.parametrize(
    ("mechanism", "what", "argument"),
    [
        (laplace(8.82, 5e-4) ** 28 * normal(7.3, 5e-4) ** 2 * ew.Laplace(0.91) ** 8, "delta", 8.26),
        (laplace(2.0, 1e-3) ** 5 * ew.RandomizedResponse(0.5) ** 3, "epsilon", 1e-12),
    ],
)
def test_readings_have_six_digits(mechanism, what, argument):
    reading = getattr(ew.account(mechanism), what)(argument)
    assert reading.upper - reading.lower <= 1e-6 * reading.upper
