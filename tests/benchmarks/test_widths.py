"""Runs drawn at random: the same ones for the same seed, held to what is promised of their kind."""

from __future__ import annotations

import math

import pytest
from benchmarks.widths import KINDS, NARROW, Reading, draw, is_promised, readings, typed

import edgeworth as ew


def reading(lower, upper, asked="epsilon", promised=NARROW):
    return Reading("any", "run", "both", asked, 0.1, lower, upper, promised, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_draws_the_same_runs_again_and_another_one_others(kind):
    assert draw(kind, 1, 0) == draw(kind, 1, 0)
    assert draw(kind, 1, 0) != draw(kind, 2, 0)


def test_a_run_of_fifty_steps_or_more_at_a_rate_that_counts_is_promised_nine_digits():
    for number in range(20):
        run = draw("DP-SGD", 3, number)
        assert run.count >= 50
        assert run.count * run.mechanism.rate**2 >= 1e-3


def test_all_three_readings_of_a_run_are_held_to_their_promise():
    found = list(readings("equal Laplace noise", 4, 0))
    assert {each.asked for each in found} <= {"epsilon", "delta", "f"}
    assert all(each.width <= each.promised for each in found if is_promised(each))
    assert all(each.lower <= each.upper for each in found)


@pytest.mark.parametrize(
    ("lower", "upper", "width"), [(1.0, 1.5, 0.5), (2.0, 2.0, 0.0), (0.0, 1.0, math.inf), (1.0, math.inf, math.inf)]
)
def test_a_width_is_relative_and_an_open_end_is_infinitely_wide(lower, upper, width):
    assert reading(lower, upper).width == width


def test_no_digits_are_promised_of_a_delta_below_1e_30():
    assert not is_promised(reading(1e-31, 1e-31, "delta"))
    assert is_promised(reading(1e-31, 1e-29, "delta"))
    assert is_promised(reading(1e-40, 1e-40, "f"))


def test_a_reading_is_printed_so_that_it_can_be_typed():
    run = ew.Laplace(2.0) ** 3 * ew.PoissonSampled(ew.Gaussian(1.5), 0.01)
    assert typed(run) == "Laplace(2.0) ** 3 * PoissonSampled(Gaussian(1.5), 0.01)"
