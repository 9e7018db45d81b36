"""The reference is judged first: closed forms, thirty digits, and a lattice of second order."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from edgeworth.curves import GaussianTradeOff, LaplaceTradeOff, Subsampled
from edgeworth.paper.reference import laplace_reference, noisy_sgd_reference

ALPHAS = np.linspace(0.001, 0.999, 333)


@pytest.mark.parametrize(("sigma", "n"), [(1.0, 4), (3.0, 9), (10.0, 50)])
def test_at_rate_one_noisy_sgd_is_gaussian(sigma, n):
    exact = GaussianTradeOff(math.sqrt(n) / sigma)(ALPHAS)
    assert np.max(np.abs(noisy_sgd_reference(sigma, 1.0, n)(ALPHAS) - exact)) < 1e-11


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.99])
def test_one_step_of_noisy_sgd(rate):
    f, exact = noisy_sgd_reference(0.8, rate, 1), Subsampled(GaussianTradeOff(1.25), rate)
    assert np.max(np.abs(f(ALPHAS) - exact(ALPHAS))) < 1e-14
    epsilon = np.linspace(-1.0, 3.0, 41)
    inside = epsilon > f.low
    assert np.max(np.abs(f.delta(epsilon[inside]) - exact.profile()(epsilon[inside]))) < 1e-14


@pytest.mark.parametrize("theta", [0.1, 1.0, 3.0])
def test_one_laplace_step(theta):
    f, exact = laplace_reference(theta, 1), LaplaceTradeOff(theta)
    assert np.max(np.abs(f(ALPHAS) - exact(ALPHAS))) < 1e-14
    epsilon = np.linspace(0.0, 4.0, 41)
    assert np.max(np.abs(f.delta(epsilon) - exact.profile()(epsilon))) < 1e-14


def _two_steps_to_thirty_digits(sigma, rate, threshold):
    """(P[T > t], Q[T <= t]) of two steps: the second in closed form, the first by quadrature."""
    with mpmath.workdps(30):
        mu, p = mpmath.mpf(1) / mpmath.mpf(sigma), mpmath.mpf(rate)
        t = mpmath.mpf(threshold)

        def loss(x):
            return mpmath.log1p(p * mpmath.expm1(mu * x - mu * mu / 2))

        def place(l):
            inside = 1 + mpmath.expm1(l) / p
            return (mpmath.log(inside) + mu * mu / 2) / mu if inside > 0 else -mpmath.inf

        end = place(t - mpmath.log1p(-p))  # beyond, the rest is above its least value whatever it is
        edges = [-14, -7, -3, 0, min(end, 3), end] if end < 14 else [-14, -7, -3, 0, 3, 7, 14]
        edges = sorted({mpmath.mpf(edge) for edge in edges if edge <= end})

        def cdf(x, shift):
            return mpmath.ncdf(x - shift) if x > -mpmath.inf else mpmath.mpf(0)

        below_p = mpmath.quad(lambda x: mpmath.npdf(x) * cdf(place(t - loss(x)), 0), edges)

        def q(x):
            y = place(t - loss(x))
            return mpmath.npdf(x) * mpmath.exp(loss(x)) * (p * cdf(y, mu) + (1 - p) * cdf(y, 0))

        return 1 - below_p, mpmath.quad(q, edges)


@pytest.fixture(scope="module")
def two_steps():
    return noisy_sgd_reference(1.0, 0.35, 2)


@pytest.mark.parametrize("threshold", [-0.4, 0.3, 1.5])
def test_two_steps_against_thirty_digits(two_steps, threshold):
    alpha, beta = _two_steps_to_thirty_digits(1.0, 0.35, threshold)
    f = two_steps
    assert abs(f(float(alpha)) - float(beta)) < 1e-11


@pytest.mark.parametrize("threshold", [-1.0, 0.2, 2.5])
def test_five_steps_against_the_line_integral_elsewhere(threshold):
    """On Re s = 3/2, to the right of both poles: other nodes, other residues; losses and weights to thirty digits."""
    rate, n = 0.334, 5
    with mpmath.workdps(30):
        p = mpmath.mpf(rate)
        step = mpmath.mpf(1) / 24  # in x: the moments are needed up to |y| = 120
        xs = [step * k for k in range(-12 * 24, 14 * 24 + 1)]
        losses = [mpmath.log1p(p * mpmath.expm1(x - mpmath.mpf(1) / 2)) for x in xs]
        weights = [step * mpmath.npdf(x) * mpmath.exp(mpmath.mpf(3) / 2 * l) for x, l in zip(xs, losses, strict=True)]
    # Thirty digits at thousands of nodes would take minutes: the sums themselves are in long doubles.
    h = 2 * math.pi / 110
    y = (h * np.arange(2400)).astype(np.longdouble)
    phase = np.outer(y, np.array([np.longdouble(str(l)) for l in losses]))
    weight = np.array([np.longdouble(str(w)) for w in weights])
    moment = ((np.cos(phase) @ weight) + 1j * (np.sin(phase) @ weight)) ** n
    s = 1.5 + 1j * y
    share = np.where(y == 0, 0.5, 1.0) * h / np.pi
    alpha = float(np.sum(share * (moment * np.exp(-s * threshold) / s).real))
    power = float(np.sum(share * (moment * np.exp(-(s - 1) * threshold) / (s - 1)).real))
    f = noisy_sgd_reference(1.0, rate, n)
    assert abs(f(alpha) - (1 - power)) < 1e-11
    assert abs(f.delta(threshold) - (power - math.exp(threshold) * alpha)) < 1e-11


def _lattice_delta(edges_of, masses_of, n, h, epsilon):
    """E_Q[(1 - e^(eps - T))_+] on a lattice, each cell's mass split so that the means of 1 and e^-L are kept."""
    low, high = edges_of(h)
    edges = h * np.arange(low, high + 1)
    q, p = masses_of(edges)  # masses of the cells under Q and under P
    # u at the lower edge, v at the upper: u + v = q, u e^-l + v e^-(l + h) = p
    v = (q * np.exp(-edges[:-1]) - p) / (np.exp(-edges[:-1]) - np.exp(-edges[1:]))
    step = np.zeros(edges.size)
    step[:-1] += q - v
    step[1:] += v
    total = step
    for _ in range(n - 1):
        total = np.convolve(total, step)
    loss = h * np.arange(n * low, n * low + total.size)
    return np.array([np.sum(total * np.maximum(-np.expm1(e - loss), 0.0)) for e in epsilon])


