"""Which neighbours are meant: every sampler says it, and two that differ do not mix."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import counts, leaves, mechanisms

import edgeworth as ew
from edgeworth.errors import InvalidArgument

NOISE = ew.Gaussian(1.0)
ADD = ew.PoissonSampled(NOISE, 0.5)
REPLACE = ew.PoissonSampled(NOISE, 0.5, adjacency="replace")
CLIPPED = ew.PoissonSampled(NOISE, 0.5, adjacency="replace", clipped=True)
BATCH = ew.SampledWithoutReplacement(NOISE, size=1, population=2)
MIXED = (
    "adjacency='add-remove' and adjacency='replace' are mixed: one counts a record added or removed, the other a "
    "record replaced, and no account holds for both; give every sampler the same adjacency"
)

either = st.sampled_from(["add-remove", "replace"])
trees = either.flatmap(lambda adjacency: st.tuples(st.just(adjacency), mechanisms(adjacency=adjacency)))


@given(leaves(), counts)
def test_noise_is_neutral(step, n):
    assert step.adjacency is None
    assert (step**n).adjacency is None


def test_samplers_say_it():
    assert (ADD.adjacency, REPLACE.adjacency, BATCH.adjacency) == ("add-remove", "replace", "replace")
    assert (NOISE * ADD**3).adjacency == "add-remove"
    assert (BATCH**2 * REPLACE * NOISE).adjacency == "replace"


@pytest.mark.parametrize(
    "mix",
    [
        lambda: ADD * REPLACE,
        lambda: ADD * BATCH,
        lambda: (NOISE * ADD) ** 3 * (BATCH**2 * NOISE),
        lambda: ew.Composed([NOISE, REPLACE, ADD]),
        lambda: ew.PoissonSampled(REPLACE, 0.5),
        lambda: ew.PoissonSampled(ADD, 0.5, adjacency="replace"),
        lambda: ew.SampledWithoutReplacement(ADD**2, 1, 2),
    ],
)
def test_mixing_is_refused_when_it_is_built(mix):
    with pytest.raises(InvalidArgument) as refused:
        mix()
    assert str(refused.value) == MIXED


@given(trees, trees)
def test_a_product_means_what_its_factors_mean(one, other):
    a, b = one[1], other[1]
    assume(None in (a.adjacency, b.adjacency) or a.adjacency == b.adjacency)
    assert (a * b).adjacency == (a.adjacency or b.adjacency)


@given(trees)
def test_equal_descriptions_mean_the_same_neighbours(tree):
    adjacency, m = tree
    assert m.adjacency in (None, adjacency)
    assert m.canonical().adjacency == m.adjacency
    sampled = [step for step, _ in m.steps() if isinstance(step, (ew.PoissonSampled, ew.SampledWithoutReplacement))]
    assert (m.adjacency is None) is (not sampled)
    assert {step.adjacency for step in sampled} <= {adjacency}
    assert pickle.loads(pickle.dumps(m)).adjacency == m.adjacency  # noqa: S301


@given(trees, either)
def test_all_or_nothing_is_no_sampling(tree, adjacency):
    _, m = tree
    assert ew.PoissonSampled(m, 1, adjacency) == ew.SampledWithoutReplacement(m, 3, 3) == m
    assert ew.PoissonSampled(m, 1, "replace", clipped=True) == m
    assert not ew.PoissonSampled(m, 1, "replace", clipped=True).clipped
    assert ew.PoissonSampled(m, 0, adjacency) == ew.SampledWithoutReplacement(m, 0, 3) == ew.Composed(())
    assert (
        ew.PoissonSampled(m, 1, adjacency).adjacency == ew.SampledWithoutReplacement(m, 3, 3).adjacency == m.adjacency
    )
    assert ew.PoissonSampled(m, 0, adjacency).adjacency is ew.SampledWithoutReplacement(m, 0, 3).adjacency is None


def test_samplers_of_different_neighbours_differ():
    assert len({ADD, REPLACE, CLIPPED, BATCH, ew.SampledWithoutReplacement(NOISE, 2, 4)}) == 5
    assert dataclasses.replace(REPLACE, rate=0.25) == ew.PoissonSampled(NOISE, 0.25, "replace")
    assert repr(CLIPPED) == (
        "PoissonSampled(mechanism=Gaussian(noise_multiplier=1.0), rate=0.5, adjacency='replace', clipped=True)"
    )
    assert repr(REPLACE) == "PoissonSampled(mechanism=Gaussian(noise_multiplier=1.0), rate=0.5, adjacency='replace')"


def test_the_rate_of_a_batch_is_rounded_once_and_never_to_all_or_nothing():
    assert ew.SampledWithoutReplacement(NOISE, 256, 50_000).rate == 256 / 50_000
    assert ew.SampledWithoutReplacement(NOISE, 1, 10**300).rate == 1e-300
    assert ew.SampledWithoutReplacement(NOISE, 10**20 - 1, 10**20).rate == 1 - 2**-53


@pytest.mark.parametrize(
    ("mechanism", "asked", "found"),
    [
        (NOISE, None, None),
        (NOISE, "replace", "replace"),
        (ADD, None, "add-remove"),
        (ADD, "add-remove", "add-remove"),
        (BATCH * NOISE, "replace", "replace"),
    ],
)
def test_an_account_says_it_too(mechanism, asked, found):
    assert ew.account(mechanism, adjacency=asked, method="clt").adjacency == found


def test_an_account_of_other_neighbours_is_refused():
    with pytest.raises(InvalidArgument) as refused:
        ew.account(ADD, adjacency="replace")
    assert str(refused.value) == (
        "adjacency='replace' is not what the sampling inside means, adjacency='add-remove'; give that, or describe the "
        "sampling with adjacency='replace'"
    )
    with pytest.raises(InvalidArgument, match=r"^adjacency='both' is unknown; give one of 'add-remove', 'replace'$"):
        ew.account(ADD, adjacency="both")
