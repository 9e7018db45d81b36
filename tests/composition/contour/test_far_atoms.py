"""Atoms far from 0 beside a narrow bulk: their transform at high frequencies, against fifty digits."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.losses import TotalLoss


def truth(epsilon, c, t):
    """E[e^(itL)] - 1 of a response, tilted by c: L = epsilon with e^eps/(1 + e^eps) under Q, else -epsilon."""
    e = mpmath.mpf(epsilon)
    masses = [mpmath.exp(c * e - e), mpmath.exp(-c * e)]
    turned = [mpmath.expm1(1j * mpmath.mpf(t) * place) for place in (e, -e)]
    return sum(m * z for m, z in zip(masses, turned, strict=True)) / sum(masses)


@given(epsilon=st.floats(0.01, 12.0), log_c=st.floats(-1.0, 9.0), log_t=st.floats(-3.0, 13.0), left=st.booleans())
def test_the_transform_is_within_its_stated_error(epsilon, log_c, log_t, left):
    c = -math.exp(log_c) if left else 1 + math.exp(log_c)
    t = math.exp(log_t)
    (step, _), *_ = TotalLoss.of(ew.RandomizedResponse(epsilon)).parts
    part = tilt_part(step, 1, c, t)
    value, error = part.characteristic(np.array([t]))
    grid, errors = part.on_even_grid(t / 60, 64)
    with mpmath.workdps(50):
        assert abs(truth(epsilon, mpmath.mpf(c), t) - complex(value[0])) <= error[0]
        for k in (1, 7, 60):
            assert abs(truth(epsilon, mpmath.mpf(c), t / 60 * k) - complex(grid[k])) <= errors[k]


def test_noise_of_the_weights_does_not_grow_with_the_frequency():
    (step, _), *_ = TotalLoss.of(ew.RandomizedResponse(5.0)).parts
    part = tilt_part(step, 2, 6000.0, 1e4)
    errors = part.characteristic(np.array([1.0, 1e4]))[1]
    assert errors[1] < 2 * errors[0]


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        (ew.PoissonSampled(ew.Gaussian(19.2), 9.2e-4) ** 1290 * ew.DiscreteLaplace(0.896) ** 2, 2.25),
        (ew.PoissonSampled(ew.Gaussian(7.54), 2.48e-5) ** 6_751_840 * ew.DiscreteLaplace(0.605) ** 18, 29.8),
    ],
)
def test_dense_samples_beside_far_atoms_have_nine_digits(mechanism, epsilon):
    found = ew.account(mechanism).delta(epsilon)
    assert 0 < found.upper - found.lower < 1e-9 * found.upper
