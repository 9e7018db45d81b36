"""The bounds of one line, each against ball arithmetic: quadrature, rounding, log moments, aliases."""

import math
import runpy
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb

from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.line import Line
from edgeworth.composition.contour.quadrature import even_nodes
from edgeworth.composition.contour.raised import raised
from edgeworth.composition.contour.rung import SHAPES, Rung
from edgeworth.composition.contour.sampled_gaussian import SampledGaussian, Steps
from edgeworth.composition.contour.tail import Guess
from edgeworth.composition.contour.tilted_part import _spacing, tilt_part
from edgeworth.composition.contour.window import window_of
from edgeworth.errors import TooLarge
from edgeworth.losses import BinaryLoss, GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss

TRUTH = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))
characteristic, distance = TRUTH["characteristic"], TRUTH["distance"]


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def sampled(mu, rate, cut=math.inf):
    return SampledGaussian(SampledLoss(GaussianLoss(mu), rate), mu, rate, cut)


def off(log_moment, part, c):
    """The error of K of one step, and what is stated of it: rounding, dropped mass, quadrature as the line has it."""
    plain = (abs(c) + abs(c - 1)) * math.exp(-part.log_moment)
    stated = part.log_moment_error + 2 * part.quadrature * (1 + plain)
    return float(abs(log_moment - arb(part.log_moment)).mid()), stated


RNG = np.random.default_rng(20260)
CASES = [
    (log_uniform(RNG, 0.01, 3.3), log_uniform(RNG, 1e-6, 0.9), float(RNG.uniform(-30, 30)), log_uniform(RNG, 0.1, 1e3))
    for _ in range(24)
]


@pytest.mark.parametrize(("mu", "rate", "c", "t"), CASES)
def test_the_characteristic_function_is_within_its_stated_error(mu, rate, c, t):
    part = tilt_part(sampled(mu, rate), 1, c, t)
    value, error = part.characteristic(np.array([t]))
    truth, log_moment = characteristic(mu, rate, c, t)
    assert distance(truth, complex(value[0])) <= error[0]
    found, stated = off(log_moment, part, c)
    assert found <= stated


CUTS = [
    (log_uniform(RNG, 0.1, 2.0), log_uniform(RNG, 1e-5, 0.03), float(RNG.uniform(-10, 40)), log_uniform(RNG, 0.1, 300))
    for _ in range(10)
]


@pytest.mark.parametrize("cut", [4.0, 9.5])
@pytest.mark.parametrize(("mu", "rate", "c", "t"), CUTS)
def test_the_characteristic_function_of_what_is_kept_is_within_its_stated_error(mu, rate, c, t, cut):
    part = tilt_part(sampled(mu, rate, cut), 1, c, t)
    value, error = part.characteristic(np.array([t]))
    truth, log_moment = characteristic(mu, rate, c, t, cut)
    assert distance(truth, complex(value[0])) <= error[0]
    found, stated = off(log_moment, part, c)
    assert found <= stated


@pytest.mark.parametrize(
    ("mu", "rate", "c"),
    [
        *((3.3, 1 - 1e-3, -2.0), (2.0, 1 - 1e-6, -3.0), (1.0, 1 - 1e-9, -40.0), (2.5, 1 - 2.0**-52, -3.0)),
        *((2.0, 1 - 1e-6, 0.7), (2.0, 1 - 1e-6, 1.001), (1.0, 0.9, 1 + 1e-7), (3.3, 0.01, 1 - 1e-5)),
    ],
)
def test_the_log_moment_is_within_its_stated_error_at_rates_and_tilts_next_to_1(mu, rate, c):
    """Losses next to log(1 - p) must not cancel; next to the tilt 1, where K is small, the error is relative to K."""
    part = tilt_part(sampled(mu, rate), 1, c, 1.0)
    found, stated = off(characteristic(mu, rate, c, 0.5)[1], part, c)
    assert found <= stated
    assert part.log_moment_error < 1e-13 * abs(part.log_moment)


@pytest.mark.parametrize(
    ("mu", "rate", "c"),
    [(1.2, 1e-5, 17.0), (3.3, 1e-3, 5.5), (5.0, 0.01, -3.0), (6.6, 0.01, -0.3), (8.0, 0.3, -0.01), (10.0, 0.01, 0.5)],
)
def test_the_log_moment_is_within_its_stated_error_where_the_noise_is_small(mu, rate, c):
    """K also needs the law tilted by 1, whose far bump lies outside that of the tilt c."""
    part = tilt_part(sampled(mu, rate), 1, c, 1.0)
    found, stated = off(characteristic(mu, rate, c, 0.5)[1], part, c)
    assert found <= stated


