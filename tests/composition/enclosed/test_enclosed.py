"""Laplace noise on points beside listed atoms: against formulas, residues, integrals, and sums of many digits."""

from fractions import Fraction

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import enclosed, lattice, mixture, residues
from edgeworth.composition.enclosed.answers import EnclosedAnswers
from edgeworth.composition.enclosed.engine import _law, _split
from edgeworth.composition.enclosed.noise_law import _by_transforms, _Points, noise_law, points_apart
from edgeworth.losses import TotalLoss

RESPONSES = ew.RandomizedResponse(0.7) ** 6 * ew.DiscreteLaplace(1.3) ** 3
SAMPLE = ew.PoissonSampled(ew.Laplace(0.9), rate=0.2)


def with_points(total, points):
    return EnclosedAnswers(total, lambda side: _law(total, points, side))


def assert_together(one, other):
    """Two brackets of the same truth meet."""
    room = 1e-14 * np.abs(other.upper)
    assert np.all(one.lower <= other.upper + room)
    assert np.all(other.lower <= one.upper + room)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("points", [2**9, 2**12])
@pytest.mark.parametrize("count", [1, 2])
def test_encloses_formulas_and_integrals(count, points, direction):
    total = TotalLoss.of(SAMPLE**count * ew.RandomizedResponse(0.7) ** 5)
    truth, made = mixture.prepared(total), with_points(total, points)
    epsilon = np.array([-1.7, -0.3, 0.0, 0.4, 1.1, 2.9, 3.6])
    exact, found = truth.delta(direction, epsilon), made.delta(direction, epsilon)
    assert_together(found, exact)
    assert np.max((found.upper - found.lower) / found.upper) < 40 / points**2 + 1e-6
    overlap = made._overlap(direction, epsilon)
    assert np.all(overlap.lower <= 1 - exact.lower + 1e-14)
    assert np.all(overlap.upper >= 1 - exact.upper - 1e-14)


@pytest.mark.parametrize("points", [2**10, 2**13])
def test_encloses_what_residues_have_all_digits_of(points):
    total = TotalLoss.of(ew.Laplace(1.7) ** 4 * ew.RandomizedResponse(0.45) ** 3)
    truth, made = residues.prepared(total), with_points(total, points)
    for direction in ("forward", "backward", "both"):
        assert_together(
            made.delta(direction, np.array([0.0, 1.3, 2.6])), truth.delta(direction, np.array([0.0, 1.3, 2.6]))
        )
        levels = np.array([1e-2, 1e-5, 1e-9])
        assert_together(made.epsilon(direction, levels), truth.epsilon(direction, levels))
        assert_together(made.tradeoff(direction, levels), truth.tradeoff(direction, levels))


def test_different_scales_and_a_step_shorter_than_its_points():
    narrow = ew.PoissonSampled(ew.Laplace(2.0), rate=1e-4) ** 3
    total = TotalLoss.of(ew.Laplace(1.1) ** 2 * narrow * ew.RandomizedResponse(0.45) ** 3)
    coarse, fine = with_points(total, 2**9), with_points(total, 2**14)
    for kind in ("delta", "reverse", "overlap"):
        wide, close = (made.read(kind, np.array([-1.9, -0.2, 0.6, 2.2])) for made in (coarse, fine))
        assert_together(wide, close)
        assert np.all(close.upper - close.lower <= 0.1 * (wide.upper - wide.lower))


@pytest.mark.parametrize("side", ["above", "below", "less", "more"])
def test_masses_and_means_of_the_laws(side):
    noise = _split(TotalLoss.of(SAMPLE**3 * RESPONSES))[0]
    law = noise_law(noise, points_apart(noise, 2**11), side)
    mass, mean = float(np.sum(np.exp(law.log_mass))), float(np.sum(np.exp(law.log_mass + law.place)))
    assert mass == pytest.approx(1.0, abs=1e-9)
    assert mean == pytest.approx(1.0, abs=1e-9)
    assert law.place[0] == pytest.approx(3 * noise[0][0].support[0], rel=1e-12)


def test_transforms_are_as_near_to_exact_sums_as_they_say():
    random = np.random.default_rng(7)
    one, other = (random.random(size) * np.exp(-random.uniform(0, 60, size)) for size in (300, 190))
    made, off = _by_transforms(one, other)
    for k in range(0, made.size, 7):
        first = max(0, k - other.size + 1)
        exact = sum(Fraction(one[i]) * Fraction(other[k - i]) for i in range(first, min(k + 1, one.size)))
        assert abs(Fraction(made[k]) - exact) <= Fraction(off)
    directly = _Points(one, 0.0).times(_Points(other, 0.0))
    assert directly.off == 0
    assert np.all(np.abs(directly.mass - made) <= off + directly.error * directly.mass)


@pytest.mark.parametrize("kind", ["delta", "reverse", "overlap"])
def test_many_points_by_transforms_enclose_as_few_do(monkeypatch, kind):
    total = TotalLoss.of(SAMPLE**5 * ew.RandomizedResponse(0.7) ** 5)
    t = np.array([-3.0, -1.0, 0.2, 1.5, 4.0])
    directly = with_points(total, 2**12).read(kind, t)
    monkeypatch.setattr("edgeworth.composition.enclosed.noise_law._MOST_DIRECTLY", 2.0**10)
    assert_together(with_points(total, 2**12 + 600).read(kind, t), directly)


@pytest.mark.parametrize(
    ("mechanism", "direction", "delta", "width"),
    [
        (
            ew.DiscreteGaussian(1.773) ** 9
            * ew.RandomizedResponse(2.313, categories=10) ** 3
            * ew.DiscreteLaplace(1.773) ** 4
            * ew.PoissonSampled(ew.Laplace(0.362), rate=0.0015) ** 3,
            "forward",
            4e-18,
            1e-8,
        ),
        (
            ew.DiscreteGaussian(13.684) ** 3 * ew.Laplace(0.881) ** 3 * ew.PoissonSampled(ew.Laplace(2.259), 4e-4) ** 5,
            "backward",
            7.2e-24,
            1e-6,
        ),
    ],
)
def test_epsilon_of_little_noise_beside_many_atoms(mechanism, direction, delta, width):
    bracket = ew.account(mechanism, direction=direction).epsilon(delta=delta)
    assert bracket.upper - bracket.lower <= width * bracket.upper


def test_a_small_f_beside_responses():
    mechanism = ew.Laplace(18.366) ** 13 * ew.PoissonSampled(ew.RandomizedResponse(4.348), rate=0.891) ** 41
    bracket = ew.account(mechanism, direction="backward").tradeoff(3.07e-8)
    rounded = lattice.prepared(TotalLoss.of(mechanism)).tradeoff("backward", np.array([3.07e-8]))
    assert rounded.lower[0] <= bracket.upper
    assert rounded.upper[0] >= bracket.lower
    assert bracket.upper - bracket.lower <= 1e-6 * bracket.upper


def test_applies():
    assert enclosed.applies(TotalLoss.of(SAMPLE**3 * RESPONSES))
    assert not enclosed.applies(TotalLoss.of(RESPONSES))
    assert not enclosed.applies(TotalLoss.of(SAMPLE**3 * RESPONSES * ew.Gaussian(1.0)))
    with pytest.raises(ew.EdgeworthError):
        enclosed.prepared(TotalLoss.of(RESPONSES), 1e-6)
