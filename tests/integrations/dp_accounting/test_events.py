"""Events as mechanisms and back: units, neighbours, refusals, round trips."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from dp_accounting import NeighboringRelation, dp_event
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.errors import InvalidArgument, Unsupported
from edgeworth.integrations.dp_accounting import EventRefused, from_dp_event, to_dp_event
from edgeworth.integrations.dp_accounting.parameters import (
    epsilon_of_response,
    noise_of_response,
    quotient_above,
    quotient_below,
)

ADD, REPLACE, SPECIAL = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)
GAUSSIAN = dp_event.GaussianDpEvent(2.0)
EXACT = dp_event.RandomizedResponseDpEvent(0.5, 2)

positive = st.floats(1e-3, 1e6)
rates = st.floats(1e-9, 1 - 1e-9)
counts = st.integers(1, 10**12)


@pytest.mark.parametrize(
    ("event", "relation", "mechanism"),
    [
        (GAUSSIAN, ADD, ew.Gaussian(2.0)),
        (GAUSSIAN, SPECIAL, ew.Gaussian(2.0)),
        (GAUSSIAN, REPLACE, ew.Gaussian(1.0)),
        (dp_event.LaplaceDpEvent(3.0), ADD, ew.Laplace(3.0)),
        (dp_event.LaplaceDpEvent(3.0), REPLACE, ew.Laplace(3.0, sensitivity=2.0)),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 3), SPECIAL, ew.DiscreteLaplace(4.0, 3)),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 3), REPLACE, ew.DiscreteLaplace(4.0, 6)),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 0), ADD, ew.Composed(())),
        (dp_event.DiscreteGaussianDpEvent(3.0, 2.0, dimension=1), REPLACE, ew.DiscreteGaussian(3.0, 2)),
        (dp_event.DiscreteGaussianDpEvent(3.0, 0, dimension=1), ADD, ew.Composed(())),
        (dp_event.EpsilonDeltaDpEvent(1.0, 0.1), REPLACE, ew.ApproxDP(1.0, 0.1)),
        (dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN), ADD, ew.PoissonSampled(ew.Gaussian(2.0), rate=0.1)),
        (dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN), SPECIAL, ew.PoissonSampled(ew.Gaussian(2.0), rate=0.1)),
        (
            dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN),
            REPLACE,
            ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1, adjacency="replace", clipped=True),
        ),
        (dp_event.PoissonSampledDpEvent(1.0, GAUSSIAN), ADD, ew.Gaussian(2.0)),
        (
            dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.SelfComposedDpEvent(GAUSSIAN, 2)),
            REPLACE,
            ew.SampledWithoutReplacement(ew.Gaussian(1.0) ** 2, size=10, population=1000),
        ),
        (dp_event.SampledWithoutReplacementDpEvent(10, 10, GAUSSIAN), REPLACE, ew.Gaussian(1.0)),
        (dp_event.SampledWithoutReplacementDpEvent(10, 0, GAUSSIAN), REPLACE, ew.Composed(())),
        (dp_event.NonPrivateDpEvent(), ADD, ew.ApproxDP(0.0, 1.0)),
        (dp_event.SelfComposedDpEvent(GAUSSIAN, 0), ADD, ew.Composed(())),
    ],
    ids=repr,
)
def test_an_event_in_our_words(event, relation, mechanism):
    assert from_dp_event(event, neighboring_relation=relation) == mechanism


def test_a_response_is_told_by_its_odds():
    event = dp_event.RandomizedResponseDpEvent(4 / (3 + math.e), 4)  # of pld_privacy_accountant_test.py: epsilon = 1
    found = from_dp_event(event, neighboring_relation=REPLACE)
    assert found.categories == 4
    assert found.epsilon == pytest.approx(1.0, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("event", "relation", "culprit", "message"),
    [
        (
            EXACT,
            ADD,
            EXACT,
            (
                "neighboring_relation=ADD_OR_REMOVE_ONE has no answer for a response, which one record gives and "
                "another would give otherwise; use REPLACE_ONE"
            ),
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(100, 10, GAUSSIAN),
            SPECIAL,
            dp_event.SampledWithoutReplacementDpEvent(100, 10, GAUSSIAN),
            (
                "neighboring_relation=REPLACE_SPECIAL has no known pair for batches of fixed size, in which another "
                "record takes the place of one that is left out; use REPLACE_ONE"
            ),
        ),
        (
            dp_event.PoissonSampledDpEvent(0.1, dp_event.ComposedDpEvent([GAUSSIAN, EXACT])),
            REPLACE,
            EXACT,
            (
                "RandomizedResponseDpEvent cannot be Poisson-sampled under REPLACE_ONE: what it promises when a record "
                "is replaced says nothing of a record that is left out; use ADD_OR_REMOVE_ONE"
            ),
        ),
        (
            dp_event.PoissonSampledDpEvent(0.1, dp_event.EpsilonDeltaDpEvent(1.0, 0.1)),
            ADD,
            dp_event.EpsilonDeltaDpEvent(1.0, 0.1),
            (
                "EpsilonDeltaDpEvent cannot be Poisson-sampled: no method here composes samples of a mere promise; "
                "give the noise itself, or the (epsilon, delta) of the sample"
            ),
        ),
        (
            dp_event.DiscreteGaussianDpEvent(1.0),
            ADD,
            dp_event.DiscreteGaussianDpEvent(1.0),
            (
                "dimension=None has no known pair: discrete Gaussian noise on a vector is not that on a number; give "
                "dimension=1, one event for each number"
            ),
        ),
        (
            dp_event.DiscreteGaussianDpEvent(1.0, 1.5, dimension=1),
            ADD,
            dp_event.DiscreteGaussianDpEvent(1.0, 1.5, dimension=1),
            "sensitivity=1.5 is not a whole number; give an int >= 0",
        ),
        (
            dp_event.ComposedDpEvent([GAUSSIAN, dp_event.GaussianDpEvent(-1.0)]),
            REPLACE,
            dp_event.GaussianDpEvent(-1.0),
            "noise_multiplier=-1.0 is out of range; give a finite number >= 0",
        ),
        (
            dp_event.PoissonSampledDpEvent(1.5, GAUSSIAN),
            ADD,
            dp_event.PoissonSampledDpEvent(1.5, GAUSSIAN),
            "sampling_probability=1.5 is out of range; give a number between 0 and 1",
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(10, 11, GAUSSIAN),
            REPLACE,
            dp_event.SampledWithoutReplacementDpEvent(10, 11, GAUSSIAN),
            "size=11 is more than population=10; a batch holds every record at most once",
        ),
        (
            dp_event.SelfComposedDpEvent(GAUSSIAN, 2.0),
            ADD,
            dp_event.SelfComposedDpEvent(GAUSSIAN, 2.0),
            "count=2.0 is not a whole number; give an int >= 0",
        ),
        (
            dp_event.ComposedDpEvent(3),
            ADD,
            dp_event.ComposedDpEvent(3),
            "events=3 is not a list of events; give one, such as [a, b]",
        ),
        (
            dp_event.RandomizedResponseDpEvent(0.5, 0),
            REPLACE,
            dp_event.RandomizedResponseDpEvent(0.5, 0),
            "num_buckets=0 is out of range; give an int >= 1",
        ),
        (
            dp_event.DiscreteGaussianDpEvent(1e9, 1, dimension=1),
            ADD,
            dp_event.DiscreteGaussianDpEvent(1e9, 1, dimension=1),
            (
                "DiscreteGaussian(scale=1000000000.0, sensitivity=1) has 75000000002 values that count, more than "
                "4194304; release it in coarser units, that is, divide the query, the scale and the sensitivity "
                "by a common factor"
            ),
        ),
        (
            dp_event.UnsupportedDpEvent(),
            ADD,
            dp_event.UnsupportedDpEvent(),
            (
                "UnsupportedDpEvent is not known; give one of DiscreteGaussianDpEvent, DiscreteLaplaceDpEvent, "
                "EpsilonDeltaDpEvent, GaussianDpEvent, LaplaceDpEvent, NoOpDpEvent, NonPrivateDpEvent, "
                "PoissonSampledDpEvent, RandomizedResponseDpEvent, SampledWithoutReplacementDpEvent, or compositions "
                "of them"
            ),
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_has_no_sound_answer_is_refused_with_its_reason(event, relation, culprit, message):
    with pytest.raises(EventRefused) as refusal:
        from_dp_event(event, neighboring_relation=relation)
    assert str(refusal.value) == message
    assert refusal.value.event == culprit


def test_what_is_no_event_and_no_mechanism_is_refused():
    with pytest.raises(InvalidArgument, match=r"event=3 is not a DpEvent; give one, e.g. dp_accounting.GaussianDpEv"):
        from_dp_event(3)
    with pytest.raises(InvalidArgument, match="mechanism=3 is not a mechanism"):
        to_dp_event(3)


@pytest.mark.parametrize(
    ("mechanism", "relation", "message"),
    [
        (
            ew.GaussianDP(1.0),
            ADD,
            "dp_accounting has no event for GaussianDP(mu=1.0); describe it as noise, a response or (epsilon, delta)",
        ),
        (
            ew.RandomizedResponse(1.0),
            SPECIAL,
            "dp_accounting has no event for RandomizedResponse(epsilon=1.0) under REPLACE_SPECIAL; use REPLACE_ONE",
        ),
        (
            ew.DiscreteLaplace(1.0, 3),
            REPLACE,
            (
                "dp_accounting has no event for DiscreteLaplace(scale=1.0, sensitivity=3) under REPLACE_ONE, where the "
                "sensitivity is twice the bound on a record; give an even sensitivity"
            ),
        ),
        (
            ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1),
            REPLACE,
            (
                "neighboring_relation=REPLACE_ONE is not what the sampling inside means, adjacency='add-remove'; give "
                "ADD_OR_REMOVE_ONE"
            ),
        ),
        (
            ew.SampledWithoutReplacement(ew.Gaussian(1.0), size=1, population=9),
            ADD,
            (
                "neighboring_relation=ADD_OR_REMOVE_ONE is not what the sampling inside means, adjacency='replace'; "
                "give REPLACE_ONE"
            ),
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_mechanism_without_an_event_is_refused(mechanism, relation, message):
    with pytest.raises(Unsupported) as refusal:
        to_dp_event(mechanism, neighboring_relation=relation)
    assert str(refusal.value) == message


def test_a_release_without_the_event_says_so(monkeypatch):
    monkeypatch.delattr(dp_event, "EpsilonDeltaDpEvent")
    message = (
        r"^this release of dp_accounting has no EpsilonDeltaDpEvent, which ApproxDP\(epsilon=1.0, delta=0.1\) would "
        r"be; use a later one$"
    )
    with pytest.raises(Unsupported, match=message):
        to_dp_event(ew.ApproxDP(1.0, 0.1))
    assert to_dp_event(ew.ApproxDP(0.0, 1.0)) == dp_event.NonPrivateDpEvent()


def _noise(relation):
    """Steps whose numbers are carried over exactly."""
    moves = 2 if relation is REPLACE else 1
    return st.one_of(
        positive.map(ew.Gaussian),
        positive.map(lambda scale: ew.Laplace(scale, sensitivity=moves)),
        st.integers(-4, 4).map(lambda power: ew.DiscreteLaplace(2.0**power, 3 * moves)),
        st.builds(ew.DiscreteGaussian, st.floats(0.1, 30), st.integers(1, 9)),
        st.builds(ew.ApproxDP, st.floats(0, 10), st.floats(0, 0.99)),
    )


def _mechanisms(relation):
    adjacency = "replace" if relation is REPLACE else "add-remove"
    sampled = st.builds(
        lambda noise, rate: ew.PoissonSampled(noise, rate, adjacency, clipped=relation is REPLACE),
        positive.map(ew.Gaussian),
        rates,
    )
    steps = st.one_of(_noise(relation), sampled)
    if relation is REPLACE:
        steps |= st.builds(
            lambda noise, size: ew.SampledWithoutReplacement(noise, size=size, population=10**6),
            positive.map(ew.Gaussian),
            st.integers(1, 10**6 - 1),
        )
    return st.lists(st.tuples(steps, counts), max_size=4).map(
        lambda parts: ew.Composed([step**count for step, count in parts])
    )


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda relation: relation.name)
@given(data=st.data())
def test_there_and_back_is_the_same_mechanism(relation, data):
    mechanism = data.draw(_mechanisms(relation))
    event = to_dp_event(mechanism, neighboring_relation=relation)
    assert from_dp_event(event, neighboring_relation=relation) == mechanism
    assert to_dp_event(from_dp_event(event, neighboring_relation=relation), neighboring_relation=relation) == event


@given(st.floats(1e-3, 100), st.integers(1, 9))
def test_discrete_laplace_there_and_back_never_gains_noise(scale, sensitivity):
    back = from_dp_event(to_dp_event(ew.DiscreteLaplace(scale, sensitivity)))
    assert back.sensitivity == sensitivity
    assert scale * (1 - 1e-15) <= back.scale <= scale


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_laplace_noise_is_told_by_its_ratio(scale, sensitivity):
    event = to_dp_event(ew.Laplace(scale, sensitivity))
    exact = Fraction(scale) / Fraction(sensitivity)
    assert exact * (1 - Fraction(1, 2**52)) <= event.noise_multiplier <= exact
    assert to_dp_event(ew.Laplace(scale, 0.0)) == dp_event.NoOpDpEvent()


@given(st.floats(0, 2000), st.integers(2, 10**6))
def test_a_response_there_and_back_never_gains_noise(epsilon, categories):
    """The chance p carries log(1 + k (1-p)/p) only as far as 1 - p is told by a float: within k 2^-51 of it."""
    event = to_dp_event(ew.RandomizedResponse(epsilon, categories), neighboring_relation=REPLACE)
    back = from_dp_event(event, neighboring_relation=REPLACE)
    if event.noise_parameter == 0:
        assert epsilon > 700
        assert back == ew.ApproxDP(0.0, 1.0)
    else:
        assert back.epsilon >= epsilon
        if epsilon < 700:
            assert back.epsilon - epsilon <= 1e-14 * epsilon + categories * 2.0**-48


@given(st.floats(1e-300, 1.0), st.integers(2, 10**9))
def test_the_epsilon_of_a_response_is_not_below_the_exact_one(noise, categories):
    with mpmath.workdps(60):
        exact = mpmath.log(1 + categories * (1 - mpmath.mpf(noise)) / mpmath.mpf(noise))
        found = mpmath.mpf(epsilon_of_response(noise, categories))
        assert exact <= found <= exact * (1 + mpmath.mpf("4e-15"))


@given(st.floats(1e-12, 700), st.integers(2, 10**9))
def test_the_noise_of_a_response_is_not_above_the_exact_one(epsilon, categories):
    with mpmath.workdps(60):
        exact = categories / (categories - 1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert exact * (1 - mpmath.mpf("4e-15")) <= noise_of_response(epsilon, categories) <= exact


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_quotients_lie_on_their_side(numerator, denominator):
    exact = Fraction(numerator) / Fraction(denominator)
    below, above = quotient_below(numerator, denominator), quotient_above(numerator, denominator)
    assert below <= exact
    assert above >= exact or above == sys.float_info.max
    assert above in (below, math.nextafter(below, math.inf))