@pytest.mark.parametrize("cut", [math.inf, 5.0])
@pytest.mark.parametrize("nats", [7.0, 12.0, 20.0])
@pytest.mark.parametrize(
    ("mu", "rate", "c"), [(1.0, 0.01, 3.0), (0.3, 0.2, -2.0), (2.5, 0.001, 1.2), (0.05, 0.5, 20.0)]
)
def test_a_coarse_quadrature_states_its_coarseness(mu, rate, c, nats, cut):
    step = sampled(mu, rate, cut)
    for t in (0.5, 7.0, 90.0):
        window = window_of(step, c)
        x = even_nodes(_spacing(step, c, t, nats, window), window)
        exponent = c * step.loss(x) + step.log_density(x)
        weight = np.exp(exponent - np.max(exponent))
        phi = np.sum(weight * np.expm1(1j * t * step.loss(x))) / np.sum(weight)
        truth = characteristic(mu, rate, c, t, None if math.isinf(cut) else cut)[0]
        assert distance(truth, complex(phi)) <= 4.2 * math.exp(-nats)


RAISED = [
    (log_uniform(RNG, 0.01, 3.4), log_uniform(RNG, 1e-6, 0.999), float(RNG.uniform(-20, 20)), log_uniform(RNG, 1, 1e5))
    for _ in range(16)
]


@pytest.mark.parametrize("cut", [None, 9.5])
@pytest.mark.parametrize(("mu", "rate", "c", "t"), [*RAISED, (1.0, 1 - 1e-9, 2.0, 30.0), (3.3, 0.01, -60.0, 300.0)])
def test_above_the_real_line_some_hundred_nodes_are_good_for_every_frequency(mu, rate, c, t, cut):
    """By direct sums and by products of waves."""
    part = tilt_part(sampled(mu, rate, cut or math.inf), 1, c, 1e9)
    assert part.raised is not None
    assert part.points < 2500
    value, error = part.characteristic(np.array([t]))
    truth, log_moment = characteristic(mu, rate, c, t, cut, height=0.3 / max(mu, 1))
    assert distance(truth, complex(value[0])) <= error[0]
    found, stated = off(log_moment, part, c)
    assert found <= stated
    grid, errors = part.on_even_grid(t / 90, 100)
    assert distance(truth, complex(grid[90])) <= errors[90]
    assert errors[90] < 1e-9


# Tilts c of some |c| p up to 60, to which backward readings at tiny rates lead, and frequencies that fit.
STEEP = [
    (mu, rate, -pressed / rate, log_uniform(RNG, 0.3, 20) / rate)
    for mu, rate, pressed in (
        (log_uniform(RNG, 0.05, 3.0), log_uniform(RNG, 1e-6, 0.03), log_uniform(RNG, 0.5, 60)) for _ in range(16)
    )
]


@pytest.mark.parametrize("most", [1.0, 1e3])
@pytest.mark.parametrize(("mu", "rate", "c", "t"), STEEP)
def test_steep_tilts_to_the_left_are_within_their_stated_error(mu, rate, c, t, most):
    """On the real line, and above it where the frequency is high."""
    part = tilt_part(sampled(mu, rate), 1, c, most * t)
    assert part.points < 1000
    value, error = part.characteristic(np.array([t]))
    truth, log_moment = characteristic(mu, rate, c, t)
    assert distance(truth, complex(value[0])) <= error[0]
    found, stated = off(log_moment, part, c)
    assert found <= stated


@pytest.mark.parametrize("nats", [7.0, 12.0, 20.0])
@pytest.mark.parametrize(("mu", "rate", "c", "t"), STEEP[:6])
def test_a_coarse_quadrature_at_steep_tilts_states_its_coarseness(mu, rate, c, t, nats):
    step, t = sampled(mu, rate), min(t, 0.2 / rate)
    window = window_of(step, c)
    x = even_nodes(_spacing(step, c, t, nats, window), window)
    exponent = c * step.loss(x) + step.log_density(x)
    weight = np.exp(exponent - np.max(exponent))
    phi = np.sum(weight * np.expm1(1j * t * step.loss(x))) / np.sum(weight)
    assert distance(characteristic(mu, rate, c, t)[0], complex(phi)) <= 4.2 * math.exp(-nats)


