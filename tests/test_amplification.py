"""The loss of a sample and its inverse, against 40 digits, at rates and losses at which a difference would cancel."""

import mpmath
import numpy as np
import pytest

from edgeworth.amplification import above_least, base_loss, sampled_loss

RATES = [1e-120, 1e-9, 1e-6, 0.01, 0.3, 0.5, 0.51, 0.9, 1 - 1e-6, 1 - 1e-12]


@pytest.mark.parametrize("rate", RATES)
def test_the_loss_of_a_sample_has_all_digits(rate):
    base = np.array([-800.0, -40.0, -20.0, -3.0, -0.7, -1e-3, -1e-9, 1e-9, 0.3, 5.0, 50.0, 699.0, 701.0, 1e4])
    for given, found in zip(base, sampled_loss(base, rate), strict=True):
        with mpmath.workdps(500):
            truth = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(float(given))))
            assert abs(mpmath.mpf(float(found)) - truth) <= mpmath.mpf(4e-16) * 4 * abs(truth)


@pytest.mark.parametrize("rate", RATES)
def test_the_loss_of_the_base_has_all_digits_up_to_its_end(rate):
    least = float(np.log1p(-rate))
    near = [least + k * np.spacing(least) for k in range(-3, 4)]  # an ulp of the argument is much there
    loss = np.concatenate([near, least * np.array([0.999, 0.9, 0.6, 0.5, 0.4, 0.1, 0.03, 0.01])])
    loss = np.concatenate([loss, [1e-9, 0.3, 5.0, 50.0, 1e4]])
    for given, found, above in zip(loss, base_loss(loss, rate), above_least(loss, rate), strict=True):
        with mpmath.workdps(500):
            l, p = mpmath.mpf(float(given)), mpmath.mpf(rate)
            assert abs(mpmath.mpf(float(above)) - (l - mpmath.log1p(-p))) <= mpmath.mpf(5e-16) * abs(above)
            if above <= 0:
                assert found == -np.inf
            else:
                truth = mpmath.log1p(mpmath.expm1(l) / p)
                assert abs(mpmath.mpf(float(found)) - truth) <= mpmath.mpf(1e-15) * abs(truth)
    assert base_loss(np.array([least - 1.0]), rate).tolist() == [-np.inf]
