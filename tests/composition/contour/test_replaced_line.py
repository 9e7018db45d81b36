"""Lines and lattices of clipped records that are replaced: the bounds themselves, and the answers against integrals."""

import math
from functools import lru_cache

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, lattice
from edgeworth.composition.contour import replaced_gaussian
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.composition.lattice.masses import masses
from edgeworth.curves import ReplacedGaussianTradeOff
from edgeworth.losses import ReplacedGaussianLoss, TotalLoss

RNG = np.random.default_rng(20262)


def log_uniform(low, high):
    return float(np.exp(RNG.uniform(math.log(low), math.log(high))))


CASES = [(log_uniform(0.05, 6.0), log_uniform(1e-4, 0.95), float(RNG.uniform(-6, 7))) for _ in range(5)]
CASES += [(1.0, 0.01, 25.0), (0.5, 0.3, -20.0), (2.0, 0.1, 0.5), (3.0, 0.999, 1.0)]


@lru_cache(maxsize=64)
def table(mu, rate, c, fine):
    """Even nodes: the logarithms of the tilted density and the loss, with thirty digits."""
    with mpmath.workdps(30):
        a, p, one = mpmath.mpf(mu) / 2, mpmath.mpf(rate), mpmath.mpf(1)
        h = one / (fine * (3 + int(2 * mu)))
        reach = (max(c, 1 - c) + 1) * a + 14
        x = [k * h for k in range(-int(reach / h), int(reach / h) + 1)]
        logs = [mpmath.log(1 - p + p * mpmath.exp(a * z - a * a / 2)) for z in x]
        loss = [above - below for above, below in zip(logs, reversed(logs), strict=True)]
        return [c * l + below - z * z / 2 for l, below, z in zip(loss, reversed(logs), x, strict=True)], loss, h


def transform(mu, rate, c, t, fine=8):
    """phi(t) and log M(c) by the trapezoidal rule, which has all digits."""
    with mpmath.workdps(30):
        exponent, loss, h = table(mu, rate, c, fine)
        whole = mpmath.fsum(map(mpmath.exp, exponent))
        turned = mpmath.fsum(mpmath.exp(mpmath.mpc(e, t * l)) for e, l in zip(exponent, loss, strict=True))
        return complex(turned / whole), float(mpmath.log(whole * h / mpmath.sqrt(2 * mpmath.pi)))


def frequencies(mu, rate, c):
    deviation = math.sqrt(tilt_part(ReplacedGaussianLoss(mu, rate), 1, c, 1.0).variance())
    return [0.7 / deviation, 4.0 / deviation]


@pytest.mark.parametrize(("mu", "rate", "c"), CASES)
def test_phi_and_its_moment_are_within_their_stated_errors(mu, rate, c):
    loss = ReplacedGaussianLoss(mu, rate)
    for t in frequencies(mu, rate, c):
        part = tilt_part(loss, 1, c, t)
        values, error = part.characteristic(np.array([t]))
        phi, log_moment = transform(mu, rate, c, t)
        assert abs(1 + values[0] - phi) <= error[0] + 2e-16
        assert error[0] < 1e-12
        assert abs(part.log_moment - log_moment) <= part.log_moment_error + 4e-16 * (1 + abs(log_moment))


def test_the_truth_does_not_depend_on_its_nodes():
    one, other = (transform(*CASES[0], 3.0, fine) for fine in (8, 13))
    assert one == pytest.approx(other, rel=1e-15)


@pytest.mark.parametrize("nats", [5.0, 8.0, 14.0])
@pytest.mark.parametrize(("mu", "rate", "c"), CASES[:4])
def test_a_coarse_quadrature_states_its_coarseness(mu, rate, c, nats):
    loss = ReplacedGaussianLoss(mu, rate)
    for t in frequencies(mu, rate, c):
        x, h = replaced_gaussian.nodes(loss, c, t, nats)
        value = loss.at(x)
        weight = np.exp(c * value + loss.log_density(x))
        found = np.sum(weight * np.exp(1j * t * value)) / np.sum(weight)
        edge = float(weight[0] + weight[-1]) / float(np.sum(weight)) / h
        assert abs(found - transform(mu, rate, c, t)[0]) <= 4.2 * math.exp(-nats) + 2 * edge


@pytest.mark.parametrize(("mu", "rate", "c"), CASES)
def test_the_bounds_far_out_hold_beyond_their_own_frequency_and_only_fall(mu, rate, c):
    loss, t = ReplacedGaussianLoss(mu, rate), np.array(frequencies(mu, rate, c))
    part = tilt_part(loss, 1, c, float(t[0]))
    bounds = part.log_far_bound(t)
    assert bounds[1] <= bounds[0] <= 0
    growth, fall, rise, edge = part.shifted[:4]
    assert np.all((fall > 0) & (fall < 2 * math.pi))
    for at, bound in zip(t, bounds, strict=True):
        modulus = abs(transform(mu, rate, c, float(at))[0])
        assert modulus <= math.exp(bound) * (1 + 1e-12)
        assert modulus <= part.variation / at
        exponent = -at * fall + (0.0 if rise is None else rise)
        every = np.exp(growth) * (np.exp(exponent) @ part.weight + edge)  # each height alone, not only the best
        assert np.all(modulus <= every * (1 + 1e-12))


