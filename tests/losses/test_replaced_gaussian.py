"""Clipped records replaced under Gaussian noise: the law of the two mixtures, and that no other records leak more."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.curves import GaussianTradeOff, ReplacedGaussianTradeOff
from edgeworth.errors import InvalidArgument
from edgeworth.losses import ReplacedGaussianLoss, ReplacedLoss, privacy_loss

CASES = [(2.0, 0.1), (0.1, 1e-3), (0.02, 0.9), (6.0, 1e-6), (25.0, 0.3), (1.0, 0.999)]

mus = st.floats(-2.0, 1.5).map(lambda log: 10.0**log)
rates = st.one_of(st.floats(-7.0, -0.01).map(lambda log: 10.0**log), st.floats(0.01, 0.999))


def mixture_tail(x, rate, mean):
    """The mass beyond x of (1-p) N(0, 1) + p N(mean, 1), in mpmath's numbers."""
    root = mpmath.sqrt(2)
    return (1 - rate) * mpmath.erfc(x / root) / 2 + rate * mpmath.erfc((x - mean) / root) / 2


def log_ratio(x, mu, rate):
    a = mpmath.mpf(mu) / 2
    above, below = (1 - rate + rate * mpmath.exp(s * a * x - a**2 / 2) for s in (1, -1))
    return mpmath.log(above / below)


@pytest.mark.parametrize(("mu", "rate"), CASES)
@pytest.mark.parametrize("x", [1e-9, 0.01, 0.7, 3.0, 11.0, 30.0])
def test_loss_and_tails_to_many_digits(mu, rate, x):
    loss, ulps = ReplacedGaussianLoss(mu, rate), 2e-16 * (16 + mu * mu)  # e^(-a^2/2) has a^2/2 of them
    with mpmath.workdps(110):
        p, a = mpmath.mpf(rate), mpmath.mpf(mu) / 2
        exact = log_ratio(mpmath.mpf(x), mu, p)
        assert loss.at(np.array([x, -x])) == pytest.approx([float(exact), -float(exact)], rel=ulps, abs=0)
        half = mpmath.mpf(float(loss.at(np.array([x]))[0])) / 2
        place = (half + mpmath.asinh((1 - p) / p * mpmath.exp(a**2 / 2) * mpmath.sinh(half))) / a
        assert abs(log_ratio(place, mu, p) - 2 * half) < mpmath.mpf(10) ** -40
        assert loss.place(np.array([float(2 * half)])) == pytest.approx([float(place)], rel=ulps, abs=0)
        found = loss.distribution(np.array([float(2 * half)]))
        truth = [float(mixture_tail(s * place, p, s * mean)) for mean in (-a, a) for s in (-1, 1)]
        # x has some ulps of itself, and a normal tail moves by x times as many
        assert [float(side[0]) for side in found] == pytest.approx(truth, rel=1e-14 * (1 + x * x), abs=0)


@pytest.mark.parametrize(("mu", "rate"), CASES)
def test_the_slope_is_that_of_the_loss(mu, rate):
    loss, step = ReplacedGaussianLoss(mu, rate), 1e-5 / max(mu, 1.0)
    x = np.array([-5.0, -0.3, 0.0, 1.0, 4.0])
    secant = (loss.at(x + step) - loss.at(x - step)) / (2 * step)
    assert loss.slope(x) == pytest.approx(secant, rel=1e-7, abs=1e-10 * mu)


@settings(max_examples=80)
@given(mus, rates, st.lists(st.floats(-8, 8), min_size=1, max_size=8))
def test_the_two_sides_are_mirror_images(mu, rate, places):
    loss = ReplacedGaussianLoss(mu, rate)
    l = loss.at(np.array(places))
    sides, back = loss.distribution(l), loss.distribution(-l)
    assert np.array_equal(sides, [back[3], back[2], back[1], back[0]])
    assert np.max(np.abs(sides[0] + sides[1] - 1)) < 1e-15
    assert np.max(np.abs(sides[2] + sides[3] - 1)) < 1e-15
    with np.errstate(over="ignore"):
        assert np.all(np.exp(l) * sides[1] <= sides[3] * (1 + 1e-12))
        assert np.all(sides[2] <= np.exp(l) * sides[0] * (1 + 1e-12))