@pytest.mark.parametrize("cut", [None, 5.0])
@pytest.mark.parametrize("nats", [5.0, 12.0, 20.0])
@pytest.mark.parametrize(("mu", "rate", "c"), [(1.0, 0.01, 3.0), (0.3, 0.2, -2.0), (2.5, 0.001, 1.2)])
def test_a_coarse_quadrature_above_the_real_line_states_its_coarseness(mu, rate, c, nats, cut):
    step = sampled(mu, rate, cut or math.inf)
    nodes = raised(step, c, nats, window_of(step, c))
    for t in (0.5, 7.0, 90.0):
        phi = np.sum(nodes.weight * np.expm1(1j * t * nodes.loss))
        assert distance(characteristic(mu, rate, c, t, cut)[0], complex(phi)) <= nodes.quadrature < 5 * math.exp(-nats)


def test_sizes_above_the_real_line_are_no_smaller_than_the_weights():
    for mu, rate, c, _ in RAISED:
        for cut in (math.inf, 9.5):
            step = sampled(mu, rate, cut)
            nodes = raised(step, c, NATS, window_of(step, c))
            assert np.all(np.abs(nodes.weight) <= nodes.size)
            assert np.all(nodes.loss.imag > 0)
            assert np.sum(nodes.size) < 3


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_quadrature_for_one_frequency_serves_all_lower_ones(share):
    part = tilt_part(sampled(1.25, 0.00512), 1, 9.0, 60.0)
    value, error = part.characteristic(np.array([60.0 * share]))
    assert distance(characteristic(1.25, 0.00512, 9.0, 60.0 * share)[0], complex(value[0])) <= error[0]


@pytest.mark.parametrize(
    ("mu", "rate", "c", "cut"), [(1.25, 0.00512, 9.0, None), (0.4, 0.001, 60.0, 9.0), (2.0, 0.3, -2.0, None)]
)
def test_an_even_grid_by_products_of_waves_is_within_its_stated_error(mu, rate, c, cut):
    part = tilt_part(sampled(mu, rate, cut or math.inf), 1, c, 40.0 / mu)
    h, count = 40.0 / mu / 130, 130
    value, error = part.on_even_grid(h, count)
    assert value.size == error.size == count
    for k in (1, 11, 12, 13, 77, 129):
        truth = characteristic(mu, rate, c, k * h, cut)[0]
        assert distance(truth, complex(value[k])) <= error[k]
    assert value[0] == 0


def laplace_moment(theta, s):
    """M(s) = [(s-1) e^(-s theta) + s e^-theta e^(s theta)]/(2s - 1)."""
    return ((s - 1) * mpmath.exp(-s * theta) + s * mpmath.exp((s - 1) * theta)) / (2 * s - 1)


@pytest.mark.parametrize(("theta", "c", "t"), [(1.0, 2.0, 3.0), (0.3, -4.0, 40.0), (5.0, 0.7, 11.0), (2.0, 6.5, 100.0)])
def test_laplace_steps_are_within_their_stated_error(theta, c, t):
    part = tilt_part(LaplaceLoss(theta), 1, c, t)
    value, error = part.characteristic(np.array([t]))
    with mpmath.workdps(40):
        plain = laplace_moment(mpmath.mpf(theta), mpmath.mpc(c))
        truth = laplace_moment(mpmath.mpf(theta), mpmath.mpc(c, t)) / plain - 1
        assert abs(truth - complex(value[0])) <= error[0]
        assert abs(mpmath.log(plain.real) - part.log_moment) <= part.log_moment_error + 2 * part.quadrature


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 100.0), (300.3, 960.0)])
def test_randomized_response_is_within_its_stated_error(epsilon, most):
    c, t = 1.25, np.linspace(0.5 * most, most, 100)
    part = tilt_part(BinaryLoss(epsilon), 1, c, most)
    value, error = part.characteristic(t)
    with mpmath.workdps(40):
        loss = [mpmath.mpf(-epsilon), mpmath.mpf(epsilon)]
        weight = [mpmath.exp(c * loss[0]), mpmath.exp(c * loss[1] - mpmath.mpf(epsilon))]
        for frequency, found, stated in zip(t, value, error, strict=True):
            turned = (w * mpmath.expj(mpmath.mpf(float(frequency)) * x) for w, x in zip(weight, loss, strict=True))
            assert abs(mpmath.fsum(turned) / mpmath.fsum(weight) - 1 - complex(found)) <= stated


