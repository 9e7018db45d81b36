"""Gaussian noise, in any number of steps, beside steps with atoms: one formula for every value, against 60 digits."""

import itertools
import math

import mpmath
import pytest

import edgeworth as ew
from edgeworth.composition import mixture
from edgeworth.losses import TotalLoss

DIRECTIONS = ("forward", "backward")


def normal_profile(mu, epsilon):
    """delta of Gaussian noise, in fifty digits."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)


def discrete_gaussian(scale):
    """Losses of one step and their masses under P."""
    scale = mpmath.mpf(scale)
    weight = {k: mpmath.exp(-(k**2) / (2 * scale**2)) for k in range(-60, 61)}
    whole = mpmath.fsum(weight.values())
    return [((2 * k - 1) / (2 * scale**2), weight[k] / whole) for k in weight]


def responses(epsilon, n):
    epsilon = mpmath.mpf(epsilon)
    yes, no = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon)), 1 / (1 + mpmath.exp(epsilon))
    return [((2 * k - n) * epsilon, math.comb(n, k) * no**k * yes ** (n - k)) for k in range(n + 1)]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("delta", [1e-5, 1e-30, 1e-80, 1.79e-95, 1e-100])
def test_gaussian_noise_between_atoms_far_apart_has_nine_digits(delta, direction):
    """Six steps of it beside responses and discrete noise: a line has three digits there, and 1e-100 had none."""
    mix = ew.RandomizedResponse(1.68) ** 9 * ew.Gaussian(40.0) ** 6 * ew.DiscreteGaussian(0.602)
    found = ew.account(mix, direction=direction).epsilon(delta)
    assert found.upper - found.lower <= 1e-9 * found.upper
    with mpmath.workdps(60):
        mu, turn = mpmath.sqrt(6) / 40, -1 if direction == "forward" else 1
        for end, side in ((found.lower, 1), (found.upper, -1)):
            exact = mpmath.fsum(
                p
                * q
                * (mpmath.exp(one + other) if direction == "forward" else 1)
                * normal_profile(mu, end + turn * (one + other))
                for one, p in responses(1.68, 9)
                for other, q in discrete_gaussian(0.602)
            )
            assert side * exact >= side * mpmath.mpf(delta)


def test_gaussian_noise_beside_values_is_one_formula_in_any_number():
    noise, values = ew.Gaussian(3.0) ** 4 * ew.Gaussian(1.5), ew.RandomizedResponse(0.7) ** 3
    one = ew.GaussianDP(math.sqrt(4 / 9 + 1 / 2.25))
    many, single = (mixture.prepared(TotalLoss.of(run)) for run in (noise * values, one * values))
    for direction, epsilon in itertools.product(DIRECTIONS, (-1.0, 0.0, 0.4, 3.0)):
        ends, other = many.at(direction, epsilon), single.at(direction, epsilon)
        assert ends[0] <= other[1]
        assert other[0] <= ends[1]
        assert ends[1] - ends[0] <= 1e-11 * ends[1]
