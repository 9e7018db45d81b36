"""Laplace noise along a line by its formula: its bound on rounding against mpmath, and lines that need it."""

import mpmath as mp
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.contour.laplace_formula import LaplaceFormula
from edgeworth.composition.contour.tilted_part import tilt_nodes, tilt_part
from edgeworth.losses import LaplaceLoss

TILTS = [-3.7, 0.0, 0.5 - 1e-9, 0.5, 0.5 + 1e-12, 0.75, 1.0, 4.2, 60.0]


def transform(theta, s):
    w = s - mp.mpf(1) / 2
    return mp.cosh(theta * w) + (mp.sinh(theta * w) / (2 * w) if w else theta / 2)


@pytest.mark.parametrize("theta", [1e-4, 0.03, 1.0, 7.5, 44.0])
@pytest.mark.parametrize("c", TILTS)
def test_the_formula_is_within_its_bound(theta, c):
    t = np.geomspace(1e-5, 1e5, 41)
    values, errors = LaplaceFormula(theta, c).less_one(t)
    with mp.workdps(50):
        whole = transform(mp.mpf(theta), mp.mpf(c))
        for x, value, error in zip(t.tolist(), values.tolist(), errors.tolist(), strict=True):
            truth = transform(mp.mpf(theta), mp.mpc(c, x)) / whole - 1
            assert abs(mp.mpc(value) - truth) <= error / 4


@pytest.mark.parametrize("c", TILTS)
def test_it_is_nothing_at_0(c):
    values, errors = LaplaceFormula(2.0, c).less_one(np.zeros(1))
    assert values[0] == 0
    assert errors[0] == 0


@pytest.mark.parametrize("c", TILTS)
def test_nodes_have_the_same_values(c):
    t = np.linspace(0.0, 40.0, 201)
    nodes, of_nodes = tilt_nodes(LaplaceLoss(1.0).nodes((-100.0, 100.0)), 1, c).characteristic(t)
    values, errors = LaplaceFormula(1.0, c).less_one(t)
    assert np.all(np.abs(values - nodes) <= errors + of_nodes)


def test_a_part_for_high_frequencies_is_a_formula_that_serves_all():
    part = tilt_part(LaplaceLoss(1.0), 3, 1.5, 5_000.0)
    assert part.points == 1
    assert part.is_good_for_all
    t = 0.7 * np.arange(100)
    assert np.array_equal(part.on_even_grid(0.7, 100)[0], part.characteristic(t)[0])


@pytest.mark.parametrize(
    ("run", "delta"),
    [
        (
            ew.PoissonSampled(ew.Gaussian(3.858), rate=7e-6) ** 16 * ew.Gaussian(469.1) ** 3 * ew.Laplace(2.21) ** 8,
            1e-10,
        ),
        (
            ew.PoissonSampled(ew.Gaussian(0.499), rate=2.31e-4) ** 7 * ew.Gaussian(552.6) ** 10 * ew.Laplace(0.585),
            1e-13,
        ),
        (ew.Gaussian(307.9) ** 2 * ew.Laplace(0.922) ** 8, 1e-20),
    ],
    ids=["16 samples", "7 samples", "no samples"],
)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_little_gaussian_noise_beside_laplace_noise_is_narrow_and_agrees_with_the_lattice(run, delta, direction):
    account = ew.account(run, direction=direction)
    assert account.certificate.method == "contour"
    epsilon = account.epsilon(delta)
    assert epsilon.upper - epsilon.lower <= 1e-9 * epsilon.upper
    half = 0.5 * epsilon.upper
    ends, other = (one.delta(half) for one in (account, ew.account(run, method="lattice", direction=direction)))
    assert ends.upper - ends.lower <= 1e-9 * ends.upper
    assert other.lower <= ends.upper
    assert ends.lower <= other.upper
