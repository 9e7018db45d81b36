"""A tolerance buys a width or an error that carries the best bracket."""

import numpy as np
import pytest
from scipy import stats

import edgeworth as ew
from edgeworth.composition.work import spent


def training():
    return ew.PoissonSampled(ew.Gaussian(0.8), rate=256 / 50_000) ** 5_000


def test_a_tolerance_that_is_met_changes_nothing():
    asked, plain = ew.account(training(), tolerance=1e-9), ew.account(training())
    assert asked.epsilon(delta=1e-5).upper == plain.epsilon(delta=1e-5).upper
    assert np.array_equal(asked.tradeoff([0.01, 0.1]).lower, plain.tradeoff([0.01, 0.1]).lower)


def test_a_tolerance_that_is_missed_raises_with_the_best_bracket():
    account = ew.account(training(), tolerance=1e-17)
    with pytest.raises(
        ew.ToleranceMissed, match=r"^tolerance=1e-17 is not met: the bracket of method='contour'"
    ) as missed:
        account.epsilon(delta=1e-5)
    best = ew.account(training()).epsilon(delta=1e-5)
    assert (missed.value.bracket.lower, missed.value.bracket.upper) == (best.lower, best.upper)


def test_a_lattice_that_was_made_too_fine_costs_no_digits():
    """Its own tests leave more open than those of the usual one, which are asked as well."""
    queries = ew.PoissonSampled(ew.Laplace(21.0), rate=0.022) ** 14
    plain = ew.account(queries, direction="backward").tradeoff(0.05)
    with pytest.raises(ew.ToleranceMissed) as missed:
        ew.account(queries, direction="backward", tolerance=1e-12).tradeoff(0.05)
    assert missed.value.bracket.lower >= plain.lower
    assert missed.value.bracket.upper <= plain.upper


def test_an_exact_end_meets_every_tolerance():
    account = ew.account(ew.Laplace(scale=2.0), tolerance=1e-15)
    assert account.epsilon(delta=1.0).upper == 0.0


def test_an_estimate_cannot_be_given_a_tolerance():
    with pytest.raises(ew.NotCertified) as refused:
        ew.account(training(), method="clt", tolerance=1e-3)
    assert str(refused.value) == (
        "tolerance=0.001 asks for a guarantee, and method='clt' is an estimate here; use method=\"auto\""
    )


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_tolerance_has_to_be_positive(value):
    with pytest.raises(ew.InvalidArgument, match=f"^tolerance={value!r}"):
        ew.account(training(), tolerance=value)


def test_what_has_no_guarantee_at_all_cannot_be_given_a_tolerance():
    pair = ew.DensityPair(stats.norm(0, 1), stats.norm(0.5, 1))
    with pytest.raises(ew.NotCertified) as refused:
        ew.account(pair**3, tolerance=0.01)
    assert str(refused.value) == (
        "tolerance=0.01 asks for a guarantee, and method='recursion' is an estimate here; no method has a guarantee "
        "for it; leave the tolerance out"
    )


def test_a_wide_bracket_says_what_made_it_so_wide():
    """The recursion is the widest of them."""
    account = ew.account(ew.Laplace(scale=2.0) ** 30, method="recursion")
    wide, narrow = account.epsilon(delta=1e-5), ew.account(ew.Laplace(scale=2.0) ** 30).epsilon(delta=1e-5)
    width = (wide.upper - wide.lower) / wide.upper
    assert wide.certificate.notes[-1] == f"relatively {width:.1e} wide: the grid of the recursion"
    assert not any("wide:" in note for note in narrow.certificate.notes)
    assert account.certificate.notes == wide.certificate.notes[:-1]


def test_a_tolerance_buys_digits_and_saves_work():
    """Where a lattice answers, it aims at what is asked for; the brackets hold one another."""
    few = ew.PoissonSampled(ew.Laplace(1.0), rate=0.05) ** 20
    brackets, work = [], []
    for tolerance in (1e-2, 1e-6, 1e-8):
        before = spent()
        brackets.append(ew.account(few, tolerance=tolerance).epsilon(delta=1e-5))
        work.append(spent() - before)
        assert brackets[-1].upper - brackets[-1].lower <= tolerance * brackets[-1].upper
    assert max(found.lower for found in brackets) <= min(found.upper for found in brackets)
    assert work[0] < work[1] < 0.5 * work[2]  # the moments, which come first, take as much of each
