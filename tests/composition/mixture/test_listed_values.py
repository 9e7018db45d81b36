"""Few values beside steps that are wide, or hardly ever far out: a mixture against other engines and plain bounds."""

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, mixture, spread
from edgeworth.composition.aim import Aim
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.mixture.apart import _by_steps
from edgeworth.composition.moments import prepared as tilted_moments
from edgeworth.composition.narrowed import _over_listed_values
from edgeworth.losses import TotalLoss

DIRECTIONS = ("forward", "backward")


def rare(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate)


RUNS = [
    (ew.DiscreteLaplace(0.5) ** 3 * ew.Laplace(2.0) ** 5 * rare(1.5, 0.01) ** 40, contour.prepared),
    (ew.RandomizedResponse(1.3, categories=3) ** 5 * ew.Laplace(3.0) ** 4 * rare(2.0, 0.001) ** 2, spread.prepared),
    (ew.RandomizedResponse(2.5) ** 9 * rare(20.0, 0.3) ** 70 * ew.Gaussian(4.0), contour.prepared),
]


@pytest.mark.parametrize(("run", "other"), RUNS, ids=["lines", "points", "dense"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_mixture_over_listed_values_agrees_with_another_engine(run, other, direction):
    total = TotalLoss.of(run)
    mixed, others = _over_listed_values(total, Aim()), other(total)
    epsilon = np.array([0.1, 1.7, 4.0])
    found, known = mixed.delta(direction, epsilon), others.delta(direction, epsilon)
    assert np.all((found.lower <= known.upper) & (known.lower <= found.upper))
    assert np.all(found.upper - found.lower <= 1e-7 * found.upper)


def test_f_of_a_mixture_over_listed_values_agrees_with_lines():
    run, other = RUNS[2]
    total, alpha = TotalLoss.of(run), np.array([1e-10, 0.003])
    found = _over_listed_values(total, Aim()).tradeoff("backward", alpha)
    known = ByProfile(other(total), 1e-6).tradeoff("backward", alpha)
    assert np.all((found.lower <= known.upper) & (known.lower <= found.upper))
    assert np.all(found.upper - found.lower <= 1e-6 * found.upper)


def test_what_hardly_ever_happens_moves_f_by_no_more_than_how_often():
    """A test of all of it has, for the few-valued steps alone, an error of each kind larger by what is rare at most."""
    values, samples = ew.DiscreteGaussian(1.34) ** 4, rare(2.21, 2.09e-6) ** 4
    alpha, often = 0.222, ew.account(samples, direction="forward").delta(0.0).upper
    found = ew.account(values * samples, direction="forward").tradeoff(alpha)
    alone = ew.account(values, direction="forward")
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert alone.tradeoff(alpha + often).lower - often <= found.upper
    assert found.lower <= alone.tradeoff(alpha).upper


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_far_out_of_rare_samples_a_glance_is_enough(direction):
    total = TotalLoss.of(rare(2.21, 2.09e-6) ** 4)
    glance = _by_steps(total, tilted_moments(total), 2e-6)
    places = np.array([-0.5, -1e-3, 1e-6, 1e-4, 1e-3, 0.5])
    least, most = glance(direction, places, np.zeros(places.size))
    true = ew.account(rare(2.21, 2.09e-6) ** 4, direction=direction).delta(places)
    assert np.all((least <= true.upper) & (true.lower <= most))
    assert np.all(most[-2:] - least[-2:] <= 1e-20)


WIDE = [
    (  # a narrow window beyond the support of Laplace noise, among values far apart
        ew.DiscreteLaplace(0.308) ** 8
        * ew.DiscreteGaussian(0.719) ** 2
        * ew.Laplace(2.08) ** 27
        * rare(0.732, 4.85e-6) ** 3
        * ew.PoissonSampled(ew.Laplace(1.03), 1.73e-6) ** 19,
        "forward",
        "delta",
        48.1,
    ),
    (
        rare(29.5, 0.377) ** 70
        * ew.RandomizedResponse(0.0282, categories=5) ** 9
        * ew.Gaussian(4.13)
        * ew.RandomizedResponse(2.98, categories=3) ** 33,
        "backward",
        "tradeoff",
        1.941e-10,
    ),
]


@pytest.mark.parametrize(("run", "direction", "asked", "argument"), WIDE, ids=["support", "dense"])
def test_auto_has_six_digits_where_only_the_mixture_has(run, direction, asked, argument):
    found = getattr(ew.account(run, direction=direction), asked)(argument)
    assert 0 < found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("run", "direction", "delta"),
    [
        (
            ew.Gaussian(22.4) ** 85
            * ew.DiscreteGaussian(0.311) ** 4
            * ew.Laplace(8.98) ** 2
            * ew.RandomizedResponse(0.041) ** 2,
            "forward",
            2.9e-80,
        ),
        (
            rare(8.38, 0.00246) ** 192 * ew.DiscreteGaussian(0.7) * ew.RandomizedResponse(0.12, categories=3) ** 2,
            "backward",
            1.97e-96,
        ),
    ],
    ids=["noise", "samples"],
)
def test_beside_gaussian_noise_or_dense_samples_of_it_epsilon_has_nine_digits(run, direction, delta):
    found = ew.account(run, direction=direction).epsilon(delta)
    assert found.upper - found.lower <= 1e-9 * found.upper
    lines = contour.prepared(TotalLoss.of(run)).epsilon(direction, np.array([delta]))
    assert lines.lower[0] <= found.upper
    assert found.lower <= lines.upper[0]


def test_what_has_no_such_values_or_nothing_else_is_no_mixture():
    values, noise = ew.RandomizedResponse(1.0) ** 3, ew.Laplace(1.0) ** 3
    totals = [TotalLoss.of(run) for run in (values, noise, values * noise, ew.PoissonSampled(values.mechanism, 0.1))]
    assert [mixture.may_list_values(total) for total in totals] == [False, False, True, False]
    assert [mixture.listed_values(total) is None for total in totals] == [True, True, False, True]
