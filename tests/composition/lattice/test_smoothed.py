"""The smoothed law: its inequality, its transforms, its aliases, and its ends against closed forms."""

import math

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.smoothed import Line, smoothed
from edgeworth.composition.lattice.transforms import transform, with_ends
from edgeworth.losses import GaussianLoss, LaplaceLoss, TotalLoss

KINDS = {"delta": 3.0, "reverse": -2.0, "overlap": 0.5}


def loss_of(mechanism):
    ((loss, _),) = TotalLoss.of(mechanism).parts
    return loss


# --- the inequality


@given(x=st.floats(-4, 4), u=st.floats(-4, 4), v=st.floats(1e-6, 1.0))
def test_smoothing_raises_a_kink_by_at_most_a_density(x, u, v):
    with mpmath.workdps(30):
        rest, root = mpmath.mpf(x) - u, mpmath.sqrt(v)
        high, low = (rest + mpmath.mpf(v) / 2) / root, (rest - mpmath.mpf(v) / 2) / root
        smooth = mpmath.exp(x) * mpmath.ncdf(high) - mpmath.exp(u) * mpmath.ncdf(low)
        raised = smooth - max(mpmath.exp(x) - mpmath.exp(u), 0)
        assert -(mpmath.mpf(10) ** -25) <= raised
        assert raised <= mpmath.exp((mpmath.mpf(x) + u) / 2) * root * mpmath.npdf(rest / root) + mpmath.mpf(10) ** -25


# --- the transforms


def exact_transform(mechanism, s):
    """E[e^(sL)] by integrals and sums, as a ball."""
    ctx.prec = 100
    loss = loss_of(mechanism)
    if loss.is_atomic:
        nodes = loss.nodes()
        atoms = zip(nodes.loss.tolist(), nodes.log_weight.tolist(), strict=True)
        return sum(((w + s * arb(x)).exp() for x, w in atoms), acb(0))
    base, p = getattr(loss, "base", loss), arb(getattr(loss, "rate", 1.0))

    def sample(y, analytic=False):
        return (s * (1 - p + p * y.exp()).log(analytic=analytic)).exp()

    if isinstance(base, LaplaceLoss):
        theta = acb(base.theta)
        ends = (sample(-theta) + (-theta).exp() * sample(theta)) / 2
        return ends + acb.integral(lambda y, flag: sample(y, flag) * (-(y + theta) / 2).exp() / 4, -theta, theta)
    mu = arb(base.mu)

    def weighted(x, analytic):
        return sample(mu * x - mu * mu / 2, analytic) * (-x * x / 2).exp()

    return acb.integral(weighted, acb(-11), acb(15)) / (2 * arb.pi()).sqrt()


@pytest.mark.parametrize("tilt", [-2.0, 0.5, 3.0])
@pytest.mark.parametrize(
    "mechanism",
    [
        ew.PoissonSampled(ew.Gaussian(1.0), 0.05),
        ew.Gaussian(2.0),
        ew.PoissonSampled(ew.Laplace(0.7), 0.2),
        ew.Laplace(2.0),
        ew.PoissonSampled(ew.RandomizedResponse(0.7, categories=4), 0.3),
    ],
    ids=str,
)
def test_transforms_are_right_up_to_their_error(mechanism, tilt):
    size, h = 256, 0.02
    law = masses(loss_of(mechanism), (-40.0, 40.0), tilt, math.pi / h)
    made = transform(law, tilt, h, size)
    whole = exact_transform(mechanism, acb(tilt))
    assert made.log_scale == pytest.approx(float(whole.real.log()), abs=1e-12)
    for j in (0, 1, 100):
        frequency = 2 * arb.pi() * j / (size * arb(h))
        exact = exact_transform(mechanism, acb(tilt, -frequency)) / whole
        exact *= acb(0, frequency * made.first * arb(h)).exp()
        off = float((exact - acb(complex(made.values[j]))).abs_upper())
        assert off <= made.errors(slice(j, j + 1))[0] + float(frequency) * law.slack + 1e-13 * (j > 0)
        assert made.error < 1e-11


def test_atoms_at_the_ends_are_added():
    law = masses(loss_of(ew.RandomizedResponse(0.4)), (-1.0, 1.0), 2.0, 50.0)
    made = transform(law, 2.0, 0.01, 512)
    more = with_ends(made, 2.0, 0.01, 512, [(0.7, 1e-3), (-0.9, 0.0)])
    assert with_ends(made, 2.0, 0.01, 512, [(0.7, 0.0)]) is made
    share = math.exp(1.4) * 1e-3 / math.exp(more.log_scale)
    frequency = 2 * math.pi * np.arange(257) / (512 * 0.01)
    expected = made.values * math.exp(made.log_scale - more.log_scale)
    expected = expected + share * np.exp(-1j * frequency * (0.7 - made.first * 0.01))
    np.testing.assert_allclose(more.values, expected, rtol=0, atol=1e-12)
    for s in (-3.0, 0.0, 4.0):
        exact = math.log(math.exp(made.log_moment(s)) + 1e-3 * math.exp(0.7 * s))
        assert exact <= more.log_moment(s) <= exact + 1e-9


