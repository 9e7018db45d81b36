"""Very many equal steps of Laplace noise: no ulp of one step adds up, and K is cancelled exactly."""

import json
from pathlib import Path

import numpy as np
import pytest
from mpmath import diff, exp, log, mp, mpf

import edgeworth as ew
from edgeworth.composition.contour.laplace_formula import laplace_moments
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.losses import LaplaceLoss, TotalLoss, privacy_loss

ROWS = json.loads(Path(__file__).with_name("truth_many_laplace.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row["case"])))
@pytest.mark.parametrize("direction", ["forward", "both"])
def test_delta_contains_the_truth_and_has_nine_digits(row, direction):
    scale, steps, epsilon = row["case"]
    truth = float(row["delta"])
    ends = ew.account(ew.Laplace(scale) ** steps, direction=direction).delta(epsilon)
    assert ends.lower <= truth <= ends.upper
    assert ends.upper - ends.lower <= 1e-9 * truth


@pytest.mark.parametrize("theta", [1e-9, 0.003, 0.7, 5.0, 60.0])
@pytest.mark.parametrize("c", [-2.0, 0.0, 0.3, 0.5 - 2.0**-54, 0.5, 0.5 + 2.0**-53, 1.0, 1 + 1e-9, 4.0])
def test_moments_are_the_nearest_doubles(theta, c):
    def k(s):
        if s == 0.5:
            return log(1 + t / 2) - t / 2
        return log(((1 - s) * exp(-s * t) - s * exp((s - 1) * t)) / (1 - 2 * s))

    with mp.workdps(160):
        t = mpf(theta)
        log_moment, mean = laplace_moments(LaplaceLoss(theta), c)
        assert log_moment == float(k(mpf(c)))
        if c != 0.5:
            assert mean == pytest.approx(float(diff(k, mpf(c), h=mpf(10) ** -60)), rel=1e-14)
        else:
            assert mean == 0


def line_of(mechanism, threshold):
    integrals = LineAnswers(TotalLoss.of(mechanism), 0).integrals
    (rung, _), *_ = integrals.owners("delta", np.array([threshold]))
    return rung.line


def test_the_front_of_a_line_is_right_to_some_ulps_of_itself():
    """K + log(h/pi) + (pole - c) t of a line with K above 1e5, against the same in 60 digits."""
    step, n = ew.Laplace(0.363), 588_232_052
    line, t = line_of(step**n, 1.07e9), np.array([1.07e9, 1.07e9 + 1.7])
    assert line.cancels
    with mp.workdps(60):
        k = n * mpf(laplace_moments(privacy_loss(step), line.c).log_moment)
        for found, x in zip(line.exponent(1.0, t), t, strict=True):
            exact = k + (1 - mpf(line.c)) * mpf(x) + log(mpf(line.h) / mp.pi)
            assert abs(found - exact) <= 1e-13 * (1 + abs(exact))


def test_where_k_is_of_usual_size_nothing_has_to_be_cancelled():
    assert not line_of(ew.PoissonSampled(ew.Gaussian(0.8), 0.00512) ** 5000, 3.0).cancels
