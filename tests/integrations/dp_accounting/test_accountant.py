"""Counts, state, and what the readings are."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.integrations.dp_accounting import EdgeworthAccountant

GAUSSIAN = dp_event.GaussianDpEvent(2.0)
SAMPLED = dp_event.PoissonSampledDpEvent(0.01, GAUSSIAN)


def test_the_answer_is_the_upper_end_of_the_bracket_and_the_rest_is_in_the_account():
    accountant = EdgeworthAccountant().compose(SAMPLED, 1000)
    account = ew.account(ew.PoissonSampled(ew.Gaussian(2.0), rate=0.01) ** 1000, adjacency="add-remove")
    assert accountant.mechanism == account.mechanism
    assert accountant.get_epsilon(1e-5) == account.epsilon(delta=1e-5).upper
    assert accountant.get_delta(0.5) == account.delta(epsilon=0.5).upper
    assert accountant.account.certified
    assert accountant.account is accountant.account
    assert accountant.account.adjacency == "add-remove"
    rates = np.array([1e-6, 0.01, 0.1])
    assert np.array_equal(accountant.get_true_positive_rates(rates), account.risk.tpr(rates).upper)
    assert accountant.get_gdp_parameter_estimate([1e-4, 0.1]) == account.risk.gaussian(smallest_error=1e-4).mu.upper


@pytest.mark.parametrize("nothing", [-0.1, 1.1, math.nan])
def test_a_delta_that_means_nothing_is_refused_also_if_all_is_lost(nothing):
    for accountant in (EdgeworthAccountant(), EdgeworthAccountant().compose(dp_event.NonPrivateDpEvent())):
        with pytest.raises(ValueError, match="delta="):
            accountant.get_epsilon(nothing)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=6), st.integers(1, 10**6))
def test_repetitions_of_repetitions_multiply_as_whole_numbers(counts, count):
    event = SAMPLED
    for times in counts:
        event = dp_event.SelfComposedDpEvent(event, times)
    accountant = EdgeworthAccountant().compose(event, count)
    assert accountant.mechanism.releases == math.prod(counts) * count


def test_a_composition_however_it_is_told_is_one_mechanism():
    three = dp_event.SelfComposedDpEvent(SAMPLED, 3)
    told = [
        EdgeworthAccountant().compose(dp_event.ComposedDpEvent([three, GAUSSIAN, GAUSSIAN, SAMPLED]), 2),
        EdgeworthAccountant().compose(SAMPLED, 8).compose(GAUSSIAN, 4),
        EdgeworthAccountant().compose(dp_event.ComposedDpEvent([GAUSSIAN] * 4 + [SAMPLED] * 8)),
    ]
    expected = ew.PoissonSampled(ew.Gaussian(2.0), rate=0.01) ** 8 * ew.Gaussian(2.0) ** 4
    assert [accountant.mechanism for accountant in told] == [expected] * 3
    assert len({accountant.get_epsilon(1e-6) for accountant in told}) == 1


def test_a_long_list_of_few_different_events_has_few_steps():
    events = [dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0 + k % 3)) for k in range(30_000)]
    accountant = EdgeworthAccountant().compose(dp_event.ComposedDpEvent(events))
    assert sorted(count for _, count in accountant.mechanism.steps()) == [10_000] * 3


def test_nesting_may_be_deep():
    event = GAUSSIAN
    for _ in range(5_000):
        event = dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(event, 1)])
    assert EdgeworthAccountant()._maybe_compose(event, 1, do_compose=False) is None


def test_numbers_of_other_libraries_are_numbers():
    event = dp_event.PoissonSampledDpEvent(np.array(0.25), dp_event.GaussianDpEvent(np.float32(2.0)))
    accountant = EdgeworthAccountant().compose(dp_event.SelfComposedDpEvent(event, np.int64(7)))
    assert accountant.mechanism == ew.PoissonSampled(ew.Gaussian(2.0), rate=0.25) ** 7


def test_reading_between_compositions_changes_nothing():
    read, unread = EdgeworthAccountant(), EdgeworthAccountant()
    for k in range(1, 6):
        read.compose(SAMPLED, 100 * k)
        unread.compose(SAMPLED, 100 * k)
        read.get_epsilon(1e-5)
    assert read.get_epsilon(1e-5) == unread.get_epsilon(1e-5)
    assert read.ledger == unread.ledger == dp_event.SelfComposedDpEvent(SAMPLED, 1500)


@pytest.mark.parametrize("count", [1.5, "2", None, -1, True])
def test_a_bad_count_inside_is_refused_and_changes_nothing(count):
    accountant = EdgeworthAccountant().compose(GAUSSIAN)
    event = dp_event.ComposedDpEvent([SAMPLED, dp_event.SelfComposedDpEvent(GAUSSIAN, count)])
    assert not accountant.supports(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match=r"count=.* give an int >= 0"):
        accountant.compose(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match=r"count=.* give an int >= 0"):
        accountant.compose(event.events[1])
    assert accountant.mechanism == ew.Gaussian(2.0)


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda relation: relation.name)
@pytest.mark.parametrize(
    "event",
    [
        GAUSSIAN,
        SAMPLED,
        dp_event.LaplaceDpEvent(3.0),
        dp_event.DiscreteLaplaceDpEvent(0.5, 1),
        dp_event.DiscreteGaussianDpEvent(3.0, 1.0, dimension=1),
        dp_event.DiscreteGaussianDpEvent(3.0),
        dp_event.RandomizedResponseDpEvent(0.5, 3),
        dp_event.EpsilonDeltaDpEvent(0.5, 1e-6),
        dp_event.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN),
        dp_event.SampledWithReplacementDpEvent(1000, 10, GAUSSIAN),
        dp_event.PoissonSampledDpEvent(0.01, dp_event.ComposedDpEvent([GAUSSIAN, GAUSSIAN])),
        dp_event.PoissonSampledDpEvent(0.01, dp_event.ComposedDpEvent([GAUSSIAN, dp_event.LaplaceDpEvent(1.0)])),
        dp_event.PoissonSampledDpEvent(0.5, SAMPLED),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.DiscreteGaussianDpEvent(3.0, 1.0, dimension=1)),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.DiscreteLaplaceDpEvent(0.5, 1)),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.LaplaceDpEvent(2.0)),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.EpsilonDeltaDpEvent(0.5, 1e-6)),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.RandomizedResponseDpEvent(0.5, 3)),
        dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.EpsilonDeltaDpEvent(0.5, 1e-6)),
        dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.RandomizedResponseDpEvent(0.5, 3)),
        dp_event.PoissonSampledDpEvent(0.5, dp_event.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN)),
        dp_event.PoissonSampledDpEvent(1.5, GAUSSIAN),
        dp_event.GaussianDpEvent(-1.0),
        dp_event.GaussianDpEvent(math.nan),
        dp_event.LaplaceDpEvent(math.inf),
        dp_event.RandomizedResponseDpEvent(0.5, 0),
    ],
    ids=repr,
)
def test_supports_says_what_compose_and_reading_do(event, relation):
    accountant = EdgeworthAccountant(relation)
    if accountant.supports(event):
        assert accountant.compose(event, 2).get_epsilon(1e-3) >= 0
    else:
        with pytest.raises(dp_accounting.UnsupportedEventError, match="Unsupported event"):
            accountant.compose(event)
        assert accountant.mechanism.releases == 0


def test_a_hundred_responses_cost_a_hundred_responses():
    response = dp_event.RandomizedResponseDpEvent(0.1, 2)
    once, hundred = (EdgeworthAccountant(NeighboringRelation.REPLACE_ONE).compose(response, n) for n in (1, 100))
    assert hundred.get_epsilon(0) == pytest.approx(100 * once.get_epsilon(0), rel=1e-12)


@pytest.mark.parametrize("count", [1, 30])
def test_a_replaced_record_is_hidden_by_sampling_as_well_as_dp_accounting_says(count):
    event = dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN)
    ours = EdgeworthAccountant(NeighboringRelation.REPLACE_ONE).compose(event, count).get_epsilon(1e-5)
    step = ew.PoissonSampled(ew.Gaussian(1.0), 0.1, adjacency="replace", clipped=True)
    assert ours == ew.account(step**count).epsilon(delta=1e-5).upper
    peer = dp_accounting.pld.PLDAccountant(NeighboringRelation.REPLACE_ONE)
    if peer.supports(event):  # old ones do not
        theirs = peer.compose(event, count).get_epsilon(1e-5)
        assert theirs * (1 - 1e-5) < ours < theirs  # on its grid of 1e-4 it rounds up


def test_a_replaced_record_counts_twice_and_one_that_is_zeroed_once():
    readings = {
        relation: EdgeworthAccountant(relation).compose(GAUSSIAN, 10).get_epsilon(1e-5)
        for relation in NeighboringRelation
    }
    assert readings[NeighboringRelation.REPLACE_SPECIAL] == readings[NeighboringRelation.ADD_OR_REMOVE_ONE]
    assert readings[NeighboringRelation.REPLACE_ONE] == ew.account(ew.Gaussian(1.0) ** 10).epsilon(delta=1e-5).upper