@settings(max_examples=60)
@given(mus, rates)
def test_the_nodes_carry_both_laws(mu, rate):
    loss = ReplacedGaussianLoss(mu, rate)
    nodes = loss.nodes()
    assert abs(math.fsum(np.exp(nodes.log_weight)) - 1) < 1e-13
    assert abs(math.fsum(np.exp(nodes.log_weight + nodes.loss)) - 1) < 1e-13
    rows = loss.tilted(np.array([-0.5, 0.25, 0.75, 1.5]), 2, (-1.0, 2.0))
    assert rows[:2, [0, 2]] == pytest.approx(rows[3:1:-1, [0, 2]], rel=1e-9, abs=0)  # K(c) = K(1 - c)


@pytest.mark.parametrize(("mu", "rate"), [(2.0, 0.1), (0.1, 1e-3), (6.0, 1e-6), (1.0, 0.999), (0.5, 0.3)])
def test_moments_to_fifty_digits(mu, rate):
    """K(s) and the cumulants, by the trapezoidal rule in fifty digits."""
    loss = ReplacedGaussianLoss(mu, rate)
    tilts = np.array([-2.5, 0.3, 3.0])
    rows = loss.tilted(tilts, 2, (-3.0, 4.0))
    kappa = loss.cumulants(3)
    with mpmath.workdps(50):
        p, a, h = mpmath.mpf(rate), mpmath.mpf(mu) / 2, mpmath.mpf(1) / (20 + int(6 * mu))
        last = int((16 + 4 * a) / h)
        x = [k * h for k in range(-last, last + 1)]
        above = [1 - p + p * mpmath.exp(a * z - a**2 / 2) for z in x]
        lost = [mpmath.log(n / d) for n, d in zip(above, reversed(above), strict=True)]
        null = [h * mpmath.npdf(z) * d for z, d in zip(x, reversed(above), strict=True)]
        for tilt, found in zip(tilts, rows, strict=True):
            weight = [w * mpmath.exp(mpmath.mpf(tilt) * l) for w, l in zip(null, lost, strict=True)]
            total = mpmath.fsum(weight)
            mean = mpmath.fsum(w * l for w, l in zip(weight, lost, strict=True)) / total
            assert found[:2] == pytest.approx([float(mpmath.log(total)), float(mean)], rel=1e-10, abs=0)
        mean = mpmath.fsum(w * l for w, l in zip(null, lost, strict=True))
        central = [mpmath.fsum(w * (l - mean) ** r for w, l in zip(null, lost, strict=True)) for r in (2, 3)]
        assert kappa.null == pytest.approx([float(mean), *map(float, central)], rel=1e-12, abs=0)
        assert kappa.alternative == pytest.approx(kappa.null * [-1, 1, -1], rel=1e-10, abs=0)


# --- the curve ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "rate"), CASES)
@pytest.mark.parametrize("x", [-1.0, 1e-3, 0.5, 2.0, 8.0, 20.0, 36.0])
def test_delta_and_f_of_one_step_to_fifty_digits(mu, rate, x):
    curve = ReplacedGaussianTradeOff(mu, rate)
    epsilon = float(ReplacedGaussianLoss(mu, rate).at(np.array([x]))[0])
    with mpmath.workdps(80):
        p, a, half = mpmath.mpf(rate), mpmath.mpf(mu) / 2, mpmath.mpf(epsilon) / 2
        t = (half + mpmath.asinh((1 - p) / p * mpmath.exp(a**2 / 2) * mpmath.sinh(half))) / a
        alpha, power = mixture_tail(t, p, -a), mixture_tail(t, p, a)
        delta = power - mpmath.exp(mpmath.mpf(epsilon)) * alpha
        assert curve.profile().log(epsilon) == pytest.approx(float(mpmath.log(delta)), abs=1e-12)
        assert curve.profile()(epsilon) == pytest.approx(float(delta), rel=1e-12, abs=1e-307)
        if 1e-300 < alpha < 1 - 1e-6:
            moved = mpmath.mpf(float(alpha)) / alpha - 1  # alpha is rounded, and f moves by e^eps times that
            beta = 1 - power - mpmath.exp(mpmath.mpf(epsilon)) * alpha * moved
            assert curve(float(alpha)) == pytest.approx(float(beta), rel=1e-12, abs=0)


def test_the_curve_at_its_ends():
    curve = ReplacedGaussianTradeOff(2.0, 0.1)
    assert (curve(0.0), curve(1.0), curve.power(0.0), curve.power(1.0)) == (1.0, 0.0, 0.0, 1.0)
    assert curve.is_symmetric
    assert curve.inverse() is curve.symmetrise() is curve
    assert curve.profile().tradeoff() == curve
    assert curve.profile()(np.inf) == 0
    assert curve.profile()(1e6) == 0
    assert curve.profile().log(1e150) < -1e200
    with pytest.raises(InvalidArgument, match=r"^rate=1.0 is out of range; at rate 1 the curve is GaussianTradeOff"):
        ReplacedGaussianTradeOff(1.0, 1.0)


