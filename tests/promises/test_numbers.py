"""Numbers of other types stand for the doubles they are, and where an answer is exact it is given so."""

import numpy as np
import pytest

import edgeworth as ew

SIGMA, RATE, DELTA = np.float32(0.8), np.float32(0.01), np.float32(1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float64, lambda x: np.asarray(x, dtype=np.float32)])
def test_scalars_of_32_bits_mean_the_doubles_that_they_are(kind):
    given = ew.PoissonSampled(ew.Gaussian(kind(SIGMA)), kind(RATE)) ** np.int32(1_000)
    plain = ew.PoissonSampled(ew.Gaussian(float(SIGMA)), float(RATE)) ** 1_000
    assert given == plain
    assert ew.to_json(given) == ew.to_json(plain)
    found, wanted = ew.account(given).epsilon(kind(DELTA)), ew.account(plain).epsilon(float(DELTA))
    assert (found.lower, found.value, found.upper) == (wanted.lower, wanted.value, wanted.upper)
    assert isinstance(found.upper, float)


@pytest.mark.parametrize("reading", ["epsilon", "delta", "tradeoff", "power"])
def test_arrays_of_32_bits_are_read_as_the_doubles_that_they_are(reading):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(0.8), 0.01) ** 1_000)
    given = np.array([[1e-7, 1e-3], [0.02, 0.5]], dtype=np.float32)
    found, wanted = (getattr(account, reading)(values) for values in (given, given.astype(np.float64)))
    assert found.lower.dtype == np.float64
    assert np.array_equal(found.lower, wanted.lower)
    assert np.array_equal(found.upper, wanted.upper)


@pytest.mark.parametrize("steps", [1, 5])
def test_pure_privacy_of_laplace_noise_is_calibrated_by_its_largest_loss(steps):
    """n/scale <= 1 asks for a scale of n, which a search over deltas cannot see."""
    found = ew.calibrate(lambda scale: ew.Laplace(scale) ** steps, epsilon=1.0, delta=0.0)
    assert steps <= found.value <= steps * (1 + 1e-6)
    assert 1 - 1e-6 <= found.achieved["epsilon"].upper <= 1.0
