"""The bounds of one line, each against ball arithmetic: quadrature, rounding, log moments, aliases."""

import math

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

from edgeworth.composition.integrals import Integrals, Rung
from edgeworth.composition.line import Line
from edgeworth.composition.tilted_part import tilt_part
from edgeworth.losses import BinaryLoss, GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def ball_moment(mu, rate, s):
    """E_P[e^(sL)] of noisy SGD, times sqrt(2 pi), as a complex ball."""
    ctx.prec = 160
    m, p, c = arb(mu), arb(rate), float(s.real.mid())

    def integrand(x, analytic):
        inner = 1 - p + p * (m * x - m * m / 2).exp()
        return (s * inner.log(analytic=analytic) - x * x / 2).exp()

    low, high = min(0.0, c * mu) - 17, max(0.0, c * mu) + 17
    return acb.integral(integrand, acb(low), acb(high), rel_tol=arb(2) ** -100, abs_tol=arb(2) ** -400)


def ball_phi(mu, rate, c, t):
    """phi(t) - 1 and log E_P[e^(cL)], from balls whose radii are far below double precision."""
    plain, turned = ball_moment(mu, rate, acb(c)), ball_moment(mu, rate, acb(c, t))
    ratio = turned / plain - 1
    log_moment = (plain.real / (2 * arb.pi()).sqrt()).log()
    assert float(ratio.real.rad()) < 1e-20
    assert float(log_moment.rad()) < 1e-20
    return ratio, log_moment


def distance(ball, value):
    return float(abs(ball - acb(value)).mid())


def sampled(mu, rate):
    return SampledLoss(GaussianLoss(mu), rate)


RNG = np.random.default_rng(20260)
CASES = [
    (log_uniform(RNG, 0.01, 3.3), log_uniform(RNG, 1e-6, 0.9), float(RNG.uniform(-30, 30)), log_uniform(RNG, 0.1, 1e3))
    for _ in range(24)
]


@pytest.mark.parametrize(("mu", "rate", "c", "t"), CASES)
def test_the_characteristic_function_is_within_its_stated_error(mu, rate, c, t):
    part = tilt_part(sampled(mu, rate), 1, c, t)
    value, error = part.characteristic(np.array([t]))
    truth, log_moment = ball_phi(mu, rate, c, t)
    assert distance(truth, complex(value[0])) <= error[0]
    if abs(c) < 15:  # for steeper tilts see the next test
        assert float(abs(log_moment - arb(part.log_moment)).mid()) <= part.log_moment_error + 2 * part.quadrature


@pytest.mark.parametrize(("mu", "rate", "c"), [(1.2, 1e-5, 17.0), (3.3, 1e-3, 5.5)])
def test_the_log_moment_of_a_steep_tilt_is_within_its_stated_error(mu, rate, c):
    part = tilt_part(sampled(mu, rate), 1, c, 1.0)
    log_moment = ball_phi(mu, rate, c, 0.5)[1]
    assert float(abs(log_moment - arb(part.log_moment)).mid()) <= part.log_moment_error + 2 * part.quadrature


@pytest.mark.parametrize("nats", [7.0, 12.0, 46.0])
@pytest.mark.parametrize(
    ("mu", "rate", "c"), [(1.0, 0.01, 3.0), (0.3, 0.2, -2.0), (2.5, 0.001, 1.2), (0.05, 0.5, 20.0)]
)
def test_a_coarse_quadrature_states_its_coarseness(mu, rate, c, nats):
    for t in (0.5, 7.0, 90.0):
        part = tilt_part(sampled(mu, rate), 1, c, t, nats)
        value, error = part.characteristic(np.array([t]))
        assert distance(ball_phi(mu, rate, c, t)[0], complex(value[0])) <= error[0]


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_quadrature_for_one_frequency_serves_all_lower_ones(share):
    part = tilt_part(sampled(1.25, 0.00512), 1, 9.0, 60.0)
    value, error = part.characteristic(np.array([60.0 * share]))
    assert distance(ball_phi(1.25, 0.00512, 9.0, 60.0 * share)[0], complex(value[0])) <= error[0]


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


@pytest.mark.parametrize(
    ("epsilon", "most"),
    [
        (1.0, 100.0),
        (300.3, 960.0),
    ],
)
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


def gaussian_truth(kind, t):
    """The six readings of G_mu, 40 digits; for "reverse" at eps' = -t."""
    mu, t = mpmath.mpf(GAUSSIAN_MU), mpmath.mpf(t)
    p, q = t / mu + mu / 2, t / mu - mu / 2
    return {
        "delta": mpmath.ncdf(-q) - mpmath.exp(t) * mpmath.ncdf(-p),
        "reverse": mpmath.ncdf(p) - mpmath.exp(-t) * mpmath.ncdf(q),
        "alpha": mpmath.ncdf(-p),
        "acceptance": mpmath.ncdf(p),
        "power": mpmath.ncdf(-q),
        "beta": mpmath.ncdf(q),
    }[kind]


@pytest.mark.parametrize("kind", ["delta", "reverse", "alpha", "acceptance", "power", "beta"])
@pytest.mark.parametrize("shortened", [1.0, 0.5, 0.3, 0.15])
def test_aliases_only_add_and_stay_below_their_bound(kind, shortened):
    """A period far too short for the reading: the sum must exceed the truth, by no more than stated."""
    total = TotalLoss(((GaussianLoss(GAUSSIAN_MU), 1),))
    integrals = Integrals(total)
    side, pole = (1, 1.0) if kind in ("delta", "power") else (1, 0.0) if kind == "alpha" else (-1, 0.0)
    pole = 1.0 if kind == "beta" else pole
    seen = 0.0
    for distance_from_pole in (0.4, 1.1, 3.0):
        c = pole + side * distance_from_pole
        centre = GAUSSIAN_MU**2 * (c - 0.5)
        rung = Rung(integrals, kind, c, centre)
        rung.period *= shortened
        rung.line = Line(total, c, rung.period)
        for t in centre + np.array([-1.0, 0.0, 0.7]):
            at = np.array([t])
            value, error = rung.line.sum(rung.shape.exponent(c, at), -at, rung.shape.poles)
            with mpmath.workdps(40):
                excess = float(rung.shape.sign * mpmath.mpf(float(value[0])) - gaussian_truth(kind, float(t)))
            assert excess >= -error[0]
            assert excess <= error[0] + rung._aliases(at)[0]
            lower, upper = rung.ends(at)
            assert lower[0] <= gaussian_truth(kind, float(t)) <= upper[0]
            seen = max(seen, excess / error[0])
    if shortened == 0.15:
        assert seen > 100  # the aliases are really there


@pytest.mark.parametrize("kind", ["delta", "reverse", "alpha", "acceptance", "power", "beta"])
def test_chernoff_bounds_every_reading(kind):
    for c in (-3.0, -0.5, 0.2, 0.8, 1.5, 4.0):
        allowed = {"delta": c >= 1, "reverse": c <= 0, "alpha": c >= 0, "acceptance": c <= 0, "power": c >= 1}
        if not allowed.get(kind, c <= 1):
            continue
        k = GAUSSIAN_MU**2 * c * (c - 1) / 2
        for t in (-4.0, -1.0, 0.0, 0.5, 3.0):
            exponent = (1 - c) * t if kind in ("delta", "power", "beta") else -c * t
            assert gaussian_truth(kind, t) <= math.exp(k + exponent) * (1 + 1e-12)
