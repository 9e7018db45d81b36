"""Very many samples at small rates: the mean of a tilted step apart from its waves, against ball arithmetic."""

import math
import runpy
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour import prepared, tilted_part
from edgeworth.composition.contour.mean_apart import is_worth_it, wave_less_line
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.losses import GaussianLoss, SampledLoss

TRUTH = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))
characteristic, distance = TRUTH["characteristic"], TRUTH["distance"]
UNIT = 2.0**-53

#: mu, rate, tilt, steps, the last frequency, the cut, and at which height the truth is integrated
CASES = [
    (1 / 0.88, 2.19e-6, 24.07, 261_443_266, 157.0, 9.0, 0.0),
    (0.5, 1e-4, 30.0, 10**9, 1.5, math.inf, 0.0),
    (0.1, 1e-3, -20.0, 10**8, 8.0, math.inf, 0.0),
    (2.0, 1e-5, 3.0, 10**9, 0.3, math.inf, 0.0),
    (0.3, 1e-6, 1.3, 10**9, 1e3, 8.0, 0.0),
    (2.5, 1e-6, 1.7, 10**8, 100.0, 7.0, 0.3),
]


def tilted(mu, rate, c, n, last, cut):
    return tilt_part(SampledGaussian(SampledLoss(GaussianLoss(mu), rate), mu, rate, cut), n, c, last)


@given(st.floats(1e-100, 1e4), st.floats(0.0, math.pi))
def test_a_wave_without_its_line_has_all_its_digits(size, turn):
    z = size * complex(math.cos(turn), abs(math.sin(turn)))
    for angle in (np.array([z]), np.array([z.real])):
        found = complex(wave_less_line(angle)[0])
        with mpmath.workdps(60 + 2 * int(max(0.0, -math.log10(size)))):
            exact = mpmath.expm1(1j * mpmath.mpmathify(complex(angle[0]))) - 1j * mpmath.mpmathify(complex(angle[0]))
            length = abs(complex(angle[0]))
            assert abs(found - exact) <= 100 * UNIT * min(length * length / 2, 2 * length) + 1e-320


@pytest.mark.parametrize(("mu", "rate", "c", "n", "last", "cut", "height"), CASES)
def test_the_values_are_within_their_stated_errors_and_these_are_of_second_order(
    monkeypatch, mu, rate, c, n, last, cut, height
):
    monkeypatch.setattr(tilted_part, "is_worth_it", lambda *_, **__: True)
    part = tilted(mu, rate, c, n, last, cut)
    assert part.apart is not None
    values, error = part.on_even_grid(last / 400, 401)
    _, before = replace(part, apart=None).on_even_grid(last / 400, 401)
    assert n * error.max() < 1e-10
    assert np.all(error[1:] < 0.1 * before[1:])
    for number in (1, 57, 230, 400):
        t = last / 400 * number
        exact = characteristic(mu, rate, c, t, None if math.isinf(cut) else cut, height)[0]
        alone, stated = part.characteristic(np.array([t]))
        assert distance(exact, complex(values[number])) <= error[number]
        assert distance(exact, complex(alone[0])) <= stated[0]


def test_above_the_real_line_the_mean_is_apart_as_well():
    assert tilted(*CASES[-1][:-1]).raised is not None


def test_few_steps_and_large_losses_are_left_as_they_are():
    loss, weight = np.array([-1e-3, 1e-3]), np.full(2, 0.5)
    assert is_worth_it(10**9, 1.0, loss, weight)
    assert not is_worth_it(5000, 1.0, loss, weight)
    assert not is_worth_it(10**9, 1e4, loss, weight)
    assert not is_worth_it(10**6, 1e-3, loss, weight)
    assert not is_worth_it(10**9, 1e-2, loss, weight, whole=True)


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "delta", "epsilon"),
    [(0.88, 2.19e-6, 261_443_266, 3.15573e-29, 1.05739), (3.1, 4e-5, 9 * 10**8, 1e-12, 2.0)],
)
def test_nine_digits_of_very_many_samples(monkeypatch, sigma, rate, n, delta, epsilon):
    """All brackets hold: those with all waves whole, which are wider, have to overlap."""
    mechanism = ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n
    found = [account(mechanism, delta, epsilon)]
    monkeypatch.setattr(tilted_part, "is_worth_it", lambda *_, **__: False)
    found.append(account(mechanism, delta, epsilon))
    for narrow, wide in zip(*found, strict=True):
        assert narrow.upper - narrow.lower <= 1e-9 * narrow.upper
        assert max(narrow.lower, wide.lower) <= min(narrow.upper, wide.upper)


def account(mechanism, delta, epsilon):
    prepared.cache_clear()
    made = ew.account(mechanism, direction="forward")
    return made.epsilon(delta), made.delta(epsilon)