@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_at_rates_near_one_the_curve_is_that_of_the_noise(mu):
    plain, curve = GaussianTradeOff(mu), ReplacedGaussianTradeOff(mu, 1 - 1e-12)
    assert curve(np.array([1e-3, 0.1, 0.5])) == pytest.approx(plain(np.array([1e-3, 0.1, 0.5])), rel=1e-10)
    assert curve.profile()(0.5) == pytest.approx(plain.profile()(0.5), rel=1e-9)


# --- that it bounds what runs ------------------------------------------------------------------------------


def delta_in_the_plane(x, y, rate, epsilon, step=0.06):
    """The hockey-stick divergence of (1-p) N(0) + p N(x) from (1-p) N(0) + p N(y), over a lattice of the plane."""
    line = np.arange(-8.0, 8.0, step)
    u, v = np.meshgrid(line, line)

    def density(centre):
        return np.exp(-((u - centre[0]) ** 2 + (v - centre[1]) ** 2) / 2) / (2 * np.pi)

    null, alternative = ((1 - rate) * density((0.0, 0.0)) + rate * density(centre) for centre in (y, x))
    return float(np.sum(np.maximum(alternative - math.exp(epsilon) * null, 0.0))) * step**2


@settings(max_examples=20)
@given(st.floats(0.1, 2.0), st.floats(0.02, 0.98), st.tuples(*[st.floats(0, 1)] * 2), st.floats(0, math.pi), st.data())
def test_no_two_clipped_records_leak_more(shift, rate, sizes, angle, data):
    """Any two values in a disc of radius a = mu/2, in either order, at any epsilon."""
    epsilon = data.draw(st.floats(-1.0, 2.0))
    x = (shift * sizes[0], 0.0)
    y = (shift * sizes[1] * math.cos(angle), shift * sizes[1] * math.sin(angle))
    most = ReplacedGaussianTradeOff(2 * shift, rate).profile()(epsilon)
    assert max(delta_in_the_plane(x, y, rate, epsilon), delta_in_the_plane(y, x, rate, epsilon)) <= most + 2e-4
    assert delta_in_the_plane((shift, 0.0), (-shift, 0.0), rate, epsilon) == pytest.approx(most, abs=2e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_records_that_are_not_clipped_need_the_wider_curve(epsilon):
    """A record that adds the whole sensitivity, replaced by one that adds nothing, attains the other curve."""
    mu, rate = 1.0, 0.2
    found = delta_in_the_plane((mu, 0.0), (0.0, 0.0), rate, epsilon)
    plain = ew.account(ew.PoissonSampled(ew.Gaussian(1 / mu), rate, "replace")).delta(epsilon=epsilon)
    clipped = ew.account(ew.PoissonSampled(ew.Gaussian(1 / mu), rate, "replace", clipped=True)).delta(epsilon=epsilon)
    assert found == pytest.approx(plain.value, abs=2e-4)
    assert found > 1.5 * clipped.upper or epsilon == 0


def test_which_samples_have_it():
    def law(mechanism, *, clipped):
        return privacy_loss(ew.PoissonSampled(mechanism, 0.25, "replace", clipped=clipped))

    noise = ew.Gaussian(2.0)
    assert law(noise, clipped=True) == ReplacedGaussianLoss(0.5, 0.25)
    assert law(noise**3 * ew.Gaussian(1.0), clipped=True) == ReplacedGaussianLoss(math.sqrt(3 / 4 + 1), 0.25)
    assert isinstance(law(noise, clipped=False), ReplacedLoss)
    assert isinstance(law(ew.GaussianDP(0.5), clipped=True), ReplacedLoss)  # a promise is not known to be noise
    assert isinstance(law(ew.Laplace(2.0), clipped=True), ReplacedLoss)


def test_the_number_that_others_publish():
    """Noise of one clipping norm at a rate of a tenth: dp_accounting 0.6.0 says 1.78915456."""
    step = ew.PoissonSampled(ew.Gaussian(0.5), rate=0.1, adjacency="replace", clipped=True)
    assert ew.account(step).epsilon(delta=1e-5).value == pytest.approx(1.78915455, abs=1e-8)
