"""The bounds beyond the last node: by parts, by chords, and the integral over all of it."""

import math

import numpy as np
import pytest
from flint import acb, arb, ctx

from edgeworth.composition.line import Line
from edgeworth.composition.tail import Tail
from edgeworth.composition.tilted_part import tilt_part
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

RNG = np.random.default_rng(20261)


def log_uniform(low, high):
    return float(np.exp(RNG.uniform(math.log(low), math.log(high))))


CASES = [(log_uniform(0.05, 3.3), log_uniform(1e-4, 0.9), float(RNG.uniform(-6, 12))) for _ in range(10)]


def modulus(mu, rate, c, t):
    """|phi(t)| of one tilted step of noisy SGD, by ball arithmetic."""
    ctx.prec = 128
    m, p = arb(mu), arb(rate)

    def moment(s):
        def integrand(x, analytic):
            inner = 1 - p + p * (m * x - m * m / 2).exp()
            return (s * inner.log(analytic=analytic) - x * x / 2).exp()

        low, high = min(0.0, c * mu) - 14, max(0.0, c * mu) + 14
        return acb.integral(integrand, acb(low), acb(high), rel_tol=arb(2) ** -70, abs_tol=arb(2) ** -300)

    ratio = abs(moment(acb(c, t)) / moment(acb(c)))
    assert float(ratio.rad()) < 1e-14
    return float(ratio.mid())


@pytest.mark.parametrize(("mu", "rate", "c"), CASES)
def test_the_bound_by_parts_holds_at_every_frequency_and_only_falls(mu, rate, c):
    part = tilt_part(SampledLoss(GaussianLoss(mu), rate), 1, c, 10.0 / mu)
    frequencies = np.geomspace(0.3 / mu, 300.0 / (mu * min(1.0, 10 * rate)), 7)
    bounds = [part.far_bound(t) for t in frequencies]
    assert np.all(np.diff(bounds) <= 0)
    for t, bound in zip(frequencies, bounds, strict=True):
        assert modulus(mu, rate, c, float(t)) <= bound


@pytest.mark.parametrize(("mu", "rate", "c"), CASES)
def test_every_split_of_the_line_is_a_bound(mu, rate, c):
    """mass_left + variation_right/t for each node, not only the best."""
    part = tilt_part(SampledLoss(GaussianLoss(mu), rate), 1, c, 10.0 / mu)
    assert np.all(part.mass_left >= 0)
    assert np.all(part.variation_right > 0)
    for t in (0.5 / mu, 20.0 / mu):
        truth = modulus(mu, rate, c, t)
        assert np.all(part.mass_left + part.variation_right / t >= truth)


@pytest.mark.parametrize(("mu", "rate", "c"), CASES[:6])
def test_a_chord_and_the_variance_bound_the_modulus_between_two_frequencies(mu, rate, c):
    part = tilt_part(SampledLoss(GaussianLoss(mu), rate), 1, c, 20.0 / mu)
    variance = part.moments()[1]
    deviation = math.sqrt(variance)
    for _ in range(3):
        a = float(RNG.uniform(0, 6)) / deviation
        b = a + float(RNG.uniform(0.05, 2)) / deviation
        ends = max(modulus(mu, rate, c, a), modulus(mu, rate, c, b))
        bound = ends + (b - a) ** 2 * variance / 8
        for share in (0.2, 0.5, 0.8):
            assert modulus(mu, rate, c, a + share * (b - a)) <= bound * (1 + 1e-12)


LINES = [(1 / 3, 0.2, 50, 6.0), (1.25, 0.00512, 1000, 5.4), (1.0, 0.01, 10_000, 4.0), (1.0, 0.05, 100, -2.0)]


def line_of(mu, rate, n, c):
    total = TotalLoss(((SampledLoss(GaussianLoss(mu), rate), n),))
    return Line(total, c, 2 * math.pi / (0.3 / math.sqrt(float(total.tilted(np.array([c]), 2, (-9, 9))[0, 2]))))


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize(("mu", "rate", "n", "c"), LINES)
def test_the_integral_beyond_the_cut_is_bounded(mu, rate, n, c, q):
    line = line_of(mu, rate, n, c)
    t = np.linspace(line.cut, 12 * line.cut, 4001)
    part = tilt_part(SampledLoss(GaussianLoss(mu), rate), n, c, float(t[-1]))
    d, _ = part.characteristic(t)
    log_modulus = n * np.log(np.abs(1 + d)) - q * np.log(t)
    top = float(np.max(log_modulus))
    integral = top + math.log(float(np.trapezoid(np.exp(log_modulus - top), t)))
    assert integral <= line._tail.log_integral(q)


@pytest.mark.parametrize(("mu", "rate", "n", "c"), LINES)
def test_segments_cover_the_half_line_and_bound_the_modulus(mu, rate, n, c):
    line = line_of(mu, rate, n, c)
    tail = line._tail
    assert tail.start[0] == line.cut
    assert tail.start[1:] == tail.end[:-1]
    assert tail.end[-1] == math.inf
    for a, b, bound in list(zip(tail.start, tail.end, tail.log_bound, strict=True))[:12]:
        t = a + 0.37 * (min(b, 2 * a) - a)
        assert n * math.log(modulus(mu, rate, c, t)) <= bound + 1e-9


def test_bounds_of_the_segments_never_rise():
    """Only then is h times the sum over the nodes left out at most the integral."""
    line = line_of(1.25, 0.00512, 1000, 5.42)
    assert np.all(np.diff(line._tail.log_bound) <= 0)


@pytest.mark.parametrize("q", [1, 2])
def test_the_integral_of_a_known_tail(q):
    """One segment of height e^-3 on [2, 5), then e^-4 (5/t)^6."""
    tail = Tail((2.0, 5.0), (5.0, math.inf), (-3.0, -4.0), 6.0)
    first = math.exp(-3) * (math.log(2.5) if q == 1 else 0.5 - 0.2)
    last = math.exp(-4) / 6 if q == 1 else math.exp(-4) / (7 * 5)
    assert math.exp(tail.log_integral(q)) == pytest.approx(first + last, rel=1e-13)