@pytest.mark.parametrize("s", [-20.0, -1.0, 0.5, 30.0])
def test_moments_of_blocks_are_upper_bounds_and_close(s):
    law = masses(GaussianLoss(0.5), (-6.0, 6.0), 1.0, 3000.0)
    exact = float(np.logaddexp.reduce(law.log_mass + s * law.place))
    made = transform(law, 1.0, 1e-3, 2**14)
    assert exact <= made.log_moment(s) <= exact + 2e-6 * s * s


# --- the ends


def gaussian(kind, mu, t):
    mu, t = mpmath.mpf(mu), mpmath.mpf(t)
    above = mpmath.ncdf(mu / 2 - t / mu), mpmath.ncdf(-mu / 2 - t / mu)
    below = mpmath.ncdf(t / mu - mu / 2), mpmath.ncdf(t / mu + mu / 2)
    return {
        "delta": above[0] - mpmath.exp(t) * above[1],
        "reverse": below[1] - mpmath.exp(-t) * below[0],
        "overlap": below[0] + mpmath.exp(t) * above[1],
    }[kind]


@pytest.mark.parametrize("size", [512, 4096])
@pytest.mark.parametrize("length", [5.0, 12.0, 40.0])  # in standard deviations: the shortest has large aliases
@pytest.mark.parametrize("kind", KINDS)
def test_readings_of_gaussian_sums_are_enclosed(kind, length, size):
    n, mu = 64, 1.0
    c, h = KINDS[kind], length * mu / size
    step = transform(masses(GaussianLoss(mu / 8), (-6.0, 6.0), c, math.pi / h), c, h, size)
    centre = (c - 0.5) * mu**2
    made = smoothed(Line(kind, [(step, n)], c, h, size), (centre - 0.5, centre + 0.5))
    t = np.linspace(centre - 0.5, centre + 0.5, 23)
    lower, upper = made.ends(t)
    with mpmath.workdps(30):
        exact = [gaussian(kind, mu, x) for x in t]
    assert all(low <= x <= high for low, x, high in zip(lower, exact, upper, strict=True))
    if length > 10:
        assert np.max((upper - lower) / upper) < 300 * h * h + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_atoms_are_enclosed_wherever_they_lie(kind):
    """Randomized responses: delta has kinks, at which the ends are furthest apart."""
    n, epsilon, c = 12, 0.3, KINDS[kind]
    step = transform(masses(loss_of(ew.RandomizedResponse(epsilon)), (-1.0, 1.0), c, 1e4), c, 8 / 4096, 4096)
    made = smoothed(Line(kind, [(step, n)], c, 8 / 4096, 4096), (-1.0, 1.5))
    with mpmath.workdps(30):
        lie = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        for t in (-0.6, -0.61, 0.0, 0.3, 0.6, 0.600001, 1.2):
            total = mpmath.mpf(0)
            for k in range(n + 1):
                x, u = mpmath.exp((2 * k - n) * mpmath.mpf(epsilon)), mpmath.exp(mpmath.mpf(t))
                value = {"delta": max(x - u, 0), "reverse": max(1 - x / u, 0), "overlap": min(x, u)}[kind]
                total += mpmath.binomial(n, k) * lie**k * (1 - lie) ** (n - k) * value
            lower, upper = (float(end[0]) for end in made.ends(np.array([t])))
            assert lower <= total * (1 + mpmath.mpf(10) ** -14)
            assert total <= upper * (1 + mpmath.mpf(10) ** -14)
            assert upper - lower < 0.02 * upper


def test_the_width_does_not_grow_with_the_steps():
    widths = []
    for n in (100, 10_000):
        mu, h, size = 1.0, 0.01, 2048
        step = transform(masses(GaussianLoss(mu / math.sqrt(n)), (-9.0, 9.0), 3.0, math.pi / h), 3.0, h, size)
        lower, upper = smoothed(Line("delta", [(step, n)], 3.0, h, size), (2.0, 3.0)).ends(np.array([2.5]))
        widths.append(float((upper - lower)[0] / upper[0]))
    assert widths[1] == pytest.approx(widths[0], rel=0.02)
