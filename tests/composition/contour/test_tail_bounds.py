"""The bounds beyond the last node: on shifted lines, by parts, by chords, and the integral over all of it."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.line import Line
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian, Steps
from edgeworth.composition.contour.tail import Guess, Tail
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

modulus = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))["modulus"]
RNG = np.random.default_rng(20261)


def log_uniform(low, high):
    return float(np.exp(RNG.uniform(math.log(low), math.log(high))))


def sampled(mu, rate, cut=None):
    return SampledGaussian(SampledLoss(GaussianLoss(mu), rate), mu, rate, math.inf if cut is None else cut)


WHOLE = [(log_uniform(0.05, 3.3), log_uniform(1e-4, 0.9), float(RNG.uniform(-6, 12)), None) for _ in range(10)]
CUT = [
    (log_uniform(0.1, 1.5), log_uniform(1e-4, 0.03), float(RNG.uniform(-6, 40)), float(RNG.uniform(4, 12)))
    for _ in range(8)
]
CASES = [*WHOLE, *CUT]
STEEP = [  # tilts c of some |c| p up to 60, to which backward readings at tiny rates lead
    (mu, rate, -log_uniform(3.0, 60.0) / rate, None)
    for mu, rate in ((log_uniform(0.1, 3.0), log_uniform(1e-6, 0.03)) for _ in range(10))
]


def frequencies(mu, rate, c, cut, count=6):
    """From where phi begins to fall to where it is far below one, in units of the tilted deviation of the loss."""
    deviation = math.sqrt(tilt_part(sampled(mu, rate, cut), 1, c, 1.0).variance())
    return np.geomspace(0.3 / deviation, 60.0 / deviation, count)


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), [*CASES, *STEEP])
def test_the_bound_on_shifted_lines_holds_at_every_frequency_and_only_falls(mu, rate, c, cut):
    t = frequencies(mu, rate, c, cut)
    part = tilt_part(sampled(mu, rate, cut), 1, c, float(t[2]))  # beyond its own frequency it must hold as well
    bounds = part.log_far_bound(t)
    assert np.all(np.diff(bounds) <= 0)
    for at, bound in zip(t, bounds, strict=True):
        assert modulus(mu, rate, c, float(at), cut) <= math.exp(bound)


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), [*WHOLE[:4], *CUT[:4]])
def test_every_shifted_line_is_a_bound(mu, rate, c, cut):
    """Each height Im x = y alone, not only the best."""
    t = frequencies(mu, rate, c, cut, 4)
    part = tilt_part(sampled(mu, rate, cut), 1, c, float(t[1]))
    growth, fall, rise, edge = part.shifted[:4]
    assert np.all(np.diff(fall, axis=1) >= 0)  # A increases with x
    assert np.all((fall > 0) & (fall < math.pi))
    assert (rise is None) == (c >= 0)
    rise = 0.0 if rise is None else rise
    for at in t:
        rows = growth + np.log(np.exp(rise - at * fall) @ part.weight + edge)
        assert math.log(modulus(mu, rate, c, float(at), cut)) <= np.min(rows)


@pytest.mark.parametrize(
    ("mu", "rate", "c", "cut"),
    [
        *CASES[::3],
        (10 / 3, 0.2, 1.455, None),
        (2.0, 0.1, 2.706, None),
        (1.0, 0.3, 7.168, None),
        (5.0, 0.05, 1.276, None),
    ],
)
def test_the_sums_on_shifted_lines_are_as_exact_as_the_weights(mu, rate, c, cut):
    """On the part's own nodes and on nodes forty times as dense: the function has no more structure than w."""
    step = sampled(mu, rate, cut)
    t = frequencies(mu, rate, c, cut, 5)
    part = tilt_part(step, 1, c, float(t[2]))
    growth, fall, rise, edge = part.shifted[:4]
    x = np.arange(-14.0, max(c, 1.0) * mu + 14.0, 0.002)
    exponent = c * step.loss(x) + step.log_density(x)
    weight = np.exp(exponent - np.max(exponent))
    weight /= np.sum(weight)
    posterior = step.posterior(x)
    for number, (row, grown) in enumerate(zip(fall, growth, strict=True)):
        turned = 1 - posterior + posterior * np.exp(1j * step.mu * math.sqrt(2 * grown))
        up, dense_up = (0.0, 0.0) if rise is None else (rise[number], c * np.log(np.abs(turned)))
        for at in t:
            coarse, dense = np.expm1(up - at * row) @ part.weight, np.expm1(dense_up - at * np.angle(turned)) @ weight
            assert abs(coarse - dense) <= edge[number] + 1e-10 * abs(dense)


