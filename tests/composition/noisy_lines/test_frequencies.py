"""How far a density without a formula is read."""

import math

import pytest

import edgeworth as ew
from edgeworth.composition.noisy_lines import engine
from edgeworth.losses import privacy_loss


@pytest.mark.parametrize(("scale", "rate", "limited_by_masses"), [(0.5, 0.3, True), (40.0, 0.001, False)])
def test_a_density_without_a_formula_is_read_as_far_as_its_masses_or_the_noise_allow(scale, rate, limited_by_masses):
    """Narrow samples up to where noise is no longer felt, wide ones up to where their masses would be too many."""
    loss, width, spread = privacy_loss(ew.PoissonSampled(ew.Laplace(scale), rate)), 1e-9, 0.5
    found = engine._affordable(loss, width, spread)
    masses = found * (loss.support[1] - loss.support[0])
    felt = found * math.sqrt(width) * spread
    assert math.log2(found).is_integer()  # one transform serves many lines
    assert masses <= engine._MOST_MASSES
    assert felt <= engine._LAST_FREQUENCY
    assert (2 * masses > engine._MOST_MASSES) == limited_by_masses
    assert (2 * felt > engine._LAST_FREQUENCY) != limited_by_masses


def test_laws_of_atoms_and_those_with_formulas_are_read_at_every_frequency():
    for step in (ew.RandomizedResponse(1.0), ew.Laplace(2.0)):
        assert engine._affordable(privacy_loss(step), 1e-9, 0.5) == math.inf
