"""The paper's Numerical: equal to its literal recursion, and an enclosure of every closed form."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import edgeworth as ew
from edgeworth.composition import closed_form, fourier, recursion
from edgeworth.composition.recursion import Grid, convolve
from edgeworth.losses import TotalLoss

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 40), 1 - np.geomspace(0.4, 1e-3, 20), [1.0]])
EPSILONS = np.linspace(-6, 8, 57)


def literal_recursion(masses, n, h, reach):
    """delta_(k+1)(eps) = sum of q(cell) delta_k(floor of eps - L), with the missing q; loops as the paper writes them.

    `masses` maps the integer ceil(L/h) of a cell to its mass under Q; returns delta_n on the integers -reach … reach.
    """
    delta = {j: max(-math.expm1(j * h), 0.0) for j in range(-reach - n * 200, reach + n * 200 + 1)}
    for _ in range(n):
        following = {}
        for j in delta:
            try:
                # floor((eps_j - L)/h) = j - ceil(L/h) for every L in the cell
                following[j] = sum(mass * delta[j - up] for up, mass in masses.items())
            except KeyError:
                continue  # too close to the end of the table for another step
        delta = following
    return {j: delta[j] for j in range(-reach, reach + 1)}


def noisy_sgd_cells(sigma, rate, h, most):
    """Q[(k-1)h < L <= kh] of noisy SGD from the normal law, without the package; the far right in one cell."""
    mu = 1 / sigma
    edges = h * np.arange(math.floor(math.log1p(-rate) / h), most + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        base = np.log1p(np.maximum(np.expm1(edges) / rate, -1.0))
    x = base / mu + mu / 2
    above = (1 - rate) * ndtr(-x) + rate * ndtr(mu - x)
    first = math.floor(math.log1p(-rate) / h)
    cells = {first + 1 + k: above[k] - above[k + 1] for k in range(len(edges) - 1)}
    return {k: mass for k, mass in cells.items() if mass > 0}, above[-1]


def delta_of(grid, mass, j):
    """sum of masses times (1 - e^(eps - l))_+ over the grid law."""
    losses = grid.losses
    beyond = losses > (j + 0.5) * grid.h
    return float(np.sum(mass[beyond] * -np.expm1(j * grid.h - losses[beyond])))


def test_the_grid_law_of_randomized_response_is_the_literal_recursion():
    epsilon, h, n = 0.33, 0.1, 5
    truth = 1 / (1 + math.exp(-epsilon))
    masses = {math.ceil(epsilon / h): truth, math.ceil(-epsilon / h): 1 - truth}
    delta = literal_recursion(masses, n, h, 30)
    grid = Grid(h, -64, 128)
    law = convolve(TotalLoss.of(ew.RandomizedResponse(epsilon) ** n), grid, "up")
    for j in range(-20, 20):
        assert delta_of(grid, law.mass, j) == pytest.approx(delta[j], rel=1e-12, abs=2e-15)  # the FFT's own floor


def test_the_grid_law_of_noisy_sgd_is_the_literal_recursion():
    sigma, rate, h, n = 1.0, 0.2, 0.05, 4
    masses, left_out = noisy_sgd_cells(sigma, rate, h, 190)
    assert left_out < 1e-13
    delta = literal_recursion(masses, n, h, 60)
    grid = Grid(h, -400, 1024)
    law = convolve(TotalLoss.of(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n), grid, "up")
    for j in range(-20, 60):
        assert delta_of(grid, law.mass, j) == pytest.approx(delta[j], rel=1e-11, abs=1e-13)  # mass left out, n times


CLOSED = [
    ew.Gaussian(1.0),
    ew.Gaussian(10.0) ** 100,
    ew.Gaussian(30.0) ** 1000,
    ew.Gaussian(2.0) ** 3 * ew.Gaussian(5.0) ** 4 * ew.GaussianDP(0.3),
    ew.RandomizedResponse(1.0),
    ew.RandomizedResponse(0.3) ** 7,
    ew.RandomizedResponse(0.05) ** 900,
    ew.ApproxDP(0.5, 0.01) ** 10,
    ew.ApproxDP(1.0, 1e-6),
    ew.Laplace(1.0),
    ew.Laplace(0.2),
    ew.Laplace(50.0),
    ew.PoissonSampled(ew.Gaussian(1.0), 0.1),
    ew.PoissonSampled(ew.Gaussian(0.5), 0.001),
    ew.PoissonSampled(ew.Gaussian(5.0), 0.9),
    ew.PoissonSampled(ew.Laplace(1.0), 0.2),
    ew.PoissonSampled(ew.RandomizedResponse(2.0), 0.3),
    ew.PoissonSampled(ew.ApproxDP(1.0, 0.1), 0.3),
]


def exactly(total):
    """The formula, or the Fourier sum, which has all digits as well."""
    return (closed_form if closed_form.exists(total) else fourier).compose(total).value


@pytest.mark.parametrize("mechanism", CLOSED, ids=repr)
def test_the_enclosure_contains_the_closed_form(mechanism):
    total = TotalLoss.of(mechanism)
    exact = exactly(total)
    found = recursion.compose(total, points=2**13)
    truth = exact(ALPHAS)
    assert np.all(found.lower(ALPHAS) <= truth * (1 + 1e-12))
    assert np.all(truth <= found.upper(ALPHAS) * (1 + 1e-12))
    delta = exact.profile()(EPSILONS)
    assert np.all(found.upper.profile()(EPSILONS) <= delta * (1 + 1e-12))
    assert np.all(delta <= found.lower.profile()(EPSILONS) * (1 + 1e-12))


@pytest.mark.parametrize("mechanism", CLOSED, ids=repr)
def test_rounding_up_raises_delta_and_rounding_down_lowers_it(mechanism):
    total = TotalLoss.of(mechanism)
    exact = exactly(total).profile()
    grid = Grid.covering(total, 2**12)
    up, down = (convolve(total, grid, rounding) for rounding in ("up", "down"))
    share = 1 - total.alternative_only  # the grid law is that of finite losses
    shift = math.log1p(-total.null_only) - math.log1p(-total.alternative_only)
    for j in range(grid.first + 2, grid.first + grid.size - 2, 173):
        epsilon = j * grid.h
        truth = (float(exact(epsilon - shift)) - total.alternative_only) / share
        # rounding of n convolutions and the mass beyond the grid, both stated by the law itself
        slack = up.rounding + up.escaped + 4e-16
        assert truth <= delta_of(grid, up.mass, j) + slack + 1e-12 * truth
        slack = down.rounding + down.escaped + 4e-16
        assert delta_of(grid, down.mass, j) <= truth + slack + 1e-12 * truth


MIXES = [
    ew.PoissonSampled(ew.Gaussian(1.0), 0.05) ** 50,
    ew.PoissonSampled(ew.Gaussian(0.8), 0.01) ** 20 * ew.Laplace(2.0) ** 3,
    ew.RandomizedResponse(0.4) ** 3 * ew.Laplace(1.0) ** 2 * ew.Gaussian(3.0),
    ew.ApproxDP(0.1, 1e-5) ** 5 * ew.PoissonSampled(ew.Laplace(1.0), 0.1) ** 4,
]


# One step alone is enclosed by its own (eps, delta) lines as well, whatever the grid: two steps show the grid.
@pytest.mark.parametrize("mechanism", [CLOSED[0] ** 2, CLOSED[10] ** 2, CLOSED[11] ** 2, *MIXES], ids=repr)
def test_refining_the_grid_only_narrows(mechanism):
    """Every end of a grid lies within the ends of a grid of half as many points, up to the stated rounding."""
    total = TotalLoss.of(mechanism)
    coarse, fine = (recursion.compose(total, points=points) for points in (2**11, 2**13))
    slack = sum(one.certificate.sources["rounding of transforms and distribution functions"] for one in (coarse, fine))
    assert slack < 1e-10
    assert np.all(coarse.lower(ALPHAS) <= fine.lower(ALPHAS) + slack)
    assert np.all(fine.upper(ALPHAS) <= coarse.upper(ALPHAS) + slack)
    width_coarse = np.max(coarse.upper(ALPHAS) - coarse.lower(ALPHAS))
    width_fine = np.max(fine.upper(ALPHAS) - fine.lower(ALPHAS))
    assert width_fine < width_coarse / 3  # first order in h: a quarter


@pytest.mark.parametrize("mechanism", MIXES, ids=repr)
def test_the_ends_are_in_order_and_the_interpolated_value_lies_near_their_middle(mechanism):
    """The value bounds nothing and may leave the enclosure by a part of its width, never by the whole of it."""
    found = recursion.compose(TotalLoss.of(mechanism), points=2**12)
    lower, value, upper = (curve(ALPHAS) for curve in (found.lower, found.value, found.upper))
    assert np.all(lower <= upper)
    assert np.max(np.abs(value - (lower + upper) / 2) / np.max(upper - lower)) < 0.5
    assert found.certificate.certified
    assert set(found.certificate.sources) >= {"grid step", "mass outside the grid"}


@pytest.mark.parametrize("mechanism", MIXES[:2], ids=repr)
def test_asking_twice_gives_the_same_bits(mechanism):
    total = TotalLoss.of(mechanism)
    one, two = (recursion.compose(total, points=2**12) for _ in range(2))
    for name in ("lower", "value", "upper"):
        assert np.array_equal(getattr(one, name)(ALPHAS), getattr(two, name)(ALPHAS))


@pytest.mark.parametrize(("theta", "n"), [(0.5, 2), (1.0, 3), (0.1, 20)])
def test_laplace_noise_leaks_nothing_beyond_n_theta(theta, n):
    """delta(eps) = 0 for eps >= n theta: the lower end is 0, the upper end is the stated error and no more."""
    found = recursion.compose(TotalLoss.of(ew.Laplace(1.0, theta) ** n), points=2**12)
    beyond = n * theta * np.array([1.0, 1.01, 2.0])
    assert np.all(found.upper.profile()(beyond) == 0.0)
    sources = found.certificate.sources
    stated = sources["mass outside the grid"] + sources["rounding of transforms and distribution functions"]
    rounding_up = n * sources["grid step"]  # the sum of n losses that were each moved up by less than h
    assert np.all(found.lower.profile()(beyond + rounding_up) <= 2 * stated)


def test_too_many_steps_are_enclosed_by_basic_composition_and_perfect_privacy():
    found = recursion.compose(TotalLoss.of(ew.Laplace(1e9) ** 10_000_000))
    assert np.array_equal(found.upper(ALPHAS), 1 - ALPHAS)
    assert found.lower.profile().epsilon(0.0) == pytest.approx(0.01, rel=0.13)  # ten million times 1e-9, on a grid
    assert found.lower(0.5) > 0.49


def test_nothing_ran_is_perfect_privacy():
    found = recursion.compose(TotalLoss.of(ew.Laplace(1.0, 0.0) ** 5))
    assert np.array_equal(found.lower(ALPHAS), 1 - ALPHAS)


def test_densities_given_as_programs_are_never_certified():
    from scipy import stats  # noqa: PLC0415 - heavy, and only here

    total = TotalLoss.of(ew.DensityPair(stats.norm(0, 1), stats.norm(0.5, 1)) ** 3)
    found = recursion.compose(total, points=2**12)
    assert not found.certificate.certified
    assert found.lower is None
    exact = ew.account(ew.GaussianDP(0.5) ** 3).forward.value
    assert np.max(np.abs(found.value(ALPHAS) - exact(ALPHAS))) < 1e-4


def test_progress_is_told():
    told = []
    recursion.compose(
        TotalLoss.of(MIXES[1]), points=2**11, progress=lambda stage, done, of: told.append((stage, done, of))
    )
    assert told
    assert {stage for stage, _, _ in told} == {"recursion"}
    assert all(0 < done <= of for _, done, of in told)