@pytest.mark.parametrize("n", [2, 5])
def test_noisy_sgd_against_a_lattice(n):
    """Connect the dots is of second order: two spacings extrapolated, with the third as the error."""
    rate = 0.3
    epsilon = np.array([-0.5, 0.0, 0.5, 1.5])

    def edges_of(h):
        return math.floor(math.log1p(-rate) / h) - 1, math.ceil(7.5 / h)

    def masses_of(edges):
        inside = 1 + np.expm1(edges) / rate
        x = np.where(inside > 0, np.log(np.maximum(inside, 1e-300)) + 0.5, -40.0)
        null, shifted = np.diff(ndtr(x)), np.diff(ndtr(x - 1))
        tail = x > 3
        null = np.where(tail[:-1], -np.diff(ndtr(-x)), null)
        shifted = np.where(tail[:-1], -np.diff(ndtr(1 - x)), shifted)
        return rate * shifted + (1 - rate) * null, null

    coarse, fine, finest = (_lattice_delta(edges_of, masses_of, n, h, epsilon) for h in (2**-6, 2**-7, 2**-8))
    f = noisy_sgd_reference(1.0, rate, n).delta(epsilon)
    assert np.all(f < finest)
    assert np.all(finest < fine)
    extrapolated = (4 * finest - fine) / 3
    assert np.max(np.abs(extrapolated - f)) < 1e-7
    assert np.max(np.abs(coarse - f)) < 1e-2


@pytest.mark.parametrize("n", [2, 5, 10])
def test_laplace_against_an_exact_lattice(n):
    """Spacing theta/64: the atoms lie on the lattice, and the smooth part converges to second order."""
    theta = 3 / math.sqrt(n)
    epsilon = theta * np.array([0.0, 0.25, 0.5, 1.0])  # on the lattice

    def masses_of(edges):
        x = np.clip((edges + theta) / 2, 0.0, theta)
        null = np.diff(1 - 0.5 * np.exp(-x))
        return null[::-1], null

    def delta(cells):
        h = 2 * theta / cells
        edges = h * np.arange(-cells // 2, cells // 2 + 1)
        q, p = masses_of(edges)
        v = (q * np.exp(-edges[:-1]) - p) / (np.exp(-edges[:-1]) - np.exp(-edges[1:]))
        step = np.zeros(edges.size)
        step[:-1] += q - v
        step[1:] += v
        step[0] += math.exp(-theta) / 2
        step[-1] += 0.5
        total = step
        for _ in range(n - 1):
            total = np.convolve(total, step)
        loss = h * np.arange(-n * (cells // 2), n * (cells // 2) + 1)
        return np.array([np.sum(total * np.maximum(-np.expm1(e - loss), 0.0)) for e in epsilon])

    fine, finest = delta(256), delta(512)
    f = laplace_reference(theta, n).delta(epsilon)
    assert np.max(np.abs((4 * finest - fine) / 3 - f)) < 1e-8


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_the_laplace_reference_is_symmetric_with_straight_segments_at_the_atoms(n):
    theta = 3 / math.sqrt(n)
    f = laplace_reference(theta, n)
    inner = ALPHAS[(f(ALPHAS) > 1e-4) & (ALPHAS > 1e-4)]
    assert np.max(np.abs(f(f(inner)) - inner)) < 1e-9
    # the top atom: all losses theta, P-mass e^(-n theta)/2^n, slope -e^(n theta)
    mass = math.exp(-n * theta) / 2**n
    steep = f(np.array([0.25, 0.5, 0.75]) * mass)
    assert np.max(np.abs(steep - (1 - np.array([0.25, 0.5, 0.75]) / 2**n))) < 1e-11
    assert f.delta(n * theta) < 1e-11  # e^(n theta) times the rounding of alpha


def test_the_reference_is_convex_between_zero_and_the_identity():
    for f in (laplace_reference(1.2, 6), noisy_sgd_reference(1.0, 0.2, 40)):
        values = f(np.linspace(0, 1, 1001))
        assert values[0] == 1
        assert values[-1] == 0
        assert np.all(np.diff(values, 2) > -1e-10)
        assert np.max(np.abs(f.piecewise_linear()(ALPHAS) - f(ALPHAS))) < 1e-5
