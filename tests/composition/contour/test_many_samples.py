"""Very many dense samples of Gaussian noise: K and the mean in extended precision, and nine digits of delta."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf, pi, sqrt

import edgeworth as ew
from edgeworth.composition.contour.long_moments import _MORE_OF_PI, HAS_MORE_DIGITS, long_moments
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
from edgeworth.losses import GaussianLoss, SampledLoss

ROWS = json.loads(Path(__file__).with_name("truth_many_samples.json").read_text(encoding="utf-8"))
SPACING = 0.0625


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row["case"])))
def test_delta_contains_the_truth_and_has_nine_digits(row):
    sigma, rate, steps, direction, epsilon = row["case"]
    truth = float(row["delta"])
    ends = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps, direction=direction).delta(epsilon)
    assert ends.lower <= truth <= ends.upper
    if HAS_MORE_DIGITS:
        assert ends.upper - ends.lower <= 1e-9 * truth


def true_moments(mu, rate, c):
    """Log E_P[e^(cL)] and E_P[L e^(cL)] by a trapezoidal sum twice as fine."""
    m, p, h = mpf(mu), mpf(rate), mpf(SPACING) / 2

    def loss(x):
        return log(1 - p + p * exp(m * x - m * m / 2))

    def term(j):
        x = j * h
        return exp(-x * x / 2 + mpf(c) * loss(x)) * h / sqrt(2 * pi)

    reach = int((16 + abs(c) * mu) / float(h))
    terms = [(term(j), loss(j * h)) for j in range(-reach, reach + 1)]
    return log(sum(w for w, _ in terms)), sum(w * x for w, x in terms)


@pytest.mark.parametrize(("mu", "rate"), [(2.75, 0.278), (3.3, 0.9), (0.5, 0.01), (1.0, 0.999999)])
@pytest.mark.parametrize("c", [1 + 1.4e-5, 1.3, -0.0019, 2.5, 0.5])
def test_moments_are_within_their_errors_of_sixty_digits(mu, rate, c):
    x = SPACING * np.arange(-400, 401)
    found = long_moments(SampledGaussian(SampledLoss(GaussianLoss(mu), rate), mu, rate), c, SPACING, x)
    with mp.workdps(60):
        log_moment, mean = true_moments(mu, rate, c)
        assert abs(found.log_moment - log_moment) <= found.log_moment_error
        assert abs(found.mean - mean) <= found.mean_error
        if HAS_MORE_DIGITS and rate > 0.1:  # of rare samples terms of first order cancel
            assert found.log_moment_error <= 1e-15 * abs(log_moment)


def test_where_numbers_would_overflow_there_are_no_moments():
    sample = SampledGaussian(SampledLoss(GaussianLoss(1.0), 0.5), 1.0, 0.5)
    assert long_moments(sample, 1e4, SPACING, SPACING * np.arange(-400, 401)) is None


def test_pi_is_as_much_more_than_its_double_as_is_said():
    with mp.workdps(40):
        assert abs(float(mp.pi / mpf(math.pi) - 1) - _MORE_OF_PI) <= 1e-12 * _MORE_OF_PI