GAUSSIAN_MU = 1.3
SIDES = {"delta": "right", "power": "right", "alpha": "right", "reverse": "left", "acceptance": "left", "beta": "left"}
KINDS = sorted(SIDES)


def gaussian_truth(kind, t, mu=GAUSSIAN_MU):
    """The six readings of G_mu, 40 digits; for "reverse" at eps' = -t."""
    mu, t = mpmath.mpf(mu), mpmath.mpf(t)
    p, q = t / mu + mu / 2, t / mu - mu / 2
    return {
        "delta": mpmath.ncdf(-q) - mpmath.exp(t) * mpmath.ncdf(-p),
        "reverse": mpmath.ncdf(p) - mpmath.exp(-t) * mpmath.ncdf(q),
        "alpha": mpmath.ncdf(-p),
        "acceptance": mpmath.ncdf(p),
        "power": mpmath.ncdf(-q),
        "beta": mpmath.ncdf(q),
    }[kind]


def gaussian_rung(kind, distance_from_pole, side=None, mu=GAUSSIAN_MU):
    """A line of G_mu at this distance beyond the pole of its side (from its own pole, in the middle)."""
    side = side or SIDES[kind]
    c = {"right": 1 + distance_from_pole, "left": -distance_from_pole, "middle": distance_from_pole}[side]
    variance = mu**2
    integrals = Integrals(Steps.of(TotalLoss(((GaussianLoss(mu), 1),))))
    return Rung(integrals, side, c, variance * c * (c - 1) / 2, variance * (c - 0.5), variance)


def value_and_error(line, pole, t, poles):
    """Front times sum, and the stated error of it."""
    front = line.front((pole - line.c) * t)
    (total,) = line.sums(t, poles)
    return front * total, line.error(front, abs(line.c - pole), t, front * total, poles)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shortened", [1.0, 0.5, 0.3, 0.15])
def test_aliases_only_add_and_stay_below_their_bound(kind, shortened):
    """A period far too short for the reading: the sum must exceed the truth, by no more than stated."""
    shape = SHAPES[kind]
    seen = 0.0
    rungs = [gaussian_rung(kind, far) for far in (0.4, 1.1, 3.0)]
    if kind in ("alpha", "beta"):
        rungs += [gaussian_rung(kind, far, "middle") for far in (0.3, 0.7)]
    for rung in rungs:
        rung.period *= shortened
        steps = Steps(GAUSSIAN_MU**2, (), (-math.inf, math.inf), (0.0, 0.0))
        rung.line = Line(steps, rung.c, rung.period, Guess(math.sqrt(2 * NATS) / GAUSSIAN_MU))
        for t in rung.centre + np.array([-1.0, 0.0, 0.7]):
            at = np.array([t])
            value, error = value_and_error(rung.line, shape.pole, at, shape.poles)
            with mpmath.workdps(40):
                excess = float(shape.sign * mpmath.mpf(float(value[0])) - gaussian_truth(kind, float(t)))
                lower, upper = rung.ends(kind, at)
                assert lower[0] <= gaussian_truth(kind, float(t)) <= upper[0]
            assert excess >= -error[0]
            assert excess <= error[0] + rung._around(kind, at)[2][0]
            seen = max(seen, excess / error[0])
    if shortened == 0.15:
        assert seen > 100  # the aliases are really there


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shortened", [1.0, 0.5, 0.35, 0.25])
def test_aliases_of_a_law_far_from_its_pole_stay_below_their_closer_bound(kind, shortened):
    """Far out under one law the mass of the other bounds nothing: tilts between the pole and the line do."""
    mu, shape, seen = 35.0, SHAPES[kind], 0.0
    rung = gaussian_rung(kind, 0.045, mu=mu)
    assert {"right": 0.0, "left": 1.0}[SIDES[kind]] in rung._within  # alpha, or beta
    rung.period *= shortened
    rung.line = Line(Steps(mu**2, (), (-math.inf, math.inf), (0.0, 0.0)), rung.c, rung.period, Guess(9 / mu))
    for t in rung.centre + mu * np.array([-1.0, -0.4, 0.0, 0.4]):
        at = np.array([t])
        value, error = value_and_error(rung.line, shape.pole, at, shape.poles)
        with mpmath.workdps(40):
            truth = gaussian_truth(kind, float(t), mu)
            excess = float(shape.sign * mpmath.mpf(float(value[0])) - truth)
            lower, upper = rung.ends(kind, at)
            assert lower[0] <= truth <= upper[0]
        assert -error[0] <= excess <= error[0] + rung._around(kind, at)[2][0]
        seen = max(seen, excess / error[0])
    if shortened == 0.25:
        assert seen > 100


