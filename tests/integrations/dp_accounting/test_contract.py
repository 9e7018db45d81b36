"""What dp_accounting asks of every accountant, in its privacy_accountant_test.py (0.6.0), asked of ours."""

from __future__ import annotations

import math

import attr
import dp_accounting
import pytest
from dp_accounting import NeighboringRelation, dp_event

from edgeworth.integrations.dp_accounting import EdgeworthAccountant

GAUSSIAN = dp_event.GaussianDpEvent(1.0)
relations = pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda relation: relation.name)


@attr.s(frozen=True)
class UnheardOfDpEvent(dp_event.DpEvent):
    pass


@attr.s(frozen=True, slots=True, auto_attribs=True)
class QuieterGaussianDpEvent(dp_event.GaussianDpEvent):
    """A subclass may mean anything."""

    quieter_by: float = 2.0


@relations
@pytest.mark.parametrize(
    "unknown", [dp_event.UnsupportedDpEvent(), UnheardOfDpEvent(), QuieterGaussianDpEvent(1.0)], ids=repr
)
@pytest.mark.parametrize(
    "nest",
    [
        lambda event: event,
        lambda event: dp_event.ComposedDpEvent([event]),
        lambda event: dp_event.ComposedDpEvent([GAUSSIAN, event]),
        lambda event: dp_event.SelfComposedDpEvent(event, 10),
        lambda event: dp_event.SelfComposedDpEvent(event, 0),
        lambda event: dp_event.PoissonSampledDpEvent(0.0, dp_event.SelfComposedDpEvent(event, 2)),
    ],
    ids=["bare", "composed", "second", "repeated", "never run", "sampled"],
)
def test_an_unknown_event_is_refused_wherever_it_stands(unknown, nest, relation):
    accountant = EdgeworthAccountant(relation).compose(GAUSSIAN)
    event, before = nest(unknown), accountant.get_epsilon(1e-5)
    assert not accountant.supports(event)
    assert accountant._maybe_compose(event, count=1, do_compose=False).invalid_event == unknown
    with pytest.raises(dp_accounting.UnsupportedEventError, match="caused by subevent"):
        accountant.compose(event)
    assert accountant.ledger == GAUSSIAN
    assert accountant.get_epsilon(1e-5) == before


@relations
@pytest.mark.parametrize("ran", [[], [dp_event.NoOpDpEvent()], [dp_event.SelfComposedDpEvent(GAUSSIAN, 0)]], ids=repr)
def test_nothing_costs_nothing(ran, relation):
    accountant = EdgeworthAccountant(relation)
    for event in ran:
        assert accountant.supports(event)
        assert accountant.compose(event) is accountant
    assert [accountant.get_epsilon(delta) for delta in (0, 1e-12, 1)] == [0, 0, 0]
    assert [accountant.get_delta(epsilon) for epsilon in (0, 1e-12, math.inf)] == [0, 0, 0]
    assert 0.5 <= accountant.get_true_positive_rates(0.5) <= 0.5 * (1 + 1e-11)
    assert accountant.get_gdp_parameter_estimate() == 0
    assert accountant.ledger == dp_event.NoOpDpEvent()


@relations
@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.ComposedDpEvent([dp_event.NoOpDpEvent(), dp_event.NonPrivateDpEvent(), GAUSSIAN]),
        dp_event.SelfComposedDpEvent(dp_event.NonPrivateDpEvent(), 10),
        dp_event.PoissonSampledDpEvent(1e-9, dp_event.NonPrivateDpEvent()),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(0)),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(0)),
        dp_event.GaussianDpEvent(0),
        dp_event.LaplaceDpEvent(0.0),
        dp_event.DiscreteLaplaceDpEvent(0, 1),
        dp_event.DiscreteGaussianDpEvent(0.0, 1, dimension=1),
    ],
    ids=repr,
)
def test_what_is_not_private_has_no_epsilon(event, relation):
    accountant = EdgeworthAccountant(relation)
    assert accountant.supports(event)
    accountant.compose(GAUSSIAN).compose(event).compose(GAUSSIAN)
    assert [accountant.get_epsilon(delta) for delta in (0, 0.99, 1)] == [math.inf] * 3
    assert [accountant.get_delta(epsilon) for epsilon in (0, 100, math.inf)] == [1, 1, 1]
    assert accountant.get_true_positive_rates(0.1) == 1
    assert accountant.get_gdp_parameter_estimate() == math.inf


def test_a_response_of_one_kind_tells_nothing_and_one_without_noise_all():
    accountant = EdgeworthAccountant(NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.RandomizedResponseDpEvent(0.0, 1))
    assert accountant.get_delta(0) == accountant.get_epsilon(0) == 0
    accountant.compose(dp_event.RandomizedResponseDpEvent(0.0, 3))
    assert accountant.get_delta(1.0) == 1
    assert accountant.get_epsilon(0.01) == math.inf


@pytest.mark.parametrize("event", [dp_event.GaussianDpEvent(0), dp_event.LaplaceDpEvent(1.0)], ids=repr)
def test_a_sample_of_nobody_tells_nothing(event):
    accountant = EdgeworthAccountant().compose(dp_event.PoissonSampledDpEvent(0, event))
    assert accountant.get_delta(0) == accountant.get_epsilon(0) == 0


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_below_one_is_an_error_of_the_caller(count):
    with pytest.raises(ValueError, match="must be positive"):
        EdgeworthAccountant().compose(GAUSSIAN, count)


def test_what_is_no_event_is_an_error_of_the_caller():
    with pytest.raises(TypeError, match="must be `DpEvent`"):
        EdgeworthAccountant().compose("GaussianDpEvent")


def test_the_relation_is_kept_and_is_one_of_theirs():
    assert EdgeworthAccountant().neighboring_relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    assert EdgeworthAccountant(NeighboringRelation.REPLACE_ONE).neighboring_relation is NeighboringRelation.REPLACE_ONE
    message = r"neighboring_relation='replace' is not a relation; give a dp_accounting.NeighboringRelation, e.g. "
    with pytest.raises(ValueError, match=message):
        EdgeworthAccountant("replace")