@pytest.mark.parametrize(("mu", "rate", "c"), CASES)
def test_the_variation_is_not_below_that_on_dense_nodes(mu, rate, c):
    loss = ReplacedGaussianLoss(mu, rate)
    part = tilt_part(loss, 1, c, 1.0)
    reach = (max(c, 1 - c) + 1) * mu / 2 + 12
    x = np.linspace(-reach, reach, 200_001)
    exponent = c * loss.at(x) + loss.log_density(x)
    weight = np.exp(exponent - part.log_moment)
    assert part.variation >= float(np.sum(np.abs(np.diff(weight / loss.slope(x))))) * (1 - 1e-9)


@pytest.mark.parametrize(("mu", "rate", "tilt"), [(2.0, 0.1, 1.5), (0.3, 0.01, 8.0), (4.0, 0.9, -2.0)])
@pytest.mark.parametrize("t", [3.0, 40.0])
def test_masses_have_the_transform_of_the_step(mu, rate, tilt, t):
    loss = ReplacedGaussianLoss(mu, rate)
    made = masses(loss, (-600.0, 600.0), tilt, t)
    weight = np.exp(made.log_mass + tilt * made.place)
    phi, log_moment = transform(mu, rate, tilt, t)
    found = np.sum(weight * np.exp(1j * t * made.place)) / math.exp(log_moment)
    assert abs(found - phi) <= made.error + made.slack * t + 1e-13
    assert abs(np.sum(weight) / math.exp(log_moment) - 1) <= made.error + 1e-14


# --- answers against integrals over the outcomes of all steps but one


def delta_of(mu, rate, n, epsilon):
    """E_Q[delta_1(eps - L_2 - … - L_n)], the closed form of one step integrated by the trapezoidal rule."""
    loss, profile = ReplacedGaussianLoss(mu, rate), ReplacedGaussianTradeOff(mu, rate).profile()
    h = 0.04
    x = h * np.arange(-250 - int(mu / h), 251 + int(mu / h))
    value, weight = loss.at(x), h * np.exp(loss.at(x) + loss.log_density(x))
    sums, mass = value, weight
    if n == 3:  # of two outcomes the order does not matter: each pair once, with twice its mass
        one, other = np.triu_indices(x.size)
        sums, mass = value[one] + value[other], np.where(one < other, 2.0, 1.0) * weight[one] * weight[other]
    kept = mass > 1e-26
    return float(np.sum(mass[kept] * profile(epsilon - sums[kept])))


@pytest.mark.parametrize(("mu", "rate"), [(2.0, 0.1), (0.7, 0.4), (1.2, 0.15)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 3.0])
def test_two_and_three_steps_are_enclosed(mu, rate, epsilon):
    step = ew.PoissonSampled(ew.Gaussian(1 / mu), rate, "replace", clipped=True)
    for n, engine in ((2, lattice), (3, contour)):
        truth = delta_of(mu, rate, n, epsilon)
        found = engine.prepared(TotalLoss.of(step**n)).delta("forward", np.array([epsilon]))
        assert found.lower[0] <= truth * (1 + 1e-11)
        assert found.upper[0] >= truth * (1 - 1e-11)
        assert found.upper[0] <= found.lower[0] * (1 + 1e-6)


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "delta"),
    [(0.5, 0.05, 40, 1e-6), (5.0, 0.3, 500, 1e-9), (0.4, 0.01, 1000, 1e-5), (0.45, 0.00239, 3, 3.7e-8)],
)
def test_the_line_and_the_lattice_agree(sigma, rate, n, delta):
    total = TotalLoss.of(ew.PoissonSampled(ew.Gaussian(sigma), rate, "replace", clipped=True) ** n)
    line, points = (engine.prepared(total) for engine in (contour, lattice))
    mine, theirs = (made.epsilon("both", np.array([delta])) for made in (line, points))
    assert mine.lower[0] <= theirs.upper[0]
    assert theirs.lower[0] <= mine.upper[0]
    assert theirs.upper[0] <= theirs.lower[0] * (1 + 1e-6)


def test_all_digits_from_three_steps_to_a_hundred_million():
    for sigma, rate, n in ((0.5, 0.1, 3), (0.4, 256 / 50_000, 5_000), (0.5, 1e-4, 10**8)):
        run = ew.PoissonSampled(ew.Gaussian(sigma), rate, "replace", clipped=True) ** n
        account = ew.account(run)
        assert account.certificate.method == "contour"
        found = account.epsilon(delta=1e-5)
        assert found.upper - found.lower < 1e-9 * found.upper
        assert account.delta(epsilon=found.value).value == pytest.approx(1e-5, rel=1e-8)


def test_lines_spoilt_by_jumps_are_left_to_the_lattice():
    run = ew.PoissonSampled(ew.Gaussian(0.5), 1e-4, "replace", clipped=True) ** 20
    assert not contour.applies(TotalLoss.of(run))
    found = ew.account(run).epsilon(delta=1e-7)
    assert found.upper - found.lower < 2e-5 * found.upper


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-20])
def test_tiny_rates_are_enclosed_without_a_lattice(rate):
    total = TotalLoss.of(ew.PoissonSampled(ew.Gaussian(0.5), rate, "replace", clipped=True) ** 5)
    assert not lattice.applies(total)
    account = ew.account(ew.PoissonSampled(ew.Gaussian(0.5), rate, "replace", clipped=True) ** 5)
    assert account.epsilon(delta=1e-5).upper == 0
    assert account.delta(epsilon=0.1).lower <= 5 * rate
    assert account.tradeoff(0.3).lower > 0.7 - 1e-9