@pytest.mark.parametrize("kind", KINDS)
def test_chernoff_bounds_every_reading(kind):
    for c in (-3.0, -0.5, 0.2, 0.8, 1.5, 4.0):
        allowed = {"delta": c >= 1, "reverse": c <= 0, "alpha": c >= 0, "acceptance": c <= 0, "power": c >= 1}
        if not allowed.get(kind, c <= 1):
            continue
        k = GAUSSIAN_MU**2 * c * (c - 1) / 2
        for t in (-4.0, -1.0, 0.0, 0.5, 3.0):
            assert gaussian_truth(kind, t) <= math.exp(k + (SHAPES[kind].pole - c) * t) * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rung_without_a_line_answers_with_chernoff(kind):
    rung = gaussian_rung(kind, 1.1)
    rung.line = None
    t = rung.centre + np.array([-2.0, 0.0, 2.0])
    lower, upper = rung.ends(kind, t)
    assert np.all(lower == 0)
    for at, most in zip(t, upper, strict=True):
        assert gaussian_truth(kind, float(at)) <= most


def test_a_line_whose_log_moment_contradicts_its_rung_is_not_used():
    good = gaussian_rung("delta", 1.1)
    assert good.line is not None
    integrals = Integrals(Steps.of(TotalLoss(((GaussianLoss(GAUSSIAN_MU), 1),))))
    assert Rung(integrals, "right", good.c, good.k * (1 + 1e-7), good.centre, good.variance).line is None


@pytest.mark.parametrize(("scale", "times"), [(0.0, 1), (1.0, 40), (900.0, 3)])
def test_the_sum_over_prepared_terms_is_the_sum_over_the_integrand(scale, times):
    """Against fsum of the terms, for thresholds near the centre and far from it: within the stated error."""
    rung = gaussian_rung("delta", 0.7)
    line, t = rung.line, rung.centre + scale * np.linspace(-1, 1, times)
    value, error = value_and_error(line, 1.0, t, (0.0, 1.0))
    s = line.c + 1j * line.t
    for x, found, stated in zip(t.tolist(), value, error, strict=True):
        front = line.k + (1 - line.c) * x
        if front > 600:
            assert stated > 1  # beyond every probability
            continue
        assert front > -700  # no underflow
        with mpmath.workdps(40):
            terms = [
                mpmath.exp(mpmath.mpc(complex(phi)) - mpmath.mpc(0, float(at)) * x)
                / (mpmath.mpc(complex(z)) * (complex(z) - 1))
                for phi, at, z in zip(line.log_phi, line.t, s, strict=True)
            ]
            terms[0] /= 2
            truth = mpmath.exp(front) * mpmath.fsum(terms).real * line.h / mpmath.pi
            assert abs(truth - mpmath.mpf(float(found))) <= stated


def test_a_long_line_is_read_some_thresholds_at_a_time(monkeypatch):
    """In blocks or at once, to the bit."""
    line = gaussian_rung("delta", 0.7).line
    x = np.linspace(-1, 1, 40)
    at_once = line.sums(x, (0.0, 1.0), ())
    monkeypatch.setattr("edgeworth.composition.contour.line._LARGEST_BLOCK", 1000)
    assert np.array_equal(at_once, line.sums(x, (0.0, 1.0), ()))


def test_a_line_is_given_up_at_once_where_runs_of_atoms_are_likely():
    steps = Steps.of(TotalLoss(((LaplaceLoss(2.0), 5),)))
    with pytest.raises(TooLarge, match=r"^runs of nothing but atoms are too likely for the line integral$"):
        Line(steps, 1.5, 10.0, Guess(5.0))
