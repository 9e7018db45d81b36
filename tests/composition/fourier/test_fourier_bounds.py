"""Losses on a lattice: kernels, thinned noise, and the bounds of what a Fourier sum leaves out."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour.tilted_part import tilt_nodes
from edgeworth.composition.fourier.answers import first_point
from edgeworth.composition.fourier.lattice_sum import _thinned, lattice_sum
from edgeworth.composition.fourier.line import _centred, _first_negligible, _kernel, _pairs, _product
from edgeworth.composition.fourier.tails import Tails
from edgeworth.losses import TotalLoss, privacy_loss


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


def geometric(base, terms):
    """The sum of so many powers of a base after the first, which is 1, by multiplications alone."""
    total = mpmath.mpc(0)
    for _ in range(terms):
        total = base * (1 + total)
    return total


@given(st.floats(1.05, 40.0), st.floats(0.01, 5.0), st.floats(0.0, math.pi))
def test_kernels_are_the_sums_of_powers_that_they_stand_for(c, g, angle):
    assume((c - 1) * g > 0.05)
    y = mpmath.e ** (-mpmath.mpf(g) * mpmath.mpf(c) - 1j * mpmath.mpf(angle))
    growth = mpmath.e ** mpmath.mpf(g)
    alpha, power = geometric(y, 1200), geometric(y * growth, 1200)
    sums = {"alpha": 1 + alpha, "power": 1 + power, "delta": power - alpha}
    for kind, truth in sums.items():
        found = complex(_kernel(kind, g, c, np.array([angle]))[0])
        assert abs(found - truth) <= 1e-12 * abs(truth)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.DiscreteGaussian(6.0) ** 400,
        ew.RandomizedResponse(0.4) ** 30_000,
        ew.RandomizedResponse(0.4, categories=4) ** 30_000,
    ],
    ids=["discrete Gaussian", "responses", "categories"],
)
@pytest.mark.parametrize("c", [0.5, 1.2, 6.0])
def test_beyond_the_last_term_the_characteristic_function_is_negligible(mechanism, c):
    law = lattice_sum(TotalLoss.of(mechanism))
    parts = [tilt_nodes(nodes, n, c) for nodes, n in law.parts]
    turn = _first_negligible(parts, law, 42.0)
    assert turn < math.pi
    angle = np.linspace(turn, math.pi, 4000)
    (part,) = parts
    modulus = np.abs(np.exp(1j * np.multiply.outer(angle, part.loss / law.step)) @ part.weight)
    with np.errstate(divide="ignore"):
        assert (part.count * np.log(modulus) <= -42.0 + 1e-6).all()
    # and not by far too much: the first negligible angle is within some factor of the normal law's
    assert turn * math.sqrt(part.count * part.variance()) / law.step < 40


def test_where_all_strides_are_longer_nothing_is_claimed():
    law = lattice_sum(TotalLoss.of(ew.RandomizedResponse(1.0) ** 1000))
    parts = [tilt_nodes(nodes, n, 1.5) for nodes, n in law.parts]
    assert math.isinf(_first_negligible(parts, replace(law, strides=(2,)), 42.0))


@pytest.mark.parametrize("sigma", [16.0, 23.7, 100.0])
@pytest.mark.parametrize("c", [-3.0, 0.5, 1.2, 60.0])
def test_every_mth_atom_of_discrete_gaussian_noise_has_the_transform_of_all(sigma, c):
    loss = privacy_loss(ew.DiscreteGaussian(sigma, sensitivity=2))
    few, every = _thinned(loss), loss.nodes()
    assert few.loss.size <= every.loss.size / int(sigma // 8) + 1
    m = int(sigma // 8)
    angle = np.linspace(0, math.pi / (2 * m), 40)
    ends = []
    for nodes in (few, every):
        wave = np.exp(1j * np.multiply.outer(angle / loss.lattice.spacing, nodes.loss))
        peak = c * (c - 1) / 2 * (2 / sigma) ** 2  # K(c) of continuous noise
        ends.append(wave @ np.exp(c * nodes.loss + nodes.log_weight - peak))
    np.testing.assert_allclose(*ends, atol=3e-13, rtol=0)
    np.testing.assert_allclose(np.abs(ends[0]), np.exp(-0.5 * (sigma * angle) ** 2), atol=3e-13, rtol=0)


def test_thinning_keeps_few_atoms_and_only_of_the_finest_spacing():
    fine, coarse = ew.DiscreteGaussian(64.0), ew.DiscreteGaussian(64.0, sensitivity=2)
    alone, mixed = (lattice_sum(TotalLoss.of(mechanism)) for mechanism in (coarse**3, coarse**3 * fine))
    assert alone.sigmas == (64.0,)
    assert alone.parts[0][0].loss.size < 700
    assert sorted(mixed.sigmas) == [0.0, 64.0]
    assert ew.account(coarse**3 * fine).epsilon(1e-5).upper == pytest.approx(
        ew.account(ew.Gaussian(64.0 / math.sqrt(13))).epsilon(1e-5).value, rel=1e-3
    )


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=40), st.integers(1, 8), st.floats(0.0, math.pi))
def test_disjoint_pairs_bound_a_trigonometric_sum(weights, apart, angle):
    weight = np.array(weights)
    assume(weight.sum() > 1e-3)
    weight = weight / weight.sum()
    modulus = abs(np.sum(weight * np.exp(1j * angle * np.arange(weight.size))))
    assert modulus <= 1 - 2 * _pairs(weight, apart) * math.sin(apart * angle / 2) ** 2 + 1e-12


def test_aliases_are_what_the_bound_says_and_no_more():
    """A period much too short: the sum exceeds the truth, by less than the bound."""
    law = lattice_sum(TotalLoss.of(ew.RandomizedResponse(0.5) ** 60))
    tails = Tails(law)
    line = tails.line(1.0, 6.0)
    m = np.array([float(law.point(6.0))])
    truth = tails.read("delta", int(m[0]))
    line.size, line.count = 31, 16
    line.h = 2 * math.pi / (line.size * law.step)
    line.t = line.h * np.arange(line.count)
    parts, _ = _centred([tilt_nodes(*part, line.c) for part in law.parts], law)
    line.log_phi, line.log_bound, line.relative = _product(parts, line.h, line.count, law.beyond)
    line._terms.clear()
    value, error = line.values("delta", m)
    excess = value[0] - truth[1]
    assert excess > 100 * error[0]
    assert excess <= line._aliases("delta", law.loss(m))[0]


@given(st.integers(-1000, 1000), st.integers(-300, 300), st.integers(1, 50), st.floats(0.01, 3.0))
def test_the_first_point_is_found_from_any_guess(answer, away, stride, fall):
    def log_value(m):
        return -fall * (m - answer) + 0.5 * fall

    assert first_point(log_value, 0.0, answer + away, stride) == answer + 1
