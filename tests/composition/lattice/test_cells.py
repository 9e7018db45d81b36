"""The cells of one step: masses and means are kept, and every share is accurate relative to itself."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.lattice.cells import cells, period
from edgeworth.composition.lattice.plan import common_step
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import DensityPairLoss, GaussianLoss, TotalLoss, privacy_loss

LOSSES = {
    "gaussian": (ew.Gaussian(1.0), 1e-2, (-9.0, 9.0)),
    "laplace": (ew.Laplace(0.7), 0.013, (-9.0, 9.0)),
    "sampled gaussian": (ew.PoissonSampled(ew.Gaussian(0.8), 0.05), 1e-3, (-9.0, 9.0)),
    "coarse sample": (ew.PoissonSampled(ew.Gaussian(1.0), 1e-4), 1e-3, (-9.0, 9.0)),
    "faint sample": (ew.PoissonSampled(ew.Gaussian(50.0), 0.2), 1e-4, (-9.0, 0.1)),
    "sampled laplace": (ew.PoissonSampled(ew.Laplace(0.5), 0.1), 1e-3, (-9.0, 9.0)),
    "replaced": (ew.PoissonSampled(ew.Gaussian(1.0), 0.1, adjacency="replace"), 1e-3, (-4.0, 5.0)),
    "replaced laplace": (ew.PoissonSampled(ew.Laplace(0.25), 0.3, adjacency="replace"), 1e-3, (-4.0, 5.0)),
    "clipped": (ew.PoissonSampled(ew.Gaussian(0.5), 0.1, adjacency="replace", clipped=True), 1e-3, (-4.0, 5.0)),
    "response": (ew.RandomizedResponse(0.3), 0.6 / 64, (-9.0, 9.0)),
    "response off the points": (ew.RandomizedResponse(0.3), 0.0071, (-9.0, 9.0)),
    "discrete": (ew.DiscreteGaussian(scale=3.0, sensitivity=2), 2 / 9, (-9.0, 9.0)),
    "sampled discrete": (ew.PoissonSampled(ew.DiscreteLaplace(scale=2.0, sensitivity=3), 0.3), 1e-3, (-9.0, 9.0)),
}


def totals(made):
    """P- and Q-mass of everything, inside and outside."""
    points = made.points
    logs = np.concatenate([made.log_left, made.log_right, made.log_atoms])
    place = np.concatenate([points[:-1], points[1:], points])
    return (
        math.fsum([*np.exp(logs), made.below[0], made.above[0]]),
        math.fsum([*np.exp(logs + place), made.below[1], made.above[1]]),
    )


@pytest.mark.parametrize("name", LOSSES)
def test_mass_and_mean_are_kept(name):
    mechanism, h, reach = LOSSES[name]
    null, alternative = totals(cells(privacy_loss(mechanism), h, reach))
    assert null == pytest.approx(1.0, rel=2e-14, abs=0)
    assert alternative == pytest.approx(1.0, rel=2e-14, abs=0)


@pytest.mark.parametrize("name", ["replaced", "clipped", "replaced laplace"])
@pytest.mark.parametrize("reach", [(0.5, 0.6), (-0.6, -0.5), (-0.3, 0.0), (0.0, 0.3), (-0.2, 0.5), (3.0, 3.001)])
def test_a_range_on_one_side_has_the_cells_of_the_whole_and_no_others(name, reach):
    loss = privacy_loss(LOSSES[name][0])
    some, whole = cells(loss, 1e-3, reach), cells(loss, 1e-3, (-4.0, 4.0))
    assert some.log_left.size <= 1e3 * (reach[1] - reach[0]) + 3
    at = some.first - whole.first
    kept = slice(at, at + some.log_left.size)
    assert some.log_left == pytest.approx(whole.log_left[kept], abs=1e-11)
    assert some.log_right == pytest.approx(whole.log_right[kept], abs=1e-11)
    assert np.array_equal(some.log_atoms, whole.log_atoms[at : at + some.log_atoms.size])
    null, alternative = totals(some)
    assert null == pytest.approx(1.0, rel=1e-11, abs=0)
    assert alternative == pytest.approx(1.0, rel=1e-11, abs=0)


@given(
    sigma=st.floats(0.2, 100.0), rate=st.floats(1e-6, 0.999), steps=st.integers(1, 400), reach=st.floats(0.001, 30.0)
)
def test_samples_keep_mass_and_mean_at_every_step(sigma, rate, steps, reach):
    made = cells(privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate)), reach / steps, (-math.inf, reach))
    null, alternative = totals(made)
    assert null == pytest.approx(1.0, rel=1e-12, abs=0)
    assert alternative == pytest.approx(1.0, rel=1e-12, abs=0)


@pytest.mark.parametrize(("sigma", "rate", "h"), [(1.0, 0.1, 1e-3), (0.5, 1e-3, 1e-5), (20.0, 0.3, 1e-3)])
def test_shares_of_a_sample_to_many_digits(sigma, rate, h):
    made = cells(privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate)), h, (-1.0, 300 * h))
    with mpmath.workdps(120):
        mu, p, offset = 1 / mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.log1p(-mpmath.mpf(rate))

        def x_of(k):
            return mpmath.log((mpmath.exp(offset + k * mpmath.mpf(h)) - 1 + p) / p) / mu + mu / 2 if k else -mpmath.inf

        for k in (0, 1, 7, 40, made.log_left.size - 1):
            low, high = mpmath.exp(offset + k * mpmath.mpf(h)), mpmath.exp(offset + (k + 1) * mpmath.mpf(h))
            start, end = x_of(k), x_of(k + 1)
            null = mpmath.ncdf(end) - mpmath.ncdf(start)
            alternative = (1 - p) * null + p * (mpmath.ncdf(end - mu) - mpmath.ncdf(start - mu))
            right = (alternative - low * null) / (high - low)
            for computed, exact in ((made.log_right[k], right), (made.log_left[k], null - right)):
                # a logarithm of -8000 has an ulp of 1e-12; masses that small count for nothing
                assert computed == pytest.approx(float(mpmath.log(exact)), abs=made.error + 4e-16 * abs(computed))


@pytest.mark.parametrize(
    ("sigma", "rate", "h"), [(0.5, 0.1, 1e-3), (0.3, 1e-4, 1e-6), (10.0, 0.3, 1e-4), (1.0, 0.9, 0.05), (0.05, 0.2, 1.0)]
)
def test_shares_of_a_clipped_record_to_many_digits(sigma, rate, h):
    made = cells(
        privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate, "replace", clipped=True)), h, (-9 * h, 70 * h)
    )
    with mpmath.workdps(120):
        a, p, step = 1 / mpmath.mpf(sigma) / 2, mpmath.mpf(rate), mpmath.mpf(h)

        def ratio(x):
            return (1 - p + p * mpmath.exp(a * x - a**2 / 2)) / (1 - p + p * mpmath.exp(-a * x - a**2 / 2))

        def x_of(k):
            half = abs(k) * step / 2
            x = (half + mpmath.asinh((1 - p) / p * mpmath.exp(a**2 / 2) * mpmath.sinh(half))) / a
            assert abs(ratio(x) / mpmath.exp(abs(k) * step) - 1) < mpmath.mpf(10) ** -60
            return x if k >= 0 else -x

        def mass(start, end, mean):
            return mpmath.erfc((start - mean) / mpmath.sqrt(2)) / 2 - mpmath.erfc((end - mean) / mpmath.sqrt(2)) / 2

        for k in (-9, -1, 0, 1, 30, 69):
            low, high, start, end = mpmath.exp(k * step), mpmath.exp((k + 1) * step), x_of(k), x_of(k + 1)
            null, alternative = ((1 - p) * mass(start, end, 0) + p * mass(start, end, mean) for mean in (-a, a))
            right = (alternative - low * null) / (high - low)
            for computed, exact in ((made.log_right[k + 9], right), (made.log_left[k + 9], null - right)):
                assert computed == pytest.approx(float(mpmath.log(exact)), abs=made.error + 4e-16 * abs(computed))


@pytest.mark.parametrize("place", [0.3, 2.0, 7.0])
def test_what_lies_outside_by_forty_digits(place):
    made = cells(privacy_loss(ew.PoissonSampled(ew.Gaussian(1.0), 0.01)), place / 1000, (-1.0, place))
    with mpmath.workdps(40):
        end, p = mpmath.mpf(made.offset) + made.last * mpmath.mpf(made.h), mpmath.mpf(0.01)
        x = mpmath.log((mpmath.exp(end) - 1 + p) / p) + mpmath.mpf(1) / 2
        null, alternative = mpmath.ncdf(-x), (1 - p) * mpmath.ncdf(-x) + p * mpmath.ncdf(1 - x)
        truth = null, alternative, alternative - mpmath.exp(end) * null
        for computed, exact in zip(made.above, truth, strict=True):
            assert computed == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize(("sigma", "rate", "place"), [(10.0, 0.01, -0.005), (1.0, 0.1, -0.05), (20.0, 0.5, -0.2)])
def test_what_lies_left_of_the_range_of_a_sample_by_forty_digits(sigma, rate, place):
    made = cells(privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate)), -math.log1p(-rate) / 1000, (place, 1.0))
    with mpmath.workdps(40):
        end, p, mu = mpmath.mpf(made.points[0]), mpmath.mpf(rate), 1 / mpmath.mpf(sigma)
        x = mpmath.log((mpmath.expm1(end) + p) / p) / mu + mu / 2
        null = mpmath.ncdf(x)
        alternative = (1 - p) * null + p * mpmath.ncdf(x - mu)
        truth = null, alternative, null - mpmath.exp(-end) * alternative
        for computed, exact in zip(made.below, truth, strict=True):
            assert computed == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_atoms_on_points_stay_there():
    made = cells(privacy_loss(ew.Laplace(2.0)), 1.0 / 128, (-9.0, 9.0))
    assert np.flatnonzero(np.isfinite(made.log_atoms)).tolist() == [0, 128]
    assert made.log_atoms[[0, -1]] == pytest.approx([-math.log(2), -0.5 - math.log(2)], rel=1e-15)
    response = cells(privacy_loss(ew.RandomizedResponse(1.0)), 0.5, (-9.0, 9.0))
    assert not np.isfinite(response.log_left).any()
    assert np.flatnonzero(np.isfinite(response.log_atoms)).tolist() == [0, 4]


def test_the_length_that_steps_must_divide():
    assert period(privacy_loss(ew.Laplace(2.0))) == 1.0
    assert period(privacy_loss(ew.RandomizedResponse(0.25))) == 0.5
    assert period(privacy_loss(ew.Gaussian(1.0))) is None


def test_laws_without_cells_are_refused():
    from scipy import stats  # noqa: PLC0415 - slow to import

    with pytest.raises(Unsupported, match=r'^method="lattice" knows no cells for DensityPairLoss; use method="auto", '):
        cells(DensityPairLoss(stats.norm(0, 1), stats.norm(1, 1)), 0.1, (-1.0, 1.0))
    with pytest.raises(
        Unsupported, match=r'^method="lattice" resolves Gaussian noise up to mu = 30, here mu = 40; use '
    ):
        cells(GaussianLoss(40.0), 0.1, (-1.0, 1.0))


def test_a_short_range_far_from_where_a_sample_begins_makes_no_billion_of_cells():
    """All cells from 0 on are made of a coarse sample, however far right its range is."""
    loss = privacy_loss(ew.PoissonSampled(ew.Gaussian(0.2145), 2.15e-67))
    with pytest.raises(ComputationFailed, match=r"^a step of 1e-13 makes too many cells$"):
        cells(loss, 1e-13, (1e-4 - 1e-10, 1e-4))
    assert cells(loss, 1e-10, (1e-4 - 1e-7, 1e-4)).log_left.size == pytest.approx(1e6, rel=1e-3)


@pytest.mark.parametrize(("scale", "response"), [(2.33, 1.28), (2.0, 0.7), (0.75, 1.6), (1.25, 0.32)])
@pytest.mark.parametrize("parts", [1, 2, 6])
def test_no_atom_is_lost_at_a_common_step_that_is_rounded(scale, response, parts):
    """The end of the support is a multiple of the step but for rounding, and the atom there is on the last point."""
    total = TotalLoss.of(ew.Laplace(scale) * ew.RandomizedResponse(response))
    step, _ = common_step(total.parts)
    for loss, _ in total.parts:
        made = cells(loss, step / parts, loss.support)
        whole = np.concatenate([made.log_left, made.log_right, made.log_atoms])
        assert np.exp(np.logaddexp.reduce(whole)) == pytest.approx(1.0, abs=1e-9)


def test_laplace_noise_and_responses_with_a_common_step_enclose_the_truth():
    """A bracket of the lattice once lost the largest loss of this Laplace noise."""
    mechanism = ew.Laplace(2.33) * ew.RandomizedResponse(1.28) ** 5
    with mpmath.workdps(30):
        theta, q = 1 / mpmath.mpf(2.33), 1 / (1 + mpmath.exp(-mpmath.mpf(1.28)))

        def of_noise(t):
            return 0 if t >= theta else -mpmath.expm1(t) if t <= -theta else -mpmath.expm1((t - theta) / 2)

        weights = [mpmath.binomial(5, j) * q**j * (1 - q) ** (5 - j) for j in range(6)]
        places = [mpmath.mpf(1.28) * (2 * j - 5) for j in range(6)]
        for epsilon in (0.5, 3.0, 5.547, 6.6):
            truth = sum(w * of_noise(epsilon - x) for w, x in zip(weights, places, strict=True))
            found = ew.account(mechanism, method="lattice", direction="forward").delta(epsilon)
            assert found.lower <= truth <= found.upper
