"""Waves from the tangent of half an angle, against fifty digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.composition.contour.waves import wave_less_one

UNIT = 2.0**-53


@given(st.floats(1e-150, 1e9) | st.floats(-1e9, -1e-150))
def test_both_parts_have_all_their_digits(angle):
    found = complex(wave_less_one(np.array([angle]))[0])
    with mpmath.workdps(50):
        real, imaginary = -2 * mpmath.sin(mpmath.mpf(angle) / 2) ** 2, mpmath.sin(angle)
        assert abs(found.real - real) <= 12 * UNIT * abs(real)
        assert abs(found.imag - imaginary) <= 12 * UNIT * abs(imaginary)


@pytest.mark.parametrize("angle", [0.0, np.pi, -np.pi, 1e-300, 3 * np.pi])
def test_odd_places_are_no_exception(angle):
    found = complex(wave_less_one(np.array([angle]))[0])
    assert found == pytest.approx(complex(np.expm1(1j * angle)), rel=1e-12, abs=1e-15)


def test_one_angle_has_the_same_bits_in_every_company():
    angles = np.random.default_rng(7).normal(scale=50.0, size=501)
    together = wave_less_one(angles)
    assert all(together[i] == wave_less_one(angles[i : i + 1])[0] for i in range(angles.size))
