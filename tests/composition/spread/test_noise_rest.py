"""Samples of Gaussian noise beside Laplace noise and samples of it, which have points of their own."""

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, lattice, residues, spread
from edgeworth.composition.spread import noise_rest
from edgeworth.composition.spread.noise_rest import NoiseRest
from edgeworth.losses import TotalLoss

DIRECTIONS = ["forward", "backward"]


def laplace(theta, rate):
    return ew.PoissonSampled(ew.Laplace(1 / theta), rate=rate)


def gaussian(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate)


def overlap(one, other):
    return np.all((one.lower <= other.upper) & (other.lower <= one.upper))


def true_profile(theta, rate, epsilon, direction):
    """E[(X - e^eps)_+], or E[(1 - e^eps X)_+], of one sample: X = 1 - p + p e^x, of x two atoms and a density."""

    def gain(x):
        ratio = 1 - rate + rate * mpmath.exp(x)
        return max(ratio - mpmath.exp(epsilon) if direction == "forward" else 1 - mpmath.exp(epsilon) * ratio, 0)

    ratio = mpmath.exp(epsilon if direction == "forward" else -epsilon)
    turn = mpmath.log((ratio - 1 + rate) / rate) if ratio > 1 - rate else -theta
    places = sorted({-theta, min(max(turn, -theta), theta), theta})
    inner = mpmath.quad(lambda x: gain(x) * mpmath.exp(-(x + theta) / 2) / 4, places)
    return gain(-theta) / 2 + gain(theta) * mpmath.exp(-theta) / 2 + inner


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("theta", "rate"), [(2.7, 0.094), (0.19, 0.15), (1.0, 0.9), (0.5, 1e-3)])
def test_the_profile_of_one_sample_is_enclosed(theta, rate, direction):
    total = TotalLoss.of(laplace(theta, rate))
    top = total.support[1] if direction == "forward" else -total.support[0]
    epsilon = np.array([-0.7, -0.2, 0.0, 0.31, 0.77, 0.98]) * top
    ends = NoiseRest(total).ends(direction, epsilon)
    with mpmath.workdps(30):
        exact = (mpmath.mpf(1) / float(1 / theta), mpmath.mpf(rate))
        truth = [float(true_profile(*exact, mpmath.mpf(e), direction)) for e in epsilon.tolist()]
    assert np.all((ends.lower <= np.array(truth) * (1 + 1e-14)) & (np.array(truth) * (1 - 1e-14) <= ends.upper))
    assert np.all(ends.upper[:5] - ends.lower[:5] <= 1e-6 * ends.upper[:5])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("steps", "width"), [(ew.Laplace(2.0) ** 4, 1e-6), (ew.Laplace(2.0) ** 3 * ew.Laplace(5.0), 1e-4)]
)
def test_the_profile_of_laplace_noise_meets_the_residues(steps, width, direction):
    """Of two scales only one has its atoms on points: next to those of the other there are fewer digits."""
    total = TotalLoss.of(steps)
    epsilon = np.array([-1.0, 0.0, 0.3, 0.9, 1.5, 1.69, 1.7, 1.8])
    ends, truth = NoiseRest(total).ends(direction, epsilon), residues.prepared(total).delta(direction, epsilon)
    assert overlap(ends, truth)
    assert np.all(ends.upper[:5] - ends.lower[:5] <= width * ends.upper[:5])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "steps",
    [
        laplace(1 / 6.44, 0.499) ** 6 * gaussian(2.21, 0.02) ** 9,
        laplace(1.2, 0.081) ** 5 * gaussian(0.661, 0.0101) ** 2,
        laplace(0.2, 0.15) * ew.Laplace(3.0) * gaussian(3.0, 0.1) ** 4,
    ],
)
def test_graded_points_beside_noise_meet_other_engines(steps, direction):
    total = TotalLoss.of(steps)
    assert spread.applies(total)
    epsilon = np.array([0.05, 0.3, 0.6])
    ends = spread.prepared(total).delta(direction, epsilon)
    assert overlap(ends, lattice.prepared(total).delta(direction, epsilon))
    if contour.applies(total):
        assert overlap(ends, contour.prepared(total).delta(direction, epsilon))


@pytest.mark.parametrize(
    ("steps", "delta"),
    [
        (laplace(1 / 0.369, 0.094) ** 3 * gaussian(8.26, 3e-5) ** 7, 5e-31),
        (laplace(1 / 5.26, 0.15) * gaussian(8.65, 9e-4) ** 6, 1e-16),
        (laplace(1 / 0.439, 0.241) ** 5 * gaussian(0.686, 1.05e-5) ** 2, 5e-28),
    ],
)
def test_samples_of_both_kinds_have_six_digits(steps, delta):
    found = ew.account(steps).epsilon(delta=delta)
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_points_are_for_few_steps_of_laplace_noise():
    assert not noise_rest.applies(TotalLoss.of(ew.Laplace(0.1) ** 100))
    assert not noise_rest.applies(TotalLoss.of(ew.Gaussian(1.0)))
    assert not noise_rest.applies(TotalLoss(()))
    assert spread.has_noise_alone(TotalLoss.of(laplace(1.0, 0.3) * gaussian(1.0, 1e-4)))
    assert not spread.has_noise_alone(TotalLoss.of(ew.RandomizedResponse(1.0) * gaussian(1.0, 1e-4)))