@pytest.mark.parametrize(("mu", "rate", "c"), [(3.3, 0.01, -13.0), (1.0, 0.2, -40.0), (0.5, 0.01, -300.0)])
def test_the_bound_far_out_is_nearly_the_modulus_for_negative_tilts_too(mu, rate, c):
    deviation = math.sqrt(tilt_part(sampled(mu, rate), 1, c, 1.0).variance())
    t = np.geomspace(3 / deviation, 300 / deviation, 4)
    bounds = tilt_part(sampled(mu, rate), 1, c, float(t[-1])).log_far_bound(t)
    for at, bound in zip(t, bounds, strict=True):
        truth = math.log(modulus(mu, rate, c, float(at), height=0.3 / max(mu, 1.0)))
        assert truth <= bound <= 0.5 * truth


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), [*CASES, *STEEP])
def test_the_variation_over_t_is_a_bound(mu, rate, c, cut):
    t = frequencies(mu, rate, c, cut, 4)
    part = tilt_part(sampled(mu, rate, cut), 1, c, float(t[1]))
    assert 0 < part.variation < math.inf
    for at in t:
        assert modulus(mu, rate, c, float(at), cut) <= part.variation / at


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), STEEP)
def test_every_shifted_line_is_a_bound_at_a_steep_tilt(mu, rate, c, cut):
    t = frequencies(mu, rate, c, cut, 4)
    part = tilt_part(sampled(mu, rate, cut), 1, c, float(t[1]))
    growth, fall, rise, edge, masses = part.shifted
    assert rise is None
    for at in t:
        rows = growth + np.log(np.sum(np.exp(-at * fall) * masses, axis=1) + edge)
        assert math.log(modulus(mu, rate, c, float(at), cut)) <= np.min(rows)


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), [*CASES, *STEEP[:4]])
def test_the_variation_is_not_below_that_on_dense_nodes(mu, rate, c, cut):
    step = sampled(mu, rate, cut)
    part = tilt_part(step, 1, c, 5.0 / mu)
    x = np.arange(-14.0, max(c, 1.0) * mu + 14.0, 0.001)
    exponent = c * step.loss(x) + step.log_density(x)
    weight = np.exp(exponent - np.max(exponent))
    density = weight / (np.sum(weight) * 0.001)
    dense = float(np.sum(np.abs(np.diff(density / (mu * step.posterior(x))))))
    assert dense <= part.variation <= dense * 4  # and no bound is lost by orders of magnitude


@pytest.mark.parametrize(("mu", "rate", "c", "cut"), [*WHOLE[:4], *CUT[:3]])
def test_a_chord_and_the_variance_bound_the_modulus_between_two_frequencies(mu, rate, c, cut):
    variance = tilt_part(sampled(mu, rate, cut), 1, c, 20.0 / mu).variance()
    deviation = math.sqrt(variance)
    for _ in range(3):
        a = float(RNG.uniform(0, 6)) / deviation
        b = a + float(RNG.uniform(0.05, 2)) / deviation
        ends = max(modulus(mu, rate, c, a, cut), modulus(mu, rate, c, b, cut))
        bound = ends + (b - a) ** 2 * variance / 8
        for share in (0.2, 0.5, 0.8):
            assert modulus(mu, rate, c, a + share * (b - a), cut) <= bound * (1 + 1e-12)


LINES = [
    (1 / 3, 0.2, 50, 6.0, -math.inf),
    (1.25, 0.00512, 1000, 5.4, -math.inf),
    (1.0, 0.01, 10_000, 4.0, -math.inf),
    (1.0, 0.05, 100, -2.0, -math.inf),
    (0.4, 4.9e-4, 13_500, 60.0, -70.0),
    (0.25, 3.3e-4, 10_000, 90.0, -40.0),
]


def line_of(mu, rate, n, c, log_dropped):
    steps = Steps.of(TotalLoss(((SampledLoss(GaussianLoss(mu), rate), n),)), log_dropped)
    variance = float(Integrals(steps).moments(np.array([c]))[0, 2])
    guess = Guess(math.sqrt(2 * NATS / variance))
    return Line(steps, c, 2 * math.pi / (0.3 / math.sqrt(variance)), guess), steps.others[0][0]


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize(("mu", "rate", "n", "c", "log_dropped"), LINES)
def test_the_integral_beyond_the_cut_is_bounded(mu, rate, n, c, log_dropped, q):
    line, step = line_of(mu, rate, n, c, log_dropped)
    t = np.linspace(line.cut, 12 * line.cut, 4001)
    d, _ = tilt_part(step, n, c, float(t[-1])).characteristic(t)
    log_modulus = n * np.log(np.abs(1 + d)) - q * np.log(t)
    top = float(np.max(log_modulus))
    integral = top + math.log(float(np.trapezoid(np.exp(log_modulus - top), t)))
    assert integral <= line._tail.log_integral(q)


@pytest.mark.parametrize(("mu", "rate", "n", "c", "log_dropped"), LINES)
def test_segments_cover_the_half_line_and_bound_the_modulus(mu, rate, n, c, log_dropped):
    line, step = line_of(mu, rate, n, c, log_dropped)
    tail = line._tail
    assert tail.start[0] == line.cut
    assert tail.start[1:] == tail.end[:-1]
    assert tail.end[-1] == math.inf
    segments = list(zip(tail.start, tail.end, tail.log_bound, strict=True))
    for a, b, bound in [*segments[:8], segments[-1]]:
        t = a + 0.37 * (min(b, 2 * a) - a)
        assert n * math.log(modulus(mu, rate, c, t, None if math.isinf(step.cut) else step.cut)) <= bound + 1e-9


def test_bounds_of_the_segments_never_rise():
    """Only then is h times the sum over the nodes left out at most the integral."""
    for case in LINES:
        assert np.all(np.diff(line_of(*case)[0]._tail.log_bound) <= 0)


@pytest.mark.parametrize("q", [1, 2])
def test_the_integral_of_a_known_tail(q):
    """One segment of height e^-3 on [2, 5), then e^-4 (5/t)^6."""
    tail = Tail((2.0, 5.0), (5.0, math.inf), (-3.0, -4.0), 6.0)
    first = math.exp(-3) * (math.log(2.5) if q == 1 else 0.5 - 0.2)
    last = math.exp(-4) / 6 if q == 1 else math.exp(-4) / (7 * 5)
    assert math.exp(tail.log_integral(q)) == pytest.approx(first + last, rel=1e-13)
