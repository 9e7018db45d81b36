"""The search on functions whose roots are known: smooth, steep, flat, broken, without a root."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.calibration.estimate import log_delta
from edgeworth.calibration.search import Search, Shape
from edgeworth.losses import TotalLoss

TOLERANCE = 1e-6


def solved(excess, start, **given):
    search = Search(excess, given.pop("low", -40.0), given.pop("high", 40.0), TOLERANCE, **given)
    search.run(start)
    return search


@given(st.floats(-30, 30), st.floats(-30, 30), st.floats(0.1, 100))
def test_a_smooth_root_takes_few_readings(root, start, slope):
    search = solved(lambda v: -slope * math.sinh((v - root) / 4), start)
    assert search.bad - 1e-15 <= root <= search.good + 1e-15
    assert search.good <= search.bad + TOLERANCE
    assert len(search.readings) <= 28


@given(st.floats(-0.01, 0.01), st.floats(0.5, 30), st.floats(-0.2, 0.2))
def test_a_good_guess_takes_four(root, slope, bend):
    def excess(v):
        return -slope * (v - root) + slope * bend * (v - root) ** 2

    search = solved(excess, 0.0, shape=Shape(-slope * 1.01, slope * bend))
    assert search.bad - 1e-15 <= root <= search.good + 1e-15
    assert search.good <= search.bad + TOLERANCE
    assert len(search.readings) <= 4


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_a_step_is_found_by_halving(root, start):
    search = solved(lambda v: math.inf if v < root else -math.inf, start)
    assert search.bad < root <= search.good <= search.bad + TOLERANCE
    assert len(search.readings) <= 60


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_plateaus_and_cliffs(root, start):
    def excess(v):
        return 5.0 if v < root - 1 else (1e-9 if v < root else (-1e-9 if v < root + 3 else -400.0))

    search = solved(excess, start)
    assert search.bad < root <= search.good <= search.bad + TOLERANCE


def test_no_root_ends_at_the_end():
    assert math.isinf(solved(lambda _: 1.0, 0.0).good)
    assert solved(lambda _: 1.0, 0.0).bad == 40.0
    assert solved(lambda _: -1.0, 0.0).good == -40.0
    assert solved(lambda v: 3 - v, 0.0, high=2.0).bad == 2.0


def test_places_that_cannot_be_read_end_the_range():
    search = solved(lambda v: 10 - v, 0.0, reach=lambda _, place: min(place, 5.0))
    assert (search.bad, search.high, search.good) == (5.0, 5.0, math.inf)


@settings(deadline=None, max_examples=8)
@given(st.floats(0.6, 3), st.floats(0.005, 0.1), st.integers(500, 20_000), st.floats(0.1, 6))
def test_the_guess_is_close(sigma, rate, n, epsilon):
    """In units of the logarithm, against the saddle point of the engines."""
    mechanism = ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n
    exact = ew.account(mechanism, direction="forward").delta(epsilon)
    if exact.lower > 0 and exact.upper < 0.999:
        assert log_delta(TotalLoss.of(mechanism), epsilon) == pytest.approx(math.log(exact.value), rel=0.15, abs=0.05)


def test_the_guess_is_exact_for_gaussian_noise():
    profile = ew.GaussianTradeOff(0.7).profile()
    for epsilon in (0.0, 0.1, 0.5, 3.0, 20.0):
        guess = log_delta(TotalLoss.of(ew.Gaussian(1 / 0.7)), epsilon)
        assert guess == pytest.approx(float(profile.log(epsilon)), rel=1e-9)
