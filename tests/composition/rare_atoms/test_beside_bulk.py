"""Other steps beside a bulk: transforms against formulas in 40 digits, and readings against sums over all pairs."""

import math

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import spread
from edgeworth.composition.rare_atoms import few_samples
from edgeworth.composition.rare_atoms.beside_bulk import Beside
from edgeworth.composition.rare_atoms.jumping_atoms import JumpingAtoms, Split
from edgeworth.composition.rare_atoms.laplace_wave import laplace_wave
from edgeworth.composition.rare_atoms.merged_tails import merged
from edgeworth.composition.rare_atoms.smooth_bulk import SmoothBulk, StepLaw
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues, TotalLoss

DIRECTIONS = ("forward", "backward")


def moment(s, theta):
    """E[e^(sL)] of Laplace noise: both atoms and the density."""
    density = mpmath.exp(-theta / 2) / 4 * (mpmath.exp((s - 0.5) * theta) - mpmath.exp((0.5 - s) * theta)) / (s - 0.5)
    return mpmath.exp(-s * theta) / 2 + mpmath.exp((s - 1) * theta) / 2 + density


@pytest.mark.parametrize(
    ("theta", "tilt", "h", "size"),
    [(0.3, 1.5, 1e-4, 2**14), (2.0, 30.0, 1e-3, 2**12), (1e-3, 500.0, 1e-6, 2**13), (5.0, 1.001, 1e-2, 2**12)],
)
def test_the_wave_of_laplace_noise_is_its_formula_but_for_an_ulp_of_its_place(theta, tilt, h, size):
    wave = laplace_wave(theta, tilt, h, size)
    with mpmath.workdps(40):
        near = (wave.first + mpmath.mpf(theta / h - wave.first)) * mpmath.mpf(h)  # theta, as the points see it
        assert abs(near - theta) <= 2.0**-52 * theta
        c = mpmath.mpf(tilt)
        for number in (0, 1, 7, 100, size // 2 - 1, size // 2):
            t = 2 * mpmath.pi * number / (size * mpmath.mpf(h))
            exact = moment(mpmath.mpc(c, -t), near) / moment(c, near) * mpmath.expj(t * wave.first * mpmath.mpf(h))
            assert abs(complex(exact) - wave.values[number]) <= wave.error
        assert wave.log_scale == pytest.approx(float(mpmath.log(moment(c, theta))), abs=1e-14 * (1 + tilt * theta))
        for s in (-3.0, 0.0, 0.25, 0.4999, 0.50001, 1.0, 1.7, 40.0):
            exact = mpmath.log(moment(mpmath.mpf(s), theta))
            assert exact <= wave.log_moment(s) <= exact + 2e-13 * (1 + abs(s) * theta)


def laplace_profile(t, theta):
    return np.where(t >= theta, 0.0, np.where(t > -theta, -np.expm1((t - theta) / 2), -np.expm1(t)))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_bulk_with_others_beside_it_encloses_the_sum_over_all_sequences(backward, steps):
    theta, response = 0.4, 0.25
    place = np.log1p(0.02 * np.expm1(np.array([-2.3, -0.4, 0.2, 0.9, 2.4])))
    mass = np.array([0.2, 0.3, 0.25, 0.15, 0.1])
    law = StepLaw(place - math.log(float(mass @ np.exp(place))), np.log(mass), 1e-17)
    others = TotalLoss.of(ew.Laplace(1 / theta) * ew.RandomizedResponse(response)).parts
    made = SmoothBulk(law.mirrored() if backward else law, 3, 30.0, 1e-5, Beside(tuple(others), mirrored=backward))
    all_steps = PairedValues(np.zeros(1), np.zeros(1))
    for one in [PairedValues(law.place, law.log_mass)] * steps:
        all_steps = all_steps.times(one)
    likely = 1 / (1 + math.exp(-response))
    response_law = PairedValues(np.array([-response, response]), np.log([likely, 1 - likely]))
    listed = all_steps.times(response_law)
    t = np.linspace(-0.3, 0.66, 60)
    sign = 1 if backward else -1
    weight = np.exp(listed.log_mass + (0.0 if backward else 1.0) * listed.place)
    exact = np.array([float(weight @ laplace_profile(x + sign * listed.place, theta)) for x in t.tolist()])
    ends = made.delta(steps, t)
    assert np.all(ends.lower <= exact * (1 + 1e-11) + 1e-15)
    assert np.all(exact <= ends.upper * (1 + 1e-11) + 1e-15)
    known = (ends.upper < 1) & (exact > 1e-9)
    assert np.count_nonzero(known) > 30
    assert np.median((ends.upper - ends.lower)[known] / exact[known]) < 2e-4


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_where_all_samples_jump_the_others_are_still_there(direction):
    """Against a list of all runs beside the rest; without what is beside all jumps .06 of delta would be missing."""
    sample = ew.PoissonSampled(ew.DiscreteGaussian(0.8), rate=0.05)
    total = TotalLoss.of(sample**2 * ew.Laplace(2.0) * ew.RandomizedResponse(0.3))
    found = merged(total, 60.0)
    epsilon = np.array([-0.2, 0.1, 0.5, 0.82, 1.5])
    truth = spread.prepared_runs(total).delta(direction, epsilon)
    (number,) = few_samples.jumping_parts(found.total)
    for kept in (6, 9):
        made = JumpingAtoms(found.total, Split(number, kept), (60.0, 1e-6), few_samples._Bulks(60.0, 1e-5))
        assert len(made._runs) == 3
        ends = made.delta(direction, epsilon)
        assert np.all(ends.lower <= truth.upper * (1 + 1e-12))
        assert np.all(truth.lower <= (ends.upper + max(found.null, found.alternative)) * (1 + 1e-12))
        assert np.all((ends.upper - ends.lower)[:2] <= 1e-3 * ends.upper[:2])


def test_beside_a_bulk_losses_are_finite():
    for mechanism in (ew.Gaussian(1.0), ew.DiscreteGaussian(1.0), ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1)):
        with pytest.raises(Unsupported, match=r"^what is beside a bulk has finite losses$"):
            Beside(TotalLoss.of(mechanism).parts)
